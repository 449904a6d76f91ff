//! What the simulator tells a guest and what the guest tells back.
//!
//! Both are files in a folder that the guest mounts from outside: [`Config`] as JSON in [`CONFIG`] before the guest
//! boots, then one [`Report`] per line in `out/<host>/report.jsonl` for each of its hosts, and each command's and
//! daemon's output in `out/<host>/<command>.stdout` and `.stderr`. All times are nanoseconds of the guest's `CLOCK_MONOTONIC`, which
//! is the simulation's own time.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Deserializer, Serialize};

/// Where the folder is mounted.
pub const SHARE: &str = "/share";
/// The file in it that holds the [`Config`].
pub const CONFIG: &str = "config.json";
/// The folder in it for reports and outputs; a folder per host, named by its place in [`Config::hosts`], is there.
pub const OUT: &str = "out";
/// The file of a host's reports.
pub const REPORT: &str = "report.jsonl";
/// Where the programs and libraries are mounted that are not among a guest's first files.
pub const SYSTEM: &str = "/system";
/// The folder of a host's daemons: their files, `NAME.pid` with the process of each, and `NAME.notify`, the socket it
/// says there that it is ready. Hosts with daemons have each a `/run` of their own, also among several in one guest.
pub const RUN: &str = "/run/headway";
/// Where the user's files are mounted, if the scenario names any.
pub const FILES: &str = "/files";

/// What one guest has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Flows begin at this time at the earliest; setting up must be done by then. Commands may begin before.
    pub epoch_ns: u64,
    /// Everything ends at this time: each host then reports what is unfinished, and the guest powers off.
    pub end_ns: u64,
    /// Whether there is a folder to mount at [`FILES`].
    pub files: bool,
    /// `/etc/hosts`: names by address.
    pub names: BTreeMap<IpAddr, String>,
    /// The hosts that live in this guest, each in a network namespace of its own if there are several.
    pub hosts: Vec<Host>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// How many network interfaces it has. The guest's `eth0`, `eth1`, … go to the hosts in order; in the namespace
    /// of each host they are called `eth0`, `eth1`, … again.
    pub interfaces: u32,
    /// Programs that set it up, one after the other, as argument lists. One that fails ends the guest with its output.
    pub setup: Vec<Vec<String>>,
    /// Programs that are started then, one after the other, and run to the end.
    pub daemons: Vec<Daemon>,
    /// What it listens at.
    pub listeners: Vec<Listener>,
    /// The long connections it will accept, see [`is_long`]. Others may come too.
    pub expected: Vec<Expected>,
    /// The flows it sends, in order of time.
    pub flows: Vec<Flow>,
    /// The programs it runs, in order of time.
    pub commands: Vec<Command>,
    /// How far apart samples of flows are; none are taken when left out. Samples are due at multiples of it from the
    /// epoch on.
    pub sample_ns: Option<u64>,
}

/// A listening socket, on all addresses, IPv4 and IPv6. What arrives is read at once and counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Its port.
    pub port: u16,
    /// Whether it accepts MPTCP (and TCP) or TCP alone.
    pub mptcp: bool,
    /// The congestion control of accepted connections; the host's default when left out.
    pub control: Option<String>,
}

/// A connection that will be accepted, and that carries much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The other end.
    pub peer: SocketAddr,
    /// The port it arrives at.
    pub port: u16,
    /// Bytes; without end when left out.
    pub size: Option<u64>,
}

/// Whether a connection of this size is worth a thread of its own at each end, which moves its data by few and long
/// calls: what a guest's programs do between two calls costs most of its wall time, and nothing of its virtual time.
pub fn is_long(size: Option<u64>) -> bool {
    size.is_none_or(|size| size >= 128 << 10)
}

/// A flow to send. Its first connection to deliver everything counts; more than one are copies of the same data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The simulator's name for it.
    pub id: u64,
    /// When it starts.
    pub start_ns: u64,
    /// Bytes; without end when left out.
    pub size: Option<u64>,
    /// Whether it is sampled.
    pub sampled: bool,
    /// Whether it uses MPTCP.
    pub mptcp: bool,
    /// Its congestion control; the host's default when left out.
    pub control: Option<String>,
    /// Bytes per second at which each of its connections is paced at most (`SO_MAX_PACING_RATE`), if at all.
    pub max_pacing_rate: Option<u64>,
    /// From and to where; one connection for each.
    #[serde(deserialize_with = "without_slack")]
    pub connections: Vec<(SocketAddr, SocketAddr)>,
}

/// A program to run by `/bin/sh -c`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The names of the files its output goes to, without `.stdout` and `.stderr`.
    pub name: String,
    /// What the shell gets.
    pub shell: String,
    /// When it starts.
    pub start_ns: u64,
    /// When it and all it started are told to end (SIGTERM, and SIGKILL 100 ms later); at the end of the run when left
    /// out.
    pub stop_ns: Option<u64>,
}

/// A program that runs for as long as the host does. It is started in [`RUN`], with `NOTIFY_SOCKET` and
/// `RUNTIME_DIRECTORY` set as systemd does, and must say `READY=1` (sd_notify(3)) before the epoch. At the end it is told
/// to end as commands are. If it ends before, nothing happens but a [`Report::Command`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Its name.
    pub name: String,
    /// What is executed, and its arguments.
    pub words: Vec<String>,
    /// Files in [`RUN`] that are written first: name and content.
    pub files: Vec<(String, String)>,
}

impl Daemon {
    /// The name by which its end is reported and its outputs are called; no command has it, for theirs have no dots.
    pub fn command(&self) -> String {
        format!("daemon.{}", self.name)
    }
}

/// What a host tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Report {
    /// Set up and listening. The first line of every report.
    Ready {
        /// When.
        at_ns: u64,
    },
    /// A connection of a flow is over, or the run is.
    Sent {
        /// [`Flow::id`].
        flow: u64,
        /// Which of [`Flow::connections`].
        connection: u32,
        /// Why it failed, if it did.
        error: Option<String>,
        /// Its subflows; a TCP connection has one.
        subflows: Vec<Subflow>,
    },
    /// A connection that was accepted is over, or the run is.
    Received {
        /// The other end (of the first subflow).
        peer: SocketAddr,
        /// The port it was accepted at.
        port: u16,
        /// Bytes read.
        bytes: u64,
        /// When the last of them was read.
        last_ns: u64,
        /// Whether the other end has said that this is all.
        ended: bool,
    },
    /// The state of one subflow of a flow's first connection, at the sender.
    Sample {
        /// The multiple of [`Host::sample_ns`] it stands for.
        at_ns: u64,
        /// [`Flow::id`].
        flow: u64,
        /// Which connection.
        connection: u32,
        /// Which subflow, in order of the local address's interface and then of opening.
        subflow: u32,
        /// The congestion window.
        cwnd_bytes: u64,
        /// The smoothed round-trip time; 0 before the first.
        srtt_ns: u64,
    },
    /// What a connection has read so far, at the receiver, for those that have read something since the last sample.
    Arrived {
        /// The multiple of [`Host::sample_ns`] it stands for.
        at_ns: u64,
        /// The other end (of the first subflow).
        peer: SocketAddr,
        /// The port it was accepted at.
        port: u16,
        /// Bytes read in all.
        bytes: u64,
    },
    /// A command or a daemon is over, or was ended.
    Command {
        /// [`Command::name`] or [`Daemon::command`].
        name: String,
        /// When it was started.
        start_ns: u64,
        /// When it ended.
        end_ns: u64,
        /// Its exit code; 128 + the signal if it died by one.
        code: i32,
    },
    /// Something that ends the run.
    Failed {
        /// What happened.
        message: String,
    },
    /// The last line of a whole report.
    Done,
}

/// `struct tcp_info` of a subflow, in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subflow {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Segments retransmitted (`tcpi_total_retrans`).
    pub retransmissions: u32,
    /// Expiries of the retransmission timer (`tcpi_total_rto`).
    pub timeouts: u32,
    /// Segments delivered with a congestion mark (`tcpi_delivered_ce`).
    pub marks: u32,
}

/// A list that takes no more memory than its elements do. Lists grow to four elements at once, which with tens of
/// thousands of flows, most of one connection, is more than a guest has.
fn without_slack<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Box::<[T]>::deserialize(from)?.into_vec())
}
