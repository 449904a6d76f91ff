//! Relays: hosts on the way of a flow that end TCP on both sides and forward what they read.
//!
//! [`RelayRecord`] is what every relay can do; a scenario's policy has it within its own record, which adds who the relays
//! are and what a modelled one is made of. docs/scenario-file/relay.md describes all of it.

use headway_language::{record, words};
use headway_units::Bytes;

record! {
    /// A relay, as every host can have it.
    pub struct RelayRecord {
        /// What a relay holds of one direction of a connection: read from one side and not acknowledged by the other. At
        /// least the bandwidth-delay product of its longer side, for one connection to fill that.
        #[range(LEAST_BUFFER..=Bytes::new(1 << 30))]
        pub buffer: Bytes = Bytes::from_kb(64_000),
        /// When a relay answers a new connection.
        pub open: RelayOpen = RelayOpen::EndToEnd,
        /// Connections from each relay of a pair to the other that are open from the start and kept for later flows;
        /// 0: every flow opens one of its own.
        #[range(0..=10_000)]
        pub warm: u32 = 0,
    }
}

/// Less would not hold a burst.
pub const LEAST_BUFFER: Bytes = Bytes::from_kb(16);

words! {
    /// When a relay answers a new connection.
    pub enum RelayOpen {
        /// When the next hop has answered: the handshake is one of source and destination.
        "end-to-end" => EndToEnd,
        /// At once; the next connection is opened when this one is there, and data may wait meanwhile.
        "at-once" => AtOnce,
    }
}
