//! The link-cost judge (thesis §5.2.2, eq. 5.7 and Algorithm 1).

use headway_units::Span;

use super::{ParameterError, Role, Rule, Seen};

/// A connection is long once an LL is cheaper than every SL.
///
/// The cost of a lane is a pure number. With ν = srtt − min RTT (eq. 5.4) and t the connection's age,
///
/// ```text
/// cost of an LL = 1 + α·(ν / delay_unit)^β
/// cost of an SL = 1 + α·(ν / delay_unit)^β ± γ·(|t − deadline| / time_unit)^δ     (− before the deadline)
/// ```
///
/// It is eq. 5.7 with units, with t0 = 1 (below), and with the sign in front of a power of the
/// absolute value. The thesis writes sgn(t − t_deadline)·γ·(t − t_deadline)^δ, which has no value
/// before the deadline for a non-integer δ and, for an odd one such as its default δ = 1, is
/// *positive* there: the SL would be dearest at its start. Table 5.1 (concave before the deadline,
/// convex after) and the author's code mean what is computed here.
///
/// # When it switches
/// With β = δ = 1 and steady delays, at the age
///
/// ```text
/// t = deadline − F·(α/γ)·(ν_SL − ν_LL),   F = time_unit / delay_unit
/// ```
///
/// A tie goes to the SL. Only an LL that is alive and has a measurement can be chosen, and only when
/// some SL has one to compare with or none is alive (deviation: Algorithm 1 would switch at once if
/// an LL is measured first).
///
/// # Units
/// The thesis states none. The author's code computes in integers of the Linux of its day (HZ = 250
/// by its `defconfig`): ν is a difference of `srtt`, kept as 8 × RTT in clock ticks, so one unit of
/// ν is 4 ms / 8 = 0.5 ms; t counts ticks of 4 ms. That is the factor 8 of the default units here
/// (`delay_unit` = 125 µs, `time_unit` = 1 ms). But there, t0 is not 1: it is (1 + τ0)/2 with τ0
/// the smallest `srtt`, and an RTT below a tick counts as one tick, so τ0 = 8 and t0 = 4. So its
/// cost is 4·α·ν/0.5 ms ± γ·|t|/4 ms, that is `delay_unit` = 125 µs with `time_unit` = 4 ms, and
/// F = 32, not 8. [`LinkCost::thesis_code`] has these units. Against the figures, where a full
/// 128 KB queue at 100 Mb/s is 10.24 ms, of which only one can fill on a path of equal links:
///
/// | | F = 1 (equal units) | F = 8 (default) | F = 32 (author's code) |
/// |---|---|---|---|
/// | ν on the SL for a switch at 180 ms (fig. 6.1) | 120 ms | 15 ms | 3.75 ms |
/// | latest switch with α = 4 or γ = ¼, LL full (fig. 7.1, 7.2: axes end at 1600, 2000 ms) | 341 ms | 628 ms | 1611 ms |
///
/// So equal units are impossible, 8 is too small, and 32 fits. To reproduce the thesis take 32.
///
/// # t0
/// Algorithm 1 starts t0 at 1 and lowers it to the smallest cost seen (line 11). Taken literally it
/// diverges: an SL costs 1 − 300 = −299 at its start, and t0 multiplies. With deadline 300, ν in
/// units, t0 per subflow:
///
/// | t | ν | cost = t0·(1 + ν) + (t − 300) | t0 after |
/// |---|---|---|---|
/// | 0 | 0 | 1 − 300 = −299 | −299 |
/// | 1 | 1 | −299·2 − 299 = −897 | −897 |
/// | 2 | 1 | −897·2 − 298 = −2092 | −2092 |
/// | 3 | 1 | −2092·2 − 297 = −4481 | −4481 |
///
/// Congestion makes the SL *cheaper*, without bound, and the connection never leaves it (with ν = 0
/// it still falls, by about 300 an ACK). The author's code does not do it either: there t0 follows
/// from τ0 (above). Here t0 follows the smallest *congestion* term, t0·{1 + α·ν^β}, without the
/// deadline's. As that is at least t0, it stays where it starts: t0 = 1, a constant, and is not
/// stored. It implies that nothing is lost by leaving it out: a common t0 ≠ 1 is `delay_unit` scaled
/// by t0^(−1/β) (or α by t0), and lanes differ in cost only by their queues, not by their lengths. The
/// author's code, with t0 of each lane's own τ0 and ν against the smallest RTT of *all* lanes,
/// charges a longer path for being long; eq. 5.4 (own minimum) does not, and is what is done here.
///
/// # Smoothing
/// Algorithm 1 line 9 smooths the whole cost, ¾ old + ¼ new, against jitter of the RTT (§5.3.2).
/// Here only the congestion term is smoothed and the deadline's is taken at the present time: it is
/// known exactly, and smoothing a ramp delays it by 3 sampling intervals: nothing per ACK, but
/// 300 ms for a daemon that polls ten times a second. The first measurement is taken whole: a cost
/// that started at 0 would, at ¼ of its value, favour the lane with the fewest samples, which is the
/// LL with its one packet per round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkCost {
    /// t_deadline: the age at which the deadline's term changes sign; any, default 300 ms.
    pub deadline: Span,
    /// α: weight of congestion; 0 to 10⁶, default 1. Larger: leaves a congested lane more eagerly.
    pub alpha: f64,
    /// β: power of congestion; above 0 to 8, default 1. Larger: small queues matter less, large more.
    pub beta: f64,
    /// γ: weight of the deadline; 0 to 10⁶, default 1. Larger: switches closer to the deadline. Zero:
    /// congestion alone decides.
    pub gamma: f64,
    /// δ: power of the deadline; above 0 to 8, default 1. Equal to β it keeps both terms comparable (§7.1).
    pub delta: f64,
    /// The queueing delay that costs α; not zero, default 125 µs.
    pub delay_unit: Span,
    /// The time before or after the deadline that weighs γ; not zero, default 1 ms.
    pub time_unit: Span,
    /// The weight of a new sample; above 0 to 1, default ¼, meant per ACK. A poller takes 1: what it
    /// reads is the kernel's srtt, smoothed already, and four polls are a long time.
    pub smoothing: f64,
    /// ν counts from the smallest RTT of all lanes instead of the subflow's own: the author's code. A lane that is full
    /// from its first sample on is then seen as full, and a longer path as a full one.
    pub common_base: bool,
}

impl Default for LinkCost {
    fn default() -> LinkCost {
        LinkCost {
            deadline: Span::from_millis(300),
            alpha: 1.0,
            beta: 1.0,
            gamma: 1.0,
            delta: 1.0,
            delay_unit: Span::from_micros(125),
            time_unit: Span::from_millis(1),
            smoothing: 0.25,
            common_base: false,
        }
    }
}

impl LinkCost {
    /// The defaults with the units that the author's code had in effect at β = δ = 1: `time_unit` = 4 ms.
    ///
    /// What else it does is left out: its clock of 4 ms, integers, no switch in the first quarter of
    /// the deadline (not in the thesis); ν against the smallest RTT of all lanes is the field `common_base`.
    pub fn thesis_code() -> LinkCost {
        LinkCost { time_unit: Span::from_millis(4), ..LinkCost::default() }
    }

    /// Eq. 5.7, unsmoothed: the cost of a lane with queueing delay `delay` at the age `age`.
    pub fn cost(&self, role: Role, delay: Span, age: Span) -> f64 {
        self.congestion_of(delay) + self.deadline_term(role, age)
    }

    fn congestion_of(&self, delay: Span) -> f64 {
        1.0 + self.alpha * libm::pow(ratio(delay, self.delay_unit), self.beta)
    }

    fn deadline_term(&self, role: Role, age: Span) -> f64 {
        let term = || self.gamma * libm::pow(ratio(age.abs_diff(self.deadline), self.time_unit), self.delta);
        match role {
            Role::Long => 0.0,
            Role::Short if age < self.deadline => -term(),
            Role::Short => term(),
        }
    }
}

fn ratio(span: Span, unit: Span) -> f64 {
    span.picos() as f64 / unit.picos() as f64
}

/// Weights up to 10⁶ and powers up to 8 of at most 1.8e19 (all of time over 1 ps) stay below 1e161:
/// with parameters in range no cost overflows, and without infinities there is no NaN.
const MAX_WEIGHT: f64 = 1e6;
const MAX_POWER: f64 = 8.0;

impl Rule for LinkCost {
    fn validate(&self) -> Result<(), ParameterError> {
        let check = |parameter, value: f64, valid: bool, allowed| {
            if valid { Ok(()) } else { Err(ParameterError { parameter, value, allowed }) }
        };
        // Comparisons with NaN are false, so NaN is never valid.
        for (parameter, value) in [("alpha", self.alpha), ("gamma", self.gamma)] {
            check(parameter, value, (0.0..=MAX_WEIGHT).contains(&value), "from 0 to 1000000")?;
        }
        for (parameter, value) in [("beta", self.beta), ("delta", self.delta)] {
            check(parameter, value, value > 0.0 && value <= MAX_POWER, "above 0, at most 8")?;
        }
        for (parameter, value) in [("delay_unit", self.delay_unit), ("time_unit", self.time_unit)] {
            check(parameter, value.as_secs_f64(), !value.is_zero(), "longer than zero")?;
        }
        check("smoothing", self.smoothing, self.smoothing > 0.0 && self.smoothing <= 1.0, "above 0, at most 1")
    }

    fn deadline(&self) -> Span {
        self.deadline
    }

    fn common_base(&self) -> bool {
        self.common_base
    }

    fn congestion(&self, before: Option<f64>, delay: Span) -> f64 {
        let measured = self.congestion_of(delay);
        match before {
            None => measured,
            Some(before) => (1.0 - self.smoothing) * before + self.smoothing * measured,
        }
    }

    fn cost(&self, role: Role, congestion: f64, age: Span) -> Option<f64> {
        Some(congestion + self.deadline_term(role, age))
    }

    fn counts_bytes(&self) -> bool {
        false
    }

    fn compares_lanes(&self) -> bool {
        true
    }

    fn is_long(&self, _: Span, seen: &Seen) -> bool {
        match (seen.short, seen.long) {
            (Some(short), Some(long)) => long < short,
            (None, Some(_)) => !seen.short_alive,
            (_, None) => false,
        }
    }
}
