//! An experiment: a scenario planned, run into a folder of results, and its claims evaluated.
//!
//! The steps are plan → run → results. [`Experiment::new`] plans a scenario at every sweep point with every policy.

mod claims;
mod plan;
mod published;
mod run;

pub use claims::{Case, Printed, Verdict};
pub use headway_transport::Traced;
pub use run::{Ended, Experiment, KernelOptions, Options, Progress, Results, RunError, controls, kernel_facts};
