//! The native part of the Python package `headway`: scenarios read, runs made, tables handed over as Arrow.
//!
//! It is small on purpose. What users see, their types and their documentation are in `python/headway`; here stands what
//! needs the Rust crates. Structured values cross the border as JSON text, tables through the Arrow C stream interface
//! (arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html). Python's lock is released while anything is
//! read, planned or run.
//!
//! It must not hold algorithms of its own, nor anything that another front end would need as well.

#![allow(clippy::needless_pass_by_value, reason = "arguments from Python arrive as values")]

mod captures;
mod command;
mod errors;
mod folder;
mod own;
mod run;
mod session;
mod source;
mod table;
mod toml;
mod topology;

use pyo3::prelude::*;

/// The native part of `headway`; use the package.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::captures::trace;
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::folder::{Folder, report};
    #[pymodule_export]
    use crate::own::{Ack, Congestion, Delivery, Flow, Policies, Seen, Sibling, Start};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::session::{Session, Worker};
    #[pymodule_export]
    use crate::source::{Source, bundled, schema, version};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::toml::{from_toml, inline, to_toml};
    #[pymodule_export]
    use crate::topology::topology;
}
