//! A plain tree.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::LinkChangeRecord;
use super::shape::{BuildError, Extent, Shape, Wires};

record! {
    /// One core, aggregation switches below it, edge switches with hosts below these.
    pub struct TreeRecord {
        /// Aggregation switches.
        #[range(1..=10_000)]
        pub aggregations: u32,
        /// Edge switches below each of them.
        #[range(1..=10_000)]
        pub edges_per_aggregation: u32,
        /// Hosts at each edge switch.
        #[range(1..=10_000)]
        pub hosts_per_edge: u32,
        /// The cables between hosts and edge switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between edge and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation switches and the core; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
    }
}

impl Shape for TreeRecord {
    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        vec![
            ("host-link", self.host_link.as_ref()),
            ("edge-link", self.edge_link.as_ref()),
            ("core-link", self.core_link.as_ref()),
        ]
    }

    fn extent(&self) -> Extent {
        let edges = u128::from(self.aggregations) * u128::from(self.edges_per_aggregation);
        let hosts = edges * u128::from(self.hosts_per_edge);
        let (hosts, cables) = (hosts, hosts + edges + u128::from(self.aggregations));
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::Tree {
            aggregations: self.aggregations,
            edges_per_aggregation: self.edges_per_aggregation,
            hosts_per_edge: self.hosts_per_edge,
            host_wire: wires.host(self.host_link.as_ref()),
            wire: wires.switch(self.host_link.as_ref()),
            aggregation_wire: wires.switch(self.edge_link.as_ref()),
            core_wire: wires.switch(self.core_link.as_ref()),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }
}
