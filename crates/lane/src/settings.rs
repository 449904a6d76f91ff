//! What the daemon has been told, checked: the typed form of `lane.toml`.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use headway_control::lanes::{Judge, Role};
pub use headway_daemon::Operations;
use headway_levers::lanes::{HistoryRecord, LaneOpen};
use headway_units::Span;
use ipnet::IpNet;

/// Everything in `lane.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether connections are managed that this host opened.
    pub client: bool,
    /// Whether connections are managed that this host accepted.
    pub server: bool,
    /// The lanes in the order of preference; at least one of each role, at most [`headway_control::lanes::MAX_SUBFLOWS`].
    pub lanes: Vec<Lane>,
    /// Who decides that a connection is long, where no rule says otherwise.
    pub judge: Judge,
    /// When what is done.
    pub timing: Timing,
    /// What is remembered across connections; `None`: round trips and failures of lanes, with a half-life of a second.
    pub history: Option<HistoryRecord>,
    /// The first that matches a connection counts.
    pub rules: Vec<Rule>,
    /// Bounds.
    pub limits: Limits,
    /// What `--apply-routes` sets up.
    pub setup: Setup,
    /// Where status and metrics are to be had.
    pub operations: Operations,
}

/// A lane: an interface or addresses of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name in logs, metrics and status.
    pub name: String,
    /// Short-flow or long-flow lane.
    pub role: Role,
    /// The interface whose addresses it has, and whose state is watched.
    pub interface: Option<String>,
    /// Its addresses; empty: all global ones of the interface.
    pub addresses: Vec<IpAddr>,
    /// Where its packets go first, by address family, for `--apply-routes`; empty: what the main table says of the
    /// interface.
    pub gateways: Vec<IpAddr>,
    /// Which address of the other end its subflows go to.
    pub remote: Remote,
}

/// Which address of the other end a lane's subflows go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remote {
    /// That of the first subflow.
    Same,
    /// One that the other end announced, in the order of its identifiers; the n-th long lane takes the n-th.
    Announced,
    /// That of the first subflow with its first bits replaced by those of the prefix of the same family.
    Mapped(Vec<IpNet>),
}

/// When what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// When a connection's subflows on long lanes are opened, where no rule says otherwise.
    pub open: LaneOpen,
    /// With [`LaneOpen::Early`]: at this age of the connection; also the age from which on a connection is polled. Where no rule
    /// says otherwise.
    pub open_after: Span,
    /// A long lane's round trip older than this is measured anew, for judges that look at it.
    pub probe_interval: Span,
    /// How often a connection is looked at that is not judged yet.
    pub poll_interval: Span,
    /// How often a connection is looked at that was judged long.
    pub watch_interval: Span,
    /// After so long without anything to send a connection is new again and comes back to the short lane; `None`: never.
    pub idle: Option<Span>,
    /// How long a connection that is long waits for a long lane before it uses the short ones in full again.
    pub patience: Span,
}

/// Which connections are treated how. What is empty or `None` matches all.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name in logs and status.
    pub name: String,
    /// The other end's address.
    pub destinations: Vec<IpNet>,
    /// The service's port: the other end's of connections that this host opened, this end's of those it accepted.
    pub ports: Vec<RangeInclusive<u16>>,
    /// Owners of the socket.
    pub users: Vec<u32>,
    /// cgroups (v2) of the socket, as paths below the mount point, such as `/system.slice/backup.service`; those below
    /// them, too.
    pub cgroups: Vec<PathBuf>,
    /// Only connections that this host opened (`false`) or accepted (`true`).
    pub server_side: Option<bool>,
    /// What happens to them.
    pub then: Treatment,
}

/// Who decides that a connection is long, and when its subflows on long lanes are opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Judging {
    /// Who decides.
    pub judge: Judge,
    /// As [`Timing::open`].
    pub open: LaneOpen,
    /// As [`Timing::open_after`].
    pub open_after: Span,
}

/// What happens to connections.
#[derive(Debug, Clone, PartialEq)]
pub enum Treatment {
    /// Lanes, as they are judged.
    Judged(Judging),
    /// Nothing: they stay as they are.
    Leave,
    /// They are long from the start.
    Long,
}

/// Bounds, so that what the daemon does and holds stays small whatever happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Managed connections; further ones are left alone, and counted.
    pub connections: usize,
    /// Subflows opened per second, over all connections; the others wait.
    pub opens_per_second: u32,
    /// `subflows` of `ip mptcp limits` that `--apply-routes` sets, for the in-kernel part of what this end accepts.
    pub subflows: u8,
    /// `add_addr_accepted` of it.
    pub accepted_addresses: u8,
}

/// What `--apply-routes` sets up, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Number of the first routing table; lane n has table + n.
    pub table: u32,
    /// Priority of the rules.
    pub priority: u32,
    /// On accepted connections: whether sockets are opened that listen on long lanes' addresses for joins, for servers that
    /// are bound to one address.
    pub listen: bool,
}

impl Settings {
    /// How connections are judged of which no rule says otherwise.
    pub fn judging(&self) -> Judging {
        Judging { judge: self.judge.clone(), open: self.timing.open, open_after: self.timing.open_after }
    }

    /// In a few words: `2 lanes (1 short, 1 long), both sides, judge link-cost, 3 rules`.
    pub fn summary(&self) -> String {
        let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let short = self.lanes.iter().filter(|lane| lane.role == Role::Short).count();
        let side = match (self.client, self.server) {
            (true, true) => "both sides",
            (true, false) => "client side",
            (false, _) => "server side",
        };
        format!(
            "{} ({short} short, {} long), {side}, judge {}, {}",
            many(self.lanes.len(), "lane"),
            self.lanes.len() - short,
            self.judge.name(),
            many(self.rules.len(), "rule")
        )
    }
}
