//! Leaf–spine.

use headway_units::Span;

use super::inventory::{Role, Tier, Tiers};
use super::wiring::{Built, TopologyError, Wiring, at_least_one, limit};
use crate::wire::Wire;

/// Leaf switches with hosts, each connected to every spine switch. pFabric's network is 9 leaves of 16 hosts and
/// 4 spines (Alizadeh et al., SIGCOMM 2013).
///
/// Hosts: `leaf0-host0`, … leaf by leaf. Switches: `leaf0`, …, `spine0`, …. `top` is all spines: from each of them exactly
/// one path leads to a host.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoTier {
    /// Leaf switches; at least 1.
    pub leaves: u32,
    /// Spine switches; at least 1.
    pub spines: u32,
    /// Hosts on each leaf; at least 1.
    pub hosts_per_leaf: u32,
    /// From a host to its leaf.
    pub host_wire: Wire,
    /// From a leaf to a host.
    pub wire: Wire,
    /// Between leaf and spine, either direction.
    pub spine_wire: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl TwoTier {
    /// Builds the graph.
    ///
    /// # Errors
    /// A count of zero, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        check(self.leaves, self.spines, self.hosts_per_leaf)?;
        limit(&[[self.leaves, self.spines, 1], [self.leaves, self.hosts_per_leaf, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let spines = net.switches("spine", self.spines)?;
        let leaves = net.switches("leaf", self.leaves)?;
        net.mesh(&leaves, &spines, self.spine_wire)?;
        net.hosts_on_each("leaf", &leaves, self.hosts_per_leaf)?;
        Ok(net.finish(spines))
    }
}

fn check(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Result<(), TopologyError> {
    at_least_one("leaves", leaves)?;
    at_least_one("spines", spines)?;
    at_least_one("hosts_per_leaf", hosts_per_leaf)
}

/// Hosts of the full size.
pub(super) fn hosts(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Result<u128, TopologyError> {
    check(leaves, spines, hosts_per_leaf)?;
    Ok(u128::from(leaves) * u128::from(hosts_per_leaf))
}

/// Switches of the full size.
pub(super) fn tiers(_hosts: u64, leaves: u32, spines: u32, hosts_per_leaf: u32) -> Tiers {
    let [leaves, spines, each] = [leaves, spines, hosts_per_leaf].map(u64::from);
    let tiers =
        vec![Tier::new("leaf", Role::Edge, leaves, each + spines), Tier::new("spine", Role::Core, spines, leaves)];
    Tiers { interfaces: 1, tiers }
}
