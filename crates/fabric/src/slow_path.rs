//! What a port keeps whose queue is more than drop-tail arithmetic: another discipline, a shared buffer, or a link that
//! is down.

use crate::counters::Tally;
use crate::pool::Pool;
use crate::queue::{Backlog, BufferSlot, Discipline, Scheduler};

/// The queue of such a port and what it keeps.
#[derive(Debug)]
pub(crate) struct SlowPath {
    pub discipline: Discipline,
    /// Its place in a shared buffer.
    pub slot: Option<BufferSlot>,
    /// What waits in the scheduler.
    pub backlog: Backlog,
    /// The departure event is set.
    pub pending: bool,
    /// Dropped after they had been accepted.
    pub evicted: Tally,
    /// The link is down: nothing is taken in.
    pub down: bool,
}

impl SlowPath {
    pub fn new(discipline: Discipline, slot: Option<BufferSlot>) -> SlowPath {
        SlowPath {
            discipline,
            slot,
            backlog: Backlog::default(),
            pending: false,
            evicted: Tally::default(),
            down: false,
        }
    }

    /// What the accounting must satisfy at any time.
    pub fn assert_conserved<B: Copy>(&self, pool: &Pool<B>) {
        let counted = match &self.discipline {
            Discipline::Scheduled(scheduler) => scheduler.count(pool),
            Discipline::Admission(_) => Backlog::default(),
        };
        assert_eq!(counted, self.backlog, "what waits is the sum of its frames");
        assert!(self.pending || counted.frames == 0, "what waits has a departure event");
    }
}
