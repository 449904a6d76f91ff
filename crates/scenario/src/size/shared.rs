//! An equal part of a total.

use std::path::Path;

use headway_language::record;
use headway_traffic::{Fixed, Size};
use headway_units::Bytes;

use super::kind::SizeSource;

record! {
    /// An equal part of a total that all senders of a destination send together, rounded up to a byte.
    pub struct SharedRecord {
        /// What they send together.
        #[range(Bytes::new(1)..)]
        pub total: Bytes,
    }
}

impl SizeSource for SharedRecord {
    fn size(&self, _: &Path) -> Result<Option<Size>, String> {
        Fixed::new(self.total).map(Size::Fixed).map(Some).map_err(|error| error.to_string())
    }
}
