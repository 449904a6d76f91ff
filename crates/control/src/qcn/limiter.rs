//! The rate of a reaction point: cut by feedback, regained by a byte counter and a timer.
//!
//! QCN (802.1Qau) and DCQCN, which has it from there, differ in how far they cut, in periods and in steps.

use headway_units::{Bytes, Rate, Span, Time};

/// How a rate is regained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Increase {
    /// Cycles of a counter that end fast recovery.
    pub threshold: u32,
    /// Cycles that both counters need for hyper increase.
    pub hyper_from: u32,
    /// What a cycle adds to the target in additive increase.
    pub additive: Rate,
    /// The same in hyper increase, times the cycles since it began.
    pub hyper: Rate,
    /// The length of a cycle by time, in fast recovery and afterwards.
    pub timer: (Span, Span),
    /// The length of a cycle by bytes, in fast recovery and afterwards.
    pub bytes: (Bytes, Bytes),
}

/// A rate limiter: the current and the target rate in bit/s, and how far the cycles are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limiter {
    line: f64,
    current: f64,
    target: f64,
    /// Cycles of the byte counter and of the timer since the last cut.
    by_bytes: u32,
    by_time: u32,
    /// Bytes sent in this cycle.
    sent: u64,
    /// When the cycle of the timer ends; never before the first cut.
    expires: Time,
}

impl Limiter {
    /// Nothing is limited yet on a line of this rate.
    pub fn new(line: Rate) -> Limiter {
        let line = line.bps() as f64;
        Limiter { line, current: line, target: line, by_bytes: 0, by_time: 0, sent: 0, expires: Time::NEVER }
    }

    /// The rate, at least 1 bit/s.
    pub fn rate(&self) -> Rate {
        Rate::from_bps((self.current as u64).max(1))
    }

    /// The rate that recovery heads for.
    pub fn target(&self) -> Rate {
        Rate::from_bps((self.target as u64).max(1))
    }

    /// Whether the limiter is at work: it has been cut, and has not been released since.
    pub fn is_active(&self) -> bool {
        self.expires != Time::NEVER
    }

    /// No cycle has ended since the last cut, and nothing was sent.
    pub fn is_fresh(&self) -> bool {
        self.is_active() && self.by_bytes == 0 && self.by_time == 0 && self.sent == 0
    }

    /// The line's rate is back: nothing is limited.
    pub fn is_restored(&self) -> bool {
        self.current >= self.line
    }

    /// Takes it out of work.
    pub fn release(&mut self) {
        *self = Limiter::new(Rate::from_bps(self.line as u64));
    }

    /// Multiplies the rate by `factor`; the former one is the target, unless that is kept. Both counters begin anew.
    pub fn cut(&mut self, now: Time, factor: f64, keep_target: bool, least: Rate, increase: &Increase) {
        if !keep_target {
            self.target = self.current;
        }
        // a line may be slower than the least rate
        let least = (least.bps() as f64).min(self.line);
        self.current = (self.current * factor).max(least);
        (self.by_bytes, self.by_time, self.sent) = (0, 0, 0);
        self.expires = now.saturating_add(increase.timer.0);
    }

    /// So much was sent.
    pub fn on_sent(&mut self, bytes: Bytes, increase: &Increase) {
        if !self.is_active() {
            return;
        }
        self.sent += bytes.get();
        loop {
            let past = self.by_bytes >= increase.threshold;
            let period = if past { increase.bytes.1 } else { increase.bytes.0 }.get();
            if self.sent < period {
                return;
            }
            self.sent -= period;
            self.by_bytes = self.by_bytes.saturating_add(1);
            self.increase(increase);
        }
    }

    /// Lets cycles of the timer end up to `now`.
    pub fn advance(&mut self, now: Time, increase: &Increase) {
        while self.expires <= now {
            self.by_time = self.by_time.saturating_add(1);
            self.increase(increase);
            let past = self.by_time >= increase.threshold;
            let period = if past { increase.timer.1 } else { increase.timer.0 };
            self.expires = self.expires.saturating_add(period);
            if past && self.is_still(increase) && self.expires <= now {
                // Nothing moves any more: the cycles of a long silence are only counted.
                let cycles = now.since(self.expires).picos() / period.picos() + 1;
                self.by_time = self.by_time.saturating_add(u32::try_from(cycles).unwrap_or(u32::MAX));
                self.expires = self.expires.saturating_add(period.saturating_mul(cycles));
            }
        }
    }

    /// Whether further cycles of the timer move nothing, however many: the line's rate is back, or the target is reached
    /// and its steps are zero.
    fn is_still(&self, increase: &Increase) -> bool {
        let hyper = self.by_bytes >= increase.hyper_from;
        let step = if hyper { increase.hyper } else { increase.additive };
        let lasts = !hyper || self.by_time >= increase.hyper_from;
        self.is_restored() || self.current >= self.target && step.is_zero() && lasts
    }

    /// A cycle has ended.
    fn increase(&mut self, increase: &Increase) {
        let (fewer, more) = (self.by_bytes.min(self.by_time), self.by_bytes.max(self.by_time));
        if fewer >= increase.hyper_from {
            self.target += increase.hyper.bps() as f64 * f64::from(fewer - increase.hyper_from + 1);
        } else if more >= increase.threshold {
            self.target += increase.additive.bps() as f64;
        }
        self.target = self.target.min(self.line);
        self.current = f64::midpoint(self.current, self.target);
        // What is left of the way, less than a bit a second, would halve for ever.
        if self.target - self.current < 1.0 {
            self.current = self.target;
        }
    }
}
