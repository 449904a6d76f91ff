//! The units in which Linux' controls calculate: clock ticks, microseconds and whole segments.
//!
//! A tick (jiffy) is one millisecond, as in a kernel with HZ = 1000, and ticks begin with the run: where a real
//! kernel's ticks lie relative to its packets is chance. Counters that wrap around in the kernel do not here.

use headway_units::{Span, Time};

use super::{Ack, Window};

/// Ticks per second.
pub(super) const HZ: u64 = 1000;

const PICOS_PER_MICRO: u64 = 1_000_000;

/// The tick at `now`: `tcp_jiffies32`.
#[inline]
pub(super) fn jiffies(now: Time) -> u64 {
    clock(now) * HZ / 1_000_000
}

/// Whole microseconds at `now`: `tcp_mstamp`.
#[inline]
pub(super) fn clock(now: Time) -> u64 {
    now.picos() / PICOS_PER_MICRO
}

/// Whole microseconds of a duration.
#[inline]
pub(super) fn micros(span: Span) -> u64 {
    span.picos() / PICOS_PER_MICRO
}

/// Microseconds in ticks, rounded up: `include/linux/jiffies.h: usecs_to_jiffies`.
#[inline]
pub(super) fn ticks(micros: u64) -> u64 {
    micros.div_ceil(1_000_000 / HZ)
}

/// Segments that make `bytes`: a short one counts as one.
#[inline]
pub(super) fn packets(bytes: u64, window: &Window) -> u64 {
    bytes.div_ceil(u64::from(window.mss))
}

/// Segments newly acknowledged in sequence by each acknowledgement (`struct ack_sample`'s `pkts_acked`), those
/// acknowledged selectively before among them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InSequence {
    una: Option<u64>,
}

impl InSequence {
    /// Bytes by which `ack` moved the acknowledged edge.
    pub(super) fn bytes(&mut self, ack: &Ack<'_>) -> u64 {
        let moved = self.una.map_or(ack.acked, |una| ack.una.saturating_sub(una));
        self.una = Some(ack.una);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_up_and_the_clock_rounds_down() {
        assert_eq!([ticks(0), ticks(1), ticks(1000), ticks(1001)], [0, 1, 1, 2]);
        assert_eq!(jiffies(Time::ZERO + Span::from_micros(1999)), 1);
        assert_eq!(clock(Time::ZERO + Span::from_nanos(1999)), 1);
    }

    #[test]
    fn a_hole_that_is_filled_acknowledges_what_was_selectively_acknowledged() {
        let mut sequence = InSequence::default();
        let ack = |una, acked| Ack { una, ..Ack::of(Time::ZERO, acked) };
        assert_eq!(sequence.bytes(&ack(1000, 1000)), 1000);
        assert_eq!(sequence.bytes(&ack(1000, 1000)), 0); // selectively
        assert_eq!(sequence.bytes(&ack(3000, 1000)), 2000);
    }
}
