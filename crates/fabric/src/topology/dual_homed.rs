//! The dual-homed FatTree and one pod of it.

use headway_units::Span;

use super::inventory::{Role, Tier, Tiers};
use super::wiring::{Built, TopologyError, Wiring, at_least_one, half, limit};
use crate::graph::NodeId;
use crate::wire::Wire;

/// One pod of the dual-homed FatTree (thesis fig. 6.4 with k = 4): k/2 edge and k/2 aggregation switches, fully meshed,
/// and hosts with k/2 interfaces, interface i on edge switch i.
///
/// Hosts: `pod0-host0`, …. Switches: `pod0-edge0`, …, `pod0-aggregation0`, …. `top` is the aggregation switches, so
/// that lane i from above is aggregation switch i, edge switch i, host.
#[derive(Debug, Clone, PartialEq)]
pub struct DualHomedPod {
    /// Twice the number of interfaces per host; even, at least 2.
    pub k: u32,
    /// Hosts; at least 1. `None`: k²/2, which is the 8 of fig. 6.4.
    pub hosts: Option<u32>,
    /// From a host to an edge switch.
    pub host_wire: Wire,
    /// From an edge switch to a host.
    pub wire: Wire,
    /// Between edge and aggregation switch, either direction.
    pub aggregation_wire: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl DualHomedPod {
    /// Builds the graph.
    ///
    /// # Errors
    /// A `k` that is odd or below 2, no hosts, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        let half = half(self.k)?;
        // A default too large for its type is too large for a graph, too.
        let count = self.hosts.unwrap_or_else(|| half.saturating_mul(self.k));
        at_least_one("hosts", count)?;
        limit(&[[count, half, 1], [half, half, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let top = self.pod(&mut net, 0, count)?;
        Ok(net.finish(top))
    }

    /// Adds pod number `pod` with `count` hosts and returns its aggregation switches.
    fn pod(&self, net: &mut Wiring, pod: u32, count: u32) -> Result<Vec<NodeId>, TopologyError> {
        let aggregation = net.switches(&format!("pod{pod}-aggregation"), self.k / 2)?;
        let edges = net.switches(&format!("pod{pod}-edge"), self.k / 2)?;
        net.mesh(&edges, &aggregation, self.aggregation_wire)?;
        net.hosts(&format!("pod{pod}-host"), 0..count, &edges)?;
        Ok(aggregation)
    }
}

/// The dual-homed FatTree (thesis fig. 5.2 with k = 4): k pods as [`DualHomedPod`] and (k/2)² cores, aggregation switch j
/// of every pod on the cores j·k/2 to (j+1)·k/2 − 1.
///
/// Lane i enters at edge switch i and goes up to aggregation switch i, so lanes between pods share no link, cores
/// included. The default number of hosts is the FatTree's k³/4 (16 with k = 4, thesis §6.4); as each of them takes k/2
/// ports, edge switches have k²/4 ports to hosts in place of k/2.
///
/// Hosts: `pod0-host0`, … pod by pod. Switches: `pod0-edge0`, …, `pod0-aggregation0`, …, `core0`, …. `top` is the first
/// core of each group, so that interface i of an extra host is on lane i.
#[derive(Debug, Clone, PartialEq)]
pub struct DualHomedFatTree {
    /// Number of pods and twice the number of interfaces per host; even, at least 2.
    pub k: u32,
    /// Hosts in each pod; at least 1. `None`: k²/4.
    pub hosts_per_pod: Option<u32>,
    /// From a host to an edge switch.
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

impl DualHomedFatTree {
    /// Builds the graph.
    ///
    /// # Errors
    /// A `k` that is odd or below 2, no hosts, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        let half = half(self.k)?;
        let count = self.hosts_per_pod.unwrap_or_else(|| half.saturating_mul(half));
        at_least_one("hosts_per_pod", count)?;
        // Host cables, then k/2 · k/2 cables per pod in each of the two upper tiers.
        limit(&[[self.k, count, half], [self.k, half, half], [self.k, half, half]])?;
        let pods = DualHomedPod {
            k: self.k,
            hosts: Some(count),
            host_wire: self.host_wire,
            wire: self.wire,
            aggregation_wire: self.aggregation_wire,
            host_latency: self.host_latency,
            switch_latency: self.switch_latency,
        };
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let cores = net.switches("core", half * half)?;
        for pod in 0..self.k {
            let aggregation = pods.pod(&mut net, pod, count)?;
            net.core_groups(&aggregation, &cores, self.core_wire)?;
        }
        Ok(net.finish(cores.into_iter().step_by(half as usize).collect()))
    }
}

/// Hosts of a FatTree at its full size.
pub(super) fn hosts(k: u32) -> Result<u128, TopologyError> {
    half(k)?;
    Ok(u128::from(k).pow(3) / 4)
}

/// Switches of a FatTree at its full size.
pub(super) fn tiers(_hosts: u64, k: u32) -> Tiers {
    let k = u64::from(k);
    let tiers = vec![
        Tier::new("edge", Role::Edge, k * k / 2, k * k / 4 + k / 2),
        Tier::new("aggregation", Role::Aggregation, k * k / 2, k),
        Tier::new("core", Role::Core, k * k / 4, k),
    ];
    Tiers { interfaces: k / 2, tiers }
}
