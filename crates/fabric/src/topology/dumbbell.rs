//! Two groups of hosts on either side of one link.

use headway_units::Span;

use super::wiring::{Built, TopologyError, Wiring, at_least_one, limit};
use crate::wire::Wire;

/// Hosts on two switches that one cable joins: the bottleneck of the pacing experiment (PSPacer) and of most
/// studies of congestion control.
///
/// Hosts: `left-host0`, …, then `right-host0`, …. Switches: `left`, `right`. No `top`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dumbbell {
    /// Hosts on the left; at least 1.
    pub left: u32,
    /// Hosts on the right; at least 1.
    pub right: u32,
    /// From a host to its switch.
    pub host_wire: Wire,
    /// From a switch to a host.
    pub wire: Wire,
    /// Between the switches, either direction.
    pub bottleneck: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl Dumbbell {
    /// Builds the graph.
    ///
    /// # Errors
    /// A side without hosts, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        at_least_one("left", self.left)?;
        at_least_one("right", self.right)?;
        limit(&[[self.left, 1, 1], [self.right, 1, 1], [1, 1, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let left = net.switch("left")?;
        let right = net.switch("right")?;
        net.connect(left, right, self.bottleneck)?;
        net.hosts("left-host", 0..self.left, &[left])?;
        net.hosts("right-host", 0..self.right, &[right])?;
        Ok(net.finish(Vec::new()))
    }
}
