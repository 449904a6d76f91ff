//! Sizes between two bounds.

use std::path::Path;

use headway_language::record;
use headway_traffic::{Size, Uniform};
use headway_units::Bytes;

use super::kind::SizeSource;
use crate::checker::Checker;

record! {
    /// Every size from `min` to `max` equally likely.
    pub struct UniformRecord {
        /// The smallest size.
        #[range(Bytes::new(1)..)]
        pub min: Bytes,
        /// The largest size.
        #[range(Bytes::new(1)..)]
        pub max: Bytes,
    }
}

impl SizeSource for UniformRecord {
    fn check(&self, label: &str, path: &[&str], checker: &mut Checker) {
        if self.min > self.max {
            let message = format!("`{label}` has a `min` larger than its `max`");
            let found = format!("{} to {}", self.min, self.max);
            checker.problem(path, message, &found, None);
        }
    }

    fn size(&self, _: &Path) -> Result<Option<Size>, String> {
        Uniform::new(self.min, self.max).map(Size::Uniform).map(Some).map_err(|error| error.to_string())
    }
}
