//! What can go wrong with images.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no image to use, or why none could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// None at all.
    #[error(
        "kernel hosts need a kernel, and none has been built yet\n\
         `headway kernel build` makes one from Debian's package linux-source-6.12, or from a source tree of yours with \
         --source; it takes some minutes and 2.2 GB of disk while it builds, 30 MB afterwards\n\
         `headway kernel doctor` says what is missing for it"
    )]
    NoImage,
    /// None of this name.
    #[error("there is no kernel `{name}`; {}", there(.others))]
    NotFound {
        /// The name.
        name: String,
        /// Those that are there.
        others: Vec<String>,
    },
    /// Made by another version of this program.
    #[error(
        "the kernel `{name}` was made by another version of headway: run `headway kernel build` again with what it was \
         made with; if only that differs, it takes seconds"
    )]
    Stale {
        /// The image's name.
        name: String,
    },
    /// An image that is not as it was made.
    #[error("the kernel `{name}` is damaged ({what}): run `headway kernel build` again, or remove {}", .path.display())]
    Damaged {
        /// The image's name.
        name: String,
        /// What is wrong.
        what: String,
        /// Its folder.
        path: PathBuf,
    },
    /// A name that cannot be a folder's.
    #[error(
        "`{name}` cannot be a kernel's name: it has letters, digits and `.`, `_`, `+`, `-`, and starts with one of \
             the first two"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// This program was built without those for guests.
    #[error(
        "this headway was built without the programs that run inside kernel hosts: {why}\nbuild headway again once \
             that is remedied"
    )]
    NoPrograms {
        /// Why.
        why: String,
    },
    /// All that building needs and this machine lacks.
    #[error("not found: {}\nrun: {remedy}", .missing.join(", "))]
    Tools {
        /// Programs by name, and other things in words.
        missing: Vec<String>,
        /// A command that installs them.
        remedy: String,
    },
    /// No source to build from.
    #[error(
        "there are no kernel sources: {why}\nrun `apt-get install linux-source-6.12` as root, or name a source tree \
         with --source"
    )]
    NoSource {
        /// Why they could not be had.
        why: String,
    },
    /// Not a kernel.
    #[error("{} is not a kernel source tree: it has no {lacks}", .path.display())]
    NotATree {
        /// What was named.
        path: PathBuf,
        /// What is missing there.
        lacks: String,
    },
    /// Too old.
    #[error("kernel {version} is too old: its clock cannot come from outside as it must; it takes 6.12 or newer")]
    TooOld {
        /// Its version.
        version: String,
    },
    /// Neither of our patches for random numbers fits.
    #[error(
        "the change that makes a kernel's random numbers repeatable does not apply to Linux {version} \
         (arch/um/os-Linux/util.c); without it no two runs would be the same"
    )]
    Seed {
        /// The kernel's version.
        version: String,
    },
    /// A change of the source that finds nothing to change.
    #[error("cannot set {what} of Linux {version}: {} is not as expected", .file.display())]
    Edit {
        /// What was to be set.
        what: &'static str,
        /// The kernel's version.
        version: String,
        /// Where.
        file: PathBuf,
    },
    /// A file of the user's for the build that cannot be read.
    #[error("the {what} {} cannot be read: {source}", .file.display())]
    Unreadable {
        /// What it was to be.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A patch of the user's that is none.
    #[error("the patch {} is malformed: {why}", .file.display())]
    Malformed {
        /// The patch.
        file: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// A patch of the user's.
    #[error("the patch {} does not apply:\n{output}", .file.display())]
    Patch {
        /// The patch.
        file: PathBuf,
        /// What `patch` says.
        output: String,
    },
    /// The configuration lacks what kernel hosts need.
    #[error("the configured kernel lacks {}", .missing.join(", "))]
    Config {
        /// What it lacks, each with what it is for.
        missing: Vec<String>,
    },
    /// A step of the build failed.
    #[error("{step} failed ({how}); the last lines of {}:\n{tail}", .log.display())]
    Step {
        /// Which.
        step: &'static str,
        /// The exit code or the signal.
        how: String,
        /// The last lines of its output.
        tail: String,
        /// The file with all of it.
        log: PathBuf,
    },
    /// A program that is to be in the image.
    #[error("cannot take {name} into the image: {why}")]
    Program {
        /// As it was named.
        name: String,
        /// Why.
        why: String,
    },
    /// Another process builds it.
    #[error("another headway is building the kernel `{name}` at this moment")]
    Busy {
        /// The image's name.
        name: String,
    },
    /// Told to stop.
    #[error("interrupted; no kernel was made")]
    Interrupted,
    /// Neither of the variables that say where the cache is.
    #[error("there is no place for kernels: set HEADWAY_CACHE to a folder, or HOME")]
    NoCache,
    /// A file or folder that cannot be used.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

fn there(others: &[String]) -> String {
    if others.is_empty() {
        "none has been built yet: `headway kernel build` makes one".to_owned()
    } else {
        format!("there are: {}", others.join(", "))
    }
}

/// `map_err` for files: what was tried, and with what.
pub(super) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ImageError + 'a {
    move |source| ImageError::Io { action, path: path.to_owned(), source }
}
