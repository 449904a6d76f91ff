//! The kinds of steps.

use std::fmt;
use std::net::IpAddr;

use headway_daemon::setup::Undoing;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{KERNEL_TABLES, PROTOCOL, SYSCTLS};

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

/// What a step changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Before {
    /// There was nothing.
    Nothing,
    /// A sysctl's value.
    Value(String),
    /// Limits.
    Limits(Limits),
}

/// What steps are done with. The real one is [`super::LinuxHost`].
pub trait Host {
    /// A sysctl's value.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn sysctl(&mut self, name: &str) -> Result<String, String>;
    /// Gives a sysctl a value.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), String>;
    /// The path manager's limits.
    ///
    /// # Errors
    /// Why they cannot be had.
    fn limits(&mut self) -> Result<Limits, String>;
    /// Sets them.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn set_limits(&mut self, limits: Limits) -> Result<(), String>;
    /// Adds a route or a rule.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn add(&mut self, step: &Step) -> Result<(), String>;
    /// Takes a route or a rule away if it is there as it was added; says whether it was.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn remove(&mut self, step: &Step) -> Result<bool, String>;
}

impl headway_daemon::setup::Step for Step {
    type Before = Before;
    type Host = dyn Host;

    fn sets(&self, other: &Step) -> Option<Before> {
        match (self, other) {
            (Step::Sysctl { name, value }, Step::Sysctl { name: other, .. }) if name == other => {
                Some(Before::Value(value.clone()))
            }
            (Step::Limits(limits), Step::Limits(_)) => Some(Before::Limits(*limits)),
            _ => None,
        }
    }

    /// Rules before routes, so that nothing asks a table that is not whole any more; settings last.
    fn undo_order(&self) -> u8 {
        match self {
            Step::Rule { .. } => 0,
            Step::Route(_) => 1,
            Step::Limits(_) | Step::Sysctl { .. } => 2,
        }
    }

    fn is_known(&self, before: &Before) -> bool {
        let value = |text: &str| text.len() <= 64 && !text.contains(char::is_control);
        let table = |table: u32| table != 0 && !KERNEL_TABLES.contains(&table);
        match (self, before) {
            (Step::Sysctl { name, value: to }, Before::Value(from)) => {
                SYSCTLS.contains(&name.as_str()) && value(to) && value(from)
            }
            (Step::Limits(_), Before::Limits(_)) => true,
            (Step::Route(route), Before::Nothing) => table(route.table) && value(&route.interface),
            (Step::Rule { table: to, .. }, Before::Nothing) => table(*to),
            _ => false,
        }
    }

    /// Of a route or a rule; that of a setting sets it.
    fn undo_command(&self) -> String {
        self.to_string().replacen(" add ", " del ", 1)
    }

    fn advice_if_taken(&self) -> &'static str {
        "choose another `setup.table`, or take it away"
    }

    fn read(&self, host: &mut Self::Host) -> Result<Before, String> {
        match self {
            Step::Sysctl { name, .. } => host.sysctl(name).map(Before::Value),
            Step::Limits(_) => host.limits().map(Before::Limits),
            Step::Route(_) | Step::Rule { .. } => Ok(Before::Nothing),
        }
    }

    fn run(&self, host: &mut Self::Host) -> Result<(), String> {
        match self {
            Step::Sysctl { name, value } => host.set_sysctl(name, value),
            Step::Limits(limits) => host.set_limits(*limits),
            Step::Route(_) | Step::Rule { .. } => host.add(self),
        }
    }

    fn undo(&self, before: &Before, host: &mut Self::Host) -> Result<Undoing, String> {
        match (self, before) {
            (Step::Sysctl { name, value }, Before::Value(before)) => {
                let now = host.sysctl(name)?;
                if now == *before {
                    return Ok(Undoing::Gone);
                }
                if now != *value {
                    return Ok(Undoing::Changed(now));
                }
                host.set_sysctl(name, before).map(|()| Undoing::Undone)
            }
            (Step::Limits(limits), Before::Limits(before)) => {
                let now = host.limits()?;
                if now == *before {
                    return Ok(Undoing::Gone);
                }
                if now != *limits {
                    return Ok(Undoing::Changed(now.to_string()));
                }
                host.set_limits(*before).map(|()| Undoing::Undone)
            }
            _ => Ok(if host.remove(self)? { Undoing::Undone } else { Undoing::Gone }),
        }
    }
}

/// As of `ip mptcp limits`.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subflows {} add_addr_accepted {}", self.subflows, self.add_addr_accepted)
    }
}

/// The equivalent command.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Sysctl { name, value } => write!(f, "sysctl -w {name}={value}"),
            Step::Limits(limits) => write!(f, "ip mptcp limits set {limits}"),
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

#[cfg(test)]
mod tests {
    use headway_daemon::setup::SetupError;

    use super::*;
    use crate::setup::Recorded;

    /// What reading a record of one step says.
    fn read(step: &Step, before: &Before) -> Result<usize, SetupError> {
        let folder = tempfile::tempdir().unwrap();
        let content = serde_json::json!({ "version": 1, "netns": null, "steps": [{ "step": step, "before": before }] });
        std::fs::write(folder.path().join("record.json"), content.to_string()).unwrap();
        Recorded::read(folder.path(), None).map(|recorded| recorded.steps().count())
    }

    #[test]
    fn a_record_with_steps_that_this_program_never_does_is_refused() {
        let sysctl = |name: &str| Step::Sysctl { name: name.to_owned(), value: "1".to_owned() };
        let before = || Before::Value("0".to_owned());
        let rule = |table| Step::Rule { from: "10.0.0.1".parse().unwrap(), table, priority: 1 };
        assert_eq!(read(&sysctl("net.mptcp.enabled"), &before()).unwrap(), 1);
        assert_eq!(read(&rule(8300), &Before::Nothing).unwrap(), 1);
        for (step, before) in [
            (sysctl("kernel.core_pattern"), before()),
            (sysctl("net.mptcp.enabled"), Before::Nothing),
            (sysctl("net.mptcp.enabled"), Before::Value("x".repeat(65))),
            (rule(254), Before::Nothing),
            (rule(8300), before()),
        ] {
            let error = read(&step, &before).unwrap_err().to_string();
            assert!(error.contains("does not do"), "{error}");
        }
    }
}
