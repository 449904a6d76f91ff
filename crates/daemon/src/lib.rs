//! The parts that every Headway daemon has, whatever lever it pulls.
//!
//! * [`run`]: the event loop around a [`Service`]: signals, reload, watchdog, the server;
//! * [`http`], [`metrics`]: status, events and metrics on a unix socket, metrics over TCP;
//! * [`command`], [`args`], [`log`]: the command line's common part, messages, exit codes;
//! * [`setup`]: changes of the host with a record that survives the process, so that all of them can be undone;
//! * [`report`]: the table of `doctor`;
//! * [`config`], [`values`]: reading a configuration file, and what every one has in it;
//! * [`Place`], [`instance_lock`], [`ReconnectingSocket`], [`Failures`]: work in network namespaces, and with sockets that
//!   fail.
//!
//! It knows no lever: what a daemon decides, its settings, its steps and its metrics are the daemon's own. A daemon says
//! who it is by an [`Identity`]. `examples/idle.rs` is one that does nothing else; `docs/adding/daemon.md` is the recipe.
//!
//! Sources: daemon(7), sd_notify(3), systemd.service(5), RFC 9112.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a daemon lives in the world: it has a clock and an environment"
)]

pub mod args;
mod clock;
pub mod command;
pub mod config;
mod failures;
pub mod http;
mod identity;
mod instance;
pub mod log;
pub mod metrics;
pub mod notify;
mod place;
mod reconnect;
pub mod report;
mod run;
pub mod setup;
mod signals;
pub mod table;
#[macro_use]
pub mod values;

/// For [`textual!`].
#[doc(hidden)]
pub use {headway_language as language, serde_json::json};

pub use clock::Clock;
pub use failures::{Failures, Refusal, refusal};
pub use identity::{Identity, Operations};
pub use instance::instance_lock;
pub use place::Place;
pub use reconnect::ReconnectingSocket;
pub use run::{Count, ReloadError, RunError, Service, run};
