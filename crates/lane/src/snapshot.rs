//! What `status --json`, `monitor` and the metrics show. Units are the last part of each name.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The daemon's state at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The daemon's version.
    pub version: String,
    /// The network namespace's name, if one was given.
    pub netns: Option<String>,
    /// Since when it runs.
    pub uptime_s: f64,
    /// The lanes.
    pub lanes: Vec<LaneStatus>,
    /// Managed connections; those of the longest standing first. Long lists are cut.
    pub connections: Vec<ConnectionStatus>,
    /// How many there are.
    pub managed: usize,
    /// Counts since the start.
    pub counters: Counters,
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LaneStatus {
    /// Its name.
    pub name: String,
    /// `short` or `long`.
    pub role: String,
    /// Its interface.
    pub interface: Option<String>,
    /// Its addresses now.
    pub addresses: Vec<std::net::IpAddr>,
    /// Whether its interface is up and it has an address.
    pub up: bool,
    /// Subflows of managed connections on it.
    pub subflows: usize,
    /// The queueing delay of the latest measurement on it, whoever it was to.
    pub queueing_delay_us: Option<f64>,
}

/// A managed connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// The kernel's name for it, hexadecimal.
    pub token: String,
    /// This end of its first subflow.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Whether this host accepted it.
    pub server_side: bool,
    /// Its age, or how long ago it was new again.
    pub age_s: f64,
    /// Whether it has been judged long.
    pub long: bool,
    /// Taken over from before the daemon's start or reload.
    pub adopted: bool,
    /// The rule that decided how it is treated.
    pub rule: Option<String>,
    /// Bytes acknowledged, where it was looked at.
    pub acked_bytes: u64,
    /// Its subflows.
    pub subflows: Vec<SubflowStatus>,
}

/// A subflow of a managed connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubflowStatus {
    /// Its lane's name; `None`: it is on none.
    pub lane: Option<String>,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Whether it is a backup.
    pub backup: bool,
    /// Whether it seems alive.
    pub alive: bool,
    /// Its smoothed round trip at the latest look.
    pub srtt_us: Option<f64>,
}

macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident: $help:literal),+ $(,)?) => {
        /// Counts since the start.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct Counters {
            $($(#[$doc])+ pub $name: u64),+
        }

        impl Counters {
            /// All of them: name, what it counts, and its value.
            pub const ALL: &[(&str, &str, fn(&Counters) -> u64)] = &[$((stringify!($name), $help, |all| all.$name)),+];
        }
    };
}

counters! {
    /// Connections taken under management.
    managed: "Connections taken under management",
    /// Of them, those that were there before the daemon or its configuration.
    adopted: "Connections taken over that were there before",
    /// Connections left alone by a rule.
    left: "Connections left alone by a rule, or on no lane",
    /// Connections left alone because there were too many.
    refused: "Connections left alone because there were too many",
    /// Connections judged long.
    switched: "Connections judged long and switched",
    /// Connections that were idle and came back to the short lane.
    returned: "Connections that came back to the short lane after a pause",
    /// Subflows asked for.
    opens: "Subflows that the kernel was asked to open",
    /// Of them, those that the kernel refused at last.
    open_failures: "Subflows that could not be opened",
    /// Subflows measured anew.
    probes: "Subflows closed and opened again to measure a lane",
    /// Commands tried again because the connection was not ready.
    retries: "Commands repeated because the kernel was not ready",
    /// Connections that a look found gone although the kernel had told of no end, or not yet.
    vanished: "Connections found gone whose end was not told",
    /// Commands refused for another reason.
    command_failures: "Commands that the kernel refused",
    /// Lanes or subflows that failed.
    failures: "Subflows whose lane failed",
    /// Changes of priority.
    flips: "Changes of a subflow's priority",
    /// Times that the kernel's events were lost and everything was read anew.
    overruns: "Times that events were lost and everything was read anew",
    /// Events that could not be understood.
    malformed: "Events that could not be understood",
    /// Socket states read.
    polls: "States of sockets read",
    /// States of connections that could not be read.
    unreadable: "States of connections or subflows that could not be read",
    /// Sockets to the kernel that failed.
    sockets_lost: "Sockets to the kernel that failed and were opened anew",
    /// Times that no connection for status or metrics could be accepted.
    accept_failures: "Times that no connection for status or metrics could be accepted",
    /// Configurations read anew.
    reloads: "Configurations read anew",
    /// Configurations that were wrong, so that the old one was kept.
    reload_failures: "Configurations that were wrong and not taken",
}

/// What `/status` answers: a snapshot per network namespace that the daemon looks after.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Status {
    /// One per namespace, in the order of the command line.
    pub namespaces: Vec<Snapshot>,
}
