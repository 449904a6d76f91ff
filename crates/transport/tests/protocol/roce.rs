//! Queue pairs of RoCE: times by arithmetic, and what becomes of lost and marked packets.

use headway_control::dcqcn;
use headway_engine::Streams;
use headway_fabric::{CodelLaw, CodelSpec, Limit, LinkId, QueueSpec, Wire};
use headway_transport::{
    Failure, FlowEnd, FlowStart, Measure, Profile, Retransmission, Roce, Simulation, Totals, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::common::{Net, jain, limited, lossy, profile, wire};

/// Ethernet 18, IPv4 20, UDP 8, base transport header 12, invariant checksum 4.
const OVERHEAD: u64 = 62;
/// Of a message's first packet: address, key and length.
const FIRST: u64 = 16;
const PAYLOAD: u64 = 1024;
/// A full packet on the wire, preamble and gap included.
const FULL: u64 = PAYLOAD + OVERHEAD + 20;

/// No congestion control.
fn plain(retransmission: Retransmission) -> Roce {
    Roce { retransmission, control: None, timeout: Span::from_millis(1), ..Roce::default() }
}

fn both() -> [Roce; 2] {
    [plain(Retransmission::GoBackN), plain(Retransmission::SelectiveRepeat)]
}

/// `senders` hosts and one receiver (the last) at a switch; the last link has `queue`.
fn star(senders: usize, cable: Wire, last: Wire) -> Net {
    let mut net = Net::default();
    let switch = net.switch();
    for _ in 0..senders {
        let host = net.host();
        net.lay(host, switch, cable, cable);
    }
    let to = net.host();
    net.lay(switch, to, last, cable);
    net
}

fn start(net: &Net, id: u64, source: usize, size: Option<u64>) -> FlowStart {
    let hosts: Vec<_> = net.graph.hosts().collect();
    FlowStart {
        time: Time::ZERO,
        id,
        traffic: 0,
        source: hosts[source],
        destination: *hosts.last().unwrap(),
        size: size.map(Bytes::new),
        deadline: None,
        profile: 0,
    }
}

fn simulation(net: &Net, transport: impl Into<Transport>, seed: u64) -> Simulation {
    Simulation::new(net.graph.clone(), vec![transport.into()], Measure::default(), Streams::new(seed))
}

fn run(net: &Net, roce: Roce, starts: Vec<FlowStart>, end: Span) -> (Vec<FlowEnd>, Totals) {
    let mut simulation = simulation(net, roce, 1);
    simulation.run(Time::ZERO + end, &mut starts.into_iter()).unwrap();
    let (ends, _, totals) = simulation.finish();
    (ends, totals)
}

fn gigabit() -> Wire {
    wire(Rate::from_gbps(1), Span::from_micros(5))
}

/// 1 Gb/s takes 8 ns a byte. Ten packets follow each other, and the last passes two links. The first has 16 B more, which
/// hold it up on both. The receiver's ten acknowledgements come back over two links.
#[test]
fn packets_leave_at_the_rate_of_the_line() {
    let net = star(1, gigabit(), gigabit());
    for roce in both() {
        let (ends, totals) = run(&net, roce, vec![start(&net, 1, 0, Some(10 * PAYLOAD))], Span::from_secs(1));
        let nanos = 8 * (11 * FULL + 2 * FIRST) + 2 * 5_000;
        assert_eq!(ends[0].end, Some(Time::ZERO + Span::from_nanos(nanos)));
        assert_eq!((ends[0].delivered, ends[0].retransmissions, ends[0].timeouts), (10 * PAYLOAD, 0, 0));
        assert_eq!((totals.hops, totals.in_flight), (2 * (10 + 10), 0));
        // the ideal knows packets of one kind
        assert_eq!(ends[0].ideal, Some(Span::from_nanos(nanos - 16 * FIRST)));
    }
}

/// A rate of its own: a packet every FULL bytes at 100 Mb/s, 80 ns a byte.
#[test]
fn a_rate_spaces_packets() {
    let net = star(1, gigabit(), gigabit());
    let roce = Roce { rate: Some(Rate::from_mbps(100)), ..both()[0] };
    let (ends, _) = run(&net, roce, vec![start(&net, 1, 0, Some(10 * PAYLOAD))], Span::from_secs(1));
    let nanos = 80 * (9 * FULL + FIRST) + 2 * 8 * FULL + 2 * 5_000;
    assert_eq!(ends[0].end, Some(Time::ZERO + Span::from_nanos(nanos)));
}

/// Acknowledgements of four packets, and of the last: 3 for 10 packets.
#[test]
fn acknowledgements_are_of_several_packets() {
    let net = star(1, gigabit(), gigabit());
    let roce = Roce { ack_every: 4, ..both()[0] };
    let (ends, totals) = run(&net, roce, vec![start(&net, 1, 0, Some(9 * PAYLOAD + 1))], Span::from_secs(1));
    assert_eq!((ends[0].delivered, totals.hops), (9 * PAYLOAD + 1, 2 * (10 + 3)));
}

/// Eight queue pairs of one host take turns and never fill its queue, which holds two frames.
#[test]
fn queue_pairs_of_a_card_take_turns() {
    let cable = limited(gigabit(), Limit::Packets(2));
    let net = star(1, cable, gigabit());
    let starts = (0..8).map(|id| start(&net, id, 0, Some(100 * PAYLOAD))).collect();
    let (ends, totals) = run(&net, both()[0], starts, Span::from_secs(1));
    assert_eq!(totals.drops, 0);
    let first = ends.iter().map(|end| end.end.unwrap()).min().unwrap();
    let last = ends.iter().map(|end| end.end.unwrap()).max().unwrap();
    assert!(last.since(first) <= Span::from_nanos(8 * 8 * FULL), "they end within one turn");
    let nanos = 8 * (801 * FULL + 9 * FIRST) + 2 * 5_000;
    assert_eq!(last, Time::ZERO + Span::from_nanos(nanos));
}

/// With a window of ten packets on a path of 1 ms: ten packets a round trip.
#[test]
fn a_window_bounds_what_is_on_the_way() {
    let far = wire(Rate::from_gbps(1), Span::from_micros(250));
    let net = star(1, far, far);
    for roce in both() {
        let roce = Roce { window: Some(Bytes::new(10 * PAYLOAD + 1)), timeout: Span::from_millis(10), ..roce };
        let (ends, _) = run(&net, roce, vec![start(&net, 1, 0, Some(1000 * PAYLOAD))], Span::from_secs(1));
        let took = ends[0].end.unwrap().since(Time::ZERO).as_millis_f64();
        // a round trip: 1 ms, two full packets and two acknowledgements of 86 B on the wire
        let round = 1.0 + 2.0 * 8e-6 * (FULL + 86) as f64;
        assert!((took / (round * 99.0 + 0.5) - 1.0).abs() < 0.01, "{took} ms");
    }
}

/// One packet in 50 is lost at random on a path of 250 µs, which holds about 30 packets. Go-back-N sends as many again for
/// each, selective repeat what was lost, and all that is on the way once in 50 losses: a repetition that is lost waits for a
/// time-out.
#[test]
fn selective_repeat_repeats_only_what_was_lost() {
    let far = wire(Rate::from_gbps(1), Span::from_micros(60));
    let net = star(1, far, lossy(far, 0.02));
    let mut repeated = Vec::new();
    for roce in both() {
        let (ends, totals) = run(&net, roce, vec![start(&net, 1, 0, Some(5000 * PAYLOAD))], Span::from_secs(10));
        assert_eq!((ends[0].end.is_some(), ends[0].delivered), (true, 5000 * PAYLOAD));
        assert!(u64::from(ends[0].retransmissions) >= totals.lost, "what is lost is sent again");
        repeated.push(f64::from(ends[0].retransmissions) / totals.lost as f64);
    }
    assert!(repeated[0] > 15.0 && repeated[0] < 40.0, "{repeated:?}");
    assert!(repeated[1] < 2.5, "{repeated:?}");
}

/// Frames that are cut off with the last of a message are repeated after the time-out alone.
#[test]
fn a_lost_tail_waits_for_the_timeout() {
    let net = star(1, gigabit(), gigabit());
    let graph = &net.graph;
    let link = (0..graph.links().len() as u32).map(LinkId).find(|&link| {
        let link = graph.link(link);
        Some(link.to) == graph.hosts().last()
    });
    for roce in both() {
        let mut simulation = simulation(&net, roce, 1);
        // ten packets take 8.86 µs each on the first link; from 50 µs on the last link loses the others
        let failure = Failure {
            links: vec![link.unwrap()],
            at: Time::ZERO + Span::from_micros(50),
            until: Some(Time::ZERO + Span::from_micros(500)),
            reroute: None,
            carrier: false,
        };
        simulation.set_failures(&[failure]);
        let mut starts = vec![start(&net, 1, 0, Some(10 * PAYLOAD))].into_iter();
        simulation.run(Time::ZERO + Span::from_secs(1), &mut starts).unwrap();
        let (ends, _, totals) = simulation.finish();
        assert_eq!(ends[0].timeouts, 1);
        assert!(u64::from(ends[0].retransmissions) >= totals.down);
        let took = ends[0].end.unwrap().since(Time::ZERO);
        assert!(took > Span::from_millis(1) && took < Span::from_micros(1_200), "{took}");
    }
}

/// Marks from 20 frames on. Four senders into one link: their rates come down to a fair share, and the queue to a part
/// of what it is without control.
#[test]
fn dcqcn_shares_a_link_and_keeps_its_queue_short() {
    let marks = Wire {
        queue: QueueSpec::DropTail { limit: None, mark: Some(Limit::Bytes(Bytes::from_kb(20))) },
        ..wire(Rate::from_gbps(10), Span::from_micros(1))
    };
    let net = star(4, wire(Rate::from_gbps(10), Span::from_micros(1)), marks);
    let last = (0..net.graph.links().len() as u32)
        .map(LinkId)
        .find(|&link| Some(net.graph.link(link).to) == net.graph.hosts().last());
    let of = |control: Option<dcqcn::Parameters>| {
        let roce = Roce { control, ..plain(Retransmission::GoBackN) };
        let mut simulation = simulation(&net, roce, 1);
        let mut starts = (0..4).map(|id| start(&net, id, id as usize, None));
        simulation.run(Time::ZERO + Span::from_millis(100), &mut starts).unwrap();
        let (_, queue) = simulation.port(last.unwrap());
        let (ends, _, totals) = simulation.finish();
        (ends, queue.get(), totals)
    };
    let (ends, queue, totals) = of(Some(dcqcn::Parameters::default()));
    let shares: Vec<f64> = ends.iter().map(|end| end.delivered as f64).collect();
    assert!(jain(&shares) > 0.95, "{shares:?}");
    let used = shares.iter().sum::<f64>() * 8.0 / 0.1 / 10e9 * FULL as f64 / PAYLOAD as f64;
    assert!(used > 0.9, "the link is used: {used}");
    assert!(totals.marks > 0 && ends.iter().all(|end| end.marks > 0), "{ends:?}");
    // at most one CNP in 50 µs and flow
    assert!(ends.iter().all(|end| end.marks <= 2001));
    // 30 Gb/s too much for 100 ms are 375 MB
    let (_, unbounded, _) = of(None);
    assert!(unbounded > 300_000_000 && queue < 1_000_000, "{queue} and {unbounded}");
}

/// Two spines; the one in use fails, and routing learns of it.
#[test]
fn queue_pairs_move_to_another_path() {
    let mut net = Net::default();
    let (a, b, left, right) = (net.host(), net.host(), net.switch(), net.switch());
    net.cable(a, left, gigabit());
    let mut cables = Vec::new();
    for _ in 0..2 {
        let spine = net.switch();
        cables.push(net.cable(left, spine, gigabit()));
        net.cable(spine, right, gigabit());
    }
    net.cable(right, b, gigabit());
    for roce in both() {
        let mut simulation = simulation(&net, roce, 1);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        // whichever it uses
        let failures: Vec<Failure> = [(0, 10, 20), (1, 30, 40)]
            .map(|(cable, down, up)| Failure {
                links: vec![cables[cable]],
                at: at(down),
                until: Some(at(up)),
                reroute: Some(Span::from_millis(2)),
                carrier: false,
            })
            .into();
        simulation.set_failures(&failures);
        let size = 100_000_000 / 8;
        let start = FlowStart { destination: b, ..start(&net, 1, 0, Some(size)) };
        simulation.run(at(1000), &mut std::iter::once(start)).unwrap();
        let (ends, _, totals) = simulation.finish();
        let took = ends[0].end.expect("it completes").since(Time::ZERO);
        assert!(totals.down > 0 && ends[0].delivered == size);
        assert!(took < Span::from_millis(115), "{took}: one outage of 2 ms and its repair");
    }
}

/// RoCE beside TCP over the same fabric: frames of both are conserved.
#[test]
fn it_lives_beside_tcp() {
    let net = star(2, gigabit(), limited(gigabit(), Limit::Packets(50)));
    let transports: Vec<Transport> = vec![both()[1].into(), profile().into()];
    let mut simulation = Simulation::new(net.graph.clone(), transports, Measure::default(), Streams::new(1));
    let starts = [start(&net, 1, 0, Some(1_000_000)), FlowStart { profile: 1, ..start(&net, 2, 1, Some(1_000_000)) }];
    simulation.run(Time::ZERO + Span::from_secs(60), &mut starts.into_iter()).unwrap();
    let (ends, ..) = simulation.finish();
    assert!(ends.iter().all(|end| end.end.is_some()), "{ends:?}");
}

/// TCP and a queue pair of one host at its link, which is the bottleneck and lossless or has CoDel with a far target. TCP's
/// window of 60 KB stands in the port's queue. The queue pair has one frame in it, and each time that the queue passes the
/// next one: about a frame for each of TCP's 41 segments. Nothing is lost.
fn beside_a_standing_queue(lossless: bool) {
    let law = CodelLaw { target: Span::from_secs(1), interval: Span::from_secs(1), ecn: false, mark: None };
    let codel = QueueSpec::Codel(CodelSpec { limit: Some(Limit::Packets(60)), law });
    let mut net = Net::default();
    let (switch, host, to) = (net.switch(), net.host(), net.host());
    let plain_wire = gigabit();
    net.lay(host, switch, if lossless { plain_wire } else { Wire { queue: codel, ..plain_wire } }, plain_wire);
    let fast = Wire { rate: Rate::from_gbps(10), ..plain_wire };
    net.lay(switch, to, fast, fast);
    let tcp = Profile { receive_window: Bytes::new(60_000), ..profile() };
    let transports: Vec<Transport> = vec![both()[0].into(), tcp.into()];
    let mut simulation = Simulation::new(net.graph.clone(), transports, Measure::default(), Streams::new(1));
    if lossless {
        simulation.make_lossless(super::qcn::lossless(&net.graph), Streams::new(1));
        simulation.set_priority(0, 3);
    }
    let late = Time::ZERO + Span::from_millis(20);
    let starts =
        [FlowStart { profile: 1, ..start(&net, 1, 0, None) }, FlowStart { time: late, ..start(&net, 2, 0, None) }];
    simulation.run(Time::ZERO + Span::from_millis(220), &mut starts.into_iter()).unwrap();
    let (ends, _, totals) = simulation.finish();
    assert_eq!((totals.drops, ends[0].retransmissions, ends[1].retransmissions), (0, 0, 0));
    // a round: TCP's window of 41 segments and one frame of FULL bytes, on a line of 125 B/us, for 200 ms
    let round = (41.0 * (1448.0 + 66.0 + 24.0) + FULL as f64) / 125e6;
    let share = ends[1].delivered as f64 / (0.2 / round * PAYLOAD as f64);
    assert!((0.8..1.25).contains(&share), "{share} of a frame in each round");
}

#[test]
fn a_queue_pair_has_its_turn_behind_tcp_of_its_priority() {
    beside_a_standing_queue(true);
}

#[test]
fn a_queue_pair_does_not_fill_a_queue_that_tcp_stands_in() {
    beside_a_standing_queue(false);
}

/// Four packets are acknowledged at once, and the window has three: every window would end with a time-out.
#[test]
#[should_panic(expected = "fields in their ranges")]
fn a_window_that_is_never_acknowledged_is_refused() {
    let net = star(1, gigabit(), gigabit());
    let roce = Roce { ack_every: 4, window: Some(Bytes::new(4 * PAYLOAD - 1)), ..both()[0] };
    simulation(&net, roce, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is lost on either way, every flow is delivered whole. (That each byte is delivered once and in order is
    /// the receiver's; conservation is checked at the end of every run.)
    #[test]
    fn everything_arrives_under_random_loss(
        seed in any::<u64>(),
        loss in 0.0..0.2f64,
        back in 0.0..0.2f64,
        selective in any::<bool>(),
        ack_every in 1..20u32,
        window in prop::option::of(1..64u64),
        sizes in prop::collection::vec(0..60_000u64, 1..6),
        once in any::<bool>(),
    ) {
        let mut net = Net::default();
        let (a, b, switch) = (net.host(), net.host(), net.switch());
        net.lay(a, switch, lossy(gigabit(), loss), gigabit());
        net.lay(switch, b, limited(gigabit(), Limit::Packets(10)), lossy(gigabit(), back));
        let retransmission = if selective { Retransmission::SelectiveRepeat } else { Retransmission::GoBackN };
        let roce = Roce {
            ack_every: window.map_or(ack_every, |packets| ack_every.min(packets as u32)),
            window: window.map(|packets| Bytes::new(packets * PAYLOAD)),
            nak_interval: (!once).then_some(Span::from_micros(100)),
            control: Some(dcqcn::Parameters::default()),
            ..plain(retransmission)
        };
        let mut simulation = simulation(&net, roce, seed);
        let starts: Vec<FlowStart> =
            (0..).zip(&sizes).map(|(id, &size)| FlowStart { source: a, destination: b, ..start(&net, id, 0, Some(size)) }).collect();
        simulation.run(Time::ZERO + Span::from_secs(20), &mut starts.into_iter()).unwrap();
        let (ends, _, totals) = simulation.finish();
        for (end, size) in ends.iter().zip(&sizes) {
            prop_assert_eq!((end.end.is_some(), end.delivered), (true, *size));
        }
        prop_assert_eq!(totals.in_flight, 0);
    }
}
