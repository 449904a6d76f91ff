//! One pod of a dual-homed fat-tree.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::LinkRecord;
use super::shape::{BuildError, Extent, Shape, Wires, even};
use crate::checker::Checker;

record! {
    /// One pod of a dual-homed fat-tree.
    pub struct DualHomedPodRecord {
        /// Twice the number of edge switches, and of aggregation switches; even.
        #[range(4..=64)]
        pub k: u32,
        /// Hosts in the pod; k²/2 when left out.
        #[range(1..=10_000)]
        pub hosts: Option<u32>,
    }
}

impl DualHomedPodRecord {
    /// Hosts in the pod.
    pub fn hosts(&self) -> u32 {
        self.hosts.unwrap_or(self.k * self.k / 2)
    }
}

impl Shape for DualHomedPodRecord {
    fn check(&self, _: &LinkRecord, checker: &mut Checker) {
        even("k", self.k, checker);
    }

    fn extent(&self) -> Extent {
        let k = u128::from(self.k);
        let (hosts, cables) = (u128::from(self.hosts()), k / 2 * u128::from(self.hosts()) + k * k / 4);
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::DualHomedPod {
            k: self.k,
            hosts: self.hosts,
            host_wire: wires.host(None),
            wire: wires.switch(None),
            aggregation_wire: wires.switch(None),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }

    fn has_planes(&self) -> bool {
        true
    }
}
