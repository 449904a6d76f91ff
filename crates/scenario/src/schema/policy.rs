//! The ways of sending that are compared.

use headway_language::{Map, Name, record};
use headway_levers::lanes::TimingRecord;
use headway_levers::lossless::LosslessRecord;
use headway_levers::pacing::ModelledPacingRecord;
use headway_units::Bytes;

use super::relay::RelayPolicyRecord;
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
        /// Cards of modelled hosts space out what leaves them; as it comes when left out.
        pub pacing: Option<ModelledPacingRecord>,
        /// Ports of switches and cards have priorities, and pause senders before frames are lost; they do not when left
        /// out.
        pub lossless: Option<LosslessRecord>,
        /// Flows go over relays, hosts that end TCP on both sides; they do not when left out.
        pub relay: Option<RelayPolicyRecord>,
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
