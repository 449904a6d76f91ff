//! Time and bytes of a line, and gap frames under way.

use headway_control::pacing::{GapFrames, Line};
use headway_units::{Bytes, Span, Time};

/// How far a line is: until when it is taken, and the bytes that have gone by then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub free: Time,
    pub position: u64,
}

impl Progress {
    /// The line was idle until `now`, if it is not taken.
    pub fn idle_until(&mut self, now: Time, line: &Line) {
        if now > self.free {
            // rounded down: who waits for a position waits up to a byte longer
            self.position += line.rate().bytes_in(now.since(self.free)).get();
            self.free = now;
        }
    }

    /// A frame takes so many bytes of the line, from where it is free.
    pub fn occupy(&mut self, bytes: u64, line: &Line) {
        self.free = self.free.saturating_add(taken(bytes, line));
        self.position += bytes;
    }
}

/// How long so many bytes take, as a port has it: rounded up for each frame.
fn taken(bytes: u64, line: &Line) -> Span {
    line.rate().transmission(Bytes::new(bytes))
}

/// Gap frames that follow each other from `begin` on, without an event for each.
#[derive(Debug, Clone, Copy)]
pub(super) struct GapRun {
    begin: Progress,
    frames: GapFrames,
    pub end: Progress,
}

/// What of a run has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub frames: u64,
    /// Where the last of them ends.
    pub end: Progress,
}

impl GapRun {
    pub fn new(begin: Progress, frames: GapFrames, line: &Line) -> GapRun {
        let mut end = begin;
        for (count, bytes) in frames.runs() {
            end.free = end.free.saturating_add(taken(bytes, line).saturating_mul(count));
            end.position += bytes * count;
        }
        GapRun { begin, frames, end }
    }

    /// The frames of it that began before `now`.
    pub fn begun(&self, now: Time, line: &Line) -> Begun {
        let mut begun = Begun { frames: 0, end: self.begin };
        for (count, bytes) in self.frames.runs() {
            if now <= begun.end.free {
                break;
            }
            let each = taken(bytes, line);
            let many = now.since(begun.end.free).picos().div_ceil(each.picos()).min(count);
            begun.frames += many;
            begun.end.free = begun.end.free.saturating_add(each.saturating_mul(many));
            begun.end.position += bytes * many;
            if many < count {
                break;
            }
        }
        begun
    }
}
