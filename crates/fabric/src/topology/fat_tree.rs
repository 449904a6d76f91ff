//! The k-ary FatTree.

use headway_units::Span;

use super::inventory::{Role, Tier, Tiers};
use super::wiring::{Built, TopologyError, Wiring, at_least_one, half, limit};
use crate::wire::Wire;

/// The k-ary FatTree of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, doi:10.1145/1402958.1402967): k pods of k/2 edge and k/2 aggregation
/// switches, (k/2)² core switches, k/2 hosts on each edge switch, (k/2)² shortest paths between hosts of two pods.
/// Aggregation switch j of every pod connects to the cores j·k/2 to (j+1)·k/2 − 1.
///
/// More hosts per edge or slower wires further up make it oversubscribed. Hosts: `pod0-host0`, … pod by pod and edge by
/// edge. Switches: `pod0-edge0`, `pod0-aggregation0`, …, `core0`, …. `top` is all cores: from each of them exactly one
/// shortest path leads to a host.
#[derive(Debug, Clone, PartialEq)]
pub struct FatTree {
    /// Ports per switch; even, at least 2.
    pub k: u32,
    /// Hosts on each edge switch; at least 1. `None`: k/2.
    pub hosts_per_edge: Option<u32>,
    /// From a host to its edge switch.
    pub host_wire: Wire,
    /// From an edge switch to a host.
    pub wire: Wire,
    /// Between edge and aggregation switch, either direction.
    pub aggregation_wire: Wire,
    /// Between aggregation and core switch, either direction.
    pub core_wire: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl FatTree {
    /// Builds the graph.
    ///
    /// # Errors
    /// A `k` that is odd or below 2, no hosts, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        let half = half(self.k)?;
        let hosts_per_edge = self.hosts_per_edge.unwrap_or(half);
        at_least_one("hosts_per_edge", hosts_per_edge)?;
        // Host cables, then k/2 · k/2 cables per pod in each of the two upper tiers.
        limit(&[[self.k, half, hosts_per_edge], [self.k, half, half], [self.k, half, half]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let cores = net.switches("core", half * half)?;
        for pod in 0..self.k {
            let aggregation = net.switches(&format!("pod{pod}-aggregation"), half)?;
            let edges = net.switches(&format!("pod{pod}-edge"), half)?;
            net.core_groups(&aggregation, &cores, self.core_wire)?;
            net.mesh(&edges, &aggregation, self.aggregation_wire)?;
            for (e, &edge) in (0..).zip(&edges) {
                let numbers = e * hosts_per_edge..(e + 1) * hosts_per_edge;
                net.hosts(&format!("pod{pod}-host"), numbers, &[edge])?;
            }
        }
        Ok(net.finish(cores))
    }
}

/// Hosts of the full size.
pub(super) fn hosts(k: u32) -> Result<u128, TopologyError> {
    half(k)?;
    Ok(u128::from(k).pow(3) / 4)
}

/// Switches of the full size.
pub(super) fn tiers(_hosts: u64, k: u32) -> Tiers {
    let k = u64::from(k);
    let tiers = vec![
        Tier::new("edge", Role::Edge, k * k / 2, k),
        Tier::new("aggregation", Role::Aggregation, k * k / 2, k),
        Tier::new("core", Role::Core, k * k / 4, k),
    ];
    Tiers { interfaces: 1, tiers }
}
