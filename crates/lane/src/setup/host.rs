//! Steps on the host itself.

use headway_daemon::setup::SetupError;
use headway_linux::mptcp::PathManager;
use headway_linux::route::{Prefix, Removed, Rtnetlink, Rule};
use headway_linux::sysctl;

use super::PROTOCOL;
use super::plan::as_kernel;
use super::step::{Host, Limits, Step};

/// The network namespace of the calling thread.
#[derive(Debug)]
pub struct LinuxHost {
    netlink: Rtnetlink,
}

impl LinuxHost {
    /// In the calling thread's network namespace.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn open() -> Result<LinuxHost, SetupError> {
        let netlink = Rtnetlink::open().map_err(|error| SetupError::Read(error.to_string()))?;
        Ok(LinuxHost { netlink })
    }

    /// The index of an interface.
    fn index(&mut self, name: &str) -> Result<Option<u32>, String> {
        let links = self.netlink.links().map_err(|error| error.to_string())?;
        Ok(links.iter().find(|link| link.name == name).map(|link| link.index))
    }
}

fn rule(from: std::net::IpAddr, table: u32, priority: u32) -> Rule {
    let to = if from.is_ipv4() { Prefix::ALL_IPV4 } else { Prefix::ALL_IPV6 };
    Rule { from: Prefix::host(from), to, table, priority, protocol: PROTOCOL, other: false }
}

impl Host for LinuxHost {
    fn sysctl(&mut self, name: &str) -> Result<String, String> {
        sysctl::read(name).map_err(|error| error.to_string())
    }

    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), String> {
        sysctl::write(name, value).map_err(|error| error.to_string())
    }

    fn limits(&mut self) -> Result<Limits, String> {
        PathManager::open().and_then(|mut manager| manager.limits()).map(Limits::from).map_err(|e| e.to_string())
    }

    fn set_limits(&mut self, limits: Limits) -> Result<(), String> {
        PathManager::open().and_then(|mut manager| manager.set_limits(limits.into())).map_err(|e| e.to_string())
    }

    fn add(&mut self, step: &Step) -> Result<(), String> {
        let added = match step {
            Step::Route(route) => {
                let index = self.index(&route.interface)?;
                let index = index.ok_or_else(|| format!("there is no interface {}", route.interface))?;
                self.netlink.add_route(&as_kernel(route, index))
            }
            Step::Rule { from, table, priority } => self.netlink.add_rule(&rule(*from, *table, *priority)),
            Step::Sysctl { .. } | Step::Limits(_) => return Err("neither a route nor a rule".to_owned()),
        };
        added.map(drop).map_err(|error| error.to_string())
    }

    fn remove(&mut self, step: &Step) -> Result<bool, String> {
        let removed = match step {
            Step::Route(route) => match self.index(&route.interface)? {
                Some(index) => self.netlink.remove_route(&as_kernel(route, index)),
                // Its routes went with it.
                None => return Ok(false),
            },
            Step::Rule { from, table, priority } => self.netlink.remove_rule(&rule(*from, *table, *priority)),
            Step::Sysctl { .. } | Step::Limits(_) => return Err("neither a route nor a rule".to_owned()),
        };
        removed.map(|removed| removed == Removed::Removed).map_err(|error| error.to_string())
    }
}
