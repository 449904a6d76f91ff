//! Who sends next over an interface: queue pairs take turns, each as soon as its rate lets it.
//!
//! The card gives its port one frame, and the next one when that has left. So its queue never holds more than one data frame
//! of queue pairs and priority, and what stops the port stops them: while the last one waits, because others go first or
//! because the port is paused, queue pairs of its priority are held back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use headway_engine::{EventQueue, Source};
use headway_units::{Bytes, Time};

/// How many priorities there are.
const PRIORITIES: usize = 8;

/// One interface.
#[derive(Debug)]
pub(super) struct Interface {
    /// When its last frame has left the port.
    pub free: Time,
    /// Queue pairs that may send now, in the order of their turns.
    ready: VecDeque<u32>,
    /// Those that may send, behind a frame of the card that waits at the port.
    held: Vec<u32>,
    /// By priority, bytes that had joined the port's queue with the last data frame: it waits until so many are gone.
    joined: [Bytes; PRIORITIES],
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
        Interface {
            free: Time::ZERO,
            ready: VecDeque::new(),
            held: Vec::new(),
            joined: [Bytes::ZERO; PRIORITIES],
            later: BinaryHeap::new(),
            armed: Time::NEVER,
            sequence: 0,
            firing: false,
            source,
        }
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

    /// Whether the last data frame of a priority waits at a port of which so many bytes are gone.
    pub fn waits(&self, priority: u8, gone: Bytes) -> bool {
        gone < self.joined[usize::from(priority)]
    }

    /// A data frame has been given to the port, whose queue so many bytes had joined before it and have after it. One that
    /// was dropped there does not wait.
    pub fn gave(&mut self, priority: u8, before: Bytes, after: Bytes) {
        if after > before {
            self.joined[usize::from(priority)] = after;
        }
    }

    /// A frame of this queue pair's priority waits at the port: it is held back until something leaves.
    pub fn hold(&mut self, pair: u32) {
        self.held.push(pair);
    }

    /// Something has left the port: those that were held back may try again, in their order. Says how many there are.
    pub fn let_go(&mut self) -> usize {
        let held = self.held.len();
        for pair in self.held.drain(..).rev() {
            self.ready.push_front(pair);
        }
        held
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
