//! Reno's window rules (RFC 5681), the ones NewReno (RFC 6582) keeps; which acknowledgements end a recovery
//! is the transport's business.
//!
//! Leaves out: nothing of RFC 5681 §3.1. Congestion avoidance counts bytes (the third method of §3.1), so that
//! delayed acknowledgements do not halve the growth; slow start takes the window's limit (RFC 3465).

use super::{Ack, CongestionControl, Credit, Event, Window};

/// Additive increase by one segment per round trip, halving on loss.
#[derive(Debug, Clone, Default)]
pub struct NewReno {
    credit: Credit,
}

impl CongestionControl for NewReno {
    const OBSERVES: bool = false;

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(ack.acked);
            return;
        }
        // RFC 5681 §3.1: "increase cwnd by one full-sized segment each time cwnd bytes have been acknowledged".
        let per = window.cwnd;
        if window.growth_limit == 1 {
            self.credit.grow_by_one(window, per, ack.acked);
        } else {
            self.credit.grow(window, per, ack.acked);
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.halved(event.flight);
        self.credit.clear();
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

    #[test]
    fn congestion_halves_what_is_in_flight_but_leaves_two_segments() {
        let mut window = Window { cwnd: 20 * MSS, ssthresh: u64::MAX, mss: 1000, growth_limit: 1 };
        NewReno::default().on_congestion(&Event::of(Time::ZERO, Cause::Loss, 18 * MSS), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (20 * MSS, 9 * MSS));
        NewReno::default().on_congestion(&Event::of(Time::ZERO, Cause::Timeout, 3 * MSS), &mut window);
        assert_eq!(window.ssthresh, 2 * MSS);
    }
}
