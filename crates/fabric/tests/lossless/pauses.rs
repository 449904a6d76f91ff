//! Pauses, by hand.

use headway_fabric::{LosslessSpec, PauseKind};
use headway_units::{Bytes, Rate, Span, Time};

use super::bench::{Bench, Fate, at, enough, line, spec, wire};

fn picos(picos: u64) -> Time {
    Time::from_picos(picos)
}

/// 10 Gb/s to the switch, 1 Gb/s behind it, 1 µs each; frames of 1,000 B: 816 ns and 8,160 ns with the gap. Thresholds of
/// 3,000 and 1,000 B.
fn bench(frames: u64, change: impl FnOnce(&mut LosslessSpec)) -> Bench {
    let (fast, slow) = (Rate::from_gbps(10), Rate::from_gbps(1));
    let delay = Span::from_micros(1);
    let (graph, [a, b], _) = line(wire(fast, delay), wire(fast, delay), wire(slow, delay));
    let mut own = spec(&graph, 1 << 3, 1000, (3000, 1000));
    change(&mut own);
    own.thresholds = enough(&graph, 1000, own.response, (3000, 1000));
    let mut bench = Bench::new(graph, own);
    let hop = bench.route(a, b);
    for _ in 0..frames {
        bench.offer(at(0), hop, 3, 1000);
    }
    bench
}

/// Frame k is at the switch at k · 816 + 1,000 ns. The fourth is beyond 3,000 B, at 4,264 ns: the pause frame of 84 B takes
/// 67.2 ns and 1 µs, so the host stops at 5,331.2 ns, when its seventh frame (from 4,896 to 5,712 ns) is on the line. The
/// first leaves the switch at 1,816 + 8,160 ns, the sixth at 50,776 ns: then the last of the seven is there, 1,000 B, and
/// the host goes on 1,067.2 ns later.
#[test]
fn a_pause_begins_and_ends_when_it_must() {
    let mut bench = bench(8, |_| {});
    bench.until(Time::NEVER);
    bench.assert_all_arrived();
    let [first, _] = [0, 2].map(headway_fabric::LinkId);
    let ingress = bench.fabric.ingress(first);
    assert_eq!((ingress.deepest, ingress.headroom, ingress.drops.frames), (7000, 4000, 0));
    let card = bench.fabric.pauses(bench.now, first);
    assert_eq!(card.paused[3], picos(51_843_200).since(picos(5_331_200)));
    assert_eq!(card.paused.iter().filter(|paused| !paused.is_zero()).count(), 1, "one priority");
    let switch = bench.fabric.pauses(bench.now, first.reverse());
    assert_eq!((switch.pauses, switch.resumes), (1, 1));
    // the eighth is at the switch at 51,843.2 + 816 + 1,000 ns, before the seventh has left at 58,936 ns
    let times: Vec<Option<Time>> = bench.arrivals();
    assert_eq!(times[6], Some(at(58_936 + 1000)));
    assert_eq!(times[7], Some(at(58_936 + 8160 + 1000)));
}

/// With 2 µs of response the host stops at 7,331.2 ns: frames begin until 7 · 816 = 5,712, 6,528 ns (the ninth), so nine are
/// sent; it goes on 2 µs later than it hears.
#[test]
fn a_response_time_lets_more_frames_begin() {
    let mut bench = bench(11, |own| own.response = Span::from_micros(2));
    bench.until(at(40_000));
    assert_eq!(bench.fabric.ingress(headway_fabric::LinkId(0)).deepest, 9000);
    bench.until(Time::NEVER);
    bench.assert_all_arrived();
    // eight of nine have left at 1,816 + 8 · 8,160 ns
    let paused = bench.fabric.pauses(bench.now, headway_fabric::LinkId(0)).paused[3];
    assert_eq!(paused, picos(1_816_000 + 8 * 8_160_000 + 3_067_200).since(picos(7_331_200)));
}

/// A pause frame waits for the frame that is being transmitted, and for nothing else.
#[test]
fn a_pause_frame_waits_for_one_frame() {
    let fast = Rate::from_gbps(10);
    let (graph, [a, b], [one, _]) =
        line(wire(fast, Span::ZERO), wire(fast, Span::ZERO), wire(Rate::from_gbps(1), Span::ZERO));
    let mut bench = Bench::new(graph.clone(), spec(&graph, 1 << 3, 1000, (1000, 1000)));
    let (forth, back) = (bench.route(a, b), bench.way(&[one.reverse()]));
    // the switch begins a frame of another priority to a at 1,200 ns, with others behind it; frame 2 comes at 1,632 ns
    for _ in 0..4 {
        bench.offer(at(0), forth, 3, 1000);
    }
    for _ in 0..5 {
        bench.offer(at(1200), back, 0, 1000);
    }
    bench.until(Time::NEVER);
    bench.assert_all_arrived();
    // the one begun at 1,200 ends at 2,016 ns; the pause is there 67.2 ns later, before the fourth frame at 2,448 ns
    assert_eq!(bench.fabric.ingress(one).deepest, 3000);
    assert_eq!(bench.arrivals()[4], Some(at(2016)));
    assert_eq!(bench.arrivals()[5], Some(picos(2_016_000 + 67_200 + 816_000)), "behind the pause frame");
}

/// A pause stops its own priority; PAUSE stops all.
#[test]
fn a_pause_stops_one_priority_and_pause_the_link() {
    for (kind, stopped) in [(PauseKind::Priority, false), (PauseKind::Link, true)] {
        let mut bench = bench(20, |own| own.pause = kind);
        let [a, b] = [0, 1].map(headway_fabric::NodeId);
        let hop = bench.route(a, b);
        bench.until(at(10_000));
        bench.offer(at(10_000), hop, 5, 1000);
        bench.until(at(40_000));
        // one class each, so the frame of the other priority is second at the switch if it comes
        assert_eq!(matches!(bench.fates[20], Fate::OnItsWay), stopped, "{kind:?}");
        bench.until(Time::NEVER);
        bench.assert_all_arrived();
        let paused = bench.fabric.pauses(bench.now, headway_fabric::LinkId(0)).paused;
        assert_eq!(paused.iter().filter(|span| !span.is_zero()).count(), if stopped { 8 } else { 1 });
    }
}

/// Pauses of 10 quanta (512 ns at 10 Gb/s) are asked for again after half of that, and last as long as one long pause.
#[test]
fn short_pauses_are_asked_for_again() {
    let mut bench = bench(8, |own| own.quanta = 10);
    bench.until(Time::NEVER);
    bench.assert_all_arrived();
    let card = bench.fabric.pauses(bench.now, headway_fabric::LinkId(0));
    assert_eq!(card.paused[3], picos(51_843_200).since(picos(5_331_200)));
    // from 4,264 to 50,776 ns, every 256 ns
    let switch = bench.fabric.pauses(bench.now, headway_fabric::LinkId(1));
    assert_eq!((switch.pauses, switch.resumes), (1 + (50_776 - 4_264) / 256, 1));
}

/// Without pauses nothing stops, and frames without a limit all wait at the switch.
#[test]
fn classes_alone_pause_nobody() {
    let mut bench = bench(30, |own| own.pause = PauseKind::Nothing);
    bench.until(Time::NEVER);
    bench.assert_all_arrived();
    assert_eq!(bench.fabric.pauses(bench.now, headway_fabric::LinkId(1)).pauses, 0);
}

/// A limit on what comes over the way back, with room for no frame at all, takes data and lets pauses through.
#[test]
fn a_limit_takes_no_pause_frame() {
    let mut bench = bench(8, |_| {});
    let back = headway_fabric::LinkId(1);
    bench.fabric.allow_policing(back, Bytes::new(63));
    bench.fabric.police(at(0), back, Some(Rate::from_mbps(1)));
    let hop = bench.way(&[back]);
    bench.offer(at(0), hop, 0, 64);
    bench.until(Time::NEVER);
    assert!(matches!(bench.fates[8], Fate::Dropped(_)), "{:?}", bench.fates[8]);
    assert_eq!(bench.fabric.counters(back).policed.frames, 1);
    assert_eq!(
        bench.fabric.pauses(bench.now, headway_fabric::LinkId(0)).paused[3],
        picos(51_843_200).since(picos(5_331_200))
    );
    bench.fabric.assert_conserved();
}
