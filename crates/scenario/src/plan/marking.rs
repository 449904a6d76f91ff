//! Marks: flows that slow down when they are marked, and queues on their way that do not mark.
//!
//! Paths are those of a few pairs of hosts. A port of a switch is looked at if more can come in than it sends, as far as
//! these paths show. The own ports of hosts are not: hardly any scenario has marks there.

use std::collections::{BTreeMap, BTreeSet};

use headway_fabric::{Graph, LinkId, LosslessSpec, NodeKind, Paths, QueueSpec};

use super::models::ModelPlan;
use super::network::Network;
use super::offered::pairs_of;
use super::traffics::TrafficPlan;
use crate::schema::ScenarioRecord;

/// Flows that wait for marks, and ports on their way that give none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmarked {
    /// Their traffics.
    pub traffics: Vec<String>,
    /// The first of the ports, `from>to`.
    pub port: String,
    /// How many more were found.
    pub more: usize,
}

/// Whether a queue marks at all.
pub(super) fn marks(queue: &QueueSpec) -> bool {
    match queue {
        QueueSpec::DropTail { mark, .. } => mark.is_some(),
        QueueSpec::Red(own) => own.ecn,
        QueueSpec::Codel(own) => own.law.ecn || own.law.mark.is_some(),
        QueueSpec::FqCodel(own) => own.law.ecn || own.law.mark.is_some(),
        QueueSpec::Limited(own) => own.mark.is_some(),
        QueueSpec::Drr(_) => false,
    }
}

/// The ports that do not mark on the way of flows with ECN, where `models` say how these are sent; `None` without any.
pub fn unmarked(
    scenario: &ScenarioRecord,
    network: &Network,
    traffic: &TrafficPlan,
    models: &ModelPlan,
) -> Option<Unmarked> {
    let graph = &network.built.graph;
    let waits = |place: usize| {
        let queue_pairs = models.roce[place].is_some() || models.datagrams[place].is_some();
        models.profiles[place].ecn && !queue_pairs && !marked_by_class(models, scenario.traffic[place].priority)
    };
    if !(0..scenario.traffic.len()).any(waits) {
        return None;
    }
    let lossless = models.lossless.is_some();
    if !lossless && graph.links().iter().all(|link| marks(&link.wire.queue)) {
        return None;
    }
    let mut paths = Paths::new(graph);
    // by traffic, the paths of its flows
    let mut found: Vec<(usize, Vec<Vec<LinkId>>)> = Vec::new();
    for (place, sources, destinations) in traffic.groups() {
        found.push((usize::from(place), pairs_of((sources, destinations), graph, &mut paths)));
    }
    let used: BTreeSet<LinkId> = found.iter().flat_map(|(_, paths)| paths.iter().flatten().copied()).collect();
    let coming = coming(&used, graph);
    let mut ports = BTreeSet::new();
    let mut places = BTreeSet::new();
    for (place, path) in found.iter().flat_map(|(place, paths)| paths.iter().map(move |path| (*place, path))) {
        if !waits(place) {
            continue;
        }
        for (at, &link) in path.iter().enumerate() {
            let own = graph.link(link);
            let looked_at = graph.node(own.from).kind == NodeKind::Switch || path.len() == 1;
            let marked = !lossless && marks(&own.wire.queue);
            let back = if used.contains(&link.reverse()) { graph.link(link.reverse()).wire.rate.bps() } else { 0 };
            let fills =
                at == 0 || coming.get(&own.from.0).copied().unwrap_or(0).saturating_sub(back) > own.wire.rate.bps();
            if looked_at && !marked && fills {
                ports.insert(link);
                places.insert(place);
            }
        }
    }
    let port = network.port_name(*ports.first()?);
    let traffics = places.into_iter().map(|place| scenario.traffic[place].name.to_string()).collect();
    Some(Unmarked { traffics, port, more: ports.len() - 1 })
}

/// Whether classes of lossless ports mark what has `priority`.
fn marked_by_class(models: &ModelPlan, priority: u8) -> bool {
    let class = |own: &LosslessSpec| own.classes[usize::from(own.class_of[usize::from(priority)])].marks.is_some();
    models.lossless.as_ref().is_some_and(class)
}

/// By node, bits per second that the links of `used` bring to it.
fn coming(used: &BTreeSet<LinkId>, graph: &Graph) -> BTreeMap<u32, u64> {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for &link in used {
        let own = graph.link(link);
        let sum = sums.entry(own.to.0).or_default();
        *sum = sum.saturating_add(own.wire.rate.bps());
    }
    sums
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use headway_control::own::Registry;

    use super::*;
    use crate::Document;

    /// The warning about two senders behind a bottleneck of 100 Mb/s.
    fn look(queue: &str, policy: &str) -> Option<Unmarked> {
        let text = format!(
            "name = \"x\"\nabout = \"x\"\nduration = \"1s\"\n[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 1\n\
             link = {{ rate = \"1Gbps\" }}\nbottleneck = {{ rate = \"100Mbps\" }}\n{queue}\n\
             [hosts]\nleft = {{ count = 2 }}\nright = {{ count = 1 }}\n\
             [[traffic]]\nname = \"t\"\nfrom = \"left\"\nto = \"right\"\nsize = \"1MB\"\narrival = \"once\"\n\
             [[policy]]\nname = \"p\"\n{policy}\n"
        );
        let document = Document::parse(&text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        let network = Network::build(&scenario).unwrap();
        let traffic = TrafficPlan::build(&scenario, &network, Path::new(".")).unwrap();
        let registry = Registry::default();
        let models = ModelPlan::build(&scenario, 0, &network, &traffic, &registry, &|_| false);
        let models = models.unwrap_or_else(|fault| panic!("{}", fault.message));
        unmarked(&scenario, &network, &traffic, &models)
    }

    const DCTCP: &str = "transport = { kind = \"tcp\", control = \"dctcp\", ecn = true }";

    #[test]
    fn flows_with_ecn_are_told_from_queues_that_do_not_mark() {
        let plain = "queue = { kind = \"drop-tail\", limit = \"100pkt\" }";
        let found = look(plain, DCTCP).expect("nothing marks");
        // what comes over 100 Mb/s leaves over 1 Gb/s: nothing waits at the last port
        assert_eq!((found.port.as_str(), found.more), ("left>right", 0));
        assert_eq!(found.traffics, ["t"]);
        let cubic = "transport = { kind = \"tcp\", control = \"cubic\", ecn = true }";
        assert!(look(plain, cubic).is_some());
        for (queue, policy) in [
            (plain, "transport = \"tcp\""),
            ("queue = { kind = \"drop-tail\", limit = \"100pkt\", mark = \"20pkt\" }", DCTCP),
            ("queue = { kind = \"codel\", limit = \"100pkt\", ecn = true }", DCTCP),
        ] {
            assert_eq!(look(queue, policy), None, "{queue} {policy}");
        }
        assert!(look("queue = { kind = \"codel\", limit = \"100pkt\" }", DCTCP).is_some());
    }
}
