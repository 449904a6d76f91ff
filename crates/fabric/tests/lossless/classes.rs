//! Which class sends (IEEE 802.1Qaz).

use headway_fabric::{ClassSpec, LosslessSpec, PauseKind};
use headway_units::{Rate, Span, Time};

use super::bench::{Bench, Fate, at, line, spec, wire};

fn class(strict: bool, share: u32) -> ClassSpec {
    ClassSpec { strict, share, marks: None }
}

/// Frames of all priorities in `backlogged` wait at a switch of 1 Gb/s for longer than it runs; bytes by priority that
/// arrive in 10 ms.
fn shares(classes: Vec<ClassSpec>, class_of: [u8; 8], backlogged: &[(u8, u16)], pause: PauseKind) -> [u64; 8] {
    let (fast, slow) = (Rate::from_gbps(40), Rate::from_gbps(1));
    let (graph, [a, b], _) = line(wire(fast, Span::ZERO), wire(fast, Span::ZERO), wire(slow, Span::ZERO));
    let own = LosslessSpec { classes, class_of, pause, ..spec(&graph, 0xFF, 1518, (30_000, 20_000)) };
    let mut bench = Bench::new(graph, own);
    let hop = bench.route(a, b);
    let mut sent = Vec::new();
    for &(priority, size) in backlogged {
        for _ in 0..1_500_000 / u32::from(size) {
            sent.push((priority, size));
            bench.offer(at(0), hop, priority, size);
        }
    }
    bench.until(at(10_000_000));
    let mut bytes = [0; 8];
    for ((priority, size), fate) in sent.into_iter().zip(&bench.fates) {
        if matches!(fate, Fate::Arrived(_)) {
            bytes[usize::from(priority)] += u64::from(size) + 20;
        }
    }
    bytes
}

const EACH: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The acceptance of ETS is ±10 % of the share over 10 ms (802.1Q-2018 §37.3); deficits are far closer. Frames are of
/// different sizes, and senders are paused all the while.
#[test]
fn classes_have_their_shares() {
    let classes = vec![class(false, 10), class(false, 30), class(false, 60)];
    for pause in [PauseKind::Priority, PauseKind::Nothing] {
        let got = shares(classes.clone(), [0, 1, 2, 0, 0, 0, 0, 0], &[(0, 1500), (1, 300), (2, 900)], pause);
        let all: u64 = got.iter().sum();
        assert!((1_225_000..=1_250_000).contains(&all), "the line is busy: {all}");
        for (priority, share) in [(0, 0.1), (1, 0.3), (2, 0.6)] {
            let part = got[priority] as f64 / all as f64;
            // a gap of 20 B is not in the deficit of a class
            assert!((part / share - 1.0f64).abs() < 0.05, "{pause:?}, {priority}: {part} of {share}");
        }
    }
}

#[test]
fn what_a_class_does_not_use_goes_to_the_others() {
    let classes = vec![class(false, 50), class(false, 30), class(false, 20)];
    let got = shares(classes, [0, 1, 2, 0, 0, 0, 0, 0], &[(1, 1000), (2, 1000)], PauseKind::Priority);
    let part = got[1] as f64 / (got[1] + got[2]) as f64;
    assert!((part - 0.6).abs() < 0.02, "{part}");
}

#[test]
fn strict_classes_go_first_and_the_highest_of_them_before_the_others() {
    let classes = vec![class(false, 1), class(true, 1), class(true, 1)];
    let of = [0, 0, 0, 0, 0, 1, 2, 0];
    let got = shares(classes.clone(), of, &[(0, 1000), (5, 1000), (6, 1000)], PauseKind::Nothing);
    assert!(got[6] > 1_230_000 && got[5] < 5_000 && got[0] < 5_000, "{got:?}");
    let got = shares(classes, of, &[(0, 1000), (5, 1000)], PauseKind::Nothing);
    assert!(got[5] > 1_230_000 && got[0] < 5_000, "{got:?}");
}

/// Two priorities of one class leave in the order in which they came.
#[test]
fn a_class_is_first_in_first_out() {
    let (graph, [a, b], _) = line(
        wire(Rate::from_gbps(10), Span::ZERO),
        wire(Rate::from_gbps(10), Span::ZERO),
        wire(Rate::from_gbps(1), Span::ZERO),
    );
    let own = LosslessSpec { classes: vec![class(false, 1)], class_of: [0; 8], ..spec(&graph, 0, 1500, (0, 0)) };
    let mut bench = Bench::new(graph, own);
    let hop = bench.route(a, b);
    for number in 0..100u16 {
        bench.offer(at(u64::from(number)), hop, (number * 5 % 8) as u8, 100 + number);
    }
    bench.until(Time::NEVER);
    let times = bench.arrivals();
    assert!(times.is_sorted() && times.iter().all(Option::is_some));
}

/// Three of eight equal classes have a third each.
#[test]
fn each_priority_has_a_class_by_default() {
    let got = shares(vec![class(false, 1); 8], EACH, &[(1, 1000), (4, 1000), (7, 1000)], PauseKind::Priority);
    let all: u64 = got.iter().sum();
    for priority in [1, 4, 7] {
        assert!((got[priority] as f64 / all as f64 * 3.0 - 1.0).abs() < 0.02, "{got:?}");
    }
}
