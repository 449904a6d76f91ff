//! Always the same size.

use std::path::Path;

use headway_language::record;
use headway_traffic::{Fixed, Size};
use headway_units::Bytes;

use super::kind::SizeSource;

record! {
    /// Always the same.
    pub struct FixedRecord {
        /// The size of every flow.
        #[range(Bytes::new(1)..)]
        pub bytes: Bytes,
    }
}

impl SizeSource for FixedRecord {
    fn size(&self, _: &Path) -> Result<Option<Size>, String> {
        Fixed::new(self.bytes).map(Size::Fixed).map(Some).map_err(|error| error.to_string())
    }
}
