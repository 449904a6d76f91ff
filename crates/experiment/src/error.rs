//! Reasons for which there are no results.

use std::fmt;
use std::io;
use std::path::PathBuf;

use headway_kernel::image::ImageError;
use headway_lab::LabError;
use headway_language::Problems;
use headway_results::{Shard, SweepPoint};
use thiserror::Error;

use crate::machine::Room;
use crate::not_stored::NotStored;

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
    /// A worker that is unlike the process that it computes for: its outcomes could be others.
    #[error("this worker cannot compute for another process: its {what} is {here} here, and {there} there")]
    OtherWorker {
        /// The difference.
        what: String,
        /// At the worker.
        here: String,
        /// At the process that asks.
        there: String,
    },
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
    /// One run takes more memory than there is.
    #[error("a run takes about {} of memory, and {} has {} left", crate::machine::text(*needs), room.of.name(), crate::machine::text(room.left))]
    Memory {
        /// What the largest run takes, about.
        needs: headway_units::Bytes,
        /// What there is.
        room: Room,
    },
    /// Neither a folder nor a store.
    #[error("there is neither a folder nor a store for what is run")]
    NoStore,
    /// Runs that a store does not keep have no other place.
    #[error("runs {reason} are not kept in a store")]
    NotStored {
        /// Why not.
        reason: NotStored,
    },
    /// No shards were named.
    #[error("there are no shards to merge")]
    NoShards,
    /// A folder that should be a shard.
    #[error("{} is no shard", path.display())]
    NotAShard {
        /// The folder.
        path: PathBuf,
    },
    /// Shards of different runs.
    #[error("{} and {} are not shards of the same: {what} is {} in the first, {} in the second", folders[0].display(), folders[1].display(), values[0], values[1])]
    OtherShard {
        /// Two shards.
        folders: Box<[PathBuf; 2]>,
        /// What differs.
        what: &'static str,
        /// In each of them.
        values: Box<[String; 2]>,
    },
    /// One shard twice.
    #[error("{} and {} are both shard {shard}", first.display(), second.display())]
    ShardTwice {
        /// A folder.
        first: PathBuf,
        /// Another.
        second: PathBuf,
        /// The shard.
        shard: Shard,
    },
    /// A shard that was run with another file.
    #[error("{} and {} are not shards of the same: their files {name} differ", folders[0].display(), folders[1].display())]
    OtherShardFile {
        /// Two shards.
        folders: Box<[PathBuf; 2]>,
        /// The file.
        name: String,
    },
    /// A run of a shard that cannot be read.
    #[error("shard {shard} in {} cannot be merged: {error}", path.display())]
    ShardDamaged {
        /// Its folder.
        path: PathBuf,
        /// The shard.
        shard: Shard,
        /// The reason.
        error: Box<headway_results::Error>,
    },
    /// Shards that are not there.
    #[error("of {of} shards {} missing: {}", if missing.len() == 1 { "one is" } else { "some are" }, list(missing))]
    ShardsMissing {
        /// Their numbers.
        missing: Vec<u32>,
        /// How many there are.
        of: u32,
        /// The arguments that the first shard was run with, and its folder.
        like: (Vec<String>, PathBuf),
    },
    /// A shard that is not complete.
    #[error("shard {shard} in {} has {done} of its {total} runs", path.display())]
    ShardUnfinished {
        /// Its folder.
        path: PathBuf,
        /// The shard.
        shard: Shard,
        /// Runs that are complete.
        done: usize,
        /// Its runs.
        total: usize,
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

/// `1, 2, 5`; of many the first.
fn list(numbers: &[u32]) -> String {
    const MOST: usize = 20;
    let first: Vec<String> = numbers.iter().take(MOST).map(u32::to_string).collect();
    let more = numbers.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    first.join(", ") + &rest
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
    /// There is no memory left to go on.
    #[error("{0}: {of} has {left} of memory left, too little to go on", of = .1.of.name(), left = crate::machine::text(.1.left))]
    Memory(Box<Which>, Room),
    /// Told to stop; the complete runs are kept.
    #[error("interrupted after {done} of {total} runs")]
    Interrupted {
        /// Runs complete, earlier ones included.
        done: usize,
        /// Runs in all.
        total: usize,
    },
    /// Somebody gave an outcome of a run that is none of these.
    #[error("a worker returned repeat {repeat} of cell {cell}, which nobody asked for")]
    NotAsked {
        /// The cell.
        cell: u32,
        /// The repeat.
        repeat: u32,
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
