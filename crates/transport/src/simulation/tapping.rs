//! Taps at interfaces of modelled hosts and at links.

use headway_fabric::LinkId;

use super::Simulation;
use crate::external::NullHost;
use crate::tap::{Tap, Taps};

impl Simulation {
    /// Shows `tap` from now on the TCP segments of modelled hosts at `interfaces`, named by the links that leave them, and at
    /// the far ends of `links`. External hosts are attached before.
    ///
    /// # Panics
    /// If a connection has opened, or a link is not in the graph.
    pub fn tap(&mut self, tap: Box<dyn Tap>, interfaces: &[LinkId], links: &[LinkId]) {
        assert!(self.env.net.sent == 0, "taps are set before flows start");
        let all = self.env.graph.links().len();
        self.env.net.taps = Some(Box::new(Taps::new(tap, interfaces, all)));
        self.env.net.slow_path = true;
        if !links.is_empty() && self.external.is_none() {
            // links are looked at where those of external hosts are
            self.attach(Box::new(NullHost));
        }
        for &link in links {
            self.watch(link);
        }
    }
}
