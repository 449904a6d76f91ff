//! What can be written in `lane.toml`: the one declaration of its keys, defaults and ranges.

use headway_control::lanes::{Backlog, BytesSent, DeliveryRate, Judge, LinkCost};
use headway_language::{Name, OneOrMany, Ratio, above, all_defaults, choice, record, words};
use headway_units::{Bytes, Rate, Span};

use super::values::{AbsolutePath, Address, Endpoint, Group, Interface, Never, Ports, Prefix, RemoteValue, User};

/// Nothing here waits longer.
const LONGEST: Span = Span::from_secs(3600);

record! {
    /// The daemon's configuration.
    pub struct FileRecord {
        /// Which connections are managed.
        pub side: Side = Side::Both,
        /// The lanes in the order of preference: at least one of each role, at most 8.
        pub lane: Vec<LaneRecord>,
        /// Who decides that a connection is long.
        pub judge: JudgeRecord = JudgeRecord::LinkCost(all_defaults()),
        /// When what is done.
        pub timing: TimingRecord = all_defaults(),
        /// What is remembered of earlier connections to the same host; left out, only lanes' round trips and failures.
        pub history: Option<HistoryRecord>,
        /// Connections that are treated otherwise; the first that matches counts.
        pub rule: Vec<RuleRecord> = Vec::new(),
        /// Bounds of what the daemon does and holds.
        pub limits: LimitsRecord = all_defaults(),
        /// What `--apply-routes` sets up.
        pub setup: SetupRecord = all_defaults(),
        /// Where status and metrics are to be had.
        pub operations: OperationsRecord = all_defaults(),
    }
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

choice! {
    /// Who decides that a connection is long.
    pub enum JudgeRecord by "kind" {
        /// A connection older than a deadline is long.
        "deadline" => Deadline(DeadlineRecord),
        /// A connection is long once a long lane has the lowest link cost of its lanes (thesis eq. 5.7).
        "link-cost" => LinkCost(LinkCostRecord),
        /// A connection of which so much has been acknowledged is long.
        "bytes-sent" => BytesSent(BytesSentRecord),
        /// A connection of which so much waits to be sent or acknowledged is long.
        "backlog" => Backlog(BacklogRecord),
        /// A connection that is delivered this fast is long.
        "delivery-rate" => DeliveryRate(DeliveryRateRecord),
    }
}

record! {
    /// A connection older than this is long.
    pub struct DeadlineRecord {
        /// The age at which a connection is long.
        #[range(above(Span::ZERO))]
        pub deadline: Span = headway_control::lanes::Deadline::default().after,
    }
}

record! {
    /// By age and by the queueing delay of all lanes; `docs/lanes.md` has the formula.
    pub struct LinkCostRecord {
        /// The age at which short lanes begin to cost more than long ones.
        #[range(above(Span::ZERO))]
        pub deadline: Span = LinkCost::default().deadline,
        /// α: weight of the queueing delay.
        #[range(0.0..=1e6)]
        pub alpha: f64 = LinkCost::default().alpha,
        /// β: exponent of the queueing delay.
        #[range((std::ops::Bound::Excluded(0.0), std::ops::Bound::Included(8.0)))]
        pub beta: f64 = LinkCost::default().beta,
        /// γ: weight of the deadline.
        #[range(0.0..=1e6)]
        pub gamma: f64 = LinkCost::default().gamma,
        /// δ: exponent of the time since the deadline.
        #[range((std::ops::Bound::Excluded(0.0), std::ops::Bound::Included(8.0)))]
        pub delta: f64 = LinkCost::default().delta,
        /// The queueing delay that counts as 1.
        #[range(above(Span::ZERO))]
        pub delay_unit: Span = LinkCost::default().delay_unit,
        /// The time since the deadline that counts as 1.
        #[range(above(Span::ZERO))]
        pub time_unit: Span = LinkCost::default().time_unit,
        /// What queueing delay counts from.
        pub base_rtt: BaseRtt = BaseRtt::Own,
    }
}

words! {
    /// What queueing delay counts from.
    pub enum BaseRtt {
        /// The subflow's own smallest round trip.
        "own" => Own,
        /// The smallest of all the connection's subflows.
        "common" => Common,
    }
}

record! {
    /// By what the other end has acknowledged.
    pub struct BytesSentRecord {
        /// Bytes acknowledged.
        pub threshold: Bytes = BytesSent::default().threshold,
    }
}

record! {
    /// By what the application has written and the other end has not acknowledged.
    pub struct BacklogRecord {
        /// Bytes that wait.
        #[range(Bytes::new(1)..)]
        pub threshold: Bytes = Backlog::default().threshold,
    }
}

record! {
    /// By the rate at which data arrives.
    pub struct DeliveryRateRecord {
        /// The least rate of a long connection.
        #[range(above(Rate::from_bps(0)))]
        pub rate: Rate = DeliveryRate::default().rate,
        /// The time over which it is averaged.
        #[range(above(Span::ZERO))]
        pub window: Span = DeliveryRate::default().window,
    }
}

impl JudgeRecord {
    /// The judge. A daemon polls what the kernel has smoothed already, so nothing is smoothed again.
    pub(super) fn judge(&self) -> Judge {
        match *self {
            JudgeRecord::Deadline(ref one) => headway_control::lanes::Deadline { after: one.deadline }.into(),
            JudgeRecord::LinkCost(ref one) => LinkCost {
                deadline: one.deadline,
                alpha: one.alpha,
                beta: one.beta,
                gamma: one.gamma,
                delta: one.delta,
                delay_unit: one.delay_unit,
                time_unit: one.time_unit,
                smoothing: 1.0,
                common_base: one.base_rtt == BaseRtt::Common,
            }
            .into(),
            JudgeRecord::BytesSent(ref one) => BytesSent { threshold: one.threshold }.into(),
            JudgeRecord::Backlog(ref one) => Backlog { threshold: one.threshold }.into(),
            JudgeRecord::DeliveryRate(ref one) => DeliveryRate { rate: one.rate, window: one.window }.into(),
        }
    }

    /// When subflows are opened for it, if nothing is said.
    pub(super) fn opens(&self) -> OpenWord {
        if self.compares_lanes() { OpenWord::Probe } else { OpenWord::WhenLong }
    }

    /// The age from which on a connection is looked at for it, if nothing is said.
    pub(super) fn opens_after(&self) -> Span {
        // The author's kernel switches nothing in the first quarter of the deadline.
        match self {
            JudgeRecord::Deadline(one) => one.deadline / 4,
            JudgeRecord::LinkCost(one) => one.deadline / 4,
            JudgeRecord::BytesSent(_) | JudgeRecord::Backlog(_) | JudgeRecord::DeliveryRate(_) => Span::from_millis(20),
        }
    }

    /// Whether it compares what lanes measure, so that long lanes must be open before it can decide.
    pub(super) fn compares_lanes(&self) -> bool {
        matches!(self, JudgeRecord::LinkCost(_))
    }
}

words! {
    /// When subflows on long lanes are opened.
    pub enum OpenWord {
        /// At `open-after`, as backups: their joins measure the lanes' round trips.
        "probe" => Probe,
        /// Once the connection is judged long; not for `link-cost`, which compares what lanes measure.
        "when-long" => WhenLong,
    }
}

record! {
    /// When what is done.
    pub struct TimingRecord {
        /// When a connection's subflows on long lanes are opened; left out: `probe` if its judge is `link-cost`, else
        /// `when-long`.
        pub open: Option<OpenWord>,
        /// The age from which on a connection is looked at, and opened with `probe`; left out: a quarter of its judge's
        /// deadline, or 20 ms if that has none.
        #[range(Span::ZERO..=LONGEST)]
        pub open_after: Option<Span>,
        /// A long lane's round trip older than this is measured anew, for `link-cost`.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub probe_interval: Span = Span::from_millis(100),
        /// How often a connection is looked at that is not judged yet.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub poll_interval: Span = Span::from_millis(20),
        /// How often a connection is looked at that was judged long.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub watch_interval: Span = Span::from_millis(500),
        /// After so long without anything to send, a long connection is new again and comes back to the short lane.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub idle: Never = Never::After(Span::from_secs(1)),
        /// For so long a long connection waits for a long lane before it uses the short ones in full again.
        #[range(Span::ZERO..=LONGEST)]
        pub patience: Span = Span::ZERO,
    }
}

record! {
    /// What is remembered of earlier connections.
    pub struct HistoryRecord {
        /// What was seen so long ago counts half.
        #[range(Span::from_millis(1)..=Span::from_secs(24 * 3600))]
        pub half_life: Span = Span::from_secs(1),
        /// Destinations.
        #[range(1..=1_000_000)]
        pub capacity: u32 = 1000,
        /// A connection with at least so many bytes was long.
        #[range(Bytes::new(1)..)]
        pub long: Bytes = Bytes::from_kb(100),
        /// If this share of the connections to a service was long, the next one is long from its start; left out: never.
        #[range(above(0.0))]
        pub long_share: Option<Ratio>,
    }
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
        /// When their subflows on long lanes are opened; left out: as `timing` says, or by their judge.
        pub open: Option<OpenWord>,
        /// The age from which on they are looked at, and opened with `probe`; left out: as `timing` says, or by their judge.
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
