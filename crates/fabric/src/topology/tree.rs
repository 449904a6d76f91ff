//! The hierarchical tree.

use headway_units::Span;

use super::wiring::{Built, TopologyError, Wiring, at_least_one, limit};
use crate::wire::Wire;

/// The hierarchical tree of data centres before FatTrees (thesis fig. 3.1): one core switch, aggregation switches below
/// it, edge switches below each of them, hosts below each of these. Between two hosts there is one path.
///
/// Hosts: `edge0-host0`, … edge by edge. Switches: `core`, `aggregation0`, …, `edge0`, …, numbered through the whole
/// tree. `top` is the core.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Aggregation switches below the core; at least 1.
    pub aggregations: u32,
    /// Edge switches below each aggregation switch; at least 1.
    pub edges_per_aggregation: u32,
    /// Hosts on each edge switch; at least 1.
    pub hosts_per_edge: u32,
    /// From a host to its edge switch.
    pub host_wire: Wire,
    /// From an edge switch to a host.
    pub wire: Wire,
    /// Between edge and aggregation switch, either direction.
    pub aggregation_wire: Wire,
    /// Between aggregation switch and core, either direction.
    pub core_wire: Wire,
    /// Latency of the hosts.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl Tree {
    /// Builds the graph.
    ///
    /// # Errors
    /// A count of zero, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        at_least_one("aggregations", self.aggregations)?;
        at_least_one("edges_per_aggregation", self.edges_per_aggregation)?;
        at_least_one("hosts_per_edge", self.hosts_per_edge)?;
        let (aggregations, edges_each) = (self.aggregations, self.edges_per_aggregation);
        limit(&[[aggregations, edges_each, self.hosts_per_edge], [aggregations, edges_each, 1], [aggregations, 1, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let core = net.switch("core")?;
        let aggregation = net.switches("aggregation", aggregations)?;
        let edges = net.switches("edge", aggregations * edges_each)?;
        for (&switch, below) in aggregation.iter().zip(edges.chunks(edges_each as usize)) {
            net.connect(switch, core, self.core_wire)?;
            net.mesh(below, &[switch], self.aggregation_wire)?;
        }
        net.hosts_on_each("edge", &edges, self.hosts_per_edge)?;
        Ok(net.finish(vec![core]))
    }
}
