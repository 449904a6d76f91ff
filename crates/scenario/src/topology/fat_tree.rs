//! Three tiers of k-port switches in k pods.

use headway_fabric::topology::{self, Built};
use headway_language::record;
use headway_units::{Rate, Span};

use super::link::{LinkChangeRecord, LinkRecord};
use super::shape::{BuildError, Extent, Shape, Wires, even};
use crate::checker::Checker;

record! {
    /// Three tiers of k-port switches in k pods.
    pub struct FatTreeRecord {
        /// Ports of a switch, an even number; k = 4 has 16 hosts.
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
        /// The rate of edge-aggregation cables is divided by this.
        #[range(1.0..)]
        pub edge_oversubscription: f64 = 1.0,
        /// The rate of aggregation-core cables is divided by this.
        #[range(1.0..)]
        pub core_oversubscription: f64 = 1.0,
    }
}

impl FatTreeRecord {
    /// Hosts at each edge switch.
    pub fn hosts_per_edge(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }
}

impl Shape for FatTreeRecord {
    fn check(&self, link: &LinkRecord, checker: &mut Checker) {
        oversubscription(self, link, checker);
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
        let k = u128::from(self.k);
        let hosts = k * (k / 2) * u128::from(self.hosts_per_edge());
        let (hosts, cables) = (hosts, hosts + k * k * k / 2);
        Extent { hosts, cables }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(topology::FatTree {
            k: self.k,
            hosts_per_edge: self.hosts_per_edge,
            host_wire: wires.host(self.host_link.as_ref()),
            wire: wires.switch(self.host_link.as_ref()),
            aggregation_wire: wires.oversubscribed(self.edge_link.as_ref(), self.edge_oversubscription),
            core_wire: wires.oversubscribed(self.core_link.as_ref(), self.core_oversubscription),
            host_latency: Span::ZERO,
            switch_latency: wires.switch_latency,
        }
        .build()?)
    }
}

fn oversubscription(tree: &FatTreeRecord, link: &LinkRecord, checker: &mut Checker) {
    let tiers: [(&str, &Option<LinkChangeRecord>, f64); 2] =
        [("edge", &tree.edge_link, tree.edge_oversubscription), ("core", &tree.core_link, tree.core_oversubscription)];
    for (tier, change, factor) in tiers {
        let own_rate = change.as_ref().and_then(|change| change.rate);
        let key = format!("{tier}-oversubscription");
        if factor != 1.0 && own_rate.is_some() {
            let message = format!("`topology.{tier}-link.rate` and `topology.{key}` both set the same rate");
            let help = format!("keep one of them; the other cables have {}", link.rate);
            checker.problem(&["topology", &key], message, "", Some(&help));
        } else if link.rate.bps() as f64 / factor < 1.0 {
            let message = format!("`topology.{key}` leaves less than {} of {}", Rate::from_bps(1), link.rate);
            checker.problem(&["topology", &key], message, "too much", None);
        }
    }
}
