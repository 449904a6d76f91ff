//! Lanes on Linux hosts: short and long flows of unmodified applications on different paths.
//!
//! The daemon's loop, its pages, the record of what it set up and the common part of its command are `headway_daemon`'s.
//! Here are what decides ([`manager`], without I/O), what it asks of kernels ([`driver`]), its steps ([`setup`]), and its
//! configuration, metrics and `doctor`.
//!
//! Source: S. Fujii's master thesis, Univ. of Tokyo 2015, §5; `docs/lanes.md`.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a daemon lives in the world: it has a clock and an environment; what is decided gets times as arguments"
)]

use headway_daemon::Identity;

pub mod command;
pub mod config;
pub mod doctor;
pub mod driver;
pub mod manager;
pub mod metrics;
pub mod settings;
pub mod setup;
pub mod snapshot;

/// Who this daemon is.
pub const IDENTITY: Identity = Identity {
    name: "headway-lane",
    version: env!("CARGO_PKG_VERSION"),
    metric_prefix: "headway_lane",
    route_protocol: 183,
    config: "/etc/headway/lane.toml",
    socket: "/run/headway/lane.sock",
    state: "/run/headway/lane",
};
