//! Kernel hosts of a scenario: turns its hosts into Linux kernels, and their reports into flows.
//!
//! [`Kernels::new`] says which hosts of a plan are kernels and how each is set up: it maps every key of a transport to a
//! setting of Linux, or rejects it. [`Kernels::start`] gives the plan of one run, for guests in virtual time
//! (`headway-kernel`) or for namespaces of the machine in real time (`headway-lab`). [`KernelOutcome`] joins the reports
//! of their agents with the flows that were sent.
//!
//! It runs nothing, and knows nothing of repeats, folders or claims: that is `headway-experiment`.

mod captures;
mod commands;
mod context;
mod daemon;
mod host;
mod kernels;
mod namespaces;
mod plan;
mod policy;
mod refusal;
mod reports;
mod requirements;
mod roster;
mod start;

pub use captures::{Captures, of_models as modelled_captures};
pub use kernels::{Kernels, Where};
pub use namespaces::left_out;
pub use reports::KernelOutcome;
pub use requirements::{Feature, Requirement};
pub use start::{GuestMachine, LaunchPlan, Machine, Sent, Started};
