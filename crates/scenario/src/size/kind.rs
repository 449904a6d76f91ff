//! The trait of all distributions of sizes.

use std::path::Path;

use headway_traffic::Size;

use crate::checker::Checker;

/// A kind of sizes: its record, which the file gives, with its checks and the distribution that it describes.
pub(crate) trait SizeSource {
    /// Notes mistakes beyond those of single keys. The sizes stand at `path`, and messages call them `label`.
    fn check(&self, _label: &str, _path: &[&str], _checker: &mut Checker) {}

    /// The distribution; none of flows without end. Files that it names are in `folder`.
    fn size(&self, folder: &Path) -> Result<Option<Size>, String>;
}
