//! wVegas, weighted Vegas for MPTCP: the connection keeps so many segments queued in all, divided among its subflows by
//! their rates (Cao, Xu, Fu: Delay-based Congestion Control for Multipath TCP, ICNP 2012), with the integer rules of
//! the authors' out-of-tree kernel code, `net/mptcp/mptcp_wvegas.c`.
//!
//! Deviations: the other subflows' rates are their windows over their smoothed round trips now, where the kernel
//! keeps what each had when it last adjusted; a round without any queue does not count as one whose queue has
//! doubled (in the kernel's code 0 ≥ 2·0 does, which noise in real round trips hides). Leaves out what
//! [`Vegas`](super::Vegas) leaves out.

use headway_units::{Span, Time};

use super::rounds::{Round, Rounds};
use super::vegas::round_or_reno;
use super::{Ack, CongestionControl, Credit, Event, Parameter, Sibling, Window};

/// Weighted Vegas of one subflow.
#[derive(Debug, Clone)]
pub struct WVegas {
    initial_alpha: u64,
    total_alpha: u64,
    gamma: u64,
    drains: bool,
    rounds: Rounds,
    credit: Credit,
    /// Segments this subflow keeps queued.
    alpha: u64,
    /// The shortest queueing delay since the queue was last drained, in µs; zero if there was none.
    queue_delay: u64,
}

impl Default for WVegas {
    fn default() -> WVegas {
        WVegas {
            initial_alpha: 2,
            total_alpha: 10,
            gamma: 1,
            drains: true,
            rounds: Rounds::default(),
            credit: Credit::default(),
            alpha: 2,
            queue_delay: 0,
        }
    }
}

/// The part of the connection's rate that the subflow marked as own has, in 1/65536 (1 if it is alone).
fn weight(siblings: &[Sibling]) -> u64 {
    const ONE: u64 = 1 << 16;
    let rate = |s: &Sibling| s.cwnd as f64 / s.srtt.as_secs_f64();
    let total: f64 = siblings.iter().map(rate).sum();
    match siblings.iter().find(|s| s.own) {
        Some(own) if total > 0.0 => (rate(own) / total * ONE as f64) as u64,
        _ => ONE,
    }
}

impl WVegas {
    fn start_over(&mut self) {
        self.alpha = self.initial_alpha;
        self.queue_delay = 0;
    }

    fn adjust(&mut self, round: Round, ack: &Ack<'_>, window: &mut Window) {
        let cwnd = window.segments();
        let queued = cwnd * (round.mean - round.base) / round.mean;
        if window.in_slow_start() {
            if queued > self.gamma {
                let target = cwnd * round.base / round.mean;
                window.cwnd = window.cwnd.min(window.bytes(target + 1));
                WVegas::lower_ssthresh(window);
            } else {
                window.slow_start(ack.acked);
            }
        } else {
            if queued >= self.alpha {
                self.alpha = ((weight(ack.siblings) * self.total_alpha) >> 16).max(2);
            }
            if queued > self.alpha {
                window.cwnd = window.bytes(cwnd - 1);
                WVegas::lower_ssthresh(window);
            } else if queued < self.alpha {
                window.cwnd = window.bytes(cwnd + 1);
            }
            self.drain(round, window);
        }
        window.cwnd = window.cwnd.max(window.bytes(2));
        let segments = window.segments();
        window.ssthresh = window.ssthresh.max(window.bytes(segments / 2 + segments / 4));
    }

    fn lower_ssthresh(window: &mut Window) {
        let below = window.bytes(window.segments().saturating_sub(1));
        window.ssthresh = window.ssthresh.min(below);
    }

    /// When the queueing delay is twice the shortest, empties the queue to measure the propagation delay anew.
    fn drain(&mut self, round: Round, window: &mut Window) {
        let delay = round.mean - round.base;
        if !self.drains || delay == 0 {
            return;
        }
        if self.queue_delay == 0 || self.queue_delay > delay {
            self.queue_delay = delay;
        }
        if delay >= 2 * self.queue_delay {
            let factor = (round.base << 16) / (2 * round.mean);
            window.cwnd = window.bytes((window.segments() * factor) >> 16);
            self.queue_delay = 0;
        }
    }
}

impl CongestionControl for WVegas {
    const COUPLED: bool = true;
    const GROWS_APP_LIMITED: bool = true;

    fn observe(&mut self, ack: &Ack<'_>, _window: &mut Window) {
        if self.rounds.observe(ack) {
            self.start_over();
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if self.rounds.set_state(ack.state) {
            self.start_over();
        }
        if let Some(round) = round_or_reno(&mut self.rounds, &mut self.credit, ack, window) {
            self.adjust(round, ack, window);
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.reduced(event.flight, 0.5);
        self.credit.clear();
        self.rounds.stop(event.cause);
    }

    fn on_recovered(&mut self, _now: Time, _window: &mut Window) {
        self.rounds.resume();
        self.start_over();
    }

    fn on_undo(&mut self, _now: Time, _window: &mut Window) {
        self.rounds.resume();
        self.start_over();
    }

    fn on_restart(&mut self, _now: Time, _idle: Span, _window: &mut Window) {
        self.rounds.reset_base();
        self.start_over();
    }

    fn parameters() -> &'static [Parameter] {
        const fn of(name: &'static str, about: &'static str, default: f64, high: f64) -> Parameter {
            Parameter { name, about, default, low: 0.0, high }
        }
        const LIST: &[Parameter] = &[
            of("initial-alpha", "segments that a subflow queues before its rate is known", 2.0, 1e6),
            of("total-alpha", "segments that all subflows queue together", 10.0, 1e6),
            of("gamma", "segments queued above which slow start ends", 1.0, 1e6),
            of("drain", "1: empties the queue when its delay has doubled; 0: does not", 1.0, 1.0),
        ];
        LIST
    }

    fn set(&mut self, name: &str, value: f64) {
        let segments = value as u64;
        match name {
            "initial-alpha" => {
                self.initial_alpha = segments;
                self.alpha = segments;
            }
            "total-alpha" => self.total_alpha = segments,
            "gamma" => self.gamma = segments,
            _ => self.drains = value >= 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnyController;
    use super::super::bottleneck::Bottleneck;
    use super::*;

    const MSS: u64 = 1000;

    fn round(base: u64, mean: u64) -> Round {
        Round { count: 20, shortest: base, mean, base }
    }

    fn sibling(segments: u64, rtt_ms: u64, own: bool) -> Sibling {
        let srtt = Span::from_millis(rtt_ms);
        Sibling { cwnd: segments * MSS, srtt, min_rtt: srtt, between_losses: 0, own }
    }

    /// Windows 30 at 10 ms and 20 at 20 ms: rates 3000 and 1000 segments/s, so 3/4 and 1/4 of total-alpha 10: 7 and 2.
    /// With 30 segments at 10 ms of base and 12.5 ms, 30·2.5/12.5 = 6 are queued: more than 2, so alpha is set to 7,
    /// and less than that, so one segment more. At 14.3 ms: 9 > 7: one less.
    #[test]
    fn alpha_follows_the_rates() {
        for (mean, expected) in [(12_500, 31), (14_300, 29)] {
            let siblings = [sibling(30, 10, true), sibling(20, 20, false)];
            let mut window = Window { cwnd: 30 * MSS, ssthresh: 10 * MSS, mss: MSS as u32, growth_limit: 1 };
            let mut control = WVegas::default();
            let ack = Ack { siblings: &siblings, ..Ack::of(Time::ZERO, MSS) };
            control.adjust(round(10_000, mean), &ack, &mut window);
            assert_eq!((control.alpha, window.segments()), (7, expected));
        }
        assert_eq!(weight(&[sibling(30, 10, false), sibling(20, 20, true)]), 1 << 14);
    }

    /// A queueing delay of 1 ms, then 2 ms: 2 ≥ 2·1, so cwnd, 21 by now, becomes 22·10/(2·12) = 9.
    #[test]
    fn a_doubled_queue_is_drained() {
        let mut window = Window { cwnd: 20 * MSS, ssthresh: 10 * MSS, mss: MSS as u32, growth_limit: 1 };
        let mut control = WVegas { initial_alpha: 5, alpha: 5, ..WVegas::default() };
        let ack = Ack::of(Time::ZERO, MSS);
        control.adjust(round(10_000, 11_000), &ack, &mut window);
        assert_eq!(window.segments(), 21);
        control.adjust(round(10_000, 12_000), &ack, &mut window);
        assert_eq!(window.segments(), 9);
    }

    /// One subflow keeps the connection's 10 segments queued, two on one bottleneck 5 each (ICNP 2012: the connection's
    /// total is fixed), when the queue is not drained in between.
    #[test]
    fn the_connection_keeps_ten_segments_queued() {
        for flows in 1..=2 {
            let control = || {
                let mut control = AnyController::by_name("wvegas").unwrap();
                control.set("drain", 0.0).unwrap();
                control
            };
            let mut path = Bottleneck::new(10_000.0, Span::from_millis(10), (0..flows).map(|_| control()).collect());
            path.run(500);
            // What is queued is rounded down: from 10 to just under 11 for one, 2·5 to 2·6 for two.
            let queued = path.queued();
            assert!((9.5..=12.0).contains(&queued), "{flows}: {queued}");
        }
    }
}
