//! Sizes between two bounds.

use headway_engine::Stream;
use headway_units::Bytes;

use super::{Distribution, SizeError, not_zero};

/// Every whole number of bytes between two sizes, both included, equally likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uniform {
    least: u64,
    most: u64,
}

impl Uniform {
    /// Sizes from `least` to `most`.
    ///
    /// # Errors
    /// A least size of zero or above the greatest.
    pub fn new(least: Bytes, most: Bytes) -> Result<Uniform, SizeError> {
        not_zero("least size", least)?;
        if least > most {
            return Err(SizeError::Reversed { least, most });
        }
        Ok(Uniform { least: least.get(), most: most.get() })
    }
}

impl Distribution for Uniform {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        // Cannot overflow: the least size is at least 1.
        Bytes::new(self.least + stream.below(self.most - self.least + 1))
    }

    fn mean(&self) -> Bytes {
        Bytes::new(self.least + (self.most - self.least) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use crate::size::tests::{assert_follows, average, draws};

    #[test]
    fn sizes_are_uniform_between_both_ends() {
        let size = Size::Uniform(Uniform::new(Bytes::new(2_001), Bytes::new(20_000)).unwrap());
        assert_eq!(size.mean(), Bytes::new(11_000));
        let draws = draws(&size);
        // Standard deviation 18000/√12 = 5196, of the mean 16.4; four of them.
        assert!((average(&draws) - 11_000.5).abs() < 66.0);
        assert_follows(draws, (2_000..=20_000).step_by(500).map(f64::from), |size| (size - 2_000.0) / 18_000.0);
    }

    #[test]
    fn the_whole_range_and_a_range_of_one_work() {
        let one = Size::Uniform(Uniform::new(Bytes::new(7), Bytes::new(7)).unwrap());
        assert!(draws(&one).iter().all(|&draw| draw == 7.0));
        let all = Size::Uniform(Uniform::new(Bytes::new(1), Bytes::MAX).unwrap());
        assert!(draws(&all).iter().all(|&draw| draw >= 1.0));
        assert_eq!(Uniform::new(Bytes::ZERO, Bytes::MAX), Err(SizeError::Zero { name: "least size" }));
        let (least, most) = (Bytes::new(2), Bytes::new(1));
        assert_eq!(Uniform::new(least, most), Err(SizeError::Reversed { least, most }));
    }
}
