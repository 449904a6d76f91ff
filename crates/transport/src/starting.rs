//! Flows start when an application says so, which may be when others have completed.

use std::collections::BTreeSet;

use headway_engine::{EventClass, EventQueue, Source};
use headway_units::{Span, Time};

/// What an application is to be told, and when it acts.
#[derive(Debug, Default)]
pub(crate) struct Starting {
    /// The times that have an event. One that turns out too early does no harm, and one that is still to come serves
    /// again, so a time has one event however often it is asked for.
    due: BTreeSet<Time>,
    /// Events set so far: tells those of one time apart.
    number: u32,
    /// The application wants to know what completes.
    pub listens: bool,
    /// What has completed and it does not know, in order of time.
    completed: Vec<(Time, u64)>,
}

impl Starting {
    /// When the application has to be told of something.
    fn notice(&self) -> Time {
        self.completed.first().map_or(Time::NEVER, |&(at, _)| at.saturating_add(NOTICE))
    }

    /// Sets the event for what the application does at `time`.
    pub fn attend_at(&mut self, time: Time, queue: &mut EventQueue) {
        self.number += 1;
        if time != Time::NEVER && self.due.insert(time) {
            queue.push(time, Source::new(EventClass::FlowStart, 0), self.number);
        }
    }

    /// The application is there: sets the event for what it does from `next` on.
    pub fn begin(&mut self, listens: bool, next: Time, queue: &mut EventQueue) {
        self.listens = listens;
        self.attend_at(next.min(self.notice()), queue);
    }

    /// The event of this instant is being handled; gives what has completed before, in order.
    pub fn take_completed(&mut self, now: Time) -> Vec<(Time, u64)> {
        self.due.remove(&now);
        // What has completed at this very instant is told at the next one, also if the application acts now.
        let known = self.completed.partition_point(|&(at, _)| at < now);
        self.completed.drain(..known).collect()
    }

    /// Sets the event for what the application does next, at `next`, or is to be told before.
    pub fn go_on(&mut self, next: Time, queue: &mut EventQueue) {
        self.attend_at(next.min(self.notice()), queue);
    }

    /// A flow, called `id`, that the application may wait for is complete.
    #[cold]
    pub fn note_completed(&mut self, now: Time, id: u64, queue: &mut EventQueue) {
        self.completed.push((now, id));
        self.attend_at(now.saturating_add(NOTICE), queue);
    }
}

/// An application learns so much later that a flow has completed: in the next instant, whatever part of the simulator
/// saw the last byte in.
const NOTICE: Span = Span::from_picos(1);
