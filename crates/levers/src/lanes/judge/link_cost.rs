//! The link-cost judge.

use std::ops::Bound;

use headway_control::lanes::{Judge, LinkCost};
use headway_language::{above, record, words};
use headway_units::Span;

use super::{Judges, Sampling};

record! {
    /// A connection is long once a long lane has the lowest link cost of its lanes. With the queueing delay ν in delay
    /// units and the time t since the deadline in time units, the cost of a lane is t0·(1 + α·ν^β), and short lanes cost
    /// sgn(t)·γ·|t|^δ more (thesis eq. 5.7).
    pub struct LinkCostRecord {
        /// The age at which short lanes begin to cost more than long ones.
        #[range(above(Span::ZERO))]
        pub deadline: Span = LinkCost::default().deadline,
        /// α, the weight of the queueing delay: larger reacts to congestion earlier.
        #[range(0.0..=1e6)]
        pub alpha: f64 = LinkCost::default().alpha,
        /// β, the exponent of the queueing delay.
        #[range((Bound::Excluded(0.0), Bound::Included(8.0)))]
        pub beta: f64 = LinkCost::default().beta,
        /// γ, the weight of the deadline: larger follows it more closely, 0 ignores it.
        #[range(0.0..=1e6)]
        pub gamma: f64 = LinkCost::default().gamma,
        /// δ, the exponent of the time since the deadline.
        #[range((Bound::Excluded(0.0), Bound::Included(8.0)))]
        pub delta: f64 = LinkCost::default().delta,
        /// The queueing delay that counts as 1.
        #[range(above(Span::ZERO))]
        pub delay_unit: Span = LinkCost::default().delay_unit,
        /// The time since the deadline that counts as 1; 4 ms repeats the thesis (docs/lanes.md).
        #[range(above(Span::ZERO))]
        pub time_unit: Span = LinkCost::default().time_unit,
        /// What queueing delay counts from.
        pub base_rtt: BaseRtt = BaseRtt::Own,
    }
}

words! {
    /// What queueing delay counts from.
    pub enum BaseRtt {
        /// The subflow's own smallest round trip, as the thesis' text says.
        "own" => Own,
        /// The smallest of all the connection's subflows, as its author's code does.
        "common" => Common,
    }
}

impl Judges for LinkCostRecord {
    fn judge(&self, sampling: Sampling) -> Judge {
        LinkCost {
            deadline: self.deadline,
            alpha: self.alpha,
            beta: self.beta,
            gamma: self.gamma,
            delta: self.delta,
            delay_unit: self.delay_unit,
            time_unit: self.time_unit,
            smoothing: match sampling {
                Sampling::Acks => LinkCost::default().smoothing,
                // The kernel has smoothed them, and four polls are a long time.
                Sampling::Polls => 1.0,
            },
            common_base: self.base_rtt == BaseRtt::Common,
        }
        .into()
    }
}
