//! Queue pairs and TCP on lossless ports: pauses reach the card, and QCN keeps the queue at its set point.

use headway_control::congestion::AnyController;
use headway_control::pacing::Burst;
use headway_control::qcn::{CongestionParameters, ReactionParameters};
use headway_engine::Streams;
use headway_fabric::{ClassSpec, Graph, Limit, LinkId, LosslessSpec, PauseKind, Thresholds, Wire};
use headway_transport::{
    CardModel, FlowEnd, FlowRate, FlowStart, Measure, QcnModel, Release, Roce, Sample, SampleKind, SampleOf,
    Simulation, Totals, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{Net, jain, limited, profile, wire};

const RATE: Rate = Rate::from_gbps(10);

fn cable() -> Wire {
    wire(RATE, Span::from_micros(1))
}

/// `senders` hosts, whose own queues hold two frames, and one receiver at a switch.
fn star(senders: usize, queue: Limit) -> (Net, LinkId) {
    let mut net = Net::default();
    let switch = net.switch();
    for _ in 0..senders {
        let host = net.host();
        net.lay(host, switch, limited(cable(), queue), cable());
    }
    let to = net.host();
    let last = net.lay(switch, to, cable(), cable());
    (net, last)
}

/// Every priority has a class; priority 3 is lossless from 50 KB on.
pub(super) fn lossless(graph: &Graph) -> LosslessSpec {
    LosslessSpec {
        pause: PauseKind::Priority,
        lossless: 1 << 3,
        classes: vec![ClassSpec { strict: false, share: 1, marks: None }; 8],
        class_of: std::array::from_fn(|at| at as u8),
        quanta: u16::MAX,
        response: Span::ZERO,
        thresholds: vec![Thresholds { xoff: 50_000, xon: 45_000, headroom: 20_000 }; graph.links().len()],
        buffer: None,
        watchdog: None,
        largest: 1518,
    }
}

struct Run {
    ends: Vec<FlowEnd>,
    samples: Vec<Sample>,
    totals: Totals,
    feedback: u64,
    pauses: u64,
}

/// Senders begin a microsecond after each other and send for `span`, or each `size`.
fn run(
    (net, last): (&Net, LinkId),
    transport: Transport,
    size: Option<u64>,
    qcn: Option<QcnModel>,
    cards: Option<&CardModel>,
    span: Span,
) -> Run {
    let hosts: Vec<_> = net.graph.hosts().collect();
    let (&to, sources) = hosts.split_last().unwrap();
    let measure = Measure {
        interval: Span::from_micros(100),
        kinds: vec![SampleKind::Queue, SampleKind::Goodput],
        intervals: vec![(SampleKind::Goodput, Span::from_millis(10))],
        traffics: vec![0],
        links: vec![last],
    };
    let streams = Streams::new(1);
    let mut simulation = Simulation::new(net.graph.clone(), vec![transport], measure, streams);
    simulation.make_lossless(lossless(&net.graph), streams);
    simulation.set_priority(0, 3);
    for &host in sources {
        if let Some(card) = cards {
            simulation.pace_host(host, card);
        }
    }
    if let Some(qcn) = qcn {
        simulation.set_qcn(qcn, streams);
    }
    let starts = (0u64..).zip(sources).map(|(id, &source)| FlowStart {
        time: Time::ZERO + Span::from_micros(id),
        id,
        traffic: 0,
        source,
        destination: to,
        size: size.map(Bytes::new),
        deadline: None,
        profile: 0,
    });
    simulation.run(Time::ZERO + span, &mut starts.collect::<Vec<_>>().into_iter()).unwrap();
    let feedback = simulation.feedback_frames();
    let pauses = (0..net.graph.links().len() as u32).map(|link| simulation.pauses(LinkId(link)).pauses).sum();
    let (ends, samples, totals) = simulation.finish();
    Run { ends, samples, totals, feedback, pauses }
}

fn plain() -> Transport {
    Roce { control: None, timeout: Span::from_millis(100), ..Roce::default() }.into()
}

fn model() -> QcnModel {
    QcnModel {
        point: CongestionParameters::default(),
        reaction: ReactionParameters::default(),
        priorities: 1 << 3,
        feedback_priority: 7,
    }
}

/// Pauses reach queue pairs in their card: the hosts' queues, of two frames, never overflow, nothing is lost, and the last
/// link is busy all the time.
#[test]
fn pauses_stop_queue_pairs_in_their_card() {
    let (net, last) = star(4, Limit::Packets(2));
    let size = 5_000_000;
    let run = run((&net, last), plain(), Some(size), None, None, Span::from_millis(100));
    assert!(run.pauses > 0);
    assert_eq!((run.totals.drops, run.totals.in_flight), (0, 0));
    assert!(run.ends.iter().all(|end| (end.retransmissions, end.timeouts) == (0, 0)), "{:?}", run.ends);
    let took = run.ends.iter().map(|end| end.end.expect("it completes")).max().unwrap().since(Time::ZERO);
    // 1,106 B of the line for 1,024 B of data
    let ideal = RATE.transmission(Bytes::new(4 * size * 1106 / 1024));
    assert!(took > ideal && took < ideal + Span::from_micros(50), "{took} and {ideal}");
}

/// The mean length of the queue in the second half of a run.
fn queue_of(run: &Run) -> f64 {
    let all: Vec<f64> = run.samples.iter().filter(|own| own.kind == SampleKind::Queue).map(|own| own.value).collect();
    let half = &all[all.len() / 2..];
    half.iter().sum::<f64>() / half.len() as f64
}

/// What each flow has got in the second half of a run, bit/s.
fn shares_of(run: &Run) -> Vec<f64> {
    let half = run.samples.last().unwrap().time.picos() / 2;
    let of = |id| {
        let own =
            run.samples.iter().filter(move |own| own.kind == SampleKind::Goodput && own.of == SampleOf::Flow(id, 0));
        let late: Vec<f64> = own.filter(|own| own.time.picos() > half).map(|own| own.value).collect();
        late.iter().sum::<f64>() / late.len() as f64
    };
    run.ends.iter().map(|end| of(end.start.id)).collect()
}

/// Eight queue pairs without control of their own: QCN brings the queue to about Q_eq, shares the link evenly and uses it.
/// (Pan et al., "QCN: quantized congestion notification", 2007: goals of stability and fairness.)
#[test]
fn qcn_holds_the_queue_of_queue_pairs() {
    let (net, last) = star(8, Limit::Packets(2));
    let run = run((&net, last), plain(), None, Some(model()), None, Span::from_millis(1000));
    assert!(run.feedback > 100);
    assert_eq!(run.totals.drops, 0);
    let queue = queue_of(&run);
    assert!((queue / 26_000.0 - 1.0).abs() < 0.2, "{queue}: about Q_eq");
    let shares = shares_of(&run);
    let used = shares.iter().sum::<f64>() / 10e9 * 1106.0 / 1024.0;
    assert!(used > 0.9, "{used}");
    assert!(jain(&shares) > 0.8, "{shares:?}");
}

/// Eight senders of TCP whose cards listen: their windows go on growing, and the cards keep what the network has no room
/// for.
#[test]
fn qcn_holds_the_queue_of_tcp() {
    let (net, last) = star(8, Limit::Packets(1000));
    let tcp = headway_transport::Profile {
        control: AnyController::by_name("cubic").unwrap(),
        receive_window: Bytes::new(1_000_000),
        ..profile()
    };
    let card = CardModel {
        release: Release::Timer(Span::from_nanos(1)),
        rate: FlowRate::Unpaced,
        burst: Burst::Packets(1),
        limit: None,
        classes: Vec::new(),
        queue: 10_000,
        mtu: 1500,
    };
    let of = |qcn, card| run((&net, last), tcp.clone().into(), None, qcn, card, Span::from_millis(400));
    let (with, without) = (of(Some(model()), Some(&card)), of(None, None));
    assert!(with.feedback > 100 && without.feedback == 0);
    let (held, free) = (queue_of(&with), queue_of(&without));
    assert!((held / 26_000.0 - 1.0).abs() < 0.2, "{held}");
    assert!(free > 100_000.0, "{free}: without QCN only pauses bound it");
    let shares = shares_of(&with);
    let used = shares.iter().sum::<f64>() / 10e9 * 1538.0 / 1460.0;
    assert!(used > 0.85 && jain(&shares) > 0.8, "{used} {shares:?}");
    assert_eq!(with.totals.drops, 0);
}
