//! Queues of ports, and the buffers that ports share.

use headway_units::{Bytes, Span};

use super::LONGEST;
use headway_language::{Amount, QueueLimit, Ratio, choice, record};

record! {
    /// First in, first out; a packet that does not fit is dropped.
    pub struct DropTailRecord {
        /// How much fits: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit,
        /// Packets that find more than this are marked (ECN); none when left out.
        pub mark: Option<Amount>,
    }
}

record! {
    /// Random early detection: drops or marks by chance as the average queue grows.
    pub struct RedRecord {
        /// How much fits: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit,
        /// Up to this average nothing is dropped or marked.
        pub min: Amount = Amount::Packets(5),
        /// The average at which the probability is `probability`; in the unit of `min`.
        pub max: Amount = Amount::Packets(15),
        /// The probability at an average of `max`.
        pub probability: Ratio = Ratio::PERCENT_2,
        /// The weight of an arriving packet in the moving average.
        #[range(1e-6..=1.0)]
        pub weight: f64 = 0.002,
        /// The usual packet, in which idle times are counted.
        #[range(Bytes::new(1)..=Bytes::new(65_535))]
        pub average_packet: Bytes = Bytes::new(1000),
        /// Between `max` and twice as much the probability rises on to 1; otherwise it jumps there.
        pub gentle: bool = true,
        /// Packets of senders that understand ECN are marked instead of dropped.
        pub ecn: bool = false,
        /// Where everything is marked or dropped, everything is dropped.
        pub hard_drop: bool = false,
    }
}

record! {
    /// Controlled delay: drops when packets have waited too long for too long.
    pub struct CodelRecord {
        /// How much fits: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit = QueueLimit::AtMost(Amount::Packets(1000)),
        /// The standing delay that is acceptable.
        #[range(Span::from_nanos(1)..=LONGEST)]
        pub target: Span = Span::from_millis(5),
        /// In this time the delay must have been below `target` once; about the longest round-trip time.
        #[range(Span::from_nanos(1)..=LONGEST)]
        pub interval: Span = Span::from_millis(100),
        /// Packets of senders that understand ECN are marked instead of dropped.
        pub ecn: bool = false,
        /// Packets that waited longer than this are marked (ECN) in any case; none when left out.
        #[range(Span::ZERO..=LONGEST)]
        pub mark: Option<Span>,
    }
}

record! {
    /// A queue for every flow, which take turns and have CoDel each.
    pub struct FqCodelRecord {
        /// How much fits in all queues together: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit = QueueLimit::AtMost(Amount::Packets(10_240)),
        /// Bytes that fit in all queues together, whatever `limit` is.
        pub memory: Bytes = Bytes::new(32 << 20),
        /// Queues that flows are spread over.
        #[range(1..=65_536)]
        pub flows: u32 = 1024,
        /// What a queue may send per turn.
        #[range(Bytes::new(64)..=Bytes::new(1_000_000))]
        pub quantum: Bytes = Bytes::new(1514),
        /// Packets dropped at a time, at most, when the limit is reached.
        #[range(1..=10_000)]
        pub drop_batch: u32 = 64,
        /// The standing delay that is acceptable.
        #[range(Span::from_nanos(1)..=LONGEST)]
        pub target: Span = Span::from_millis(5),
        /// In this time the delay must have been below `target` once; about the longest round-trip time.
        #[range(Span::from_nanos(1)..=LONGEST)]
        pub interval: Span = Span::from_millis(100),
        /// Packets of senders that understand ECN are marked instead of dropped.
        pub ecn: bool = true,
        /// Packets that waited longer than this are marked (ECN) in any case; none when left out.
        #[range(Span::ZERO..=LONGEST)]
        pub mark: Option<Span>,
    }
}

record! {
    /// A queue for every flow, which take turns; when the buffer is full the longest loses.
    pub struct DrrRecord {
        /// How much fits in all queues together: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit,
        /// Queues that flows are spread over.
        #[range(1..=65_536)]
        pub flows: u32 = 1024,
        /// What a queue may send per turn.
        #[range(Bytes::new(64)..=Bytes::new(1_000_000))]
        pub quantum: Bytes = Bytes::new(1518),
    }
}

choice! {
    /// The queue of a port.
    pub enum QueueRecord by "kind" {
        /// First in, first out; a packet that does not fit is dropped.
        "drop-tail" => DropTail(DropTailRecord),
        /// Random early detection: drops or marks by chance as the average queue grows.
        "red" => Red(RedRecord),
        /// Controlled delay: drops when packets have waited too long for too long.
        "codel" => Codel(CodelRecord),
        /// A queue for every flow, which take turns and have CoDel each.
        "fq-codel" => FqCodel(FqCodelRecord),
        /// A queue for every flow, which take turns; when the buffer is full the longest loses.
        "drr" => Drr(DrrRecord),
    }
}

record! {
    /// The buffer that all ports of a switch share, divided by dynamic thresholds (Choudhury & Hahne 1998).
    pub struct SharedBufferRecord {
        /// Bytes in it, the reserves included.
        pub size: Bytes,
        /// A port may hold so many times what is free, beside its reserve.
        #[range(0.001..=1000.0)]
        pub alpha: f64 = 1.0,
        /// What is every port's own.
        pub reserve: Bytes = Bytes::ZERO,
    }
}
