//! Queue disciplines: what happens to a frame that arrives at an output port, and which one leaves.
//!
//! Disciplines that decide when a frame arrives (drop-tail, RED, shared buffers) leave the port first in, first out:
//! its departures follow by arithmetic. Those that choose or drop when a frame leaves ([`Scheduler`]) need an event
//! for each departure, as long as frames wait.

mod codel;
mod drop_tail;
mod drr;
mod fifo;
mod flows;
mod fq_codel;
mod red;
mod shared_buffer;
mod spec;

use headway_engine::Streams;
use headway_units::{Span, Time};

pub(crate) use codel::Chosen;
use codel::CodelQueue;
pub use drop_tail::DropTail;
use drr::Drr;
pub(crate) use fifo::{Backlog, mark};
use fq_codel::FqCodel;
pub(crate) use red::Red;
pub(crate) use shared_buffer::SharedBuffer;
pub use spec::{CodelLaw, CodelSpec, DrrSpec, FqCodelSpec, Limit, QueueSpec, RedSpec, SharedBufferSpec};

use crate::pool::{FrameHandle, Pool};
use crate::scheduled_port::Managed;

/// What becomes of an arriving frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Queued.
    Accept,
    /// Queued and, if its sender understands ECN, marked.
    Mark,
    /// Marked and queued if its sender understands ECN, else discarded.
    Signal,
    /// Discarded.
    Drop,
}

/// The queue of a port.
#[derive(Debug)]
pub(crate) enum Queue {
    /// Most ports': decided in a few comparisons.
    DropTail(DropTail),
    /// All others, and those with a shared buffer.
    Managed(Box<Managed>),
}

/// How a port decides.
#[derive(Debug)]
pub(crate) enum Discipline {
    DropTail(DropTail),
    Red(Red),
    Scheduled(Scheduler),
}

impl Discipline {
    /// The discipline of a port that sends so many bytes in `service`, where chance comes from the stream `name`.
    pub fn new(spec: &QueueSpec, service: impl Fn(u64) -> Span, streams: Streams, name: &str) -> Discipline {
        let stream = || streams.stream(name);
        match spec {
            QueueSpec::DropTail { limit, mark } => Discipline::DropTail(DropTail::new(*limit, *mark)),
            QueueSpec::Red(red) => Discipline::Red(Red::new(red, service(red.packet.get()), stream())),
            QueueSpec::Codel(codel) => Discipline::Scheduled(Scheduler::Codel(CodelQueue::new(codel))),
            QueueSpec::FqCodel(fq) => Discipline::Scheduled(Scheduler::FqCodel(FqCodel::new(fq, stream().next_u64()))),
            QueueSpec::Drr(drr) => Discipline::Scheduled(Scheduler::Drr(Drr::new(drr, stream().next_u64()))),
        }
    }
}

/// Disciplines that choose among frames that wait, or drop them, when one leaves.
#[derive(Debug)]
pub(crate) enum Scheduler {
    Codel(CodelQueue),
    FqCodel(FqCodel),
    Drr(Drr),
}

impl Scheduler {
    /// Queues a frame of `size`, or gives it back. Frames that were queued before and make room go to `dropped`.
    pub fn enqueue<B: Copy>(
        &mut self,
        now: Time,
        frame: FrameHandle,
        size: u64,
        backlog: &mut Backlog,
        pool: &mut Pool<B>,
        dropped: &mut Vec<FrameHandle>,
    ) -> Result<(), FrameHandle> {
        match self {
            Scheduler::Codel(codel) => codel.enqueue(now, frame, size, backlog, pool),
            Scheduler::FqCodel(fq) => fq.enqueue(now, frame, size, backlog, pool, dropped),
            Scheduler::Drr(drr) => drr.enqueue(now, frame, size, backlog, pool, dropped),
        }
    }

    /// The frame that is sent next. Frames that are dropped instead go to `dropped`.
    pub fn dequeue<B: Copy>(
        &mut self,
        now: Time,
        backlog: &mut Backlog,
        pool: &mut Pool<B>,
        dropped: &mut Vec<FrameHandle>,
    ) -> Option<Chosen> {
        match self {
            Scheduler::Codel(codel) => codel.dequeue(now, backlog, pool, dropped),
            Scheduler::FqCodel(fq) => fq.dequeue(now, backlog, pool, dropped),
            Scheduler::Drr(drr) => drr.dequeue(now, backlog, pool),
        }
    }

    /// Takes out all that waits and forgets what was learnt from it, as Linux does when a link goes down
    /// (`net/sched/sch_generic.c: dev_reset_queue`).
    pub fn flush<B: Copy>(&mut self, now: Time, pool: &mut Pool<B>, out: &mut Vec<FrameHandle>) {
        match self {
            Scheduler::Codel(codel) => codel.flush(now, pool, out),
            Scheduler::FqCodel(fq) => fq.flush(now, pool, out),
            Scheduler::Drr(drr) => drr.flush(now, pool, out),
        }
    }

    /// What waits, counted anew.
    pub fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        match self {
            Scheduler::Codel(codel) => codel.count(pool),
            Scheduler::FqCodel(fq) => fq.count(pool),
            Scheduler::Drr(drr) => drr.count(pool),
        }
    }
}
