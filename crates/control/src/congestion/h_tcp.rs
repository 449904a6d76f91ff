//! H-TCP (Shorten and Leith, PFLDnet 2004; draft-leith-tcp-htcp-06), as Linux has it (`net/ipv4/tcp_htcp.c`).
//!
//! Growth rises with the time since the last congestion, after a second of Reno's; what remains after congestion is
//! the ratio of the least to the largest round trip, so that the queue just empties, or half if the rate has changed
//! much between congestions. Growth counts segments acknowledged in sequence, and loses what is left over when it
//! adds a segment.
//!
//! Leaves out: nothing of the module. Where it takes the start of the connection this takes the first
//! acknowledgement.

use headway_units::Time;

use super::{Ack, Cause, CongestionControl, Event, Parameter, State, Window, linux};

/// Unit of α and β, 1/128 (`ALPHA_BASE`).
const ONE: u64 = 128;
/// Bounds of what remains (`BETA_MIN`, `BETA_MAX`): 0.5 and 0.8.
const BETA: (u64, u64) = (64, 102);
/// Shortest least round trip with adaptive backoff, and the most by which the largest one grows at once: ticks.
const SHORT: u64 = linux::HZ / 100;
const RISE: u64 = linux::HZ / 50;

/// What an undone congestion restores.
#[derive(Debug, Clone, Copy)]
struct Undo {
    last_congestion: u64,
    max_rtt: u64,
    old_max_rate: u64,
}

/// The module's parameters.
#[derive(Debug, Clone, Copy)]
struct Settings {
    rtt_scaling: bool,
    bandwidth_switch: bool,
}

/// H-TCP's state: ticks, segments, and segments per second.
#[derive(Debug, Clone)]
pub struct Htcp {
    settings: Settings,
    alpha: u64,
    beta: u64,
    /// Adaptive backoff waits for a first congestion.
    adaptive: bool,
    acked: u64,
    min_rtt: u64,
    max_rtt: u64,
    last_congestion: Option<u64>,
    undo: Option<Undo>,
    /// Segments since `counted_from`, which is never for the first.
    counted: u64,
    counted_from: Option<u64>,
    max_rate: u64,
    old_max_rate: u64,
    rate: u64,
    /// Segments acknowledged since the last growth (`snd_cwnd_cnt`).
    count: u64,
    sequence: linux::InSequence,
    in_loss: bool,
}

impl Default for Htcp {
    fn default() -> Self {
        Htcp {
            settings: Settings { rtt_scaling: true, bandwidth_switch: true },
            alpha: ONE,
            beta: BETA.0,
            adaptive: false,
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: None,
            undo: None,
            counted: 0,
            counted_from: None,
            max_rate: 0,
            old_max_rate: 0,
            rate: 0,
            count: 0,
            sequence: linux::InSequence::default(),
            in_loss: false,
        }
    }
}

impl Htcp {
    /// `htcp_cong_time`.
    fn since_congestion(&self, now: u64) -> u64 {
        now.saturating_sub(self.last_congestion.unwrap_or(now))
    }

    /// `measure_rtt`.
    fn measure_rtt(&mut self, rtt: u64, open: bool) {
        if self.min_rtt > rtt || self.min_rtt == 0 {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + RISE {
                self.max_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput`, its second half: a rate for each window, averaged once three round trips have
    /// passed since the congestion.
    fn measure_rate(&mut self, now: u64, acked: u64, cwnd: u64) {
        self.counted += acked;
        let enough = cwnd.saturating_sub((self.alpha / ONE).max(1));
        let passed = self.counted_from.map_or(u64::MAX, |from| now - from);
        if self.min_rtt == 0 || self.counted < enough || passed < self.min_rtt {
            return;
        }
        let rate = (self.counted * linux::HZ).checked_div(passed).unwrap_or(0);
        if self.since_congestion(now) / self.min_rtt <= 3 {
            (self.max_rate, self.rate) = (rate, rate);
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.max_rate = self.max_rate.max(self.rate);
        }
        self.counted = 0;
        self.counted_from = Some(now);
    }

    /// `htcp_beta_update`: what remains, by the round trips unless the rate is not within a fifth of that before.
    fn update_beta(&mut self) {
        if self.settings.bandwidth_switch {
            let old = std::mem::replace(&mut self.old_max_rate, self.max_rate);
            if !(4 * old..=6 * old).contains(&(5 * self.max_rate)) {
                self.beta = BETA.0;
                self.adaptive = false;
                return;
            }
        }
        if self.adaptive && self.min_rtt > SHORT && self.max_rtt > 0 {
            self.beta = (self.min_rtt * ONE / self.max_rtt).clamp(BETA.0, BETA.1);
        } else {
            self.beta = BETA.0;
            self.adaptive = true;
        }
    }

    /// `htcp_alpha_update`: α = 2 (1 − β) (1 + 10 (Δ − 1) + ((Δ − 1)/2)²) for Δ seconds since the congestion, times
    /// the round trip over 100 ms, between a tenth and twice, if that is asked for.
    fn update_alpha(&mut self, now: u64) {
        let mut factor = 1;
        let since = self.since_congestion(now);
        if since > linux::HZ {
            let over = since - linux::HZ;
            factor = 1 + (10 * over + (over / 2) * (over / 2) / linux::HZ) / linux::HZ;
        }
        if self.settings.rtt_scaling && self.min_rtt > 0 {
            let scale = (8 * linux::HZ / (10 * self.min_rtt)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }

    /// `htcp_reset`.
    fn begin(&mut self, now: u64) {
        let last_congestion = self.last_congestion.unwrap_or(now);
        self.undo = Some(Undo { last_congestion, max_rtt: self.max_rtt, old_max_rate: self.old_max_rate });
        self.last_congestion = Some(now);
    }

    /// `htcp_state` on TCP_CA_Open: the time counts from the end of the repair.
    fn end(&mut self, now: u64) {
        if self.undo.take().is_some() {
            self.last_congestion = Some(now);
        }
    }
}

impl CongestionControl for Htcp {
    /// `measure_achieved_throughput`, and `htcp_state` for what is no congestion event of its own.
    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let now = linux::jiffies(ack.now);
        let open = ack.state == State::Open;
        self.last_congestion.get_or_insert(now);
        let in_loss = ack.state == State::Loss;
        if in_loss && !self.in_loss {
            self.begin(now);
        } else if open {
            self.end(now);
        }
        self.in_loss = in_loss;
        let acked = linux::packets(self.sequence.bytes(ack), window);
        if open {
            self.acked = acked;
        }
        if let Some(rtt) = ack.rtt.map(linux::micros).filter(|&rtt| rtt > 0) {
            self.measure_rtt(linux::ticks(rtt), open);
        }
        if !self.settings.bandwidth_switch {
            return;
        }
        if open || ack.state == State::Disorder {
            self.measure_rate(now, acked, window.segments());
        } else {
            self.counted = 0;
            self.counted_from = Some(now);
        }
    }

    /// `htcp_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(window.bytes(linux::packets(ack.acked, window)));
            return;
        }
        if self.count * self.alpha / ONE >= window.segments() {
            window.cwnd += u64::from(window.mss);
            self.count = 0;
            self.update_alpha(linux::jiffies(ack.now));
        } else {
            self.count += self.acked;
        }
        self.acked = 1;
    }

    /// `htcp_recalc_ssthresh`, `htcp_param_update`, then `htcp_state`.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        let now = linux::jiffies(event.now);
        let (min_rtt, max_rtt) = (self.min_rtt, self.max_rtt);
        self.update_beta();
        self.update_alpha(now);
        // The largest round trip fades, in case the path has changed.
        if min_rtt > 0 && max_rtt > min_rtt {
            self.max_rtt = min_rtt + (max_rtt - min_rtt) * 95 / 100;
        }
        let segments = event.flight / u64::from(window.mss);
        window.ssthresh = window.bytes((segments.saturating_mul(self.beta) / ONE).max(2));
        self.count = 0;
        self.begin(now);
        self.in_loss = event.cause == Cause::Timeout;
    }

    fn on_recovered(&mut self, now: Time, _window: &mut Window) {
        self.end(linux::jiffies(now));
    }

    /// `htcp_cwnd_undo`.
    fn on_undo(&mut self, _now: Time, _window: &mut Window) {
        if let Some(undo) = self.undo.take() {
            self.last_congestion = Some(undo.last_congestion);
            self.max_rtt = undo.max_rtt;
            self.old_max_rate = undo.old_max_rate;
        }
    }

    fn parameters() -> &'static [Parameter] {
        const fn of(name: &'static str, about: &'static str) -> Parameter {
            Parameter { name, about, default: 1.0, low: 0.0, high: 1.0 }
        }
        const ALL: &[Parameter] = &[
            of("use_rtt_scaling", "growth in proportion to the round trip, 0 or 1 (module parameter)"),
            of("use_bandwidth_switch", "halve where the rate has changed, 0 or 1 (module parameter)"),
        ];
        ALL
    }

    fn set(&mut self, name: &str, value: f64) {
        let on = value >= 0.5;
        match name {
            "use_rtt_scaling" => self.settings.rtt_scaling = on,
            "use_bandwidth_switch" => self.settings.bandwidth_switch = on,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Span;

    use super::*;

    const MSS: u64 = 1000;

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// α at so many ticks after a congestion, with β = 1/2 and a round trip of 100 ms.
    fn alpha(after: u64, min_rtt: u64, scaling: bool) -> f64 {
        let mut control = Htcp { min_rtt, last_congestion: Some(1_000), ..Htcp::default() };
        control.set("use_rtt_scaling", f64::from(u8::from(scaling)));
        control.update_alpha(1_000 + after);
        control.alpha as f64 / 128.0
    }

    /// draft-leith-tcp-htcp-06: α = 1 for a second, then 1 + 10 (Δ − 1) + ((Δ − 1)/2)², times 2 (1 − β) = 1: at 3 s
    /// 1 + 20 + 1 = 22, at 11 s 1 + 100 + 25 = 126. A round trip of 50 ms halves that, one of 400 ms doubles it at
    /// most, and one of 1 ms leaves a tenth at least: ⌊22 · 8/80⌋ = 2.
    #[test]
    fn growth_rises_with_time() {
        for (after, expected) in [(0, 1.0), (1_000, 1.0), (3_000, 22.0), (11_000, 126.0)] {
            assert_eq!(alpha(after, 100, false), expected);
            assert_eq!(alpha(after, 100, true), expected);
        }
        assert_eq!([alpha(3_000, 50, true), alpha(3_000, 400, true), alpha(3_000, 1, true)], [11.0, 44.0, 2.0]);
    }

    /// A congestion with a largest round trip of 80 and a least of 60 ms: the first halves, the second, if the rate is
    /// within a fifth of that before, leaves ⌊60 · 128/80⌋ = 96 of 128, which is 3/4, at most 0.8 and at least half;
    /// where the rate has changed by more, or the path is short, half.
    #[test]
    fn adaptive_backoff() {
        let (mut control, mut window) = (Htcp { min_rtt: 60, max_rtt: 80, ..Htcp::default() }, at(100));
        let mut lose = |control: &mut Htcp, min_rtt, max_rtt, max_rate| {
            (control.min_rtt, control.max_rtt, control.max_rate) = (min_rtt, max_rtt, max_rate);
            control.on_congestion(&Event::of(ms(5_000), Cause::Loss, 100 * MSS), &mut window);
            window.ssthresh / MSS
        };
        assert_eq!(lose(&mut control, 60, 80, 1000), 50); // from a rate of 0
        assert_eq!(lose(&mut control, 60, 80, 1000), 50); // the first that is adaptive halves, too
        assert_eq!(lose(&mut control, 60, 80, 1200), 75);
        assert_eq!(control.max_rtt, 60 + 19); // 95 % of the 20 above the least
        assert_eq!(lose(&mut control, 60, 62, 1200), 100 * 102 / 128);
        assert_eq!(lose(&mut control, 60, 200, 1200), 50);
        assert_eq!(lose(&mut control, 60, 80, 1441), 50); // more than a fifth more
        assert_eq!(lose(&mut control, 60, 80, 1441), 50);
        assert_eq!(lose(&mut control, 10, 13, 1441), 50); // not above 10 ms
    }

    /// Windows of 10 segments in 100 ms are 100 segments a second, from the first after the start (whose time is not
    /// known) on; one of 20 counts a quarter once three round trips have passed: (3 · 100 + 200)/4.
    #[test]
    fn the_rate_is_measured_by_windows() {
        let (mut control, mut window) = (Htcp::default(), at(10));
        let steady = (1..=79).map(|n| 10 * n);
        let fast = (1..=20).map(|n| 790 + 5 * n);
        let mut una = 0;
        for at_ms in steady.chain(fast) {
            if at_ms == 795 {
                assert_eq!((control.rate, control.max_rate), (100, 100));
            }
            una += MSS;
            control.observe(&Ack { una, rtt: Some(Span::from_millis(100)), ..Ack::of(ms(at_ms), MSS) }, &mut window);
        }
        assert_eq!((control.rate, control.max_rate), (125, 125));
    }

    /// α = 1 and one segment acknowledged at a time: the one after the tenth adds a segment to a window of ten, and
    /// itself counts for nothing.
    #[test]
    fn growth_by_one_takes_a_window_and_one_more() {
        let (mut control, mut window) = (Htcp::default(), at(10));
        for n in 1..=11u64 {
            assert_eq!(window.segments(), 10);
            let ack = Ack { una: n * MSS, ..Ack::of(ms(n), MSS) };
            control.observe(&ack, &mut window);
            control.on_ack(&ack, &mut window);
        }
        assert_eq!((window.segments(), control.count), (11, 0));
    }

    /// The time since congestion counts from the end of its repair; if there was none, from the one before.
    #[test]
    fn undo() {
        for undone in [false, true] {
            let (mut control, mut window) = (Htcp { last_congestion: Some(1_000), ..Htcp::default() }, at(10));
            control.on_congestion(&Event::of(ms(5_000), Cause::Loss, 10 * MSS), &mut window);
            assert_eq!(control.last_congestion, Some(5_000));
            if undone {
                control.on_undo(ms(5_050), &mut window);
            }
            control.on_recovered(ms(5_100), &mut window);
            assert_eq!(control.last_congestion, Some(if undone { 1_000 } else { 5_100 }));
        }
    }
}
