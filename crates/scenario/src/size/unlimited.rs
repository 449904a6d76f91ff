//! Flows without end.

use std::path::Path;

use headway_language::record;
use headway_traffic::Size;

use super::kind::SizeSource;

record! {
    /// Without end.
    pub struct UnlimitedRecord {}
}

impl SizeSource for UnlimitedRecord {
    fn size(&self, _: &Path) -> Result<Option<Size>, String> {
        Ok(None)
    }
}
