//! Flows over relays: their times by arithmetic, their windows, back-pressure, the pool, crashes.

use std::sync::Arc;

use headway_control::pacing::Burst;
use headway_engine::Streams;
use headway_fabric::{Limit, LinkId, NodeId, Wire};
use headway_transport::{
    CardClass, CardModel, Costs, Crash, CrashKind, Failure, FlowEnd, FlowRate, FlowStart, HostModel, Measure, Profile,
    Relay, RelayCost, RelayOpen, Relayed, Release, Sample, SampleKind, SampleOf, Simulation, Stack, Totals, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::samples::sampled;
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
    let measure =
        Measure { interval: Span::from_millis(100), kinds, traffics: vec![0], links: Vec::new(), ..Measure::default() };
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

/// Two cables at each host: segments take the pair that is asked for, whichever of the chain they are. Relays have the same
/// addresses on both sides, so only their first segment would have it if the others counted as copies.
#[test]
fn every_segment_takes_the_wanted_interfaces() {
    let mut net = Net::default();
    let ends = (net.host(), net.host());
    let relays = [net.host(), net.host()];
    let switches = [net.switch(), net.switch()];
    let places = [(ends.0, switches[0]), (relays[0], switches[0]), (relays[1], switches[1]), (ends.1, switches[1])];
    let cables = places.map(|(host, switch)| [0; 2].map(|_| net.cable(host, switch, gigabit(ACCESS))));
    net.cable(switches[0], switches[1], gigabit(LONG));
    for wanted in [0, 1] {
        for warm in [0, 1] {
            let own = Profile { interface: Some(wanted), ..profile() };
            let relay = Relay { access: own.clone(), long: own.clone(), warm, ..relay(&relays) };
            let relayed = Transport::from(Relayed { hosts: own, relay: Arc::new(relay) });
            let mut simulation = Simulation::new(net.graph.clone(), vec![relayed], Measure::default(), Streams::new(1));
            let mut starts = (0..8).map(|id| flow(id, SECOND, ends, Some(100_000)));
            simulation.run(Time::ZERO + SECOND * 3, &mut starts).expect("all are connected");
            for cables in cables {
                let used =
                    cables.map(|link| [link, link.reverse()].map(|one| simulation.port(one).0.delivered.frames > 0));
                assert_eq!(used, [0, 1].map(|at| [at == wanted; 2]), "{wanted} {warm} {cables:?}");
            }
        }
    }
}

/// The series of goodput is the destination's, to the byte, also of flows that are shorter than an interval.
#[test]
fn goodput_adds_up_to_what_the_destination_has() {
    let sides = plain();
    let flows = [(0, 700), (1, 2_000_003), (2, 31_001), (3, 40_000_001)]
        .map(|(id, size)| flow(id, Span::from_micros(id * 37_011), sides.ends, Some(size)));
    let out = run(&sides, profile(), relay(&sides.relays), &flows, SECOND * 4);
    for end in &out.ends {
        assert!(end.end.is_some(), "{end:?}");
        assert_eq!(sampled(&out.samples, end, Span::from_millis(100)), end.delivered, "{end:?}");
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
        ..Measure::default()
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

/// Linux' window grows on every segment, whoever sends into it, in bursts or one by one. The long link has 10 Gb/s, so that the
/// four segments of the first window of Linux 2.6 come at once. With a growth of 1.5 a round trip (every second segment
/// is acknowledged) 20 MB are slow start's sum after 20 of them of 28 ms: less than 0.6 s. A window that does not grow takes 95 s.
#[test]
fn a_growing_window_grows_between_relays() {
    let sides = sides([gigabit(ACCESS); 2], wire(Rate::from_gbps(10), LONG));
    let of = |stack: Stack| Profile { control: profile().control, mss: MSS, ..stack.profile() };
    let stacks = [Stack::Rfc, Stack::Linux26, Stack::Linux];
    for (hosts, relays) in stacks.into_iter().flat_map(|one| stacks.map(|other| (one, other))) {
        let own = Relay { access: of(relays), long: of(relays), ..relay(&sides.relays) };
        let flows = [flow(0, Span::ZERO, sides.ends, Some(20_000_000))];
        let took = run(&sides, of(hosts), own, &flows, SECOND * 100).fct(0);
        assert!(took < Span::from_millis(600), "{hosts:?} over {relays:?}: {took:?}");
    }
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

// ---- work --------------------------------------------------------------------------------------------------------

/// A processor that takes 16 ns a byte forwards 500 Mb/s, however fast the cables are; two flows share it alike.
#[test]
fn the_processor_of_a_relay_limits_what_it_forwards() {
    let sides = plain();
    let hosts = Profile { receive_window: Bytes::from_kb(300), send_buffer: Some(Bytes::from_kb(300)), ..profile() };
    let cost = RelayCost { byte: Span::from_nanos(16), connection: Span::ZERO };
    let own = Relay { cost, access: hosts.clone(), ..relay(&sides.relays) };
    let flows = [flow(0, Span::ZERO, sides.ends, None), flow(1, Span::ZERO, sides.ends, None)];
    let out = run(&sides, hosts, own, &flows, SECOND * 3);
    let delivered = [0, 1].map(|id: usize| out.ends[id].delivered as f64 * 8.0);
    // the start aside: 1.4 s of window growth on the long segment would be much
    assert_near("rate", (delivered[0] + delivered[1]) / 3.0, 500e6, 0.1);
    assert!((delivered[0] + delivered[1]) / 3.0 <= 500e6);
    assert_near("shares", delivered[0], delivered[1], 0.1);
}

/// Taking a connection in takes its time at each relay, once.
#[test]
fn taking_a_connection_in_takes_time() {
    let sides = plain();
    let start = [flow(0, Span::ZERO, sides.ends, Some(MSS.into()))];
    let cost = RelayCost { byte: Span::ZERO, connection: Span::from_micros(300) };
    for open in [RelayOpen::EndToEnd, RelayOpen::AtOnce] {
        let free = run(&sides, profile(), Relay { open, ..relay(&sides.relays) }, &start, SECOND);
        let own = run(&sides, profile(), Relay { open, cost, ..relay(&sides.relays) }, &start, SECOND);
        assert_eq!(own.fct(0) - free.fct(0), Span::from_micros(600), "{open:?}");
    }
    let cost = RelayCost { byte: Span::from_nanos(10), connection: Span::ZERO };
    let free = run(&sides, profile(), relay(&sides.relays), &start, SECOND);
    let own = run(&sides, profile(), Relay { cost, ..relay(&sides.relays) }, &start, SECOND);
    // 14.6 µs at each; acknowledgements that were before the segment are gone by then
    let more = own.fct(0) - free.fct(0);
    assert_eq!(more, Span::from_nanos(2 * 14_600) - bytes(2 * EMPTY));
}

// ---- the pool ----------------------------------------------------------------------------------------------------

/// With a warm connection relays that accept at once need no round trip of the long link before data: the record that says
/// where to go (32 bytes) leaves when the first handshake is over, then the data; the last handshake is made meanwhile.
#[test]
fn a_warm_connection_saves_the_long_handshake() {
    let sides = plain();
    let start = [flow(0, SECOND, sides.ends, Some(MSS.into()))];
    let own = Relay { open: RelayOpen::AtOnce, warm: 1, ..relay(&sides.relays) };
    let out = run(&sides, profile(), own, &start, SECOND * 2);
    let record = 32 + u64::from(crate::common::OVERHEAD) + crate::common::GAP;
    let first = (ACCESS + bytes(2 * EMPTY)) * 3;
    let second = LONG + bytes(3 * record);
    let third = (ACCESS + bytes(2 * EMPTY)) * 2 + ACCESS + bytes(EMPTY + 2 * FULL);
    // the relay acknowledges the record before it sends SYN, and the segment is there before the handshake is over
    let least = first + second + third;
    assert!(out.fct(0) >= least && out.fct(0) <= least + bytes(3 * EMPTY), "{} {least}", out.fct(0));
    assert_eq!((out.ends[0].subflows, out.ends.len()), (3, 1), "the pool's own connections are no flows");
}

/// Warm connections are of no traffic: a class of the traffic with number 0 does not hold them back, not even before a flow
/// of traffic 1 takes one.
#[test]
fn a_warm_connection_is_in_no_class_of_a_card() {
    let sides = plain();
    let start = [FlowStart { traffic: 1, ..flow(0, SECOND, sides.ends, Some(1_000_000)) }];
    let time = |of: u16| {
        let slow = Some(FlowRate::Static(Rate::from_mbps(1)));
        let card = CardModel {
            release: Release::Gap,
            rate: FlowRate::Unpaced,
            burst: Burst::Packets(1),
            limit: None,
            classes: vec![CardClass { traffics: vec![of], limit: None, share: 1, rate: slow }],
            queue: 10_000,
            mtu: 1500,
        };
        let own = Relay { open: RelayOpen::AtOnce, warm: 1, ..relay(&sides.relays) };
        let set = |simulation: &mut Simulation| simulation.pace_host(sides.relays[0], &card);
        run_with(&sides, profile(), own, &start, SECOND * 20, set).fct(0)
    };
    assert_eq!(time(0), time(7), "traffic 7 is not there");
}

/// From end to end the destination is asked all the same, by records: one round trip.
#[test]
fn a_warm_connection_from_end_to_end_takes_the_round_trip() {
    let sides = plain();
    let start = [flow(0, SECOND, sides.ends, Some(MSS.into()))];
    let cold = run(&sides, profile(), relay(&sides.relays), &start, SECOND * 2);
    let out = run(&sides, profile(), Relay { warm: 1, ..relay(&sides.relays) }, &start, SECOND * 2);
    let more = out.fct(0).as_secs_f64() - cold.fct(0).as_secs_f64();
    // records are a little longer than SYN, and acknowledged
    assert!(more.abs() < 10e-6, "{more} s");
}

/// A connection that was used has a grown window: the second flow, of 500 KB, takes half a round trip where one of its own takes
/// slow start; where idle windows decay it begins anew.
#[test]
fn a_warm_connection_starts_with_its_grown_window() {
    use headway_transport::IdleRestart;
    let sides = plain();
    let starts =
        |gap: Span| [flow(0, SECOND, sides.ends, Some(1_000_000)), flow(1, SECOND + gap, sides.ends, Some(500_000))];
    let own = |warm, idle_restart| Relay {
        open: RelayOpen::AtOnce,
        warm,
        long: Profile { idle_restart, ..profile() },
        ..relay(&sides.relays)
    };
    let gap = SECOND * 10;
    let cold = run(&sides, profile(), own(0, IdleRestart::Keep), &starts(gap), SECOND * 20);
    let warm = run(&sides, profile(), own(1, IdleRestart::Keep), &starts(gap), SECOND * 20);
    let decayed = run(&sides, profile(), own(1, IdleRestart::Decay), &starts(gap), SECOND * 20);
    // a round trip of the handshake, those of 10, 20, … 160 segments, and half a one for the other 33
    let round = LONG.as_secs_f64() * 2.0;
    assert_near("cold", cold.fct(1).as_secs_f64(), round * (1.0 + 5.0 + 0.5) + 0.001, 0.01);
    assert_near("warm", warm.fct(1).as_secs_f64(), round * 0.5 + 0.0045, 0.05);
    assert!(decayed.fct(1) > warm.fct(1) * 3 && decayed.fct(1) < cold.fct(1), "{}", decayed.fct(1));
    assert_eq!(warm.fct(0) + Span::ZERO, decayed.fct(0), "the first flow finds them alike");
}

/// A pool that is empty opens a further connection, which stays: ten flows at once, and ten later ones that find all ten.
#[test]
fn a_pool_grows_with_what_is_needed() {
    let sides = plain();
    let starts: Vec<FlowStart> =
        (0..20).map(|id| flow(id, SECOND * (1 + 2 * (id / 10)), sides.ends, Some(100_000))).collect();
    for open in [RelayOpen::AtOnce, RelayOpen::EndToEnd] {
        let own = Relay { open, warm: 2, ..relay(&sides.relays) };
        let out = run(&sides, profile(), own, &starts, SECOND * 10);
        let ended = |from: usize| {
            let last = out.ends[from..from + 10].iter().map(|own| own.end.expect("it ended")).max().unwrap();
            last.since(out.ends[from].start.time)
        };
        assert!(ended(10) + LONG < ended(0), "{open:?}: {} {}", ended(10), ended(0));
        assert_eq!(out.totals.in_flight, 0);
    }
}

/// Send buffers that take less than the record before the data, which is 32 bytes: the rest follows when there is room.
/// Loss makes that happen with larger ones: what the last session wrote may be read and not acknowledged.
#[test]
fn a_record_that_finds_no_room_waits_for_it() {
    let sides = plain();
    for open in [RelayOpen::AtOnce, RelayOpen::EndToEnd] {
        for size in [0, 200] {
            let own = Relay { open, warm: 1, buffer: Bytes::new(20), ..relay(&sides.relays) };
            let starts = [0, 1].map(|id| flow(id, SECOND * (1 + 5 * id), sides.ends, Some(size)));
            let out = run(&sides, profile(), own, &starts, SECOND * 20);
            for end in &out.ends {
                assert!(end.end.is_some() && end.delivered == size, "{open:?} {size}: {end:?}");
            }
            assert_eq!(out.totals.in_flight, 0);
        }
    }
}

// ---- crashes -----------------------------------------------------------------------------------------------------

/// Flows of one segment that start at these times, in milliseconds, while relay number `which` is down from 500 ms to
/// 1500 ms.
fn crashing(kind: CrashKind, which: usize, open: RelayOpen, at: &[u64], size: u64) -> Run {
    let sides = plain();
    let starts: Vec<FlowStart> =
        at.iter().enumerate().map(|(id, &at)| flow(id as u64, Span::from_millis(at), sides.ends, Some(size))).collect();
    let (at, until) = (Time::ZERO + Span::from_millis(500), Time::ZERO + Span::from_millis(1500));
    let own = Relay { open, ..relay(&sides.relays) };
    run_with(&sides, profile(), own, &starts, SECOND * 30, |simulation| {
        let link = sides.cables[if which == 0 { 1 } else { 3 }];
        let links = vec![link, link.reverse()];
        if kind == CrashKind::Host {
            simulation.set_failures(&[Failure { links, at, until: Some(until), reroute: None, carrier: true }]);
        }
        simulation.set_crashes(&[Crash { host: sides.relays[which], kind, at, until: Some(until) }]);
    })
}

/// The kernel of a process that crashes resets its connections: a flow under way ends at once, one that begins meanwhile is
/// refused, one that begins afterwards passes.
#[test]
fn a_process_that_crashes_resets_and_refuses() {
    for which in [0, 1] {
        for open in [RelayOpen::EndToEnd, RelayOpen::AtOnce] {
            let out = crashing(CrashKind::Process, which, open, &[450, 1000, 1600], 5_000_000);
            let [running, refused, later] = [0, 1, 2].map(|id: usize| &out.ends[id]);
            assert!(running.end.is_none() && running.resets >= 1 && running.delivered > 0, "{running:?}");
            assert!(refused.end.is_none() && refused.resets >= 1 && refused.delivered == 0, "{refused:?}");
            assert!(later.end.is_some() && later.resets == 0, "{later:?}");
            assert_eq!(out.totals.in_flight, 0, "nobody goes on sending");
            assert_eq!(refused.timeouts, 0, "a reset is an answer");
        }
    }
}

/// A host that crashes is silent: a flow under way repeats its data until the host is back and resets it.
#[test]
fn a_host_that_crashes_is_silent_and_then_resets() {
    for open in [RelayOpen::EndToEnd, RelayOpen::AtOnce] {
        let out = crashing(CrashKind::Host, 0, open, &[450], 50_000_000);
        let end = &out.ends[0];
        assert!(end.end.is_none() && end.resets >= 1 && end.delivered > 0, "{end:?}");
        // the source's smallest time-out of 200 ms, doubled: after 0.2, 0.6 s, and 1.4 s, when the host is back
        assert!((3..=4).contains(&end.timeouts), "{end:?}");
    }
}

/// RFC 6298 §5.7: a SYN that meets silence at 1 s is repeated after a second, when the host is back; nothing else differs.
#[test]
fn a_connection_to_a_crashed_host_waits_for_its_next_syn() {
    for which in [0, 1] {
        for open in [RelayOpen::EndToEnd, RelayOpen::AtOnce] {
            let size = u64::from(MSS);
            let out = crashing(CrashKind::Host, which, open, &[0, 1000], size);
            assert_eq!(out.fct(1) - out.fct(0), SECOND, "{which} {open:?}");
            assert_eq!(out.totals.in_flight, 0);
        }
    }
}

/// From end to end the first relay waits for the destination's answer when it crashes; to its next self the source's next
/// SYN is the first. What the second relay had opened for the former one is reset.
#[test]
fn a_host_that_crashes_before_it_has_answered_begins_anew() {
    let out = crashing(CrashKind::Host, 0, RelayOpen::EndToEnd, &[0, 490], u64::from(MSS));
    // SYN leaves at 0.49 s and again at 1.49 s, when the host is not back, and at 3.49 s
    assert_eq!(out.fct(1) - out.fct(0), SECOND * 3);
    assert_eq!((out.ends[1].delivered, out.totals.in_flight), (u64::from(MSS), 0));
}

/// The times that these flows take while one relay crashes at `at` for `lasts`.
fn crashing_at(
    (which, kind): (usize, CrashKind),
    (at, lasts): (Span, Span),
    own: &dyn Fn(&Sides) -> Relay,
    starts: &dyn Fn(&Sides) -> Vec<FlowStart>,
) -> Run {
    let sides = plain();
    let (at, until) = (Time::ZERO + at, Time::ZERO + at + lasts);
    run_with(&sides, profile(), own(&sides), &starts(&sides), SECOND * 10, |simulation| {
        let link = sides.cables[if which == 0 { 1 } else { 3 }];
        if kind == CrashKind::Host {
            let links = vec![link, link.reverse()];
            simulation.set_failures(&[Failure { links, at, until: Some(until), reroute: None, carrier: true }]);
        }
        simulation.set_crashes(&[Crash { host: sides.relays[which], kind, at, until: Some(until) }]);
    })
}

/// A process that crashes and is back while SYN is on its way never hears of the connection before: nothing is reset, and
/// nobody waits. The same with SYNs of the pool, which leave at once and are 14 ms on their way.
#[test]
fn a_process_that_is_back_before_syn_comes_is_not_missed() {
    let millis = Span::from_millis;
    // near: SYN is 50 µs on its way; far: 14 ms, behind the first handshake of at most 0.2 ms
    let cases = [
        (0, 0, millis(500) - Span::from_micros(20), millis(500), Span::from_micros(10)),
        (1, 0, millis(500), millis(505), millis(1)),
        (1, 1, Span::ZERO, millis(5), millis(1)),
    ];
    for open in [RelayOpen::EndToEnd, RelayOpen::AtOnce] {
        for (which, warm, start, at, lasts) in cases {
            let own = |sides: &Sides| Relay { open, warm, ..relay(&sides.relays) };
            let starts = |sides: &Sides| {
                let size = Some(u64::from(MSS));
                vec![flow(0, start, sides.ends, size), flow(1, SECOND, sides.ends, size)]
            };
            let out = crashing_at((which, CrashKind::Process), (at, lasts), &own, &starts);
            let sides = plain();
            let free = run(&sides, profile(), own(&sides), &starts(&sides), SECOND * 10);
            for id in [0, 1] {
                assert_eq!(out.ends[id].resets, 0, "{open:?} {which} {warm}: {:?}", out.ends[id]);
                assert_eq!(out.fct(id), free.fct(id), "{open:?} {which} {warm}");
            }
        }
    }
}

/// A relay crashes in the instant in which SYN-ACK of a connection of its pool arrives, before its process hears of it. No
/// flow gets that connection: two that begin when the relay is back open others.
#[test]
fn a_connection_that_is_lost_as_it_opens_is_given_to_nobody() {
    let at = (LONG + bytes(3 * EMPTY)) * 2;
    for kind in [CrashKind::Process, CrashKind::Host] {
        let own = |sides: &Sides| Relay { warm: 1, ..relay(&sides.relays) };
        // the relay is back at 29 ms; the other end hears of its loss by a reset, at 42 ms, or not at all
        let start = Span::from_millis(35);
        let starts = |sides: &Sides| [0, 1].map(|id| flow(id, start, sides.ends, Some(MSS.into()))).to_vec();
        let out = crashing_at((0, kind), (at, Span::from_millis(1)), &own, &starts);
        for end in &out.ends {
            assert!(end.end.is_some() && end.resets == 0, "{kind:?}: {end:?}");
        }
    }
}

// ---- everything together -----------------------------------------------------------------------------------------

/// Flows over relays with loss on all cables.
#[derive(Debug, Clone)]
struct Case {
    losses: [f64; 3],
    queue: u32,
    buffer: u64,
    flows: Vec<(u64, u64, bool)>,
    open: RelayOpen,
    warm: u32,
    relays: usize,
    linux: [bool; 3],
    cost: bool,
    window: u64,
    modelled: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let loss = prop_oneof![Just(0.0), Just(0.001), Just(0.02), Just(0.1)];
    let flows = prop::collection::vec((0u64..300_000, 0u64..2_000, any::<bool>()), 1..12);
    let open = prop_oneof![Just(RelayOpen::EndToEnd), Just(RelayOpen::AtOnce)];
    (
        (prop::array::uniform3(loss), 5u32..200, 16_000u64..500_000, flows),
        (
            open,
            0u32..4,
            1usize..=2,
            prop::array::uniform3(any::<bool>()),
            any::<bool>(),
            4_000u64..300_000,
            any::<bool>(),
        ),
    )
        .prop_map(|((losses, queue, buffer, flows), (open, warm, relays, linux, cost, window, modelled))| Case {
            losses,
            queue,
            buffer,
            flows,
            open,
            warm,
            relays,
            linux,
            cost,
            window,
            modelled,
        })
}

impl Case {
    fn sides(&self) -> Sides {
        let queue = Limit::Packets(self.queue);
        let access = [0, 2].map(|i| limited(lossy(wire(Rate::from_mbps(100), ACCESS), self.losses[i]), queue));
        let long = limited(lossy(wire(Rate::from_mbps(200), Span::from_millis(3)), self.losses[1]), queue);
        sides(access, long)
    }

    /// Cards and cores of the relays take time, if they do.
    fn set_models(&self, sides: &Sides, simulation: &mut Simulation) {
        let costs = Costs { packet: Span::from_nanos(500), ..Costs::default() };
        let model =
            HostModel { coalesce_time: Span::from_micros(20), coalesce_frames: 8, costs, ..HostModel::default() };
        for &relay in sides.relays.iter().filter(|_| self.modelled) {
            simulation.model_host(relay, model);
        }
    }

    fn profile(&self, linux: bool) -> Profile {
        let base = if linux { Profile::linux() } else { profile() };
        let window = Bytes::new(self.window);
        Profile { receive_window: window, autotuning: base.autotuning.map(|first| first.min(window)), ..base }
    }

    fn relay(&self, sides: &Sides) -> Relay {
        let byte = if self.cost { Span::from_nanos(20) } else { Span::ZERO };
        Relay {
            hosts: sides.relays[..self.relays].to_vec(),
            access: self.profile(self.linux[1]),
            long: self.profile(self.linux[2]),
            buffer: Bytes::new(self.buffer),
            open: self.open,
            warm: self.warm,
            cost: RelayCost { byte, connection: byte * 1000 },
        }
    }

    fn starts(&self, sides: &Sides) -> Vec<FlowStart> {
        let (one, other) = sides.ends;
        let mut starts: Vec<FlowStart> = self
            .flows
            .iter()
            .enumerate()
            .map(|(id, &(size, at, back))| {
                let ends = if back { (other, one) } else { (one, other) };
                flow(id as u64, Span::from_millis(at), ends, Some(size))
            })
            .collect();
        starts.sort_by_key(|start| (start.time, start.id));
        starts
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Every byte arrives, every flow ends, every place is reused, nothing is left on the way: whatever is lost, however
    /// small buffers and windows are. And twice the same run is the same.
    #[test]
    fn everything_arrives_over_relays(case in case()) {
        let sides = case.sides();
        let starts = case.starts(&sides);
        let go = || run_with(
            &sides, case.profile(case.linux[0]), case.relay(&sides), &starts, SECOND * 600,
            |simulation| case.set_models(&sides, simulation),
        );
        let out = go();
        for end in &out.ends {
            prop_assert!(end.end.is_some(), "{end:?}");
            prop_assert_eq!(Some(end.delivered), end.start.size.map(Bytes::get));
            prop_assert_eq!(end.resets, 0);
        }
        prop_assert_eq!(out.totals.in_flight, 0);
        prop_assert_eq!(out.totals.digest, go().totals.digest);
    }

    /// Whatever crashes and when, once or twice: bytes and frames are conserved, no flow is delivered twice or more than its
    /// size, those that end are whole, later flows pass when the relays are back, and then nobody goes on sending.
    #[test]
    fn crashes_leave_nothing_behind(
        case in case(),
        crashes in prop::collection::vec(
            (any::<bool>(), any::<bool>(), 1u64..3_000_000, prop::option::weighted(0.9, 1u64..2_000_000)), 1..=2,
        ),
    ) {
        let sides = case.sides();
        let mut starts = case.starts(&sides);
        let later = starts.len() as u64;
        let (one, other) = sides.ends;
        starts.push(flow(later, SECOND * 200, (one, other), Some(50_000)));
        starts.push(flow(later + 1, SECOND * 200, (other, one), Some(50_000)));
        let crash = |&(first, process, at, lasts): &(bool, bool, u64, Option<u64>)| {
            let which = usize::from(!first && case.relays > 1);
            let kind = if process { CrashKind::Process } else { CrashKind::Host };
            let time = |micros| Time::ZERO + Span::from_micros(micros);
            let until = lasts.map(|lasts| time(at + lasts));
            (which, Crash { host: sides.relays[which], kind, at: time(at), until })
        };
        let crashes: Vec<(usize, Crash)> = crashes.iter().map(crash).collect();
        let back = crashes.iter().all(|(_, crash)| crash.until.is_some());
        let out = run_with(&sides, case.profile(case.linux[0]), case.relay(&sides), &starts, SECOND * 900, |simulation| {
            case.set_models(&sides, simulation);
            let hosts = crashes.iter().filter(|(_, crash)| crash.kind == CrashKind::Host);
            let failure = |&(which, Crash { at, until, .. }): &(usize, Crash)| {
                let link = sides.cables[if which == 0 { 1 } else { 3 }];
                Failure { links: vec![link, link.reverse()], at, until, reroute: None, carrier: true }
            };
            let failures: Vec<Failure> = hosts.map(failure).collect();
            if !failures.is_empty() {
                simulation.set_failures(&failures);
            }
            let crashes: Vec<Crash> = crashes.iter().map(|(_, crash)| *crash).collect();
            simulation.set_crashes(&crashes);
        });
        if back {
            prop_assert_eq!(out.totals.in_flight, 0);
        }
        for end in &out.ends {
            let size = end.start.size.map_or(0, Bytes::get);
            // a pooled connection whose other end has crashed is found out by the first flow that takes it
            prop_assert!(end.delivered <= size);
            prop_assert!(end.end.is_none() || end.delivered == size, "{end:?}");
            if end.start.time.since(Time::ZERO) == SECOND * 200 && case.warm == 0 && back {
                prop_assert!(end.end.is_some(), "{end:?}");
            }
        }
    }
}
