//! Topology and groups of hosts.

use std::collections::BTreeSet;

use headway_units::{Rate, Span};

use super::Checker;
use crate::schema::{
    FatTreeRecord, GraphRecord, HostKind, HostsRecord, LinkChangeRecord, LinkRecord, Place, QueueRecord, RedRecord,
    ScenarioRecord, ShapeRecord,
};
use headway_language::{Name, QueueLimit, suggest_help};

/// A network has at most this many hosts, and four times as many cables.
const MAX_HOSTS: u128 = 1_000_000;

/// Hosts, and cables of all sorts, of a topology. Wide enough for every combination of keys.
struct Extent {
    hosts: u128,
    cables: u128,
}

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    let topology = &scenario.topology;
    queue(&topology.queue, &["topology", "queue"], checker);
    queue(&topology.host_queue, &["topology", "host-queue"], checker);
    if topology.link.loss.get() >= 1.0 {
        checker.problem(&["topology", "link", "loss"], "`topology.link.loss` loses everything".to_owned(), "", None);
    }
    let before = checker.reader.problems();
    shape(&topology.shape, &topology.link, checker);
    // A wrong shape has no extent worth comparing with.
    if checker.reader.problems() > before {
        return;
    }
    let extent = extent(&topology.shape);
    if extent.hosts > MAX_HOSTS || extent.cables > 4 * MAX_HOSTS {
        let message =
            format!("this topology has {} hosts and {} cables between switches and hosts", extent.hosts, extent.cables);
        let help = format!("the most is {MAX_HOSTS} hosts and {} cables", 4 * MAX_HOSTS);
        checker.problem(&["topology"], message, "too large", Some(&help));
        return;
    }
    groups(scenario, extent.hosts, checker);
}

/// What is wrong with a queue, at `path`.
fn queue(queue: &QueueRecord, path: &[&str], checker: &mut Checker) {
    let limit = match queue {
        QueueRecord::DropTail(queue) => queue.limit,
        QueueRecord::Red(queue) => queue.limit,
        QueueRecord::Codel(queue) => queue.limit,
        QueueRecord::FqCodel(queue) => queue.limit,
        QueueRecord::Drr(queue) => queue.limit,
    };
    let at = |key| [path, &[key]].concat();
    let name = path.join(".");
    if let QueueLimit::AtMost(limit) = limit
        && limit.is_zero()
    {
        let help = "a queue holds at least one packet";
        checker.problem(&at("limit"), format!("`{name}.limit` must be more than nothing"), "this is 0", Some(help));
    }
    match queue {
        QueueRecord::DropTail(queue) => {
            if let (QueueLimit::AtMost(limit), Some(mark)) = (limit, queue.mark)
                && mark.reaches(limit) == Some(true)
            {
                let message = format!("`{name}` never marks: it is full at {limit}");
                checker.problem(&at("mark"), message, "not less than the limit", Some("mark at less than `limit`"));
            }
        }
        QueueRecord::Red(queue) => red(queue, path, checker),
        QueueRecord::Codel(queue) => control(queue.target, queue.interval, path, checker),
        QueueRecord::FqCodel(queue) => control(queue.target, queue.interval, path, checker),
        QueueRecord::Drr(_) => {}
    }
}

fn red(queue: &RedRecord, path: &[&str], checker: &mut Checker) {
    let at = |key| [path, &[key]].concat();
    let name = path.join(".");
    match queue.min.reaches(queue.max) {
        None => {
            let message = format!("`{name}` has `min` and `max` in different units: {} and {}", queue.min, queue.max);
            let help = "the average is in bytes or in packets: give both in one";
            checker.problem(&at("max"), message, "not in the unit of `min`", Some(help));
        }
        Some(true) => {
            let message = format!("`{name}.max` must be more than `min`, {}", queue.min);
            checker.problem(&at("max"), message, "not more", Some("a usual choice is three times `min`"));
        }
        Some(false) => {}
    }
    if let QueueLimit::AtMost(limit) = queue.limit
        && queue.min.reaches(limit) == Some(true)
    {
        let message = format!("`{name}` is full at {limit}, before its average can reach `min`, {}", queue.min);
        checker.problem(
            &at("limit"),
            message,
            "not more than `min`",
            Some("`limit` is what bursts may reach: above `max`"),
        );
    }
    if queue.hard_drop && !queue.ecn {
        let message = format!("`{name}.hard-drop` means nothing without `ecn`: everything is dropped anyway");
        checker.problem(&at("hard-drop"), message, "", Some("add `ecn = true`, or leave `hard-drop` out"));
    }
}

fn control(target: Span, interval: Span, path: &[&str], checker: &mut Checker) {
    if target >= interval {
        let message = format!("`{}.target` must be less than `interval`, {interval}", path.join("."));
        let help = "RFC 8289 §4.3 advises 5 % to 10 % of `interval`";
        checker.problem(&[path, &["target"]].concat(), message, "not less", Some(help));
    }
}

fn shape(shape: &ShapeRecord, link: &LinkRecord, checker: &mut Checker) {
    match shape {
        ShapeRecord::FatTree(tree) => {
            oversubscription(tree, link, checker);
            even("k", tree.k, checker);
        }
        ShapeRecord::DualHomedFatTree(tree) => even("k", tree.k, checker),
        ShapeRecord::DualHomedPod(pod) => even("k", pod.k, checker),
        ShapeRecord::MultiHomedFatTree(tree) => even("k", tree.k, checker),
        ShapeRecord::Vl2(own) => {
            even("aggregation-ports", own.aggregation_ports, checker);
            even("intermediate-ports", own.intermediate_ports, checker);
        }
        ShapeRecord::Graph(own) => graph(own, checker),
        ShapeRecord::Dumbbell(_)
        | ShapeRecord::ParallelPaths(_)
        | ShapeRecord::TwoTier(_)
        | ShapeRecord::LeafSpine(_)
        | ShapeRecord::Bcube(_)
        | ShapeRecord::Tree(_) => {}
    }
}

/// Refuses an odd number, whose half the topology needs.
fn even(key: &str, number: u32, checker: &mut Checker) {
    if !number.is_multiple_of(2) {
        let why = match key {
            "intermediate-ports" => "aggregation switches, as many, come in pairs",
            _ => "half of the ports go up, half go down",
        };
        let help = format!("{why}: {} or {}", number - 1, number + 1);
        let message = format!("`topology.{key}` must be even");
        checker.problem(&["topology", key], message, &format!("this is {number}"), Some(&help));
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

fn graph(graph: &GraphRecord, checker: &mut Checker) {
    let mut known = BTreeSet::new();
    for (key, names) in [("switches", &graph.switches), ("hosts", &graph.hosts)] {
        for (index, name) in names.iter().enumerate() {
            if !known.insert(name.as_str()) {
                let path = ["topology", key, &index.to_string()];
                checker.problem(&path, format!("`{name}` is in the graph twice"), "once more", None);
            }
        }
    }
    for (index, cable) in graph.cables.iter().enumerate() {
        let index = index.to_string();
        if let Some(own) = &cable.queue {
            queue(own, &["topology", "cables", &index, "queue"], checker);
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
    let cabled: BTreeSet<&str> = graph.cables.iter().flat_map(|cable| &cable.between).map(|name| &**name).collect();
    for (index, host) in graph.hosts.iter().enumerate().filter(|(_, host)| !cabled.contains(host.as_str())) {
        let path = ["topology", "hosts", &index.to_string()];
        checker.problem(&path, format!("host `{host}` has no cable"), "not connected", None);
    }
}

fn extent(shape: &ShapeRecord) -> Extent {
    let wide = |number: u32| u128::from(number);
    let (hosts, cables) = match shape {
        ShapeRecord::Dumbbell(one) => (wide(one.left) + wide(one.right), 1 + wide(one.left) + wide(one.right)),
        ShapeRecord::ParallelPaths(one) => {
            let hosts = wide(one.left) + wide(one.right);
            (hosts, wide(one.paths) * (hosts + 1))
        }
        ShapeRecord::TwoTier(one) | ShapeRecord::LeafSpine(one) => {
            let hosts = wide(one.leaves) * wide(one.hosts_per_leaf);
            (hosts, hosts + wide(one.leaves) * wide(one.spines))
        }
        ShapeRecord::FatTree(one) => {
            let k = wide(one.k);
            let hosts = k * (k / 2) * wide(one.hosts_per_edge());
            (hosts, hosts + k * k * k / 2)
        }
        ShapeRecord::DualHomedFatTree(one) => {
            let k = wide(one.k);
            let hosts = k * wide(one.hosts_per_pod());
            (hosts, k / 2 * hosts + k * k * k / 2)
        }
        ShapeRecord::DualHomedPod(one) => {
            let k = wide(one.k);
            (wide(one.hosts()), k / 2 * wide(one.hosts()) + k * k / 4)
        }
        ShapeRecord::MultiHomedFatTree(one) => {
            let (k, each) = (wide(one.k), wide(one.hosts_per_edge()));
            (k * (k / 2) * each, k * (k / 2) * (k / 2) * (each + 1) + k * (k / 2))
        }
        ShapeRecord::Bcube(one) => {
            let hosts = wide(one.n).pow(one.levels);
            (hosts, hosts * wide(one.levels))
        }
        ShapeRecord::Tree(one) => {
            let edges = wide(one.aggregations) * wide(one.edges_per_aggregation);
            let hosts = edges * wide(one.hosts_per_edge);
            (hosts, hosts + edges + wide(one.aggregations))
        }
        ShapeRecord::Vl2(one) => {
            let both = wide(one.aggregation_ports) * wide(one.intermediate_ports);
            let hosts = both / 4 * wide(one.hosts_per_tor);
            (hosts, hosts + both / 4 * 2 + both / 2)
        }
        ShapeRecord::Graph(one) => (one.hosts.len() as u128, one.cables.len() as u128),
    };
    Extent { hosts, cables }
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
        let planes = matches!(
            scenario.topology.shape,
            ShapeRecord::DualHomedFatTree(_) | ShapeRecord::DualHomedPod(_) | ShapeRecord::MultiHomedFatTree(_)
        );
        if group.at == Place::Top && !planes {
            let help = "hosts can be above a dual-homed-pod, a dual-homed-fat-tree or a multi-homed-fat-tree";
            let message = format!("`hosts.{name}` cannot be at the top: this topology has no planes");
            checker.problem(&own("at"), message, "not here", Some(help));
        }
        if matches!(scenario.topology.shape, ShapeRecord::Bcube(_)) {
            forwards(scenario, name, group, checker);
        }
        if group.link.is_some() && group.at == Place::Inside {
            let message = format!("`hosts.{name}.link` is for hosts at the top");
            checker.problem(&own("link"), message, "", Some("cables inside are described in [topology]"));
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

/// Refuses what servers that forward cannot be: forwarding takes no time of a model, and kernels are not asked to.
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
