//! How long packets with data wait, by flow, at ports of hosts and at those of switches.

use headway_engine::Streams;
use headway_fabric::{
    CodelLaw, CodelSpec, DrrSpec, Excess, FqCodelSpec, Limit, LimitedSpec, LinkId, NodeKind, QueueSpec,
    SharedBufferSpec, Wire,
};
use headway_transport::{
    Datagram, FlowEnd, FlowStart, Measure, PacketWaits, Profile, Roce, Simulation, Totals, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{FULL, MSS, Net, any_card, limited, line, lossy, profile, transmission, wire};
use proptest::prelude::*;

const ROOM: QueueSpec = QueueSpec::DropTail { limit: None, mark: None };

fn start(net: &Net, id: u64, (source, destination): (usize, usize), size: u64) -> FlowStart {
    let hosts: Vec<_> = net.graph.hosts().collect();
    FlowStart {
        time: Time::ZERO,
        id,
        traffic: 0,
        source: hosts[source],
        destination: hosts[destination],
        size: Some(Bytes::new(size)),
        deadline: None,
        profile: 0,
    }
}

fn simulation(net: &Net, transport: impl Into<Transport>) -> Simulation {
    Simulation::new(net.graph.clone(), vec![transport.into()], Measure::default(), Streams::new(1))
}

fn run(mut simulation: Simulation, starts: &[FlowStart]) -> (Vec<FlowEnd>, Totals) {
    simulation.run(Time::ZERO + Span::from_secs(5), &mut starts.iter().copied()).unwrap();
    let (ends, _, totals) = simulation.finish();
    (ends, totals)
}

/// An initial window of ten segments leaves at once: at the host's port segment i waits for the i before it, and at the
/// slower port behind it until those have passed there, i·T′ after the first came, less the i·T in which it came.
#[test]
fn a_burst_waits_at_its_host_and_at_the_narrow_link() {
    let rates = [Rate::from_gbps(10), Rate::from_gbps(1)];
    let line = line(&rates.map(|rate| wire(rate, Span::from_micros(7))));
    let mut simulation = simulation(&line.net, profile());
    simulation.measure_waits();
    let (ends, _) = run(simulation, &[start(&line.net, 0, (0, 1), 10 * u64::from(MSS))]);
    let [fast, slow] = rates.map(|rate| transmission(rate, FULL));
    let sum = 45;
    let expected = PacketWaits { packets: 10, hosts: fast * sum, switches: slow * sum - fast * sum };
    assert_eq!(ends[0].waits, Some(expected));
}

/// Who does not ask gets nothing, and asking changes nothing: the same flows, events and drops.
#[test]
fn measuring_changes_no_result() {
    let narrow = limited(wire(Rate::from_mbps(100), Span::from_micros(50)), Limit::Packets(20));
    let line = line(&[wire(Rate::from_gbps(1), Span::from_micros(50)), lossy(narrow, 0.01)]);
    let starts = [0, 1, 2].map(|id| start(&line.net, id, (0, 1), 300_000));
    let (plain, totals) = run(simulation(&line.net, profile()), &starts);
    let mut measured = simulation(&line.net, profile());
    measured.measure_waits();
    let (measured, of_measured) = run(measured, &starts);
    assert!(totals.drops > 0 && plain.iter().all(|end| end.waits.is_none()));
    assert_eq!((totals.digest, totals.hops), (of_measured.digest, of_measured.hops));
    for (plain, mut measured) in plain.into_iter().zip(measured) {
        let waits = measured.waits.take().expect("it was asked for");
        assert!(waits.packets >= 300_000 / u64::from(MSS) && waits.switches > waits.hosts, "{waits:?}");
        assert_eq!(plain, measured);
    }
}

/// Two hosts, and a third that both send to at a tenth of their rate, behind two switches.
fn narrow(queue: QueueSpec) -> Net {
    let mut net = Net::default();
    let (a, b, to) = (net.host(), net.host(), net.host());
    let (near, far) = (net.switch(), net.slow_switch(Span::from_nanos(300)));
    let cable = wire(Rate::from_gbps(1), Span::from_micros(10));
    for host in [a, b] {
        net.lay(host, near, Wire { queue, ..cable }, cable);
    }
    let narrow = Wire { rate: Rate::from_mbps(100), queue, ..cable };
    net.lay(near, far, narrow, cable);
    net.lay(far, to, Wire { rate: Rate::from_mbps(77), ..narrow }, cable);
    net
}

/// The waits of flows of which nothing is lost are those that the ports have counted, which only data passes. Ports count
/// in steps of 1,024 ps, a frame rounded down.
fn assert_as_ports_count(what: &str, net: &Net, mut simulation: Simulation, starts: &[FlowStart]) -> PacketWaits {
    simulation.measure_waits();
    simulation.run(Time::ZERO + Span::from_secs(5), &mut starts.iter().copied()).unwrap();
    let (mut counted, mut frames) = ([0; 2], 0);
    for (number, link) in (0..).zip(net.graph.links()) {
        // the links that data takes: every other one is its way back
        if number % 2 == 0 {
            let counters = simulation.port(LinkId(number)).0;
            let switch = net.graph.node(link.from).kind == NodeKind::Switch;
            counted[usize::from(switch)] += counters.waited.as_nanos() * 1000;
            frames += u128::from(counters.accepted.frames);
        }
    }
    let (ends, _, totals) = simulation.finish();
    assert_eq!(totals.drops + totals.in_flight, 0, "{what}: all has arrived");
    let mut all = PacketWaits::default();
    for waits in ends.iter().map(|end| end.waits.expect("it was asked for")) {
        all.packets += waits.packets;
        (all.hosts, all.switches) = (all.hosts + waits.hosts, all.switches + waits.switches);
    }
    for (own, counted) in [all.hosts, all.switches].into_iter().zip(counted) {
        let own = u128::from(own.picos());
        assert!((counted..=counted + 1024 * frames + 1000 * 6).contains(&own), "{what}: {own}, counted {counted}");
    }
    all
}

fn datagrams() -> Datagram {
    Datagram { rate: Rate::from_mbps(600), payload: 958, overhead: 42 }
}

#[test]
fn whatever_decides_when_frames_leave_waits_are_those_of_the_ports() {
    let law = CodelLaw { target: Span::from_secs(1), interval: Span::from_secs(1), ecn: false, mark: None };
    let (limit, queues, quantum) = (None, 16, 300);
    let queues = [
        ROOM,
        QueueSpec::Codel(CodelSpec { limit, law }),
        QueueSpec::FqCodel(FqCodelSpec { limit, memory: Bytes::new(1 << 30), queues, quantum, batch: 64, law }),
        QueueSpec::Drr(DrrSpec { limit, queues, quantum }),
        QueueSpec::Limited(LimitedSpec { limit, mark: None, excess: Excess::Waits, burst: Bytes::new(3_000) }),
    ];
    for queue in queues {
        let net = narrow(queue);
        let starts = [start(&net, 0, (0, 2), 100 * 958), start(&net, 1, (1, 2), 70 * 958)];
        let what = queue.name();
        let all = assert_as_ports_count(what, &net, simulation(&net, datagrams()), &starts);
        // 600 Mb/s pass their host's port without a queue
        assert_eq!((all.packets, all.hosts), (170, Span::ZERO), "{what}");
        assert!(all.switches > Span::from_millis(100), "{what}: {all:?}");
    }
    let mut net = narrow(ROOM);
    for switch in net.graph.switches().collect::<Vec<_>>() {
        let size = Bytes::new(1 << 20);
        net.graph.share_buffer(switch, SharedBufferSpec { size, alpha: 8.0, reserve: Bytes::ZERO });
    }
    let starts = [start(&net, 0, (0, 2), 100 * 958), start(&net, 1, (1, 2), 70 * 958)];
    assert_as_ports_count("shared", &net, simulation(&net, datagrams()), &starts);
}

/// Random processing and priorities that are paused hold frames back.
#[test]
fn processing_and_pauses_are_waits() {
    let net = narrow(ROOM);
    let starts = [start(&net, 0, (0, 2), 100 * 958), start(&net, 1, (1, 2), 70 * 958)];
    let mut processed = simulation(&net, datagrams());
    processed.process_randomly(net.graph.hosts().next().unwrap(), Span::from_micros(30), Streams::new(1));
    let all = assert_as_ports_count("processed", &net, processed, &starts);
    assert!(all.hosts > Span::from_micros(100 * 10), "{all:?}");

    let mut paused = simulation(&net, Roce { control: None, ..Roce::default() });
    paused.make_lossless(super::qcn::lossless(&net.graph), Streams::new(1));
    paused.set_priority(0, 3);
    paused.measure_waits();
    let size = 2_000_000;
    let starts = [start(&net, 0, (0, 2), size), start(&net, 1, (1, 2), size)];
    paused.run(Time::ZERO + Span::from_secs(5), &mut starts.iter().copied()).unwrap();
    let pauses: u64 = (0..net.graph.links().len() as u32).map(|link| paused.pauses(LinkId(link)).pauses).sum();
    let (ends, _, totals) = paused.finish();
    assert!(pauses > 0 && totals.drops == 0 && ends.iter().all(|end| end.end.is_some()), "{pauses} pauses");
    let waits = ends.iter().map(|end| end.waits.expect("it was asked for"));
    assert!(waits.clone().all(|own| own.packets == size.div_ceil(1024) && own.switches > Span::ZERO), "{ends:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// What holds frames before the port, a card that paces, is no wait; each packet with data counts once.
    #[test]
    fn cards_are_not_waited_for(card in any_card()) {
        let line = line(&[wire(Rate::from_gbps(1), Span::from_micros(7)); 2]);
        let mut simulation = simulation(&line.net, Profile { initial_window: 4, ..profile() });
        simulation.pace_host(line.source, &card);
        simulation.measure_waits();
        let (ends, _) = run(simulation, &[start(&line.net, 0, (0, 1), 20 * u64::from(MSS))]);
        let waits = ends[0].waits.expect("it was asked for");
        prop_assert!(ends[0].end.is_some() && waits.packets >= 20 && waits.switches == Span::ZERO, "{:?}", ends);
        prop_assert!(ends[0].retransmissions > 0 || waits.packets == 20, "{:?}", ends);
    }
}
