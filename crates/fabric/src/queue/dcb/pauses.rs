//! Pauses: those that a port obeys, and those that it asks its peer for.

use std::collections::VecDeque;

use headway_units::{Span, Time};

use super::spec::{LosslessSpec, PRIORITIES};

/// A pause frame that has arrived and has no effect yet.
#[derive(Debug, Clone, Copy)]
struct Heard {
    effective: Time,
    /// The priorities that it is about.
    about: u8,
    /// Those of them that it pauses; the others may go on.
    pauses: u8,
}

/// How the priorities of a port are paused.
#[derive(Debug)]
pub(super) struct Paused {
    /// Up to when each is.
    until: [Time; PRIORITIES],
    /// Since when each is, without a break.
    since: [Option<Time>; PRIORITIES],
    /// For how long each has been, before that.
    before: [Span; PRIORITIES],
    heard: VecDeque<Heard>,
    /// How long a pause lasts.
    lasts: Span,
    response: Span,
    /// Up to when what was heard has had its effect.
    settled: Time,
}

impl Paused {
    /// Nothing is paused; a pause lasts `lasts`.
    pub fn new(lasts: Span, response: Span) -> Paused {
        Paused {
            until: [Time::ZERO; PRIORITIES],
            since: [None; PRIORITIES],
            before: [Span::ZERO; PRIORITIES],
            heard: VecDeque::new(),
            lasts,
            response,
            settled: Time::ZERO,
        }
    }

    /// A pause frame has arrived.
    pub fn hear(&mut self, now: Time, about: u8, pauses: u8) {
        self.heard.push_back(Heard { effective: now.saturating_add(self.response), about, pauses });
        self.settle(now);
    }

    /// What was heard has its effect.
    pub fn settle(&mut self, now: Time) {
        while let Some(&Heard { effective, about, pauses }) = self.heard.front().filter(|own| own.effective <= now) {
            self.heard.pop_front();
            self.end(effective);
            for at in (0..PRIORITIES).filter(|at| about >> at & 1 == 1) {
                if pauses >> at & 1 == 1 {
                    self.until[at] = effective.saturating_add(self.lasts);
                    self.since[at].get_or_insert(effective);
                } else {
                    self.until[at] = effective;
                    self.end_one(at, effective);
                }
            }
        }
        self.end(now);
        self.settled = now;
    }

    /// Pauses that are over by `now` end.
    fn end(&mut self, now: Time) {
        for at in 0..PRIORITIES {
            if self.until[at] <= now {
                self.end_one(at, self.until[at]);
            }
        }
    }

    fn end_one(&mut self, at: usize, end: Time) {
        if let Some(since) = self.since[at].take() {
            self.before[at] += end.since(since);
        }
    }

    /// Whether a priority is paused, as of the last time things were settled.
    pub fn is(&self, priority: usize) -> bool {
        self.until[priority] > self.settled
    }

    /// Up to when a priority is paused, by what has had its effect.
    pub fn until(&self, priority: usize) -> Time {
        self.until[priority]
    }

    /// When something that was heard has its effect.
    pub fn next(&self) -> Time {
        self.heard.front().map_or(Time::NEVER, |own| own.effective)
    }

    /// For how long each priority has been paused by `now`.
    pub fn times(&self, now: Time) -> [Span; PRIORITIES] {
        std::array::from_fn(|at| {
            let current = self.since[at].map_or(Span::ZERO, |since| now.min(self.until[at]).since(since));
            self.before[at] + current
        })
    }

    /// The link is down: nothing is paused any more.
    pub fn forget(&mut self, now: Time) {
        self.settle(now);
        self.heard.clear();
        for at in 0..PRIORITIES {
            self.until[at] = self.until[at].min(now);
            self.end_one(at, now);
        }
    }
}

/// What a port asks of its peer, in pause frames that it sends as soon as its line is free.
#[derive(Debug)]
pub(super) struct Asks {
    /// Accounts whose sender is to pause.
    pub wanted: u8,
    /// Accounts that the peer has to be told of.
    news: u8,
    /// When pauses are asked for again, so that they do not run out.
    again: Time,
    /// The time from one pause frame to the next: half of what the peer's pauses last.
    interval: Span,
    /// A pause was asked for again.
    repeated: bool,
    /// Frames that asked for a pause.
    pub pauses: u64,
    /// Frames that only let go on.
    pub resumes: u64,
}

impl Asks {
    pub fn new(interval: Span) -> Asks {
        Asks { wanted: 0, news: 0, again: Time::NEVER, interval, repeated: false, pauses: 0, resumes: 0 }
    }

    /// The sender of `account` is to pause, or may go on.
    pub fn ask(&mut self, account: u8, pause: bool) {
        self.news |= 1 << account;
        self.wanted = self.wanted & !(1 << account) | u8::from(pause) << account;
    }

    /// When a pause frame is due.
    pub fn ready(&self) -> Time {
        if self.news != 0 { Time::ZERO } else { self.again }
    }

    /// The pause frame that leaves now, if one is due: the accounts that it is about, and those that it pauses.
    pub fn take(&mut self, now: Time) -> Option<(u8, u8)> {
        if self.ready() > now {
            return None;
        }
        let about = self.news | self.wanted;
        self.repeated |= self.news == 0;
        self.news = 0;
        self.again = if self.wanted == 0 { Time::NEVER } else { now.saturating_add(self.interval) };
        *if self.wanted == 0 { &mut self.resumes } else { &mut self.pauses } += 1;
        Some((about, self.wanted))
    }

    /// Whether a pause was asked for again since the last call: if so, the time from one frame to the next.
    pub fn take_repeated(&mut self) -> Option<Span> {
        std::mem::take(&mut self.repeated).then_some(self.interval)
    }

    /// The link is down: the peer has forgotten, and so does the port.
    pub fn forget(&mut self) {
        (self.wanted, self.news, self.again) = (0, 0, Time::NEVER);
    }
}

/// The priorities that accounts stop.
pub(super) fn stopped(spec: &LosslessSpec, accounts: u8) -> u8 {
    (0..PRIORITIES as u8).filter(|at| accounts >> at & 1 == 1).fold(0, |all, at| all | spec.stops(at))
}
