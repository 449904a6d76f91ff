//! DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257), as Linux has it (`net/ipv4/tcp_dctcp.c`).
//!
//! The part of marked segments of each round trip is averaged, and a window with marks is reduced by half of that
//! part. Growth is Reno's, and a loss halves. The receiver's side, which tells marks exactly (RFC 8257 §3.2), is the
//! transport's. Leaves out: protective load balancing (`tcp_plb`), which is off unless asked for; the fall-back to
//! Reno where ECN is not agreed on, which is a scenario's mistake.

use headway_units::Time;

use super::{Ack, Cause, CongestionControl, Credit, Event, Parameter, Window, linux};

/// α = 1 (`DCTCP_MAX_ALPHA`).
const ONE: u64 = 1024;

/// DCTCP's state.
#[derive(Debug, Clone)]
pub struct Dctcp {
    /// log2(1/g).
    shift: u32,
    /// The average part of marked segments, 1/1024.
    alpha: u64,
    /// Segments delivered in this round trip, and with an echo.
    delivered: u64,
    marked: u64,
    /// The position that ends it.
    round_end: u64,
    /// The window at the last loss or reduction.
    before: u64,
    credit: Credit,
}

impl Default for Dctcp {
    fn default() -> Self {
        let credit = Credit::default();
        Dctcp { shift: 4, alpha: ONE, delivered: 0, marked: 0, round_end: 0, before: 0, credit }
    }
}

impl Dctcp {
    /// The average part of marked segments, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }

    /// Reduces by a `part` (1/1024) of the half; two segments at least: `dctcp_ssthresh`.
    pub(super) fn reduce(&mut self, part: u64, event: &Event<'_>, window: &mut Window) {
        let segments = event.flight / u64::from(window.mss);
        self.before = event.flight;
        self.credit.clear();
        window.ssthresh = window.bytes((segments - (segments.saturating_mul(part) >> 11)).max(2));
    }

    /// The same for a loss, where α does not matter: `dctcp_react_to_loss`, RFC 8257 §3.5.
    pub(super) fn halve(&mut self, event: &Event<'_>, window: &mut Window) {
        self.reduce(ONE, event, window);
        let segments = event.flight / u64::from(window.mss);
        window.ssthresh = window.bytes((segments / 2).max(2));
    }
}

impl CongestionControl for Dctcp {
    const DCTCP_ECN: bool = true;

    /// `dctcp_update_alpha`; RFC 8257 §3.3: α ← (1 − g) α + g M once per round trip.
    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let packets = linux::packets(ack.acked, window);
        self.delivered += packets;
        if ack.ece {
            self.marked += packets;
        }
        if ack.una < self.round_end {
            return;
        }
        // What is too small to shrink further vanishes.
        let less = self.alpha >> self.shift;
        self.alpha -= if less == 0 { self.alpha } else { less };
        let share = (self.marked << (10 - self.shift)) / self.delivered.max(1);
        self.alpha = (self.alpha + share).min(ONE);
        (self.delivered, self.marked) = (0, 0);
        self.round_end = ack.nxt;
    }

    /// `net/ipv4/tcp_cong.c: tcp_reno_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let mut acked = window.bytes(linux::packets(ack.acked, window));
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let per = window.bytes(window.segments());
        self.credit.grow(window, per, acked);
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        match event.cause {
            Cause::Ece => self.reduce(self.alpha, event, window),
            Cause::Loss | Cause::Timeout => self.halve(event, window),
        }
    }

    /// `dctcp_cwnd_undo`.
    fn on_undo(&mut self, _now: Time, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.before);
    }

    fn marked_share(&self) -> Option<f64> {
        Some(self.alpha())
    }

    fn parameters() -> &'static [Parameter] {
        const ALL: &[Parameter] = &[
            Parameter {
                name: "shift_g",
                about: "g = 1/2^this, the weight of the newest round trip (module parameter dctcp_shift_g)",
                default: 4.0,
                low: 0.0,
                high: 10.0,
            },
            Parameter {
                name: "alpha_on_init",
                about: "first average of marks, 1/1024 (module parameter dctcp_alpha_on_init)",
                default: 1024.0,
                low: 0.0,
                high: 1024.0,
            },
        ];
        ALL
    }

    fn set(&mut self, name: &str, value: f64) {
        match name {
            "shift_g" => self.shift = libm::round(value) as u32,
            "alpha_on_init" => self.alpha = libm::round(value) as u64,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use headway_units::Span;

    use super::*;

    const MSS: u64 = 1000;

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    /// A round trip of `marks`, one segment each.
    fn round(control: &mut Dctcp, window: &mut Window, una: &mut u64, marks: &[bool]) {
        let nxt = *una + 2 * marks.len() as u64 * MSS;
        for &ece in marks {
            *una += MSS;
            control.observe(&Ack { una: *una, nxt, ece, ..Ack::of(Time::ZERO, MSS) }, window);
        }
    }

    /// α in 1/1024, g = 1/16: 1024 − 64 = 960 with the first acknowledgement, that ends the round before data;
    /// without marks 960 − 60 = 900; with 5 marked of 10: 900 − 56 + ⌊5 · 64 / 10⌋ = 876.
    #[test]
    fn the_average_of_marks() {
        let (mut control, mut window, mut una) = (Dctcp::default(), at(10), 0);
        control.observe(&Ack { una: 0, nxt: 10 * MSS, ..Ack::of(Time::ZERO, 0) }, &mut window);
        assert_eq!(control.alpha, 960);
        // A round ends with the acknowledgement of what was next when it began.
        round(&mut control, &mut window, &mut una, &[false; 10]);
        assert_eq!(control.alpha, 900);
        let mut half = [false; 10];
        half[5..].fill(true);
        control.round_end = una + 10 * MSS;
        round(&mut control, &mut window, &mut una, &half);
        assert_eq!(control.alpha, 876);
        // From 15 on there is nothing left to shift away, so it is 0 at once.
        control.alpha = 15;
        control.round_end = una + 10 * MSS;
        round(&mut control, &mut window, &mut una, &[false; 10]);
        assert_eq!(control.alpha, 0);
    }

    /// α = 1/4 takes an eighth: 100 − ⌊100 · 256/2048⌋ = 88. A loss halves, whatever α is.
    #[test]
    fn marks_reduce_by_half_of_alpha_and_losses_halve() {
        let (mut control, mut window) = (Dctcp { alpha: 256, ..Dctcp::default() }, at(100));
        for (cause, left) in [(Cause::Ece, 88), (Cause::Loss, 50), (Cause::Timeout, 50)] {
            control.on_congestion(&Event::of(Time::ZERO, cause, 100 * MSS), &mut window);
            assert_eq!(window.ssthresh, left * MSS, "{cause:?}");
        }
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 101 * MSS), &mut window);
        assert_eq!(window.ssthresh, 50 * MSS);
    }

    #[test]
    fn undo_restores_the_window_before_the_loss() {
        let (mut control, mut window) = (Dctcp::default(), at(100));
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 100 * MSS), &mut window);
        window.cwnd = 50 * MSS;
        control.on_undo(Time::ZERO, &mut window);
        assert_eq!(window.segments(), 100);
    }

    /// SIGCOMM 2010 §3.3: α is the part of segments sent while the window is between W* and W* + 1, of those while it
    /// grows from (W* + 1)(1 − α/2) to W* + 1; eq. 6: α² (1 − α/4) = (2 W* + 1)/(W* + 1)². With `pause` round trips at
    /// the bottom, in which a sender that has just reduced does not grow. By bisection.
    fn steady(w: f64, pause: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let a: f64 = f64::midpoint(low, high);
            let (top, bottom) = (w + 1.0, (w + 1.0) * (1.0 - a / 2.0));
            let sent = (top * top - bottom * bottom) / 2.0 + pause * bottom;
            if a * sent < w + 0.5 { low = a } else { high = a }
        }
        low
    }

    /// One sender whose segments are marked while its window is above `threshold` segments, all acknowledged after
    /// a round trip. Returns the average of α, and of the windows at the bottom of the sawtooth.
    fn sawtooth(threshold: u64, round_trips: u64) -> (f64, f64) {
        let (mut control, mut window) = (Dctcp::default(), at(threshold / 2));
        let mut network = VecDeque::new();
        let (mut una, mut nxt, mut now) = (0, 0, Time::ZERO);
        let mut reducing: Option<u64> = None;
        let (mut sum, mut bottoms, mut seen, mut teeth) = (0.0, 0, 0u64, 0u64);
        while now < Time::ZERO + Span::from_millis(round_trips) {
            while network.len() < window.segments() as usize {
                network.push_back(window.segments() > threshold);
                nxt += MSS;
            }
            now += Span::from_millis(1) / network.len() as u64;
            let ece = network.pop_front().unwrap();
            una += MSS;
            let ack = Ack { una, nxt, ece, ..Ack::of(now, MSS) };
            control.observe(&ack, &mut window);
            if reducing.is_some_and(|end| una > end) {
                reducing = None;
            }
            if ece && reducing.is_none() {
                let flight = window.cwnd;
                control.on_congestion(&Event::of(now, Cause::Ece, flight), &mut window);
                window.cwnd = window.ssthresh;
                reducing = Some(nxt);
                if now > Time::ZERO + Span::from_millis(round_trips / 2) {
                    bottoms += window.segments();
                    teeth += 1;
                }
            } else if reducing.is_none() {
                control.on_ack(&ack, &mut window);
            }
            if now > Time::ZERO + Span::from_millis(round_trips / 2) {
                sum += control.alpha();
                seen += 1;
            }
        }
        (sum / seen as f64, bottoms as f64 / teeth as f64)
    }

    /// α is that of the paper, or as much lower as the pause at the bottom makes it; and higher by what a whole
    /// number of 1/1024 keeps each round trip of the sixteenth that should go, less than 16/1024. The window is reduced
    /// with α before the marks are in it, so by at most g = 1/16 less than the average.
    #[test]
    fn steady_state() {
        for w in [50u64, 123, 400] {
            let (alpha, bottom) = sawtooth(w, 4_000);
            let w = w as f64;
            let within = 0.98 * steady(w, 1.0)..steady(w, 0.0) + 16.0 / 1024.0;
            assert!(within.contains(&alpha), "alpha at W* = {w}: {alpha}, expected {within:?}");
            let depth = |alpha: f64| (w + 1.0) * (1.0 - alpha / 2.0);
            let within = depth(alpha)..depth(alpha - 1.0 / 16.0) + 1.0;
            assert!(within.contains(&bottom), "bottom at W* = {w}: {bottom}, expected {within:?}");
        }
        // Two flows at 10 Gb/s, 100 µs and K = 40: W* = (83.3 + 40)/2, α = 0.182; and eq. 6 as printed.
        let alpha = steady(123.3 / 2.0, 0.0);
        assert!((alpha - 0.182).abs() < 5e-4);
        let printed = (123.3 + 1.0) / (123.3f64 / 2.0 + 1.0).powi(2);
        assert!((alpha * alpha * (1.0 - alpha / 4.0) - printed).abs() < 1e-9);
    }
}
