//! The ways of sending that are compared.

use headway_language::{Map, Name, choice, record, words};
use headway_levers::lanes::{ModelledLanesRecord, TimingRecord};
use headway_units::Bytes;

use super::transport::TransportRecord;

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
    /// What `headway-lane` is told beyond `lanes`.
    pub struct LaneDaemonRecord {
        /// When the daemon looks at connections: the section `timing` of its configuration.
        pub timing: Option<TimingRecord>,
        /// A whole configuration instead of the one made of `lanes`: a file beside the scenario.
        pub config: Option<String>,
    }
    renamed {
        "open-after" => "timing.open-after",
        "probe-interval" => "timing.probe-interval",
        "poll-interval" => "timing.poll-interval",
        "watch-interval" => "timing.watch-interval",
        "idle" => "timing.idle",
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
        pub lanes: Option<ModelledLanesRecord>,
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
