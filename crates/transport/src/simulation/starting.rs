//! Flows start when an application says so, which may be when others have completed.

use std::collections::BTreeSet;

use headway_engine::{EventClass, EventQueue, Source};
use headway_units::{Span, Time};

use super::{Simulation, Stopped};
use crate::application::Application;

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

impl Simulation {
    /// Sets the event for what starts flows from now on.
    pub(super) fn begin(&mut self, application: &mut dyn Application) {
        let starting = &mut self.env.starting;
        starting.listens = application.listens();
        let next = application.next();
        starting.attend_at(next.min(starting.notice()), &mut self.env.net.queue);
    }

    /// Tells the application what has completed, and lets it act if its time has come.
    pub(super) fn attend(&mut self, now: Time, application: &mut dyn Application) -> Result<(), Stopped> {
        let starting = &mut self.env.starting;
        starting.due.remove(&now);
        // What has completed at this very instant is told at the next one, also if the application acts now.
        let known = starting.completed.partition_point(|&(at, _)| at < now);
        for (at, id) in starting.completed.drain(..known) {
            application.completed(at, id);
        }
        if application.next() <= now {
            application.act_on_sockets(now, &mut self.sockets());
        }
        if application.next() <= now
            && let Some(start) = application.act(now)
        {
            assert_eq!(start.time, now, "starts come in order of time");
            self.start_flow(now, start)?;
        }
        let next = application.next().max(now);
        let starting = &mut self.env.starting;
        starting.attend_at(next.min(starting.notice()), &mut self.env.net.queue);
        Ok(())
    }
}
