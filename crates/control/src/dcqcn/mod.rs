//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3): rates of RoCEv2 senders.
//!
//! A switch marks packets (ECN). The receiver's card, the *notification point*, answers marks with a CNP, at most one per
//! flow and interval. The sender's card, the *reaction point*, cuts the flow's rate by half of α, an average of how often
//! CNPs come, and regains it as QCN does: fast recovery to the rate before, then additive, then hyper increase.
//!
//! Defaults are those of the paper (§5, §6 and its table of parameters): g = 1/256, CNP interval 50 µs, α's period 55 µs,
//! timer 55 µs, byte counter 10 MB, F = 5, R_AI = 40 Mb/s. The paper gives no R_HAI; 200 Mb/s is that of its authors'
//! simulator (`bobzhuyb/ns3-rdma`, `mix/config.txt`). Nor does it give a least rate; 1 Mb/s is that of ConnectX cards
//! (`rpg_min_rate`). What these cards have otherwise: g = 5/1024 (`dce_tcp_g` 1019), α's period 1 µs (`dce_tcp_rtt`),
//! at least 4 µs between cuts (`rate_reduce_monitor_period`), cuts to half at most (`rpg_min_dec_fac` 50).
//! Alibaba's HPCC simulator models them with timer 900 µs, F = 1, R_AI 50 Mb/s, R_HAI 100 Mb/s, least rate 100 Mb/s.
//!
//! Left out: those cards' least time between cuts (the notification point spaces CNPs), their rate on the first CNP.

use headway_units::{Bytes, Rate, Span, Time};

use crate::qcn::limiter::{Increase, Limiter};

/// The parameters of DCQCN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// g, the weight of a CNP in α: more than 0, at most 1.
    pub gain: f64,
    /// K: without a CNP for so long α shrinks; more than zero.
    pub alpha_interval: Span,
    /// N: the least time between two CNPs of a flow.
    pub cnp_interval: Span,
    /// T, the length of a cycle by time; more than zero.
    pub timer: Span,
    /// B, the length of a cycle by bytes; more than zero.
    pub byte_counter: Bytes,
    /// F, the cycles of a counter that end fast recovery; at least 1.
    pub threshold: u32,
    /// R_AI, what a cycle adds to the target in additive increase.
    pub additive: Rate,
    /// R_HAI, the step of hyper increase.
    pub hyper: Rate,
    /// The least rate of a flow; more than zero.
    pub least: Rate,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            gain: 1.0 / 256.0,
            alpha_interval: Span::from_micros(55),
            cnp_interval: Span::from_micros(50),
            timer: Span::from_micros(55),
            byte_counter: Bytes::new(10_000_000),
            threshold: 5,
            additive: Rate::from_mbps(40),
            hyper: Rate::from_mbps(200),
            least: Rate::from_mbps(1),
        }
    }
}

impl Parameters {
    /// Whether every parameter is in its range.
    pub fn are_sound(&self) -> bool {
        let gain = self.gain > 0.0 && self.gain <= 1.0;
        let periods = !self.alpha_interval.is_zero() && !self.timer.is_zero() && !self.byte_counter.is_zero();
        gain && periods && self.threshold > 0 && !self.least.is_zero()
    }

    fn increase(&self) -> Increase {
        Increase {
            threshold: self.threshold,
            // the paper: hyper increase if min(T, BC) > F
            hyper_from: self.threshold + 1,
            additive: self.additive,
            hyper: self.hyper,
            timer: (self.timer, self.timer),
            bytes: (self.byte_counter, self.byte_counter),
        }
    }
}

/// The reaction point of one flow.
///
/// Its timers have no events: what they did is made up for when it is asked, which gives the same rates.
#[derive(Debug, Clone, PartialEq)]
pub struct ReactionPoint {
    parameters: Parameters,
    limiter: Limiter,
    alpha: f64,
    /// When α shrinks next; never before the first CNP.
    shrinks: Time,
}

impl ReactionPoint {
    /// That of a flow that begins, at the rate of its line: RoCE has no slow start.
    ///
    /// # Panics
    /// If parameters are out of their ranges.
    pub fn new(parameters: Parameters, line: Rate) -> ReactionPoint {
        assert!(parameters.are_sound(), "{parameters:?}");
        ReactionPoint { parameters, limiter: Limiter::new(line), alpha: 1.0, shrinks: Time::NEVER }
    }

    /// The rate at which the flow may send, of bytes on the line.
    pub fn rate(&self) -> Rate {
        self.limiter.rate()
    }

    /// The rate that recovery heads for.
    pub fn target(&self) -> Rate {
        self.limiter.target()
    }

    /// α, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Time has come to `now`: timers may have expired.
    pub fn advance(&mut self, now: Time) {
        let Parameters { gain, alpha_interval, .. } = self.parameters;
        if self.shrinks <= now {
            let periods = now.since(self.shrinks).picos() / alpha_interval.picos() + 1;
            // (1 − g)^n; n is far below 2^53
            self.alpha *= libm::pow(1.0 - gain, periods as f64);
            self.shrinks = self.shrinks.saturating_add(alpha_interval.saturating_mul(periods));
        }
        self.limiter.advance(now, &self.parameters.increase());
    }

    /// A CNP has come (the paper, eq. 1): the rate is cut by half of α, which then grows.
    pub fn on_cnp(&mut self, now: Time) {
        self.advance(now);
        let Parameters { gain, alpha_interval, least, .. } = self.parameters;
        self.limiter.cut(now, 1.0 - self.alpha / 2.0, false, least, &self.parameters.increase());
        self.alpha = (1.0 - gain) * self.alpha + gain;
        self.shrinks = now.saturating_add(alpha_interval);
    }

    /// So many bytes of the line were sent.
    pub fn on_sent(&mut self, now: Time, bytes: Bytes) {
        if self.limiter.is_active() {
            self.advance(now);
            self.limiter.on_sent(bytes, &self.parameters.increase());
        }
    }
}

/// The notification point of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotificationPoint {
    /// Before this time no CNP is sent.
    quiet_until: Time,
}

impl NotificationPoint {
    /// A marked packet has arrived: whether a CNP is to be sent (the paper, §3.1).
    pub fn on_marked(&mut self, now: Time, parameters: &Parameters) -> bool {
        let sends = now >= self.quiet_until;
        if sends {
            self.quiet_until = now.saturating_add(parameters.cnp_interval);
        }
        sends
    }
}

#[cfg(test)]
mod tests;
