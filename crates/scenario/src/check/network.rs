//! Topology and groups of hosts.

use std::collections::BTreeSet;

use headway_fabric::Graph;

use crate::checker::Checker;
use crate::schema::{GraphRecord, HostKind, HostsRecord, Place, ScenarioRecord, ShapeRecord};
use crate::topology::loss;
use headway_language::Name;

/// A network has at most this many hosts.
const MAX_HOSTS: u128 = 1_000_000;

/// And this many cables, of two directed links each.
const MAX_CABLES: u128 = Graph::MAX_LINKS as u128 / 2;

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    let topology = &scenario.topology;
    topology.queue.check(&["topology", "queue"], checker);
    topology.host_queue.check(&["topology", "host-queue"], checker);
    if topology.link.loss.get() >= 1.0 {
        checker.problem(&["topology", "link", "loss"], "`topology.link.loss` loses everything".to_owned(), "", None);
    }
    loss::check(&topology.losses, checker);
    let before = checker.problems();
    topology.shape.kind().check(&topology.link, checker);
    for (key, change) in topology.shape.kind().changes() {
        if let Some(own) = change.and_then(|change| change.queue.as_ref()) {
            own.check(&["topology", key, "queue"], checker);
        }
    }
    // A wrong shape has no extent worth comparing with.
    if checker.problems() > before {
        return;
    }
    let extent = topology.shape.kind().extent();
    if extent.hosts > MAX_HOSTS || extent.cables > MAX_CABLES {
        let message =
            format!("this topology has {} hosts and {} cables between switches and hosts", extent.hosts, extent.cables);
        let help = format!("the most is {MAX_HOSTS} hosts and {MAX_CABLES} cables");
        checker.problem(&["topology"], message, "too large", Some(&help));
        return;
    }
    groups(scenario, extent.hosts, checker);
}

fn groups(scenario: &ScenarioRecord, capacity: u128, checker: &mut Checker) {
    let graph = match &scenario.topology.shape {
        ShapeRecord::Graph(graph) => Some(graph),
        _ => None,
    };
    let mut taken = BTreeSet::new();
    let (mut inside, mut top) = (0u128, 0u128);
    for (name, group) in scenario.hosts.iter() {
        let before = inside + top;
        let own = |key: &'static str| ["hosts", name, key];
        let shape = scenario.topology.shape.kind();
        if group.at == Place::Top && !shape.has_planes() {
            let help = "hosts can be above a dual-homed-pod, a dual-homed-fat-tree or a multi-homed-fat-tree";
            let message = format!("`hosts.{name}` cannot be at the top: this topology has no planes");
            checker.problem(&own("at"), message, "not here", Some(help));
        }
        if shape.servers_forward() {
            forwards(scenario, name, group, checker);
        }
        if group.link.is_some() && group.at == Place::Inside {
            let message = format!("`hosts.{name}.link` is for hosts at the top");
            checker.problem(&own("link"), message, "", Some("cables inside are described in [topology]"));
        }
        if let Some(own) = group.link.as_ref().and_then(|link| link.queue.as_ref()) {
            own.check(&["hosts", name, "link", "queue"], checker);
        }
        if group.every.is_some() && (group.at == Place::Top || group.members.is_some()) {
            let message = format!("`hosts.{name}.every` is for groups that take the topology's hosts by number");
            checker.problem(&own("every"), message, "means nothing here", None);
        }
        let count = u128::from(group.count.unwrap_or(0)) + members(name, group, graph, &mut taken, checker);
        match group.at {
            Place::Inside => inside += count,
            Place::Top => top += count,
        }
        if group.at == Place::Inside && inside > capacity {
            let message = format!("the groups of hosts need more than the {capacity} hosts of the topology");
            let label = format!("{} are left for this group", capacity.saturating_sub(before - top.min(before)));
            checker.problem(&own("count"), message, &label, Some("take fewer, or make the topology larger"));
            return;
        }
        if top > MAX_HOSTS {
            checker.problem(&own("count"), format!("more than {MAX_HOSTS} hosts at the top"), "", None);
            return;
        }
    }
}

/// Rejects models and kernels of servers that forward: forwarding takes no time of a model, and kernels are not asked to.
fn forwards(scenario: &ScenarioRecord, name: &str, group: &HostsRecord, checker: &mut Checker) {
    let help = "use hosts without a model here, or another topology";
    if group.model.is_some() {
        let message = format!("`hosts.{name}.model`: servers of a bcube forward, which models do not count");
        checker.problem(&["hosts", name, "model"], message, "not with this topology", Some(help));
    }
    if group.kind.unwrap_or(scenario.host_kind) != HostKind::Modelled {
        let path: &[&str] = if group.kind.is_some() { &["hosts", name, "kind"] } else { &["host-kind"] };
        let message = format!("`hosts.{name}`: servers of a bcube forward, which kernel hosts do not");
        checker.problem(path, message, "not with this topology", Some(help));
    }
}

/// Checks the names of a group's members. Returns how many there are.
fn members<'s>(
    name: &str,
    group: &'s HostsRecord,
    graph: Option<&GraphRecord>,
    taken: &mut BTreeSet<&'s str>,
    checker: &mut Checker,
) -> u128 {
    let path = ["hosts", name, "members"];
    let Some(members) = &group.members else {
        if group.count.is_none() {
            let help = "say how many hosts with `count`, for example { count = 2 }";
            checker.problem(&path[..2], format!("`hosts.{name}` needs `count`"), "`count` is missing", Some(help));
        }
        return 0;
    };
    let Some(graph) = graph else {
        let message = format!("`hosts.{name}.members`: hosts have names in a graph only");
        checker.problem(&path, message, "not with this topology", Some("say how many with `count`"));
        return 0;
    };
    if group.count.is_some() || group.at == Place::Top {
        let message = format!("`hosts.{name}` names its members, so `count` and `at` have no say");
        checker.problem(&["hosts", name, if group.count.is_some() { "count" } else { "at" }], message, "", None);
    }
    if members.is_empty() {
        checker.problem(&path, format!("`hosts.{name}` has no members"), "empty", None);
    }
    let hosts: BTreeSet<&str> = graph.hosts.iter().map(Name::as_str).collect();
    for (index, member) in members.iter().enumerate() {
        let path = ["hosts", name, "members", &index.to_string()];
        // `known` goes through all names to say what is near; the set keeps large graphs quick.
        let known = hosts.contains(member.as_str())
            || checker.known(&path, member, "host", graph.hosts.iter().map(Name::as_str));
        if known && !taken.insert(member.as_str()) {
            checker.problem(&path, format!("host `{member}` is taken twice"), "once more", None);
        }
    }
    members.len() as u128
}
