//! Somebody is told how far a run is, between its events.
//!
//! The loop runs up to a time and then tells; how far each stretch goes follows from the events of the one before, so that
//! neither a run in which nothing happens nor one in which all does is told of too often or too rarely. Events, their
//! order and so results are the same.

use std::fmt;

use headway_units::{Span, Time};

use super::{Simulation, Stopped};
use crate::application::Application;
use crate::external::ExternalError;

/// Events between two calls, about: some milliseconds, and flows that take some tens of megabytes at most.
const EVENTS: u64 = 20_000;
/// A stretch is no longer than this part of a run, in which nothing may have happened and everything may begin.
const LONGEST: u64 = 256;
/// And at first than this.
const FIRST: u64 = 1 << 20;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Virtual time.
    pub now: Time,
    /// Frames that have crossed a link.
    pub hops: u64,
    /// Flows that have ended.
    pub done: usize,
    /// Flows that have started and not ended.
    pub open: usize,
    /// Samples that were taken.
    pub samples: usize,
}

/// Is told; an error ends the run.
pub type Observe = Box<dyn FnMut(Progress) -> Result<(), ExternalError> + Send>;

/// Who is told, and when next.
pub(super) struct Observer {
    observe: Observe,
    /// The length of the next stretch; nothing before the first.
    stretch: Span,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("stretch", &self.stretch).finish_non_exhaustive()
    }
}

impl Observer {
    /// After a stretch with so many events.
    fn adapt(&mut self, events: u64, whole: Span) {
        let most = Span::from_picos((whole.picos() / LONGEST).max(1));
        self.stretch = match events {
            0..EVENTS if events < EVENTS / 2 => self.stretch.saturating_mul(2).min(most),
            0..=EVENTS => self.stretch,
            _ => Span::from_picos((self.stretch.picos() / (events / EVENTS + 1)).max(1)),
        };
    }
}

impl Simulation {
    /// Tells `observe` from now on how far the run is, every some ten thousand events. An error of it ends the run
    /// with [`Stopped::External`].
    pub fn observe(&mut self, observe: Observe) {
        self.observer = Some(Box::new(Observer { observe, stretch: Span::ZERO }));
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let flows = &self.env.flows;
        Progress {
            now: self.env.now,
            hops: self.env.net.fabric.hops(),
            done: flows.ended.len(),
            open: flows.open(),
            samples: self.samples.len(),
        }
    }

    /// Handles all events until `end`, those at `end` included, and tells the observer if there is one.
    pub(super) fn advance(&mut self, end: Time, application: &mut dyn Application) -> Result<(), Stopped> {
        let Some(mut observer) = self.observer.take() else { return self.handle_events(end, application) };
        let whole = end.since(Time::ZERO);
        if observer.stretch.is_zero() {
            observer.stretch = Span::from_picos((whole.picos() / FIRST).max(1));
        }
        let result = loop {
            let until = self.env.now.saturating_add(observer.stretch).min(end);
            let before = self.env.net.queue.taken();
            let handled = self.handle_events(until, application);
            observer.adapt(self.env.net.queue.taken() - before, whole);
            let told = handled.and_then(|()| (observer.observe)(self.progress()).map_err(Stopped::External));
            if told.is_err() || self.env.now >= end {
                break told;
            }
        };
        self.observer = Some(observer);
        result
    }
}
