//! A ring of switches in which every host sends to the one two switches on.

use headway_fabric::{Graph, LinkId, LosslessSpec, NodeId, PauseKind, Watchdog, WatchdogAction};
use headway_units::{Rate, Span, Time};

use super::bench::{Bench, Fate, at, spec, wire};

/// `count` switches in a ring, a host at each; the links forth around, and the hosts.
fn ring(count: usize, rate: Rate) -> (Graph, Vec<LinkId>, Vec<NodeId>) {
    let mut graph = Graph::new();
    let own = wire(rate, Span::from_micros(1));
    let switches: Vec<_> = (0..count).map(|n| graph.add_switch(format!("s{n}"), Span::ZERO).unwrap()).collect();
    let forth =
        (0..count).map(|n| graph.connect(switches[n], switches[(n + 1) % count], own, own).unwrap().0).collect();
    let hosts = (0..count)
        .map(|n| {
            let host = graph.add_host(format!("h{n}"), Span::ZERO).unwrap();
            graph.connect(host, switches[n], own, own).unwrap();
            host
        })
        .collect();
    (graph, forth, hosts)
}

/// Every host sends `frames` of 1,000 B to the one `far` switches on, at once.
fn bench(far: usize, frames: u32, change: impl FnOnce(&mut LosslessSpec)) -> (Bench, Vec<LinkId>) {
    let (graph, forth, hosts) = ring(5, Rate::from_gbps(10));
    let mut own = spec(&graph, 1 << 3, 1000, (5000, 3000));
    own.quanta = 1000;
    change(&mut own);
    let mut bench = Bench::new(graph, own);
    for n in 0..5 {
        let up = bench.graph.interfaces(hosts[n])[0];
        let down = bench.graph.interfaces(hosts[(n + far) % 5])[0].reverse();
        let around = (0..far).map(|step| forth[(n + step) % 5]);
        let path: Vec<LinkId> = std::iter::once(up).chain(around).chain([down]).collect();
        let hop = bench.way(&path);
        for _ in 0..frames {
            bench.offer(at(0), hop, 3, 1000);
        }
    }
    (bench, forth)
}

/// Each link of the ring carries two flows at full rate, so every switch pauses the one before it: nothing moves any more.
#[test]
fn a_ring_of_flows_two_hops_on_stops_for_ever() {
    let (mut bench, forth) = bench(2, 500, |_| {});
    bench.until(at(10_000_000));
    let before = bench.arrivals().iter().flatten().count();
    assert!(before < 5 * 500);
    let deadlocks = bench.fabric.deadlocks(bench.now);
    assert_eq!((deadlocks.count, deadlocks.now), (1, true));
    let (found, mut cycle) = deadlocks.first.unwrap();
    cycle.sort();
    assert_eq!(cycle, forth.iter().map(|&link| (link, 3)).collect::<Vec<_>>());
    assert!(found < at(200_000), "it was found when a pause was asked for again: {found}");
    bench.until(at(50_000_000));
    assert_eq!(bench.arrivals().iter().flatten().count(), before);
    assert_eq!((bench.dropped(), bench.overflows()), (0, 0));
    bench.fabric.assert_conserved();
}

/// So does one whose links are paused as a whole.
#[test]
fn pause_frames_for_whole_links_deadlock_as_well() {
    let (mut bench, forth) = bench(2, 500, |own| own.pause = PauseKind::Link);
    bench.until(at(10_000_000));
    let deadlocks = bench.fabric.deadlocks(bench.now);
    let mut cycle = deadlocks.first.unwrap().1;
    cycle.sort();
    assert_eq!(cycle, forth.iter().map(|&link| (link, 0)).collect::<Vec<_>>());
}

/// One hop on there is no circle: what is congested drains, and is no deadlock however long it is paused.
#[test]
fn congestion_is_no_deadlock() {
    let (mut bench, _) = bench(1, 500, |_| {});
    bench.until(Time::NEVER);
    bench.assert_all_arrived();
    assert_eq!(bench.fabric.deadlocks(bench.now).count, 0);
}

/// The watchdog ends it: frames are lost, and all others arrive.
#[test]
fn the_watchdog_ends_a_deadlock() {
    let (detect, restore) = (Span::from_micros(400), Span::from_micros(400));
    let watchdog = Some(Watchdog { detect, restore, action: WatchdogAction::Drop });
    let (mut bench, _) = bench(2, 500, |own| own.watchdog = watchdog);
    bench.until(Time::NEVER);
    let deadlocks = bench.fabric.deadlocks(bench.now);
    assert!(deadlocks.count >= 1 && !deadlocks.now, "{deadlocks:?}");
    assert!(bench.fates.iter().all(|fate| *fate != Fate::OnItsWay));
    assert!(bench.dropped() > 0 && bench.overflows() == 0);
    bench.fabric.assert_conserved();
    assert_eq!(bench.fabric.in_flight(), 0);
}
