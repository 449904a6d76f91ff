//! Servers that forward for each other.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::shape::{BuildError, Extent, Shape, Wires};

record! {
    /// Servers with several interfaces that forward for each other (Guo et al., SIGCOMM 2009).
    pub struct BcubeRecord {
        /// Ports of a switch.
        #[range(3..=64)]
        pub n: u32,
        /// Interfaces of a server, one more than the k of BCube_k.
        #[range(1..=8)]
        pub levels: u32,
    }
}

impl Shape for BcubeRecord {
    fn extent(&self) -> Extent {
        let hosts = u128::from(self.n).pow(self.levels);
        let (hosts, cables) = (hosts, hosts * u128::from(self.levels));
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::Bcube {
            n: self.n,
            levels: self.levels,
            host_wire: wires.host(None),
            wire: wires.switch(None),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }

    fn servers_forward(&self) -> bool {
        true
    }
}
