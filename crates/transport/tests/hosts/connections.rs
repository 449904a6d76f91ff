//! Goodput at the ceilings of cores, latency of interrupts, acknowledgements of merged segments.

use headway_fabric::Limit;
use headway_transport::{Costs, HostModel, SampleKind, SampleOf};
use headway_units::{Bytes, Rate, Span};

use crate::common::{FULL, Line, MSS, OVERHEAD, Setup, assert_near, delayed, dumbbell, limited, line, profile, wire};

const GBPS: u64 = 1_000_000_000;

fn rate(gbps: u64) -> Rate {
    Rate::from_bps(gbps * GBPS)
}

fn ns(n: u64) -> Span {
    Span::from_nanos(n)
}

fn ten_gigabit() -> Line {
    line(&[wire(rate(10), Span::from_micros(5)), wire(rate(10), Span::from_micros(5))])
}

/// A window that a ring holds, so that nothing is lost: 100 segments.
fn small_window() -> headway_transport::Profile {
    headway_transport::Profile { receive_window: Bytes::new(100 * u64::from(MSS)), ..profile() }
}

/// A receiver's one core limits: per segment it takes the frame, goes through the protocol and sends an
/// acknowledgement, 3.6 µs in all; the wire would take 1.23 µs.
#[test]
fn one_core_limits_the_receiver() {
    let Line { net, source, sink, .. } = ten_gigabit();
    let byte = Span::from_picos(500);
    let costs = Costs { packet: ns(1_000), segment: ns(1_000), burst: ns(809), byte, ..Costs::default() };
    let model = HostModel { gro: false, costs, ..HostModel::default() };
    let outcome = Setup::new(&net, small_window())
        .host(sink, model)
        .flow((source, sink), None, Span::ZERO)
        .sample(Span::from_millis(10), &[SampleKind::Goodput])
        .run(Span::from_millis(100));
    let frame = 1_000.0 + 0.5 * f64::from(MSS + OVERHEAD) + 1_000.0 + 809.0 + 0.5 * 64.0;
    assert_near("goodput", outcome.goodput(0, Span::from_millis(10)), f64::from(MSS) * 8e9 / frame, 0.005);
    assert_near("the core's work", outcome.hosts[0].busy[0].as_secs_f64(), 0.1, 0.01);
    assert_eq!(outcome.ends[0].retransmissions, 0);
}

/// What a core works for: at a rate that leaves it idle for a part of the time, rate times cost; never more than all.
#[test]
fn the_share_of_time_that_a_core_works_is_recorded() {
    let slow = wire(rate(1), Span::from_micros(5));
    let Line { net, source, sink, .. } = line(&[slow, slow]);
    let costs = Costs { packet: ns(2_000), segment: ns(3_000), ..Costs::default() };
    let model = HostModel { cores: 2, gro: false, costs, ..HostModel::default() };
    let outcome = Setup::new(&net, small_window())
        .host(sink, model)
        .flow((source, sink), None, Span::ZERO)
        .sample(Span::from_micros(1_234), &[SampleKind::Core])
        .run(Span::from_millis(100));
    let shares = |core| outcome.series(SampleKind::Core, SampleOf::Core(sink, core), Span::from_millis(10));
    // a full frame every 12.304 µs, 5 µs each
    for (_, share) in shares(0) {
        assert_near("share", share, 5_000.0 / (FULL as f64 * 8.0), 0.02);
    }
    assert!(shares(0).len() > 70 && shares(1).iter().all(|&(_, share)| share == 0.0));
}

/// The sender's core limits: a burst of a window's opening costs once, its bytes one by one.
#[test]
fn one_core_limits_the_sender() {
    let Line { net, source, sink, .. } = ten_gigabit();
    let costs = Costs { burst: ns(3_000), ..Costs::default() };
    let model = HostModel { segmentation: false, costs, ..HostModel::default() };
    let outcome = Setup::new(&net, small_window())
        .host(source, model)
        .flow((source, sink), None, Span::ZERO)
        .sample(Span::from_millis(10), &[SampleKind::Goodput])
        .run(Span::from_millis(100));
    assert_near("goodput", outcome.goodput(0, Span::from_millis(10)), f64::from(MSS) * 8e9 / 3_000.0, 0.005);
}

/// Four greedy flows into one host: with one queue they share a core's ceiling; with four queues, or with steering, and
/// each on its own core, they have the sum, up to the link's rate.
#[test]
fn more_cores_give_more_until_the_link_limits() {
    let access = wire(rate(10), Span::from_micros(5));
    let costs = Costs { packet: ns(400), segment: ns(4_400), burst: ns(200), ..Costs::default() };
    let total = |model: HostModel, ports: u64| {
        let mut net = dumbbell(&[access; 4], limited(wire(rate(10), Span::from_micros(5)), Limit::Packets(1000)));
        let sink = net.net.host();
        let right = net.net.graph.find("switch1").expect("the right switch");
        net.net.cable(right, sink, access);
        let mut setup = Setup::new(&net.net, small_window()).host(sink, model).seed(ports);
        for &(source, _) in &net.pairs {
            setup = setup.flow((source, sink), None, Span::ZERO);
        }
        let setup = setup.sample(Span::from_millis(10), &[SampleKind::Goodput]);
        let outcome = setup.run(Span::from_millis(60));
        let goodput: f64 = (0..4).map(|id| outcome.goodput(id, Span::from_millis(20))).sum();
        (goodput, outcome)
    };
    let one = HostModel { gro: false, costs, ..HostModel::default() };
    let ceiling = f64::from(MSS) * 8e9 / 5_000.0;
    let (goodput, _) = total(one, 1);
    assert_near("one core", goodput, ceiling, 0.01);
    // the hashes of the ports decide how many cores have work: so many times the ceiling, or the link
    let link = 1e10 * f64::from(MSS) / FULL as f64;
    for seed in 1..6 {
        let (goodput, outcome) = total(HostModel { cores: 8, queues: 8, ..one }, seed);
        let used = outcome.hosts[0].busy.iter().filter(|busy| **busy > Span::from_millis(1)).count();
        assert!(used >= 2, "four flows on eight queues meet more than one in 511 of 512 cases");
        assert_near("several cores", goodput, (used as f64 * ceiling).min(link), 0.01);
    }
}

/// On an idle host an answer is later by what the model says: coalescing, interrupt, frame, segment.
#[test]
fn coalescing_is_added_to_a_short_flow() {
    let Line { net, source, sink, .. } = ten_gigabit();
    let time = Span::from_micros(100);
    let costs = Costs { interrupt: ns(2_000), packet: ns(500), segment: ns(1_500), ..Costs::default() };
    let slow = HostModel { coalesce_time: time, coalesce_frames: 0, costs, ..HostModel::default() };
    let run = |model: Option<HostModel>| {
        let setup = Setup::new(&net, profile()).flow((source, sink), Some(1_000), Span::ZERO);
        let setup = model.into_iter().fold(setup, |setup, model| setup.host(sink, model));
        setup.run(Span::from_millis(10)).fct(0)
    };
    // SYN, and the segment; the answer to SYN waits a picosecond for its core, as what costs nothing does
    let more = run(Some(slow)) - run(None);
    let expected = (time + ns(4_000)) * 2;
    assert!(more >= expected && more <= expected + Span::from_picos(4), "{more} is not {expected}");
}

/// `net/ipv4/tcp_input.c: __tcp_ack_snd_check`: a merged segment has one acknowledgement, at once.
#[test]
fn a_merged_segment_is_acknowledged_once() {
    let Line { net, source, sink, links } = ten_gigabit();
    let back = links[1].reverse();
    let run = |gro| {
        let model =
            HostModel { coalesce_time: Span::from_micros(50), coalesce_frames: 64, gro, ..HostModel::default() };
        let own = headway_transport::Profile { delayed_ack: delayed(), ..small_window() };
        let setup = Setup::new(&net, own).host(sink, model).flow((source, sink), Some(14_600_000), Span::ZERO);
        let outcome = setup.run(Span::from_secs(1));
        assert!(outcome.ends[0].end.is_some());
        let host = &outcome.hosts[0];
        (outcome.port(back).accepted.frames, host.segments, host.packets)
    };
    let (acks, segments, packets) = run(false);
    assert_eq!(segments, packets);
    assert_near("every second segment", acks as f64, packets as f64 / 2.0, 0.02);
    let (acks, segments, packets) = run(true);
    // an acknowledgement for each, but for segments that came alone and were the first of two
    assert!(acks <= segments && segments < packets / 20, "{acks} for {segments} of {packets}");
}

/// A model at a host that takes no part leaves the run as it was, event by event.
#[test]
fn a_host_without_a_model_pays_nothing() {
    let pairs =
        dumbbell(&[wire(rate(10), Span::from_micros(5)); 3], limited(wire(rate(1), ns(500)), Limit::Packets(50)));
    let run = |model: bool| {
        let (idle, _) = pairs.pairs[2];
        let mut setup = Setup::new(&pairs.net, profile());
        for &pair in &pairs.pairs[..2] {
            setup = setup.flow(pair, Some(2_000_000), Span::ZERO);
        }
        if model {
            setup = setup.host(idle, HostModel::default());
        }
        setup.run(Span::from_secs(1))
    };
    let (with, without) = (run(true), run(false));
    assert_eq!(with.totals, without.totals);
    assert_eq!(with.ends, without.ends);
    assert!(with.totals.drops > 0, "the test's premise: something happens");
}

/// Two cards are two queues, whose interrupts go to different cores: what the lanes thesis finds when it moves the short
/// flows to a card of their own (§4.4.2, fig. 4.19). A card shared with a flow that keeps its core busy makes them wait.
#[test]
fn a_card_of_its_own_spares_a_short_flow_the_wait() {
    let mut net = crate::common::Net::default();
    let (source, sink) = (net.host(), net.host());
    for _ in 0..2 {
        net.cable(source, sink, wire(rate(1), Span::from_micros(5)));
    }
    let costs = Costs { interrupt: ns(2_000), packet: ns(9_000), segment: ns(3_000), ..Costs::default() };
    let model = HostModel { cores: 2, gro: false, costs, ..HostModel::default() };
    // Connections of one path take a card by the hash of their ports: runs in which the two flows share one and in
    // which they do not are told by the interfaces they used.
    let (mut shared, mut apart) = (Vec::new(), Vec::new());
    for seed in 0..12 {
        let setup = Setup::new(&net, small_window()).host(sink, model).seed(seed);
        let setup = setup.flow((source, sink), None, Span::ZERO);
        let setup = setup.flow((source, sink), Some(70_000), Span::from_millis(20));
        let outcome = setup.run(Span::from_millis(100));
        let list = if outcome.ends[0].interfaces == outcome.ends[1].interfaces { &mut shared } else { &mut apart };
        list.push(outcome.fct(1));
    }
    assert!(!shared.is_empty() && !apart.is_empty(), "{} share, {} do not", shared.len(), apart.len());
    let (best_shared, worst_apart) = (shared.iter().min(), apart.iter().max());
    assert!(best_shared > worst_apart, "{best_shared:?} against {worst_apart:?}");
    // alone on its core: 48 segments at 14 µs each (an interrupt for each at most), and the handshake
    assert!(worst_apart.is_some_and(|&fct| fct < ns(14_000) * 52 + Span::from_micros(100)));
}
