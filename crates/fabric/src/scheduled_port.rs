//! A port's slow path: the decisions about a frame where the queue is more than drop-tail arithmetic.
//!
//! A port with a [`Scheduler`] lets the frame that is being transmitted and those on the wire stand in its usual list,
//! in the order of their arrivals; the others wait in the scheduler. It has a departure event only while the scheduler is
//! [ready](Scheduler::ready) at some time: when the line is free and a frame may leave.
//!
//! One departure event of a port counts. It stays where it is when the time moves later, and then finds nothing to do but
//! to move on. When the time moves earlier, because a port is woken, another event with the next sequence number is set,
//! and the old one does nothing.

use headway_units::{Rate, Time};

use crate::packet::Packet;
use crate::pool::FrameHandle;
use crate::port::{Offered, Port, Queue};
use crate::queue::{
    Admission, AnyAdmission, AnyScheduler, Backlog, Chosen, DcbPort, Discipline, Scheduler, Verdict, Waiting,
};
use crate::shared::Shared;
use crate::slow_path::{Processing, SlowPath};

/// Bytes of a pause frame: the smallest one.
const PAUSE_FRAME: u16 = 64;

/// What became of a frame offered to a port with a slow path.
pub(crate) enum Queued {
    /// It arrives at this time and is the only one on its way, so an event is due.
    Arrives(Time),
    /// It waits, or another one is sent for it; events may be due.
    Waits(Due),
    /// It is behind others.
    Behind,
    /// No room.
    Dropped(FrameHandle),
}

/// Events of a port that are to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    /// A departure, and its sequence number.
    pub departure: Option<(Time, u32)>,
    /// The arrival of the only frame on its way.
    pub arrival: Option<Time>,
}

impl Due {
    const NOTHING: Due = Due { departure: None, arrival: None };
}

impl<B: Copy> Port<B> {
    fn slow(&mut self) -> &mut SlowPath {
        match &mut self.queue {
            Queue::SlowPath(slow) => slow,
            Queue::DropTail(_) => unreachable!("only ports with a slow path come here"),
        }
    }

    /// [`Port::offer`] where more than a drop-tail queue decides.
    pub(crate) fn offer_slow(&mut self, now: Time, frame: FrameHandle, shared: &mut Shared<B>) -> Queued {
        let size = shared.pool.slot(&frame).packet.size;
        if self.slow().down {
            self.refuse_down(u64::from(size));
            return Queued::Dropped(frame);
        }
        let (queued, frames) = self.occupancy(now, &shared.pool);
        let idle = now.since(self.busy_until());
        let slow = self.slow();
        let verdict = match &mut slow.discipline {
            Discipline::Admission(queue) => queue.offer(queued, frames, size, idle),
            Discipline::Scheduled(queue) => queue.admit(now, (queued, frames), size),
        };
        let slot = slow.slot;
        let bytes = u64::from(size);
        let room = slot.is_none_or(|s| shared.buffers[s.buffer as usize].admits(now, s.port, bytes));
        if verdict == Verdict::Drop || !room {
            return self.refuse(frame, bytes);
        }
        if matches!(verdict, Verdict::Mark | Verdict::Signal) {
            if shared.pool.slot(&frame).packet.mark_ce() {
                self.marked += 1;
            } else if verdict == Verdict::Signal {
                return self.refuse(frame, bytes);
            }
        }
        if matches!(self.slow().discipline, Discipline::Scheduled(_)) {
            if let Err(back) = self.wait(now, frame, bytes, shared) {
                return self.refuse(back, bytes);
            }
            return Queued::Waits(self.proceed(now, shared));
        }
        self.accepted.count(bytes);
        if let Some(slot) = slot {
            shared.buffers[slot.buffer as usize].take(slot.port, bytes);
        }
        if let Some(processing) = &mut self.slow().processing {
            let takes = processing.draw();
            self.hold_line(now, takes);
        }
        self.send(now, frame, shared).map_or(Queued::Behind, Queued::Arrives)
    }

    /// When what is being transmitted, or waits where that is known, has left.
    pub(crate) fn leaves(&self) -> Time {
        match &self.queue {
            Queue::SlowPath(slow) if let Discipline::Scheduled(scheduler) = &slow.discipline => {
                self.busy_until().max(scheduler.leaves())
            }
            _ => self.busy_until(),
        }
    }

    /// Whether the link is down.
    pub(crate) fn is_down(&self) -> bool {
        matches!(&self.queue, Queue::SlowPath(slow) if slow.down)
    }

    /// Bytes of `priority` that wait, if it has a queue of its own.
    pub(crate) fn waiting(&self, priority: u8) -> u64 {
        match &self.queue {
            Queue::SlowPath(slow) if let Discipline::Scheduled(scheduler) = &slow.discipline => {
                scheduler.waiting(priority)
            }
            _ => 0,
        }
    }

    /// Bytes queued so far, and those of them that wait no more: of `priority`, if it has a queue of its own, else of all.
    /// Nothing where frames do not wait for a scheduler.
    pub(crate) fn passed(&self, priority: u8) -> (u64, u64) {
        let Queue::SlowPath(slow) = &self.queue else { return (0, 0) };
        let Discipline::Scheduled(scheduler) = &slow.discipline else { return (0, 0) };
        match scheduler.entered(priority) {
            Some(entered) => (entered, entered - scheduler.waiting(priority)),
            None => (self.accepted.bytes, self.accepted.bytes - slow.backlog.bytes),
        }
    }

    /// From now on the queue is asked for every frame.
    fn leave_fast_path(&mut self) {
        if let Queue::DropTail(queue) = self.queue {
            let discipline = Discipline::Admission(AnyAdmission::DropTail(queue));
            self.queue = Queue::SlowPath(Box::new(SlowPath::new(discipline, None)));
            self.set_fast_path((0, 0));
        }
    }

    /// Every frame is processed before it is transmitted. Frames that wait for a scheduler are not.
    pub(crate) fn process_randomly(&mut self, processing: Processing) {
        self.leave_fast_path();
        self.slow().processing = Some(processing);
    }

    /// Takes the link down, if it is up. What is lost of what waited goes to `shared.evicted`.
    pub(crate) fn take_down(&mut self, now: Time, shared: &mut Shared<B>) {
        // A port that is down has a queue that is asked for every frame, also where drop-tail arithmetic would do.
        self.leave_fast_path();
        if std::mem::replace(&mut self.slow().down, true) {
            return;
        }
        let free = self.sever(now, &mut shared.pool, &mut shared.evicted);
        let already = shared.evicted.len();
        let SlowPath { discipline, backlog, slot, .. } = self.slow();
        let slot = *slot;
        if let Discipline::Scheduled(scheduler) = discipline {
            scheduler.flush(&mut waiting(now, backlog, shared));
            self.count_severed(&shared.evicted[already..], &mut shared.pool);
        }
        if let Some(slot) = slot {
            let buffer = &mut shared.buffers[slot.buffer as usize];
            buffer.drop_after(slot.port, free);
            for frame in &shared.evicted[already..] {
                buffer.give(slot.port, u64::from(shared.pool.slot(frame).packet.size));
            }
        }
    }

    /// Brings the link up, if it is down.
    pub(crate) fn bring_up(&mut self) {
        let Queue::SlowPath(slow) = &mut self.queue else { return };
        slow.down = false;
        let SlowPath { discipline, slot, processing, .. } = &**slow;
        if let (&Discipline::Admission(AnyAdmission::DropTail(queue)), None, None) = (discipline, slot, processing) {
            self.queue = Queue::DropTail(queue);
            self.set_fast_path(queue.fast_path());
        }
    }

    fn refuse(&mut self, frame: FrameHandle, bytes: u64) -> Queued {
        self.dropped.count(bytes);
        Queued::Dropped(frame)
    }

    /// Transmits a frame whose turn it is, and tells the buffer when it leaves. Returns its arrival if it is the first.
    fn send(&mut self, now: Time, frame: FrameHandle, shared: &mut Shared<B>) -> Option<Time> {
        let size = shared.pool.slot(&frame).packet.size;
        let offered = self.transmit(now, frame, u64::from(size), &mut shared.pool);
        if let Some(slot) = self.slow().slot {
            shared.buffers[slot.buffer as usize].leaves(self.busy_until(), slot.port, size);
        }
        match offered {
            Offered::First(arrival) => Some(arrival),
            _ => None,
        }
    }

    /// Gives a frame to the scheduler, which may drop others for it, or gives it back.
    fn wait(&mut self, now: Time, frame: FrameHandle, bytes: u64, shared: &mut Shared<B>) -> Result<(), FrameHandle> {
        let already = shared.evicted.len();
        let SlowPath { discipline: Discipline::Scheduled(scheduler), backlog, slot, .. } = self.slow() else {
            unreachable!("only schedulers let frames wait");
        };
        let slot = *slot;
        let taken = scheduler.enqueue(frame, &mut waiting(now, backlog, shared));
        if taken.is_ok() {
            if let Some(slot) = slot {
                shared.buffers[slot.buffer as usize].take(slot.port, bytes);
            }
            self.accepted.count(bytes);
        }
        if let Discipline::Scheduled(AnyScheduler::Dcb(dcb)) = &mut self.slow().discipline {
            let marked = dcb.take_marked();
            self.marked += marked;
        }
        self.evict(already, shared);
        taken
    }

    /// The frame that the scheduler chooses.
    fn next(&mut self, now: Time, shared: &mut Shared<B>) -> Option<FrameHandle> {
        let already = shared.evicted.len();
        let SlowPath { discipline: Discipline::Scheduled(scheduler), backlog, .. } = self.slow() else {
            unreachable!("only schedulers have departures");
        };
        if let AnyScheduler::Dcb(dcb) = scheduler
            && let Some((hop, tos, tag)) = dcb.take_pause_frame(now)
        {
            return Some(self.make_pause_frame(hop, (tos, tag), shared));
        }
        let chosen = scheduler.dequeue(&mut waiting(now, backlog, shared));
        self.evict(already, shared);
        let Chosen { frame, marked, .. } = chosen?;
        self.marked += u64::from(marked);
        self.waited.add(now.since(shared.pool.slot(&frame).arrival));
        Some(frame)
    }

    /// A pause frame that ends at `hop`: the priorities that it is about, and those that it pauses.
    fn make_pause_frame(&mut self, hop: u32, (tos, tag): (u8, u8), shared: &mut Shared<B>) -> FrameHandle {
        let body = shared.pause_body.expect("it was set with the ports that send them");
        shared.pauses_sent += 1;
        self.accepted.count(u64::from(PAUSE_FRAME));
        shared.pool.insert(Packet { hop, size: PAUSE_FRAME, tos, tag, body })
    }

    /// The scheduler of a port of data-centre bridging.
    pub(crate) fn dcb(&mut self) -> &mut DcbPort {
        match &mut self.slow().discipline {
            Discipline::Scheduled(AnyScheduler::Dcb(dcb)) => dcb,
            _ => unreachable!("the caller knows"),
        }
    }

    /// The same, to look at.
    pub(crate) fn dcb_ref(&self) -> &DcbPort {
        match &self.queue {
            Queue::SlowPath(slow) => match &slow.discipline {
                Discipline::Scheduled(AnyScheduler::Dcb(dcb)) => dcb,
                _ => unreachable!("the caller knows"),
            },
            Queue::DropTail(_) => unreachable!("the caller knows"),
        }
    }

    /// Gives an empty port another queue.
    pub(crate) fn set_discipline(&mut self, discipline: Discipline) {
        self.queue = Queue::SlowPath(Box::new(SlowPath::new(discipline, None)));
        self.set_fast_path((0, 0));
    }

    /// Counts the frames that have been evicted since there were `already`.
    fn evict(&mut self, already: usize, shared: &mut Shared<B>) {
        let slot = self.slow().slot;
        for frame in &shared.evicted[already..] {
            let bytes = u64::from(shared.pool.slot(frame).packet.size);
            self.dropped.count(bytes);
            self.slow().evicted.count(bytes);
            if let Some(slot) = slot {
                shared.buffers[slot.buffer as usize].give(slot.port, bytes);
            }
        }
    }

    /// Sends the next frame if the line is free and one may leave, and says which events follow.
    pub(crate) fn proceed(&mut self, now: Time, shared: &mut Shared<B>) -> Due {
        if self.slow().due == Some(now) {
            return Due::NOTHING; // an event of this instant does it
        }
        let arrival = self.send_next(now, shared);
        Due { departure: self.plan(now), arrival }
    }

    /// Something has changed in the scheduler, and a frame may leave earlier than it was. Does nothing at ports that let
    /// no frame wait.
    pub(crate) fn wake(&mut self, now: Time, shared: &mut Shared<B>) -> Due {
        match &self.queue {
            Queue::SlowPath(slow) if matches!(slow.discipline, Discipline::Scheduled(_)) => self.proceed(now, shared),
            _ => Due::NOTHING,
        }
    }

    /// Sets, changes or lifts the limit of a port that may have one.
    pub(crate) fn limit(&mut self, now: Time, rate: Option<Rate>, shared: &mut Shared<B>) -> Due {
        let Discipline::Scheduled(AnyScheduler::Limited(queue)) = &mut self.slow().discipline else {
            panic!("a port that may be limited has a queue for it");
        };
        queue.set(now, rate, &shared.pool);
        self.proceed(now, shared)
    }

    fn send_next(&mut self, now: Time, shared: &mut Shared<B>) -> Option<Time> {
        if self.busy_until() > now {
            return None;
        }
        self.next(now, shared).and_then(|frame| self.send(now, frame, shared))
    }

    /// The departure event that has to be set, if the one that is set does not do.
    fn plan(&mut self, now: Time) -> Option<(Time, u32)> {
        let free = self.busy_until();
        let SlowPath { discipline: Discipline::Scheduled(scheduler), backlog, due, sequence, .. } = self.slow() else {
            unreachable!("only schedulers have departures");
        };
        let ready = scheduler.ready(backlog);
        if ready == Time::NEVER {
            return None;
        }
        let at = free.max(ready);
        assert!(at > now, "a frame that may leave over a free line has left");
        if due.is_some_and(|due| due <= at) {
            return None;
        }
        if due.replace(at).is_some() {
            *sequence = sequence.wrapping_add(1);
        }
        Some((at, *sequence))
    }

    /// Handles a departure event of the port: the line may be free for the next frame. Returns when the event is due
    /// again, and when the first arrival is.
    pub(crate) fn depart(&mut self, now: Time, sequence: u32, shared: &mut Shared<B>) -> (Option<Time>, Option<Time>) {
        let slow = self.slow();
        if slow.sequence != sequence || slow.due != Some(now) {
            return (None, None);
        }
        slow.due = None;
        let arrival = self.send_next(now, shared);
        (self.plan(now).map(|(at, _)| at), arrival)
    }

    /// The scheduler of a port that has one.
    #[cfg(test)]
    pub(crate) fn scheduler(&mut self) -> &mut AnyScheduler {
        match &mut self.slow().discipline {
            Discipline::Scheduled(scheduler) => scheduler,
            Discipline::Admission(_) => unreachable!("the caller knows"),
        }
    }
}

/// The frames that wait at a port, for its scheduler.
fn waiting<'a, B>(now: Time, backlog: &'a mut Backlog, shared: &'a mut Shared<B>) -> Waiting<'a, B> {
    Waiting { now, backlog, pool: &mut shared.pool, dropped: &mut shared.evicted }
}
