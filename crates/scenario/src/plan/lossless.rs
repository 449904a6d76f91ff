//! Ports with priorities, classes and pauses.

use headway_control::lossless::{Cable, PAUSE_FRAME, whole_frame_headroom};
use headway_fabric::{
    ClassSpec, Graph, IngressBuffer, LinkId, LosslessSpec, Marks, PRIORITIES, PauseKind, QueueSpec, Thresholds,
    Watchdog, WatchdogAction,
};
use headway_language::Map;
use headway_levers::lossless::{Headroom, LosslessClassRecord, LosslessRecord, PauseBy, StuckFrames};
use headway_transport::QcnModel;
use headway_units::{Bytes, Span};

use super::error::PlanError;
use super::network::Network;
use crate::schema::ScenarioRecord;

/// Where a switch asks for a pause, without a shared buffer and a key.
const XOFF: Bytes = Bytes::from_kb(100);
/// Bytes of Ethernet header and checksum.
const ETHERNET: u64 = 18;

/// How ports are lossless under policy number `policy`, if they are.
pub(super) fn spec(
    scenario: &ScenarioRecord,
    policy: usize,
    network: &Network,
) -> Result<Option<LosslessSpec>, PlanError> {
    let Some(record) = &scenario.policy[policy].lossless else { return Ok(None) };
    let number = policy.to_string();
    let at = ["policy", &number, "lossless"];
    let graph = &network.built.graph;
    check_queues(scenario, record, graph, &at)?;
    let frame = scenario.topology.mtu + Bytes::new(ETHERNET);
    let thresholds = thresholds(record, graph, frame, &at)?;
    let lossless = lossless_priorities(scenario, record);
    if lossless.is_empty() && (record.pause != PauseBy::Nothing || record.qcn.is_some()) {
        let message = "no priority is lossless: these are the priorities of the traffic, and none takes part";
        return Err(PlanError::new(&at, message).help("name them by `priorities`, or leave `lossless` out"));
    }
    protects(scenario, record, &at)?;
    let (classes, class_of) = lossless_classes(&record.classes, &at)?;
    let spec = LosslessSpec {
        pause: match record.pause {
            PauseBy::Pfc => PauseKind::Priority,
            PauseBy::Link => PauseKind::Link,
            PauseBy::Nothing => PauseKind::Nothing,
        },
        lossless: lossless.iter().fold(0, |all, own| all | 1 << own),
        classes,
        class_of,
        quanta: record.quanta,
        response: record.response,
        thresholds,
        buffer: record.buffer.as_ref().map(|own| IngressBuffer {
            size: own.size,
            alpha: own.alpha,
            reserve: own.reserve,
            offset: own.offset,
        }),
        watchdog: record.watchdog.as_ref().map(|own| Watchdog {
            detect: own.detect,
            restore: own.restore,
            action: match own.action {
                StuckFrames::Drop => WatchdogAction::Drop,
                StuckFrames::Forward => WatchdogAction::Forward,
            },
        }),
        largest: frame.get() as u32,
    };
    check_buffer(&spec, network, &at)?;
    Ok(Some(spec))
}

/// Ports have queues by priority instead of other disciplines, and buffers by where frames come in.
fn check_queues(
    scenario: &ScenarioRecord,
    record: &LosslessRecord,
    graph: &Graph,
    at: &[&str],
) -> Result<(), PlanError> {
    let other = graph.links().iter().find(|link| !matches!(link.wire.queue, QueueSpec::DropTail { .. }));
    if let Some(link) = other {
        let message = format!("ports with classes have no {} queues", link.wire.queue.name());
        return Err(PlanError::new(at, message).help("take `drop-tail` queues in the topology"));
    }
    if scenario.topology.shared_buffer.is_some() && record.buffer.is_none() {
        let message = "ports with pauses count what comes in, and `topology.shared-buffer` what goes out";
        let help = "give `lossless` a `buffer` of its own: it takes the place of the topology's";
        return Err(PlanError::new(at, message).help(help));
    }
    Ok(())
}

/// The priorities whose frames are not to be lost: all where links are paused as a whole, else those of the traffic if the
/// policy says nothing.
pub(crate) fn lossless_priorities(scenario: &ScenarioRecord, record: &LosslessRecord) -> Vec<u8> {
    if record.pause == PauseBy::Link {
        return (0..PRIORITIES as u8).collect();
    }
    let traffic = scenario.traffic.iter().filter(|own| own.takes_part(scenario)).map(|own| own.priority);
    record.priorities.clone().unwrap_or_else(|| traffic.collect())
}

/// Checks that some traffic has a priority that the policy names.
fn protects(scenario: &ScenarioRecord, record: &LosslessRecord, at: &[&str]) -> Result<(), PlanError> {
    let Some(named) = record.priorities.as_ref().filter(|_| record.pause == PauseBy::Pfc) else { return Ok(()) };
    let mut of_traffic = scenario.traffic.iter().filter(|own| own.takes_part(scenario)).map(|own| own.priority);
    if of_traffic.any(|priority| named.contains(&priority)) {
        return Ok(());
    }
    let message = "no traffic has one of these priorities, so nothing is lossless";
    let help = "`priority` of the traffic and `priorities` here belong together; traffic has 0 where nothing is said";
    Err(PlanError::new(&[at, &["priorities"]].concat(), message).help(help))
}

/// `xoff` and `xon` without a shared buffer, for frames of up to `frame`.
pub(crate) fn fixed_thresholds(
    record: &LosslessRecord,
    frame: Bytes,
    at: &[&str],
) -> Result<(Bytes, Bytes), PlanError> {
    let xoff = record.xoff.unwrap_or(XOFF);
    let xon = record.xon.unwrap_or_else(|| xoff.saturating_sub(frame + frame));
    if xon > xoff {
        let message = format!("`xon` of {xon} is above `xoff`, {xoff}");
        return Err(PlanError::new(&[at, &["xon"]].concat(), message));
    }
    Ok((xoff, xon))
}

/// The thresholds of every link; pauses must not run out while they are asked for.
fn thresholds(record: &LosslessRecord, graph: &Graph, frame: Bytes, at: &[&str]) -> Result<Vec<Thresholds>, PlanError> {
    let (xoff, xon) = fixed_thresholds(record, frame, at)?;
    let mut all = Vec::with_capacity(graph.links().len());
    for number in 0..graph.links().len() {
        let cable = cable(graph, LinkId(number as u32), frame, record.response);
        let pause = cable.rate.transmission(Bytes::new(64 * u64::from(record.quanta)));
        let late = cable.back_rate.transmission(cable.back_frame + cable.gap)
            + cable.back_rate.transmission(PAUSE_FRAME + cable.gap);
        if record.pause != PauseBy::Nothing && late.picos() > pause.picos() / 2 {
            let quanta = record.quanta;
            let message = format!(
                "a pause of {quanta} quanta lasts for {pause} on a link of {}, and asking for the next one may take {late}",
                cable.rate
            );
            let help = "a pause is asked for again after half of its time: take more quanta";
            return Err(PlanError::new(&[at, &["quanta"]].concat(), message).help(help));
        }
        let headroom = match record.headroom {
            Headroom::Auto => whole_frame_headroom(&cable),
            Headroom::Fixed(bytes) => bytes,
        };
        all.push(Thresholds { xoff: xoff.get(), xon: xon.get(), headroom: headroom.get() });
    }
    Ok(all)
}

/// What decides the headroom of a link, as the model has it: a switch counts a frame when it is at its output port.
fn cable(graph: &Graph, link: LinkId, frame: Bytes, response: Span) -> Cable {
    let (forth, back) = (graph.link(link), graph.link(link.reverse()));
    Cable {
        rate: forth.wire.rate,
        back_rate: back.wire.rate,
        delay: forth.wire.delay + graph.node(forth.to).latency,
        back_delay: back.wire.delay + graph.node(back.to).latency,
        response,
        frame,
        // feedback of QCN may be larger than a small MTU
        back_frame: frame.max(Bytes::new(u64::from(QcnModel::FEEDBACK))),
        gap: forth.wire.gap,
    }
}

/// The classes of every port, and which one each priority is in: priorities that no class names have one together.
pub(crate) fn lossless_classes(
    named: &Map<LosslessClassRecord>,
    at: &[&str],
) -> Result<(Vec<ClassSpec>, [u8; PRIORITIES]), PlanError> {
    let equal = ClassSpec { strict: false, share: 1, marks: None };
    if named.iter().next().is_none() {
        return Ok((vec![equal; PRIORITIES], std::array::from_fn(|priority| priority as u8)));
    }
    let mut class_of = [u8::MAX; PRIORITIES];
    let mut classes = Vec::new();
    for (_, own) in named.iter() {
        for &priority in &own.priorities {
            class_of[usize::from(priority)] = classes.len() as u8;
        }
        let step = own.mark.map(Marks::Step);
        let ramp = own.ecn.as_ref().map(|own| Marks::Ramp { min: own.min, max: own.max, probability: own.probability });
        classes.push(ClassSpec { strict: own.strict, share: own.share, marks: ramp.or(step) });
    }
    if class_of.contains(&u8::MAX) {
        let rest = classes.len() as u8;
        class_of.iter_mut().filter(|class| **class == u8::MAX).for_each(|class| *class = rest);
        classes.push(equal);
    }
    if classes.len() > PRIORITIES {
        let message = format!("{} classes are more than {PRIORITIES}", classes.len());
        return Err(PlanError::new(&[at, &["classes"]].concat(), message));
    }
    Ok((classes, class_of))
}

/// A shared buffer holds what its links have for themselves, and a frame.
fn check_buffer(spec: &LosslessSpec, network: &Network, at: &[&str]) -> Result<(), PlanError> {
    let Some(buffer) = &spec.buffer else { return Ok(()) };
    let graph = &network.built.graph;
    for switch in graph.switches() {
        let own = spec.own_parts(graph, switch);
        let least = own.saturating_add(u64::from(spec.largest));
        if buffer.size.get() < least {
            let message = format!(
                "the reserves and headrooms of `{}` are {} together, which leaves no room for a frame in {}",
                network.name(switch),
                Bytes::new(own),
                buffer.size
            );
            let fault = PlanError::new(&[at, &["buffer", "size"]].concat(), message);
            let help = format!(
                "take {} at least, or fewer lossless priorities: each link has {} for each",
                Bytes::new(least),
                "a `reserve` and a `headroom`"
            );
            return Err(fault.help(help));
        }
    }
    Ok(())
}
