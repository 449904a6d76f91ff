//! An experiment: a scenario planned, run into a folder of results, and its claims evaluated.
//!
//! A front end does three steps. [`Planned::new`] reads and checks a [`Source`], and its requirements of this
//! machine; nothing is written. [`Planned::open`] makes the folder, or takes an interrupted run up. [`Opened::run`] runs,
//! tells progress, stops when [`Interruption`] says so, and gives [`Finished`] results.
//!
//! ```no_run
//! use headway_experiment::{Destination, Interruption, Planned, Request, Source};
//!
//! let source = Source { name: "my.toml".into(), text: std::fs::read_to_string("my.toml")?, folder: ".".into() };
//! let planned = Planned::new(&source, Destination::New("out".into()), &Request::default())?;
//! println!("{}", planned.extent());
//! let finished = planned.open(&mut |_| {})?.run(&Interruption::default(), &mut |done, total| println!("{done}/{total}"))?;
//! println!("{} claims", finished.results.verdicts.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Below that stands [`Experiment`]: every policy at every sweep point, of which single runs can be had as well. It must
//! not know of terminals; it prints nothing.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it starts threads and dates manifests; runs do not see them"
)]

mod bundled;
mod capturing;
mod cell;
mod claims;
pub mod clock;
mod error;
mod estimate;
mod experiment;
mod files;
mod film;
mod fingerprint;
mod gathered;
mod keeper;
mod kept;
mod live;
pub mod machine;
mod measured;
mod merge;
mod not_stored;
mod opened;
mod operand;
mod origin;
mod paths;
mod printed;
mod published;
mod remote;
pub mod report;
mod requirements;
mod run;
mod simulate;
mod source;
mod tally;

pub use bundled::{BUNDLED, Bundled};
pub use error::{Error, KernelError, RunError, Which};
pub use estimate::Estimate;
pub use experiment::{Experiment, KernelOptions, Options, controls};
pub use fingerprint::RESULTS_EPOCH;
pub use gathered::{Results, is_kept};
pub use headway_control::own;
pub use headway_transport::Traced;
pub use keeper::Stored;
pub use live::{Live, Look};
pub use measured::{NotMeasured, measured};
pub use merge::merge;
pub use not_stored::NotStored;
pub use opened::{Extent, Finished, Interruption, Opened, Ran, Session};
pub use remote::{Work, Worker};
pub use run::{Destination, Planned, Request, VERSION, interrupted, threads};
pub use simulate::Progress;
pub use source::{Scenario, Source, SourceError};
pub use tally::Ended;
