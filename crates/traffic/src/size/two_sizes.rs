//! A worked example of a distribution, for tests alone: mice, and elephants with a probability.
//!
//! This file and its line in the list of `mod.rs` are all that the crate needs of it.

use headway_engine::Stream;
use headway_units::Bytes;

use super::{Distribution, SizeError, not_zero};

/// One of two sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoSizes {
    mouse: Bytes,
    elephant: Bytes,
    /// The probability of the elephant.
    share: f64,
}

impl TwoSizes {
    /// Flows of `mouse`, and of `elephant` with the probability `share`.
    ///
    /// # Errors
    /// A size of zero.
    pub fn new(mouse: Bytes, elephant: Bytes, share: f64) -> Result<TwoSizes, SizeError> {
        not_zero("mouse", mouse)?;
        not_zero("elephant", elephant)?;
        Ok(TwoSizes { mouse, elephant, share })
    }
}

impl Distribution for TwoSizes {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        if stream.chance(self.share) { self.elephant } else { self.mouse }
    }

    fn mean(&self) -> Bytes {
        let [mouse, elephant] = [self.mouse, self.elephant].map(|size| size.get() as f64);
        Bytes::new((mouse + (elephant - mouse) * self.share + 0.5) as u64)
    }
}

/// A tenth of the flows has 10 MB and nine tenths 10 kB: the mean is 1.009 MB, and that of n draws has a standard error of
/// √(0.1 · 0.9) · 9.99 MB/√n, here 9.5 kB; checked to four.
#[test]
fn the_mean_of_many_draws_is_the_mean() {
    use super::Size;
    use super::tests::{average, draws};

    let size = Size::TwoSizes(TwoSizes::new(Bytes::from_kb(10), Bytes::from_kb(10_000), 0.1).unwrap());
    assert_eq!(size.mean(), Bytes::from_kb(1009));
    assert!((average(&draws(&size)) - 1_009_000.0).abs() < 38_000.0);
    assert!(TwoSizes::new(Bytes::ZERO, Bytes::from_kb(1), 0.1).is_err());
}
