//! The kernel hosts of a policy: which there are, how they are set up, what they send and run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use headway_agent::protocol;
use headway_fabric::{LinkId, NodeId};
use headway_kernel::Watch;
use headway_kernel::setup::{self, Setup};
use headway_scenario::schema::LinuxHostsRecord;
use headway_units::{Rate, Span, Time};

use crate::requirements::Requirement;

/// Where kernel hosts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In guests, in virtual time.
    Guests,
    /// In namespaces of the machine's own kernel, in real time.
    Namespaces,
}

/// The kernel hosts of a plan.
#[derive(Debug, Clone)]
pub struct Kernels {
    /// Where they are.
    pub place: Where,
    /// Those that may take part.
    pub(crate) hosts: BTreeMap<NodeId, Host>,
    /// Which of them share a kernel, in order.
    pub(crate) guests: Vec<Guest>,
    /// Per traffic, by its place: how its flows are sent, if kernel hosts send them.
    pub(crate) flows: BTreeMap<u16, Flows>,
    pub(crate) commands: Vec<Command>,
    /// Features that their kernel must have.
    pub requirements: Vec<Requirement>,
    pub(crate) captures: Vec<(String, Vec<Watch>)>,
    /// The user's files. Whether they are there is for runs to find out.
    pub files: Option<PathBuf>,
    /// Samples of flows are so far apart, if there are any.
    pub(crate) sample_ns: Option<u64>,
    pub(crate) mtu: u16,
    pub(crate) end: Time,
    /// When the carrier of an interface goes, comes back, …
    pub(crate) carriers: BTreeMap<LinkId, Vec<Time>>,
}

/// A host that is a kernel.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) name: Arc<str>,
    pub(crate) record: Arc<LinuxHostsRecord>,
    pub(crate) links: Vec<LinkId>,
    pub(crate) setup: Setup,
    pub(crate) daemon: Option<protocol::Daemon>,
}

/// Hosts that share a kernel.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// The first of them, whether it takes part or not: random numbers are named by it.
    pub(crate) name: String,
    pub(crate) hosts: Vec<NodeId>,
}

/// How flows of a traffic are sent.
#[derive(Debug, Clone)]
pub(crate) struct Flows {
    pub(crate) port: u16,
    pub(crate) control: String,
    pub(crate) max_pacing_rate: Option<Rate>,
    pub(crate) mptcp: bool,
    pub(crate) sampled: bool,
    /// Who listens.
    pub(crate) destinations: BTreeSet<NodeId>,
}

/// A program on a host.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) traffic: Arc<str>,
    pub(crate) host: NodeId,
    pub(crate) shell: String,
    /// Before the run when left out.
    pub(crate) start: Option<Span>,
    pub(crate) stop: Option<Span>,
}

impl Kernels {
    /// The programs that set its hosts up, as text.
    pub fn setup(&self) -> String {
        let daemon = |host: &Host| {
            let files = host.daemon.iter().flat_map(|daemon| &daemon.files).map(|(_, text)| text.clone());
            host.daemon.iter().map(|daemon| daemon.words.join(" ") + "\n").chain(files).collect::<String>()
        };
        let programs =
            |host: &Host| host.setup.programs().iter().map(|words| words.join(" ") + "\n").collect::<String>();
        self.hosts.values().map(|host| programs(host) + &daemon(host)).collect()
    }

    /// Whether all hosts of `traffic` are kernels; none of them are otherwise.
    pub fn sends(&self, traffic: u16) -> bool {
        self.flows.contains_key(&traffic)
    }

    /// The names by which hosts know each other: its own for interface 0, with the interface's number for all.
    pub(crate) fn names(&self) -> BTreeMap<IpAddr, String> {
        let mut names = BTreeMap::new();
        for host in self.hosts.values() {
            for interface in 0..host.setup.interfaces {
                let address = setup::ipv4(host.setup.number, interface);
                let own = format!("{}-{interface}", host.name);
                let text = if interface == 0 { format!("{} {own}", host.name) } else { own };
                names.insert(address.into(), text);
            }
        }
        names
    }
}

/// Whole megabytes (2²⁰), as kernels like their memory.
pub(crate) fn memory(record: &LinuxHostsRecord) -> u64 {
    record.memory.get().div_ceil(1 << 20) << 20
}
