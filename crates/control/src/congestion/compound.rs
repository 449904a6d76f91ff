//! Compound TCP: a delay-based window beside Reno's (Tan, Song, Zhang, Sridharan: A Compound TCP Approach for
//! High-speed and Long Distance Networks, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02).
//!
//! win = cwnd + dwnd. cwnd is Reno's, but grows by 1/win per acknowledgement; dwnd grows as alpha·win^k − 1 per round
//! while fewer than gamma segments are queued, and gives up what is queued otherwise. gamma follows what the Reno part
//! alone has queued when there is loss (the draft's automatic tuning). From its low window on, 41 segments, where
//! alpha·win^k − 1 first exceeds one segment; below it is Reno. The round trip is the mean of a round; a round with
//! fewer than three samples does not count, as in the ports to Linux. Leaves out: the draft's advice on how to sample
//! round trips in bulk.

use headway_units::{Span, Time};

use super::rounds::{Round, Rounds};
use super::{Ack, Cause, CongestionControl, Credit, Event, Parameter, Window};

/// Compound TCP of one connection.
#[derive(Debug, Clone)]
pub struct Compound {
    settings: Settings,
    rounds: Rounds,
    credit: Credit,
    /// The delay-based part of the window, in bytes.
    dwnd: u64,
    /// What it was before the last congestion.
    prior: u64,
    /// Segments queued above which dwnd shrinks.
    gamma: f64,
    /// Segments that the Reno part had queued in the last round; spent by the next tuning.
    reno_queued: Option<f64>,
}

#[derive(Debug, Clone)]
struct Settings {
    alpha: f64,
    beta: f64,
    eta: f64,
    k: f64,
    gamma_low: f64,
    gamma_high: f64,
    lambda: f64,
    low_window: f64,
}

impl Default for Compound {
    fn default() -> Compound {
        let settings = Settings {
            alpha: 0.125,
            beta: 0.5,
            eta: 1.0,
            k: 0.75,
            gamma_low: 5.0,
            gamma_high: 30.0,
            lambda: 0.25,
            low_window: 41.0,
        };
        Compound {
            gamma: settings.gamma_high,
            settings,
            rounds: Rounds::default(),
            credit: Credit::default(),
            dwnd: 0,
            prior: 0,
            reno_queued: None,
        }
    }
}

impl Compound {
    /// What dwnd, in segments, becomes after a round with `win` segments of which `queued` were queued.
    fn next(&self, dwnd: f64, win: f64, queued: f64) -> f64 {
        let s = &self.settings;
        if queued < self.gamma {
            dwnd + (s.alpha * libm::pow(win, s.k) - 1.0).max(0.0)
        } else {
            (dwnd - s.eta * queued).max(0.0)
        }
    }

    fn adjust(&mut self, round: Round, window: &mut Window) {
        let mss = f64::from(window.mss);
        // No more of the window than is there: the transport may have cut it.
        self.dwnd = self.dwnd.min(window.cwnd - window.bytes(1).min(window.cwnd));
        let (win, dwnd) = (window.cwnd as f64 / mss, self.dwnd as f64 / mss);
        // (win/baseRTT − win/RTT)·baseRTT
        let part = 1.0 - round.base as f64 / round.mean as f64;
        self.reno_queued = Some((win - dwnd) * part);
        if win < self.settings.low_window {
            return;
        }
        let next = (self.next(dwnd, win, win * part) * mss) as u64;
        window.cwnd = window.cwnd - self.dwnd + next;
        self.dwnd = next;
    }

    /// The draft's tuning: three quarters of what Reno would queue, smoothed.
    fn tune(&mut self) {
        let s = &self.settings;
        if let Some(queued) = self.reno_queued.take() {
            let gamma = (1.0 - s.lambda) * self.gamma + s.lambda * 0.75 * queued;
            self.gamma = gamma.max(s.gamma_low).min(s.gamma_high);
        }
    }
}

impl CongestionControl for Compound {
    fn observe(&mut self, ack: &Ack<'_>, _window: &mut Window) {
        self.rounds.observe(ack);
    }

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let round = if self.rounds.active { self.rounds.ended(ack) } else { None };
        if window.in_slow_start() {
            window.slow_start(ack.acked);
            return;
        }
        let per = window.cwnd;
        self.credit.grow(window, per, ack.acked);
        if let Some(round) = round
            && round.count > 2
        {
            self.adjust(round, window);
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        self.tune();
        self.credit.clear();
        self.prior = self.dwnd;
        self.rounds.stop(event.cause);
        if event.cause == Cause::Timeout {
            // Until the loss is repaired only Reno's part counts.
            self.dwnd = 0;
            window.ssthresh = window.halved(event.flight);
            return;
        }
        let reduced = (event.flight as f64 * (1.0 - self.settings.beta)) as u64;
        let reno = event.flight.saturating_sub(self.dwnd) / 2;
        self.dwnd = reduced.saturating_sub(reno);
        window.ssthresh = reduced.max(window.bytes(2));
    }

    fn on_recovered(&mut self, _now: Time, _window: &mut Window) {
        self.rounds.resume();
    }

    fn on_undo(&mut self, _now: Time, _window: &mut Window) {
        self.dwnd = self.prior;
        self.rounds.resume();
    }

    fn on_restart(&mut self, _now: Time, _idle: Span, _window: &mut Window) {
        self.rounds.restart();
    }

    fn parameters() -> &'static [Parameter] {
        const fn of(name: &'static str, about: &'static str, default: f64, high: f64) -> Parameter {
            Parameter { name, about, default, low: 0.0, high }
        }
        const LIST: &[Parameter] = &[
            of("alpha", "dwnd grows by alpha·win^k − 1 segments per round", 0.125, 1.0),
            of("beta", "part of the window given up on loss", 0.5, 0.9),
            of("eta", "segments given up per segment queued", 1.0, 10.0),
            of("k", "dwnd grows by alpha·win^k − 1 segments per round", 0.75, 1.0),
            of("gamma-low", "least segments queued above which dwnd shrinks", 5.0, 1e6),
            of("gamma-high", "most segments queued above which dwnd shrinks; the first value", 30.0, 1e6),
            of("lambda", "weight of a new sample in tuning gamma; 0: fixed", 0.25, 1.0),
            of("low-window", "segments below which it is Reno", 41.0, 1e6),
        ];
        LIST
    }

    fn set(&mut self, name: &str, value: f64) {
        let s = &mut self.settings;
        match name {
            "alpha" => s.alpha = value,
            "beta" => s.beta = value,
            "eta" => s.eta = value,
            "k" => s.k = value,
            "gamma-low" => s.gamma_low = value,
            "gamma-high" => {
                s.gamma_high = value;
                self.gamma = value;
            }
            "lambda" => s.lambda = value,
            _ => s.low_window = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000_000;

    fn window(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: 0, mss: MSS as u32, growth_limit: 1 }
    }

    fn round(mean: u64) -> Round {
        Round { count: 10, shortest: mean, mean, base: 100_000 }
    }

    /// cwnd 60 and dwnd 40 at 100 ms. Without a queue: 100^0.75/8 − 1 = 2.953 more. At 120 ms 100·(1 − 1/1.2) = 16.7
    /// are queued, less than 30: 2.953 more. At 150 ms 33.3: so many less.
    #[test]
    fn the_delay_window_by_hand() {
        for (mean, expected) in [(100_000, 42.953), (120_000, 42.953), (150_000, 6.667)] {
            let (mut compound, mut window) = (Compound { dwnd: 40 * MSS, ..Compound::default() }, window(100));
            compound.adjust(round(mean), &mut window);
            let dwnd = compound.dwnd as f64 / MSS as f64;
            assert!((dwnd - expected).abs() < 1e-3, "{dwnd}");
            assert_eq!(window.cwnd, 60 * MSS + compound.dwnd);
        }
    }

    /// 40 segments: Reno. From 41 on the growth exceeds a segment: 41^0.75/8 − 1 = 1.025.
    #[test]
    fn below_the_low_window_it_is_reno() {
        for (segments, expected) in [(40, 0.0), (41, 1.0252)] {
            let (mut compound, mut window) = (Compound::default(), window(segments));
            compound.adjust(round(100_000), &mut window);
            assert!((compound.dwnd as f64 / MSS as f64 - expected).abs() < 1e-3, "{}", compound.dwnd);
        }
    }

    /// Loss at cwnd 60, dwnd 40: the whole is halved, Reno's part too, so dwnd = 100·(1 − 1/2) − 60/2 = 20. Reno's part
    /// had 60·(1 − 1/1.5) = 20 queued, so gamma = 0.75·30 + 0.25·(0.75·20) = 26.25; a second loss has no sample.
    #[test]
    fn loss_halves_both_and_tunes_gamma() {
        let (mut compound, mut window) = (Compound { dwnd: 40 * MSS, ..Compound::default() }, window(100));
        compound.settings.eta = 0.0; // keep dwnd for the example
        compound.adjust(round(150_000), &mut window);
        compound.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 100 * MSS), &mut window);
        assert_eq!((compound.dwnd, window.ssthresh), (20 * MSS, 50 * MSS));
        assert!((compound.gamma - 26.25).abs() < 1e-9, "{}", compound.gamma);
        compound.on_congestion(&Event::of(Time::ZERO, Cause::Timeout, 50 * MSS), &mut window);
        assert_eq!((compound.dwnd, window.ssthresh), (0, 25 * MSS));
        assert!((compound.gamma - 26.25).abs() < 1e-9);
    }

    /// Without a queue dW/dt = W^0.75/8 (INFOCOM 2006): from 500 to 1000 segments in
    /// 32·(1000^¼ − 500^¼) = 28.6 round trips, where Reno needs 500.
    #[test]
    fn growth_follows_the_three_quarter_power() {
        let (mut compound, mut window, mut una) = (Compound::default(), window(500), 0);
        let mut rounds = 0;
        while window.cwnd < 1000 * MSS {
            let segments = window.segments();
            let nxt = una + segments * MSS;
            for _ in 0..segments {
                una += MSS;
                let ack = Ack { una, nxt, rtt: Some(Span::from_millis(100)), ..Ack::of(Time::ZERO, MSS) };
                compound.observe(&ack, &mut window);
                compound.on_ack(&ack, &mut window);
            }
            rounds += 1;
        }
        assert!((28..=31).contains(&rounds), "{rounds}");
    }
}
