//! With enough headroom nothing is lost, whatever the network and its traffic; with less, something is.

use headway_fabric::{Graph, LosslessSpec, PauseKind};
use headway_units::{Rate, Span, Time};
use proptest::prelude::*;

use super::bench::{Bench, Fate, at, cable, enough, line, spec, wire};
use headway_control::lossless::whole_frame_headroom;

/// A cable: the place of its rates in [`RATES`], and nanoseconds of delay.
type Lay = (usize, usize, u64);

const RATES: [u64; 6] = [1, 10, 25, 40, 100, 3];

/// A tree of switches with hosts: a chain where each hangs on the one before, two tiers where all hang on the first.
#[derive(Debug, Clone)]
struct Tree {
    /// For each switch but the first: on which of those before it hangs, and the cable; its latency.
    switches: Vec<(usize, Lay, u64)>,
    /// For each host: its switch and cable.
    hosts: Vec<(usize, Lay)>,
}

/// Frames that a host sends at once: when, from whom, to whom, priority, how many, and their sizes.
type Burst = (u64, usize, usize, u8, u16, u16);

fn lay() -> impl Strategy<Value = Lay> {
    (0..RATES.len(), prop_oneof![4 => Just(None), 1 => (0..RATES.len()).prop_map(Some)], 0u64..3000)
        .prop_map(|(forth, back, delay)| (forth, back.unwrap_or(forth), delay))
}

fn tree() -> impl Strategy<Value = Tree> {
    let switches = prop::collection::vec((0usize..4, lay(), 0u64..800), 0..4);
    let hosts = prop::collection::vec((0usize..5, lay()), 2..8);
    (switches, hosts).prop_map(|(switches, hosts)| {
        let count = switches.len() + 1;
        let switches =
            switches.into_iter().enumerate().map(|(at, (above, lay, latency))| (above.min(at), lay, latency));
        let hosts = hosts.into_iter().map(|(at, lay)| (at % count, lay));
        Tree { switches: switches.collect(), hosts: hosts.collect() }
    })
}

fn bursts(largest: u16) -> impl Strategy<Value = Vec<Burst>> {
    prop::collection::vec((0u64..60_000, 0usize..8, 0usize..3, 0u8..8, 1u16..60, 64..=largest), 1..14)
}

impl Tree {
    fn graph(&self) -> Graph {
        let mut graph = Graph::new();
        let mut switches = vec![graph.add_switch("s0", Span::from_nanos(100)).unwrap()];
        let wires = |(forth, back, delay): Lay| {
            let wire = |rate: usize| wire(Rate::from_gbps(RATES[rate]), Span::from_nanos(delay));
            (wire(forth), wire(back))
        };
        for (number, &(above, lay, latency)) in self.switches.iter().enumerate() {
            let own = graph.add_switch(format!("s{}", number + 1), Span::from_nanos(latency)).unwrap();
            let (forth, back) = wires(lay);
            graph.connect(own, switches[above], forth, back).unwrap();
            switches.push(own);
        }
        for (number, &(switch, lay)) in self.hosts.iter().enumerate() {
            let own = graph.add_host(format!("h{number}"), Span::ZERO).unwrap();
            let (forth, back) = wires(lay);
            graph.connect(own, switches[switch], forth, back).unwrap();
        }
        graph
    }
}

/// Runs all bursts to the end.
fn run(tree: &Tree, bursts: &[Burst], change: impl FnOnce(&Graph, &mut LosslessSpec), largest: u16) -> Bench {
    let graph = tree.graph();
    let mut own = spec(&graph, 0b0010_1000, u32::from(largest), (20_000, 10_000));
    change(&graph, &mut own);
    let mut bench = Bench::new(graph, own);
    let hosts: Vec<_> = bench.graph.hosts().collect();
    let mut bursts = bursts.to_vec();
    bursts.sort_unstable();
    for (time, from, to, priority, count, size) in bursts {
        let from = from % hosts.len();
        // few destinations, so that they are congested
        let to = if to % hosts.len() == from { (from + 1) % hosts.len() } else { to % hosts.len() };
        let hop = bench.route(hosts[from], hosts[to]);
        for frame in 0..count {
            let size = if frame % 3 == 2 { size.max(64) / 2 + 32 } else { size };
            bench.offer(at(time), hop, priority, size);
        }
        bench.fabric.assert_conserved();
    }
    bench.until(Time::NEVER);
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Trees, chains and two tiers, rates that differ, also by direction, cables of up to 600 m, frames of any size,
    /// responses: everything arrives, and every account is empty in the end.
    #[test]
    fn nothing_is_lost_with_enough_headroom(
        (largest, tree, bursts) in (200u16..9000).prop_flat_map(|largest| (Just(largest), tree(), bursts(largest))),
        response in prop_oneof![Just(0u64), 0u64..4000],
        low in 0u64..30,
        link in any::<bool>(),
    ) {
        let bench = &mut run(&tree, &bursts, |graph, own| {
            own.response = Span::from_nanos(response);
            // thresholds that are as low as none at all
            let xoff = low * 1000;
            own.thresholds = enough(graph, u32::from(largest), own.response, (xoff, xoff / 2));
            own.pause = if link { PauseKind::Link } else { PauseKind::Priority };
        }, largest);
        prop_assert_eq!((bench.dropped(), bench.overflows()), (0, 0));
        bench.assert_all_arrived();
    }

    /// So it is with a shared buffer, for the lossless priorities: others may find no room, and take none of theirs.
    #[test]
    fn nothing_is_lost_of_a_shared_buffer(
        (largest, tree, bursts) in (200u16..9000).prop_flat_map(|largest| (Just(largest), tree(), bursts(largest))),
        shared in 10_000u64..200_000,
        alpha in 0.05f64..2.0,
    ) {
        let lossless = 0b0010_1000u8;
        let bench = &mut run(&tree, &bursts, |graph, own| super::shared::share(graph, own, (shared, alpha, 1000)), largest);
        prop_assert_eq!(bench.overflows(), 0);
        bench.fabric.assert_conserved();
        let mut sorted = bursts.clone();
        sorted.sort_unstable();
        let priorities = sorted.iter().flat_map(|own| vec![own.3; usize::from(own.4)]);
        for (priority, fate) in priorities.zip(&bench.fates) {
            prop_assert!(*fate != Fate::OnItsWay);
            prop_assert!(lossless >> priority & 1 == 0 || matches!(fate, Fate::Arrived(_)), "{priority}: {fate:?}");
        }
    }
}

/// The worst case: a frame was just begun on the way back when a frame crosses the threshold, full frames come back to
/// back, and shorter ones let the last full one begin just before the sender obeys.
///
/// Searches over when the frame on the way back begins and how the wire is filled. Returns the most bytes of headroom that
/// any case needs.
fn worst((forth, back): (Rate, Rate), delay: Span, response: Span, largest: u16) -> (u64, u64) {
    let (graph, [a, b], [one, _]) = line(wire(forth, delay), wire(back, delay), wire(Rate::from_mbps(1), delay));
    let bound = whole_frame_headroom(&cable(&graph, one, u32::from(largest), response)).get();
    let mut most = 0;
    let full = forth.transmission(headway_units::Bytes::new(u64::from(largest) + 20));
    // the crossing frame is the first: with no threshold at all
    for (fill, next) in (64..=largest).flat_map(|fill| [(fill, largest), (fill, largest - 1)]) {
        let mut own = spec(&graph, 1 << 3, u32::from(largest), (0, 0));
        own.response = response;
        own.thresholds.iter_mut().for_each(|own| own.headroom = u64::MAX / 2);
        let mut bench = Bench::new(graph.clone(), own);
        let (hop, other) = (bench.route(a, b), bench.way(&[one.reverse()]));
        let crossing = Time::ZERO + full + delay;
        bench.offer(at(0), hop, 3, largest);
        bench.offer(at(0), hop, 3, fill);
        bench.offer(at(0), hop, 3, next);
        for _ in 0..60 {
            bench.offer(at(0), hop, 3, largest);
        }
        // as late as it can begin before the first one crosses
        let begins = Time::from_picos(crossing.picos() - 1);
        bench.offer(begins, other, 0, largest);
        bench.until(at(200_000));
        most = most.max(bench.fabric.ingress(one).headroom);
    }
    (most, bound)
}

/// The computed headroom is needed but for a few bytes: less than two, where rates are equal and cables such that bytes are
/// whole on them. So with one frame less, frames are lost.
#[test]
fn the_bound_is_reached() {
    let rate = Rate::from_gbps;
    for (rates, delay, response, largest) in [
        ((rate(10), rate(10)), 0, 0, 1518),
        ((rate(10), rate(10)), 500, 0, 1518),
        // three full frames and 8 B in the window: less than a gap
        ((rate(10), rate(10)), 1200, 0, 1518),
        ((rate(10), rate(10)), 1000, 700, 1000),
        ((rate(10), rate(1)), 200, 0, 1518),
        ((rate(40), rate(40)), 500, 300, 600),
    ] {
        let (needed, bound) = worst(rates, Span::from_nanos(delay), Span::from_nanos(response), largest);
        assert!(needed <= bound, "{needed} of {bound}");
        assert!(bound - needed <= 2, "{needed} of {bound}: {rates:?}, {delay} ns, {response} ns, {largest} B");
    }
}

/// One byte less than the worst case needs, and a frame is lost.
#[test]
fn less_headroom_loses_a_frame() {
    let rate = Rate::from_gbps(10);
    let (graph, [a, b], [one, _]) =
        line(wire(rate, Span::ZERO), wire(rate, Span::ZERO), wire(Rate::from_mbps(1), Span::ZERO));
    // Without delay: 1,518 + 20 B and 84 B on the way back are one full frame and 84 B of wire forth.
    let bound = whole_frame_headroom(&cable(&graph, one, 1518, Span::ZERO)).get();
    assert_eq!(bound, 1538 + 84 - 2 * 20 + 2 * 1518);
    let lost = |headroom| {
        let mut own = spec(&graph, 1 << 3, 1518, (0, 0));
        own.thresholds.iter_mut().for_each(|own| own.headroom = headroom);
        let mut bench = Bench::new(graph.clone(), own);
        let (hop, other) = (bench.route(a, b), bench.way(&[one.reverse()]));
        // crossing at 1,538 B; then 64 + 20, 1,537 and a full one, begun 1 B before the host obeys at 3,160 B
        for size in [1518, 64, 1517, 1518, 1518, 1518] {
            bench.offer(at(0), hop, 3, size);
        }
        bench.offer(Time::from_picos(1538 * 800 - 1), other, 0, 1518);
        bench.until(at(100_000));
        bench.dropped()
    };
    assert_eq!((lost(bound), lost(bound - 1), lost(bound - 2)), (0, 0, 1));
}
