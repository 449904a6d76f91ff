//! What a queue discipline is: its parameters, and its decisions when a frame arrives or leaves.

use headway_engine::{Stream, Streams};
use headway_units::{Bytes, Rate, Span, Time};

use super::fifo::{Backlog, Fifo, Taken};
use super::limit::Limit;
use crate::pool::{Cursor, FrameHandle, Pool};

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

/// The parameters of a discipline.
pub(crate) trait Spec {
    /// The state of one port's queue: an [`Admission`] or a [`Scheduler`].
    type Discipline;
    /// The name in texts for people.
    const NAME: &'static str;

    /// The state of an empty queue at `port`.
    fn discipline(&self, port: &PortParameters) -> Self::Discipline;

    /// What the queue holds at most, in bytes if there is such a limit; `None` without any.
    fn limit(&self) -> Option<Limit>;
}

/// The port that a queue is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortParameters {
    pub rate: Rate,
    /// Wire time per frame that is not in the frame, in bytes.
    pub gap: Bytes,
    pub streams: Streams,
    /// The number of its link.
    pub number: usize,
}

impl PortParameters {
    /// What a frame of `size` takes on the wire.
    pub fn service(&self, size: Bytes) -> Span {
        self.rate.transmission(size + self.gap)
    }

    /// Where the queue's chance comes from.
    pub fn stream(&self) -> Stream {
        self.streams.stream(&format!("queue/{}", self.number))
    }
}

/// A discipline that decides when a frame arrives, and leaves the port first in, first out.
pub(crate) trait Admission {
    /// What becomes of a frame of `size` that finds `bytes` in `frames` frames, the queue having been empty for `idle`.
    fn offer(&mut self, bytes: Bytes, frames: u32, size: u16, idle: Span) -> Verdict;
}

/// A discipline that chooses among frames that wait, or drops them, when one leaves. It keeps them in one [`Fifo`] or
/// several.
pub(crate) trait Scheduler {
    /// What becomes of a frame of `size` that finds so many bytes and frames at the port. It may still be given back by
    /// [`enqueue`](Self::enqueue).
    fn admit(&mut self, _now: Time, _queued: (Bytes, u32), _size: u16) -> Verdict {
        Verdict::Accept
    }

    /// Queues a frame, or gives it back. Frames that were queued before and make room are [dropped](Waiting::dropped).
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle>;

    /// The frame that is sent next; `None` if no frame waits or none may leave yet, of which [`ready`](Self::ready) has
    /// the time. Frames that are discarded instead are [dropped](Waiting::dropped).
    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen>;

    /// When [`dequeue`](Self::dequeue) may give a frame at the earliest, as things are: [`Time::ZERO`] says at once,
    /// [`Time::NEVER`] not before a frame comes or the port is [woken](crate::Fabric::wake). Where it is later than now, it
    /// is later than the last time at which `dequeue` gave none.
    fn ready(&self, backlog: &Backlog) -> Time {
        if backlog.frames > 0 { Time::ZERO } else { Time::NEVER }
    }

    /// When the last bit of all that waits will have left, if it is known: [`Time::ZERO`] says that it is not, or that nothing
    /// waits.
    fn leaves(&self) -> Time {
        Time::ZERO
    }

    /// Bytes of `priority` that wait, if it has a queue of its own.
    fn waiting(&self, _priority: u8) -> u64 {
        0
    }

    /// Bytes of `priority` that have been queued so far, if it has a queue of its own.
    fn entered(&self, _priority: u8) -> Option<u64> {
        None
    }

    /// Drops all that waits and forgets what was learnt from it, as Linux does when a link goes down
    /// (`net/sched/sch_generic.c: dev_reset_queue`).
    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>);

    /// What waits, counted anew.
    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog;
}

/// A frame whose turn it is.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub frame: FrameHandle,
    pub size: u64,
    pub marked: bool,
}

/// The frames that wait at a port, as its scheduler has them at one instant.
pub(crate) struct Waiting<'a, B> {
    pub now: Time,
    /// All of the port, over all its queues.
    pub backlog: &'a mut Backlog,
    pub pool: &'a mut Pool<B>,
    /// Frames that are dropped after they had been accepted.
    pub dropped: &'a mut Vec<FrameHandle>,
}

impl<B: Copy> Waiting<'_, B> {
    /// Bytes of a frame that is in no queue.
    pub fn size(&mut self, frame: &FrameHandle) -> u64 {
        u64::from(self.pool.slot(frame).packet.size)
    }

    /// Adds a frame to a queue. Returns where it stands.
    pub fn push(&mut self, fifo: &mut Fifo, frame: FrameHandle) -> Cursor {
        let size = self.size(&frame);
        self.backlog.add(size);
        fifo.push(self.now, frame, self.pool)
    }

    /// Takes the first frame off a queue.
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Taken> {
        let taken = fifo.pop(self.now, self.pool)?;
        self.backlog.remove(taken.size);
        Some(taken)
    }

    /// Drops all frames of a queue.
    pub fn flush(&mut self, fifo: &mut Fifo) {
        while let Some(taken) = self.pop(fifo) {
            self.dropped.push(taken.frame);
        }
    }
}
