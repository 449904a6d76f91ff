//! Ports that are more than a drop-tail queue of their own: what they keep beside [`Port`], and their slower path.
//!
//! A port with a [`Scheduler`] lets the frame that is being transmitted and those on the wire stand in its usual list,
//! in the order of their arrivals; the others wait in the scheduler. It has a departure event, at the end of the
//! transmission, only while frames wait.

use headway_units::Time;

use crate::fabric::Shared;
use crate::pool::{Loose, Pool};
use crate::port::{Offered, Port, Tally};
use crate::queue::{Backlog, Chosen, Discipline, Queue, Verdict, mark};

/// A port's place in a shared buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Which buffer.
    pub buffer: u32,
    /// Which of its ports.
    pub port: u32,
}

/// What most ports do not have.
#[derive(Debug)]
pub(crate) struct Managed {
    pub discipline: Discipline,
    pub seat: Option<Seat>,
    /// What waits in the scheduler.
    pub backlog: Backlog,
    /// The departure event is set.
    pending: bool,
    /// Dropped after they had been accepted.
    pub evicted: Tally,
}

impl Managed {
    pub fn new(discipline: Discipline, seat: Option<Seat>) -> Managed {
        Managed { discipline, seat, backlog: Backlog::default(), pending: false, evicted: Tally::default() }
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
    #[inline(never)]
    pub(crate) fn offer_managed(&mut self, now: Time, mut frame: Loose, shared: &mut Shared<B>) -> Offered {
        let size = shared.pool.slot(&frame).packet.size;
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
                return Offered::Behind;
            }
            if self.busy_until() > now {
                self.managed().pending = true;
                return Offered::Waits(self.busy_until());
            }
            match self.next(now, shared) {
                Some(next) => frame = next,
                None => return Offered::Behind,
            }
        } else {
            self.accepted.count(bytes);
            if let Some(seat) = seat {
                shared.buffers[seat.buffer as usize].take(seat.port, bytes);
            }
        }
        self.send(now, frame, shared)
    }

    fn refuse(&mut self, frame: Loose, bytes: u64) -> Offered {
        self.dropped.count(bytes);
        Offered::Dropped(frame)
    }

    /// Transmits a frame whose turn it is, and tells the buffer when it leaves.
    fn send(&mut self, now: Time, frame: Loose, shared: &mut Shared<B>) -> Offered {
        let size = shared.pool.slot(&frame).packet.size;
        let offered = self.transmit(now, frame, u64::from(size), &mut shared.pool);
        if let Some(seat) = self.managed().seat {
            shared.buffers[seat.buffer as usize].leaves(self.busy_until(), seat.port, size);
        }
        offered
    }

    /// Gives a frame to the scheduler, which may drop others for it, or gives it back.
    fn wait(&mut self, now: Time, frame: Loose, bytes: u64, shared: &mut Shared<B>) -> Result<(), Loose> {
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
    fn next(&mut self, now: Time, shared: &mut Shared<B>) -> Option<Loose> {
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
        let arrival = match self.next(now, shared).map(|frame| self.send(now, frame, shared)) {
            Some(Offered::First(arrival)) => Some(arrival),
            _ => None,
        };
        self.managed().pending = self.managed().backlog.frames > 0;
        let next = self.managed().pending.then_some(self.busy_until());
        (next, arrival)
    }
}
