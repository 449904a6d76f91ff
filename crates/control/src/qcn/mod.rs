//! QCN, quantised congestion notification (IEEE 802.1Qau, in 802.1Q clauses 30 to 33): a switch tells a source how far
//! its queue is from a set point, and the source's card slows that flow down and regains the rate by itself.
//!
//! [`CongestionPoint`] is the switch's part for one queue, [`ReactionPoint`] the card's for one flow. Constants are the
//! defaults of the standard's MIB. Of the arithmetic that the standard leaves to who builds it, the sampling is that of
//! published switches: see [`SAMPLING`].
//!
//! Left out: the target of a reaction point does not shrink by itself where it is more than ten times the rate, and a
//! flow has one reaction point whatever number of congestion points tell it.

use headway_units::{Bytes, Rate, Span, Time};

pub(crate) mod limiter;

use limiter::{Increase, Limiter};

/// The largest quantised feedback: six bits.
pub const MOST_FEEDBACK: u8 = 63;

/// Bytes until the next sample by the upper three bits of the quantised feedback, for a sampling base of 150,000 B; the
/// base of a congestion point scales it.
pub const SAMPLING: [u64; 8] = [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500];

/// The parameters of a congestion point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionParameters {
    /// Q_eq, the queue that is aimed at; more than zero.
    pub set_point: Bytes,
    /// w, the weight of the queue's change beside its length, 0 or more.
    pub weight: f64,
    /// Bytes that arrive between two samples of a queue without feedback; more than zero.
    pub sample_base: Bytes,
    /// How far the distance of samples strays, as a part of it: 0.15 is ±15 %.
    pub jitter: f64,
}

impl Default for CongestionParameters {
    /// `ieee8021CnCpQueueSizeSetPoint` and `…SampleBase` of the standard's MIB; a `…FeedbackWeight` of 1 is an exponent.
    fn default() -> CongestionParameters {
        CongestionParameters {
            set_point: Bytes::new(26_000),
            weight: 2.0,
            sample_base: Bytes::new(150_000),
            jitter: 0.15,
        }
    }
}

/// What a congestion point tells the source of the frame that it sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The quantised |Fb|, 1 to [`MOST_FEEDBACK`].
    pub code: u8,
    /// Q_off, how far the queue is beyond its set point, bytes.
    pub offset: i64,
    /// Q_delta, how much it has grown since the last sample, bytes.
    pub delta: i64,
}

/// A sample of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// What the source of the frame is told, if anything.
    pub feedback: Option<Feedback>,
    /// How many bytes are to join the queue until the next sample.
    pub next: Bytes,
}

/// The congestion point of one queue. Who has the queue counts the bytes that join it: the first sample is due after
/// [`CongestionParameters::sample_base`], each further one after what the last says.
#[derive(Debug, Clone, PartialEq)]
pub struct CongestionPoint {
    parameters: CongestionParameters,
    /// The queue at the last sample.
    before: u64,
}

impl CongestionPoint {
    /// That of an empty queue.
    ///
    /// # Panics
    /// If a parameter is out of its range.
    pub fn new(parameters: CongestionParameters) -> CongestionPoint {
        let CongestionParameters { set_point, weight, sample_base, jitter } = parameters;
        assert!(!set_point.is_zero() && !sample_base.is_zero() && weight >= 0.0, "{parameters:?}");
        assert!((0.0..1.0).contains(&jitter), "{parameters:?}");
        CongestionPoint { parameters, before: 0 }
    }

    /// A frame is sampled that has joined the queue, which now holds `queue`. There is feedback for its source if
    /// Fb = −(Q_off + w·Q_delta) < 0. `draw` is a random number of 0 to 1, evenly spread.
    pub fn sample(&mut self, queue: Bytes, draw: f64) -> Sampled {
        let offset = queue.get() as i64 - self.parameters.set_point.get() as i64;
        let delta = queue.get() as i64 - self.before as i64;
        self.before = queue.get();
        let code = self.quantised(offset, delta);
        let base = self.parameters.sample_base.get() as f64 / SAMPLING[0] as f64;
        let stray = 1.0 + self.parameters.jitter * (2.0 * draw - 1.0);
        let next = (SAMPLING[usize::from(code / 8)] as f64 * base * stray) as u64;
        Sampled { feedback: (code > 0).then_some(Feedback { code, offset, delta }), next: Bytes::new(next.max(1)) }
    }

    /// |Fb| in steps of a 63rd of the largest, Q_eq·(2w + 1); 0 if Fb is not negative.
    fn quantised(&self, offset: i64, delta: i64) -> u8 {
        let CongestionParameters { set_point, weight, .. } = self.parameters;
        let excess = offset as f64 + weight * delta as f64;
        if excess <= 0.0 {
            return 0;
        }
        let largest = set_point.get() as f64 * (2.0 * weight + 1.0);
        (excess * f64::from(MOST_FEEDBACK) / largest).min(f64::from(MOST_FEEDBACK)) as u8
    }
}

/// The parameters of a reaction point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReactionParameters {
    /// The length of a cycle by time; more than zero.
    pub time_reset: Span,
    /// The length of a cycle by bytes; more than zero.
    pub byte_reset: Bytes,
    /// Cycles of a counter that end fast recovery; at least 1.
    pub threshold: u32,
    /// What a cycle adds to the target afterwards.
    pub additive: Rate,
    /// The step of hyper increase.
    pub hyper: Rate,
    /// G_d: the part of the rate that one step of feedback takes.
    pub gain: f64,
    /// The least that is left of a rate by one feedback, as a part of it.
    pub least_factor: f64,
    /// The least rate; more than zero.
    pub least: Rate,
}

impl Default for ReactionParameters {
    /// `ieee8021CnRpg…` of the standard's MIB.
    fn default() -> ReactionParameters {
        ReactionParameters {
            time_reset: Span::from_millis(15),
            byte_reset: Bytes::new(150_000),
            threshold: 5,
            additive: Rate::from_mbps(5),
            hyper: Rate::from_mbps(50),
            gain: 1.0 / 128.0,
            least_factor: 0.5,
            least: Rate::from_mbps(5),
        }
    }
}

impl ReactionParameters {
    fn increase(&self) -> Increase {
        // past fast recovery both periods are halved
        let half = |span: Span| Span::from_picos((span.picos() / 2).max(1));
        Increase {
            threshold: self.threshold,
            hyper_from: self.threshold,
            additive: self.additive,
            hyper: self.hyper,
            timer: (self.time_reset, half(self.time_reset)),
            bytes: (self.byte_reset, Bytes::new((self.byte_reset.get() / 2).max(1))),
        }
    }
}

/// The reaction point of one flow.
#[derive(Debug, Clone, PartialEq)]
pub struct ReactionPoint {
    parameters: ReactionParameters,
    limiter: Limiter,
}

impl ReactionPoint {
    /// That of a flow that nobody has slowed down, on a line of this rate.
    ///
    /// # Panics
    /// If a parameter is out of its range.
    pub fn new(parameters: ReactionParameters, line: Rate) -> ReactionPoint {
        let ReactionParameters { time_reset, byte_reset, threshold, least, .. } = parameters;
        assert!(!time_reset.is_zero() && !byte_reset.is_zero() && threshold > 0, "{parameters:?}");
        assert!(!least.is_zero() && (0.0..=1.0).contains(&parameters.least_factor), "{parameters:?}");
        ReactionPoint { parameters, limiter: Limiter::new(line) }
    }

    /// The rate at which the flow may send, of bytes on the line.
    pub fn rate(&self) -> Rate {
        self.limiter.rate()
    }

    /// The rate that recovery heads for.
    pub fn target(&self) -> Rate {
        self.limiter.target()
    }

    /// Whether the flow is slowed down.
    pub fn is_active(&self) -> bool {
        self.limiter.is_active()
    }

    /// Time has come to `now`: cycles of the timer may have ended.
    pub fn advance(&mut self, now: Time) {
        self.limiter.advance(now, &self.parameters.increase());
        self.release();
    }

    /// Feedback has come. The target stays if nothing was sent since the last one.
    pub fn on_feedback(&mut self, now: Time, code: u8) {
        self.advance(now);
        let factor = 1.0 - self.parameters.gain * f64::from(code.min(MOST_FEEDBACK));
        let factor = factor.max(self.parameters.least_factor);
        let keep = self.limiter.is_fresh();
        self.limiter.cut(now, factor, keep, self.parameters.least, &self.parameters.increase());
    }

    /// So many bytes of the line were sent.
    pub fn on_sent(&mut self, now: Time, bytes: Bytes) {
        if self.is_active() {
            self.advance(now);
            self.limiter.on_sent(bytes, &self.parameters.increase());
            self.release();
        }
    }

    /// A flow that has the line's rate again needs no reaction point.
    fn release(&mut self) {
        if self.limiter.is_active() && self.limiter.is_restored() {
            self.limiter.release();
        }
    }
}

#[cfg(test)]
mod tests;
