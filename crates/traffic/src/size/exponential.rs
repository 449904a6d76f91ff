//! Exponential sizes.

use headway_engine::Stream;
use headway_units::Bytes;

use super::{Distribution, SizeError, not_zero, whole};

/// Exponentially distributed sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exponential {
    mean: Bytes,
}

impl Exponential {
    /// Sizes of mean `mean`.
    ///
    /// # Errors
    /// A mean of zero.
    pub fn new(mean: Bytes) -> Result<Exponential, SizeError> {
        not_zero("mean", mean)?;
        Ok(Exponential { mean })
    }
}

impl Distribution for Exponential {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        whole(stream.exponential(self.mean.get() as f64))
    }

    fn mean(&self) -> Bytes {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use crate::size::tests::{assert_follows, average, draws};

    #[test]
    fn sizes_are_exponential() {
        let size = Size::Exponential(Exponential::new(Bytes::new(64_000)).unwrap());
        assert_eq!(size.mean(), Bytes::new(64_000));
        let draws = draws(&size);
        // The standard deviation is the mean; four standard errors with 10⁵ draws are 1.27 % of it.
        assert!((average(&draws) / 64_000.5 - 1.0).abs() < 0.0127);
        assert_follows(draws, (0..500).map(|i| f64::from(i) * 1000.0), |size| 1.0 - libm::exp(-size / 64_000.0));
        assert_eq!(Exponential::new(Bytes::ZERO), Err(SizeError::Zero { name: "mean" }));
    }
}
