//! TCP Illinois (Liu, Başar and Srikant 2008, doi:10.1016/j.peva.2007.12.007), as Linux has it
//! (`net/ipv4/tcp_illinois.c`).
//!
//! Losses decide when the window grows and shrinks, the average queueing delay by how much: 10 segments a round trip
//! down to 0.3, and an eighth to a half. Growth counts segments acknowledged in sequence, and loses what is left over
//! when it adds a segment. Leaves out: nothing of the module.

use super::{Ack, Cause, CongestionControl, Event, Parameter, State, Window, linux};

/// α = 1 (`ALPHA_SCALE`) and its bounds and start.
const ALPHA_ONE: u64 = 128;
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// β = 1 (`BETA_SCALE`) and its bounds.
const BETA_ONE: u64 = 64;
const BETA_MIN: u64 = BETA_ONE / 8;
const BETA_MAX: u64 = BETA_ONE / 2;
/// Longest round trip that counts, microseconds (`RTT_MAX`).
const RTT_MAX: u64 = u32::MAX as u64 / ALPHA_MAX;

/// Illinois' state: microseconds, segments.
#[derive(Debug, Clone)]
pub struct Illinois {
    win_thresh: u64,
    theta: u64,
    sum_rtt: u64,
    samples: u64,
    base_rtt: u64,
    max_rtt: u64,
    /// The position that ends the round; `None`: what is next to be sent when the next acknowledgement arrives.
    round_end: Option<u64>,
    alpha: u64,
    beta: u64,
    acked: u64,
    above: bool,
    low: u64,
    /// Segments acknowledged since the last growth (`snd_cwnd_cnt`).
    count: u64,
    sequence: linux::InSequence,
    in_loss: bool,
}

impl Default for Illinois {
    fn default() -> Self {
        Illinois {
            win_thresh: 15,
            theta: 5,
            sum_rtt: 0,
            samples: 0,
            base_rtt: 0x7fff_ffff,
            max_rtt: 0,
            round_end: Some(0),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            acked: 0,
            above: false,
            low: 0,
            count: 0,
            sequence: linux::InSequence::default(),
            in_loss: false,
        }
    }
}

impl Illinois {
    /// `alpha`: κ₁/(κ₂ + d_a) between the bounds, with d₁ a hundredth of the largest delay; and the
    /// largest growth only after `theta` round trips of little delay.
    fn growth(&mut self, mut average: u64, mut most: u64) -> u64 {
        let low = most / 100;
        if average <= low {
            if !self.above {
                return ALPHA_MAX;
            }
            self.low += 1;
            if self.low < self.theta {
                return self.alpha;
            }
            self.low = 0;
            self.above = false;
            return ALPHA_MAX;
        }
        self.above = true;
        most -= low;
        average -= low;
        most * ALPHA_MAX / (most + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }

    /// `beta`: a straight line from a tenth to eight tenths of the largest delay.
    fn decrease(average: u64, most: u64) -> u64 {
        let (low, high) = (most / 10, 8 * most / 10);
        if average <= low {
            BETA_MIN
        } else if average >= high || high <= low {
            BETA_MAX
        } else {
            (BETA_MIN * high + (BETA_MAX - BETA_MIN) * average - BETA_MAX * low) / (high - low)
        }
    }

    /// `update_params`, once a round trip.
    fn update(&mut self, ack: &Ack<'_>, window: &Window) {
        if self.round_end.is_some_and(|end| ack.una <= end) {
            return;
        }
        if window.segments() < self.win_thresh {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if let Some(average) = self.sum_rtt.checked_div(self.samples) {
            let most = self.max_rtt - self.base_rtt;
            let average = average - self.base_rtt;
            self.alpha = self.growth(average, most);
            self.beta = Illinois::decrease(average, most);
        }
        self.new_round(Some(ack.nxt));
    }

    fn new_round(&mut self, end: Option<u64>) {
        self.round_end = end;
        self.samples = 0;
        self.sum_rtt = 0;
    }

    /// `tcp_illinois_state` after a time-out.
    fn restart(&mut self) {
        (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        self.low = 0;
        self.above = false;
        self.new_round(None);
    }
}

impl CongestionControl for Illinois {
    /// `tcp_illinois_acked`. Rounds end here too where the window may not grow because it was not used.
    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let in_loss = ack.state == State::Loss;
        if in_loss && !self.in_loss {
            self.restart();
        }
        self.in_loss = in_loss;
        if self.round_end.is_none() {
            self.round_end = Some(ack.nxt);
        }
        self.acked = linux::packets(self.sequence.bytes(ack), window);
        if let Some(rtt) = ack.rtt {
            let rtt = linux::micros(rtt).min(RTT_MAX);
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.samples += 1;
            self.sum_rtt += rtt;
        }
        if !ack.cwnd_limited && matches!(ack.state, State::Open | State::Disorder | State::Loss) {
            self.update(ack, window);
        }
    }

    /// `tcp_illinois_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.update(ack, window);
        if window.in_slow_start() {
            window.slow_start(window.bytes(linux::packets(ack.acked, window)));
            return;
        }
        self.count += self.acked;
        self.acked = 1;
        let segments = window.segments();
        let earned = (self.count * self.alpha) / ALPHA_ONE;
        if earned >= segments {
            window.cwnd += window.bytes(earned / segments);
            self.count = 0;
        }
    }

    /// `tcp_illinois_ssthresh`.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        let segments = event.flight / u64::from(window.mss);
        window.ssthresh = window.bytes((segments - segments.saturating_mul(self.beta) / BETA_ONE).max(2));
        self.count = 0;
        if event.cause == Cause::Timeout {
            self.restart();
            self.in_loss = true;
        }
    }

    fn parameters() -> &'static [Parameter] {
        const ALL: &[Parameter] = &[
            Parameter {
                name: "win_thresh",
                about: "smaller windows are Reno's, segments (module parameter)",
                default: 15.0,
                low: 0.0,
                high: 1e6,
            },
            Parameter {
                name: "theta",
                about: "round trips of little delay before full growth (module parameter)",
                default: 5.0,
                low: 0.0,
                high: 255.0,
            },
        ];
        ALL
    }

    fn set(&mut self, name: &str, value: f64) {
        let whole = libm::round(value) as u64;
        match name {
            "win_thresh" => self.win_thresh = whole,
            "theta" => self.theta = whole,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::*;

    const MSS: u64 = 1000;

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    /// With a largest delay of 100 ms: α is 10 up to 1 ms, and 0.3 at 100 (38/128 is Linux' 0.3); half way, with
    /// d = 49.5 of 99, κ: 99 · 10 / (99 + 49.5 · (10 − 0.297)/0.297) = 0.577.
    #[test]
    fn growth_falls_with_delay() {
        for (delay, expected) in [(1_000, 10.0), (50_500, 0.577), (100_000, 38.0 / 128.0)] {
            let got = Illinois::default().growth(delay, 100_000) as f64 / 128.0;
            assert!((got - expected).abs() <= 1.0 / 128.0, "{delay}: {got}");
        }
    }

    /// β is 1/8 up to 10 of 100 ms, 1/2 from 80 on, and (1/8 + 1/2)/2 half way between.
    #[test]
    fn decrease_rises_with_delay() {
        for (delay, expected) in [(0, 8), (10, 8), (45, 20), (80, 32), (100, 32)] {
            assert_eq!(Illinois::decrease(delay * 1000, 100_000), expected);
        }
        assert_eq!(Illinois::decrease(0, 0), 8); // no delay at all yet: that is little
    }

    /// Once there was delay it takes five round trips without to grow by ten again.
    #[test]
    fn full_growth_returns_after_theta_round_trips() {
        let mut control = Illinois::default();
        control.alpha = control.growth(50_500, 100_000);
        let before = control.alpha;
        for _ in 0..4 {
            assert_eq!(control.growth(0, 100_000), before);
        }
        assert_eq!(control.growth(0, 100_000), ALPHA_MAX);
    }

    fn ack(una: u64, nxt: u64, rtt_ms: u64) -> Ack<'static> {
        Ack { una, nxt, rtt: Some(Span::from_millis(rtt_ms)), ..Ack::of(Time::ZERO, MSS) }
    }

    /// A window of 100 without any delay: α = 10, and ten acknowledged segments make one of growth. A loss with
    /// β = 1/8 leaves 101 − ⌊101/8⌋ = 89.
    #[test]
    fn worked_example() {
        let (mut control, mut window) = (Illinois::default(), at(100));
        for n in 1..=10 {
            assert_eq!(window.segments(), 100);
            let ack = ack(n * MSS, 1_000_000, 50);
            control.observe(&ack, &mut window);
            control.on_ack(&ack, &mut window);
        }
        assert_eq!(window.segments(), 101);
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 101 * MSS), &mut window);
        assert_eq!(window.ssthresh, 89 * MSS);
    }

    /// Below 15 segments it is Reno.
    #[test]
    fn small_windows_are_renos() {
        let (mut control, mut window) = (Illinois::default(), at(14));
        let mut una = 0;
        for _ in 0..14 {
            assert_eq!(window.segments(), 14);
            una += MSS;
            let ack = ack(una, 1_000_000, 50);
            control.observe(&ack, &mut window);
            control.on_ack(&ack, &mut window);
        }
        assert_eq!(window.segments(), 15);
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 15 * MSS), &mut window);
        assert_eq!(window.ssthresh, 8 * MSS); // 15 − ⌊15/2⌋
    }
}
