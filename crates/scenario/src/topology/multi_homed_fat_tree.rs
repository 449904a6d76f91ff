//! A fat-tree in k/2 planes.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::{LinkChangeRecord, LinkRecord};
use super::shape::{BuildError, Extent, Shape, Wires, even};
use crate::checker::Checker;

record! {
    /// A fat-tree whose hosts have k/2 interfaces in as many planes that share nothing (k-MHFT).
    pub struct MultiHomedFatTreeRecord {
        /// Twice the number of planes, and of interfaces of a host; even. The pods are k.
        #[range(2..=64)]
        pub k: u32,
        /// Hosts at each edge switch; k/2 when left out.
        #[range(1..=10_000)]
        pub hosts_per_edge: Option<u32>,
        /// The cables between hosts and edge switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between edge and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation and core switches; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
    }
}

impl MultiHomedFatTreeRecord {
    /// Hosts at each edge switch.
    pub fn hosts_per_edge(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }
}

impl Shape for MultiHomedFatTreeRecord {
    fn check(&self, _: &LinkRecord, checker: &mut Checker) {
        even("k", self.k, checker);
    }

    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        vec![
            ("host-link", self.host_link.as_ref()),
            ("edge-link", self.edge_link.as_ref()),
            ("core-link", self.core_link.as_ref()),
        ]
    }

    fn extent(&self) -> Extent {
        let (k, each) = (u128::from(self.k), u128::from(self.hosts_per_edge()));
        let (hosts, cables) = (k * (k / 2) * each, k * (k / 2) * (k / 2) * (each + 1) + k * (k / 2));
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::MultiHomedFatTree {
            k: self.k,
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

    fn has_planes(&self) -> bool {
        true
    }
}
