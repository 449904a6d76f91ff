//! LIA, MPTCP's linked increases (RFC 6356; thesis eq. 3.1).
//!
//! Only congestion avoidance is coupled; slow start, loss and time-outs are Reno's on each subflow (RFC 6356 §3).
//! Computed with α at every acknowledgement rather than once per window, which the RFC permits as an
//! optimisation only. Leaves out: the application-limited variant of cwnd_total (§3, "MAY").

use super::{Ack, CongestionControl, Event, Sibling, Window};

/// Linked increases of one subflow.
#[derive(Debug, Clone, Default)]
pub struct Lia {
    /// Increase earned that has not yet made a whole byte.
    credit: f64,
}

impl Lia {
    /// How aggressive the connection is as a whole, RFC 6356 eq. 2:
    /// α = cwnd_total · max(cwnd_i/rtt_i²) / (Σ cwnd_i/rtt_i)².
    ///
    /// Has no dimension. Zero without subflows.
    pub fn alpha(siblings: &[Sibling]) -> f64 {
        let (mut total, mut best, mut sum) = (0.0, 0.0f64, 0.0);
        for s in siblings {
            let (cwnd, rtt) = (s.cwnd as f64, s.srtt.as_secs_f64());
            total += cwnd;
            best = best.max(cwnd / (rtt * rtt));
            sum += cwnd / rtt;
        }
        if sum > 0.0 { total * best / (sum * sum) } else { 0.0 }
    }
}

impl CongestionControl for Lia {
    const OBSERVES: bool = false;
    const COUPLED: bool = true;

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(ack.acked);
            return;
        }
        let total: f64 = ack.siblings.iter().map(|s| s.cwnd as f64).sum();
        let earned = ack.acked as f64 * f64::from(window.mss);
        // RFC 6356 eq. 1: min(alpha · bytes_acked · MSS / cwnd_total, bytes_acked · MSS / cwnd_i)
        let reno = earned / window.cwnd as f64;
        let coupled = if total > 0.0 { Lia::alpha(ack.siblings) * earned / total } else { reno };
        self.credit += coupled.min(reno);
        let whole = self.credit as u64;
        self.credit -= whole as f64;
        window.cwnd += whole;
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.halved(event.flight);
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::*;

    fn path(cwnd: u64, rtt_ms: u64) -> Sibling {
        Sibling {
            cwnd,
            srtt: Span::from_millis(rtt_ms),
            min_rtt: Span::from_millis(rtt_ms),
            between_losses: 0,
            own: false,
        }
    }

    /// n equal subflows: α = n·w · (w/r²) / (n·w/r)² = 1/n.
    #[test]
    fn equal_subflows_share_one_flows_increase() {
        for n in 1..=8usize {
            let alpha = Lia::alpha(&vec![path(10_000, 20); n]);
            assert!((alpha - 1.0 / n as f64).abs() < 1e-12, "{n}: {alpha}");
        }
    }

    /// Windows 10 and 10 at 10 and 100 ms: α = 20·(10/0.01²)/(10/0.01 + 10/0.1)² = 2·10⁶/1100² = 1.6529.
    #[test]
    fn unequal_round_trips() {
        let alpha = Lia::alpha(&[path(10, 10), path(10, 100)]);
        assert!((alpha - 2e6 / 1_210_000.0).abs() < 1e-9, "{alpha}");
    }

    /// The increase on the fast path above would be 1.65/20 per byte, over Reno's 1/10·… no: 0.083 < 0.1, so
    /// coupled; with 10 and 2 bytes at equal RTTs α = 12·10/144 = 0.8333 and the small path gets
    /// 0.8333/12 = 0.0694 < 1/2 per byte.
    #[test]
    fn the_increase_is_the_smaller_of_coupled_and_reno() {
        let siblings = [path(10_000, 10), path(2_000, 10)];
        let mut window = Window { cwnd: 2_000, ssthresh: 2_000, mss: 1_000, growth_limit: 1 };
        let mut lia = Lia::default();
        let ack = Ack { siblings: &siblings, ..Ack::of(Time::ZERO, 1_000) };
        lia.on_ack(&ack, &mut window);
        // α·acked·mss/total = (12000·10000/12000²)·1000·1000/12000 = 69.44
        assert_eq!(window.cwnd, 2_069);
        // alone it is Reno: mss·acked/cwnd = 1000·1000/2000
        let mut alone = Window { cwnd: 2_000, ssthresh: 2_000, mss: 1_000, growth_limit: 1 };
        let single = [path(2_000, 10)];
        Lia::default().on_ack(&Ack { siblings: &single, ..ack }, &mut alone);
        assert_eq!(alone.cwnd, 2_500);
    }
}
