//! BALIA, balanced linked adaptation of MPTCP (Peng, Walid, Hwang, Low: Multipath TCP: Analysis, Design, and
//! Implementation, IEEE/ACM ToN 24(1), 2016; draft-walid-mptcp-congestion-control-04).
//!
//! Couples the increase of congestion avoidance and the decrease on loss; slow start is Reno's.
//! Leaves out: the out-of-tree kernel's rounding of α to a whole number and of the increase to whole
//! acknowledgements (`mptcp_balia.c`), and the smallest ssthresh of one segment (it is two here, as RFC 5681 has it).

use super::{Ack, CongestionControl, Event, Sibling, Window};

/// Balanced linked adaptation of one subflow.
#[derive(Debug, Clone, Default)]
pub struct Balia {
    /// Increase earned that has not yet made a whole byte.
    credit: f64,
}

/// Bytes per second of a subflow: x of the draft.
fn rate(s: &Sibling) -> f64 {
    s.cwnd as f64 / s.srtt.as_secs_f64()
}

impl Balia {
    /// α of the path marked as own: the fastest path's rate over its own, at least 1. Also 1 where there is none.
    pub fn alpha(siblings: &[Sibling]) -> f64 {
        let best = siblings.iter().map(rate).fold(0.0, f64::max);
        siblings.iter().find(|s| s.own && s.cwnd > 0).map_or(1.0, |own| best / rate(own))
    }
}

impl CongestionControl for Balia {
    const COUPLED: bool = true;

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(ack.acked);
            return;
        }
        let earned = ack.acked as f64 * f64::from(window.mss);
        let sum: f64 = ack.siblings.iter().map(rate).sum();
        let alpha = Balia::alpha(ack.siblings);
        // Draft §3: x_r/(rtt_r·(Σ x_k)²) · (1+α)/2 · (4+α)/5; alone it is Reno's 1/w.
        let linked = ack
            .siblings
            .iter()
            .find(|s| s.own)
            .map_or(1.0 / window.cwnd as f64, |own| rate(own) / own.srtt.as_secs_f64() / (sum * sum));
        self.credit += earned * linked * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0;
        let whole = self.credit as u64;
        self.credit -= whole as f64;
        window.cwnd += whole;
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        // Draft §3: w_r −= w_r/2 · min(α, 1.5)
        let cut = Balia::alpha(event.siblings).min(1.5) / 2.0;
        let reduced = (event.flight as f64 * (1.0 - cut)) as u64;
        window.ssthresh = reduced.max(window.bytes(2));
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::super::Cause;
    use super::*;

    const MSS: u64 = 1_000_000;

    fn paths(segments: [u64; 2], own: usize) -> [Sibling; 2] {
        [0, 1].map(|i| Sibling {
            cwnd: segments[i] * MSS,
            srtt: Span::from_millis(100),
            min_rtt: Span::from_millis(100),
            between_losses: 0,
            own: i == own,
        })
    }

    /// Windows 10 and 5 at 100 ms: x = 100 and 50, Σ = 150. The fast one: α = 1, 100/(0.1·150²)·1·1 = 0.044444; the
    /// slow one: α = 2, 50/(0.1·150²)·(3/2)·(6/5) = 0.04 segments for each acknowledged.
    #[test]
    fn increase_by_hand() {
        for (own, expected) in [(0, 10_044_444), (1, 5_040_000)] {
            let siblings = paths([10, 5], own);
            let cwnd = siblings[own].cwnd;
            let mut window = Window { cwnd, ssthresh: cwnd, mss: MSS as u32, growth_limit: 1 };
            let ack = Ack { siblings: &siblings, ..Ack::of(Time::ZERO, MSS) };
            Balia::default().on_ack(&ack, &mut window);
            assert!(window.cwnd.abs_diff(expected) <= 1, "{}", window.cwnd);
        }
    }

    /// The fastest path halves. With 40 and 32: α = 1.25, so 32 − 16·1.25 = 12. With 40 and 20: α = 2 counts as 1.5, so
    /// 20 − 10·1.5 = 5.
    #[test]
    fn slower_paths_give_up_more() {
        for (segments, own, expected) in [([40, 32], 0, 20), ([40, 32], 1, 12), ([40, 20], 1, 5)] {
            let siblings = paths(segments, own);
            let cwnd = siblings[own].cwnd;
            let mut window = Window { cwnd, ssthresh: cwnd, mss: MSS as u32, growth_limit: 1 };
            let event = Event { siblings: &siblings, ..Event::of(Time::ZERO, Cause::Loss, cwnd) };
            Balia::default().on_congestion(&event, &mut window);
            assert_eq!(window.ssthresh, expected * MSS);
        }
    }

    /// Alone it is Reno.
    #[test]
    fn a_single_path_is_reno() {
        let mut siblings = paths([10, 5], 0);
        siblings[1].cwnd = 0;
        let mut window = Window { cwnd: 10 * MSS, ssthresh: MSS, mss: MSS as u32, growth_limit: 1 };
        let ack = Ack { siblings: &siblings[..1], ..Ack::of(Time::ZERO, MSS) };
        Balia::default().on_ack(&ack, &mut window);
        assert!(window.cwnd.abs_diff(10_100_000) <= 1, "{}", window.cwnd);
    }
}
