//! VL2's Clos network.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::Span;

use super::link::{LinkChangeRecord, LinkRecord};
use super::shape::{BuildError, Extent, Shape, Wires, even};
use crate::checker::Checker;

record! {
    /// VL2's Clos network (Greenberg et al., SIGCOMM 2009).
    pub struct Vl2Record {
        /// Ports of an aggregation switch (D_A), an even number; half of them go to intermediate switches.
        #[range(2..=1000)]
        pub aggregation_ports: u32,
        /// Ports of an intermediate switch (D_I), an even number; there are as many aggregation switches.
        #[range(2..=1000)]
        pub intermediate_ports: u32,
        /// Hosts at each top-of-rack switch.
        #[range(1..=10_000)]
        pub hosts_per_tor: u32 = 20,
        /// The cables between hosts and top-of-rack switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between top-of-rack and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation and intermediate switches; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
    }
}

impl Shape for Vl2Record {
    fn check(&self, _: &LinkRecord, checker: &mut Checker) {
        even("aggregation-ports", self.aggregation_ports, checker);
        even("intermediate-ports", self.intermediate_ports, checker);
    }

    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        vec![
            ("host-link", self.host_link.as_ref()),
            ("edge-link", self.edge_link.as_ref()),
            ("core-link", self.core_link.as_ref()),
        ]
    }

    fn extent(&self) -> Extent {
        let both = u128::from(self.aggregation_ports) * u128::from(self.intermediate_ports);
        let hosts = both / 4 * u128::from(self.hosts_per_tor);
        let (hosts, cables) = (hosts, hosts + both / 4 * 2 + both / 2);
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::Vl2 {
            aggregation_ports: self.aggregation_ports,
            intermediate_ports: self.intermediate_ports,
            hosts_per_tor: self.hosts_per_tor,
            host_wire: wires.host(self.host_link.as_ref()),
            wire: wires.switch(self.host_link.as_ref()),
            aggregation_wire: wires.switch(self.edge_link.as_ref()),
            intermediate_wire: wires.switch(self.core_link.as_ref()),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }
}
