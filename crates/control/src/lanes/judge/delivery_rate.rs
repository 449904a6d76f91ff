//! The judge by delivery rate: who takes much of the short lane is an elephant.

use headway_units::{Rate, Span};

use super::{ParameterError, Rule, Seen};

/// A connection is long once it was delivered at `rate` or more over a whole `window`.
///
/// Rates are averages over windows that follow each other from the connection's opening, so a burst shorter than a
/// window does not count, and a flow of less than `rate`·`window` is never long. What is slow stays on the short lane,
/// also a long flow that the lane's congestion keeps slow: that is this judge's weakness, and why it suits paths whose
/// short lane is seldom full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRate {
    /// The least rate of a long flow; above 0, default 20 Mb/s.
    pub rate: Rate,
    /// The time it is averaged over; above 0, default 50 ms.
    pub window: Span,
}

impl Default for DeliveryRate {
    fn default() -> DeliveryRate {
        DeliveryRate { rate: Rate::from_bps(20_000_000), window: Span::from_millis(50) }
    }
}

impl Rule for DeliveryRate {
    fn validate(&self) -> Result<(), ParameterError> {
        for (parameter, zero) in [("rate", self.rate.bps() == 0), ("window", self.window.is_zero())] {
            if zero {
                return Err(ParameterError { parameter, value: 0.0, allowed: "above 0" });
            }
        }
        Ok(())
    }

    fn window(&self) -> Option<Span> {
        Some(self.window)
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn is_long(&self, _: Span, seen: &Seen) -> bool {
        seen.rate.is_some_and(|rate| rate >= self.rate)
    }
}
