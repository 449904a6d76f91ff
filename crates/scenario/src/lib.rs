//! The scenario file: topology, traffic, policies to compare, what to measure and what must hold.
//!
//! A scenario is one TOML file with units in every quantity. [`Document::parse`] reads it,
//! [`Document::points`] lists the combinations of its sweep, [`Document::scenario`] gives the typed
//! [`ScenarioRecord`] of one of them, checked as far as the file alone allows. Any text gives either
//! that or [`Problems`] that point at the place and say what would be right; never a panic.
//! [`Document::show`] prints every default, [`json_schema`] describes the file to other programs.
//!
//! Two halves: `headway-language` knows how things are written and nothing of networks, [`schema`] declares
//! the records. A new key is one line in a record there.
//!
//! Sources: TOML 1.0 (toml.io), JSON Schema draft 2020-12 (json-schema.org).

mod cell;
mod check;
mod checker;
pub mod cost;
mod document;
pub mod equipment;
mod kinds;
mod limits;
pub mod plan;
mod queue;
pub mod schema;
mod settings;
mod size;
pub mod stack;
mod topology;

pub use cell::CellText;
pub use document::{Document, Overrides, Variant, json_schema};
pub use headway_language::{
    Amount, Map, Name, OneOrMany, Problem, Problems, Quantity, QueueLimit, Ratio, Row, Scalar, Sweep, SweepPoint,
    SweepValues, decode, unread,
};
pub use schema::ScenarioRecord;
pub use settings::{Settings, queue_name};
