//! Cables.

use headway_language::{Ratio, record};
use headway_units::{Bytes, Rate, Span};

use crate::limits::LONGEST;
use crate::queue::QueueRecord;

record! {
    /// A cable: both directions alike.
    pub struct LinkRecord {
        /// The rate of each direction.
        #[range(Rate::from_bps(10_000)..)]
        pub rate: Rate,
        /// The time a bit takes from end to end.
        #[range(Span::ZERO..=LONGEST)]
        pub delay: Span = Span::from_nanos(500),
        /// The share of packets that are lost at random.
        pub loss: Ratio = Ratio::ZERO,
        /// What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap.
        #[range(Bytes::ZERO..=Bytes::new(65_535))]
        pub gap: Bytes = Bytes::new(20),
    }
}

record! {
    /// What is different from `topology.link` in some cables; a key left out is as it is there.
    pub struct LinkChangeRecord {
        /// The rate of each direction.
        #[range(Rate::from_bps(10_000)..)]
        pub rate: Option<Rate>,
        /// The time a bit takes from end to end.
        #[range(Span::ZERO..=LONGEST)]
        pub delay: Option<Span>,
        /// The share of packets that are lost at random.
        pub loss: Option<Ratio>,
        /// What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap.
        #[range(Bytes::ZERO..=Bytes::new(65_535))]
        pub gap: Option<Bytes>,
        /// The queue of the switches' ports at both ends (in a graph of all ports there); `topology.queue` when left out.
        pub queue: Option<QueueRecord>,
    }
}

impl LinkChangeRecord {
    /// `link` with these changes.
    pub fn over(&self, link: &LinkRecord) -> LinkRecord {
        LinkRecord {
            rate: self.rate.unwrap_or(link.rate),
            delay: self.delay.unwrap_or(link.delay),
            loss: self.loss.unwrap_or(link.loss),
            gap: self.gap.unwrap_or(link.gap),
        }
    }
}
