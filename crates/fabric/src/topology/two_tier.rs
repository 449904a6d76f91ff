//! Leaf–spine.

use headway_units::Span;

use super::{Built, TopologyError, at_least_one, limit, mesh, switches};
use crate::graph::Graph;
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
    /// A count of zero, too many links, a wire that [`Graph::connect`] refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        at_least_one("leaves", self.leaves)?;
        at_least_one("spines", self.spines)?;
        at_least_one("hosts_per_leaf", self.hosts_per_leaf)?;
        limit(&[[self.leaves, self.spines, 1], [self.leaves, self.hosts_per_leaf, 1]])?;
        let mut graph = Graph::new();
        let spines = switches(&mut graph, "spine", self.spines, self.switch_latency)?;
        let leaves = switches(&mut graph, "leaf", self.leaves, self.switch_latency)?;
        mesh(&mut graph, &leaves, &spines, self.spine_wire)?;
        let mut hosts = Vec::new();
        for (l, &leaf) in leaves.iter().enumerate() {
            for i in 0..self.hosts_per_leaf {
                let host = graph.add_host(format!("leaf{l}-host{i}"), self.host_latency)?;
                graph.connect(host, leaf, self.host_wire, self.wire)?;
                hosts.push(host);
            }
        }
        Ok(Built { graph, hosts, top: spines })
    }
}
