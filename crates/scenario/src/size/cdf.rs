//! Sizes as in a table of sizes and cumulative shares.

use std::path::Path;

use headway_input::read_text;
use headway_language::record;
use headway_traffic::{Cdf, Size};

use super::kind::SizeSource;
use crate::checker::Checker;

/// A table of sizes has at most this many bytes.
const LARGEST_TABLE: u64 = 16 << 20;

record! {
    /// As in a table of sizes and cumulative shares: `name` or `file`, one of them.
    pub struct CdfRecord {
        /// A table that comes with Headway.
        pub name: Option<String>,
        /// A file, relative to the scenario's: lines of size in bytes and cumulative share.
        pub file: Option<String>,
    }
}

impl SizeSource for CdfRecord {
    fn check(&self, label: &str, path: &[&str], checker: &mut Checker) {
        if self.name.is_some() == self.file.is_some() {
            let message = format!("`{label}` needs exactly one of `name` and `file`");
            let found = if self.name.is_some() { "both are given" } else { "neither is given" };
            checker.problem(path, message, found, None);
        }
    }

    fn size(&self, folder: &Path) -> Result<Option<Size>, String> {
        if let Some(name) = &self.name {
            return Cdf::builtin(name).map(Size::Cdf).map(Some).ok_or_else(|| {
                let known: Vec<&str> = Cdf::builtin_names().collect();
                format!("there is no table of sizes `{name}`; known are {}", known.join(", "))
            });
        }
        // Named as the scenario does: where it was looked for follows from where the scenario is.
        let name = self.file.as_deref().unwrap_or_default();
        let file = folder.join(name);
        let text = read_text(&file, LARGEST_TABLE).map_err(|error| format!("{name}: {error}"))?;
        Cdf::parse(&text).map(Size::Cdf).map(Some).map_err(|error| format!("{name}: {error}"))
    }
}
