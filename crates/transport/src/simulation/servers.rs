//! Servers have their part in the loop.

use headway_fabric::NodeId;

use super::Simulation;
use crate::server::{ServerCounters, ServerModel};

impl Simulation {
    /// Makes `host` a server, for connections that programs open with [`Sockets::connect`](crate::Sockets::connect).
    ///
    /// # Panics
    /// If it is one, a connection has opened, or the model makes no sense: see the fields of [`ServerModel`].
    pub fn serve(&mut self, host: NodeId, model: ServerModel) {
        assert!(self.tcp.is_unused(), "servers are made before connections open");
        self.servers.add(host, model, &mut self.tcp);
    }

    /// What the server of `host` has done so far, if it is one.
    pub fn server(&self, host: NodeId) -> Option<ServerCounters> {
        self.servers.counters(host, &self.tcp)
    }
}
