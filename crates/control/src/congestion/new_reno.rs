//! Reno's window rules (RFC 5681), the ones NewReno (RFC 6582) keeps; which acknowledgements end a recovery
//! is the transport's business.
//!
//! Leaves out: nothing of RFC 5681 §3.1. Congestion avoidance counts bytes (the third method of §3.1), so that
//! delayed acknowledgements do not halve the growth; slow start takes the window's limit (RFC 3465). With `counts_bytes` =
//! 0 it counts acknowledgements instead (eq. 3 of §3.1; RFC 2581), as senders before RFC 3465 did.

use super::{Ack, CongestionControl, Credit, Event, Parameter, Window};

/// Additive increase by one segment per round trip, halving on loss.
#[derive(Debug, Clone)]
pub struct NewReno {
    credit: Credit,
    /// Congestion avoidance grows by acknowledged bytes, not by acknowledgements.
    counts_bytes: bool,
}

impl Default for NewReno {
    fn default() -> NewReno {
        NewReno { credit: Credit::default(), counts_bytes: true }
    }
}

impl CongestionControl for NewReno {
    const OBSERVES: bool = false;

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let mut acked = ack.acked;
        if window.in_slow_start() {
            let rest = window.slow_start(acked);
            // Linux goes on with what slow start leaves over (`net/ipv4/tcp_cong.c: tcp_reno_cong_avoid`).
            if window.growth_limit == 1 || rest == 0 {
                return;
            }
            acked = rest;
        }
        // RFC 5681 §3.1: "increase cwnd by one full-sized segment each time cwnd bytes have been acknowledged".
        let per = window.cwnd;
        // An acknowledgement is worth a segment, however many it answers.
        let acked = if self.counts_bytes { acked } else { acked.min(u64::from(window.mss)) };
        if window.growth_limit == 1 {
            self.credit.grow_by_one(window, per, acked);
        } else {
            self.credit.grow(window, per, acked);
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.halved(event.flight);
        self.credit.clear();
    }

    fn parameters() -> &'static [Parameter] {
        &[Parameter {
            name: "counts_bytes",
            about: "congestion avoidance counts bytes (1, RFC 3465) or acknowledgements (0, RFC 2581)",
            default: 1.0,
            low: 0.0,
            high: 1.0,
        }]
    }

    fn set(&mut self, _: &str, value: f64) {
        self.counts_bytes = value != 0.0;
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Time;

    use super::super::Cause;
    use super::*;

    const MSS: u64 = 1000;

    fn ack(acked: u64) -> Ack<'static> {
        Ack::of(Time::ZERO, acked)
    }

    #[test]
    fn slow_start_grows_by_at_most_one_segment_per_ack_and_stops_at_ssthresh() {
        let mut window = Window { cwnd: 2 * MSS, ssthresh: 4500, mss: 1000, growth_limit: 1 };
        let mut reno = NewReno::default();
        reno.on_ack(&ack(2 * MSS), &mut window); // RFC 5681 eq. 2: min(N, SMSS)
        assert_eq!(window.cwnd, 3 * MSS);
        reno.on_ack(&ack(400), &mut window);
        assert_eq!(window.cwnd, 3400);
        reno.on_ack(&ack(MSS), &mut window);
        reno.on_ack(&ack(MSS), &mut window);
        assert_eq!(window.cwnd, 4500);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window() {
        let mut window = Window { cwnd: 10 * MSS, ssthresh: 10 * MSS, mss: 1000, growth_limit: 1 };
        let mut reno = NewReno::default();
        for _ in 0..5 {
            assert_eq!(window.cwnd, 10 * MSS);
            reno.on_ack(&ack(2 * MSS), &mut window); // delayed ACKs: five of them cover the window
        }
        assert_eq!(window.cwnd, 11 * MSS);
    }

    /// RFC 2581 §3.1: SMSS·SMSS/cwnd for each acknowledgement, so half of it with delayed ones.
    #[test]
    fn without_counting_bytes_delayed_acknowledgements_halve_the_growth() {
        let mut window = Window { cwnd: 10 * MSS, ssthresh: 10 * MSS, mss: 1000, growth_limit: 1 };
        let mut reno = NewReno::default();
        reno.set("counts_bytes", 0.0);
        for _ in 0..10 {
            assert_eq!(window.cwnd, 10 * MSS);
            reno.on_ack(&ack(2 * MSS), &mut window);
        }
        assert_eq!(window.cwnd, 11 * MSS);
    }

    #[test]
    fn congestion_halves_what_is_in_flight_but_leaves_two_segments() {
        let mut window = Window { cwnd: 20 * MSS, ssthresh: u64::MAX, mss: 1000, growth_limit: 1 };
        NewReno::default().on_congestion(&Event::of(Time::ZERO, Cause::Loss, 18 * MSS), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (20 * MSS, 9 * MSS));
        NewReno::default().on_congestion(&Event::of(Time::ZERO, Cause::Timeout, 3 * MSS), &mut window);
        assert_eq!(window.ssthresh, 2 * MSS);
    }
}
