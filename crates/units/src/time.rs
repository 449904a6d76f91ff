//! Instants and durations in whole picoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::text::{self, Notation, ParseError};

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_MS: u64 = 1_000_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the start of the run. The range is 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A duration in whole picoseconds, never negative. The range is 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than everything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_picos(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for statistics and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The time since `earlier`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// This instant plus `span`, or `None` past the end of the range.
    pub const fn checked_add(self, span: Span) -> Option<Time> {
        match self.0.checked_add(span.0) {
            Some(ps) => Some(Time(ps)),
            None => None,
        }
    }

    /// This instant plus `span`, at most [`Time::NEVER`].
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest duration.
    pub const MAX: Span = Span(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_picos(ps: u64) -> Span {
        Span(ps)
    }

    /// `ns` nanoseconds.
    ///
    /// # Panics
    /// Past 213 days.
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns.checked_mul(PS_PER_NS).expect("span out of range"))
    }

    /// `us` microseconds.
    ///
    /// # Panics
    /// Past 213 days.
    pub const fn from_micros(us: u64) -> Span {
        Span(us.checked_mul(PS_PER_US).expect("span out of range"))
    }

    /// `ms` milliseconds.
    ///
    /// # Panics
    /// Past 213 days.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms.checked_mul(PS_PER_MS).expect("span out of range"))
    }

    /// `s` seconds.
    ///
    /// # Panics
    /// Past 213 days.
    pub const fn from_secs(s: u64) -> Span {
        Span(s.checked_mul(PS_PER_S).expect("span out of range"))
    }

    /// The nearest whole picosecond to `s` seconds; negative and NaN give zero, too large gives [`Span::MAX`].
    pub fn from_secs_f64(s: f64) -> Span {
        // `as` saturates and maps NaN to 0, which is what the contract says.
        Span((s * PS_PER_S as f64 + 0.5) as u64)
    }

    /// Picoseconds.
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn nanos(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Seconds, for statistics and control laws.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Milliseconds, for statistics and control laws.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / PS_PER_MS as f64
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This plus `other`, at most [`Span::MAX`].
    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// This minus `other`, or zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// The distance between two durations.
    pub const fn abs_diff(self, other: Span) -> Span {
        Span(self.0.abs_diff(other.0))
    }

    /// This times `n`, at most [`Span::MAX`].
    pub const fn saturating_mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }

    /// This plus `other`, or `None` past the end of the range.
    pub const fn checked_add(self, other: Span) -> Option<Span> {
        match self.0.checked_add(other.0) {
            Some(ps) => Some(Span(ps)),
            None => None,
        }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.checked_add(span.0).expect("time out of range"))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.checked_sub(span.0).expect("time before the start"))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("negative time difference"))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.checked_add(other.0).expect("span out of range"))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.checked_sub(other.0).expect("negative span"))
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, n: u64) -> Span {
        Span(self.0.checked_mul(n).expect("span out of range"))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

const NOTATION: Notation = Notation {
    quantity: "a time",
    grain: "picoseconds",
    example: "\"25us\"",
    units: "ps, ns, us, ms, s, min, h",
    most: "18446744s (213 days)",
    table: &[
        ("ps", 1),
        ("ns", PS_PER_NS),
        ("us", PS_PER_US),
        ("µs", PS_PER_US),
        ("μs", PS_PER_US),
        ("ms", PS_PER_MS),
        ("s", PS_PER_S),
        ("min", 60 * PS_PER_S),
        ("h", 3600 * PS_PER_S),
    ],
    hint: |unit| match unit {
        "m" | "M" => " (`m` could be minutes or milliseconds: write `min` or `ms`)",
        "sec" | "secs" | "seconds" | "S" => " (seconds are `s`)",
        "usec" | "µ" => " (microseconds are `us`)",
        "msec" => " (milliseconds are `ms`)",
        _ => "",
    },
};

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Span, ParseError> {
        NOTATION.parse(text).map(Span)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.pad("0s");
        }
        text::print(f, self.0, &[("s", PS_PER_S), ("ms", PS_PER_MS), ("us", PS_PER_US), ("ns", PS_PER_NS), ("ps", 1)])
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
