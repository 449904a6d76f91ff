//! FAST TCP: moves the window towards the one that keeps alpha segments queued, the faster the farther it is from it
//! (Wei, Jin, Low, Hegde: FAST TCP: Motivation, Architecture, Algorithms, Performance, IEEE/ACM ToN 14(6), 2006).
//!
//! Every other round, the paper's window update: w ← min(2w, (1−γ)w + γ(baseRTT/RTT·w + α)), with the average round
//! trip of its estimation component (weight min(3/w, 1/4)). Loss is Reno's. Slow start is the usual one, and ends when
//! the equation would no longer double the window. Leaves out: the paper's burstiness control and pacing, so a step of
//! the window is sent at once; the choice of alpha by the size of the link.

use headway_units::{Span, Time};

use super::{Ack, CongestionControl, Event, Parameter, Window};

/// FAST TCP of one connection.
#[derive(Debug, Clone)]
pub struct Fast {
    alpha: f64,
    gamma: f64,
    /// Shortest and average round trip in seconds.
    base: f64,
    average: Option<f64>,
    /// Position whose acknowledgement ends the round.
    end: u64,
    /// The window was changed in the last round: what is measured now is of the old one.
    waits: bool,
}

impl Default for Fast {
    fn default() -> Fast {
        Fast { alpha: 200.0, gamma: 0.5, base: f64::INFINITY, average: None, end: 0, waits: true }
    }
}

impl Fast {
    /// The window update, in bytes; `None` without a measurement.
    fn target(&self, window: &Window) -> Option<f64> {
        let (cwnd, alpha) = (window.cwnd as f64, self.alpha * f64::from(window.mss));
        let kept = self.base / self.average? * cwnd + alpha;
        Some((2.0 * cwnd).min((1.0 - self.gamma) * cwnd + self.gamma * kept))
    }
}

impl CongestionControl for Fast {
    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let Some(rtt) = ack.rtt.map(Span::as_secs_f64) else { return };
        self.base = self.base.min(rtt);
        let weight = (3.0 / window.segments() as f64).min(0.25);
        let average = self.average.get_or_insert(rtt);
        *average += weight * (rtt - *average);
    }

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let ends = ack.una > self.end;
        if ends {
            self.end = ack.nxt;
            self.waits = !self.waits;
        }
        let target = if ends && !self.waits { self.target(window) } else { None };
        if window.in_slow_start() {
            if target.is_some_and(|target| target < 2.0 * window.cwnd as f64) {
                window.ssthresh = window.cwnd.max(window.bytes(2));
            } else {
                window.slow_start(ack.acked);
                return;
            }
        }
        if let Some(target) = target {
            window.cwnd = (target as u64).max(window.bytes(2));
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.halved(event.flight);
    }

    fn on_restart(&mut self, _now: Time, _idle: Span, _window: &mut Window) {
        // What was measured before says nothing of the queue now.
        self.average = None;
        self.waits = true;
    }

    fn parameters() -> &'static [Parameter] {
        const LIST: &[Parameter] = &[
            Parameter {
                name: "alpha",
                about: "segments that the connection keeps queued; the paper's choice for 1 Gb/s",
                default: 200.0,
                low: 1.0,
                high: 1e6,
            },
            Parameter {
                name: "gamma",
                about: "how much of the way to the target window a step makes",
                default: 0.5,
                low: 0.01,
                high: 1.0,
            },
        ];
        LIST
    }

    fn set(&mut self, name: &str, value: f64) {
        match name {
            "alpha" => self.alpha = value,
            _ => self.gamma = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnyController;
    use super::super::bottleneck::Bottleneck;
    use super::*;

    const MSS: u64 = 1000;

    /// Window 1000, base 10 ms, average 12.5 ms: 0.5·1000 + 0.5·(0.8·1000 + 200) = 1000, the fixed point: 200 of the
    /// 1000 are queued. At 20 ms: 500 + 0.5·(500 + 200) = 850. Window 100 at 10 ms: min(200, 50 + 0.5·300) = 200;
    /// window 50: 100.
    #[test]
    fn the_equation_by_hand() {
        for (segments, rtt, expected) in
            [(1000, 0.0125, 1000.0), (1000, 0.02, 850.0), (100, 0.01, 200.0), (50, 0.01, 100.0)]
        {
            let fast = Fast { base: 0.01, average: Some(rtt), ..Fast::default() };
            let window = Window { cwnd: segments * MSS, ssthresh: 0, mss: MSS as u32, growth_limit: 1 };
            let target = fast.target(&window).unwrap() / MSS as f64;
            assert!((target - expected).abs() < 1e-9, "{target}");
        }
    }

    /// N flows keep N·alpha segments queued and have equal windows, so equal rates (the paper's equilibrium).
    #[test]
    fn flows_share_equally_with_alpha_queued_each() {
        for flows in [1, 2, 5] {
            let control = || {
                let mut control = AnyController::by_name("fast").unwrap();
                control.set("alpha", 20.0).unwrap();
                control
            };
            let mut path = Bottleneck::new(100_000.0, Span::from_millis(10), (0..flows).map(|_| control()).collect());
            path.run(600);
            // Windows are counted in whole segments.
            let (queued, expected) = (path.queued(), 20.0 * f64::from(flows));
            assert!((queued - expected).abs() <= 1.0 + f64::from(flows), "{flows}: {queued}");
            let windows = path.windows();
            assert!(windows.iter().max().unwrap() - windows.iter().min().unwrap() <= 1, "{windows:?}");
        }
    }
}
