//! The sawtooth of one Reno flow at one buffer.
//!
//! Time is counted in transmissions T of a full segment at the bottleneck, windows in segments. The empty path holds P
//! segments (rate × smallest round trip), the buffer B. Congestion avoidance (RFC 5681 §3.1) adds a segment after w
//! acknowledgements; these take w·T when the queue never empties (w > P) and a round trip of P·T when it does, of
//! which the next growth is one more acknowledgement away: max(P + 1, w). At Wₚ = P + B the queue overflows; a round trip
//! later that is noticed, the window halves, and repair takes another round trip Wₚ. So a tooth has
//!
//!   time      Σ max(P + 1, w) + max(P, Wₚ),  w = Wₚ/2 … Wₚ
//!   segments  Σ w + Wₚ: the acknowledged ones, Wₚ/2 of growth, Wₚ/2 in repair
//!
//! Utilisation is their ratio. For P → ∞ it is (3/8 Wₚ²) / (P (P − Wₚ/2) + (Wₚ² − P²)/2): 3/4 with no buffer and 1 with
//! B = P, the rule of thumb (Appenzeller, Keslassy, McKeown: Sizing router buffers, 2004,
//! doi:10.1145/1015467.1015499).

use headway_fabric::Limit;
use headway_transport::{Profile, Recovery, SampleKind, SampleOf};
use headway_units::{Bytes, Rate, Span};

use crate::common::{EMPTY, FULL, MSS, Setup, assert_near, limited, line, profile, transmission, wire};

/// P.
const PIPE: u64 = 100;
/// Teeth looked at.
const TEETH: u64 = 20;

/// Time and segments of a tooth, by the formulae above.
fn theory(buffer: u64) -> (u64, u64) {
    let peak = PIPE + buffer;
    let windows = peak / 2..=peak;
    (windows.clone().map(|w| w.max(PIPE + 1)).sum::<u64>() + peak.max(PIPE), windows.sum::<u64>() + peak)
}

struct Sawtooth {
    utilisation: f64,
    /// Mean time between falls of the window, in transmissions.
    period: f64,
    /// Mean window before a fall, in segments.
    peak: f64,
    /// And after it.
    trough: f64,
}

/// One flow at 100 Mb/s.
fn sawtooth(recovery: Recovery, limited_transmit: bool, buffer: u64) -> Sawtooth {
    let (access, rate) = (Rate::from_gbps(10), Rate::from_mbps(100));
    let full = transmission(rate, FULL);
    let others = transmission(access, FULL) + transmission(access, EMPTY) + transmission(rate, EMPTY);
    let delay = (full * (PIPE - 1) - others) / 2;
    let line = line(&[wire(access, Span::ZERO), limited(wire(rate, delay), Limit::Packets(buffer as u32))]);
    // No slow start, which would need room for half a window. The first tooth grows from two segments.
    let profile = Profile {
        recovery,
        limited_transmit,
        initial_window: 2,
        initial_ssthresh: Some(Bytes::new(2 * u64::from(MSS))),
        ..profile()
    };
    let step = full * PIPE / 4;
    let warmup = step * (8 * (PIPE + buffer));
    let outcome = Setup::new(&line.net, profile)
        .flow((line.source, line.sink), None, Span::ZERO)
        .sample(step, &[SampleKind::Goodput, SampleKind::Cwnd])
        .run(warmup + full * theory(buffer).0 * TEETH);
    assert_eq!(outcome.ends[0].timeouts, 0);
    let windows = outcome.series(SampleKind::Cwnd, SampleOf::Subflow(0, 0, 0), warmup);
    // A fall: the window loses more than a quarter within a quarter of a round trip.
    let falls: Vec<_> = windows.windows(2).filter(|pair| pair[1].1 < 0.75 * pair[0].1).collect();
    assert!(falls.len() as u64 >= TEETH - 1, "{} falls", falls.len());
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / falls.len() as f64 / f64::from(MSS);
    let payload = rate.bps() as f64 * f64::from(MSS) / FULL as f64;
    Sawtooth {
        utilisation: outcome.goodput(0, warmup) / payload,
        period: (falls[falls.len() - 1][0].0 - falls[0][0].0) / (falls.len() - 1) as f64 / full.as_secs_f64(),
        peak: mean(&mut falls.iter().map(|pair| pair[0].1)),
        trough: mean(&mut falls.iter().map(|pair| pair[1].1)),
    }
}

/// Buffers of a bandwidth–delay product and more: the link never idles, and the period is a sum of whole windows.
/// Tolerance: samples find the falls to a quarter of a round trip, over 19 teeth that is 0.01 %; the three duplicate
/// acknowledgements before a fall are the rest, 3 of 15,000.
#[test]
fn with_a_buffer_of_the_pipe_the_link_is_never_idle() {
    for recovery in [Recovery::Sack, Recovery::NEW_RENO] {
        for buffer in [PIPE, PIPE * 3 / 2] {
            let (time, segments) = theory(buffer);
            // P = B: Σ 100 … 200 + 200. The first growth waits for the queue: hence P + 1 once, which is no segment.
            assert!(time - segments <= 1);
            let got = sawtooth(recovery, false, buffer);
            assert_near(&format!("{recovery:?}, period with {buffer}"), got.period, segments as f64, 0.001);
            assert_near(&format!("{recovery:?}, utilisation with {buffer}"), got.utilisation, 1.0, 0.001);
        }
    }
}

/// Smaller buffers: down to 3/4, which a buffer of nothing but the two segments that growth sends at once comes near.
/// Tolerance 1 %: which acknowledgement of a round completes the growth, so when in the round the peak is reached, is
/// not in the sums: up to one round trip in a tooth of 50 to 90, and half that on average.
#[test]
fn smaller_buffers_idle_the_link_as_the_sums_say() {
    for recovery in [Recovery::Sack, Recovery::NEW_RENO] {
        for buffer in [2, 10, 20, 50, 80] {
            let (time, segments) = theory(buffer);
            let got = sawtooth(recovery, false, buffer);
            assert_near(&format!("{recovery:?}, period with {buffer}"), got.period, time as f64, 0.01);
            let utilisation = segments as f64 / time as f64;
            assert_near(&format!("{recovery:?}, utilisation with {buffer}"), got.utilisation, utilisation, 0.01);
        }
    }
    // The limit of the sums for P → ∞ is (3/8)/(1/2); at P = 100 they are 1.6 % above.
    let (time, segments) = theory(2);
    assert_near("the sums without a buffer", segments as f64 / time as f64, 0.75, 0.02);
}

/// The window falls from P + B to half of what is in flight (RFC 5681 eq. 4): segments are whole, so exactly. What
/// limited transmit sends meanwhile is not counted (RFC 5681 §3.2 step 2, RFC 6675 §5 step 4.2).
#[test]
fn the_window_falls_from_pipe_and_buffer_to_half_of_it() {
    for recovery in [Recovery::Sack, Recovery::NEW_RENO] {
        for limited_transmit in [false, true] {
            for buffer in [10, 50, 100] {
                let got = sawtooth(recovery, limited_transmit, buffer);
                let peak = (PIPE + buffer) as f64;
                let what = format!("{recovery:?}, limited transmit {limited_transmit}, buffer {buffer}");
                assert_eq!((got.peak, got.trough), (peak, peak / 2.0), "{what}");
            }
        }
    }
}
