//! A token bucket, as a time: the generic cell rate algorithm (ITU-T I.371 annex A), with frames for cells.
//!
//! The bucket is full at `full`; until then it lacks what the rate gives by then. Exact: fractions of a picosecond are
//! carried along, so over any time the bytes that pass are at most the burst and rate · time.

use headway_units::{Bytes, Rate, Time};

/// Picoseconds that a byte takes at 1 bit/s.
const BYTE_AT_ONE: i128 = 8_000_000_000_000;

/// What limits frames to a rate, with bursts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    rate: i128,
    burst: i128,
    /// When it is full again, if nothing takes from it, and `part / rate` picoseconds.
    full: Time,
    part: i128,
}

impl Bucket {
    /// A full one.
    ///
    /// # Panics
    /// If the rate is zero.
    pub fn new(now: Time, rate: Rate, burst: Bytes) -> Bucket {
        assert!(!rate.is_zero(), "a limit is more than nothing");
        Bucket { rate: i128::from(rate.bps()), burst: i128::from(burst.get()), full: now, part: 0 }
    }

    /// When it holds `size` bytes; those that never fit wait for a full one.
    pub fn holds(&self, size: u64) -> Time {
        let spare = (self.burst - i128::from(size)).max(0);
        let numerator = i128::from(self.full.picos()) * self.rate + self.part - spare * BYTE_AT_ONE;
        let picos = (numerator + self.rate - 1).div_euclid(self.rate);
        Time::from_picos(u64::try_from(picos.max(0)).unwrap_or(u64::MAX))
    }

    /// Whether `size` bytes fit at all.
    pub fn fits(&self, size: u64) -> bool {
        i128::from(size) <= self.burst
    }

    /// Takes `size` bytes out at `now`.
    pub fn take(&mut self, now: Time, size: u64) {
        if now > self.full {
            (self.full, self.part) = (now, 0);
        }
        self.lack(self.full, self.part + i128::from(size) * BYTE_AT_ONE);
    }

    /// Another rate from `now` on; what it lacks stays, in bytes.
    ///
    /// # Panics
    /// If the rate is zero.
    pub fn change(&mut self, now: Time, rate: Rate) {
        assert!(!rate.is_zero(), "a limit is more than nothing");
        let lacks = if self.full >= now { i128::from((self.full - now).picos()) * self.rate + self.part } else { 0 };
        self.rate = i128::from(rate.bps());
        self.lack(now, lacks);
    }

    /// It is full when the rate has given `lacks`, in bits · ps/s, from `since` on.
    fn lack(&mut self, since: Time, lacks: i128) {
        let after = u64::try_from(lacks / self.rate).unwrap_or(u64::MAX);
        self.full = Time::from_picos(since.picos().saturating_add(after).min(Time::NEVER.picos() - 1));
        self.part = lacks % self.rate;
    }
}

/// A limit that may be set, changed and lifted. What the bucket lacks stays while the limit is lifted, and is given back at
/// the last rate, so that a limit that comes and goes does not bring a burst each time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gate {
    bucket: Option<Bucket>,
    lifted: bool,
}

impl Gate {
    /// Another limit from `now` on, or none; `burst` is that of the first.
    ///
    /// # Panics
    /// If the rate is zero.
    pub fn set(&mut self, now: Time, rate: Option<Rate>, burst: Bytes) {
        self.lifted = rate.is_none();
        match (&mut self.bucket, rate) {
            (_, None) => {}
            (Some(bucket), Some(rate)) => bucket.change(now, rate),
            (own, Some(rate)) => *own = Some(Bucket::new(now, rate, burst)),
        }
    }

    /// The bucket of the limit in force.
    pub fn get(&self) -> Option<&Bucket> {
        self.bucket.as_ref().filter(|_| !self.lifted)
    }

    /// The same, to take from.
    pub fn get_mut(&mut self) -> Option<&mut Bucket> {
        self.bucket.as_mut().filter(|_| !self.lifted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Span;
    use proptest::prelude::*;

    /// 8 Mb/s is a byte in a microsecond.
    #[test]
    fn a_burst_passes_at_once_and_then_a_byte_in_its_time() {
        let at = |us| Time::ZERO + Span::from_micros(us);
        let mut bucket = Bucket::new(at(10), Rate::from_mbps(8), Bytes::new(3_000));
        assert!(bucket.holds(3_000) <= at(10), "full");
        bucket.take(at(10), 1_500);
        assert!(bucket.holds(1_500) <= at(10));
        bucket.take(at(10), 1_500);
        assert_eq!(bucket.holds(1_500), at(1_510));
        bucket.change(at(510), Rate::from_mbps(16));
        assert_eq!(bucket.holds(1_500), at(1_010), "half of the 1,000 bytes that are lacking, in time");
    }

    proptest! {
        /// Over any window, with any rates in turn, what passes is at most the burst and what the rates give.
        #[test]
        fn what_passes_conforms(
            steps in prop::collection::vec((0_u64..3_000_000, 64_u64..1_538, prop::option::of(1_000_u64..40_000_000_000)), 1..200),
            burst in 1_538_u64..20_000, rate in 1_000_u64..40_000_000_000,
        ) {
            let (mut now, mut rate) = (Time::ZERO, rate);
            let mut bucket = Bucket::new(now, Rate::from_bps(rate), Bytes::new(burst));
            // the excess over the rate since any frame: the largest sum of what passed less what was given
            let (mut excess, mut last) = (0_i128, now);
            for (later, size, change) in steps {
                let next = now + Span::from_picos(later * 1_000);
                let given = |from: Time, to: Time, rate: u64| i128::from((to - from).picos()) * i128::from(rate);
                excess = (excess - given(last, next, rate)).max(0);
                (now, last) = (next, next);
                if let Some(other) = change {
                    rate = other;
                    bucket.change(now, Rate::from_bps(rate));
                }
                let conforms = bucket.holds(size) <= now;
                let after = excess + i128::from(size) * BYTE_AT_ONE;
                // and no frame is kept back that would conform, but for less than a picosecond's worth at a change
                prop_assert_eq!(conforms, after <= i128::from(burst) * BYTE_AT_ONE);
                if conforms {
                    bucket.take(now, size);
                    excess = after;
                }
            }
        }
    }
}
