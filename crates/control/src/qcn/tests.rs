//! Traces by hand, and the standard's numbers.

use super::*;

const LINE: Rate = Rate::from_gbps(10);

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Feedback of a queue that was `before` at the sample before and is `queue` now.
fn feedback(before: u64, queue: u64) -> Option<Feedback> {
    let mut point = CongestionPoint::new(CongestionParameters::default());
    point.sample(Bytes::new(before), 0.5);
    point.sample(Bytes::new(queue), 0.5).feedback
}

/// Q_eq = 26,000 and w = 2: the largest |Fb| is 130,000. Q_off = 26,000 and Q_delta = 26,000 make 78,000, and
/// 78,000·63/130,000 = 37.8.
#[test]
fn feedback_is_quantised_in_six_bits() {
    let of = |before, queue| feedback(before, queue).map(|own| own.code);
    assert_eq!(feedback(26_000, 52_000), Some(Feedback { code: 37, offset: 26_000, delta: 26_000 }));
    assert_eq!(of(26_000, 26_000), None, "at the set point nothing is said");
    assert_eq!(of(30_000, 28_000), None, "it shrinks by 2,000, which weighs 4,000: more than it is too long");
    assert_eq!(of(0, 1 << 40), Some(63));
    // Q_off = 26,000, Q_delta = 52,000: exactly the largest
    assert_eq!(of(0, 52_000), Some(63));
    // 26,000·63/130,000 = 12.6
    assert_eq!(of(52_000, 52_000), Some(12));
}

/// After code 37 the next sample comes 30,000 B later (37 / 8 = 4), after no feedback 150,000 B later; ±15 %.
#[test]
fn the_worse_the_queue_the_sooner_the_next_sample() {
    let distance = |queue: u64, draw: f64, base: u64| {
        let parameters = CongestionParameters { sample_base: Bytes::new(base), ..CongestionParameters::default() };
        let mut point = CongestionPoint { parameters, before: 26_000 };
        let sampled = point.sample(Bytes::new(queue), draw);
        assert_eq!(sampled.feedback.is_some(), queue > 26_000);
        sampled.next.get()
    };
    assert_eq!(distance(52_000, 0.5, 150_000), 30_000);
    assert_eq!(distance(52_000, 0.0, 150_000), 25_500);
    assert_eq!(distance(0, 1.0, 150_000), 172_500);
    assert_eq!(distance(1 << 30, 0.5, 150_000), 18_500);
    assert_eq!(distance(1 << 30, 0.5, 300_000), 37_000);
}

/// Code 63 leaves 1 − 63/128 = 0.508 of the rate.
#[test]
fn feedback_cuts_the_rate() {
    let mut point = ReactionPoint::new(ReactionParameters::default(), LINE);
    assert!(!point.is_active());
    point.on_feedback(at(0), 63);
    assert_eq!(point.rate(), Rate::from_bps(5_078_125_000));
    assert_eq!(point.target(), LINE);
    // a second one before anything was sent leaves the target alone
    point.on_feedback(at(0), 64);
    assert_eq!((point.rate(), point.target()), (Rate::from_bps(5_078_125_000 * 65 / 128), LINE));
    point.on_sent(at(0), Bytes::new(1));
    let before = point.rate();
    point.on_feedback(at(0), 1);
    assert_eq!(point.target(), before);
    for _ in 0..100 {
        point.on_feedback(at(0), 63);
    }
    assert_eq!(point.rate(), Rate::from_mbps(5), "the least rate");
}

/// By bytes alone: each 150,000 B of the first four cycles halve the distance to the target; the fifth is the first of
/// additive increase, and from then on a cycle has 75,000 B.
#[test]
fn bytes_bring_the_rate_back() {
    let mut point = ReactionPoint::new(ReactionParameters::default(), LINE);
    point.on_feedback(at(0), 63);
    point.on_sent(at(0), Bytes::new(1));
    point.on_feedback(at(0), 63);
    // target 5,078.125 Mb/s, rate 2,578.735 Mb/s
    let (mut rate, mut target) = (5_078_125_000.0 * 65.0 / 128.0, 5_078_125_000.0);
    for cycle in 1..=7 {
        let period = if cycle <= 5 { 150_000 } else { 75_000 };
        point.on_sent(at(0), Bytes::new(period - 1));
        assert_eq!(point.rate().bps(), rate as u64, "cycle {cycle} is not over");
        point.on_sent(at(0), Bytes::new(1));
        if cycle >= 5 {
            target += 5e6;
        }
        rate = f64::midpoint(rate, target);
        assert_eq!(point.rate().bps(), rate as u64, "cycle {cycle}");
    }
}

/// Both counters past five: the steps of 50 Mb/s grow with the cycles. The timer has 15 ms, later 7.5 ms.
#[test]
fn both_counters_make_the_increase_hyper() {
    let mut point = ReactionPoint::new(ReactionParameters::default(), LINE);
    point.on_feedback(at(0), 63);
    point.on_sent(at(0), Bytes::new(1));
    point.on_feedback(at(0), 63);
    point.on_sent(at(0), Bytes::new(5 * 150_000));
    let target = point.target().bps();
    assert_eq!(target, 5_083_125_000, "one additive step");
    point.advance(at(4 * 15));
    assert_eq!(point.target().bps(), target + 4 * 5_000_000, "additive as long as the timer is behind");
    point.advance(at(5 * 15));
    assert_eq!(point.target().bps(), target + 4 * 5_000_000 + 50_000_000);
    point.on_sent(at(75), Bytes::new(75_000));
    assert_eq!(point.target().bps(), target + 4 * 5_000_000 + 2 * 50_000_000, "the timer's count is the lesser: 5");
    point.advance(Time::ZERO + Span::from_micros(82_500));
    assert_eq!(point.target().bps(), target + 4 * 5_000_000 + 2 * 50_000_000 + 2 * 50_000_000);
}

#[test]
fn a_flow_that_has_its_rate_again_is_released() {
    let mut point = ReactionPoint::new(ReactionParameters::default(), LINE);
    point.on_feedback(at(0), 10);
    point.advance(at(1_000_000));
    assert_eq!((point.is_active(), point.rate()), (false, LINE));
}

/// With steps of zero the target is never the line's rate, and nothing moves once it is reached: a silence of an hour is
/// passed at once, though it has 3.6 · 10⁹ cycles of a microsecond.
#[test]
fn a_silence_is_passed_at_once_without_steps() {
    let zero = Rate::from_bps(0);
    let cycle = Span::from_micros(1);
    let increase = limiter::Increase {
        threshold: 5,
        hyper_from: 6,
        additive: zero,
        hyper: zero,
        timer: (cycle, cycle),
        bytes: (Bytes::new(1000), Bytes::new(1000)),
    };
    let mut limiter = Limiter::new(LINE);
    for bytes in [0, 20_000] {
        (0..2).for_each(|_| limiter.cut(at(0), 0.5, false, Rate::from_mbps(1), &increase));
        let target = limiter.target();
        limiter.on_sent(Bytes::new(bytes), &increase);
        limiter.advance(Time::ZERO + Span::from_secs(3600), &increase);
        assert_eq!((limiter.rate(), limiter.target()), (target, target));
    }
}
