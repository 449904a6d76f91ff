//! The `headway` command, for the package's entry point.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

/// As Rust's programs end when they panic.
const PANICKED: u8 = 101;

/// Runs the command with `arguments`, the first of which is the program's name, and gives its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // The message was printed by then.
    py.detach(|| catch_unwind(AssertUnwindSafe(|| headway_cli::main(arguments))).unwrap_or(PANICKED))
}
