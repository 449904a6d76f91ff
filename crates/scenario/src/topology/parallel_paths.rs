//! Two sides with several disjoint paths between.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::LinkChangeRecord;
use super::shape::{BuildError, Extent, Shape, Wires};

record! {
    /// Hosts at two sides with several disjoint paths between, an interface for each path.
    pub struct ParallelPathsRecord {
        /// Paths, and thus interfaces of every host.
        #[range(1..=64)]
        pub paths: u32,
        /// Hosts at the left; they come first in the order of hosts.
        #[range(1..=1_000_000)]
        pub left: u32 = 1,
        /// Hosts at the right.
        #[range(1..=1_000_000)]
        pub right: u32 = 1,
        /// The cables between a path's two switches; like `link` when left out.
        pub middle: Option<LinkChangeRecord>,
    }
}

impl Shape for ParallelPathsRecord {
    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        vec![("middle", self.middle.as_ref())]
    }

    fn extent(&self) -> Extent {
        let hosts = u128::from(self.left) + u128::from(self.right);
        let (hosts, cables) = (hosts, u128::from(self.paths) * (hosts + 1));
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        let paths = vec![wires.switch(self.middle.as_ref()); self.paths as usize];
        Ok(topology::ParallelPaths {
            left: self.left,
            right: self.right,
            paths,
            host_wire: wires.host(None),
            wire: wires.switch(None),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }
}
