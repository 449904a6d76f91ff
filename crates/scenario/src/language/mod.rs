//! The language of scenario files: TOML with units, one declaration per record.
//!
//! [`record!`], [`choice!`] and [`words!`] declare what can be written; this module turns text into
//! such values with errors that point at their place, and back. It knows nothing of networks.

mod limit;
mod lists;
mod macros;
mod parameters;
mod problem;
mod quantity;
mod read;
mod row;
mod scalar;
mod schema;
mod set;
mod settings;
mod show;
mod source;
mod suggest;
mod sweep;
mod tree;

pub use limit::{Limit, OrOff};
pub use lists::{Map, Name, OneOrMany};
pub use parameters::Parameters;
pub use problem::{Problem, Problems};
pub use quantity::{Amount, Quantity, QueueLimit, Ratio};
pub use row::Row;
pub use settings::Settings;
pub use sweep::{Scalar, Sweep, SweepPoint, SweepValues};

pub(crate) use macros::{choice, record, words};
pub(crate) use problem::PointProblems;
pub(crate) use read::{Elsewhere, Field, Keys, Part, Reader, above, key};
pub(crate) use scalar::{choose, chosen, sentence, word};
pub(crate) use schema::{Alternative, Definitions, Json, limit, property};
pub(crate) use set::apply as apply_set;
pub(crate) use show::{Shown, document as show_document, inline as show_inline};
pub(crate) use source::{At, Source, Sources};
pub(crate) use suggest::{help as suggest_help, nearest as suggest_nearest};
pub(crate) use sweep::{substitute, used};
pub(crate) use tree::{Entry, LONGEST_TEXT, Node, Syntax, Table, Value, parse};
