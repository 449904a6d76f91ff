//! Lanes on Linux hosts: short and long flows of unmodified applications on different paths.
//!
//! Source: S. Fujii's master thesis, Univ. of Tokyo 2015, §5; `docs/lanes.md`.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a daemon lives in the world: it has a clock and an environment; what is decided gets times as arguments"
)]

pub mod command;
pub mod config;
pub mod doctor;
pub mod driver;
mod failures;
pub mod http;
pub mod manager;
pub mod metrics;
pub mod notify;
pub mod settings;
pub mod setup;
pub mod snapshot;
