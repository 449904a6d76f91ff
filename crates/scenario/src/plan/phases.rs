//! Phase effects: where flows run in step and nothing is random, phases of microseconds decide who loses packets at a
//! drop-tail port (Floyd and Jacobson, *On Traffic Phase Effects in Packet-Switched Gateways*, Internetworking: Research
//! and Experience 3(3), 1992). A scenario like that has one answer, whatever its repeats, and that may be no common one.

use std::collections::BTreeSet;

use headway_fabric::QueueSpec;

use super::Network;
use crate::schema::{ArrivalRecord, FlowsRecord, HostKind, Pairs, ScenarioRecord, TrafficKind};
use crate::size::SizeKind;

/// The traffics whose flows run in step in `scenario`, if phases may decide its results: nothing in it is random, hosts
/// are modelled, and some port drops what its queue cannot take.
pub fn in_step<'s>(scenario: &'s ScenarioRecord, network: &Network) -> Option<Vec<&'s str>> {
    let graph = &network.built.graph;
    let own: BTreeSet<usize> = graph.hosts().flat_map(|host| graph.interfaces(host)).map(|link| link.index()).collect();
    // of switches: in a host's own port its flows wait for each other
    let wires = || {
        let ports = graph.links().iter().enumerate().filter(|(index, _)| !own.contains(index));
        ports.map(|(_, link)| &link.wire)
    };
    let is_drop_tail = |queue: &QueueSpec| matches!(queue, QueueSpec::DropTail { limit: Some(_), .. });
    let groups = || scenario.hosts.iter().map(|(_, group)| group);
    let modelled = scenario.host_kind == HostKind::Modelled
        && groups().all(|group| group.kind.unwrap_or(scenario.host_kind) == HostKind::Modelled);
    let random = graph.links().iter().any(|link| link.wire.loss > 0.0)
        || wires().any(|wire| !is_drop_tail(&wire.queue) && wire.queue.limit().is_some())
        || groups().any(|group| group.random_processing.is_some());
    if !modelled || random || !wires().any(|wire| is_drop_tail(&wire.queue)) {
        return None;
    }
    let mut flows = 0;
    let mut names = Vec::new();
    for traffic in &scenario.traffic {
        let TrafficKind::Flows(own) = &traffic.kind else { return None };
        let hosts = |group: Option<&str>| match group {
            Some(name) => network.group(name).len(),
            None => graph.hosts().count(),
        };
        let sources = own.senders.map_or_else(|| hosts(own.from.as_deref()), |senders| senders as usize);
        let destinations = own.receivers.map_or_else(|| hosts(Some(&own.to)), |receivers| receivers as usize);
        flows += repeated(own, sources, destinations)?;
        names.push(traffic.name.as_str());
    }
    (flows > 1).then_some(names)
}

/// How many flows of the traffic run in step, more or less; `None` if something about them is random.
fn repeated(own: &FlowsRecord, sources: usize, destinations: usize) -> Option<usize> {
    let drawn = match own.pairs {
        Pairs::Random | Pairs::Permutation | Pairs::Incast => destinations > 1,
        Pairs::EachDestination => sources > 1,
        Pairs::AllToAll => false,
    };
    let certain = matches!(own.size.0, SizeKind::Fixed(_) | SizeKind::Unlimited(_));
    if drawn || !certain || own.from_share.is_some() || own.to_share.is_some() {
        return None;
    }
    let pairs = if own.pairs == Pairs::AllToAll { sources * destinations } else { sources };
    match &own.arrival {
        ArrivalRecord::Once(once) => Some(pairs * once.count as usize),
        ArrivalRecord::Periodic(periodic) => periodic.jitter.is_zero().then_some(pairs),
        ArrivalRecord::ClosedLoop(closed) => closed.think.is_zero().then_some(pairs),
        ArrivalRecord::Poisson(_) | ArrivalRecord::Load(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    fn names(hosts: &str, traffic: &str, queue: &str) -> Option<Vec<String>> {
        let text = format!(
            "name = \"x\"\nabout = \"x\"\nduration = \"1s\"\n[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 1\n\
             link = {{ rate = \"1Gbps\" }}\nbottleneck = {{ rate = \"100Mbps\" }}\nqueue = {queue}\n\
             [hosts]\nleft = {{ count = 2{hosts} }}\nright = {{ count = 1 }}\n\
             [[traffic]]\nname = \"t\"\nfrom = \"left\"\nto = \"right\"\n{traffic}\n\
             [[policy]]\nname = \"p\"\ntransport = \"tcp\"\n"
        );
        let document = Document::parse(&text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        let network = Network::build(&scenario).unwrap();
        in_step(&scenario, &network).map(|names| names.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn flows_run_in_step_where_nothing_is_random() {
        let drop_tail = "{ kind = \"drop-tail\", limit = \"20pkt\" }";
        let once = "size = \"unlimited\"\narrival = \"once\"";
        assert_eq!(names("", once, drop_tail), Some(vec!["t".to_owned()]));
        let beat = "size = \"64KB\"\narrival = { kind = \"periodic\", period = \"10ms\" }";
        assert!(names("", beat, drop_tail).is_some());
        // each of these is random enough
        for (hosts, traffic, queue) in [
            (", random-processing = \"100us\"", once, drop_tail),
            ("", "size = \"64KB\"\narrival = { kind = \"poisson\", mean = \"1ms\" }", drop_tail),
            ("", "size = { kind = \"exponential\", mean = \"64KB\" }\narrival = \"once\"", drop_tail),
            ("", &beat.replace("10ms\"", "10ms\", jitter = \"1ms\""), drop_tail),
            // nothing is dropped, and so nobody loses
            ("", once, "{ kind = \"drop-tail\", limit = \"none\" }"),
            ("", &format!("{once}\nsenders = 1"), drop_tail),
        ] {
            assert_eq!(names(hosts, traffic, queue), None, "{hosts} {traffic} {queue}");
        }
    }
}
