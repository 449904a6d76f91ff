//! The ways of sending that are compared.

use headway_units::{Bytes, Span};

use super::transport::TransportRecord;
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
