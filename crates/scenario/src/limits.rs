//! Limits that several records share.

use headway_units::Span;

/// The shortest time-outs: timers of microseconds are the finest that were proposed (Vasudevan et al., SIGCOMM 2009,
/// doi:10.1145/1592568.1592604). A shorter one would send a packet thousands of times before its acknowledgement can be there.
pub(crate) const FINEST: Span = Span::from_micros(1);

/// The longest delay or time-out: what adds up in a run of at most sixty days stays in the range of time.
pub(crate) const LONGEST: Span = Span::from_secs(3600);
