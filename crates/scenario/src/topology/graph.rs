//! Switches, hosts and cables one by one.

use std::collections::BTreeSet;

use headway_fabric::topology::Built;
use headway_fabric::{Graph, GraphError, NodeKind};
use headway_language::{Name, record, suggest_help};
use headway_units::Span;

use super::link::{LinkChangeRecord, LinkRecord};
use super::shape::{BuildError, Extent, Shape, Wires, wire};
use crate::checker::Checker;

record! {
    /// Switches, hosts and cables one by one.
    pub struct GraphRecord {
        /// The names of the switches.
        pub switches: Vec<Name>,
        /// The names of the hosts.
        pub hosts: Vec<Name>,
        /// The cables.
        pub cables: Vec<CableRecord>,
    }
}

record! {
    /// A cable between two named switches or hosts.
    pub struct CableRecord {
        /// Its two ends.
        pub between: [Name; 2],
    }
    with /// What is different from `topology.link`.
    link: LinkChangeRecord
}

impl Shape for GraphRecord {
    fn check(&self, _: &LinkRecord, checker: &mut Checker) {
        let mut known = BTreeSet::new();
        for (key, names) in [("switches", &self.switches), ("hosts", &self.hosts)] {
            for (index, name) in names.iter().enumerate() {
                if !known.insert(name.as_str()) {
                    let path = ["topology", key, &index.to_string()];
                    checker.problem(&path, format!("`{name}` is in the graph twice"), "once more", None);
                }
            }
        }
        for (index, cable) in self.cables.iter().enumerate() {
            let index = index.to_string();
            if let Some(own) = &cable.link.queue {
                own.check(&["topology", "cables", &index, "queue"], checker);
            }
            for (end, name) in cable.between.iter().enumerate() {
                let path = ["topology", "cables", &index, "between", &end.to_string()];
                if !known.contains(name.as_str()) {
                    let help = suggest_help(name, known.iter().copied(), "switches and hosts");
                    checker.problem(&path, format!("there is no switch or host `{name}`"), "no such name", Some(&help));
                }
            }
            if cable.between[0] == cable.between[1] {
                let path = ["topology", "cables", &index, "between"];
                checker.problem(&path, format!("a cable from `{}` to itself", cable.between[0]), "", None);
            }
        }
        let cabled: BTreeSet<&str> = self.cables.iter().flat_map(|cable| &cable.between).map(|name| &**name).collect();
        for (index, host) in self.hosts.iter().enumerate().filter(|(_, host)| !cabled.contains(host.as_str())) {
            let path = ["topology", "hosts", &index.to_string()];
            checker.problem(&path, format!("host `{host}` has no cable"), "not connected", None);
        }
    }

    fn extent(&self) -> Extent {
        Extent { hosts: self.hosts.len() as u128, cables: self.cables.len() as u128 }
    }

    fn build(&self, wires: &Wires) -> Result<Built, BuildError> {
        Ok(by_hand(self, wires)?)
    }
}

fn by_hand(record: &GraphRecord, wires: &Wires) -> Result<Built, GraphError> {
    let mut graph = Graph::new();
    for name in &record.switches {
        graph.add_switch(name.as_str(), wires.switch_latency)?;
    }
    let hosts =
        record.hosts.iter().map(|name| graph.add_host(name.as_str(), Span::ZERO)).collect::<Result<Vec<_>, _>>()?;
    for cable in &record.cables {
        let link = cable.link.over(wires.link);
        let ends = cable.between.each_ref().map(|name| graph.find(name).expect("checked: the name is in the graph"));
        let [from_a, from_b] = ends.map(|end| {
            let default = match graph.node(end).kind {
                NodeKind::Host => wires.host_queue,
                NodeKind::Switch => wires.queue,
            };
            wire(&link, cable.link.queue.as_ref().unwrap_or(default))
        });
        graph.connect(ends[0], ends[1], from_a, from_b)?;
    }
    Ok(Built { graph, hosts, top: Vec::new() })
}
