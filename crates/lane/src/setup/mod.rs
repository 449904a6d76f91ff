//! What `--apply-routes` sets up: source routing per lane, the userspace path manager, its limits.
//!
//! [`plan()`] computes the steps from the settings, the host's state and the record of earlier steps, and is pure.
//! [`Setup::apply`] undoes recorded steps that are not wanted any more and does what is missing; [`Setup::cleanup`] undoes
//! exactly what is recorded. The record names all of it before anything is done, and forgets a step after it was undone: a
//! daemon that is killed in between leaves a record that says at least what it did.
//!
//! A rule that leads packets from an address is what keeps connections of that address on their path. So one that is not
//! wanted any more, and the table it leads to, stay as long as connections use the address ([`Former::in_use`]).

mod apply;
mod live;
mod plan;
mod present;
mod record;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::settings::Settings;

pub use apply::{Done, Host, Setup, Undone};
pub use live::Live;
pub use plan::plan;
pub use present::Present;
pub use record::Recorded;

/// The number by which routes and rules of this daemon are told from those of others (`RTPROT_…`; `ip` calls it `proto`).
pub const PROTOCOL: u8 = 183;
/// The main routing table.
pub const MAIN: u32 = 254;

/// The routing tables that Linux has already: default, main, local.
pub(crate) const KERNEL_TABLES: std::ops::RangeInclusive<u32> = 253..=255;

/// The sysctls that steps are about. No other is ever written, whatever a record says.
pub const SYSCTLS: [&str; 3] = [ENABLED, PATH_MANAGER, PM_TYPE];
pub(crate) const ENABLED: &str = "net.mptcp.enabled";
pub(crate) const PATH_MANAGER: &str = "net.mptcp.path_manager";
/// Before Linux 6.16.
pub(crate) const PM_TYPE: &str = "net.mptcp.pm_type";

/// One change of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A sysctl gets a value.
    Sysctl {
        /// One of [`SYSCTLS`].
        name: String,
        /// The value.
        value: String,
    },
    /// Limits of the in-kernel path manager.
    Limits(Limits),
    /// A route.
    Route(Route),
    /// A rule: packets from an address ask a table.
    Rule {
        /// The address.
        from: IpAddr,
        /// The table.
        table: u32,
        /// The lowest is asked first.
        priority: u32,
    },
}

/// Limits of the in-kernel path manager, as of `ip mptcp limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Subflows per connection besides the first.
    pub subflows: u32,
    /// Announced addresses per connection that are acted on.
    pub add_addr_accepted: u32,
}

/// A route in a lane's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The lane's table.
    pub table: u32,
    /// Where to.
    pub destination: IpNet,
    /// By way of; `None`: the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// The lane's interface.
    pub interface: String,
    /// The address that packets get which have none yet.
    pub source: Option<IpAddr>,
    /// The gateway is on the link although no address of the interface says so.
    pub onlink: bool,
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
pub struct Planned {
    /// The step.
    #[serde(flatten)]
    pub step: Step,
    /// What is there now.
    #[serde(flatten)]
    pub state: State,
}

/// A recorded route or rule that is not wanted any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Former {
    /// What was done.
    #[serde(flatten)]
    pub step: Step,
    /// Open TCP connections have the address that it is for: it stays until they are over.
    pub in_use: bool,
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// What is undone.
    pub undo: Vec<Former>,
    /// The steps.
    pub steps: Vec<Planned>,
    /// What may not be as meant.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Whether everything is there and nothing else.
    pub fn is_done(&self) -> bool {
        self.undo.is_empty() && self.steps.iter().all(|planned| planned.state == State::There)
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
    #[error("`{step}`: {now} is in its place; choose another `setup.table`, or take it away")]
    Taken {
        /// The step, as a command.
        step: String,
        /// What is there.
        now: String,
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

/// Sets up the network namespace that the calling thread is in, called `netns` in the record (`None`: the one the process
/// was started in). What is recorded and not wanted any more is undone. Doing it again changes nothing.
///
/// # Errors
/// As [`Setup::apply`].
pub fn set_up(settings: &Settings, netns: Option<&str>) -> Result<Done, SetupError> {
    let mut setup = Setup::open(&settings.operations.state, netns)?;
    let plan = plan(settings, &Present::read(settings, setup.recorded())?);
    for warning in &plan.warnings {
        tracing::warn!("{warning}");
    }
    setup.apply(&plan, &mut Live::open()?)
}

impl Step {
    /// The command that undoes a route or a rule; that of a setting sets it.
    fn undoing(&self) -> String {
        self.to_string().replacen(" add ", " del ", 1)
    }
}

/// The equivalent command.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Sysctl { name, value } => write!(f, "sysctl -w {name}={value}"),
            Step::Limits(limits) => write!(
                f,
                "ip mptcp limits set subflows {} add_addr_accepted {}",
                limits.subflows, limits.add_addr_accepted
            ),
            Step::Route(route) => {
                let six = if route.destination.addr().is_ipv6() { " -6" } else { "" };
                write!(f, "ip{six} route add {route} proto {PROTOCOL}")
            }
            Step::Rule { from, table, priority } => {
                let six = if from.is_ipv6() { " -6" } else { "" };
                write!(f, "ip{six} rule add from {from} lookup {table} priority {priority} protocol {PROTOCOL}")
            }
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.destination.prefix_len() {
            0 => f.write_str("default")?,
            _ => write!(f, "{}", self.destination)?,
        }
        if let Some(gateway) = self.gateway {
            write!(f, " via {gateway}")?;
        }
        write!(f, " dev {}", self.interface)?;
        if let Some(source) = self.source {
            write!(f, " src {source}")?;
        }
        if self.onlink {
            f.write_str(" onlink")?;
        }
        write!(f, " table {}", self.table)
    }
}

/// Commands that a shell takes, those that need not be done as comments.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Former { step, in_use } in &self.undo {
            match in_use {
                false => writeln!(f, "{}  # set up before, not wanted any more", step.undoing())?,
                true => writeln!(f, "# once no connection uses it any more: {}", step.undoing())?,
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
