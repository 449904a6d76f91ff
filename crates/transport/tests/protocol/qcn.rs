//! Queue pairs and TCP on lossless ports: pauses reach the card, and QCN keeps the queue at its set point.

use headway_control::congestion::AnyController;
use headway_control::pacing::Burst;
use headway_control::qcn::{CongestionParameters, ReactionParameters};
use headway_engine::Streams;
use headway_fabric::{ClassSpec, Graph, Limit, LinkId, LosslessSpec, PauseKind, Thresholds, Wire};
use headway_transport::{
    CardModel, FlowEnd, FlowRate, FlowStart, Measure, QcnModel, Release, Roce, Sample, SampleKind, Simulation, Totals,
    Transport,
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
fn lossless(graph: &Graph) -> LosslessSpec {
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
        kinds: vec![SampleKind::Queue],
        links: vec![last],
        ..Measure::default()
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

/// The queue's mean length and how evenly the link is shared in the second half.
fn queue_of(run: &Run) -> f64 {
    let half = &run.samples[run.samples.len() / 2..];
    half.iter().map(|sample| sample.value).sum::<f64>() / half.len() as f64
}

/// Eight queue pairs without control of their own: QCN brings the queue to about Q_eq, shares the link evenly and uses it.
/// (Pan et al., "QCN: quantized congestion notification", 2007: goals of stability and fairness.)
#[test]
fn qcn_holds_the_queue_of_queue_pairs() {
    let (net, last) = star(8, Limit::Packets(2));
    let run = run((&net, last), plain(), None, Some(model()), None, Span::from_millis(400));
    assert!(run.feedback > 100);
    assert_eq!(run.totals.drops, 0);
    let queue = queue_of(&run);
    assert!((13_000.0..52_000.0).contains(&queue), "{queue}: from half to twice Q_eq");
    let shares: Vec<f64> = run.ends.iter().map(|end| end.delivered as f64).collect();
    assert!(jain(&shares) > 0.8, "{shares:?}");
    let used = shares.iter().sum::<f64>() * 8.0 / 0.4 / 10e9 * 1106.0 / 1024.0;
    assert!(used > 0.9, "{used}");
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
    assert!((13_000.0..52_000.0).contains(&held), "{held}");
    assert!(free > 100_000.0, "{free}: without QCN only pauses bound it");
    let shares: Vec<f64> = with.ends.iter().map(|end| end.delivered as f64).collect();
    let used = shares.iter().sum::<f64>() * 8.0 / 0.4 / 10e9 * 1538.0 / 1460.0;
    assert!(used > 0.85 && jain(&shares) > 0.8, "{used} {shares:?}");
    assert_eq!(with.totals.drops, 0);
}
