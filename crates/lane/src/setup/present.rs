//! The state of the host, as far as steps depend on it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use headway_daemon::setup::SetupError;
use headway_linux::diag::{Diag, States};
use headway_linux::mptcp::PathManager;
use headway_linux::route::{Address, Link, Route, Rtnetlink, Rule};
use headway_linux::sysctl;

use super::{KERNEL_TABLES, Limits, MAIN, Recorded, SYSCTLS, Step};
use crate::settings::Settings;

/// What there is now in a network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Present {
    /// Interfaces.
    pub links: Vec<Link>,
    /// Their addresses.
    pub addresses: Vec<Address>,
    /// Routes of the main table.
    pub main: Vec<Route>,
    /// Routes of lanes' tables.
    pub tables: Vec<Route>,
    /// Rules.
    pub rules: Vec<Rule>,
    /// Sysctls that the kernel has.
    pub sysctls: BTreeMap<String, String>,
    /// Limits of the in-kernel path manager; `None`: the kernel does not say.
    pub limits: Option<Limits>,
    /// What was set up before.
    pub recorded: Recorded,
    /// This host's addresses that open TCP connections have.
    pub used: BTreeSet<IpAddr>,
}

/// The sysctl that says whether packets are dropped that answers would not leave by the same interface to.
pub(super) fn rp_filter(interface: &str) -> String {
    // A dot inside a name is a slash for sysctl(8).
    format!("net.ipv4.conf.{}.rp_filter", interface.replace('.', "/"))
}

/// Tables that lanes can have: the first ones are theirs, the others take the place of those that connections of former
/// lanes still use.
pub(super) fn tables(settings: &Settings) -> impl Iterator<Item = u32> + use<> {
    (settings.setup.table..).filter(|table| !KERNEL_TABLES.contains(table))
}

/// Addresses with their tables, of the recorded rules.
pub(super) fn rules(recorded: &Recorded) -> impl Iterator<Item = (IpAddr, u32)> {
    recorded.steps().filter_map(|step| match step {
        Step::Rule { from, table, .. } => Some((*from, *table)),
        _ => None,
    })
}

/// The tables that there are recorded routes or rules of.
fn recorded_tables(recorded: &Recorded) -> BTreeSet<u32> {
    let table = |step: &Step| match step {
        Step::Rule { table, .. } => Some(*table),
        Step::Route(route) => Some(route.table),
        Step::Limits(_) | Step::Sysctl { .. } => None,
    };
    recorded.steps().filter_map(table).collect()
}

impl Present {
    /// Reads it in the calling thread's network namespace, where `recorded` was set up before.
    ///
    /// # Errors
    /// If the kernel does not tell of links, addresses, routes, rules or connections.
    pub fn read(settings: &Settings, recorded: Recorded) -> Result<Present, SetupError> {
        let wrong = |what: &'static str| move |error| SetupError::Read(format!("reading {what}: {error}"));
        let mut netlink = Rtnetlink::open().map_err(wrong("routes"))?;
        let mut present = Present {
            links: netlink.links().map_err(wrong("interfaces"))?,
            addresses: netlink.addresses().map_err(wrong("addresses"))?,
            main: netlink.routes(MAIN).map_err(wrong("routes"))?,
            rules: netlink.rules().map_err(wrong("rules"))?,
            recorded,
            ..Present::default()
        };
        // Without rules of ours nobody's packets depend on them.
        if rules(&present.recorded).next().is_some() {
            let mut diag = Diag::open().map_err(wrong("connections"))?;
            let each = |tcp: headway_linux::diag::Tcp| _ = present.used.insert(tcp.pair.local.ip());
            if diag.tcp_all(States::OPEN, each).map_err(wrong("connections"))? > 0 {
                // what cannot be read may have any of them
                present.used.extend(rules(&present.recorded).map(|(from, _)| from));
            }
        }
        let most = 2 * settings.lanes.len() + recorded_tables(&present.recorded).len();
        for table in tables(settings).take(most) {
            present.tables.extend(netlink.routes(table).map_err(wrong("routes"))?);
        }
        let interfaces = present.links.iter().map(|link| rp_filter(&link.name)).collect::<Vec<_>>();
        let names = SYSCTLS.iter().map(ToString::to_string).chain([rp_filter("all")]).chain(interfaces);
        present.sysctls = names.filter_map(|name| sysctl::read(&name).ok().map(|value| (name, value))).collect();
        present.limits = PathManager::open().and_then(|mut manager| manager.limits()).ok().map(Limits::from);
        Ok(present)
    }

    pub(crate) fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    pub(crate) fn name(&self, index: u32) -> Option<&str> {
        self.links.iter().find(|link| link.index == index).map(|link| link.name.as_str())
    }
}

impl From<headway_linux::mptcp::Limits> for Limits {
    fn from(limits: headway_linux::mptcp::Limits) -> Limits {
        Limits { subflows: limits.subflows, add_addr_accepted: limits.add_addr_accepted }
    }
}

impl From<Limits> for headway_linux::mptcp::Limits {
    fn from(limits: Limits) -> headway_linux::mptcp::Limits {
        headway_linux::mptcp::Limits { subflows: limits.subflows, add_addr_accepted: limits.add_addr_accepted }
    }
}
