//! Links that fail under pauses.

use headway_engine::EventClass;
use headway_fabric::{Graph, LinkId, Step, Watchdog, WatchdogAction};
use headway_units::{Rate, Span, Time};

use super::bench::{Bench, Fate, at, line, spec, wire};

const FIRST: LinkId = LinkId(0);

fn bench(frames: u32, watchdog: Option<Watchdog>, quanta: u16) -> Bench {
    let (fast, slow) = (Rate::from_gbps(10), Rate::from_gbps(1));
    let delay = Span::from_micros(1);
    let (graph, [a, b], _) = line(wire(fast, delay), wire(fast, delay), wire(slow, delay));
    let mut own = spec(&graph, 1 << 3, 1000, (3000, 1000));
    (own.watchdog, own.quanta) = (watchdog, quanta);
    let mut bench = Bench::new(graph, own);
    let hop = bench.route(a, b);
    for _ in 0..frames {
        bench.offer(at(0), hop, 3, 1000);
    }
    bench
}

impl Bench {
    fn down(&mut self, now: Time, link: LinkId) {
        self.until(now);
        self.fabric.take_down(&mut self.queue, now, link);
        while let Some((_, packet)) = self.fabric.evicted() {
            self.fates[packet.body as usize] = Fate::Dropped(now);
        }
        self.fabric.assert_conserved();
    }

    fn up(&mut self, now: Time, link: LinkId) {
        self.until(now);
        self.fabric.bring_up(&mut self.queue, now, link);
        self.fabric.assert_conserved();
    }
}

/// The cable of a paused host fails and comes back: what waited at the host is lost, the pause is forgotten, and frames
/// that come then are paused anew and arrive.
#[test]
fn a_pause_ends_with_its_link() {
    let mut bench = bench(20, None, u16::MAX);
    for link in [FIRST, FIRST.reverse()] {
        bench.down(at(10_000), link);
    }
    assert_eq!(bench.dropped(), 20 - 7, "seven are at the switch");
    for link in [FIRST, FIRST.reverse()] {
        bench.up(at(11_000), link);
    }
    let [a, b] = [0, 1].map(headway_fabric::NodeId);
    let hop = bench.route(a, b);
    for _ in 0..10 {
        bench.offer(at(200_000), hop, 3, 1000);
    }
    bench.until(Time::NEVER);
    assert!(bench.fates[20..].iter().all(|fate| matches!(fate, Fate::Arrived(_))), "{:?}", bench.fates);
    assert_eq!((bench.overflows(), bench.fabric.in_flight()), (0, 0));
    bench.fabric.assert_conserved();
}

/// The switch still holds frames beyond its threshold when the cable comes back: it asks again.
#[test]
fn a_switch_that_is_full_asks_again_when_the_link_is_back() {
    let mut bench = bench(20, None, u16::MAX);
    for link in [FIRST, FIRST.reverse()] {
        bench.down(at(10_000), link);
    }
    let before = bench.fabric.pauses(bench.now, FIRST.reverse()).pauses;
    for link in [FIRST, FIRST.reverse()] {
        bench.up(at(10_500), link);
    }
    bench.until(at(12_000));
    assert_eq!(bench.fabric.pauses(bench.now, FIRST.reverse()).pauses, before + 1);
    bench.until(Time::NEVER);
    bench.fabric.assert_conserved();
    assert_eq!(bench.fabric.in_flight(), 0);
}

/// Only the host's way to the switch fails, and the host's port forgets: it is told again as soon as it is back, and not
/// when half of the pause is over, 1.7 ms later.
#[test]
fn a_sender_that_has_forgotten_is_told_again() {
    let mut bench = bench(20, None, u16::MAX);
    bench.down(at(10_000), FIRST);
    let before = bench.fabric.pauses(bench.now, FIRST.reverse()).pauses;
    bench.up(at(10_500), FIRST);
    let [a, b] = [0, 1].map(headway_fabric::NodeId);
    let hop = bench.route(a, b);
    for _ in 0..100 {
        bench.offer(at(10_500), hop, 3, 1000);
    }
    bench.until(at(12_000));
    assert_eq!(bench.fabric.pauses(bench.now, FIRST.reverse()).pauses, before + 1);
    bench.until(Time::NEVER);
    // paused at 10,500 + 1,067.2 ns, while its second frame is on the line
    assert!(bench.overflows() <= 2, "{}", bench.overflows());
    bench.fabric.assert_conserved();
    assert_eq!(bench.fabric.in_flight(), 0);
}

/// The link behind the switch fails: what waited for it leaves the accounts, and the host goes on.
#[test]
fn frames_that_are_lost_behind_a_switch_leave_its_accounts() {
    let mut bench = bench(20, None, u16::MAX);
    bench.down(at(10_000), LinkId(2));
    bench.until(at(20_000));
    assert_eq!(bench.fabric.pauses(bench.now, FIRST.reverse()).resumes, 1);
    bench.until(Time::NEVER);
    assert!(bench.fates.iter().all(|fate| matches!(fate, Fate::Dropped(_))), "{:?}", bench.fates);
    bench.fabric.assert_conserved();
    assert_eq!(bench.overflows(), 0, "what finds the link down needs no room");
}

/// The way back fails, so the switch cannot ask again: after 100 quanta, 5,120 ns at 10 Gb/s, the host goes on.
#[test]
fn a_pause_that_nobody_asks_for_again_runs_out() {
    let mut bench = bench(20, None, 100);
    bench.down(at(6000), FIRST.reverse());
    bench.until(at(6500));
    bench.until(at(30_000));
    let paused = bench.fabric.pauses(bench.now, FIRST).paused[3];
    assert_eq!(paused, Span::from_nanos(5120), "asked for at 4,264 ns, and not again at 6,824 ns");
}

/// A host that is paused for longer than 20 µs drops what waits, and what comes, until it was not paused for 30 µs.
#[test]
fn the_watchdog_drops_what_is_stuck() {
    let (detect, restore) = (Span::from_micros(20), Span::from_micros(30));
    let mut bench = bench(20, Some(Watchdog { detect, restore, action: WatchdogAction::Drop }), u16::MAX);
    let [a, b] = [0, 1].map(headway_fabric::NodeId);
    let hop = bench.route(a, b);
    // paused while the seventh is sent, until 5,712 ns: stuck at 25,712 ns
    bench.until(at(25_712));
    assert_eq!(bench.dropped(), 0);
    bench.until(at(25_713));
    assert_eq!(bench.dropped(), 13, "all but the seven at the switch");
    // it goes on at 51,843.2 ns and is watched again 30 µs later
    bench.offer(at(81_843), hop, 3, 1000);
    bench.offer(at(81_844), hop, 3, 1000);
    bench.until(Time::NEVER);
    assert_eq!(bench.fates[20], Fate::Dropped(at(81_843)));
    assert!(matches!(bench.fates[21], Fate::Arrived(_)));
    let card = bench.fabric.pauses(bench.now, FIRST);
    assert_eq!((card.stuck, card.watchdog_drops.frames), (1, 14));
    bench.fabric.assert_conserved();
}

/// It may send instead, at the risk of losses at the switch.
#[test]
fn the_watchdog_can_forward() {
    let (detect, restore) = (Span::from_micros(20), Span::from_micros(30));
    let mut bench = bench(20, Some(Watchdog { detect, restore, action: WatchdogAction::Forward }), u16::MAX);
    bench.until(Time::NEVER);
    let card = bench.fabric.pauses(bench.now, FIRST);
    assert_eq!((card.stuck, card.watchdog_drops.frames), (1, 0));
    assert!(bench.overflows() > 0, "the switch has no room");
    bench.fabric.assert_conserved();
    assert_eq!(bench.fabric.in_flight(), 0);
}

/// A stuck port drops each frame that comes, which had asked for a pause just before, since `xoff` is less than a frame: the
/// sender is let go on, and nobody is paused in the end.
#[test]
fn a_frame_that_asks_and_is_dropped_at_once_leaves_no_pause() {
    let (fast, slow) = (Rate::from_gbps(10), Rate::from_mbps(100));
    let mut graph = Graph::new();
    let [a, b] = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
    let [one, two] = ["s1", "s2"].map(|name| graph.add_switch(name, Span::ZERO).unwrap());
    for (from, to, rate) in [(a, one, fast), (one, two, fast), (two, b, slow)] {
        let own = wire(rate, Span::from_micros(1));
        graph.connect(from, to, own, own).unwrap();
    }
    let mut own = spec(&graph, 1 << 3, 1000, (500, 500));
    let (detect, restore) = (Span::from_micros(20), Span::from_micros(30));
    own.watchdog = Some(Watchdog { detect, restore, action: WatchdogAction::Drop });
    let mut bench = Bench::new(graph, own);
    let hop = bench.route(a, b);
    (0..40).for_each(|_| bench.offer(at(0), hop, 3, 1000));
    for step in 1..2000 {
        bench.until(at(step * 1000));
        bench.fabric.assert_conserved();
    }
    assert!(bench.fabric.pauses(bench.now, LinkId(2)).watchdog_drops.frames > 10);
    bench.offer(at(2_000_000), hop, 3, 1000);
    bench.until(at(3_000_000));
    assert!(matches!(bench.fates[40], Fate::Arrived(_)), "the sender may go on");
    assert!(bench.fates.iter().all(|fate| *fate != Fate::OnItsWay), "{:?}", bench.fates);
    assert_eq!(bench.fabric.in_flight(), 0);
}

/// Without delay a frame is at its end before its port is done with it, and its route may already be another one's.
#[test]
fn a_route_that_is_given_away_at_once_does_not_move_accounts() {
    let own = wire(Rate::from_gbps(10), Span::ZERO);
    let (mut graph, [a, b], [_, two]) = line(own, own, own);
    let other = graph.add_host("c", Span::ZERO).unwrap();
    let (third, _) = graph.connect(other, graph.link(two).from, own, own).unwrap();
    let spec = spec(&graph, 1 << 3, 1000, (3000, 1000));
    let mut bench = Bench::new(graph, spec);
    let hop = bench.route(a, b);
    bench.offer(at(0), hop, 3, 1000);
    let mut ended = 0;
    while let Some((now, source, sequence)) = bench.queue.peek() {
        if source.class() == EventClass::Departure {
            bench.fabric.departure(&mut bench.queue, now, source.entity(), sequence);
        } else if let Step::Delivered(..) = bench.fabric.arrival(&mut bench.queue, now, source.entity()) {
            bench.fabric.routes.remove(hop);
            assert_eq!(bench.way(&[third, two]), hop);
            ended += 1;
        }
        bench.fabric.assert_conserved();
    }
    assert_eq!(ended, 1);
}
