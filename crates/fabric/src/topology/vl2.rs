//! VL2's Clos network.

use headway_units::Span;

use super::wiring::{Built, TopologyError, Wiring, at_least_one, limit};
use crate::wire::Wire;

/// The Clos network of VL2 (Greenberg et al., SIGCOMM 2009, §4.1, doi:10.1145/1592568.1592576): D_I aggregation switches of
/// D_A ports, each connected to all D_A/2 intermediate switches of D_I ports, and D_A·D_I/4 top-of-rack switches with two
/// uplinks and 20 hosts. Aggregation switches 2p and 2p + 1 have the same D_A/2 racks, p·D_A/2 and on.
///
/// Between hosts of racks with different aggregation switches 2 · D_A/2 · 2 shortest paths lead, over any intermediate
/// switch. VL2 bounces every packet between racks off a random intermediate switch (Valiant load balancing by ECMP to an
/// anycast address); shortest paths with ECMP are the same, except between racks that share their aggregation switches:
/// here these turn round below, in two paths that no intermediate switch is on. Addresses, the directory and the shim
/// below IP that make it one layer-2 network are left out.
///
/// Hosts: `tor0-host0`, … rack by rack. Switches: `tor0`, …, `aggregation0`, …, `intermediate0`, …. `top` is all
/// intermediate switches: from each of them two shortest paths lead to a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Vl2 {
    /// Ports of an aggregation switch, D_A; even, at least 2.
    pub aggregation_ports: u32,
    /// Ports of an intermediate switch, D_I, and the number of aggregation switches; even, at least 2.
    pub intermediate_ports: u32,
    /// Hosts on each top-of-rack switch; at least 1. VL2 has 20.
    pub hosts_per_tor: u32,
    /// From a host to its top-of-rack switch.
    pub host_wire: Wire,
    /// From a top-of-rack switch to a host.
    pub wire: Wire,
    /// Between top-of-rack and aggregation switch, either direction.
    pub aggregation_wire: Wire,
    /// Between aggregation and intermediate switch, either direction.
    pub intermediate_wire: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl Vl2 {
    /// Builds the graph.
    ///
    /// # Errors
    /// A number of ports that is odd or below 2, no hosts, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        for (name, value) in
            [("aggregation_ports", self.aggregation_ports), ("intermediate_ports", self.intermediate_ports)]
        {
            if value < 2 || !value.is_multiple_of(2) {
                return Err(TopologyError::Parameter { name, value, allowed: "even and at least 2" });
            }
        }
        at_least_one("hosts_per_tor", self.hosts_per_tor)?;
        let (intermediates, pairs) = (self.aggregation_ports / 2, self.intermediate_ports / 2);
        // Racks: D_A/2 for each pair of aggregation switches.
        limit(&[
            [pairs, intermediates, self.hosts_per_tor],
            [pairs, intermediates, 2],
            [self.intermediate_ports, intermediates, 1],
        ])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let intermediate = net.switches("intermediate", intermediates)?;
        let aggregation = net.switches("aggregation", self.intermediate_ports)?;
        let tors = net.switches("tor", pairs * intermediates)?;
        net.mesh(&aggregation, &intermediate, self.intermediate_wire)?;
        for (pair, racks) in aggregation.chunks(2).zip(tors.chunks(intermediates as usize)) {
            net.mesh(racks, pair, self.aggregation_wire)?;
        }
        net.hosts_on_each("tor", &tors, self.hosts_per_tor)?;
        Ok(net.finish(intermediate))
    }
}
