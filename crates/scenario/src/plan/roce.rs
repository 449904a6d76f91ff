//! Queue pairs of RoCE.

use headway_control::congestion::AnyController;
use headway_fabric::{LosslessSpec, QueueSpec};
use headway_language::{Limit, OrOff};
use headway_transport::{self as transport, Profile, Roce};
use headway_units::Span;

use super::error::PlanError;
use super::marking;
use super::network::Network;
use crate::schema::{DcqcnRecord, PolicyRecord, Protocol, Retransmission, RoceRecord, ScenarioRecord, TrafficRecord};

/// How long a packet is missing until it is reported again, without a key: as in Alibaba's HPCC simulator.
const NAK_INTERVAL: Span = Span::from_micros(500);
/// The priority of congestion notification packets without a key.
const CNP_PRIORITY: u8 = 6;

/// The queue pairs of a policy, by the traffic's place.
pub(super) fn build(
    scenario: &ScenarioRecord,
    (policy, index): (&PolicyRecord, usize),
    network: &Network,
    lossless: Option<&LosslessSpec>,
) -> Result<Vec<Option<Roce>>, PlanError> {
    let index = index.to_string();
    let each = |traffic: &TrafficRecord| {
        let (transport, at) = match policy.traffic.get(&traffic.name) {
            Some(own) => (own, vec!["policy", &index, "traffic", &traffic.name]),
            None => (&policy.transport, vec!["policy", &index, "transport"]),
        };
        match &transport.protocol {
            Protocol::Roce(own) => {
                let roce = profile(scenario, own, &at)?;
                if traffic.takes_part(scenario) {
                    check_host_queues(network)?;
                    check_marks(&roce, traffic, network, lossless, &at)?;
                }
                Ok(Some(roce))
            }
            Protocol::Tcp(_) | Protocol::Mptcp(_) => Ok(None),
        }
    };
    scenario.traffic.iter().map(each).collect()
}

/// A card knows when its frame has left its port if that is first in, first out.
fn check_host_queues(network: &Network) -> Result<(), PlanError> {
    let graph = &network.built.graph;
    let queues = graph.hosts().flat_map(|host| graph.interfaces(host)).map(|&link| &graph.link(link).wire.queue);
    let by_flow = queues.into_iter().find(|queue| matches!(queue, QueueSpec::Drr(_) | QueueSpec::FqCodel(_)));
    let Some(queue) = by_flow else { return Ok(()) };
    let message = format!(
        "cards of RoCE give their port a frame when the last one has left, and {} has no such order",
        queue.name()
    );
    Err(PlanError::new(&["topology", "host-queue"], message).help("take `drop-tail`, `red` or `codel`"))
}

/// DCQCN hears of congestion by marks alone.
fn check_marks(
    roce: &Roce,
    traffic: &TrafficRecord,
    network: &Network,
    lossless: Option<&LosslessSpec>,
    at: &[&str],
) -> Result<(), PlanError> {
    let class = lossless.map(|own| &own.classes[usize::from(own.class_of[usize::from(traffic.priority)])]);
    let by_class = class.is_some_and(|class| class.marks.is_some());
    let graph = &network.built.graph;
    if roce.control.is_none() || by_class || graph.links().iter().any(|link| marking::marks(&link.wire.queue)) {
        return Ok(());
    }
    let message = format!("traffic `{}` has DCQCN, and no queue marks its packets", traffic.name);
    let help = match lossless {
        Some(_) => "give its class in `lossless.classes` a `mark` or `ecn`, or take control = \"none\"",
        None => "give `topology.queue` a `mark`, or take RED with `ecn`, or control = \"none\"",
    };
    Err(PlanError::new(at, message).help(help))
}

fn profile(scenario: &ScenarioRecord, record: &RoceRecord, at: &[&str]) -> Result<Roce, PlanError> {
    let mtu = scenario.topology.mtu;
    let Some(most) = RoceRecord::largest(mtu) else {
        let headers = Roce::IP_OVERHEAD;
        let message = format!("an MTU of {mtu} has no room for 256 B behind {headers} B of headers, the least of RoCE");
        return Err(PlanError::new(&["topology", "mtu"], message));
    };
    let payload = record.path_mtu.unwrap_or(most);
    if payload > most {
        let message = format!("a path MTU of {payload} does not fit into datagrams of {mtu}");
        let help = format!("at most {most}, or `topology.mtu` = \"4200B\" (4096 B and headers)");
        return Err(PlanError::new(&[at, &["path-mtu"]].concat(), message).help(help));
    }
    let profile = Roce {
        payload: payload.get() as u32,
        retransmission: match record.retransmission {
            Retransmission::GoBackN => transport::Retransmission::GoBackN,
            Retransmission::SelectiveRepeat => transport::Retransmission::SelectiveRepeat,
        },
        control: record.dcqcn.as_ref().map(DcqcnRecord::parameters),
        rate: record.rate,
        window: Limit::get(record.window),
        ack_every: record.ack_every,
        nak_interval: record.nak_interval.map_or(Some(NAK_INTERVAL), OrOff::get),
        timeout: record.timeout,
        cnp_priority: record.cnp_priority.unwrap_or(CNP_PRIORITY),
    };
    let (packets, every) = (profile.window(), record.ack_every);
    if u64::from(every) > packets {
        let message = format!("a window of {packets} packets is sent before {every} could be acknowledged");
        let help = format!("each window would wait for the time-out: at most {packets}, or a larger `window`");
        return Err(PlanError::new(&[at, &["ack-every"]].concat(), message).help(help));
    }
    Ok(profile)
}

/// What stands for a queue pair where profiles of TCP are asked for the size of packets.
pub(super) fn stand_in(scenario: &ScenarioRecord, record: &RoceRecord, at: &[&str]) -> Result<Profile, PlanError> {
    let roce = profile(scenario, record, at)?;
    let control = AnyController::by_name("new-reno").expect("it is there");
    Ok(Profile { control, mss: roce.payload, overhead: Roce::OVERHEAD, ..Profile::default() })
}
