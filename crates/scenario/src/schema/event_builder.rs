//! Event building: readers with a fragment of every event, and builders that need all of them.

use headway_language::{Name, choice, record, words};
use headway_units::{Bytes, Span};

use super::ArrivalRecord;
use crate::limits::LONGEST;
use crate::size::SizeRecord;

record! {
    /// Events of which every reader has a fragment, and one builder needs all.
    pub struct EventBuilderRecord {
        /// The group whose hosts have a fragment of every event.
        pub readers: Name,
        /// The group whose hosts build events, in turn.
        pub builders: Name,
        /// What each reader has of an event.
        pub fragment: SizeRecord,
        /// Who decides when fragments are sent.
        pub transfer: TransferRecord = TransferRecord::Push(PushRecord {}),
        /// When events are triggered, by one process for all.
        pub arrival: ArrivalRecord,
        /// What carries fragments and requests.
        pub connections: Connections = Connections::Persistent,
        /// Each reader is later than the trigger by a time of its own, drawn once: at most so long.
        #[range(..=LONGEST)]
        pub skew: Span = Span::ZERO,
        /// Each fragment is later by up to this again, at random.
        #[range(..=LONGEST)]
        pub jitter: Span = Span::ZERO,
        /// What a reader keeps of fragments that are not with their builders; unlimited when left out.
        #[range(Bytes::new(1)..)]
        pub buffer: Option<Bytes>,
        /// What becomes of a trigger that finds no room with some reader.
        pub overflow: Overflow = Overflow::Lose,
        /// No event is triggered before this time.
        pub start: Span = Span::ZERO,
        /// No event is triggered from this time on; `duration` when left out.
        pub stop: Option<Span>,
    }
}

choice! {
    /// Who decides when fragments are sent.
    pub enum TransferRecord by "kind" {
        /// The reader: as soon as it has the fragment.
        "push" => Push(PushRecord),
        /// The builder: it asks when it has a free slot.
        "pull" => Pull(PullRecord),
    }
}

record! {
    /// The reader decides.
    pub struct PushRecord {
    }
}

record! {
    /// The builder decides.
    pub struct PullRecord {
        /// Events that a builder builds at a time.
        #[range(1..=1_000_000)]
        pub slots: u32 = 1,
        /// Fragments that a builder has asked for and that are not there, at most; unlimited when left out.
        #[range(1..=1_000_000)]
        pub fragments: Option<u32>,
        /// What it takes to ask for one fragment.
        #[range(Bytes::new(1)..=Bytes::from_kb(64))]
        pub request: Bytes = Bytes::new(64),
        /// How long a slot stays in use after its event is complete.
        #[range(..=LONGEST)]
        pub work: Span = Span::ZERO,
    }
}

words! {
    /// What carries the messages of event building.
    pub enum Connections {
        /// One connection for each reader and builder, open all the time.
        "persistent" => Persistent,
        /// A flow for each message.
        "per-fragment" => PerFragment,
    }
}

words! {
    /// What becomes of a trigger that finds no room with some reader.
    pub enum Overflow {
        /// It is lost.
        "lose" => Lose,
        /// It is held back until there is room.
        "throttle" => Throttle,
    }
}

/// What event building reports, each under a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Events, from a builder to itself.
    Event,
    /// Triggers that were lost.
    Lost,
    /// Flows of fragments.
    Fragment,
    /// Flows of requests.
    Request,
    /// Connections that carry fragments and requests.
    Connection,
}

impl Reported {
    /// What follows the name of the traffic.
    pub fn as_str(self) -> &'static str {
        match self {
            Reported::Event => "event",
            Reported::Lost => "lost",
            Reported::Fragment => "fragment",
            Reported::Request => "request",
            Reported::Connection => "connection",
        }
    }
}

impl EventBuilderRecord {
    /// What is reported, in order.
    pub fn reported(&self) -> Vec<Reported> {
        let mut all = vec![Reported::Event];
        if self.buffer.is_some() && self.overflow == Overflow::Lose {
            all.push(Reported::Lost);
        }
        match (self.connections, &self.transfer) {
            (Connections::Persistent, _) => all.push(Reported::Connection),
            (Connections::PerFragment, TransferRecord::Push(_)) => all.push(Reported::Fragment),
            (Connections::PerFragment, TransferRecord::Pull(_)) => all.extend([Reported::Fragment, Reported::Request]),
        }
        all
    }
}
