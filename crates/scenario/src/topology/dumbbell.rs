//! Two switches with one cable between them.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::LinkChangeRecord;
use super::shape::{BuildError, Extent, Shape, Wires};

record! {
    /// Two switches with one cable between them, hosts at both.
    pub struct DumbbellRecord {
        /// Hosts at the left switch; they come first in the order of hosts.
        #[range(1..=1_000_000)]
        pub left: u32,
        /// Hosts at the right switch.
        #[range(1..=1_000_000)]
        pub right: u32,
        /// The cable between the switches.
        pub bottleneck: LinkChangeRecord,
    }
}

impl Shape for DumbbellRecord {
    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        vec![("bottleneck", Some(&self.bottleneck))]
    }

    fn extent(&self) -> Extent {
        let (hosts, cables) =
            (u128::from(self.left) + u128::from(self.right), 1 + u128::from(self.left) + u128::from(self.right));
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        let bottleneck = wires.switch(Some(&self.bottleneck));
        Ok(topology::Dumbbell {
            left: self.left,
            right: self.right,
            bottleneck,
            host_wire: wires.host(None),
            wire: wires.switch(None),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }
}
