//! Leaf–spine.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::LinkChangeRecord;
use super::shape::{BuildError, Extent, Shape, Wires};

record! {
    /// Leaf–spine: leaves with hosts, every leaf cabled to every spine.
    pub struct TwoTierRecord {
        /// Switches with hosts.
        #[range(1..=10_000)]
        pub leaves: u32,
        /// Switches that connect leaves.
        #[range(1..=10_000)]
        pub spines: u32,
        /// Hosts at each leaf.
        #[range(1..=10_000)]
        pub hosts_per_leaf: u32,
        /// The cables between leaves and spines; like `link` when left out.
        pub uplink: Option<LinkChangeRecord>,
    }
}

impl Shape for TwoTierRecord {
    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        vec![("uplink", self.uplink.as_ref())]
    }

    fn extent(&self) -> Extent {
        let hosts = u128::from(self.leaves) * u128::from(self.hosts_per_leaf);
        let (hosts, cables) = (hosts, hosts + u128::from(self.leaves) * u128::from(self.spines));
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::TwoTier {
            leaves: self.leaves,
            spines: self.spines,
            hosts_per_leaf: self.hosts_per_leaf,
            host_wire: wires.host(None),
            wire: wires.switch(None),
            spine_wire: wires.switch(self.uplink.as_ref()),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }
}
