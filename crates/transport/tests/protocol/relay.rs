//! Flows over relays: their times by arithmetic, their windows, back-pressure, the pool, crashes.

use std::sync::Arc;

use headway_engine::Streams;
use headway_fabric::{LinkId, NodeId, Wire};
use headway_transport::{
    Crash, CrashKind, Failure, FlowEnd, FlowStart, Measure, Profile, Relay, RelayCost, RelayOpen, Relayed, Sample,
    SampleKind, SampleOf, Simulation, Totals, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::common::{EMPTY, FULL, MSS, Net, assert_near, limited, lossy, profile, wire};

/// A host and a relay at each of two switches with a long cable between them (figure 5 of the paper), all of 1 Gb/s.
struct Sides {
    net: Net,
    ends: (NodeId, NodeId),
    relays: [NodeId; 2],
    /// The cables of source, relays and destination, and the long one.
    cables: [LinkId; 5],
}

const ACCESS: Span = Span::from_micros(50);
const LONG: Span = Span::from_millis(14);

fn gigabit(delay: Span) -> Wire {
    wire(Rate::from_gbps(1), delay)
}

fn sides(access: [Wire; 2], long: Wire) -> Sides {
    let mut net = Net::default();
    let ends = (net.host(), net.host());
    let relays = [net.host(), net.host()];
    let switches = [net.switch(), net.switch()];
    let stick = Wire { delay: Span::ZERO, ..gigabit(Span::ZERO) };
    let cables = [
        net.cable(ends.0, switches[0], access[0]),
        net.cable(relays[0], switches[0], stick),
        net.cable(switches[0], switches[1], long),
        net.cable(relays[1], switches[1], stick),
        net.cable(switches[1], ends.1, access[1]),
    ];
    Sides { net, ends, relays, cables }
}

fn plain() -> Sides {
    sides([gigabit(ACCESS); 2], gigabit(LONG))
}

fn relay(hosts: &[NodeId]) -> Relay {
    Relay {
        hosts: hosts.to_vec(),
        access: profile(),
        long: profile(),
        buffer: Bytes::from_kb(8_000),
        open: RelayOpen::EndToEnd,
        warm: 0,
        cost: RelayCost::default(),
    }
}

fn flow(id: u64, at: Span, (source, destination): (NodeId, NodeId), size: Option<u64>) -> FlowStart {
    let (time, size) = (Time::ZERO + at, size.map(Bytes::new));
    FlowStart { time, id, traffic: 0, source, destination, size, deadline: None, profile: 0 }
}

/// A run of flows over relays.
struct Run {
    ends: Vec<FlowEnd>,
    samples: Vec<Sample>,
    totals: Totals,
}

impl Run {
    fn fct(&self, id: usize) -> Span {
        self.ends[id].end.unwrap_or_else(|| panic!("flow {id} ended: {:?}", self.ends[id])) - self.ends[id].start.time
    }
}

fn run(sides: &Sides, hosts: Profile, relay: Relay, flows: &[FlowStart], span: Span) -> Run {
    run_with(sides, hosts, relay, flows, span, |_| {})
}

fn run_with(
    sides: &Sides,
    hosts: Profile,
    relay: Relay,
    flows: &[FlowStart],
    span: Span,
    set: impl FnOnce(&mut Simulation),
) -> Run {
    let kinds = vec![SampleKind::Goodput, SampleKind::Cwnd, SampleKind::Rtt];
    let measure = Measure { interval: Span::from_millis(100), kinds, traffics: vec![0], links: Vec::new() };
    let relayed = Transport::from(Relayed { hosts, relay: Arc::new(relay) });
    let mut simulation = Simulation::new(sides.net.graph.clone(), vec![relayed], measure, Streams::new(1));
    set(&mut simulation);
    simulation.run(Time::ZERO + span, &mut flows.iter().copied()).expect("all are connected");
    let (ends, samples, totals) = simulation.finish();
    Run { ends, samples, totals }
}

/// 8 ns a byte at 1 Gb/s.
fn bytes(n: u64) -> Span {
    Span::from_nanos(8 * n)
}

const SECOND: Span = Span::from_secs(1);

// ---- times -------------------------------------------------------------------------------------------------------

/// SYN goes over 2 + 3 + 2 cables before anybody answers, and SYN-ACK back; then the third part of the handshake and
/// behind it the data, which a relay forwards when the whole segment is there. A relay has one cable: before it answers
/// SYN it sends the third part of its own handshake, and before it forwards a segment it acknowledges it.
#[test]
fn a_handshake_from_end_to_end_takes_its_round_trip() {
    let sides = plain();
    let way = ACCESS * 2 + LONG;
    let out =
        run(&sides, profile(), relay(&sides.relays), &[flow(0, Span::ZERO, sides.ends, Some(MSS.into()))], SECOND);
    let expected = way * 3 + bytes(2 * 7 * EMPTY + EMPTY + 7 * FULL + 2 * 2 * EMPTY);
    assert_eq!(out.fct(0), expected);
    assert_eq!((out.ends[0].delivered, out.ends[0].subflows, out.ends[0].resets), (MSS.into(), 3, 0));
    // on the idle network without relays: a segment over three cables
    assert_eq!(out.ends[0].ideal, Some(way + bytes(3 * FULL)));
}

/// A relay that accepts at once connects when its own handshake is over; the data is there by then and follows the third
/// part of the next handshake.
#[test]
fn relays_that_accept_at_once_connect_one_after_the_other() {
    let sides = plain();
    let own = Relay { open: RelayOpen::AtOnce, ..relay(&sides.relays) };
    let out = run(&sides, profile(), own, &[flow(0, Span::ZERO, sides.ends, Some(MSS.into()))], SECOND);
    let first = (ACCESS + bytes(2 * EMPTY)) * 3;
    let second = (LONG + bytes(3 * EMPTY)) * 3;
    let third = (ACCESS + bytes(2 * EMPTY)) * 2 + ACCESS + bytes(EMPTY + 2 * FULL);
    assert_eq!(out.fct(0), first + second + third);
}

/// One relay, near the source: two segments of 2 and 3 cables.
#[test]
fn one_relay_makes_two_segments() {
    let sides = plain();
    let start = [flow(0, Span::ZERO, sides.ends, Some(MSS.into()))];
    let out = run(&sides, profile(), relay(&sides.relays[..1]), &start, SECOND);
    let way = ACCESS * 2 + LONG;
    assert_eq!(out.fct(0), way * 3 + bytes(2 * 5 * EMPTY + EMPTY + 5 * FULL + 2 * EMPTY));
    assert_eq!(out.ends[0].subflows, 2);
    let own = Relay { open: RelayOpen::AtOnce, ..relay(&sides.relays[..1]) };
    let out = run(&sides, profile(), own, &start, SECOND);
    let first = (ACCESS + bytes(2 * EMPTY)) * 3;
    let second = (ACCESS + LONG + bytes(3 * EMPTY)) * 2 + ACCESS + LONG + bytes(EMPTY + 3 * FULL);
    assert_eq!(out.fct(0), first + second);
}

/// The order is that of distance from the source, whatever the order in the settings, and for both directions.
#[test]
fn relays_are_passed_in_order_of_distance() {
    let sides = plain();
    let (one, other) = sides.ends;
    let flows =
        [flow(0, Span::ZERO, (one, other), Some(MSS.into())), flow(1, Span::ZERO, (other, one), Some(MSS.into()))];
    let reversed = [sides.relays[1], sides.relays[0]];
    let out = run(&sides, profile(), relay(&reversed), &flows, SECOND);
    let expected = (ACCESS * 2 + LONG) * 3 + bytes(2 * 7 * EMPTY + EMPTY + 7 * FULL + 2 * 2 * EMPTY);
    assert_eq!((out.fct(0), out.fct(1)), (expected, expected));
}

/// A flow without a byte ends when its closing is heard of.
#[test]
fn an_empty_flow_ends() {
    let sides = plain();
    for open in [RelayOpen::EndToEnd, RelayOpen::AtOnce] {
        for warm in [0, 1] {
            let own = Relay { open, warm, ..relay(&sides.relays) };
            let out = run(&sides, profile(), own, &[flow(0, SECOND, sides.ends, Some(0))], SECOND * 2);
            assert!(out.ends[0].end.is_some(), "{open:?} {warm}");
            assert_eq!(out.totals.in_flight, 0);
        }
    }
}

// ---- windows -----------------------------------------------------------------------------------------------------

/// The paper's tables 5 and 6: a window of 64 KB over 28.6 ms gives 18.3 Mb/s; with relays only the access segment has
/// that window, and 1.2 ms there.
#[test]
fn a_small_window_limits_only_the_segment_that_has_it() {
    let sides = plain();
    let window = Bytes::new(65_535);
    let hosts = Profile { receive_window: window, send_buffer: Some(window), ..profile() };
    let measure = Measure {
        interval: Span::from_secs(1),
        kinds: vec![SampleKind::Goodput],
        traffics: vec![0],
        links: Vec::new(),
    };
    let mut simulation = Simulation::new(sides.net.graph.clone(), vec![hosts.clone()], measure, Streams::new(1));
    simulation.run(Time::ZERO + SECOND * 4, &mut [flow(0, Span::ZERO, sides.ends, None)].into_iter()).unwrap();
    let alone = simulation.finish().1.last().expect("sampled").value;
    // 44 whole segments in 28.2 ms and the transmissions of a segment and an acknowledgement over three cables
    let round = 2.0 * (ACCESS * 2 + LONG).as_secs_f64() + bytes(3 * (FULL + EMPTY)).as_secs_f64();
    // a second has 35 rounds or 36
    assert_near("without", alone, 44.0 * f64::from(MSS) * 8.0 / round, 0.03);
    let out = run(&sides, hosts, relay(&sides.relays), &[flow(0, Span::ZERO, sides.ends, None)], SECOND * 4);
    let goodput = out.samples.iter().rev().find(|s| s.kind == SampleKind::Goodput).unwrap().value;
    // the access segment: 100 µs and the cables' transmissions, so 64 KB are more than it holds; a relay's one cable takes
    // a segment and the acknowledgement of one
    assert_near("with", goodput, 1e9 * 8.0 * f64::from(MSS) / (8 * (FULL + EMPTY)) as f64, 0.01);
}

/// Samples: goodput of the last segment under the flow's name, window and round trip of each segment.
#[test]
fn segments_are_sampled_as_subflows() {
    let sides = plain();
    // windows that fill no queue
    let hosts = Profile { receive_window: Bytes::new(50_000), ..profile() };
    let own = Relay { access: hosts.clone(), buffer: Bytes::new(30_000), ..relay(&sides.relays) };
    let out = run(&sides, hosts, own, &[flow(0, Span::ZERO, sides.ends, None)], SECOND);
    let rtt = |nth| {
        let own = |s: &&Sample| s.kind == SampleKind::Rtt && s.of == SampleOf::Subflow(0, 0, nth);
        out.samples.iter().filter(own).map(|s| s.value).fold(f64::MAX, f64::min)
    };
    assert!((100e-6..1e-3).contains(&rtt(0)), "{}", rtt(0));
    assert!((28e-3..29e-3).contains(&rtt(1)), "{}", rtt(1));
    assert!((100e-6..1e-3).contains(&rtt(2)), "{}", rtt(2));
}

/// Back-pressure: with a last cable of 10 Mb/s the source writes what the buffers and windows between take, and no more.
#[test]
fn a_slow_last_segment_stops_the_source() {
    let slow = wire(Rate::from_mbps(10), ACCESS);
    let sides = sides([gigabit(ACCESS), slow], gigabit(LONG));
    let (buffer, window) = (300_000, 200_000);
    let own = Profile { receive_window: Bytes::new(window), ..profile() };
    let hosts = Profile { receive_window: Bytes::new(window), send_buffer: Some(Bytes::new(100_000)), ..profile() };
    let relay = Relay { access: own.clone(), long: own, buffer: Bytes::new(buffer), ..relay(&sides.relays) };
    let out = run(&sides, hosts.clone(), relay.clone(), &[flow(0, Span::ZERO, sides.ends, None)], SECOND * 10);
    let rate = 1e7 * f64::from(MSS) / FULL as f64;
    assert_near("goodput", out.ends[0].delivered as f64 * 8.0 / 10.0, rate, 0.02);
    assert_eq!(out.ends[0].retransmissions, 0, "a closed window is no loss");
    // what has left the source: delivered, and two relays' buffers and windows, and the destination's
    let mut simulation = Simulation::new(
        sides.net.graph.clone(),
        vec![Transport::from(Relayed { hosts, relay: Arc::new(relay) })],
        Measure::default(),
        Streams::new(1),
    );
    simulation.run(Time::ZERO + SECOND * 10, &mut [flow(0, Span::ZERO, sides.ends, None)].into_iter()).unwrap();
    let frames = simulation.port(sides.cables[0]).0.delivered.frames;
    let sent = frames * u64::from(MSS);
    let held = sent - out.ends[0].delivered;
    assert!(held <= 2 * (buffer + window) + window, "{held} bytes are held");
    assert!(held >= 2 * buffer, "{held} bytes are held");
}
