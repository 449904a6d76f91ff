//! Datagrams in place of connections.

use headway_language::{above, record};
use headway_units::{Bytes, Rate};

record! {
    /// Flows are datagrams at a constant rate (UDP): nothing is acknowledged, repaired or slowed down.
    pub struct DatagramsRecord {
        /// Bits of frames per second, headers and checksum included, while a flow has something to send.
        #[range(above(Rate::from_bps(0)))]
        pub rate: Rate,
        /// Data of each datagram; the last one of a flow may have less.
        #[range(Bytes::new(1)..=Bytes::new(65_489))]
        pub payload: Bytes = Bytes::new(1472),
    }
}
