//! Network namespaces: the calling thread moves into one, and what it opens from then on is in there.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where `ip netns add` puts the names.
pub const NAMES: &str = "/run/netns";

/// Why a namespace cannot be entered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there, or may not be opened.
    #[error("network namespace {}: {source}", path.display())]
    Open {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is there, but the thread may not move into it: it takes `CAP_SYS_ADMIN`, or it is no network namespace.
    #[error("entering network namespace {}: {source}", path.display())]
    Enter {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The file of a namespace: a name as of `ip netns`, or a path (anything with a slash), such as `/proc/1234/ns/net`.
pub fn path(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMES).join(name) }
}

/// Opens a namespace. Held open, it stays the same one, whatever becomes of the name.
///
/// # Errors
/// If there is none of the name, or it may not be opened.
pub fn open(name: &str) -> Result<File, Error> {
    let path = path(name);
    File::open(&path).map_err(|source| Error::Open { path, source })
}

/// Moves the calling thread into a namespace that is open. Sockets that exist stay where they are; files of
/// `/proc/sys/net` and `/proc/net` are the namespace's from then on for this thread. Takes no file descriptor.
///
/// # Errors
/// If the process may not enter it, or it is no network namespace.
pub fn enter_open(namespace: impl AsFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Moves the calling thread into a namespace, as [`enter_open`].
///
/// # Errors
/// If there is none of the name, or the process may not enter it.
pub fn enter(name: &str) -> Result<(), Error> {
    enter_open(open(name)?).map_err(|source| Error::Enter { path: path(name), source })
}

/// The names that `ip netns` knows, sorted. None if it was never used.
///
/// # Errors
/// If the folder cannot be read.
pub fn names() -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(NAMES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}
