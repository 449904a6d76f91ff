//! Scalable TCP (Kelly 2003, doi:10.1145/956981.956989), as Linux has it (`net/ipv4/tcp_scalable.c`).
//!
//! Each acknowledged segment adds a = 0.01 to the window and a loss takes b = 1/8, so the time between losses does
//! not depend on the rate. Windows up to 100 segments grow as Reno's. Leaves out: Kelly's legacy window, up to
//! which a loss halves as well; Linux does not have it, nor has its module parameters.

use super::{Ack, CongestionControl, Credit, Event, Window, linux};

/// Segments acknowledged for one of growth: 1/a (`TCP_SCALABLE_AI_CNT`).
const PER_SEGMENT: u64 = 100;
/// log2(1/b) (`TCP_SCALABLE_MD_SCALE`).
const DECREASE_SHIFT: u32 = 3;

/// Multiplicative increase, multiplicative decrease.
#[derive(Debug, Clone, Default)]
pub struct Scalable {
    credit: Credit,
}

impl CongestionControl for Scalable {
    /// `tcp_scalable_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let mut acked = window.bytes(linux::packets(ack.acked, window));
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let per = window.bytes(window.segments().min(PER_SEGMENT));
        self.credit.grow(window, per, acked);
    }

    /// `tcp_scalable_ssthresh`.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        let segments = event.flight / u64::from(window.mss);
        window.ssthresh = window.bytes((segments - (segments >> DECREASE_SHIFT)).max(2));
        self.credit.clear();
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::super::Cause;
    use super::super::response::{average_window, near};
    use super::*;

    const MSS: u64 = 1000;

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    /// 100 acknowledged segments add one to a window of 1000, 50 to one of 50.
    #[test]
    fn growth_is_a_hundredth_of_what_is_acknowledged_and_at_most_renos() {
        for (segments, needed) in [(1000, 100), (50, 50)] {
            let (mut window, mut control) = (at(segments), Scalable::default());
            for _ in 1..needed {
                control.on_ack(&Ack::of(Time::ZERO, MSS), &mut window);
            }
            assert_eq!(window.segments(), segments);
            control.on_ack(&Ack::of(Time::ZERO, MSS), &mut window);
            assert_eq!(window.segments(), segments + 1);
        }
    }

    /// 1003 − ⌊1003/8⌋ = 878.
    #[test]
    fn a_loss_takes_an_eighth() {
        let mut window = at(1003);
        Scalable::default().on_congestion(&Event::of(Time::ZERO, Cause::Loss, 1003 * MSS), &mut window);
        assert_eq!(window.segments(), 1003);
        assert_eq!(window.ssthresh, 878 * MSS);
    }

    /// What is left at the end of slow start counts for congestion avoidance.
    #[test]
    fn slow_start_passes_on_what_it_does_not_use() {
        let mut window = Window { cwnd: 9 * MSS, ssthresh: 10 * MSS, mss: 1000, growth_limit: 100 };
        let mut control = Scalable::default();
        control.on_ack(&Ack::of(Time::ZERO, 11 * MSS), &mut window); // 1 to reach ssthresh, 10 for one more
        assert_eq!(window.segments(), 11);
    }

    /// The window regains a factor 1/(1−b) by (1+a) each round trip, so there are ln(8/7)/ln(1.01) = 13.42 round
    /// trips between losses at any rate (Kelly's recovery time), and W = 1/(13.42 p). His a/(b p) = 0.08/p is
    /// the same to first order in b.
    #[test]
    fn response_function() {
        let trips = (8.0f64 / 7.0).log10() / 1.01f64.log10();
        near(trips, 13.42, 0.001, "round trips");
        for between in [10_000u32, 100_000] {
            let expected = f64::from(between) / trips;
            let rtt = Span::from_millis(100);
            let got = average_window(Scalable::default(), u64::from(between), rtt, expected as u64, 20);
            near(got, expected, 0.02, "Scalable");
        }
    }
}
