//! What hosts remember of earlier connections.

use std::ops::Bound;

use headway_control::lanes::History;
use headway_language::{Ratio, above, all_defaults, record};
use headway_units::{Bytes, Span};

/// The longest half-life: a day.
const LONGEST: Span = Span::from_secs(24 * 3600);

record! {
    /// What a host remembers of its connections, per destination and lane: queueing delay, smallest round trip, failures;
    /// and per service whether they turned out long.
    pub struct HistoryRecord {
        /// What was seen so long ago counts half.
        #[range((Bound::Excluded(Span::ZERO), Bound::Included(LONGEST)))]
        pub half_life: Span = Span::from_secs(1),
        /// Destinations at most; the one not heard of for longest is forgotten.
        #[range(1..=1_000_000)]
        pub capacity: u32 = 4096,
        /// A connection of at least so many bytes was long.
        #[range(Bytes::new(1)..)]
        pub long: Bytes = Bytes::from_kb(100),
        /// If this share of the connections to a service was long, the next one is long from its start; never when left out.
        #[range(above(0.0))]
        pub long_share: Option<Ratio>,
    }
}

impl Default for HistoryRecord {
    fn default() -> HistoryRecord {
        all_defaults()
    }
}

impl HistoryRecord {
    /// The memory before the first connection.
    ///
    /// # Panics
    /// If a value is out of its range, which the file's reader excludes.
    pub fn memory(&self) -> History {
        History::new(self.half_life, self.capacity as usize).expect("the record's ranges are those of the history")
    }
}
