//! Policies that a program gives: a congestion control or a judge of lanes as a callback, for trying ideas.
//!
//! A [`Registry`] has them by name, and a scenario names them: `control = "own:NAME"`,
//! `judge = { kind = "own", name = "NAME" }`. What a control is asked stands in [`crate::congestion::OwnControl`], what a
//! judge is asked in [`crate::lanes::OwnJudge`]. Each subflow, and each connection with lanes, has an instance of its own.
//! They answer through a pointer, and every answer is checked: a built-in control costs a fraction of it.
//!
//! A callback that fails, panics or answers nonsense leaves a [`Failure`] in the run's [`Failures`]. It is not asked again;
//! who drives the run looks there after each event and ends it.

mod failure;
mod registry;

pub use failure::{CallbackError, Failure, Failures, Flow, PolicyKind};
pub(crate) use failure::{Slot, finite};
pub use registry::{BadName, Registry};

/// What the name of an own control begins with in a scenario.
pub const PREFIX: &str = "own:";

/// The name of an own control, if `control` is one as a scenario writes it: `own:NAME`.
pub fn name_of(control: &str) -> Option<&str> {
    control.strip_prefix(PREFIX)
}
