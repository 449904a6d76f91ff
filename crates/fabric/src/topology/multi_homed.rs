//! The multi-homed FatTree.

use headway_units::Span;

use super::inventory::{Role, Tier, Tiers};
use super::wiring::{Built, TopologyError, Wiring, at_least_one, half, limit};
use crate::wire::Wire;

/// The multi-homed FatTree, k-MHFT (thesis §7.2.2, fig. 7.5, table 7.1): k pods of k/2 aggregation and k²/4 edge switches,
/// k/2 cores, k³/4 hosts with k/2 interfaces. An edge switch has k/2 hosts and one aggregation switch, an aggregation
/// switch k/2 edge switches and one core.
///
/// The text leaves open which cable goes where. Here the network is k/2 planes that share nothing: interface i of
/// every host is in plane i, and a plane is a tree of core i, aggregation switch i of every pod and below each of these
/// k/2 edge switches. The k/2 hosts of a rack are on the same k/2 edge switches, one of each plane. So the k/2 paths
/// between two hosts of different pods are disjoint, as are those within a pod and a rack; interface i of a host reaches
/// interface i of all others and no other interface. Were planes mixed (rack r's interface i in plane i + r), address i
/// would not reach address i of another rack.
///
/// Table 7.1 gives a core k/2 ports. One from each of the k pods makes k: k²/2 aggregation switches have one uplink each,
/// which k/2 cores share.
///
/// Hosts: `pod0-host0`, … pod by pod and rack by rack. Switches: `core0`, …, `pod0-aggregation0`, …, `pod0-edge0`, …;
/// edge switch r·k/2 + i is in rack r and plane i. `top` is the cores, so that interface i of an extra host is in plane i.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiHomedFatTree {
    /// Number of pods and twice the number of interfaces per host; even, at least 2.
    pub k: u32,
    /// Hosts in each rack, that is on each edge switch; at least 1. `None`: k/2.
    pub hosts_per_edge: Option<u32>,
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

impl MultiHomedFatTree {
    /// Builds the graph.
    ///
    /// # Errors
    /// A `k` that is odd or below 2, no hosts, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        let half = half(self.k)?;
        let hosts_per_edge = self.hosts_per_edge.unwrap_or(half);
        at_least_one("hosts_per_edge", hosts_per_edge)?;
        // Per pod and plane: k/2 edge switches with their hosts and an uplink each, and the aggregation switch's uplink.
        let planes = self.k.saturating_mul(half);
        limit(&[[planes, half, hosts_per_edge], [planes, half, 1], [planes, 1, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let cores = net.switches("core", half)?;
        for pod in 0..self.k {
            let aggregation = net.switches(&format!("pod{pod}-aggregation"), half)?;
            let edges = net.switches(&format!("pod{pod}-edge"), half * half)?;
            net.pairs(&aggregation, &cores, self.core_wire)?;
            for (rack, edges) in (0..).zip(edges.chunks(half as usize)) {
                net.pairs(edges, &aggregation, self.aggregation_wire)?;
                let numbers = rack * hosts_per_edge..(rack + 1) * hosts_per_edge;
                net.hosts(&format!("pod{pod}-host"), numbers, edges)?;
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
pub(super) fn tiers(hosts: u64, k: u32) -> Tiers {
    let k = u64::from(k);
    let tiers = vec![
        Tier::new("edge", Role::Edge, hosts, k / 2 + 1),
        Tier::new("aggregation", Role::Aggregation, k * k / 2, k / 2 + 1),
        Tier::new("core", Role::Core, k / 2, k),
    ];
    Tiers { interfaces: k / 2, tiers }
}
