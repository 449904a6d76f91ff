//! A fat-tree with several interfaces for each host.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::LinkRecord;
use super::shape::{BuildError, Extent, Shape, Wires, even};
use crate::checker::Checker;

record! {
    /// A fat-tree whose hosts are cabled to all k/2 edge switches of their pod: two at k = 4.
    pub struct DualHomedFatTreeRecord {
        /// Ports of an aggregation or core switch, an even number; the pods are as many.
        #[range(4..=64)]
        pub k: u32,
        /// Hosts in each pod; k²/4 when left out, as many as in a fat-tree.
        #[range(1..=10_000)]
        pub hosts_per_pod: Option<u32>,
    }
}

impl DualHomedFatTreeRecord {
    /// Hosts in each pod.
    pub fn hosts_per_pod(&self) -> u32 {
        self.hosts_per_pod.unwrap_or(self.k * self.k / 4)
    }
}

impl Shape for DualHomedFatTreeRecord {
    fn check(&self, _: &LinkRecord, checker: &mut Checker) {
        even("k", self.k, checker);
    }

    fn extent(&self) -> Extent {
        let k = u128::from(self.k);
        let hosts = k * u128::from(self.hosts_per_pod());
        let (hosts, cables) = (hosts, k / 2 * hosts + k * k * k / 2);
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::DualHomedFatTree {
            k: self.k,
            hosts_per_pod: self.hosts_per_pod,
            host_wire: wires.host(None),
            wire: wires.switch(None),
            aggregation_wire: wires.switch(None),
            core_wire: wires.switch(None),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }

    fn has_planes(&self) -> bool {
        true
    }
}
