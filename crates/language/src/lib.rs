//! The language of Headway's files: TOML with units, one declaration per record.
//!
//! [`record!`], [`choice!`] and [`words!`] declare what can be written; this crate turns text into
//! such values with errors that point at their place, and back. It knows nothing of networks, nor of
//! what a file is for: scenarios and the daemon's configuration are written in it.
//!
//! Sources: TOML 1.0 (toml.io), JSON Schema draft 2020-12 (json-schema.org).

mod limit;
mod lists;
mod macros;
mod parameters;
mod point;
mod problem;
mod quantity;
mod range;
mod read;
mod row;
mod scalar;
mod schema;
mod set;
mod show;
mod source;
mod suggest;
mod sweep;
mod tree;
mod variants;

pub use limit::{Limit, Never, OrOff};
pub use lists::{Map, Name, OneOrMany};
pub use parameters::Parameters;
pub use point::{Scalar, SweepPoint};
pub use problem::{PointProblems, Problem, Problems, decode, unread};
pub use quantity::{Amount, Quantity, QueueLimit, Ratio};
pub use row::Row;
pub use sweep::{Sweep, SweepValues, placeholder, substitute, used};

pub use range::{Limited, above, limit};
pub use read::{Elsewhere, Field, Keys, Parse, Part, Reader, all_defaults, key};
pub use scalar::{choose, chosen, sentence, word};
pub use schema::{Alternative, Definitions, Json, property};
pub use set::apply as apply_set;
pub use show::{Shown, document as show_document, inline as show_inline};
pub use source::{At, Source, Sources};
pub use suggest::{help as suggest_help, nearest as suggest_nearest};
pub use tree::{Entry, MAX_TEXT, Node, Syntax, Table, Value, parse};
pub use variants::{Swept, Variants};
