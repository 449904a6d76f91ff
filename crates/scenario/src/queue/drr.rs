//! Deficit round robin: a queue for every flow, which take turns.

use headway_fabric::{DrrSpec, QueueSpec};
use headway_language::{QueueLimit, record};
use headway_units::Bytes;

use super::kind::{QueueKind, most};

record! {
    /// A queue for every flow, which take turns; when the buffer is full the longest loses.
    pub struct DrrRecord {
        /// How much may wait in all queues together, the packet being transmitted not included: bytes ("128KB"), packets
        /// ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit,
        /// Queues that flows are spread over.
        #[range(1..=65_536)]
        pub flows: u32 = 1024,
        /// What a queue may send per turn.
        #[range(Bytes::new(64)..=Bytes::new(1_000_000))]
        pub quantum: Bytes = Bytes::new(1518),
    }
}

impl QueueKind for DrrRecord {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn spec(&self) -> QueueSpec {
        QueueSpec::Drr(DrrSpec { limit: most(self.limit), queues: self.flows, quantum: self.quantum.get() as u32 })
    }
}
