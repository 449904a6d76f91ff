//! Response functions: the average window of a control whose losses are a fixed number of segments apart.
//!
//! One segment in each 1/p is lost, and the loss is noticed and repaired at once; the round-trip time is fixed and
//! each segment has its acknowledgement. This is the model behind the tables of RFC 3649 §5 and RFC 8312 §5.1.

use headway_units::{Span, Time};

use super::{Ack, Cause, CongestionControl, Event, Window};

const MSS: u32 = 1000;

/// The average window in segments with one loss in each `between` segments, starting at a window of `start`
/// segments. Half of `cycles` settle, the others are measured.
pub(super) fn average_window<C: CongestionControl>(
    mut control: C,
    between: u64,
    rtt: Span,
    start: u64,
    cycles: u64,
) -> f64 {
    let cwnd = start * u64::from(MSS);
    let mut window = Window { cwnd, ssthresh: cwnd, mss: MSS, growth_limit: 1 };
    let (mut now, mut una) = (Time::ZERO, 0);
    let mut begun = now;
    for cycle in 0..cycles {
        if cycle == cycles / 2 {
            begun = now;
        }
        for _ in 0..between {
            // The window is spread evenly over the round trip.
            now += rtt / window.segments();
            una += u64::from(MSS);
            let ack = Ack {
                total: una,
                flight_before: window.cwnd,
                flight: window.cwnd - u64::from(MSS),
                una,
                nxt: una + window.cwnd,
                rtt: Some(rtt),
                srtt: Some(rtt),
                min_rtt: Some(rtt),
                ..Ack::of(now, u64::from(MSS))
            };
            control.observe(&ack, &mut window);
            control.on_ack(&ack, &mut window);
        }
        let flight = window.cwnd;
        control.on_congestion(&Event { una, ..Event::of(now, Cause::Loss, flight) }, &mut window);
        window.cwnd = window.ssthresh;
        control.on_recovered(now, &mut window);
    }
    let sent = ((cycles - cycles / 2) * between) as f64;
    sent * rtt.as_secs_f64() / now.since(begun).as_secs_f64()
}

/// Fails unless `got` is within `tolerance` (a part) of `expected`.
pub(super) fn near(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got:.1}, expected {expected:.1}");
}

/// Mathis et al. 1997: W = sqrt(3/2) / sqrt(p) with periodic loss and an acknowledgement per segment.
#[test]
fn reno() {
    for between in [1_000, 10_000, 100_000u32] {
        let expected = (1.5 * f64::from(between)).sqrt();
        let got =
            average_window(super::NewReno::default(), u64::from(between), Span::from_millis(100), expected as u64, 8);
        // Windows are whole segments: half of one either way, at both ends.
        near(got, expected, 0.01 + 1.0 / expected, "Reno");
    }
}
