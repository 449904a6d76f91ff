//! Traffic and policies.

use std::collections::BTreeSet;

use super::arrivals::{arrival, times};
use super::{datagrams, event_builder, http, tree};
use crate::checker::Checker;
use crate::schema::{
    AddressPairs, ArrivalRecord, CommandRecord, FlowsRecord, Groups, HostKind, HostModelRecord, HostsRecord,
    LinuxHostsRecord, PolicyRecord, Protocol, ScenarioRecord, ShapeRecord, SizeKind, TrafficKind, TransportRecord,
};
use crate::settings::queue_name;
use crate::stack;

/// The identity of a flow has twelve bits for its traffic.
const MAX_TRAFFICS: usize = 1 << 12;

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    checker.unique("traffic", "traffic", scenario.traffic.iter().map(|traffic| traffic.name.as_str()));
    checker.unique("policy", "policy", scenario.policy.iter().map(|policy| policy.name.as_str()));
    for (key, empty, what) in [
        ("traffic", scenario.traffic.is_empty(), "nothing is sent"),
        ("policy", scenario.policy.is_empty(), "there is nothing to compare"),
    ] {
        if empty {
            checker.problem(&[key], format!("{what}: `{key}` is empty"), "", Some(&format!("add a [[{key}]]")));
        }
    }
    for (index, traffic) in scenario.traffic.iter().enumerate() {
        let index = index.to_string();
        let name = &*traffic.name;
        if traffic.priority > 0 && traffic.takes_part(scenario) && traffic.host_kind(scenario) != HostKind::Modelled {
            let message = format!("`traffic.{name}.priority` is for modelled hosts, and its hosts are not");
            let help =
                "programs of kernel hosts choose the DSCP of what they send; its upper three bits are the priority";
            checker.problem(&["traffic", &index, "priority"], message, "cannot be set there", Some(help));
        }
        match &traffic.kind {
            TrafficKind::Flows(flows) => {
                endpoints(scenario, name, flows, &index, checker);
                flows.size.0.check(&format!("traffic.{name}.size"), &["traffic", &index, "size"], checker);
                size_of_arrivals(name, flows, &index, checker);
                times(scenario, name, (flows.start, flows.stop), &index, checker);
                arrival(scenario, name, &flows.arrival, &index, checker);
                if let Some(own) = &flows.datagrams {
                    datagrams::check(scenario, traffic, (flows, own), &index, checker);
                }
            }
            TrafficKind::Replay(own) => {
                if let Some(hosts) = &own.hosts {
                    checker.known(&["traffic", &index, "hosts"], hosts, "host group", scenario.groups_and_views());
                }
                times(scenario, name, (own.start, own.stop), &index, checker);
            }
            // for hosts of another kind than these are
            TrafficKind::PartitionAggregate(_) | TrafficKind::EventBuilder(_) | TrafficKind::Http(_)
                if !traffic.takes_part(scenario) => {}
            TrafficKind::PartitionAggregate(own) => tree::check(scenario, name, own, &index, checker),
            TrafficKind::EventBuilder(own) => event_builder::check(scenario, name, own, &index, checker),
            TrafficKind::Http(own) => http::check(scenario, name, own, &index, checker),
            TrafficKind::Command(own) => command(scenario, name, own, &index, checker),
        }
    }
    for (index, policy) in scenario.policy.iter().enumerate() {
        let index = index.to_string();
        let shape = &scenario.topology.shape;
        transport(policy, &policy.transport, shape, &["policy", &index, "transport"], checker);
        queue(policy, &index, checker);
        daemon(policy, &index, checker);
        for (name, own) in policy.traffic.iter() {
            let known = scenario.traffic.iter().map(|traffic| traffic.name.as_str());
            let path = ["policy", &index, "traffic", name];
            if checker.known(&path, name, "traffic", known) {
                transport(policy, own, shape, &path, checker);
            }
        }
    }
    if scenario.traffic.len() > MAX_TRAFFICS {
        let message = format!("{} kinds of traffic are more than {MAX_TRAFFICS}", scenario.traffic.len());
        checker.problem(&["traffic"], message, "", None);
    }
    for (index, name) in scenario.measure.traffic.iter().flatten().enumerate() {
        let flows = scenario.traffic.iter().filter(|traffic| traffic.command().is_none());
        let known = flows.map(|traffic| traffic.name.as_str());
        checker.known(&["measure", "traffic", &index.to_string()], name, "traffic", known);
    }
    for (name, group) in scenario.hosts.iter() {
        if let Some(linux) = &group.linux {
            kernels(linux, name, checker);
        }
        if let Some(model) = &group.model {
            cards(model, name, checker);
        }
        if let Some(server) = &group.server {
            http::server(scenario, server, group, name, checker);
        }
    }
}

/// Checks that every frame has an interrupt.
fn cards(model: &HostModelRecord, name: &str, checker: &mut Checker) {
    let path = ["hosts", name, "model", "rx-frames"];
    if model.rx_usecs.is_zero() && model.rx_frames != 1 {
        let label = match model.rx_frames {
            0 => "frames never interrupt".to_owned(),
            frames => format!("fewer than {frames} frames wait for ever"),
        };
        let message = format!("`hosts.{name}.model` does not say how long frames wait for their interrupt");
        checker.problem(&path, message, &label, Some("set `rx-usecs`, for example to \"50us\", or `rx-frames` to 1"));
    } else if model.rx_frames > model.ring {
        let message = format!("`hosts.{name}.model.rx-frames` is more than its `ring` holds");
        checker.problem(&path, message, &format!("the ring has {}", model.ring), Some("0 lets `rx-usecs` alone count"));
    }
}

fn kernels(linux: &LinuxHostsRecord, name: &str, checker: &mut Checker) {
    if linux.segmentation && !linux.checksums {
        let message = format!("`hosts.{name}.linux.segmentation` needs `checksums`");
        let help = "who cuts a packet into several has to compute their checksums: set both to false";
        checker.problem(&["hosts", name, "linux", "checksums"], message, "", Some(help));
    }
    for (key, span) in [("cpu-per-packet", linux.cpu_per_packet), ("cpu-per-interrupt", linux.cpu_per_interrupt)] {
        if !span.picos().is_multiple_of(1000) {
            let message = format!("`hosts.{name}.linux.{key}` must be whole nanoseconds");
            checker.problem(&["hosts", name, "linux", key], message, &format!("this is {span}"), None);
        }
    }
}

fn queue(policy: &PolicyRecord, index: &str, checker: &mut Checker) {
    let Some(queue) = policy.linux.as_ref().and_then(|linux| linux.qdisc.as_ref()) else { return };
    if queue_name(queue).is_none() {
        let message = format!("`policy.{}.linux.qdisc` is not what `tc qdisc` takes after `root`", policy.name);
        let help =
            "the name of a queueing discipline and its settings: \"fq\", \"tbf rate 50mbit burst 20kb latency 5ms\"";
        checker.problem(&["policy", index, "linux", "qdisc"], message, "", Some(help));
    }
}

fn command(scenario: &ScenarioRecord, name: &str, command: &CommandRecord, index: &str, checker: &mut Checker) {
    checker.known(&["traffic", index, "on"], &command.on, "host group", scenario.hosts.names());
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    if command.start >= end {
        let message = format!("traffic `{name}` never starts: the scenario ends at {end}");
        checker.problem(&["traffic", index, "start"], message, "", Some("start before that"));
    }
    if let Some(stop) = command.stop
        && stop <= command.start
    {
        let message = format!("traffic `{name}` stops before it starts");
        let label = format!("it starts at {}", command.start);
        checker.problem(&["traffic", index, "stop"], message, &label, None);
    }
}

fn endpoints(scenario: &ScenarioRecord, name: &str, traffic: &FlowsRecord, index: &str, checker: &mut Checker) {
    let path = |key: &'static str| ["traffic", index, key];
    let count = |name: &str| {
        if scenario.views.get(name).is_some() || name.contains('+') {
            // Its hosts are counted where the network is known.
            return u32::MAX;
        }
        let members = |group: &HostsRecord| group.members.as_ref().map_or(0, |members| members.len() as u32);
        scenario.hosts.get(name).map_or(0, |group| group.count.unwrap_or_else(|| members(group)))
    };
    if several("to", &traffic.to, scenario, index, checker)
        && let (Some(receivers), hosts) = (traffic.receivers, count(&traffic.to))
        && receivers > hosts
    {
        let message = format!("`traffic.{name}.receivers` is more than the {hosts} hosts of `{}`", traffic.to);
        checker.problem(&path("receivers"), message, &format!("this is {receivers}"), None);
    }
    let Some(from) = &traffic.from else { return };
    if !several("from", from, scenario, index, checker) {
        return;
    }
    let hosts = count(from);
    if let Some(senders) = traffic.senders
        && senders > hosts
    {
        let message = format!("`traffic.{name}.senders` is more than the {hosts} hosts of `{from}`");
        checker.problem(&path("senders"), message, &format!("this is {senders}"), None);
    }
    if from == &traffic.to && traffic.to_share.is_some() {
        let message = format!("`traffic.{name}.to-share` needs senders and receivers in groups of their own");
        let help = "within a group `from-share` says how many of its hosts send to each other";
        checker.problem(&path("to-share"), message, "", Some(help));
    }
    if from == &traffic.to && hosts == 1 {
        let message = format!("traffic `{name}` goes from `{from}` to itself, which is a single host");
        checker.problem(&path("to"), message, "nobody to send to", None);
    }
}

/// Checks the groups that `key` names: there are such, and their hosts are of one kind. Returns whether there are.
fn several(key: &str, groups: &Groups, scenario: &ScenarioRecord, index: &str, checker: &mut Checker) -> bool {
    let mut kinds = BTreeSet::new();
    for (place, group) in groups.names().iter().enumerate() {
        // A single name stands without a list.
        let place = place.to_string();
        if !checker.known(&["traffic", index, key, &place], group, "host group", scenario.groups_and_views()) {
            return false;
        }
        let kind = scenario.group(group).and_then(|group| group.kind).unwrap_or(scenario.host_kind);
        kinds.insert(kind.as_str());
    }
    if kinds.len() > 1 {
        let message = format!("`{key}` names hosts of several kinds");
        checker.problem(
            &["traffic", index, key],
            message,
            "not of one kind",
            Some("give each kind a traffic of its own"),
        );
    }
    true
}

/// Checks that flows of their size can arrive as they do.
fn size_of_arrivals(name: &str, traffic: &FlowsRecord, index: &str, checker: &mut Checker) {
    let endless = "use arrival = \"once\", or give the flows a size";
    if let (SizeKind::Unlimited(_), Some(_)) = (&traffic.size.0, &traffic.connections) {
        let message = format!("traffic `{name}` has flows without end, which are no messages on connections");
        let help = "leave `connections` out, or give the flows a size";
        checker.problem(&["traffic", index, "connections"], message, "not with this size", Some(help));
    }
    let (message, help) = match (&traffic.size.0, &traffic.arrival) {
        (SizeKind::Shared(_), ArrivalRecord::Load(_)) => (
            format!("traffic `{name}` shares a total out, so its sizes cannot make up a load"),
            "a load needs sizes that do not depend on how many send: use arrival = \"poisson\"",
        ),
        (SizeKind::Unlimited(_), ArrivalRecord::ClosedLoop(_)) => {
            (format!("traffic `{name}` has flows without end, so none follows another"), endless)
        }
        (SizeKind::Unlimited(_), ArrivalRecord::Load(_)) => {
            (format!("traffic `{name}` has flows without end, so they cannot make up a load"), endless)
        }
        _ => return,
    };
    checker.problem(&["traffic", index, "arrival"], message, "not with this size", Some(help));
}

fn transport(
    policy: &PolicyRecord,
    transport: &TransportRecord,
    shape: &ShapeRecord,
    at: &[&str],
    checker: &mut Checker,
) {
    let name = &policy.name;
    let path = |key: &'static str| [at, &[key]].concat();
    let own = stack::profile(transport);
    for (key, timeout) in [("min-rto", own.min_rto), ("initial-rto", own.initial_rto)] {
        if timeout > own.max_rto {
            let message = format!("`policy.{name}.transport.{key}` is longer than `max-rto`");
            let label = format!("{timeout}, but `max-rto` is {}", own.max_rto);
            checker.problem(&path(key), message, &label, None);
        }
    }
    let Protocol::Mptcp(mptcp) = &transport.protocol else { return };
    // with a full mesh, several subflows share an interface and thus a lane
    let subflows = mptcp.subflows.filter(|_| mptcp.address_pairs == AddressPairs::OneToOne);
    if let (Some(lanes), Some(paths)) = (&mptcp.lanes, subflows.or_else(|| interfaces(shape)))
        && lanes.short >= paths
    {
        let message = format!("policy `{name}` leaves no lane for long flows");
        let label = format!("the short lanes take {} of {paths}", lanes.short);
        let help = "lanes need more subflows than `short`; without `subflows` there is one for each interface";
        checker.problem(&path("lanes"), message, &label, Some(help));
    }
    if let Some(own) = &mptcp.lanes {
        for mistake in own.check() {
            let path = [at, &["lanes", mistake.key]].concat();
            let message = format!("policy `{name}`: {}", mistake.message);
            checker.problem(&path, message, mistake.label, mistake.help);
        }
    }
    let mut seen = BTreeSet::new();
    for (position, subflow) in mptcp.backup.iter().enumerate() {
        let position = position.to_string();
        let path = [at, &["backup", &position]].concat();
        if *subflow > 7 {
            let message = format!("`policy.{name}.transport.backup`: no connection has a subflow {subflow}");
            checker.problem(&path, message, "at most 7", Some("subflows are counted from 0"));
        } else if !seen.insert(subflow) {
            let message = format!("`policy.{name}.transport.backup` has subflow {subflow} twice");
            checker.problem(&path, message, "once more", None);
        }
    }
}

/// What is said to the daemon of kernel hosts, which must have something to do.
fn daemon(policy: &PolicyRecord, index: &str, checker: &mut Checker) {
    let Some(record) = policy.linux.as_ref().and_then(|linux| linux.daemon.as_ref()) else { return };
    let path = ["policy", index, "linux", "daemon"];
    let of = |transport: &TransportRecord| match &transport.protocol {
        Protocol::Tcp(_) | Protocol::Roce(_) => (false, false),
        Protocol::Mptcp(mptcp) => (true, mptcp.lanes.is_some()),
    };
    let all = || std::iter::once(&policy.transport).chain(policy.traffic.iter().map(|(_, own)| own)).map(of);
    let name = &policy.name;
    if record.config.is_none() && !all().any(|(_, lanes)| lanes) {
        let message = format!("policy `{name}` has settings for the daemon of lanes, and no lanes");
        let help = "put `lanes` into the transport, or name a whole configuration with `config`";
        checker.problem(&path, message, "", Some(help));
    }
    if record.config.is_some() && !all().any(|(mptcp, _)| mptcp) {
        let message = format!("policy `{name}` has a daemon for the paths of MPTCP, and no MPTCP");
        checker.problem(&path, message, "", Some("take transport = { kind = \"mptcp\" }"));
    }
    if record.config.is_some() && record.timing.is_some() {
        let message = format!("policy `{name}` has a whole configuration for the daemon, and single settings");
        let help = "`config` says everything: put the settings into that file";
        checker.problem(&[&path[..], &["config"]].concat(), message, "", Some(help));
    }
}

/// Interfaces of each host of `shape`, as far as a connection can use them.
fn interfaces(shape: &ShapeRecord) -> Option<u32> {
    match shape {
        ShapeRecord::ParallelPaths(paths) => Some(paths.paths.min(8)),
        ShapeRecord::DualHomedFatTree(own) => Some((own.k / 2).min(8)),
        ShapeRecord::DualHomedPod(own) => Some((own.k / 2).min(8)),
        ShapeRecord::MultiHomedFatTree(own) => Some((own.k / 2).min(8)),
        ShapeRecord::Bcube(own) => Some(own.levels.min(8)),
        ShapeRecord::Dumbbell(_)
        | ShapeRecord::TwoTier(_)
        | ShapeRecord::LeafSpine(_)
        | ShapeRecord::FatTree(_)
        | ShapeRecord::Tree(_)
        | ShapeRecord::Vl2(_) => Some(1),
        ShapeRecord::Graph(_) => None,
    }
}
