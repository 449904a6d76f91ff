//! What forwarding takes: the one processor of a relay, which does one piece of work after the other.
//!
//! Work is taking a connection in, and moving up to 64 KiB from one side to the other. It is served in the order in which
//! it came; a way that has more goes to the end of the line. What a piece moves has left the receive buffer when the
//! processor is through with it. Only relays whose work costs something have events for it.

use std::collections::VecDeque;

use headway_engine::{EventClass, EventQueue, Source};
use headway_units::{Span, Time};

use super::session::Way;

/// What is moved at once.
pub(super) const CHUNK: u64 = 64 << 10;

/// A piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    /// Place and serial number of the session, which may be over by then.
    pub session: (u32, u32),
    /// Where in its chain the relay is.
    pub stop: usize,
    pub task: Task,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Take a connection in.
    Admit,
    /// Move data.
    Move(Way),
}

/// The processor of one relay host.
#[derive(Debug, Default)]
pub(super) struct Processor {
    line: VecDeque<Job>,
    /// The piece under way and the bytes that it moves.
    current: Option<(Job, u64)>,
    /// Pieces begun: tells events apart.
    number: u32,
}

impl Processor {
    pub fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    pub fn add(&mut self, job: Job) {
        self.line.push_back(job);
    }

    pub fn next(&mut self) -> Option<Job> {
        self.line.pop_front()
    }

    /// Begins a piece of work that takes `span`.
    pub fn begin(&mut self, now: Time, number: u32, piece: (Job, u64), span: Span, queue: &mut EventQueue) {
        debug_assert!(self.is_idle());
        self.number = self.number.wrapping_add(1);
        self.current = Some(piece);
        queue.push(now.saturating_add(span), Source::new(EventClass::Relay, number), self.number);
    }

    /// A piece is done, unless it was begun before a crash.
    pub fn end(&mut self, sequence: u32) -> Option<(Job, u64)> {
        if sequence == self.number { self.current.take() } else { None }
    }

    /// Work on a session at `stop` is another session's from now on.
    pub fn hand_over(&mut self, stop: usize, from: (u32, u32), to: (u32, u32)) {
        let current = self.current.as_mut().map(|(job, _)| job);
        for job in self.line.iter_mut().chain(current).filter(|job| job.stop == stop && job.session == from) {
            job.session = to;
        }
    }

    /// All its work is lost in a crash.
    pub fn clear(&mut self) {
        self.line.clear();
        self.current = None;
        self.number = self.number.wrapping_add(1);
    }
}
