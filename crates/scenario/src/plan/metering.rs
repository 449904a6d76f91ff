//! Limits on ports, from groups of hosts to links.

use headway_control::metering::PortSpec;
use headway_fabric::{Excess, Graph, Limit, LimitedSpec, LinkId, NodeId, NodeKind, QueueSpec};
use headway_language::{Amount, Name, OrOff};
use headway_levers::metering::{ControlKind, ControlRecord, ExcessWord, MeteringRecord, Way};
use headway_transport::{Control, LimitChange, Metered, MeteredPort, Metering};
use headway_units::{Bytes, Rate, Span, Time};

use super::error::PlanError;
use super::network::Network;
use crate::schema::{ScenarioRecord, TrafficKind};

/// Limits on ports under a policy.
#[derive(Debug, Clone)]
pub struct MeteringPlan {
    ports: Vec<MeteredPort>,
    specs: Vec<PortSpec>,
    queues: Vec<(LinkId, QueueSpec)>,
    burst: Bytes,
    changes: Vec<LimitChange>,
    control: Option<(ControlRecord, Way, Rate)>,
}

impl MeteringPlan {
    /// The limits of policy number `policy`, if it has any.
    ///
    /// # Errors
    /// If a port cannot be limited.
    pub(super) fn build(
        scenario: &ScenarioRecord,
        policy: usize,
        network: &Network,
    ) -> Result<Option<MeteringPlan>, PlanError> {
        let Some(record) = &scenario.policy[policy].metering else { return Ok(None) };
        let number = policy.to_string();
        let at = ["policy", &number, "metering"];
        let graph = &network.built.graph;
        let frame = Bytes::new(scenario.topology.mtu.get() + 18);
        if let Some(Amount::Bytes(queue)) = record.queue
            && queue < frame
        {
            let message = format!("a queue of {queue} has no room for a frame of {frame}: all of them are dropped");
            return Err(PlanError::new(&[&at[..], &["queue"]].concat(), message));
        }
        if record.burst < frame && record.excess == ExcessWord::Drops {
            let message =
                format!("a burst of {} has no room for a frame of {frame}: all of them are dropped", record.burst);
            return Err(PlanError::new(&[&at[..], &["burst"]].concat(), message));
        }
        let ports = ports(record, network);
        let mut queues = Vec::new();
        for port in &ports {
            if let Some((link, excess)) = port.queue() {
                let queue = queue(record, graph, link, excess).ok_or_else(|| {
                    let message =
                        format!("`{}` cannot be limited: its queue is not drop-tail", network.port_name(link));
                    PlanError::new(&at, message).help("shape or police ports with `queue = { kind = \"drop-tail\" }`")
                })?;
                queues.push((link, queue));
            }
        }
        let limited = || ports.iter().filter_map(MeteredPort::keeper);
        let Some(fastest) = limited().map(|link| graph.link(link).wire.rate).max() else {
            let message = "no host of `ports` is at a switch, so there is nothing to limit";
            return Err(PlanError::new(&[&at[..], &["ports"]].concat(), message));
        };
        let specs = specs(scenario, record, network, &ports);
        if let Some(control) = &record.control {
            let counted = specs.iter().filter(|spec| spec.counted).count();
            if counted < 2 && control.kind != ControlKind::AimdDelay {
                let message = format!("{counted} of the ports of switches counts: there is nobody to share with");
                let key = if control.counted.is_some() { "counted" } else { "kind" };
                let fault = PlanError::new(&[&at[..], &["control", key]].concat(), message);
                return Err(fault.help("name the groups whose traffic counts: counted = [\"web\", \"storage\"]"));
            }
            let trial = control.controller(specs.clone(), record.way, fastest);
            trial.map_err(|error| PlanError::new(&[&at[..], &["control"]].concat(), error.to_string()))?;
        }
        Ok(Some(MeteringPlan {
            changes: changes(record, network, &ports),
            specs,
            ports,
            queues,
            burst: record.burst,
            control: record.control.clone().map(|control| (control, record.way, fastest)),
        }))
    }

    /// Gives the ports of `graph` that may be limited a queue for it.
    pub fn prepare(&self, graph: &mut Graph) {
        for &(link, queue) in &self.queues {
            graph.set_queue(link, queue);
        }
    }

    /// The limits of a run.
    ///
    /// # Panics
    /// Never: the controller was made when the plan was.
    pub fn start(&self) -> Metering {
        let control = self.control.as_ref().map(|(record, way, fastest)| Control {
            interval: record.interval,
            controller: record.controller(self.specs.clone(), *way, *fastest).expect("checked when it was planned"),
        });
        Metering { ports: self.ports.clone(), burst: self.burst, changes: self.changes.clone(), control }
    }
}

/// All ports of switches: those that may be limited, and those that are read only.
fn ports(record: &MeteringRecord, network: &Network) -> Vec<MeteredPort> {
    let graph = &network.built.graph;
    let excess = match record.excess {
        ExcessWord::Waits => Excess::Waits,
        ExcessWord::Drops => Excess::Drops,
    };
    let limitable = |out: LinkId| {
        let host = graph.link(out).to;
        record.ports.iter().any(|group| network.group(group.as_str()).contains(&host))
    };
    let each = |out: LinkId| {
        let metered = match record.way {
            _ if !limitable(out) => Metered::Nothing,
            Way::Into => Metered::Into(excess),
            Way::Out => Metered::Out(excess),
        };
        MeteredPort { out, metered }
    };
    network.switch_ports().into_iter().map(each).collect()
}

/// The queue that `link` needs for a limit; `None` if it has one that cannot be limited.
fn queue(record: &MeteringRecord, graph: &Graph, link: LinkId, excess: Excess) -> Option<QueueSpec> {
    let QueueSpec::DropTail { limit, mark } = graph.link(link).wire.queue else { return None };
    let limit = match record.queue {
        None => limit,
        Some(Amount::Bytes(bytes)) => Some(Limit::Bytes(bytes)),
        Some(Amount::Packets(packets)) => Some(Limit::Packets(packets)),
    };
    Some(QueueSpec::Limited(LimitedSpec { limit, mark, excess, burst: record.burst }))
}

/// What a controller is told about `ports`.
fn specs(
    scenario: &ScenarioRecord,
    record: &MeteringRecord,
    network: &Network,
    ports: &[MeteredPort],
) -> Vec<PortSpec> {
    let graph = &network.built.graph;
    let control = record.control.as_ref();
    let of = |groups: Option<&Vec<Name>>| -> Vec<NodeId> {
        groups.into_iter().flatten().flat_map(|group| network.group(group.as_str())).copied().collect()
    };
    let protect = of(control.and_then(|control| control.protect.as_ref()));
    let named = control.and_then(|control| control.counted.as_ref());
    let counted = if named.is_some() { of(named) } else { busy(scenario, record.way, network) };
    let spec = |port: &MeteredPort| {
        let host = graph.link(port.out).to;
        let limitable = port.metered != Metered::Nothing;
        let protected = protect.contains(&host);
        let counted = counted.contains(&host) || named.is_none() && (limitable || protected);
        let edge = graph.node(host).kind == NodeKind::Host;
        PortSpec { line: graph.link(port.out).wire.rate, limitable, counted, protected, edge }
    };
    ports.iter().map(spec).collect()
}

/// The hosts whose ports carry data the way that is limited, each byte at one of them: who sends into the switches, or who
/// receives. Of web traffic that is the clients either way, since their servers' ports carry the same again. Of commands it
/// is not known.
fn busy(scenario: &ScenarioRecord, way: Way, network: &Network) -> Vec<NodeId> {
    let mut hosts: Vec<NodeId> = Vec::new();
    for traffic in scenario.traffic.iter().filter(|traffic| traffic.takes_part(scenario)) {
        let groups: Vec<&str> = match (&traffic.kind, way) {
            (TrafficKind::Flows(flows), Way::Out) => vec![&*flows.to],
            (TrafficKind::Flows(flows), Way::Into) => {
                let Some(from) = &flows.from else {
                    let to = network.group(&flows.to);
                    let all = network.groups().flat_map(|(_, hosts)| hosts);
                    hosts.extend(all.filter(|host| !to.contains(host)));
                    continue;
                };
                vec![&**from]
            }
            (TrafficKind::Replay(replay), _) => {
                let Some(group) = &replay.hosts else {
                    hosts.extend(network.built.hosts.iter().copied());
                    continue;
                };
                vec![group.as_str()]
            }
            (TrafficKind::PartitionAggregate(tree), Way::Into) => {
                tree.levels.iter().map(|level| level.on.as_str()).collect()
            }
            (TrafficKind::PartitionAggregate(tree), Way::Out) => vec![tree.root.as_str()],
            (TrafficKind::EventBuilder(own), Way::Into) => vec![own.readers.as_str()],
            (TrafficKind::EventBuilder(own), Way::Out) => vec![own.builders.as_str()],
            (TrafficKind::Http(http), _) => http.clients.iter().map(|clients| clients.on.as_str()).collect(),
            (TrafficKind::Command(_), _) => Vec::new(),
        };
        hosts.extend(groups.into_iter().flat_map(|group| network.group(group)));
    }
    hosts
}

/// Limits from the start, and later ones, in order of time.
fn changes(record: &MeteringRecord, network: &Network, ports: &[MeteredPort]) -> Vec<LimitChange> {
    let graph = &network.built.graph;
    let mut all = Vec::new();
    let mut set = |at: Span, group: &str, limit: Option<Rate>| {
        let hosts = network.group(group);
        for (port, own) in ports.iter().enumerate() {
            if own.metered != Metered::Nothing && hosts.contains(&graph.link(own.out).to) {
                all.push(LimitChange { at: Time::ZERO + at, port, limit });
            }
        }
    };
    for (group, limit) in record.limits.iter() {
        set(Span::ZERO, group, Some(*limit));
    }
    for change in &record.changes {
        set(change.at, change.ports.as_str(), OrOff::get(change.limit));
    }
    all.sort_by_key(|change| change.at);
    all
}
