//! Connections that stay open between flows.

use headway_language::{record, words};
use headway_units::Bytes;

record! {
    /// Connections that stay open, and carry flows as messages, one at a time each.
    pub struct PoolRecord {
        /// Connections between a source and a destination, at most.
        #[range(1..=1_000)]
        pub per_pair: u32 = 1,
        /// When they are opened.
        pub open: OpenAt = OpenAt::Start,
        /// What it takes the destination to ask the source for a flow; nobody asks when left out.
        #[range(Bytes::new(1)..=Bytes::from_kb(1_000_000))]
        pub request: Option<Bytes>,
    }
}

words! {
    /// When connections that stay are opened.
    pub enum OpenAt {
        /// All of them at the start of the run, before flows start.
        "start" => Start,
        /// When a flow finds none that is idle.
        "first-use" => FirstUse,
    }
}
