//! OLIA, opportunistic linked increases of MPTCP (Khalili, Gast, Popovic, Upadhyay, Le Boudec: MPTCP is not
//! Pareto-optimal, CoNEXT 2012; draft-khalili-mptcp-congestion-control-05).
//!
//! Only congestion avoidance is coupled; slow start and loss are Reno's on each subflow. The best paths are those of
//! the largest l/rtt², where l is [`Sibling::between_losses`]: what a TCP would get there, √(2l)/rtt, and what
//! the out-of-tree `mptcp_olia.c` compares. As there, windows are equal if they are in whole segments.
//! Leaves out: the draft's smallest ssthresh of one segment where there are several paths (it is two here, as
//! RFC 5681 has it).

use super::{Ack, CongestionControl, Event, Sibling, Window};

/// Opportunistic linked increases of one subflow.
#[derive(Debug, Clone, Default)]
pub struct Olia {
    /// Change earned that has not yet made a whole byte.
    credit: f64,
}

/// Whether `a`'s l/rtt² is at least `b`'s.
fn no_worse(a: &Sibling, b: &Sibling) -> bool {
    let square = |s: &Sibling| {
        let us = u128::from((s.srtt.picos() / 1_000_000).max(1));
        us * us
    };
    u128::from(a.between_losses) * square(b) >= u128::from(b.between_losses) * square(a)
}

impl Olia {
    /// α of the path marked as own: what moves window from the largest paths to the best ones. Has no dimension; sums
    /// to zero over all paths.
    pub fn alpha(siblings: &[Sibling], mss: u32) -> f64 {
        let segments = |s: &Sibling| s.cwnd / u64::from(mss);
        let most = siblings.iter().map(segments).max().unwrap_or(0);
        let largest = |s: &Sibling| segments(s) == most;
        // Best, but not with the largest window ("collected_paths").
        let collected = |s: &Sibling| !largest(s) && siblings.iter().all(|other| no_worse(s, other));
        let count = |is: &dyn Fn(&Sibling) -> bool| siblings.iter().filter(|s| is(s)).count() as f64;
        let (paths, poor) = (siblings.len() as f64, count(&collected));
        match siblings.iter().find(|s| s.own) {
            Some(own) if poor > 0.0 && collected(own) => 1.0 / (paths * poor),
            Some(own) if poor > 0.0 && largest(own) => -1.0 / (paths * count(&largest)),
            _ => 0.0,
        }
    }
}

impl CongestionControl for Olia {
    const COUPLED: bool = true;

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(ack.acked);
            return;
        }
        let earned = ack.acked as f64 * f64::from(window.mss);
        let cwnd = window.cwnd as f64;
        let rate: f64 = ack.siblings.iter().map(|s| s.cwnd as f64 / s.srtt.as_secs_f64()).sum();
        // Draft §3: (w_r/rtt_r²)/(Σ w_p/rtt_p)² + α_r/w_r; alone it is Reno's 1/w.
        let linked = ack.siblings.iter().find(|s| s.own).map_or(1.0 / cwnd, |own| {
            let rtt = own.srtt.as_secs_f64();
            own.cwnd as f64 / (rtt * rtt) / (rate * rate)
        });
        self.credit += earned * (linked + Olia::alpha(ack.siblings, window.mss) / cwnd);
        let whole = self.credit.trunc();
        self.credit -= whole;
        window.cwnd = window.cwnd.saturating_add_signed(whole as i64).max(window.bytes(1));
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.halved(event.flight);
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::*;

    const MSS: u64 = 1_000_000;

    /// Paths of 10 ms with windows in segments and bytes between losses; the `own`th is asked.
    fn paths(list: &[(u64, u64)], own: usize) -> Vec<Sibling> {
        let path = |(i, &(segments, between_losses)): (usize, &(u64, u64))| Sibling {
            cwnd: segments * MSS,
            srtt: Span::from_millis(10),
            min_rtt: Span::from_millis(10),
            between_losses,
            own: i == own,
        };
        list.iter().enumerate().map(path).collect()
    }

    fn alphas(list: &[(u64, u64)]) -> Vec<f64> {
        (0..list.len()).map(|own| Olia::alpha(&paths(list, own), MSS as u32)).collect()
    }

    /// The three cases of the draft. All best paths have the largest window: zero. Else the best ones share 1/|R|, and
    /// the largest pay it.
    #[test]
    fn window_moves_from_the_largest_paths_to_the_best() {
        assert_eq!(alphas(&[(10, 500), (2, 100)]), [0.0, 0.0]);
        assert_eq!(alphas(&[(10, 100), (2, 500)]), [-0.5, 0.5]);
        assert_eq!(alphas(&[(10, 100), (10, 100), (2, 500)]), [-1.0 / 6.0, -1.0 / 6.0, 1.0 / 3.0]);
        assert_eq!(alphas(&[(10, 100), (4, 500), (2, 500)]), [-1.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]);
        // neither best nor largest
        assert_eq!(alphas(&[(10, 100), (4, 500), (2, 50)]), [-1.0 / 3.0, 1.0 / 3.0, 0.0]);
    }

    /// l/rtt²: 400 at 20 ms and 100 at 10 ms are equally good; 399 is worse.
    #[test]
    fn the_best_path_is_the_one_where_a_tcp_would_be_fastest() {
        let mut two = paths(&[(10, 100), (2, 400)], 1);
        two[1].srtt = Span::from_millis(20);
        assert_eq!(Olia::alpha(&two, MSS as u32), 0.5);
        two[1].between_losses = 399;
        assert_eq!(Olia::alpha(&two, MSS as u32), 0.0);
    }

    /// Windows 10 and 2, equal round trips, the small one better. For one segment acknowledged the small one grows by
    /// 2/12² + 0.5/2 = 0.263889 segments, the large one by 10/12² − 0.5/10 = 0.019444.
    #[test]
    fn increase_by_hand() {
        for (own, expected) in [(0, 10_019_444), (1, 2_263_888)] {
            let siblings = paths(&[(10, 100), (2, 500)], own);
            let cwnd = siblings[own].cwnd;
            let mut window = Window { cwnd, ssthresh: cwnd, mss: MSS as u32, growth_limit: 1 };
            let ack = Ack { siblings: &siblings, ..Ack::of(Time::ZERO, MSS) };
            Olia::default().on_ack(&ack, &mut window);
            assert!(window.cwnd.abs_diff(expected) <= 1, "{}", window.cwnd);
        }
    }
}
