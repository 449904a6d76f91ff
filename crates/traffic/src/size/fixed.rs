//! Flows of one size.

use headway_engine::Stream;
use headway_units::Bytes;

use super::{Distribution, SizeError, not_zero};

/// Always the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed(Bytes);

impl Fixed {
    /// Flows of `size`.
    ///
    /// # Errors
    /// A size of zero.
    pub fn new(size: Bytes) -> Result<Fixed, SizeError> {
        not_zero("size", size)?;
        Ok(Fixed(size))
    }
}

impl Distribution for Fixed {
    fn draw(&self, _stream: &mut Stream) -> Bytes {
        self.0
    }

    fn mean(&self) -> Bytes {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use crate::size::tests::draws;

    #[test]
    fn every_flow_has_the_size() {
        let size = Size::Fixed(Fixed::new(Bytes::from_kb(70)).unwrap());
        assert!(draws(&size).iter().all(|&draw| draw == 70_000.0));
        assert_eq!(size.mean(), Bytes::from_kb(70));
        assert_eq!(Fixed::new(Bytes::ZERO), Err(SizeError::Zero { name: "size" }));
    }
}
