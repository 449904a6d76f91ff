//! DCTCP's queue against Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010, doi:10.1145/1851182.1851192, §3.3.
//!
//! N flows with the same round trip and together, C in frames: the window at which marks begin is W* = (C·RTT + K)/N;
//! a round trip later each has W* + 1, so Q_max = K + N. The part marked is that round trip of each period, which gives
//! α ≈ √(2/W*); each window falls by D = (W* + 1)·α/2 and grows by 1 a round trip: amplitude A = N·D, period D
//! round trips, and N·D ≈ ½·√(2N(C·RTT + K)) (eq. 8).

use headway_control::congestion::AnyController;
use headway_fabric::Limit;
use headway_transport::{Profile, SampleKind, SampleOf};
use headway_units::{Rate, Span};

use crate::common::{EMPTY, FULL, MSS, Setup, assert_near, dumbbell, marking, profile, transmission, wire};

const RATE: Rate = Rate::from_gbps(10);
const ACCESS: Rate = Rate::from_gbps(100);
/// C·RTT in frames.
const PIPE: u64 = 80;
const WARMUP: Span = Span::from_millis(20);
const SPAN: Span = Span::from_millis(60);

struct Queue {
    least: f64,
    most: f64,
    /// Mean time between maxima, round trips of the empty path.
    period: f64,
    /// Of the link, in payload.
    utilisation: f64,
}

/// `n` flows at a marking threshold of `k` frames.
fn run(n: usize, k: u32) -> Queue {
    let full = transmission(RATE, FULL);
    let others = transmission(ACCESS, FULL + EMPTY) * 2 + transmission(RATE, EMPTY);
    let delay = (full * (PIPE - 1) - others) / 2;
    let net = dumbbell(&vec![wire(ACCESS, Span::ZERO); n], marking(wire(RATE, delay), Limit::Packets(k)));
    let control = AnyController::by_name("dctcp").expect("a known control");
    let mut setup = Setup::new(&net.net, Profile { control, ecn: true, ..profile() })
        .sample(full, &[SampleKind::Queue, SampleKind::Goodput]);
    setup.measure.links = vec![net.bottleneck];
    for i in 0..n {
        setup = setup.flow(net.pairs[i], None, Span::ZERO);
    }
    let outcome = setup.run(SPAN);
    assert_eq!(outcome.totals.drops, 0);
    let queue: Vec<_> = outcome
        .series(SampleKind::Queue, SampleOf::Link(net.bottleneck), WARMUP)
        .iter()
        .map(|&(time, bytes)| (time, bytes / 1518.0))
        .collect();
    let least = queue.iter().map(|q| q.1).fold(f64::INFINITY, f64::min);
    let most = queue.iter().map(|q| q.1).fold(0.0, f64::max);
    // Once a period the queue falls through the middle.
    let middle = f64::midpoint(least, most);
    let mut falls: Vec<f64> = Vec::new();
    let trip = (full * PIPE).as_secs_f64();
    for pair in queue.windows(2) {
        if pair[0].1 >= middle && pair[1].1 < middle && falls.last().is_none_or(|last| pair[1].0 - last > trip) {
            falls.push(pair[1].0);
        }
    }
    let period = (falls[falls.len() - 1] - falls[0]) / (falls.len() - 1) as f64 / trip;
    let goodput: f64 = (0..n as u64).map(|id| outcome.goodput(id, WARMUP)).sum();
    Queue { least, most, period, utilisation: goodput / (RATE.bps() as f64 * f64::from(MSS) / FULL as f64) }
}

/// W*, α and N·D by the exact equation α²(1 − α/4) = (2W* + 1)/(W* + 1)² (eq. 6).
fn theory(n: f64, k: f64) -> (f64, f64, f64) {
    let w = (PIPE as f64 + k) / n;
    let right = (2.0 * w + 1.0) / (w + 1.0).powi(2);
    let alpha = (0..50).fold(right.sqrt(), |alpha: f64, _| (right / (1.0 - alpha / 4.0)).sqrt());
    (w, alpha, n * (w + 1.0) * alpha / 2.0)
}

/// One and two flows are together, as the model has it. The maximum is exact but for the frame in transmission and the
/// segment that a growing window sends beside the acknowledged one, N each. α is one of 1024 steps and the fall whole
/// segments, of 6 to 8 a flow: N each way for the amplitude and 1 of D for the period. The queue delays a round
/// trip by K/(C·RTT) at most, so the period is between D and D·(1 + (K + N)/(C·RTT)) of the empty path's.
#[test]
fn the_queue_swings_as_the_model_says() {
    for (n, k) in [(1u32, 40u32), (1, 20), (2, 40), (2, 20)] {
        let (_, _, amplitude) = theory(n.into(), k.into());
        let got = run(n as usize, k);
        let (n, k) = (f64::from(n), f64::from(k));
        let what = format!("{n} flows, K {k}: {} … {}, period {}, theory {amplitude}", got.least, got.most, got.period);
        println!("{what}");
        assert!((got.most - (k + n)).abs() <= n + 1.0, "{what}");
        assert!((got.most - got.least - amplitude).abs() <= n + 1.0, "{what}");
        let trips = amplitude / n;
        let longest = (trips + 1.0) * (1.0 + (k + n) / PIPE as f64);
        assert!((trips - 1.0..=longest).contains(&got.period), "{what}");
        assert_near(&what, got.utilisation, 1.0, 0.001);
    }
}

/// The series of α is eq. 6's, and those of marks add up to what the port counted. One flow's α moves by a 16th of a round
/// trip's share: within 15 %, as whole segments have it (above).
#[test]
fn the_series_of_alpha_and_of_marks_are_the_models() {
    let k = 40;
    let full = transmission(RATE, FULL);
    let net = dumbbell(&[wire(ACCESS, Span::ZERO)], marking(wire(RATE, full * (PIPE - 1) / 2), Limit::Packets(k)));
    let control = AnyController::by_name("dctcp").expect("a known control");
    let interval = full * PIPE;
    let mut setup = Setup::new(&net.net, Profile { control, ecn: true, ..profile() })
        .sample(interval, &[SampleKind::Alpha, SampleKind::Marks])
        .flow(net.pairs[0], None, Span::ZERO);
    setup.measure.links = vec![net.bottleneck];
    let outcome = setup.run(interval * (SPAN.picos() / interval.picos()));
    let alphas = outcome.series(SampleKind::Alpha, SampleOf::Subflow(0, 0, 0), WARMUP);
    let mean = alphas.iter().map(|&(_, alpha)| alpha).sum::<f64>() / alphas.len() as f64;
    let (_, alpha, _) = theory(1.0, k.into());
    assert_near("α", mean, alpha, 0.15);
    let marks = outcome.series(SampleKind::Marks, SampleOf::Link(net.bottleneck), Span::ZERO);
    let sum: f64 = marks.iter().map(|&(_, marks)| marks).sum();
    assert!(sum > 100.0, "{sum}");
    let counted = outcome.port(net.bottleneck).marked as f64;
    assert!(
        counted - sum <= marks.last().map_or(0.0, |&(_, last)| last) + 20.0 && sum <= counted,
        "{sum} of {counted}"
    );
}

/// The approximation of eq. 8 is within 10 % of the exact one here, and so is α's.
#[test]
fn the_approximations_hold() {
    for (n, k) in [(1.0, 40.0), (2.0, 40.0), (1.0, 20.0)] {
        let (w, alpha, amplitude) = theory(n, k);
        assert_near("α", alpha, (2.0 / w).sqrt(), 0.05);
        assert_near("A", amplitude, 0.5 * (2.0 * n * (PIPE as f64 + k)).sqrt(), 0.10);
    }
}

/// Ten flows are not all together (the paper's fig. 12 says so for many): the queue swings less than the model, and so
/// stays below its maximum and above its minimum; the link is never idle.
#[test]
fn ten_flows_stay_within_the_model() {
    let k = 40.0;
    let (_, _, amplitude) = theory(10.0, k);
    let got = run(10, 40);
    let what = format!("{} … {}, theory {amplitude}", got.least, got.most);
    println!("{what}");
    assert!(got.most <= k + 20.0 && got.most >= k, "{what}");
    assert!(got.least >= k + 10.0 - amplitude - 10.0, "{what}");
    assert_near(&what, got.utilisation, 1.0, 0.001);
}

/// §3.4: K > C·RTT/7 keeps the queue from running empty. Far below, with one flow and K = 1, it swings from 2 by A = 6.4: it
/// would go to −4.4, so for 4.4/6.4 of the time 2.2 of the 80 frames are missing on average: 1.9 %. Whole segments make
/// A up to one more or less: 1.3 to 2.6 %.
///
/// Ten flows have windows of 9, which fall by whole segments: up to 10 frames more than the model's 20, missing as a triangle
/// for a third of the time: up to 2 %.
#[test]
fn a_seventh_of_the_pipe_is_enough_and_much_less_is_not() {
    for (n, tolerance) in [(1, 0.001), (2, 0.001), (10, 0.02)] {
        assert_near(&format!("{n} flows"), run(n, (PIPE / 7 + 1) as u32).utilisation, 1.0, tolerance);
    }
    let starved = run(1, 1).utilisation;
    assert!((0.974..0.987).contains(&starved), "{starved}");
}

/// D2TCP (Vamanan et al., SIGCOMM 2012): windows with marks fall by p/2, p = α^d. Two flows see the same marks and grow alike,
/// so W_near·α_near^2 = W_far·√α_far: the one that will be late (d = 2) gets more than the one with all the time (d = 1/2), by
/// α^-1.5 for equal α; W* of 60 gives α ≈ 0.18, a bound of 13 that whole segments and unequal α keep it from. Without deadlines
/// they share as equals.
#[test]
fn a_near_deadline_gets_more_than_a_far_one() {
    let ratio = |near: Option<Span>, far: Option<Span>| {
        let delay = transmission(RATE, FULL) * (PIPE - 1) / 2;
        let net = dumbbell(&[wire(ACCESS, Span::ZERO); 2], marking(wire(RATE, delay), Limit::Packets(40)));
        let control = AnyController::by_name("d2tcp").expect("a known control");
        // a second's worth each: neither ends
        let size = Some(RATE.bps() / 8);
        let mut setup = Setup::new(&net.net, Profile { control, ecn: true, ..profile() })
            .sample(Span::from_millis(1), &[SampleKind::Goodput])
            .flow(net.pairs[0], size, Span::ZERO)
            .flow(net.pairs[1], size, Span::ZERO);
        setup.flows[0].deadline = near;
        setup.flows[1].deadline = far;
        let outcome = setup.run(SPAN);
        outcome.goodput(0, WARMUP) / outcome.goodput(1, WARMUP)
    };
    assert_near("no deadlines", ratio(None, None), 1.0, 0.1);
    let favoured = ratio(Some(Span::from_millis(100)), Some(Span::from_secs(1000)));
    println!("near deadline over far: {favoured}");
    assert!((2.0..13.0).contains(&favoured), "{favoured}");
}
