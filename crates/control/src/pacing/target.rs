//! Target rates and what they mean on a line: eqs. 1–3.

use headway_units::{Rate, Span};

use super::gap::Line;

/// Picoseconds that a byte takes at 1 bit/s.
const BYTE_AT_ONE: u128 = 8_000_000_000_000;
/// Bits of a fraction of a byte, where one has to be kept from one rate to the next.
const FRACTION_BITS: u32 = 32;
/// The longest gap, bytes of the line: 2⁶⁰, four months at the fastest.
const LONGEST: u128 = 1 << 60;
/// The most bytes of a target, so that 128 bits hold all products here.
const MOST: u64 = 1 << 50;

/// A rate to be kept: so many bytes in so long, exactly.
///
/// Which bytes is for the caller to say. The paper's are those of frames handed to the card; with the line's bytes in
/// their place, a flow just fills a link of the target rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    bytes: u64,
    time: Span,
}

impl Target {
    /// A static rate.
    ///
    /// # Panics
    /// If it is zero.
    pub const fn of_rate(rate: Rate) -> Target {
        assert!(rate.bps() > 0, "a target is more than nothing");
        // a rate over the fastest line's means no gaps, as any other that is
        let bytes = if rate.bps() > MOST { MOST } else { rate.bps() };
        Target { bytes, time: Span::from_secs(8) }
    }

    /// Eq. 1: a window a round trip. `window` is `cwnd · pkt_size`, in the bytes that the rate counts. `None` while there
    /// is no estimate of the round trip, or no window.
    pub const fn of_window(window: u64, rtt: Span) -> Option<Target> {
        if window == 0 || rtt.is_zero() {
            return None;
        }
        Some(Target { bytes: if window > MOST { MOST } else { window }, time: rtt })
    }

    /// Bits per second, rounded down.
    pub fn rate(self) -> Rate {
        let bps = u128::from(self.bytes) * BYTE_AT_ONE / u128::from(self.time.picos());
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// The slower of two.
    #[must_use]
    pub fn min(self, other: Target) -> Target {
        let [own, its] =
            [(self, other), (other, self)].map(|(one, of)| u128::from(one.bytes) * u128::from(of.time.picos()));
        if own <= its { self } else { other }
    }

    /// Bytes of `line` from the start of a frame to the start of the next, if the target counts it as `size` bytes:
    /// numerator and denominator. Eq. 2: `size / target_rate` at `max_rate`.
    fn interval(self, size: u64, line: &Line) -> (u128, u128) {
        // The line's rate is below 2⁴³, a frame below 2¹⁷, a time below 2⁶⁴ ps: the product below 2¹²⁴.
        let numerator = u128::from(size) * u128::from(line.rate().bps()) * u128::from(self.time.picos());
        (numerator, BYTE_AT_ONE * u128::from(self.bytes))
    }

    /// Eq. 3 in whole bytes: `(max_rate / target_rate − 1) · pkt_size`. None if the target is the line's rate or more.
    pub fn inter_packet_gap(self, size: u32, line: &Line) -> u64 {
        let (numerator, denominator) = self.interval(u64::from(size), line);
        ((numerator / denominator).min(LONGEST) as u64).saturating_sub(u64::from(size))
    }
}

/// A position on a line in bytes, whole ones and the exact rest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    whole: u64,
    /// The rest is `part / of` of a byte; `of` is zero if there is none.
    part: u128,
    of: u128,
}

impl Position {
    /// The first whole byte that is not before it.
    pub fn ceil(&self) -> u64 {
        self.whole.saturating_add(u64::from(self.part > 0))
    }

    /// At a whole byte.
    pub fn at(whole: u64) -> Position {
        Position { whole, part: 0, of: 0 }
    }

    /// Goes on by what a frame takes at a target rate, `size` being what the target counts of it. `least` is what it takes
    /// in any case. Returns the whole bytes.
    ///
    /// Exact as long as the target stays; where it changes, the fraction of a byte is rounded to 2⁻³² of one.
    pub fn advance(&mut self, size: u64, least: u64, target: Option<Target>, line: &Line) -> u64 {
        let before = self.whole;
        let interval = target.map(|target| target.interval(size, line));
        let Some((numerator, denominator)) = interval.filter(|&(n, d)| n / d >= u128::from(least)) else {
            self.whole = self.whole.saturating_add(least);
            return least;
        };
        if self.of != denominator {
            // denominators are below 2⁹³
            let fraction = (self.part << FRACTION_BITS).checked_div(self.of).unwrap_or(0);
            (self.part, self.of) = ((fraction * denominator) >> FRACTION_BITS, denominator);
        }
        let whole = (numerator / denominator).min(LONGEST);
        // the rest is below the denominator, so the sum is below twice it
        self.part += numerator % denominator;
        let carry = u64::from(self.part >= denominator);
        self.part -= u128::from(carry) * denominator;
        self.whole = self.whole.saturating_add(whole as u64).saturating_add(carry);
        self.whole - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_slower_of_two_targets() {
        let (slow, fast) =
            (Target::of_rate(Rate::from_mbps(1)), Target::of_window(1_000_000, Span::from_secs(1)).unwrap());
        assert_eq!((slow.min(fast), fast.min(slow)), (slow, slow));
        assert_eq!(Target::of_window(0, Span::from_secs(1)), None);
        assert_eq!(Target::of_window(1, Span::ZERO), None);
    }

    proptest! {
        /// The sum of any number of intervals is off by less than a byte, however the sizes vary.
        #[test]
        fn intervals_add_up(sizes in prop::collection::vec(84_u64..1538, 1..200), bps in 1_000_u64..1_000_000_000) {
            let line = Line::of_wire(Rate::from_gbps(1), 1500);
            let target = Target::of_rate(Rate::from_bps(bps));
            let mut position = Position::default();
            for &size in &sizes {
                position.advance(size, size, Some(target), &line);
            }
            let total: u128 = sizes.iter().map(|&size| u128::from(size)).sum();
            prop_assert_eq!(u128::from(position.ceil()), (total * 1_000_000_000).div_ceil(u128::from(bps)));
        }

        /// No target, however odd, makes a frame take less than it does, or go back.
        #[test]
        fn no_gap_is_negative(
            size in 84_u64..65_558, window: u64, time: u64, bps in 1_u64..1 << 43, before in 0_u64..1 << 62,
            others in prop::collection::vec((1_u64.., 1_u64..), 0..8),
        ) {
            let line = Line::of_wire(Rate::from_bps(bps), 1500);
            let mut position = Position::at(before);
            let targets = others.into_iter().chain([(window, time)]).map(|(w, t)| Target::of_window(w, Span::from_picos(t)));
            for target in targets {
                let from = position.ceil();
                let by = position.advance(size, size, target, &line);
                prop_assert!(by >= size);
                prop_assert!(position.ceil() >= from);
            }
        }
    }
}
