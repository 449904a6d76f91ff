//! What a port keeps whose queue is more than drop-tail arithmetic: another discipline, a shared buffer, or a link that
//! is down, or random processing in front of the line.

use headway_engine::Stream;
use headway_units::{Span, Time};

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
    /// When the departure event that counts is due.
    pub due: Option<Time>,
    /// The sequence number of that event. Others of the port are of times that no longer hold.
    pub sequence: u32,
    /// Dropped after they had been accepted.
    pub evicted: Tally,
    /// The link is down: nothing is taken in.
    pub down: bool,
    /// What each frame takes before it is transmitted.
    pub processing: Option<Processing>,
}

/// Random processing of frames, one after the other: each takes a time between nothing and `most`, evenly distributed
/// (Floyd and Jacobson, *On Traffic Phase Effects in Packet-Switched Gateways*, Internetworking: Research and Experience
/// 3(3), 1992, §5).
#[derive(Debug)]
pub(crate) struct Processing {
    pub most: Span,
    pub stream: Stream,
}

impl Processing {
    pub fn draw(&mut self) -> Span {
        Span::from_picos(self.stream.below(self.most.picos().saturating_add(1)))
    }
}

impl SlowPath {
    /// An empty queue of an idle port.
    pub fn new(discipline: Discipline, slot: Option<BufferSlot>) -> SlowPath {
        SlowPath {
            discipline,
            slot,
            backlog: Backlog::default(),
            due: None,
            sequence: 0,
            evicted: Tally::default(),
            down: false,
            processing: None,
        }
    }

    /// What the accounting must satisfy at any time.
    pub fn assert_conserved<B: Copy>(&self, pool: &Pool<B>) {
        let (counted, ready) = match &self.discipline {
            Discipline::Scheduled(scheduler) => (scheduler.count(pool), scheduler.ready(&self.backlog)),
            Discipline::Admission(_) => (Backlog::default(), Time::NEVER),
        };
        assert_eq!(counted, self.backlog, "what waits is the sum of its frames");
        assert!(self.due.is_some() || ready == Time::NEVER, "what may leave at some time has a departure event");
    }
}
