//! Exponential sizes.

use std::path::Path;

use headway_language::record;
use headway_traffic::{Exponential, Size};
use headway_units::Bytes;

use super::kind::SizeSource;

record! {
    /// Exponential, rounded up to a byte.
    pub struct ExponentialRecord {
        /// The mean size.
        #[range(Bytes::new(1)..)]
        pub mean: Bytes,
    }
}

impl SizeSource for ExponentialRecord {
    fn size(&self, _: &Path) -> Result<Option<Size>, String> {
        Exponential::new(self.mean).map(Size::Exponential).map(Some).map_err(|error| error.to_string())
    }
}
