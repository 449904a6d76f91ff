//! Everything that can go wrong with the files, each with its path.

use std::io;
use std::path::{Path, PathBuf};

use headway_units::Bytes;
use thiserror::Error;

use crate::shard::Shard;

/// Why a results folder cannot be made, continued, written or read.
#[derive(Debug, Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: `create`, `write`, `read`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else is there already.
    #[error("{} is not empty and not a results folder; name a new or an empty folder", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// There is no manifest to continue from or to read.
    #[error("{} is not a results folder: it has no manifest.json", path.display())]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds a finished run.
    #[error("{} already holds finished results; remove it or name another folder", path.display())]
    Complete {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds a run that was not finished.
    #[error("{} holds an interrupted run; resume it, remove it or name another folder", path.display())]
    Interrupted {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds a part of the runs.
    #[error("{} holds shard {shard} of a run", path.display())]
    Shard {
        /// The folder.
        path: PathBuf,
        /// The part.
        shard: Shard,
    },
    /// Another process writes to the folder.
    #[error("{} is in use by another run", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The interrupted run was of something else.
    #[error("cannot resume {}: its {what} is {found}, this run's is {expected}", path.display())]
    Mismatch {
        /// The folder.
        path: PathBuf,
        /// What differs: `scenario hash`, `seed`, `shard`, `version`, `epoch of results`, or `cell` with its number.
        what: String,
        /// What the folder holds.
        found: String,
        /// What this run would need.
        expected: String,
    },
    /// Too little room to start.
    #[error("only {available} free at {}; a run needs at least {needed}", path.display())]
    Space {
        /// The folder.
        path: PathBuf,
        /// What is free.
        available: Bytes,
        /// The least that is accepted.
        needed: Bytes,
    },
    /// A file is cut, changed or of another kind.
    #[error("{} is damaged or not ours: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// The files were written in a later (or unknown) layout.
    #[error("{} has results format {found}; this version reads format {known}", path.display())]
    Format {
        /// The manifest.
        path: PathBuf,
        /// The number in the file.
        found: u64,
        /// The number this version writes.
        known: u32,
    },
    /// There is no store of runs.
    #[error("{} is not a store of runs", path.display())]
    NotStore {
        /// The folder.
        path: PathBuf,
    },
    /// A store of runs of another layout.
    #[error("{} is a store of layout {found}; this version reads layout {known}", path.display())]
    StoreFormat {
        /// The folder.
        path: PathBuf,
        /// The number in it.
        found: u64,
        /// The number this version writes.
        known: u64,
    },
    /// The folder cannot be finished yet.
    #[error("{} lacks {missing} of {total} runs, the first being repeat {repeat} of cell {cell}", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// How many runs have no part.
        missing: usize,
        /// How many there should be.
        total: usize,
        /// The first that is missing.
        cell: u32,
        /// The first that is missing.
        repeat: u32,
    },
}

impl Error {
    /// For `map_err`: what was tried, and on which file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { action, path, source }
    }

    /// That the file at `path` was not read, as a function of the reason.
    pub(crate) fn unread(path: &Path) -> impl FnOnce(headway_input::ReadError) -> Error {
        let path = path.to_path_buf();
        move |error| Error::Io { action: "read", path, source: error.into() }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_path_buf(), reason: reason.into() }
    }
}
