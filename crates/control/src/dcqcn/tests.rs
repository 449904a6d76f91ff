//! Traces by hand.

use super::*;

const LINE: Rate = Rate::from_gbps(40);

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn gain(power: i32) -> f64 {
    (1.0 - 1.0 / 256.0_f64).powi(power)
}

/// α begins at 1: the first CNP halves the rate. Each later one cuts half of α.
#[test]
fn cnps_cut_by_half_of_alpha() {
    let mut point = ReactionPoint::new(Parameters::default(), LINE);
    assert_eq!((point.rate(), point.alpha()), (LINE, 1.0));
    point.on_cnp(us(0));
    assert_eq!((point.rate(), point.target()), (Rate::from_gbps(20), LINE));
    assert_eq!(point.alpha(), 1.0, "(1 − g)·1 + g");
    point.on_cnp(us(50));
    assert_eq!((point.rate(), point.target()), (Rate::from_gbps(10), Rate::from_gbps(20)), "the target comes down");
}

/// 550 µs without a CNP: ten periods of 55 µs, and α is (255/256)¹⁰ = 0.9616. The next cut takes half of that, and
/// leaves α = (255/256)¹¹ + 1/256.
#[test]
fn alpha_shrinks_without_cnps() {
    let mut point = ReactionPoint::new(Parameters::default(), LINE);
    point.advance(us(1_000_000));
    assert_eq!(point.alpha(), 1.0, "not before the first");
    point.on_cnp(us(1_000_000));
    point.advance(us(1_000_549));
    assert!((point.alpha() - gain(9)).abs() < 1e-12);
    point.advance(us(1_000_550));
    assert!((point.alpha() - gain(10)).abs() < 1e-12);
    let before = point.rate().bps() as f64;
    point.on_cnp(us(1_000_550));
    assert!((point.rate().bps() as f64 - before * (1.0 - gain(10) / 2.0)).abs() < 2.0);
    assert!((point.alpha() - (gain(11) + 1.0 / 256.0)).abs() < 1e-12);
}

/// From 20 to 40 Gb/s by the timer: 30, 35, 37.5, 38.75 in four cycles of fast recovery. The fifth adds 40 Mb/s to the
/// target, which is the line's rate already.
#[test]
fn the_timer_brings_the_rate_back() {
    let mut point = ReactionPoint::new(Parameters::default(), LINE);
    point.on_cnp(us(0));
    for (cycle, mbps) in [(1, 30_000), (2, 35_000), (3, 37_500), (4, 38_750), (5, 39_375)] {
        point.advance(us(55 * cycle - 1));
        assert!(point.rate() < Rate::from_mbps(mbps));
        point.advance(us(55 * cycle));
        assert_eq!(point.rate(), Rate::from_mbps(mbps), "cycle {cycle}");
    }
    assert_eq!(point.target(), LINE);
}

/// After two cuts the target is 20 Gb/s. The timer's fifth cycle begins additive increase, by 40 Mb/s each; with the sixth
/// of both it is hyper increase: F = 5 is to be exceeded.
#[test]
fn additive_and_hyper_increase_move_the_target() {
    let mut point = ReactionPoint::new(Parameters::default(), LINE);
    point.on_cnp(us(0));
    point.on_cnp(us(0));
    point.advance(us(4 * 55));
    assert_eq!(point.target(), Rate::from_gbps(20));
    point.advance(us(7 * 55));
    assert_eq!(point.target(), Rate::from_mbps(20_000 + 3 * 40));
    // five cycles by bytes: additive still
    point.on_sent(us(7 * 55), Bytes::new(50_000_000));
    assert_eq!(point.target(), Rate::from_mbps(20_000 + 8 * 40));
    point.on_sent(us(7 * 55), Bytes::new(9_999_999));
    assert_eq!(point.target(), Rate::from_mbps(20_000 + 8 * 40));
    point.on_sent(us(7 * 55), Bytes::new(1));
    assert_eq!(point.target(), Rate::from_mbps(20_000 + 8 * 40 + 200));
    point.on_sent(us(7 * 55), Bytes::new(10_000_000));
    assert_eq!(point.target(), Rate::from_mbps(20_000 + 8 * 40 + 200 + 400), "twice the step in the second cycle");
}

/// Asked once or in every cycle: the same.
#[test]
fn a_silence_is_made_up_for() {
    let mut once = ReactionPoint::new(Parameters::default(), LINE);
    for cut in 0..8 {
        once.on_cnp(us(cut));
    }
    let mut often = once.clone();
    for cycle in 0..2000 {
        often.advance(us(8 + 55 * cycle));
    }
    let end = us(8 + 55 * 2000);
    often.advance(end);
    once.advance(end);
    assert_eq!(once.rate(), often.rate());
    assert_eq!(once.rate(), LINE);
    assert!((once.alpha() - often.alpha()).abs() < 1e-12);
    // and after any silence a cut begins cycles anew; the first CNP cuts nothing, since α has come down to 0
    once.on_cnp(us(3_600_000_000));
    assert_eq!((once.rate(), once.alpha()), (LINE, 1.0 / 256.0));
    once.on_cnp(us(3_600_000_000));
    once.advance(us(3_600_000_054));
    let cut = once.rate();
    once.advance(us(3_600_000_055));
    assert!(once.rate() > cut);
}

#[test]
fn a_rate_has_a_floor() {
    let mut point = ReactionPoint::new(Parameters { least: Rate::from_mbps(100), ..Parameters::default() }, LINE);
    for _ in 0..100 {
        point.on_cnp(us(0));
    }
    assert_eq!(point.rate(), Rate::from_mbps(100));
    let mut slow = ReactionPoint::new(Parameters::default(), Rate::from_bps(1000));
    slow.on_cnp(us(0));
    assert_eq!(slow.rate(), Rate::from_bps(1000), "a line below the least rate");
}

#[test]
fn marks_are_answered_once_an_interval() {
    let parameters = Parameters::default();
    let mut point = NotificationPoint::default();
    let sent: Vec<u64> = (0..=200).filter(|&t| point.on_marked(us(t), &parameters)).collect();
    assert_eq!(sent, [0, 50, 100, 150, 200]);
}
