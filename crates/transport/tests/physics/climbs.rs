//! How windows come back after a loss: CUBIC's cubic function and HighSpeed's a(w) and b(w), in time series; and what
//! that means for a link with a small buffer.
//!
//! One flow at a drop-tail link whose empty path holds P = 400 segments in 100 ms, with a buffer of B: it loses at
//! Wₚ = P + B or a little later.

use headway_control::congestion::AnyController;
use headway_fabric::Limit;
use headway_transport::{Profile, SampleKind, SampleOf};
use headway_units::{Bytes, Rate, Span};

use crate::common::{EMPTY, FULL, MSS, Setup, assert_near, limited, line, profile, transmission, wire};

/// P.
const PIPE: u64 = 400;
/// The empty path's round trip, seconds.
const TRIP: f64 = 0.1;
/// Of sampling.
const STEP: Span = Span::from_millis(10);

/// The first peak, which the window passes fast, is over, seconds.
const SETTLED: f64 = 18.0;

/// What came of it: (time, window in segments) and the utilisation from the first fall looked at to the last.
struct Run {
    windows: Vec<(f64, f64)>,
    /// Indices of the last sample before each fall, and of the one after it.
    falls: Vec<(usize, usize)>,
    utilisation: f64,
}

fn run(control: &str, settings: &[(&str, f64)], buffer: u64, seconds: u64) -> Run {
    // P segments in a tenth of a second
    let rate = Rate::from_bps(FULL * 8 * PIPE * 10);
    let access = Rate::from_gbps(10);
    let others = transmission(rate, FULL + EMPTY) + transmission(access, FULL + EMPTY);
    let delay = (Span::from_secs_f64(TRIP) - others) / 2;
    let line = line(&[wire(access, Span::ZERO), limited(wire(rate, delay), Limit::Packets(buffer as u32))]);
    let mut control = AnyController::by_name(control).expect("a known control");
    for &(name, value) in settings {
        control.set(name, value).expect("a setting of the control");
    }
    let start = PIPE * 3 / 4;
    let profile = Profile {
        control,
        initial_ssthresh: Some(Bytes::new(start * u64::from(MSS))),
        limited_transmit: false,
        min_rto: Span::from_secs(1), // RFC 6298 §2.4: with a steady round trip of 0.2 s a smaller one is too short
        ..profile()
    };
    let outcome = Setup::new(&line.net, profile)
        .flow((line.source, line.sink), None, Span::ZERO)
        .sample(STEP, &[SampleKind::Goodput, SampleKind::Cwnd])
        .run(Span::from_secs(seconds));
    assert_eq!(outcome.ends[0].timeouts, 0);
    let windows: Vec<_> = outcome
        .series(SampleKind::Cwnd, SampleOf::Subflow(0, 0, 0), Span::ZERO)
        .iter()
        .map(|&(time, bytes)| (time, bytes / f64::from(MSS)))
        .collect();
    let falls: Vec<_> = (1..windows.len())
        .filter(|&i| windows[i].0 > SETTLED && windows[i].1 < 0.9 * windows[i - 1].1)
        .map(|i| (i - 1, i))
        .collect();
    assert!(falls.len() >= 4, "{} falls", falls.len());
    let (from, to) = (windows[falls[0].0].0, windows[falls[falls.len() - 1].0].0);
    let goodput = outcome.series(SampleKind::Goodput, SampleOf::Flow(0, 0), Span::ZERO);
    let during: Vec<f64> = goodput.iter().filter(|g| g.0 > from && g.0 <= to).map(|g| g.1).collect();
    let utilisation =
        during.iter().sum::<f64>() / during.len() as f64 / (rate.bps() as f64 * f64::from(MSS) / FULL as f64);
    Run { windows, falls, utilisation }
}

/// RFC 9438 §4.2 with C = 0.4 and β = 0.7: after the repair the window is W(t) = C (t − K)³ + W_max with K = ∛((1 − β)
/// W_max/C), 8.4 s for 800. The function's time begins when the repair ends, between one and two round trips after the
/// fall; the sender aims at a target that is the least round trip ahead and reaches it a round trip later, both between
/// 0.1 and 0.2 s here: so each sample is a value of the function between 0.4 s before and the time since the fall, give
/// or take a segment for the target's rounding, one for the window's. Fast convergence (§4.7), which takes any lower maximum
/// for a new flow's arrival, is off.
///
/// K itself: the last eight segments to the plateau take ∛(8/C) = 2.71 s, so K is 2.71 s after W_max − 8 is passed,
/// within the 0.4 s and what a segment takes there, 1/(3 C 2.71²) = 0.11 s.
#[test]
fn cubic_climbs_along_its_function() {
    let got = run("cubic", &[("fast_convergence", 0.0)], PIPE, 45);
    for pair in got.falls.windows(2) {
        let (max, fall) = (got.windows[pair[0].0].1, got.windows[pair[0].1].0);
        let k = libm::cbrt(0.3 * max / 0.4);
        let at = |t: f64| 0.4 * (t - k).powi(3) + max;
        let climb = &got.windows[pair[0].1..pair[1].0];
        assert_near("what is left", climb[0].1, 0.7 * max, 0.005);
        for &(time, window) in climb.iter().filter(|(time, _)| time - fall > 0.5) {
            let t = time - fall;
            let (low, high) = (at(t - 0.4) - 2.0, at(t) + 2.0);
            assert!((low..=high).contains(&window), "{t} s after {max}: {window} is not in {low} … {high}");
        }
        let passed = climb.iter().find(|(_, window)| *window >= max - 8.0).expect("it comes back").0 - fall;
        assert!((k..=k + 0.51).contains(&(passed + 2.714)), "K {k}, measured {}", passed + 2.714);
    }
}

/// CUBIC needs less buffer than Reno (β = 0.7): the link stays busy if 0.7 (P + B) ≥ P, B ≥ 0.43 P. Below, the window is
/// under P from t = 0 until the cubic function passes P, and the link idles by the difference: Σ (P − W(t))/P of the
/// epoch's K − ∛(1/C) and two round trips (targets are rounded up to the plateau's once less than a segment is missing;
/// the segment that reaches it overflows the queue, a round trip later it is noticed and a further one later repaired, at
/// 0.7 Wₚ). Tolerance 0.7 %: times are uncertain by 0.2 s of 6, at 15 to 25 % of idleness.
#[test]
fn cubic_keeps_a_smaller_buffer_busy() {
    for (part, exact) in [(50, true), (45, true), (20, false), (10, false)] {
        let buffer = PIPE * part / 100;
        let got = run("cubic", &[("fast_convergence", 0.0)], buffer, 60);
        let peak = (PIPE + buffer) as f64;
        let k = libm::cbrt(0.3 * peak / 0.4);
        let window = |t: f64| 0.4 * (t - k).powi(3) + peak;
        let steps = 10_000;
        let epoch = k - libm::cbrt(2.5) + 2.0 * TRIP;
        let pipe = PIPE as f64;
        let idle = (0..steps)
            .map(|i| epoch * f64::from(i) / f64::from(steps))
            .map(|t| (1.0 - window((t - 2.0 * TRIP).max(0.0)) / pipe).max(0.0))
            .sum::<f64>()
            / f64::from(steps);
        println!("CUBIC with {part} %: {}, theory {}", got.utilisation, 1.0 - idle);
        assert_near(&format!("CUBIC with {part} %"), got.utilisation, 1.0 - idle, if exact { 0.002 } else { 0.007 });
    }
}

/// RFC 3649 §7. b(800) = 0.5 − 0.4 ln(800/38)/ln(83000/38) = 0.342; the table has it in hundredths, at 851 for all
/// windows above 663: ±0.01. a(w) = 0.078 w^0.8 · 2b/(2 − b) is 5.2 at 527 and 6.8 at 800, in Linux rounded up to 6 and 7,
/// so that the climb takes (800 − 527)/7 to (800 − 527)/5.2 round trips of the moment, w/C each.
#[test]
fn high_speed_falls_by_b_and_climbs_by_a() {
    let got = run("highspeed", &[], PIPE, 70);
    let b = |w: f64| 0.5 - 0.4 * libm::log(w / 38.0) / libm::log(83_000.0 / 38.0);
    let a = |w: f64| 0.078 * libm::pow(w, 0.8) * 2.0 * b(w) / (2.0 - b(w));
    for pair in got.falls.windows(2) {
        let (peak, after) = (got.windows[pair[0].0].1, got.windows[pair[0].1].1);
        assert!((after / peak - (1.0 - b(peak))).abs() <= 0.01, "{peak} fell to {after}");
        let climb = &got.windows[pair[0].1..pair[1].0];
        // away from the repair and the peak
        let mark = |w: f64| climb.iter().find(|(_, window)| *window >= w).expect("it comes back").0;
        let (low, high) = (560.0, 760.0);
        let mean = f64::midpoint(low, high);
        let trips = (mark(high) - mark(low)) / (mean / PIPE as f64 * TRIP);
        let growth = (high - low) / trips;
        println!("a: {growth}, theory {} rounded up", a(mean));
        assert!((a(low)..=a(high).ceil() * 1.01).contains(&growth), "{growth} a round trip, a({mean}) = {}", a(mean));
    }
}

/// H-TCP (draft-leith-tcp-htcp-06 §3): what a flow alone on a link keeps is RTT_min/RTT_max, so that the queue just empties,
/// within 0.5 … 0.8: with B = P/2 that is 2/3, P of 1.5 P. Linux' β is in 1/128, its round trips in milliseconds: 1 %
/// each. A half would leave 0.75 P and idle the link by 5 %: a second and more of ten round trips that add a segment each, and
/// as much again of faster growth, of 4.5 s, at 12 % less than P on average.
#[test]
fn h_tcp_keeps_the_pipe_full_with_half_a_pipe_of_buffer() {
    let got = run("h-tcp", &[], PIPE / 2, 60);
    let share: Vec<f64> = got.falls.iter().map(|&(i, j)| got.windows[j].1 / got.windows[i].1).collect();
    println!("H-TCP keeps {share:?}, {}", got.utilisation);
    for &part in &share {
        assert_near("what H-TCP keeps", part, 2.0 / 3.0, 0.02);
    }
    assert_near("utilisation", got.utilisation, 1.0, 0.004);
}

/// BIC (Xu, Harfoush, Rhee, INFOCOM 2004; Linux: a fourth of the distance where the paper halves it): 819/1024 remain,
/// then a round trip adds a fourth of the distance to the maximum, 16 segments at most, in whole segments. From 150
/// segments below the maximum to 8 below, with round trips of w/C each. Tolerance 6 %: the increment is looked at every
/// 1/32 s and follows the distance by half of that, 16 ms of each round trip of 160 to 200, and marks are a segment wide.
#[test]
fn bic_searches_for_the_maximum() {
    let got = run("bic", &[("fast_convergence", 0.0)], PIPE, 70);
    for pair in got.falls.windows(2) {
        let (max, after) = (got.windows[pair[0].0].1, got.windows[pair[0].1].1);
        assert_near("what is left", after, max * 819.0 / 1024.0, 0.005);
        let climb = &got.windows[pair[0].1..pair[1].0];
        let mark = |w: f64| climb.iter().find(|(_, window)| *window >= w).expect("it comes back").0;
        let took = mark(max - 8.0) - mark(max - 150.0);
        let trip = |distance: u32| (max - f64::from(distance)) / PIPE as f64 * TRIP;
        let expected: f64 = (9..=150).map(|distance| trip(distance) / f64::from((distance / 4).min(16))).sum();
        println!("BIC: {took} s, theory {expected}");
        assert_near("the search", took, expected, 0.06);
    }
}
