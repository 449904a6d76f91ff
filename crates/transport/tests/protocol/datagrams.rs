//! Datagrams at a fixed rate beside TCP.

use headway_control::pacing::Burst;
use headway_engine::Streams;
use headway_fabric::{Limit, QueueSpec, Wire};
use headway_transport::{
    CardModel, Datagram, Failure, FlowEnd, FlowRate, FlowStart, Measure, Release, SampleKind, SampleOf, Simulation,
    Totals, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{Net, profile, wire};

const FRAME: u32 = 1000;

fn datagram(mbps: u64) -> Datagram {
    Datagram { rate: Rate::from_mbps(mbps), payload: FRAME - 42, overhead: 42 }
}

fn start(net: &Net, id: u64, (source, destination): (usize, usize), size: Option<u64>, profile: u16) -> FlowStart {
    let hosts: Vec<_> = net.graph.hosts().collect();
    FlowStart {
        time: Time::ZERO,
        id,
        traffic: 0,
        source: hosts[source],
        destination: hosts[destination],
        size: size.map(Bytes::new),
        deadline: None,
        profile,
    }
}

/// Two hosts behind a switch, and a third that both send to at 100 Mb/s.
fn net(queue: QueueSpec) -> Net {
    let mut net = Net::default();
    let (a, b, to, switch) = (net.host(), net.host(), net.host(), net.switch());
    let cable = Wire { gap: Bytes::ZERO, ..wire(Rate::from_mbps(100), Span::from_micros(10)) };
    for host in [a, b] {
        net.lay(host, switch, cable, cable);
    }
    net.lay(switch, to, Wire { queue, ..cable }, cable);
    net
}

fn run(net: &Net, transports: Vec<Transport>, starts: Vec<FlowStart>, end: Span) -> (Vec<FlowEnd>, Totals) {
    let mut simulation = Simulation::new(net.graph.clone(), transports, Measure::default(), Streams::new(1));
    simulation.run(Time::ZERO + end, &mut starts.into_iter()).unwrap();
    let (ends, _, totals) = simulation.finish();
    (ends, totals)
}

const ROOM: QueueSpec = QueueSpec::DropTail { limit: None, mark: None };

/// 10 frames of 1,000 bytes at 8 Mb/s leave 1 ms apart. The last leaves at 9 ms and takes two transmissions of 80 µs and
/// two delays of 10 µs.
#[test]
fn frames_leave_at_their_rate() {
    let net = net(ROOM);
    let size = 10 * u64::from(FRAME - 42);
    let (ends, totals) =
        run(&net, vec![datagram(8).into()], vec![start(&net, 1, (0, 2), Some(size), 0)], Span::from_secs(1));
    assert_eq!(ends[0].end, Some(Time::ZERO + Span::from_micros(9_000 + 2 * 80 + 2 * 10)));
    assert_eq!((ends[0].delivered, totals.hops, totals.in_flight), (size, 20, 0));
    assert_eq!(ends[0].ideal, Some(Span::from_micros(11 * 80 + 2 * 10)));
}

/// A card with a static rate of 4 Mb/s lets one of 1,000 B go every 2 ms, and holds the rest; with room for three that wait
/// it drops what comes too early.
#[test]
fn a_card_paces_datagrams() {
    let net = net(ROOM);
    let hosts: Vec<_> = net.graph.hosts().collect();
    let size = 10 * u64::from(FRAME - 42);
    let run = |queue| {
        let transports: Vec<Transport> = vec![datagram(8).into()];
        let mut simulation = Simulation::new(net.graph.clone(), transports, Measure::default(), Streams::new(1));
        let rate = FlowRate::Static(Rate::from_mbps(4));
        let burst = Burst::Packets(1);
        let model =
            CardModel { release: Release::Gap, rate, burst, limit: None, classes: Vec::new(), queue, mtu: 1500 };
        simulation.pace_host(hosts[0], &model);
        let starts = vec![start(&net, 1, (0, 2), Some(size), 0)];
        simulation.run(Time::ZERO + Span::from_secs(1), &mut starts.into_iter()).unwrap();
        let (ends, _, totals) = simulation.finish();
        (ends, totals)
    };
    let (ends, totals) = run(100);
    assert_eq!(ends[0].end, Some(Time::ZERO + Span::from_micros(18_000 + 2 * 80 + 2 * 10)));
    assert_eq!((ends[0].delivered, totals.card_drops, totals.in_flight), (size, 0, 0));
    // One comes every ms and one goes every 2 ms, after those that come: at 5 ms three wait, so at 6 ms the seventh, and
    // for the same reason the ninth, find no room.
    let (ends, totals) = run(3);
    assert_eq!((ends[0].end, totals.card_drops), (None, 2), "{ends:?}");
}

/// Twice 80 Mb/s into 100 Mb/s: 60 of 160 are dropped, nobody repairs, and every flow is reported. Who loses is a matter
/// of phase: frames at a fixed rate find the full queue always, or never.
#[test]
fn excess_is_dropped_and_not_repaired() {
    let net = net(QueueSpec::DropTail { limit: Some(Limit::Packets(10)), mark: None });
    let size = 1000 * u64::from(FRAME - 42);
    let starts = vec![start(&net, 1, (0, 2), Some(size), 0), start(&net, 2, (1, 2), Some(size), 0)];
    let (ends, totals) = run(&net, vec![datagram(80).into()], starts, Span::from_secs(1));
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|end| end.end.is_some() == (end.delivered == size)), "{ends:?}");
    assert!(ends.iter().any(|end| end.end.is_none()), "{ends:?}");
    let delivered: u64 = ends.iter().map(|end| end.delivered).sum();
    assert_eq!(delivered + totals.drops * u64::from(FRAME - 42), 2 * size);
    // the port carries 1,250 frames in the time in which the 2,000 are sent, and the ten that wait
    assert!((735..=765).contains(&totals.drops), "{totals:?}");
}

/// TCP gives way to what does not: of 100 Mb/s datagrams take 60, frames of TCP the rest.
#[test]
fn tcp_gets_the_rest() {
    let net = net(QueueSpec::DropTail { limit: Some(Limit::Packets(50)), mark: None });
    let transports = vec![Transport::from(profile()), datagram(60).into()];
    let starts = vec![start(&net, 1, (0, 2), None, 0), start(&net, 2, (1, 2), None, 1)];
    let (ends, _) = run(&net, transports, starts, Span::from_secs(10));
    let mbps = |end: &FlowEnd| end.delivered as f64 * 8.0 / 10.0 / 1e6;
    let (tcp, datagrams) = (mbps(&ends[0]), mbps(&ends[1]));
    // payload is 958 of 1,000 bytes, less what drops when TCP fills the queue
    assert!((0.93 * 57.5..=57.5).contains(&datagrams), "{datagrams}");
    assert!((30.0..40.0).contains(&tcp), "{tcp}");
}

/// A flow without end is under way when the run ends; samples show its goodput, and a second run goes on.
#[test]
fn an_endless_flow_goes_on() {
    let net = net(ROOM);
    let measure = Measure {
        interval: Span::from_millis(100),
        kinds: vec![SampleKind::Goodput],
        traffics: vec![0],
        ..Measure::default()
    };
    let mut simulation = Simulation::new(net.graph.clone(), vec![datagram(8)], measure, Streams::new(1));
    simulation
        .run(Time::ZERO + Span::from_millis(500), &mut vec![start(&net, 1, (0, 2), None, 0)].into_iter())
        .unwrap();
    simulation.run(Time::ZERO + Span::from_secs(1), &mut std::iter::empty()).unwrap();
    let (ends, samples, totals) = simulation.finish();
    // one frame of 8,000 bits a millisecond, from 0 to 1 s, both included; the last is on its way
    assert_eq!((ends[0].end, ends[0].delivered, totals.in_flight), (None, 1000 * u64::from(FRAME - 42), 1));
    assert_eq!(samples.len(), 10);
    let payload = f64::from(FRAME - 42) * 8.0 * 1000.0;
    assert!(samples.iter().all(|sample| (sample.value - payload).abs() < 0.02 * payload), "{samples:?}");
}

/// What two streams of 80 Mb/s offer to a port of 100 Mb/s is seen in full, dropped or not, with 20 B of preamble and gap
/// to a frame of 1,000 B; the cables before it offer what each carries. Both rates have an interval of their own.
#[test]
fn arrivals_are_what_is_offered_to_a_port() {
    let mut net = Net::default();
    let (a, b, to, switch) = (net.host(), net.host(), net.host(), net.switch());
    let cable = Wire { gap: Bytes::new(20), ..wire(Rate::from_mbps(100), Span::from_micros(10)) };
    let from_a = net.lay(a, switch, cable, cable);
    net.lay(b, switch, cable, cable);
    let narrow = QueueSpec::DropTail { limit: Some(Limit::Packets(10)), mark: None };
    let port = net.lay(switch, to, Wire { queue: narrow, ..cable }, cable);
    let measure = Measure {
        interval: Span::from_millis(10),
        kinds: vec![SampleKind::Queue, SampleKind::Arrivals],
        intervals: vec![(SampleKind::Arrivals, Span::from_millis(1))],
        links: vec![from_a, port],
        ..Measure::default()
    };
    let mut simulation = Simulation::new(net.graph.clone(), vec![datagram(80)], measure, Streams::new(1));
    let starts = vec![start(&net, 1, (0, 2), None, 0), start(&net, 2, (1, 2), None, 0)];
    simulation.run(Time::ZERO + Span::from_millis(100), &mut starts.into_iter()).unwrap();
    let dropped = simulation.port(port).0.dropped.frames;
    assert!(dropped > 500, "the port is overloaded: {dropped}");
    let (_, samples, _) = simulation.finish();
    let of = |kind, link| samples.iter().filter(move |s| s.kind == kind && s.of == SampleOf::Link(link));
    assert_eq!(of(SampleKind::Queue, port).count(), 10);
    let rates = |link| of(SampleKind::Arrivals, link).map(|sample| sample.value).collect::<Vec<_>>();
    // 80 Mb/s of frames are 10 in a millisecond, each of 1,020 B on the wire
    assert_eq!(rates(from_a).len(), 100);
    assert!(rates(from_a)[1..].iter().all(|&rate| rate == 81.6e6), "{:?}", rates(from_a));
    assert!(rates(port)[1..].iter().all(|&rate| rate == 2.0 * 81.6e6), "{:?}", rates(port));
}

/// Places are reused: flows one after the other, and frames of a cut link do not keep them.
#[test]
fn streams_end_when_their_last_frame_is_gone() {
    let net = net(ROOM);
    let starts: Vec<FlowStart> = (0..50)
        .map(|id| FlowStart { time: Time::ZERO + Span::from_millis(10 * id), ..start(&net, id, (0, 2), Some(958), 0) })
        .collect();
    let mut simulation = Simulation::new(net.graph.clone(), vec![datagram(8)], Measure::default(), Streams::new(1));
    let link = net.graph.interfaces(net.graph.hosts().next().unwrap())[0];
    let at = Time::ZERO + Span::from_micros(250_040);
    simulation.set_failures(&[Failure {
        links: vec![link],
        at,
        until: Some(at + Span::from_micros(10)),
        reroute: None,
        carrier: false,
    }]);
    simulation.run(Time::ZERO + Span::from_secs(1), &mut starts.into_iter()).unwrap();
    let (ends, _, totals) = simulation.finish();
    let lost: Vec<u64> = ends.iter().filter(|end| end.end.is_none()).map(|end| end.start.id).collect();
    assert_eq!((ends.len(), lost, totals.down, totals.in_flight), (50, vec![25], 1, 0));
}
