//! Who sends next over an interface: queue pairs take turns, each as soon as its rate lets it.
//!
//! The card gives its port one frame, and the next one when that has left. So its queue never holds more than one frame of
//! queue pairs, and what stops the port stops them: where frames of their priority
//! wait at the port, because others go first or because it is paused, queue pairs are held back until something leaves.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use headway_engine::{EventQueue, Source};
use headway_units::Time;

/// One interface.
#[derive(Debug)]
pub(super) struct Interface {
    /// When its last frame has left the port.
    pub free: Time,
    /// Queue pairs that may send now, in the order of their turns.
    ready: VecDeque<u32>,
    /// Those that may send, behind a frame that waits at the port.
    held: Vec<u32>,
    /// Those that may send later.
    later: BinaryHeap<Reverse<(Time, u32)>>,
    /// When the event is that counts, and its number.
    armed: Time,
    sequence: u32,
    /// Its event is being handled.
    firing: bool,
    source: Source,
}

impl Interface {
    pub fn new(source: Source) -> Interface {
        let (ready, held, later) = (VecDeque::new(), Vec::new(), BinaryHeap::new());
        Interface { free: Time::ZERO, ready, held, later, armed: Time::NEVER, sequence: 0, firing: false, source }
    }

    /// A queue pair, which is not in line, is to send from `at` on.
    pub fn join(&mut self, now: Time, at: Time, pair: u32) {
        if at <= now {
            self.ready.push_back(pair);
        } else {
            self.later.push(Reverse((at, pair)));
        }
    }

    /// The queue pair whose turn it is, which leaves the line.
    pub fn take(&mut self, now: Time) -> Option<u32> {
        while let Some(&Reverse((at, pair))) = self.later.peek()
            && at <= now
        {
            self.later.pop();
            self.ready.push_back(pair);
        }
        self.ready.pop_front()
    }

    /// A frame of this queue pair's priority waits at the port: it is held back until something leaves.
    pub fn hold(&mut self, pair: u32) {
        self.held.push(pair);
    }

    /// Something has left the port: those that were held back may try again, in their order. Says whether there are any.
    pub fn let_go(&mut self) -> bool {
        for pair in self.held.drain(..).rev() {
            self.ready.push_front(pair);
        }
        !self.ready.is_empty()
    }

    /// When something can be sent next.
    fn next(&self, now: Time) -> Option<Time> {
        let first = if self.ready.is_empty() { self.later.peek().map(|&Reverse((at, _))| at) } else { Some(now) };
        first.map(|at| at.max(self.free))
    }

    /// Sets the event, if what comes next is earlier than it.
    pub fn arm(&mut self, now: Time, queue: &mut EventQueue) {
        // the event that is being handled moves when all is done
        if !self.firing
            && let Some(at) = self.next(now)
            && at < self.armed
        {
            self.armed = at;
            self.sequence = self.sequence.wrapping_add(1);
            queue.push(at, self.source, self.sequence);
        }
    }

    /// Whether an event of this number counts; one that does not is taken.
    pub fn fire(&mut self, sequence: u32, queue: &mut EventQueue) -> bool {
        let counts = sequence == self.sequence;
        self.firing = counts;
        if !counts {
            queue.pop();
        }
        counts
    }

    /// Moves the event that counts, the earliest, to what comes next.
    pub fn rearm(&mut self, now: Time, queue: &mut EventQueue) {
        self.firing = false;
        if let Some(at) = self.next(now) {
            self.armed = at;
            queue.reschedule(at);
        } else {
            self.armed = Time::NEVER;
            queue.pop();
        }
    }
}
