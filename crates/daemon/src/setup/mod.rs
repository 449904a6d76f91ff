//! Changes of the host that can be undone, whenever the process ends.
//!
//! A daemon declares its [`Step`]s and makes a [`Plan`] of them. [`Setup::apply`] undoes recorded steps that are not wanted
//! any more and does those that are missing; [`Setup::cleanup`] undoes exactly what is recorded. The record names all of it
//! before anything is done, and forgets a step after it was undone: a daemon that is killed in between leaves a record that
//! says at least what it did.

mod apply;
mod record;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub use apply::{Done, Setup, Undone};
pub use record::{Entry, Recorded};

/// One kind of change of the host, of which all steps of a daemon are. As text it is the equivalent command.
pub trait Step: Clone + Eq + fmt::Debug + fmt::Display + Serialize + DeserializeOwned {
    /// What a step finds and replaces, as the record keeps it.
    type Before: Clone + Eq + fmt::Debug + Serialize + DeserializeOwned;
    /// What steps are done with: the kernel, or a stand-in for tests.
    type Host: ?Sized;

    /// If this step gives a value to the same setting as `other`: that value. `None` for steps that add something.
    fn sets(&self, other: &Self) -> Option<Self::Before>;

    /// Its place when steps are undone, the lowest first; among equals, the latest first.
    fn undo_order(&self) -> u8;

    /// Whether the daemon does such steps and finds `before`. A record with any other is refused, so that whoever can write
    /// it cannot have more done than that.
    fn is_known(&self, before: &Self::Before) -> bool;

    /// The command that undoes it.
    fn undo_command(&self) -> String;

    /// What to do where something of others is in its place.
    fn advice_if_taken(&self) -> &'static str;

    /// Reads what the step is about to replace.
    ///
    /// # Errors
    /// Why that cannot be had.
    fn read(&self, host: &mut Self::Host) -> Result<Self::Before, String>;

    /// Does it.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn run(&self, host: &mut Self::Host) -> Result<(), String>;

    /// Undoes it, unless it is undone already or someone has changed it since.
    ///
    /// # Errors
    /// Why it cannot be undone.
    fn undo(&self, before: &Self::Before, host: &mut Self::Host) -> Result<Undoing, String>;
}

/// What came of undoing a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undoing {
    /// It is undone.
    Undone,
    /// There was nothing to undo.
    Gone,
    /// Someone has changed it since, to this; it was left alone.
    Changed(String),
}

/// What a step finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "now", rename_all = "kebab-case")]
pub enum State {
    /// It is as it should be: nothing is to be done.
    There,
    /// There is nothing.
    Missing,
    /// There is something else, which is changed, and put back by `cleanup`.
    Differs(String),
    /// There is something else in its place, made by someone else: nothing is done.
    Taken(String),
    /// It cannot be done now, as the kernel takes no route by an interface that is down: it is done once that is up.
    Waits(String),
}

/// A step and what it finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned<S> {
    /// The step.
    #[serde(flatten)]
    pub step: S,
    /// What is there now.
    #[serde(flatten)]
    pub state: State,
}

/// A recorded step that is not wanted any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Former<S> {
    /// What was done.
    #[serde(flatten)]
    pub step: S,
    /// Open connections depend on it: it stays until they are over.
    pub in_use: bool,
}

/// What is to be done, in this order; `W` is the daemon's type of warnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan<S, W> {
    /// What is undone.
    pub undo: Vec<Former<S>>,
    /// The steps.
    pub steps: Vec<Planned<S>>,
    /// What may not be as meant.
    pub warnings: Vec<W>,
}

impl<S, W> Default for Plan<S, W> {
    fn default() -> Plan<S, W> {
        Plan { undo: Vec::new(), steps: Vec::new(), warnings: Vec::new() }
    }
}

impl<S, W> Plan<S, W> {
    /// Whether everything is there and nothing else.
    pub fn is_done(&self) -> bool {
        self.undo.is_empty() && self.steps.iter().all(|planned| planned.state == State::There)
    }
}

/// Commands that a shell takes, those that need not be done as comments.
impl<S: Step, W: fmt::Display> fmt::Display for Plan<S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Former { step, in_use } in &self.undo {
            match in_use {
                false => writeln!(f, "{}  # set up before, not wanted any more", step.undo_command())?,
                true => writeln!(f, "# once no connection uses it any more: {}", step.undo_command())?,
            }
        }
        for Planned { step, state } in &self.steps {
            match state {
                State::There => writeln!(f, "# there already: {step}")?,
                State::Missing => writeln!(f, "{step}")?,
                State::Differs(now) => writeln!(f, "{step}  # now {now}")?,
                State::Taken(now) => writeln!(f, "# cannot be done, {now} is in its place: {step}")?,
                State::Waits(interface) => writeln!(f, "# once {interface} is up: {step}")?,
            }
        }
        for warning in &self.warnings {
            writeln!(f, "# warning: {warning}")?;
        }
        Ok(())
    }
}

/// Why something was not set up, or not undone.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The state of the host cannot be read.
    #[error("{0}")]
    Read(String),
    /// A step failed.
    #[error("`{step}`: {error}")]
    Step {
        /// The step, as a command.
        step: String,
        /// Why.
        error: String,
    },
    /// Something is in a step's place.
    #[error("`{step}`: {now} is in its place; {advice}")]
    Taken {
        /// The step, as a command.
        step: String,
        /// What is there.
        now: String,
        /// What to do.
        advice: &'static str,
    },
    /// The record cannot be read or written.
    #[error("{}: {error}", path.display())]
    Record {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The record is damaged or not ours; nothing was done.
    #[error("{} is not a record of this program: {why}; nothing was done", path.display())]
    Damaged {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Another process sets up or cleans up.
    #[error("another process is at {} now", .0.display())]
    Busy(PathBuf),
}

/// A host of settings with names and values, each of which may be set, and one step that adds a name.
#[cfg(test)]
mod fake {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    pub(super) type Host = BTreeMap<String, String>;

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
    pub(super) enum Change {
        Set { name: String, value: String },
        Add { name: String },
    }

    pub(super) fn set(name: &str, value: &str) -> Change {
        Change::Set { name: name.to_owned(), value: value.to_owned() }
    }

    pub(super) fn add(name: &str) -> Change {
        Change::Add { name: name.to_owned() }
    }

    impl fmt::Display for Change {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Change::Set { name, value } => write!(f, "set {name}={value}"),
                Change::Add { name } => write!(f, "add {name}"),
            }
        }
    }

    impl Step for Change {
        type Before = Option<String>;
        type Host = Host;

        fn sets(&self, other: &Change) -> Option<Option<String>> {
            match (self, other) {
                (Change::Set { name, value }, Change::Set { name: other, .. }) if name == other => {
                    Some(Some(value.clone()))
                }
                _ => None,
            }
        }

        fn undo_order(&self) -> u8 {
            u8::from(matches!(self, Change::Set { .. }))
        }

        fn is_known(&self, before: &Option<String>) -> bool {
            matches!((self, before), (Change::Set { .. }, Some(_)) | (Change::Add { .. }, None))
        }

        fn undo_command(&self) -> String {
            format!("undo {self}")
        }

        fn advice_if_taken(&self) -> &'static str {
            "take another name"
        }

        fn read(&self, host: &mut Host) -> Result<Option<String>, String> {
            match self {
                Change::Set { name, .. } => host.get(name).cloned().map(Some).ok_or_else(|| "unknown".to_owned()),
                Change::Add { .. } => Ok(None),
            }
        }

        fn run(&self, host: &mut Host) -> Result<(), String> {
            let (name, value) = match self {
                Change::Set { name, value } => (name, value.as_str()),
                Change::Add { name } => (name, ""),
            };
            if value == "bad" {
                return Err("refused".to_owned());
            }
            host.insert(name.clone(), value.to_owned());
            Ok(())
        }

        fn undo(&self, before: &Option<String>, host: &mut Host) -> Result<Undoing, String> {
            let (name, value) = match self {
                Change::Set { name, value } => (name, value.as_str()),
                Change::Add { name } => (name, ""),
            };
            match host.get(name) {
                now if now == before.as_ref() => return Ok(Undoing::Gone),
                Some(now) if now != value => return Ok(Undoing::Changed(now.clone())),
                _ => {}
            }
            match before {
                Some(before) => host.insert(name.clone(), before.clone()),
                None => host.remove(name),
            };
            Ok(Undoing::Undone)
        }
    }
}
