//! BBR, version 1: paces at the measured delivery rate and keeps about two bandwidth-delay products in flight
//! (Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue 14(5),
//! 2016), with the rules, constants and integer arithmetic of Linux 6.12's `net/ipv4/tcp_bbr.c`: windows in
//! segments, times in microseconds, rates in segments per microsecond times 2²⁴, gains times 2⁸.
//!
//! Leaves out: the coarseness of Linux' clock ticks (the 10 s and 200 ms here are exact). Linux' random phase of the
//! gain cycle comes from [`Start::seed`].

use headway_units::{Rate, Span, Time};

use super::{Ack, CongestionControl, Event, Parameter, Start, State, Window};
use max_filter::MaxFilter;
use policer::{Policer, Totals};

mod max_filter;
mod path;
mod policer;
#[cfg(test)]
mod tests;

/// One segment per microsecond.
const BW_UNIT: u64 = 1 << 24;
/// A gain of 1.
const UNIT: u64 = 1 << 8;
/// 2/ln 2: doubles the rate in each round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Its inverse: drains in one round what start-up queued.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// The phases of PROBE_BW: probe, drain, cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// PROBE_BW begins in any phase but the draining one.
const CYCLE_STARTS: u64 = 7;
/// The smallest window, in segments.
const MIN_CWND: u64 = 4;
/// Linux' initial window, in segments.
const INITIAL: u64 = 10;
/// The pipe is full when the rate did not grow by 25 % in three rounds.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Each half of the window of `extra_acked`, in rounds.
const EXTRA_ROUNDS: u32 = 5;
/// The window is not widened for aggregation by more than the rate brings in this time.
const MAX_EXTRA_US: u64 = 100_000;
/// An aggregation epoch ends at so many segments.
const MAX_EPOCH: u64 = 1 << 20;

/// BBR v1 of one connection.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "flags as in the kernel's struct, independent of each other")]
pub struct Bbr {
    settings: Settings,
    /// State of the random numbers; zero until the connection starts.
    random: u64,
    mss: u64,
    mode: Mode,
    /// State at the previous acknowledgement.
    before: State,
    /// Bytes per second; zero until the connection starts.
    pacing: u64,
    seen_rtt: bool,
    min_rtt: Option<u64>,
    min_rtt_at: Time,
    bw: MaxFilter,
    round: u32,
    /// [`Ack::total`] that ends the round.
    round_end: u64,
    round_start: bool,
    totals: Totals,
    policer: Policer,
    pacing_gain: u64,
    cwnd_gain: u64,
    full: bool,
    full_bw: u64,
    full_rounds: u32,
    phase: usize,
    phase_at: u64,
    conserving: bool,
    idle_restart: bool,
    prior_cwnd: u64,
    probe_end: Option<Time>,
    probe_round_done: bool,
    /// Samples of segments sent between these positions of [`Ack::total`] say nothing: the window was cut to probe.
    app_limited_span: Option<(u64, u64)>,
    extra: Extra,
}

#[derive(Debug, Clone)]
struct Settings {
    cwnd_gain: u64,
    bw_rounds: u32,
    min_rtt_window: Span,
    probe_time: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Data acknowledged beyond what the rate explains, because acknowledgements come in bunches.
#[derive(Debug, Clone, Default)]
struct Extra {
    epoch_us: u64,
    epoch_acked: u64,
    rounds: u32,
    current: usize,
    most: [u64; 2],
}

/// An acknowledgement in segments and microseconds (Linux' `struct rate_sample`).
#[derive(Debug, Clone, Copy)]
struct Sample {
    now: Time,
    total: u64,
    acked: u64,
    lost: u64,
    flight_before: u64,
    flight: u64,
    /// Time until pacing lets the next segment go.
    wait_us: u64,
    /// Delivery: segments since `before`, in so many microseconds.
    before: u64,
    delivered: Option<u64>,
    interval: Option<u64>,
    app_limited: bool,
    rtt: Option<u64>,
    /// A lone runt, which the receiver may have waited to acknowledge.
    delayed: bool,
    state: State,
}

fn micros(time: Time) -> u64 {
    time.picos() / 1_000_000
}

fn span_us(span: Span) -> u64 {
    span.picos() / 1_000_000
}

/// `bw` times `gain` in bytes per second, less the margin of 1 % (`bbr_rate_bytes_per_sec`).
fn bytes_per_second(bw: u64, gain: u64, mss: u64) -> u64 {
    let rate = (u128::from(bw) * u128::from(mss) * u128::from(gain)) >> 8;
    ((rate * (1_000_000 / 100 * 99)) >> 24) as u64
}

impl Default for Bbr {
    fn default() -> Bbr {
        Bbr {
            settings: Settings {
                cwnd_gain: 2 * UNIT,
                bw_rounds: 10,
                min_rtt_window: Span::from_secs(10),
                probe_time: Span::from_millis(200),
            },
            random: 0,
            mss: 1,
            mode: Mode::Startup,
            before: State::Open,
            pacing: 0,
            seen_rtt: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            bw: MaxFilter::default(),
            round: 0,
            round_end: 0,
            round_start: false,
            totals: Totals::default(),
            policer: Policer::default(),
            // Linux' are zero until the first acknowledgement.
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full: false,
            full_bw: 0,
            full_rounds: 0,
            phase: 0,
            phase_at: 0,
            conserving: false,
            idle_restart: false,
            prior_cwnd: 0,
            probe_end: None,
            probe_round_done: false,
            app_limited_span: None,
            extra: Extra::default(),
        }
    }
}

/// The modes.
impl Bbr {
    fn random(&mut self) -> u64 {
        // xorshift64* (Vigna 2016)
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        let skipped = ((u128::from(self.random()) * u128::from(CYCLE_STARTS)) >> 64) as usize;
        self.phase = CYCLE.len() - 1 - skipped;
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = self.totals.at_us;
    }

    fn phase_over(&self, s: &Sample) -> bool {
        let elapsed = self.totals.at_us.saturating_sub(self.phase_at);
        let full_length = self.min_rtt.is_some_and(|min| elapsed > min);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let flight = self.in_network(s.flight_before, s.wait_us);
        if self.pacing_gain > UNIT {
            // Probing needs so much in flight; but loss shows that it does not fit.
            full_length && (s.lost > 0 || flight >= self.inflight(self.pacing_gain))
        } else {
            full_length || flight <= self.inflight(UNIT)
        }
    }

    fn check_full(&mut self, s: &Sample) {
        if self.full || !self.round_start || s.app_limited {
            return;
        }
        if self.bw.get() >= (self.full_bw * FULL_GROWTH) >> 8 {
            self.full_bw = self.bw.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, s: &Sample, window: &mut Window) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = window.bytes(self.inflight(UNIT));
        }
        if self.mode == Mode::Drain && self.in_network(s.flight, s.wait_us) <= self.inflight(UNIT) {
            self.probe_bw();
        }
    }

    fn update_min_rtt(&mut self, s: &Sample, window: &mut Window) {
        let expired = s.now > self.min_rtt_at.saturating_add(self.settings.min_rtt_window);
        if let Some(rtt) = s.rtt
            && (self.min_rtt.is_none_or(|min| rtt < min) || (expired && !s.delayed))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = s.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt && !self.settings.probe_time.is_zero() {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_end = None;
            self.app_limited_span = Some((s.total, s.total));
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(s, window);
        }
        if s.delivered.is_some_and(|d| d > 0) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, s: &Sample, window: &mut Window) {
        // The little in flight now says nothing of the path's rate (Linux sets `app_limited`).
        if let Some((_, until)) = &mut self.app_limited_span {
            *until = s.total + window.bytes(s.flight);
        }
        if self.probe_end.is_none() {
            if s.flight <= MIN_CWND {
                self.probe_end = Some(s.now.saturating_add(self.settings.probe_time));
                self.probe_round_done = false;
                self.round_end = s.total;
            }
            return;
        }
        self.probe_round_done |= self.round_start;
        if self.probe_round_done {
            self.check_probe_done(s.now, window);
        }
    }

    fn check_probe_done(&mut self, now: Time, window: &mut Window) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt_at = now;
        window.cwnd = window.bytes(window.segments().max(self.prior_cwnd));
        if self.full { self.probe_bw() } else { self.mode = Mode::Startup }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, self.settings.cwnd_gain),
            Mode::ProbeBw => (CYCLE[self.phase], self.settings.cwnd_gain),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

/// Pace and window.
impl Bbr {
    /// high_gain · cwnd / RTT, or of a nominal 1 ms.
    fn init_pacing(&mut self, srtt: Option<Span>, window: &Window) {
        let rtt = srtt.map_or(1000, |srtt| span_us(srtt).max(1));
        self.seen_rtt |= srtt.is_some();
        self.pacing = bytes_per_second(window.segments() * BW_UNIT / rtt, HIGH_GAIN, self.mss).max(1);
    }

    fn set_pacing(&mut self, gain: u64, srtt: Option<Span>, window: &Window) {
        let rate = bytes_per_second(self.rate(), gain, self.mss);
        if !self.seen_rtt && srtt.is_some() {
            self.init_pacing(srtt, window);
        }
        if self.full || rate > self.pacing {
            self.pacing = rate.max(1);
        }
    }

    /// Remembers a window that recovery or probing has not cut.
    fn save_cwnd(&mut self, window: &Window) {
        let kept = if in_repair(self.before) || self.mode == Mode::ProbeRtt { self.prior_cwnd } else { 0 };
        self.prior_cwnd = kept.max(window.segments());
    }

    /// Loss, and the beginning and end of recovery; the window, and whether it is conserved.
    fn recover(&mut self, s: &Sample, cwnd: u64) -> (u64, bool) {
        let mut cwnd = if s.lost > 0 { cwnd.saturating_sub(s.lost).max(1) } else { cwnd };
        if s.state == State::Recovery && self.before != State::Recovery {
            self.conserving = true;
            self.round_end = s.total;
            cwnd = s.flight + s.acked;
        } else if in_repair(self.before) && !in_repair(s.state) {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.before = s.state;
        if self.conserving { (cwnd.max(s.flight + s.acked), true) } else { (cwnd, false) }
    }

    fn set_cwnd(&mut self, s: &Sample, window: &mut Window) {
        let mut cwnd = window.segments();
        if s.acked > 0 {
            let conserved;
            (cwnd, conserved) = self.recover(s, cwnd);
            if !conserved {
                let target = self.quantised(self.bdp(self.rate(), self.cwnd_gain) + self.aggregation());
                // Linux counts the SYN as delivered too.
                let delivered = self.totals.delivered + 1;
                if self.full {
                    cwnd = (cwnd + s.acked).min(target);
                } else if cwnd < target || delivered < INITIAL {
                    cwnd += s.acked;
                }
                cwnd = cwnd.max(MIN_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_CWND);
        }
        window.cwnd = window.bytes(cwnd);
    }

    fn sample(&self, ack: &Ack<'_>) -> Sample {
        let segments = |bytes: u64| bytes.div_ceil(self.mss);
        let before = ack.delivery.map_or(0, |d| d.before);
        let app_limited_span = self.app_limited_span.is_some_and(|(from, until)| (from..=until).contains(&before));
        Sample {
            now: ack.now,
            total: ack.total,
            acked: segments(ack.acked),
            lost: segments(ack.lost),
            flight_before: segments(ack.flight_before),
            flight: segments(ack.flight),
            wait_us: ack.departure.map_or(0, |at| span_us(at.since(ack.now))),
            before,
            delivered: ack.delivery.map(|d| segments(d.bytes)),
            interval: ack.delivery.and_then(|d| d.interval).map(span_us).filter(|&us| us > 0),
            app_limited: app_limited_span || ack.delivery.is_some_and(|d| d.app_limited),
            rtt: ack.rtt.map(span_us),
            delayed: ack.acked < self.mss && !ack.ece && ack.delivery.is_some_and(|d| d.bytes == ack.acked),
            state: ack.state,
        }
    }
}

fn in_repair(state: State) -> bool {
    matches!(state, State::Recovery | State::Loss)
}

impl CongestionControl for Bbr {
    const MANAGES_CWND: bool = true;
    const WANTS_DELIVERY: bool = true;

    fn on_start(&mut self, start: &Start, window: &mut Window) {
        self.random = start.seed ^ 0x9E37_79B9_7F4A_7C15;
        if self.random == 0 {
            self.random = 1;
        }
        self.mss = u64::from(window.mss);
        self.min_rtt = start.rtt.map(span_us);
        self.min_rtt_at = start.now;
        self.totals.at_us = micros(start.now);
        self.extra.epoch_us = self.totals.at_us;
        self.init_pacing(start.rtt, window);
    }

    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if self.random == 0 {
            self.on_start(&Start { now: ack.now, rtt: ack.min_rtt, seed: 0 }, window);
        }
        let s = self.sample(ack);
        self.totals.delivered = s.total.div_ceil(self.mss);
        self.totals.lost = ack.lost_ever.div_ceil(self.mss);
        if s.acked > 0 {
            self.totals.at_us = micros(s.now);
        }
        self.update_bw(&s);
        self.update_extra(&s, window.segments());
        if self.mode == Mode::ProbeBw && self.phase_over(&s) {
            self.next_phase();
        }
        self.check_full(&s);
        self.check_drain(&s, window);
        self.update_min_rtt(&s, window);
        self.update_gains();
        self.set_pacing(self.pacing_gain, ack.srtt, window);
        self.set_cwnd(&s, window);
    }

    fn on_ack(&mut self, _ack: &Ack<'_>, _window: &mut Window) {}

    fn on_congestion(&mut self, _event: &Event<'_>, window: &mut Window) {
        self.save_cwnd(window);
    }

    /// `bbr_set_state`: a time-out ends the round.
    fn on_timeout(&mut self, lost: u64) {
        self.totals.lost = lost.div_ceil(self.mss);
        self.before = State::Loss;
        self.full_bw = 0;
        self.round_start = true;
        self.watch_policer(true, false);
    }

    fn on_undo(&mut self, _now: Time, _window: &mut Window) {
        self.full_bw = 0;
        self.full_rounds = 0;
        self.policer.reset(self.totals);
    }

    fn on_restart(&mut self, now: Time, _idle: Span, window: &mut Window) {
        if self.random == 0 {
            return;
        }
        // Nothing was in flight: what is sent now is measured from now (`tcp_rate_skb_sent`).
        self.totals.at_us = micros(now);
        self.idle_restart = true;
        self.extra.epoch_us = self.totals.at_us;
        self.extra.epoch_acked = 0;
        match self.mode {
            Mode::ProbeBw => self.set_pacing(UNIT, None, window),
            Mode::ProbeRtt => self.check_probe_done(now, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn pacing(&self) -> Option<Rate> {
        (self.pacing > 0).then(|| Rate::from_bps(self.pacing.saturating_mul(8)))
    }

    fn parameters() -> &'static [Parameter] {
        const LIST: &[Parameter] = &[
            Parameter {
                name: "cwnd-gain",
                about: "window in PROBE_BW, in bandwidth-delay products (bbr_cwnd_gain)",
                default: 2.0,
                low: 1.0,
                high: 16.0,
            },
            Parameter {
                name: "bw-rounds",
                about: "rounds for which the largest delivery rate counts (bbr_bw_rtts)",
                default: 10.0,
                low: 1.0,
                high: 1000.0,
            },
            Parameter {
                name: "min-rtt-window",
                about: "seconds for which the shortest round trip counts (bbr_min_rtt_win_sec)",
                default: 10.0,
                low: 0.001,
                high: 86_400.0,
            },
            Parameter {
                name: "probe-rtt-time",
                about: "seconds at four segments in PROBE_RTT; 0: never (bbr_probe_rtt_mode_ms)",
                default: 0.2,
                low: 0.0,
                high: 60.0,
            },
        ];
        LIST
    }

    fn set(&mut self, name: &str, value: f64) {
        match name {
            "cwnd-gain" => self.settings.cwnd_gain = (value * UNIT as f64).round() as u64,
            "bw-rounds" => self.settings.bw_rounds = value as u32,
            "min-rtt-window" => self.settings.min_rtt_window = Span::from_secs_f64(value),
            _ => self.settings.probe_time = Span::from_secs_f64(value),
        }
    }
}
