//! Topologies and host groups.

use std::collections::BTreeSet;
use std::sync::Arc;

use headway_fabric::topology::Built;
use headway_fabric::{Graph, Limit, LinkId, NodeId, NodeKind, QueueSpec};
use headway_language::Name;
use headway_units::Span;

use super::error::PlanError;
use crate::schema::{FlowsRecord, Place, ScenarioRecord, TopologyRecord, TrafficRecord};
use crate::topology::{loss, wire};

/// The hosts of a group.
pub type Hosts = Vec<NodeId>;

/// The graph with its groups of hosts.
#[derive(Debug, Clone)]
pub struct Network {
    /// The graph, and the hosts of the topology in order.
    pub built: Built,
    groups: Vec<(String, Hosts)>,
    views: Vec<(String, Hosts)>,
    names: Vec<Arc<str>>,
    /// Per link the part of the network that it belongs to: links of one part are joined by nodes that forward.
    parts: Vec<u32>,
}

impl Network {
    /// The topology of `scenario` with its groups.
    ///
    /// # Errors
    /// If it cannot be built like that.
    pub fn build(scenario: &ScenarioRecord) -> Result<Network, PlanError> {
        let topology = &scenario.topology;
        let mut built = topology
            .shape
            .kind()
            .build(&topology.wires())
            .map_err(|error| PlanError::new(&["topology"], error.to_string()))?;
        let mut free = built.hosts.clone();
        let mut groups = Vec::new();
        for (name, group) in scenario.hosts.iter() {
            let count = group.count.unwrap_or(0) as usize;
            let hosts: Hosts = if let Some(members) = &group.members {
                members.iter().filter_map(|member| built.graph.find(member)).collect()
            } else if group.at == Place::Top {
                let own = group.link.as_ref();
                let link = own.map_or_else(|| topology.link.clone(), |own| own.over(&topology.link));
                let queue = own.and_then(|own| own.queue.as_ref()).unwrap_or(&topology.queue);
                (0..count)
                    .map(|i| {
                        let (up, down) = (wire(&link, queue), wire(&link, &topology.host_queue));
                        built.attach_top_host(format!("{name}{i}"), Span::ZERO, up, down)
                    })
                    .collect::<Result<_, _>>()
                    .map_err(|error| {
                        PlanError::new(&["hosts", name], format!("`hosts.{name}` does not fit: {error}"))
                    })?
            } else {
                let every = group.every.unwrap_or(1) as usize;
                let places = free.len().div_ceil(every);
                if places < count {
                    let free = free.len();
                    let message =
                        format!("`hosts.{name}` needs {count} hosts, and one in every {every} of {free} is {places}");
                    let most = (free.saturating_sub(1) / count.saturating_sub(1).max(1)).max(1);
                    return Err(
                        PlanError::new(&["hosts", name, "every"], message).help(format!("at most `every = {most}`"))
                    );
                }
                let mut place = 0;
                let mut taken = Hosts::with_capacity(count);
                free.retain(|&host| {
                    let takes = taken.len() < count && place % every == 0;
                    if takes {
                        taken.push(host);
                    }
                    place += 1;
                    !takes
                });
                taken
            };
            groups.push((name.to_owned(), hosts));
        }
        if built.graph.links().iter().any(|link| link.wire.loss >= 1.0) {
            return Err(PlanError::new(&["topology"], "a cable of this topology loses everything"));
        }
        let views = views(scenario, &groups)?;
        loss::apply(&topology.losses, &mut built.graph, links_called, suggest_link)?;
        check_queues(topology)?;
        share_buffers(topology, &mut built.graph)?;
        let frame = topology.mtu.get() + 18;
        let narrow = |queue: &QueueSpec| matches!(queue.limit(), Some(Limit::Bytes(bytes)) if bytes.get() < frame);
        if built.graph.links().iter().any(|link| narrow(&link.wire.queue)) {
            return Err(PlanError::new(
                &["topology"],
                format!("a queue of this topology has no room for a frame of {frame} B"),
            ));
        }
        let names = built.graph.nodes().iter().map(|node| Arc::from(node.name.as_str())).collect();
        let parts = parts(&built.graph);
        Ok(Network { built, groups, views, names, parts })
    }

    /// Whether two scenarios have the same network with the same groups: what [`Network::build`] looks at is the same.
    pub fn is_shared(one: &ScenarioRecord, other: &ScenarioRecord) -> bool {
        let groups = |of: &ScenarioRecord| -> Vec<String> {
            let flows = of.traffic.iter().filter_map(TrafficRecord::flows);
            flows.flat_map(FlowsRecord::groups).map(ToString::to_string).collect()
        };
        one.topology == other.topology
            && one.hosts == other.hosts
            && one.views == other.views
            && groups(one) == groups(other)
    }

    /// The parts that a host's interfaces are in.
    pub fn parts_of(&self, host: NodeId) -> Vec<u32> {
        self.built.graph.interfaces(host).iter().map(|link| self.parts[link.index()]).collect()
    }

    /// Whether frames can get from one interface to the other.
    pub fn connected(&self, one: LinkId, other: LinkId) -> bool {
        self.parts[one.index()] == self.parts[other.index()]
    }

    /// The groups in the order of the file, with their hosts.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &[NodeId])> {
        self.groups.iter().map(|(name, hosts)| (name.as_str(), hosts.as_slice()))
    }

    /// The hosts of the group or view called `name`.
    pub fn group(&self, name: &str) -> &[NodeId] {
        self.groups.iter().chain(&self.views).find(|(known, _)| known == name).map_or(&[], |(_, hosts)| hosts)
    }

    /// The name of a host or switch.
    pub fn name(&self, node: NodeId) -> Arc<str> {
        Arc::clone(&self.names[node.index()])
    }

    /// `from>to` of a port.
    pub fn port_name(&self, link: LinkId) -> String {
        let link = self.built.graph.link(link);
        format!("{}>{}", self.name(link.from), self.name(link.to))
    }

    /// The links that are called `name` (`from>to`): none, one, or parallel ones.
    pub fn links_called(&self, name: &str) -> Vec<LinkId> {
        links_called(&self.built.graph, name)
    }

    /// A remedy for `name`, which no link is called.
    pub fn suggest_link(&self, name: &str) -> String {
        suggest_link(&self.built.graph, name)
    }

    /// The ports of switches.
    pub fn switch_ports(&self) -> Vec<LinkId> {
        let graph = &self.built.graph;
        let at_switch = |(_, link): &(usize, &headway_fabric::Link)| graph.node(link.from).kind == NodeKind::Switch;
        graph.links().iter().enumerate().filter(at_switch).map(|(i, _)| LinkId(i as u32)).collect()
    }
}

/// The hosts of each view, in the order of their groups, each once; and of several groups that a traffic names.
fn views(scenario: &ScenarioRecord, groups_of_hosts: &[(String, Hosts)]) -> Result<Vec<(String, Hosts)>, PlanError> {
    let mut views: Vec<(String, Hosts)> = Vec::new();
    for (name, view) in scenario.views.iter() {
        let mut seen = BTreeSet::new();
        let mut all = Hosts::new();
        for group in view.of.iter() {
            let of = groups_of_hosts.iter().chain(&views).find(|(known, _)| known == group.as_str());
            all.extend(of.into_iter().flat_map(|(_, hosts)| hosts).filter(|host| seen.insert(**host)));
        }
        let count = all.len();
        let Some(hosts) = view.choose(all) else {
            let message = format!("`views.{name}` finds too few hosts: its groups have {count}");
            return Err(PlanError::new(&["views", name], message).help("skip fewer, or take fewer"));
        };
        views.push((name.to_owned(), hosts));
    }
    for groups in scenario.traffic.iter().filter_map(TrafficRecord::flows).flat_map(FlowsRecord::groups) {
        if groups.names().len() > 1 && views.iter().all(|(known, _)| **known != **groups) {
            let mut seen = BTreeSet::new();
            let of = |name: &Name| groups_of_hosts.iter().chain(&views).find(|(known, _)| known == name.as_str());
            let hosts = groups.names().iter().filter_map(of).flat_map(|(_, hosts)| hosts).copied();
            let hosts = hosts.filter(|host| seen.insert(*host)).collect();
            views.push((groups.to_string(), hosts));
        }
    }
    Ok(views)
}

/// The links of `graph` that are called `name`.
fn links_called(graph: &Graph, name: &str) -> Vec<LinkId> {
    let ends = name.split_once('>').and_then(|(from, to)| Some((graph.find(from)?, graph.find(to)?)));
    let Some((from, to)) = ends else { return Vec::new() };
    graph.interfaces(from).iter().copied().filter(|&link| graph.link(link).to == to).collect()
}

/// A remedy for `name`, which no link of `graph` is called.
fn suggest_link(graph: &Graph, name: &str) -> String {
    let called = |node: NodeId| graph.node(node).name.as_str();
    let names: Vec<String> =
        graph.links().iter().map(|link| format!("{}>{}", called(link.from), called(link.to))).collect();
    headway_language::suggest_help(name, names.iter().map(String::as_str), "links")
}

/// A port that cannot take a full frame never delivers data.
fn check_queues(topology: &TopologyRecord) -> Result<(), PlanError> {
    let frame = topology.mtu.get() + 18;
    for (key, record) in [("queue", &topology.queue), ("host-queue", &topology.host_queue)] {
        if let Some((of, bytes)) = record.bytes()
            && bytes.get() < frame
        {
            let message = format!("a queue of {bytes} has no room for a frame of {frame} B");
            let fault = PlanError::new(&["topology", key, of], message);
            return Err(fault.help("a frame is `mtu` and 18 B of Ethernet header and checksum"));
        }
    }
    Ok(())
}

/// Gives every switch its buffer, if there is one; it must hold its ports' reserves and a full frame of every port.
fn share_buffers(topology: &TopologyRecord, graph: &mut Graph) -> Result<(), PlanError> {
    let Some(record) = &topology.shared_buffer else { return Ok(()) };
    let spec = record.spec();
    let frame = topology.mtu.get() + 18;
    let switches: Vec<NodeId> = graph.switches().collect();
    for switch in switches {
        let ports = graph.interfaces(switch).len() as u64;
        let free = record.reserve.get().checked_mul(ports).and_then(|all| record.size.get().checked_sub(all));
        if free.is_none_or(|free| free < frame) {
            let name = &graph.node(switch).name;
            let message = format!(
                "the reserves of the {ports} ports of `{name}` leave no room for a frame of {frame} B in {}",
                record.size
            );
            let fault = PlanError::new(&["topology", "shared-buffer", "size"], message);
            return Err(fault.help("`size` includes a `reserve` for every port, also for those to hosts"));
        }
        graph.share_buffer(switch, spec);
    }
    Ok(())
}

/// Numbers the parts of the graph that nodes which forward hold together; a cable between other hosts is one of its own.
fn parts(graph: &Graph) -> Vec<u32> {
    let mut parts = vec![u32::MAX; graph.links().len()];
    // A node that forwards has its links in one part, so they are looked at once: once for each way in, a switch of n ports
    // would have n² links to look at.
    let mut entered = vec![false; graph.nodes().len()];
    let mut next = 0;
    for start in 0..parts.len() {
        if parts[start] != u32::MAX {
            continue;
        }
        let mut open = vec![LinkId(start as u32)];
        while let Some(link) = open.pop() {
            if std::mem::replace(&mut parts[link.index()], next) == next {
                continue;
            }
            open.push(link.reverse());
            let to = graph.link(link).to;
            if graph.node(to).forwards && !std::mem::replace(&mut entered[to.index()], true) {
                open.extend(graph.interfaces(to));
            }
        }
        next += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    fn network(text: &str) -> Result<Network, PlanError> {
        let document = Document::parse(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        Network::build(&scenario)
    }

    const TIERS: &str = r#"
name = "tiers"
about = "x"
duration = "1s"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 1
link = { rate = "1Gbps", loss = "1%" }
queue = { kind = "drop-tail", limit = "100pkt" }
uplink = { queue = { kind = "drop-tail", limit = "30pkt", mark = "7pkt" } }
losses = [{ links = ["leaf0>spine0"], every = 10 }, { links = ["spine0>leaf0"], share = 0 }]
[hosts]
all = { count = 2 }
[[traffic]]
name = "t"
from = "all"
to = "all"
size = "1KB"
arrival = "once"
[[policy]]
name = "p"
transport = "tcp"
"#;

    #[test]
    fn a_tier_has_a_queue_of_its_own() {
        let network = network(TIERS).unwrap_or_else(|fault| panic!("{}", fault.message));
        let limit = |name: &str| {
            let link = network.links_called(name)[0];
            network.built.graph.link(link).wire.queue.limit()
        };
        for name in ["leaf0>spine0", "spine0>leaf1"] {
            assert_eq!(limit(name), Some(Limit::Packets(30)), "{name}");
        }
        assert_eq!(limit("leaf0>leaf0-host0"), Some(Limit::Packets(100)));
    }

    #[test]
    fn views_have_hosts_of_several_groups_and_overlap() {
        let text = TIERS.replace("hosts-per-leaf = 1", "hosts-per-leaf = 4").replace(
            "all = { count = 2 }",
            "all = { count = 4 }\nmore = { count = 4 }\n[views]\nboth = { of = [\"more\", \"all\"] }\nsome = { of = \"both\", skip = 1, every = 3 }",
        );
        let built =
            network(&text.replace("from = \"all\"", "from = \"both\"").replace("to = \"all\"", "to = \"both\""));
        let built = built.unwrap_or_else(|fault| panic!("{}", fault.message));
        let names =
            |group: &str| built.group(group).iter().map(|&host| built.name(host).to_string()).collect::<Vec<_>>();
        assert_eq!(names("both").len(), 8);
        // traffic may name several at once: as a view of them, each host once
        let several = text.replace("from = \"all\"", "from = [\"some\", \"more\"]");
        let several = network(&several).unwrap_or_else(|fault| panic!("{}", fault.message));
        let joined: Vec<String> =
            several.group("some+more").iter().map(|&host| several.name(host).to_string()).collect();
        let mut expected = names("some");
        expected.extend(names("more").into_iter().filter(|host| !names("some").contains(host)));
        assert_eq!(joined, expected);
        assert_eq!(several.group("some+all"), []);
        assert_eq!(names("some"), ["leaf1-host1", "leaf0-host0", "leaf0-host3"]);
        assert_eq!(built.groups().count(), 2, "views are no groups");
    }

    #[test]
    fn links_lose_in_one_direction_what_is_said_of_it() {
        let built = network(TIERS).unwrap_or_else(|fault| panic!("{}", fault.message));
        let loss = |name: &str| {
            let link = built.built.graph.link(built.links_called(name)[0]);
            (link.wire.loss, link.periodic_loss.map(|loss| (loss.every, loss.first)))
        };
        assert_eq!(loss("leaf0>spine0"), (0.0, Some((10, 10))));
        assert_eq!(loss("spine0>leaf0"), (0.0, None));
        assert_eq!(loss("leaf1>spine0"), (0.01, None), "as its cable");
        for (from, to, message) in [
            ("spine0>leaf0", "spine0>leaf9", "there is no link `spine0>leaf9`"),
            ("spine0>leaf0", "leaf0>spine0", "`leaf0>spine0` is named twice"),
        ] {
            let fault = network(&TIERS.replace(from, to)).unwrap_err();
            assert_eq!(fault.message, message);
            assert_eq!(fault.path, ["topology", "losses", "1", "links", "0"]);
        }
    }

    /// Every third of nine hosts, then what is left in order.
    #[test]
    fn groups_take_every_so_many_of_the_hosts_that_are_left() {
        let text = r#"
name = "spread"
about = "x"
duration = "1s"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 1
hosts-per-leaf = 3
link = { rate = "1Gbps" }
queue = { kind = "drop-tail", limit = "100pkt" }
[hosts]
first = { count = 3, every = 3 }
second = { count = 2, every = 4 }
rest = { count = 4 }
[[traffic]]
name = "t"
from = "first"
to = "rest"
size = "1KB"
arrival = "once"
[[policy]]
name = "p"
transport = "tcp"
"#;
        let document = Document::parse(text, "spread.toml", &[]).expect("a scenario");
        let scenario = document.scenario(&document.points()[0]).expect("checked");
        let network = Network::build(&scenario).unwrap_or_else(|fault| panic!("{}", fault.message));
        let names = |group: &str| -> Vec<String> {
            let hosts = network.groups.iter().find(|(name, _)| name == group).expect("a group");
            hosts.1.iter().map(|&host| network.built.graph.node(host).name.clone()).collect()
        };
        assert_eq!(names("first"), ["leaf0-host0", "leaf1-host0", "leaf2-host0"]);
        // left: 0/1 0/2 1/1 1/2 2/1 2/2
        assert_eq!(names("second"), ["leaf0-host1", "leaf2-host1"]);
        assert_eq!(names("rest"), ["leaf0-host2", "leaf1-host1", "leaf1-host2", "leaf2-host2"]);
    }
}
