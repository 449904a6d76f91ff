//! Lanes on Linux hosts: short and long flows of unmodified applications on different paths.
//!
//! Source: S. Fujii's master thesis, Univ. of Tokyo 2015, §5; `docs/lanes.md`.

#![cfg(target_os = "linux")]

pub mod config;
pub mod driver;
pub mod http;
pub mod manager;
pub mod metrics;
pub mod notify;
pub mod settings;
pub mod snapshot;
