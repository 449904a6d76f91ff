//! Multi-homed hosts joined by separate paths.

use headway_units::Span;

use super::wiring::{Built, TopologyError, Wiring, at_least_one, limit};
use crate::wire::Wire;

/// Two groups of hosts and several paths between them that share nothing; interface `i` of every host is on path `i`
/// (the thesis's lanes, fig. 5.3). Each path has a switch at either end, so that its middle can be the bottleneck.
///
/// Hosts: `left-host0`, …, then `right-host0`, …. Switches: `path0-left`, `path0-right`, …. `top` is the left switch of
/// each path, for hosts that load it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParallelPaths {
    /// Hosts on the left; at least 1.
    pub left: u32,
    /// Hosts on the right; at least 1.
    pub right: u32,
    /// The wire in the middle of each path, either direction; at least one path.
    pub paths: Vec<Wire>,
    /// From a host to a switch.
    pub host_wire: Wire,
    /// From a switch to a host.
    pub wire: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl ParallelPaths {
    /// Builds the graph.
    ///
    /// # Errors
    /// A side without hosts, no paths, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        let paths = u32::try_from(self.paths.len()).unwrap_or(u32::MAX);
        at_least_one("left", self.left)?;
        at_least_one("right", self.right)?;
        at_least_one("paths", paths)?;
        limit(&[[self.left, paths, 1], [self.right, paths, 1], [paths, 1, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let mut left = Vec::new();
        let mut right = Vec::new();
        for (i, &middle) in self.paths.iter().enumerate() {
            left.push(net.switch(format!("path{i}-left"))?);
            right.push(net.switch(format!("path{i}-right"))?);
            net.connect(left[i], right[i], middle)?;
        }
        net.hosts("left-host", 0..self.left, &left)?;
        net.hosts("right-host", 0..self.right, &right)?;
        Ok(net.finish(left))
    }
}
