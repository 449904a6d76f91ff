//! The order of events at one instant.

/// Which part of a simulation an event belongs to. At equal times a lower class comes first; within a class, a lower
/// entity; within an entity, a lower sequence number.
///
/// The order is part of what a result means: two runs are the same only if it is. Each class says why it stands where
/// it does. A new tenant of the loop adds its classes here, and the loop's exhaustive `match` then asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EventClass {
    /// A frame has arrived over a link (entity: the link). First: frames that have arrived by an instant are there for
    /// the timers that fire at it.
    Arrival = 0,
    /// A retransmission timer of a sender (entity: the subflow). After arrivals: an acknowledgement of the instant may
    /// still stop it.
    SenderTimer = 1,
    /// A delayed acknowledgement of a receiver (entity: the subflow). After senders' timers, by convention.
    ReceiverTimer = 2,
    /// An application starts flows and acts on sockets. After timers: it finds them as the instant left them.
    FlowStart = 3,
    /// Samples are taken. After arrivals and timers, before anything that leaves because of the instant.
    Sample = 4,
    /// A frame leaves an external host (entity: its interface's link). External hosts themselves act just before this
    /// class: after everything above, and all of them before a frame that one of them sends at the instant leaves.
    External = 5,
    /// A port whose queue is no FIFO chooses its next frame (entity: the link). Frames that arrivals and timers of the
    /// instant send are there for it; frames of senders that wake and of cores come later.
    Departure = 6,
    /// A sender that its card or its pace held back may go on (entity: the subflow).
    Wake = 7,
    /// A core or a card of a host with a model (entity: which). A step that ends at an instant sees all else of it.
    Host = 8,
    /// Links fail or come back, routing learns of it. What happens at the instant still happens.
    Change = 9,
    /// A sender with a clock of its own sends its next frame (entity: the sender). Late, because it waits for nobody.
    Emission = 10,
    /// Programs at the ends of two-way connections read, write and close, and relays forward. After the network: they see
    /// all that it brings at the instant.
    Program = 11,
    /// The processor of a relay is through with a piece of work (entity: the processor). After programs: it takes up what
    /// they have left.
    Relay = 12,
    /// An interface of a card that paces sends its next frame (entity: the interface). After everything that sends: it
    /// chooses among all that the instant has brought.
    Card = 13,
    /// A card of queue pairs sends its next frame, or one of its queue pairs has waited for too long (entity: which). After
    /// everything that sends, too: queue pairs that the instant has brought are there for it.
    Rdma = 14,
    /// Queues were sampled (entity: 0), and those are told whom it concerns. Last: nothing waits for it, and nothing of the
    /// instant that could be sampled is still to come.
    Notice = 15,
}

impl EventClass {
    /// The class with this number.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) const fn from_number(number: u8) -> EventClass {
        match number {
            0 => EventClass::Arrival,
            1 => EventClass::SenderTimer,
            2 => EventClass::ReceiverTimer,
            3 => EventClass::FlowStart,
            4 => EventClass::Sample,
            5 => EventClass::External,
            6 => EventClass::Departure,
            7 => EventClass::Wake,
            8 => EventClass::Host,
            9 => EventClass::Change,
            10 => EventClass::Emission,
            11 => EventClass::Program,
            12 => EventClass::Relay,
            13 => EventClass::Card,
            14 => EventClass::Rdma,
            15 => EventClass::Notice,
            _ => panic!("no such class of events"),
        }
    }
}
