//! The transport protocols, each with the settings that are its alone.

use headway_language::{choice, record, words};
use headway_levers::lanes::ModelledLanesRecord;
use headway_units::Bytes;

use super::roce::RoceRecord;

choice! {
    /// A transport protocol.
    pub enum Protocol by "kind" {
        /// TCP: one path.
        "tcp" => Tcp(TcpRecord),
        /// Multipath TCP (RFC 8684): a subflow on each path.
        "mptcp" => Mptcp(MptcpRecord),
        /// RoCEv2: RDMA whose cards send at rates.
        "roce" => Roce(RoceRecord),
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
