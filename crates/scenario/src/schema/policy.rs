//! The ways of sending that are compared.

use headway_units::{Bytes, Span};

use super::LONGEST;
use crate::language::{Map, Name, Settings, above, choice, record, words};

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
    }
}

record! {
    /// What is different on kernel hosts; a key left out is as for modelled ones.
    pub struct LinuxTransportRecord {
        /// The congestion control, as the kernel calls it.
        pub control: Option<String>,
        /// How lost packets are found and sent again.
        pub recovery: Option<Recovery>,
        /// Subflows of a connection.
        #[range(1..=8)]
        pub subflows: Option<u32>,
        /// Further subflows open once so much is acknowledged; kernels know 0 alone.
        pub join_after: Option<Bytes>,
        /// The shortest retransmission timeout.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub min_rto: Option<Span>,
        /// The retransmission timeout before a round trip is measured; kernels know 1s alone.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub initial_rto: Option<Span>,
        /// The longest retransmission timeout; kernels know 120s alone.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub max_rto: Option<Span>,
        /// When a receiver acknowledges.
        pub delayed_ack: Option<DelayedAckRecord>,
        /// Asks for and grants ECN.
        pub ecn: Option<bool>,
        /// Carries timestamps.
        pub timestamps: Option<bool>,
    }
}

record! {
    /// A transport protocol and its settings.
    pub struct TransportRecord {
        /// How lost packets are found and sent again.
        pub recovery: Recovery = Recovery::Sack,
        /// The congestion window at the start, in packets (RFC 6928).
        #[range(1..=1000)]
        pub initial_window: u32 = 10,
        /// Where the first slow start ends; when left out, at the first loss.
        #[range(Bytes::new(1)..)]
        pub initial_ssthresh: Option<Bytes>,
        /// The shortest retransmission timeout.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub min_rto: Span = Span::from_millis(200),
        /// The retransmission timeout before a round trip is measured (RFC 6298).
        #[range(Span::from_picos(1)..=LONGEST)]
        pub initial_rto: Span = Span::from_secs(1),
        /// The longest retransmission timeout.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub max_rto: Span = Span::from_secs(120),
        /// When a receiver acknowledges.
        pub delayed_ack: DelayedAckRecord = DelayedAckRecord::default(),
        /// Sends new data on the first duplicate acknowledgements (RFC 3042).
        pub limited_transmit: bool = true,
        /// What a receiver accepts ahead of the application.
        #[range(Bytes::new(1)..=Bytes::new(1 << 30))]
        pub receive_window: Bytes = Bytes::from_kb(6_000),
        /// Reacts to marked packets (RFC 3168).
        pub ecn: bool = false,
        /// Carries timestamps, 12 bytes in every packet (RFC 7323).
        pub timestamps: bool = false,
        /// What is different on kernel hosts.
        pub linux: Option<LinuxTransportRecord>,
    }
    with /// The protocol.
    protocol: Protocol
}

words! {
    /// How lost packets are found and sent again.
    pub enum Recovery {
        /// By duplicate acknowledgements, one loss per round trip (RFC 6582).
        "new-reno" => NewReno,
        /// By selective acknowledgements (RFC 6675).
        "sack" => Sack,
    }
}

record! {
    /// When a receiver acknowledges.
    pub struct DelayedAckRecord {
        /// At the latest after so many packets; 1 acknowledges each.
        #[range(1..=1000)]
        pub packets: u32 = 2,
        /// At the latest after this time.
        #[range(Span::ZERO..=LONGEST)]
        pub timeout: Span = Span::from_millis(40),
        /// The first so many packets of a flow are acknowledged at once.
        pub quick: u32 = 16,
    }
}

impl Default for DelayedAckRecord {
    fn default() -> DelayedAckRecord {
        DelayedAckRecord { packets: 2, timeout: Span::from_millis(40), quick: 16 }
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
        /// The congestion control by name.
        pub control: String = "new-reno".to_owned(),
    }
}

record! {
    /// Multipath TCP: a subflow on each path.
    pub struct MptcpRecord {
        /// The congestion control by name; coupled ones share the window among subflows.
        pub control: String = "lia".to_owned(),
        /// Subflows of a connection; one for each interface, up to 8, when left out.
        #[range(1..=8)]
        pub subflows: Option<u32>,
        /// Further subflows open once so much is acknowledged.
        pub join_after: Bytes = Bytes::ZERO,
        /// Which subflow sends next.
        pub scheduler: Scheduler = Scheduler::LowestRtt,
        /// Keeps short and long flows on different paths.
        pub lanes: Option<LanesRecord>,
        /// Subflows, counted from 0 in the order in which they open, that carry data only when no other can.
        pub backup: Vec<u32> = Vec::new(),
    }
}

words! {
    /// Which subflow of a connection sends next.
    pub enum Scheduler {
        /// The one with the lowest smoothed round-trip time whose window has room.
        "lowest-rtt" => LowestRtt,
    }
}

record! {
    /// Lanes: some subflows carry short flows, the others those that have turned out long.
    pub struct LanesRecord {
        /// So many subflows are lanes for short flows: the first ones.
        #[range(1..=7)]
        pub short: u32 = 1,
    }
    with /// What decides that a flow is long.
    judge: JudgeRecord
}

choice! {
    /// What decides that a flow is long and leaves the short lanes.
    pub enum JudgeRecord by "judge" {
        /// A flow older than a deadline is long.
        "deadline" => Deadline(DeadlineRecord),
        /// A flow is long once a long lane has the lowest link cost of its lanes (thesis eq. 5.7).
        "link-cost" => LinkCost(LinkCostRecord),
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
