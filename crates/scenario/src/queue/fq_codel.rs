//! A queue with CoDel for every flow.

use headway_fabric::{CodelLaw, FqCodelSpec, QueueSpec};
use headway_language::{Amount, QueueLimit, record};
use headway_units::{Bytes, Span};

use super::codel::check_target;
use super::kind::{QueueKind, most};
use crate::checker::Checker;
use crate::limits::LONGEST;

record! {
    /// A queue for every flow, which take turns and have CoDel each.
    pub struct FqCodelRecord {
        /// How much may wait in all queues together, the packet being transmitted not included: bytes ("128KB"), packets
        /// ("100pkt"), or "none" for no limit.
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

impl QueueKind for FqCodelRecord {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self, path: &[&str], checker: &mut Checker) {
        check_target(self.target, self.interval, path, checker);
    }

    fn spec(&self) -> QueueSpec {
        let law = CodelLaw { target: self.target, interval: self.interval, ecn: self.ecn, mark: self.mark };
        QueueSpec::FqCodel(FqCodelSpec {
            limit: most(self.limit),
            memory: self.memory,
            queues: self.flows,
            quantum: self.quantum.get() as u32,
            batch: self.drop_batch,
            law,
        })
    }

    fn bytes(&self) -> Option<(&'static str, Bytes)> {
        match self.limit {
            QueueLimit::AtMost(Amount::Bytes(bytes)) if bytes < self.memory => Some(("limit", bytes)),
            _ => Some(("memory", self.memory)),
        }
    }
}
