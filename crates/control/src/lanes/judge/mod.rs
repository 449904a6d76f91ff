//! What a judge is, and the list of them.
//!
//! A new judge is a file here with a type that implements [`Rule`], and its lines in this file: `mod`, `pub use`, and one
//! in `judges!`. What can be written about it in files is `headway-levers`' `lanes/judge/`: docs/adding/judge.md.

mod backlog;
mod bytes_sent;
mod deadline;
mod delivery_rate;
mod link_cost;
mod own;

use std::error::Error;
use std::fmt;

use headway_units::{Bytes, Rate, Span, Time};

pub use backlog::Backlog;
pub use bytes_sent::BytesSent;
pub use deadline::Deadline;
pub use delivery_rate::DeliveryRate;
pub use link_cost::LinkCost;
pub use own::{JudgeNeeds, Own, OwnJudge, OwnJudgeKind};

use super::Role;
use crate::own::{Failures, Flow};

/// A parameter out of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterError {
    /// The field's name.
    pub parameter: &'static str,
    /// What it was; of a duration, in seconds.
    pub value: f64,
    /// What it may be.
    pub allowed: &'static str,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; it must be {}", self.parameter, self.value, self.allowed)
    }
}

impl Error for ParameterError {}

/// What a judge sees of a connection and its lanes. Counts start when the connection opens, and again when it returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// The time.
    pub now: Time,
    /// Whether an SL is alive.
    pub short_alive: bool,
    /// The smallest cost among the SLs with a measurement.
    pub short: Option<f64>,
    /// The smallest cost among the LLs with a measurement.
    pub long: Option<f64>,
    /// Bytes that the other end has acknowledged.
    pub acked: Bytes,
    /// Bytes that the application has written and the other end has not acknowledged.
    pub backlog: Bytes,
    /// The delivery rate over the last whole window, for judges that have one.
    pub rate: Option<Rate>,
}

/// What every judge answers.
pub(in crate::lanes) trait Rule {
    /// Whether all parameters are in range; everything below may rely on it.
    fn validate(&self) -> Result<(), ParameterError>;
    /// The age at which the caller should tick: never, for a judge without one.
    fn deadline(&self) -> Span {
        Span::MAX
    }
    /// Whether the age alone decides, so that there is nothing to see before [`Rule::deadline`].
    fn only_age(&self) -> bool {
        false
    }
    /// Whether it looks at [`Seen::acked`], [`Seen::backlog`] or [`Seen::rate`].
    fn counts_bytes(&self) -> bool;
    /// Whether it compares [`Rule::cost`] of lanes, so that LLs must be open before it can decide.
    fn compares_lanes(&self) -> bool {
        false
    }
    /// The time that [`Seen::rate`] is averaged over, if this judge looks at it.
    fn window(&self) -> Option<Span> {
        None
    }
    /// Whether queueing delay counts from the smallest RTT of all subflows.
    fn common_base(&self) -> bool {
        false
    }
    /// The congestion of a subflow after a sample with queueing delay `delay`. Finite.
    fn congestion(&self, _before: Option<f64>, _delay: Span) -> f64 {
        0.0
    }
    /// The cost of a subflow at the age `age` of its connection, if this judge has one. Finite.
    fn cost(&self, _role: Role, _congestion: f64, _age: Span) -> Option<f64> {
        None
    }
    /// Whether a connection of age `age` is long.
    fn is_long(&self, age: Span, seen: &Seen) -> bool;
}

macro_rules! judges {
    ($($(#[$doc:meta])+ $word:literal => $name:ident),+ $(,)?) => {
        /// Who decides that a flow is long.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Judge {
            $($(#[$doc])+ $name($name)),+
        }

        $(impl From<$name> for Judge {
            fn from(judge: $name) -> Judge {
                Judge::$name(judge)
            }
        })+

        impl Judge {
            /// Checks the ranges of all parameters; [`super::Lanes::new`] does so, too.
            ///
            /// # Errors
            /// The first parameter out of its range.
            pub fn validate(&self) -> Result<(), ParameterError> {
                match self { $(Judge::$name(rule) => Rule::validate(rule)),+ }
            }

            /// Its name in files and texts.
            pub fn name(&self) -> &'static str {
                match self { $(Judge::$name(_) => $word),+ }
            }

            /// Whether it looks at how far a connection is, so that [`super::Lanes::progress`] is worth calling.
            pub fn counts_bytes(&self) -> bool {
                match self { $(Judge::$name(rule) => Rule::counts_bytes(rule)),+ }
            }

            /// Whether it compares what lanes cost, so that LLs must be open, and be measured, before it can decide.
            pub fn compares_lanes(&self) -> bool {
                match self { $(Judge::$name(rule) => Rule::compares_lanes(rule)),+ }
            }

            /// The age from which on a connection is long, all else being equal; `None` for a judge without one.
            pub fn age(&self) -> Option<Span> {
                Some(self.deadline()).filter(|&age| age < Span::MAX)
            }

            /// Whether a connection's age alone decides.
            pub fn only_age(&self) -> bool {
                match self { $(Judge::$name(rule) => Rule::only_age(rule)),+ }
            }

            pub(super) fn deadline(&self) -> Span {
                match self { $(Judge::$name(rule) => Rule::deadline(rule)),+ }
            }

            pub(super) fn window(&self) -> Option<Span> {
                match self { $(Judge::$name(rule) => Rule::window(rule)),+ }
            }

            pub(super) fn common_base(&self) -> bool {
                match self { $(Judge::$name(rule) => Rule::common_base(rule)),+ }
            }

            pub(super) fn congestion(&self, before: Option<f64>, delay: Span) -> f64 {
                match self { $(Judge::$name(rule) => Rule::congestion(rule, before, delay)),+ }
            }

            pub(super) fn cost(&self, role: Role, congestion: f64, age: Span) -> Option<f64> {
                match self { $(Judge::$name(rule) => Rule::cost(rule, role, congestion, age)),+ }
            }

            pub(super) fn is_long(&self, age: Span, seen: &Seen) -> bool {
                match self { $(Judge::$name(rule) => Rule::is_long(rule, age, seen)),+ }
            }
        }
    };
}

impl Judge {
    /// The same, with failures of the program's going to `failures`; `None` for a built-in one.
    pub fn reporting_to(&self, failures: &Failures) -> Option<Judge> {
        if let Judge::Own(own) = self { Some(own.reporting_to(failures.clone()).into()) } else { None }
    }

    /// The judge for a connection that opens at `now`; of the program's, an instance for the flow that `flow` says.
    pub fn for_flow(&self, now: Time, flow: impl FnOnce() -> Flow) -> Judge {
        if let Judge::Own(own) = self { own.open(flow(), now).into() } else { self.clone() }
    }
}

judges! {
    /// By the connection's age alone.
    "deadline" => Deadline,
    /// By age and by the queueing delay of all lanes.
    "link-cost" => LinkCost,
    /// By the bytes it has sent.
    "bytes-sent" => BytesSent,
    /// By the bytes it has still to send.
    "backlog" => Backlog,
    /// By the rate it is delivered at.
    "delivery-rate" => DeliveryRate,
    /// By what the program says.
    "own" => Own,
}
