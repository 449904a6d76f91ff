//! The deadline judge (thesis §5.2.2, "the simplest way").

use headway_units::Span;

use super::{ParameterError, Rule, Seen};

/// A connection is long once it is as old as `deadline`.
///
/// The switch waits for an LL that is alive; a measurement of it is not needed. At an age of exactly
/// `deadline` it happens ("exceeds" in the thesis), so that one timer at [`super::super::Lanes::deadline`] is
/// enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// Age of the connection; any, default 300 ms, the time within which the thesis' data-centre
    /// applications want to be done. Zero: every connection moves as soon as an LL exists.
    pub deadline: Span,
}

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline { deadline: Span::from_millis(300) }
    }
}

impl Rule for Deadline {
    fn validate(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    fn deadline(&self) -> Span {
        self.deadline
    }

    fn only_age(&self) -> bool {
        true
    }

    fn counts_bytes(&self) -> bool {
        false
    }

    fn is_long(&self, age: Span, _: &Seen) -> bool {
        age >= self.deadline
    }
}
