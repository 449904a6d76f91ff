//! Network namespaces: the calling thread moves into one, and what it opens from then on is in there.

use std::fs::{self, File};
use std::io;
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

/// Moves the calling thread into a namespace. Sockets that exist stay where they are; files of `/proc/sys/net` and
/// `/proc/net` are the namespace's from then on for this thread.
///
/// # Errors
/// If there is none of the name, or the process may not enter it.
pub fn enter(name: &str) -> Result<(), Error> {
    let path = path(name);
    let file = File::open(&path).map_err(|source| Error::Open { path: path.clone(), source })?;
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network))
        .map_err(|error| Error::Enter { path, source: error.into() })
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
