//! Limits that several records share.

use headway_units::Span;

/// The longest delay or time-out: what adds up in a run of at most sixty days stays in the range of time.
pub(crate) const LONGEST: Span = Span::from_secs(3600);
