//! What can go wrong with namespaces.

use std::io;

use thiserror::Error;

/// Why a run in namespaces ended, or cannot begin.
#[derive(Debug, Error)]
pub enum LabError {
    /// The machine cannot do it.
    #[error("hosts in namespaces cannot run here: {0}")]
    Machine(String),
    /// The network cannot be had of the machine's kernel.
    #[error("{0}")]
    Network(String),
    /// A program that sets things up.
    #[error("{what}: `{line}` {said}")]
    Program {
        /// What was to be set up.
        what: String,
        /// The program and its arguments.
        line: String,
        /// How it ended, and what it said.
        said: String,
    },
    /// A host could not be set up, or its agent failed.
    #[error("host `{host}`: {message}")]
    Host {
        /// The host.
        host: String,
        /// What happened.
        message: String,
    },
    /// Files of a run.
    #[error("cannot {action}: {source}")]
    Files {
        /// What was tried.
        action: String,
        /// What happened.
        source: io::Error,
    },
    /// Told to stop.
    #[error("interrupted")]
    Interrupted,
}

/// An error of files, by what was tried.
pub(crate) fn files(action: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
    let action = action.into();
    move |source| LabError::Files { action, source }
}
