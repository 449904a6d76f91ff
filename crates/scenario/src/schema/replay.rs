//! Flows of a list.

use headway_language::{Name, Row, above, record};
use headway_units::{Bytes, Span};

use super::pool::PoolRecord;

record! {
    /// Flows of a list: start, source, destination and size of each.
    pub struct ReplayRecord {
        /// The list, relative to the scenario's folder: CSV, Parquet, or a connection matrix of htsim.
        pub file: String,
        /// The group whose hosts the list means; all hosts of the topology when left out.
        pub hosts: Option<Name>,
        /// Only rows that have these values, by column.
        pub select: Row = Row::new(),
        /// The time at which the list's time begins.
        pub start: Span = Span::ZERO,
        /// Flows that would start from this time on are left out; `duration` when left out.
        pub stop: Option<Span>,
        /// How long after its start each flow should be complete, for congestion controls that know deadlines (D2TCP).
        #[range(above(Span::ZERO))]
        pub deadline: Option<Span>,
        /// Flows of at most this size are reported apart, as `NAME/short`, and all others as `NAME/long`.
        #[range(Bytes::new(1)..)]
        pub short: Option<Bytes>,
        /// Flows are messages on connections that stay open; each has one of its own when left out.
        pub connections: Option<PoolRecord>,
    }
}
