//! Ports that are more than a drop-tail queue of their own: what they keep beside [`Port`], and their slower path.
//!
//! A port with a [`Scheduler`] lets the frame that is being transmitted and those on the wire stand in its usual list,
//! in the order of their arrivals; the others wait in the scheduler. It has a departure event, at the end of the
//! transmission, only while frames wait.

use headway_units::Time;

use crate::fabric::Shared;
use crate::pool::{FrameHandle, Pool};
use crate::port::{Offered, Port, Tally};
use crate::queue::{Backlog, Chosen, Discipline, Queue, Verdict, mark};

/// What became of a frame offered to a managed port.
pub(crate) enum Waiting {
    /// Queued; it arrives at this time and is the only one on its way, so an event is due.
    Arrives(Time),
    /// Queued as the only one that waits; the line is free for it at this time, so an event is due.
    Departs(Time),
    /// Queued behind others.
    Behind,
    /// No room.
    Dropped(FrameHandle),
}

/// A port's place in a shared buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BufferSlot {
    /// Which buffer.
    pub buffer: u32,
    /// Which of its ports.
    pub port: u32,
}

/// What most ports do not have.
#[derive(Debug)]
pub(crate) struct Managed {
    pub discipline: Discipline,
    pub seat: Option<BufferSlot>,
    /// What waits in the scheduler.
    pub backlog: Backlog,
    /// The departure event is set.
    pending: bool,
    /// Dropped after they had been accepted.
    pub evicted: Tally,
    /// The link is down: nothing is taken in.
    pub down: bool,
}

impl Managed {
    pub fn new(discipline: Discipline, seat: Option<BufferSlot>) -> Managed {
        Managed {
            discipline,
            seat,
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
            Discipline::DropTail(_) | Discipline::Red(_) => Backlog::default(),
        };
        assert_eq!(counted, self.backlog, "what waits is the sum of its frames");
        assert!(self.pending || counted.frames == 0, "what waits has a departure event");
    }
}

impl<B: Copy> Port<B> {
    fn managed(&mut self) -> &mut Managed {
        match &mut self.queue {
            Queue::Managed(managed) => managed,
            Queue::DropTail(_) => unreachable!("only managed ports come here"),
        }
    }

    /// [`Port::offer`] where more than a drop-tail queue decides.
    pub(crate) fn offer_scheduled(&mut self, now: Time, mut frame: FrameHandle, shared: &mut Shared<B>) -> Waiting {
        let size = shared.pool.slot(&frame).packet.size;
        if self.managed().down {
            self.refuse_down(u64::from(size));
            return Waiting::Dropped(frame);
        }
        let (queued, frames) = self.occupancy(now, &shared.pool);
        let idle = now.since(self.busy_until());
        let managed = self.managed();
        let verdict = match &mut managed.discipline {
            Discipline::DropTail(queue) => queue.offer(queued, frames, size),
            Discipline::Red(red) => red.offer(queued, frames, size, idle),
            Discipline::Scheduled(_) => Verdict::Accept,
        };
        let seat = managed.seat;
        let bytes = u64::from(size);
        let room = seat.is_none_or(|s| shared.buffers[s.buffer as usize].admits(now, s.port, bytes));
        if verdict == Verdict::Drop || !room {
            return self.refuse(frame, bytes);
        }
        if matches!(verdict, Verdict::Mark | Verdict::Signal) {
            if mark(&frame, &mut shared.pool) {
                self.marked += 1;
            } else if verdict == Verdict::Signal {
                return self.refuse(frame, bytes);
            }
        }
        if matches!(self.managed().discipline, Discipline::Scheduled(_)) {
            if let Err(back) = self.wait(now, frame, bytes, shared) {
                return self.refuse(back, bytes);
            }
            if self.managed().pending {
                return Waiting::Behind;
            }
            if self.busy_until() > now {
                self.managed().pending = true;
                return Waiting::Departs(self.busy_until());
            }
            match self.next(now, shared) {
                Some(next) => frame = next,
                None => return Waiting::Behind,
            }
        } else {
            self.accepted.count(bytes);
            if let Some(seat) = seat {
                shared.buffers[seat.buffer as usize].take(seat.port, bytes);
            }
        }
        self.send(now, frame, shared).map_or(Waiting::Behind, Waiting::Arrives)
    }

    /// Whether the link is down.
    pub(crate) fn is_down(&self) -> bool {
        matches!(&self.queue, Queue::Managed(managed) if managed.down)
    }

    /// Takes the link down, if it is up. What is lost of what waited goes to `shared.evicted`.
    pub(crate) fn take_down(&mut self, now: Time, shared: &mut Shared<B>) {
        // A port that is down has a queue that is asked for every frame, also where drop-tail arithmetic would do.
        if let Queue::DropTail(queue) = self.queue {
            self.queue = Queue::Managed(Box::new(Managed::new(Discipline::DropTail(queue), None)));
            self.set_easy((0, 0));
        }
        if std::mem::replace(&mut self.managed().down, true) {
            return;
        }
        let free = self.sever(now, &mut shared.pool, &mut shared.evicted);
        let already = shared.evicted.len();
        let Managed { discipline, backlog, seat, .. } = self.managed();
        let seat = *seat;
        if let Discipline::Scheduled(scheduler) = discipline {
            scheduler.flush(now, &mut shared.pool, &mut shared.evicted);
            *backlog = Backlog::default();
            self.count_severed(&shared.evicted[already..], &mut shared.pool);
        }
        if let Some(seat) = seat {
            let buffer = &mut shared.buffers[seat.buffer as usize];
            buffer.forget(seat.port, free);
            for frame in &shared.evicted[already..] {
                buffer.give(seat.port, u64::from(shared.pool.slot(frame).packet.size));
            }
        }
    }

    /// Brings the link up, if it is down.
    pub(crate) fn bring_up(&mut self) {
        let Queue::Managed(managed) = &mut self.queue else { return };
        managed.down = false;
        if let Managed { discipline: Discipline::DropTail(queue), seat: None, .. } = **managed {
            self.queue = Queue::DropTail(queue);
            self.set_easy(queue.easy());
        }
    }

    fn refuse(&mut self, frame: FrameHandle, bytes: u64) -> Waiting {
        self.dropped.count(bytes);
        Waiting::Dropped(frame)
    }

    /// Transmits a frame whose turn it is, and tells the buffer when it leaves. Returns its arrival if it is the first.
    fn send(&mut self, now: Time, frame: FrameHandle, shared: &mut Shared<B>) -> Option<Time> {
        let size = shared.pool.slot(&frame).packet.size;
        let offered = self.transmit(now, frame, u64::from(size), &mut shared.pool);
        if let Some(seat) = self.managed().seat {
            shared.buffers[seat.buffer as usize].leaves(self.busy_until(), seat.port, size);
        }
        match offered {
            Offered::First(arrival) => Some(arrival),
            _ => None,
        }
    }

    /// Gives a frame to the scheduler, which may drop others for it, or gives it back.
    fn wait(&mut self, now: Time, frame: FrameHandle, bytes: u64, shared: &mut Shared<B>) -> Result<(), FrameHandle> {
        let already = shared.evicted.len();
        let Managed { discipline: Discipline::Scheduled(scheduler), backlog, seat, .. } = self.managed() else {
            unreachable!("only schedulers let frames wait");
        };
        let seat = *seat;
        let taken = scheduler.enqueue(now, frame, bytes, backlog, &mut shared.pool, &mut shared.evicted);
        if taken.is_ok() {
            if let Some(seat) = seat {
                shared.buffers[seat.buffer as usize].take(seat.port, bytes);
            }
            self.accepted.count(bytes);
        }
        self.evict(already, shared);
        taken
    }

    /// The frame that the scheduler chooses.
    fn next(&mut self, now: Time, shared: &mut Shared<B>) -> Option<FrameHandle> {
        let already = shared.evicted.len();
        let Managed { discipline: Discipline::Scheduled(scheduler), backlog, .. } = self.managed() else {
            unreachable!("only schedulers have departures");
        };
        let chosen = scheduler.dequeue(now, backlog, &mut shared.pool, &mut shared.evicted);
        self.evict(already, shared);
        let Chosen { frame, marked, .. } = chosen?;
        self.marked += u64::from(marked);
        Some(frame)
    }

    /// Counts the frames that have been evicted since there were `already`.
    fn evict(&mut self, already: usize, shared: &mut Shared<B>) {
        let seat = self.managed().seat;
        for frame in &shared.evicted[already..] {
            let bytes = u64::from(shared.pool.slot(frame).packet.size);
            self.dropped.count(bytes);
            self.managed().evicted.count(bytes);
            if let Some(seat) = seat {
                shared.buffers[seat.buffer as usize].give(seat.port, bytes);
            }
        }
    }

    /// Handles the port's departure event: the line is free for the next frame. Returns when the next departure event
    /// and the first arrival event are due.
    pub(crate) fn depart(&mut self, now: Time, shared: &mut Shared<B>) -> (Option<Time>, Option<Time>) {
        assert!(self.managed().pending && self.busy_until() <= now, "a departure event means a free line");
        let arrival = self.next(now, shared).and_then(|frame| self.send(now, frame, shared));
        self.managed().pending = self.managed().backlog.frames > 0;
        let next = self.managed().pending.then_some(self.busy_until());
        (next, arrival)
    }
}
