//! What can be written in `lane.toml`: the one declaration of its keys, defaults and ranges.

use headway_language::{Name, OneOrMany, all_defaults, record, words};
use headway_levers::lanes::{BACK, JudgeRecord, LEFTOVERS, LaneOpen, LanesRecord, START, TimingRecord};
use headway_units::Span;

use super::values::{AbsolutePath, Address, Endpoint, Group, Interface, Ports, Prefix, RemoteValue, User};

/// Nothing here waits longer.
const LONGEST: Span = Span::from_secs(3600);

record! {
    /// The daemon's configuration.
    pub struct FileRecord {
        /// Which connections are managed.
        pub side: Side = Side::Both,
        /// The lanes in the order of preference: at least one of each role, at most 8.
        pub lane: Vec<LaneRecord>,
        /// When what is done.
        pub timing: TimingTable = all_defaults(),
        /// Connections that are treated otherwise; the first that matches counts.
        pub rule: Vec<RuleRecord> = Vec::new(),
        /// Bounds of what the daemon does and holds.
        pub limits: LimitsRecord = all_defaults(),
        /// What `--apply-routes` sets up.
        pub setup: SetupRecord = all_defaults(),
        /// Where status and metrics are to be had.
        pub operations: OperationsRecord = all_defaults(),
    }
    refused { "start" => START, "back" => BACK, "leftovers" => LEFTOVERS }
    with /// How connections are judged, as in a scenario's policy.
    lanes: LanesRecord
}

words! {
    /// Which connections are managed.
    pub enum Side {
        /// Those that this host opened.
        "client" => Client,
        /// Those that this host accepted.
        "server" => Server,
        /// All.
        "both" => Both,
    }
}

words! {
    /// Which flows a lane is for.
    pub enum RoleWord {
        /// For flows that must finish soon: every connection starts here.
        "short" => Short,
        /// For connections judged long.
        "long" => Long,
    }
}

record! {
    /// A lane: an interface or addresses of this host.
    pub struct LaneRecord {
        /// Its name in logs, metrics and status.
        pub name: Name,
        /// Which flows it is for: `short` or `long`.
        pub role: RoleWord,
        /// The interface whose state is watched; without `address`, all its global addresses are the lane's.
        pub interface: Option<Interface>,
        /// Its addresses.
        pub address: Option<OneOrMany<Address>>,
        /// The first router behind the interface, one per address family; left out, what the main table says.
        pub gateway: Option<OneOrMany<Address>>,
        /// Which address of the other end its subflows go to.
        pub remote: RemoteValue = RemoteValue::Same,
    }
}

record! {
    /// When what is done.
    pub struct TimingTable {}
    renamed { "open" => "../open", "patience" => "../patience" }
    with /// The daemon's times.
    times: TimingRecord
}

words! {
    /// Which end opened a connection.
    pub enum RuleSide {
        /// This host.
        "client" => Client,
        /// The other one.
        "server" => Server,
    }
}

words! {
    /// What happens to connections.
    pub enum TreatmentWord {
        /// A judge decides.
        "judged" => Judged,
        /// They are long from the start.
        "long" => Long,
        /// They stay as they are.
        "leave" => Leave,
    }
}

record! {
    /// Which connections are treated how. A key that is left out matches all.
    pub struct RuleRecord {
        /// Its name in logs and status.
        pub name: Name,
        /// The other end's address: prefixes or single addresses.
        pub destination: Option<OneOrMany<Prefix>>,
        /// The service's port, or a range of ports: the other end's of connections that this host opened, this end's of
        /// those it accepted.
        pub port: Option<OneOrMany<Ports>>,
        /// Owners of the socket, by name or number.
        pub user: Option<OneOrMany<User>>,
        /// cgroups (v2) of the socket, as paths below their mount point; those below them, too.
        pub cgroup: Option<OneOrMany<Group>>,
        /// Only connections that this host opened, or only those it accepted.
        pub side: Option<RuleSide>,
        /// What happens to them.
        pub lanes: TreatmentWord = TreatmentWord::Judged,
        /// Who judges them; left out: the same as for all others.
        pub judge: Option<JudgeRecord>,
        /// When their subflows on long lanes are opened; left out: as `open` says for all, or by their judge.
        pub open: Option<LaneOpen>,
        /// The age from which on they are looked at, and opened with `early`; left out: as `timing` says, or by their judge.
        #[range(Span::ZERO..=LONGEST)]
        pub open_after: Option<Span>,
    }
}

record! {
    /// Bounds, so that what the daemon does and holds stays small whatever happens.
    pub struct LimitsRecord {
        /// Managed connections; further ones are left alone, and counted.
        #[range(1..=1_000_000)]
        pub connections: u32 = 10_000,
        /// Subflows opened per second, over all connections; the others wait.
        #[range(1..=100_000)]
        pub opens_per_second: u32 = 1000,
        /// `subflows` of `ip mptcp limits`, which `--apply-routes` sets.
        #[range(0..=8)]
        pub subflows: u8 = 8,
        /// `add_addr_accepted` of `ip mptcp limits`, which `--apply-routes` sets.
        #[range(0..=8)]
        pub accepted_addresses: u8 = 8,
    }
}

record! {
    /// What `--apply-routes` sets up, and where.
    pub struct SetupRecord {
        /// The first routing table; the n-th lane has the n-th from here on.
        #[range(1..=4_000_000_000)]
        pub table: u32 = 8300,
        /// Priority of the rules: before the main table's 32766.
        #[range(1..=32_765)]
        pub priority: u32 = 8300,
        /// On accepted connections: whether sockets listen on long lanes' addresses for joins, for servers that are bound to
        /// one address.
        pub listen: bool = true,
    }
}

record! {
    /// Where status and metrics are to be had.
    pub struct OperationsRecord {
        /// The unix socket of `status` and `monitor`, and for metrics.
        pub socket: AbsolutePath = AbsolutePath::new(crate::IDENTITY.socket),
        /// A loopback address and port for Prometheus; left out: metrics only on the unix socket.
        pub metrics: Option<Endpoint>,
        /// The folder where is recorded what was set up, so that `cleanup` can undo it.
        pub state: AbsolutePath = AbsolutePath::new(crate::IDENTITY.state),
    }
}
