//! What can go wrong with guests.

use std::io;

use thiserror::Error;

/// Why a run with kernel hosts ended.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A guest could not be started.
    #[error("the guest of {hosts} cannot be started: {source}")]
    Start {
        /// Its hosts.
        hosts: String,
        /// Why.
        source: io::Error,
    },
    /// A guest ended before its time.
    #[error("the guest of {hosts} {what} at {at}{}", after(.console))]
    Gone {
        /// Its hosts.
        hosts: String,
        /// What happened.
        what: String,
        /// When, in virtual time.
        at: String,
        /// The last lines of its console.
        console: String,
    },
    /// A guest said something that makes no sense.
    #[error("the guest of {hosts} {what}{}", after(.console))]
    Protocol {
        /// Its hosts.
        hosts: String,
        /// What it said.
        what: String,
        /// The last lines of its console.
        console: String,
    },
    /// A host could not be set up, or its agent failed.
    #[error("host `{host}`: {message}{}", after(.console))]
    Host {
        /// The host.
        host: String,
        /// What its agent said.
        message: String,
        /// The last lines of its guest's console.
        console: String,
    },
    /// Files of a run.
    #[error("cannot {action}: {source}")]
    Files {
        /// What was tried.
        action: String,
        /// What happened.
        source: io::Error,
    },
    /// A thread that served a guest panicked: a bug.
    #[error("the thread of a guest panicked; this is a bug in Headway")]
    Thread,
    /// Told to stop.
    #[error("interrupted")]
    Interrupted,
}

fn after(console: &str) -> String {
    if console.is_empty() { String::new() } else { format!("; its console ends with:\n{console}") }
}
