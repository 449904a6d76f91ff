//! Reasons for which there are no results.

use std::fmt;
use std::io;
use std::path::PathBuf;

use headway_kernel::image::ImageError;
use headway_lab::LabError;
use headway_language::Problems;
use headway_results::SweepPoint;
use thiserror::Error;

/// Why a run cannot begin.
#[derive(Debug, Error)]
pub enum Error {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// The folder of results.
    #[error(transparent)]
    Results(#[from] headway_results::Error),
    /// The kernel of kernel hosts.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// This machine cannot have hosts in namespaces.
    #[error(transparent)]
    Machine(#[from] LabError),
    /// Runs in real time are never the same twice.
    #[error("runs cannot be verified: times of namespaces are never the same")]
    VerifyRealTime,
    /// There is nothing to go on with.
    #[error("there is no folder {} to resume", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder to go on with is complete.
    #[error("{} is finished, there is nothing to resume", path.display())]
    Finished {
        /// The folder.
        path: PathBuf,
    },
    /// The folder to go on with is of another scenario.
    #[error("{error}")]
    OtherScenario {
        /// The difference.
        error: headway_results::Error,
        /// The text that the folder began with.
        kept: PathBuf,
    },
    /// The folder to go on with has another file.
    #[error("cannot resume {}: its {name} is not the one of this scenario", path.display())]
    OtherFile {
        /// The folder.
        path: PathBuf,
        /// The file.
        name: String,
    },
    /// A file that the scenario names cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that the scenario names cannot be kept with the results.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The copy.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No number behind the scenario's name is free.
    #[error("{} has {most} folders of this scenario", parent.display())]
    TooManyFolders {
        /// Where they are.
        parent: PathBuf,
        /// How many.
        most: usize,
    },
}

/// A run of an experiment: `policy `lanes` at load=0.5, repeat 3`.
#[derive(Debug, Clone, PartialEq)]
pub struct Which {
    /// The policy.
    pub policy: String,
    /// The sweep point.
    pub sweep: SweepPoint,
    /// The repeat.
    pub repeat: u32,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy `{}`", self.policy)?;
        if !self.sweep.is_empty() {
            write!(f, " at {}", self.sweep)?;
        }
        write!(f, ", repeat {}", self.repeat)
    }
}

/// Why a run ended without results.
#[derive(Debug, Error)]
pub enum RunError {
    /// Files.
    #[error(transparent)]
    Results(#[from] headway_results::Error),
    /// A flow found no way through the network.
    #[error("{0}: {1}")]
    NoPath(Box<Which>, headway_fabric::NoPath),
    /// Kernel hosts cannot go on.
    #[error("{0}: {1}")]
    Kernels(Box<Which>, Box<KernelError>),
    /// The same run gave two different streams of events.
    #[error("{0}: two runs with one seed differ; this is a bug in Headway")]
    NotDeterministic(Box<Which>),
    /// The same run gave two different streams of events, and policies of the program took part.
    #[error(
        "{0}: two runs with one seed differ: the program's {1} must decide by what it is told alone, with no clock, no \
         random numbers but those of its seed, and nothing that flows share"
    )]
    Undecided(Box<Which>, String),
    /// A congestion control or judge of the program gave no answer, or a wrong one, for a flow, if it was one.
    #[error("{which}{flow}: {failure}", which = .0, flow = .1.as_ref().map(|flow| format!(", {flow}")).unwrap_or_default(), failure = .2)]
    Own(Box<Which>, Option<String>, #[source] Box<headway_control::own::Failure>),
    /// Told to stop; the complete runs are kept.
    #[error("interrupted after {done} of {total} runs")]
    Interrupted {
        /// Runs complete, earlier ones included.
        done: usize,
        /// Runs in all.
        total: usize,
    },
    /// A run was told to end at once.
    #[error("interrupted")]
    Aborted,
}

/// Why kernel hosts ended.
#[derive(Debug, Error)]
pub enum KernelError {
    /// Guests.
    #[error(transparent)]
    Guests(headway_kernel::GuestError),
    /// Namespaces.
    #[error(transparent)]
    Namespaces(LabError),
    /// External hosts of another sort, which there are none of.
    #[error("{0}")]
    Other(headway_transport::ExternalError),
    /// A report of a kernel host makes no sense.
    #[error("{0}")]
    Report(String),
    /// There are kernel hosts, and no kernel was given.
    #[error("there are kernel hosts, and no kernel for them")]
    NoImage,
}
