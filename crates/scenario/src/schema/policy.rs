//! The ways of sending that are compared.

use headway_units::{Bytes, Rate, Span};

use super::transport::TransportRecord;
use crate::limits::LONGEST;
use headway_language::{Map, Name, OrOff, Ratio, above, choice, record, words};

use crate::settings::Settings;

record! {
    /// One way of sending: every policy sends the same traffic.
    pub struct PolicyRecord {
        /// The name of the policy, by which its results are reported.
        pub name: Name,
        /// The protocol and settings of all flows that `traffic` does not name.
        pub transport: TransportRecord,
        /// Sends short flows several times over different paths; the first copy to arrive counts (RepFlow).
        pub replicate: Option<ReplicateRecord>,
        /// By the name of a traffic: the protocol and settings of its flows, instead of `transport`.
        pub traffic: Map<TransportRecord> = Map::new(),
        /// What kernel hosts have beyond that.
        pub linux: Option<LinuxPolicyRecord>,
    }
}

record! {
    /// What kernel hosts have under a policy.
    pub struct LinuxPolicyRecord {
        /// The queueing discipline of every interface: what `tc qdisc` takes after `root`, such as "fq" or "pfifo limit 100".
        pub qdisc: Option<String>,
        /// Kernel settings of every host.
        pub sysctl: Settings = Settings::new(),
        /// What `headway-lane`, which does lanes there, is told beyond `lanes`.
        pub daemon: Option<LaneDaemonRecord>,
        /// Lines for the shell of every host, run when all else is set up, before those of its group.
        pub setup: Vec<String> = Vec::new(),
        /// Programs that run on every host from before its first flow to the end, as lines for its shell.
        pub run: Vec<String> = Vec::new(),
    }
}

record! {
    /// What `headway-lane` is told beyond `lanes`. What is left out is as the daemon has it.
    pub struct LaneDaemonRecord {
        /// The age of a connection at which it is looked at for the first time, and its subflows on long lanes open.
        #[range(Span::ZERO..=LONGEST)]
        pub open_after: Option<Span>,
        /// A long lane's round trip older than this is measured anew, for judges that look at it.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub probe_interval: Option<Span>,
        /// How often a connection is looked at that is not judged yet.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub poll_interval: Option<Span>,
        /// How often a connection is looked at that was judged long.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub watch_interval: Option<Span>,
        /// After so long without anything to send a connection comes back to the short lane; `false`: never.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub idle: Option<OrOff<Span>>,
        /// A whole configuration instead of the one made of `lanes`: a file beside the scenario.
        pub config: Option<String>,
    }
}

choice! {
    /// A transport protocol.
    pub enum Protocol by "kind" {
        /// TCP: one path.
        "tcp" => Tcp(TcpRecord),
        /// Multipath TCP (RFC 8684): a subflow on each path.
        "mptcp" => Mptcp(MptcpRecord),
    }
}

record! {
    /// TCP: one path.
    pub struct TcpRecord {
        /// The congestion control by name; that of `stack` when left out.
        pub control: Option<String>,
        /// The interface that connections use, counted from 0; chosen by their hash when left out.
        #[range(0..=63)]
        pub interface: Option<u32>,
    }
}

record! {
    /// Multipath TCP: a subflow on each path.
    pub struct MptcpRecord {
        /// The congestion control by name; coupled ones share the window among subflows.
        pub control: String = "lia".to_owned(),
        /// Subflows of a connection; one for each pair of addresses, up to 8, when left out.
        #[range(1..=8)]
        pub subflows: Option<u32>,
        /// Which addresses of the two hosts make a subflow.
        pub address_pairs: AddressPairs = AddressPairs::OneToOne,
        /// Further subflows open once so much is acknowledged.
        pub join_after: Bytes = Bytes::ZERO,
        /// Which subflow sends next.
        pub scheduler: Scheduler = Scheduler::LowestRtt,
        /// Keeps short and long flows on different paths.
        pub lanes: Option<LanesRecord>,
        /// Subflows, counted from 0 in the order of interfaces, that carry data only when no other can.
        pub backup: Vec<u32> = Vec::new(),
        /// A connection whose SYN was not answered in time tries the next interface.
        pub syn_fallback: bool = false,
    }
}

words! {
    /// Which subflow of a connection sends next.
    pub enum Scheduler {
        /// The one with the lowest smoothed round-trip time whose window has room.
        "lowest-rtt" => LowestRtt,
    }
}

words! {
    /// Which addresses of two hosts make a subflow.
    pub enum AddressPairs {
        /// The sender's first with the receiver's first, second with second, and so on.
        "one-to-one" => OneToOne,
        /// Each of the sender's with each of the receiver's.
        "full-mesh" => FullMesh,
    }
}

record! {
    /// Lanes: some interfaces carry short flows, the others those that have turned out long.
    pub struct LanesRecord {
        /// The sender's first so many interfaces are lanes for short flows, all others lanes for long ones.
        #[range(1..=7)]
        pub short: u32 = 1,
        /// On which short lane a connection starts.
        pub start: LaneStart = LaneStart::First,
        /// When the further subflows open, once `join-after` allows it.
        pub open: LaneOpen = LaneOpen::Early,
        /// What hosts remember of earlier connections to the same host; nothing when left out.
        pub history: Option<HistoryRecord>,
        /// When a long flow comes back to the short lanes; never when left out.
        pub back: Option<ReturnRecord>,
        /// For so long a long flow is content with two packets per round trip on a short lane while no long lane answers.
        #[range(Span::ZERO..=LONGEST)]
        pub patience: Span = Span::ZERO,
        /// What a long flow takes of the short lanes while long ones carry it; nothing when left out.
        pub leftovers: Option<LeftoversRecord>,
    }
    with /// What decides that a flow is long.
    judge: JudgeRecord
}

words! {
    /// On which short lane a connection starts.
    pub enum LaneStart {
        /// The first one, as in the thesis.
        "first" => First,
        /// By a hash of the connection.
        "hash" => Hash,
        /// In turn, over all connections of the sender.
        "round-robin" => RoundRobin,
        /// The one with the shortest queue by what earlier connections saw; needs `history`.
        "least-cost" => LeastCost,
    }
}

words! {
    /// When the subflows on further lanes open.
    pub enum LaneOpen {
        /// As soon as `join-after` allows it; long lanes then probe until the judge has decided.
        "early" => Early,
        /// When the judge takes the flow for long; not for `link-cost`, which compares what lanes measure.
        "when-long" => WhenLong,
    }
}

record! {
    /// What a sending host remembers of its connections, per destination and lane: queueing delay, smallest round trip,
    /// failures, and per service (here: the traffic) whether they turned out long.
    pub struct HistoryRecord {
        /// What was seen so long ago counts half.
        #[range(above(Span::ZERO))]
        pub half_life: Span = Span::from_secs(1),
        /// Destinations at most; the one not heard of for longest is forgotten.
        #[range(1..=1_000_000)]
        pub capacity: u32 = 4096,
        /// A connection of at least so many bytes was long.
        #[range(Bytes::new(1)..)]
        pub long: Bytes = Bytes::from_kb(100),
        /// If this share of the connections to a service was long, the next one starts on a long lane; never when left out.
        #[range(above(0.0))]
        pub long_share: Option<Ratio>,
    }
}

record! {
    /// A long flow comes back to the short lanes when all long ones have been fuller for a while.
    pub struct ReturnRecord {
        /// By so much the queueing delay of every long lane must exceed that of the emptiest short one.
        pub margin: Span = Span::from_millis(2),
        /// For so long.
        pub hold: Span = Span::from_millis(100),
    }
}

record! {
    /// A long flow keeps a small window on each short lane as long as that is empty enough.
    pub struct LeftoversRecord {
        /// The window in packets.
        #[range(2..=64)]
        pub packets: u32 = 2,
        /// A sample with more queueing delay than this ends it.
        pub below: Span = Span::from_millis(1),
        /// So much later it tries again.
        pub pause: Span = Span::from_millis(50),
    }
}

choice! {
    /// What decides that a flow is long and leaves the short lanes.
    pub enum JudgeRecord by "judge" {
        /// A flow older than a deadline is long.
        "deadline" => Deadline(DeadlineRecord),
        /// A flow is long once a long lane has the lowest link cost of its lanes (thesis eq. 5.7).
        "link-cost" => LinkCost(LinkCostRecord),
        /// A flow of which so much has been acknowledged is long.
        "bytes-sent" => BytesSent(BytesSentRecord),
        /// A flow of which so much waits to be sent or acknowledged is long.
        "backlog" => Backlog(BacklogRecord),
        /// A flow that is delivered this fast is long.
        "delivery-rate" => DeliveryRate(DeliveryRateRecord),
    }
}

words! {
    /// What queueing delay counts from.
    pub enum BaseRtt {
        /// The subflow's own smallest round trip, as the thesis' text says.
        "own" => Own,
        /// The smallest of all the connection's subflows, as its author's code does.
        "common" => Common,
    }
}

record! {
    /// A flow of which so much has been acknowledged is long.
    pub struct BytesSentRecord {
        /// Bytes acknowledged.
        pub threshold: Bytes = Bytes::from_kb(100),
    }
}

record! {
    /// A flow of which so much waits to be sent or acknowledged is long. Applications write all of a flow at once, as far
    /// as `send-buffer` lets them.
    pub struct BacklogRecord {
        /// Bytes written and not acknowledged.
        #[range(Bytes::new(1)..)]
        pub threshold: Bytes = Bytes::from_kb(100),
    }
}

record! {
    /// A flow that is delivered this fast is long.
    pub struct DeliveryRateRecord {
        /// The least rate of a long flow.
        #[range(above(Rate::from_bps(0)))]
        pub rate: Rate = Rate::from_mbps(20),
        /// The time over which it is averaged.
        #[range(above(Span::ZERO))]
        pub window: Span = Span::from_millis(50),
    }
}

record! {
    /// A flow older than a deadline is long.
    pub struct DeadlineRecord {
        /// The age at which a flow becomes long.
        #[range(above(Span::ZERO))]
        pub deadline: Span = Span::from_millis(300),
    }
}

record! {
    /// A flow is long once a long lane has the lowest link cost of its lanes. With the queueing delay ν
    /// in delay units and the time t since the deadline in time units, the cost of a lane is
    /// t0·(1 + α·ν^β), and short lanes cost sgn(t)·γ·|t|^δ more (thesis eq. 5.7).
    pub struct LinkCostRecord {
        /// The age at which short lanes begin to cost more than long ones.
        #[range(above(Span::ZERO))]
        pub deadline: Span = Span::from_millis(300),
        /// α, the weight of the queueing delay: larger reacts to congestion earlier.
        #[range(0.0..=1e6)]
        pub alpha: f64 = 1.0,
        /// β, the exponent of the queueing delay.
        #[range(above(0.0))]
        pub beta: f64 = 1.0,
        /// γ, the weight of the deadline: larger follows it more closely, 0 ignores it.
        #[range(0.0..=1e6)]
        pub gamma: f64 = 1.0,
        /// δ, the exponent of the time since the deadline.
        #[range(above(0.0))]
        pub delta: f64 = 1.0,
        /// The queueing delay that counts as 1.
        #[range(above(Span::ZERO))]
        pub delay_unit: Span = Span::from_micros(125),
        /// The time since the deadline that counts as 1; 4 ms repeats the thesis (docs/lanes.md).
        #[range(above(Span::ZERO))]
        pub time_unit: Span = Span::from_millis(1),
        /// What queueing delay counts from.
        pub base_rtt: BaseRtt = BaseRtt::Own,
    }
}

record! {
    /// Sends short flows several times over different paths.
    pub struct ReplicateRecord {
        /// Flows of at most this size are replicated.
        #[range(Bytes::new(1)..)]
        pub below: Bytes = Bytes::from_kb(100),
        /// How often each is sent in all.
        #[range(2..=64)]
        pub copies: u32 = 2,
    }
}
