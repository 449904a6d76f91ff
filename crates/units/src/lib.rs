//! Exact quantities with units.
//!
//! Everything the simulator and the daemons exchange is one of these types: an instant
//! ([`Time`]), a duration ([`Span`]), a rate ([`Rate`]), an amount of data ([`Bytes`]).
//! All are integers; only the operators that mean something exist; text always carries a unit
//! (`"100Mbps"`, `"0.5us"`, `"128KB"`, `"64KiB"`) and what is printed parses back to the same value.
//!
//! This crate must not know of packets, events or files.

#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod bytes;
mod rate;
mod text;
mod time;

pub use bytes::Bytes;
pub use rate::Rate;
pub use text::ParseError;
pub use time::{Span, Time};
