//! Multi-homed hosts joined by separate paths.

use headway_units::Span;

use super::{Built, TopologyError, at_least_one, limit};
use crate::graph::Graph;
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
    /// A side without hosts, no paths, too many links, a wire that [`Graph::connect`] refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        let paths = u32::try_from(self.paths.len()).unwrap_or(u32::MAX);
        at_least_one("left", self.left)?;
        at_least_one("right", self.right)?;
        at_least_one("paths", paths)?;
        limit(&[[self.left, paths, 1], [self.right, paths, 1], [paths, 1, 1]])?;
        let mut graph = Graph::new();
        let mut left = Vec::new();
        let mut right = Vec::new();
        for (i, &middle) in self.paths.iter().enumerate() {
            left.push(graph.add_switch(format!("path{i}-left"), self.switch_latency)?);
            right.push(graph.add_switch(format!("path{i}-right"), self.switch_latency)?);
            graph.connect(left[i], right[i], middle, middle)?;
        }
        let mut hosts = Vec::new();
        for (side, switches, count) in [("left", &left, self.left), ("right", &right, self.right)] {
            for i in 0..count {
                let host = graph.add_host(format!("{side}-host{i}"), self.host_latency)?;
                for &switch in switches {
                    graph.connect(host, switch, self.host_wire, self.wire)?;
                }
                hosts.push(host);
            }
        }
        Ok(Built { graph, hosts, top: left })
    }
}
