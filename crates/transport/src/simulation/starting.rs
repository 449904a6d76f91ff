//! Flows start when an application says so, which may be when others have completed.

use std::collections::BTreeSet;

use headway_engine::Source;
use headway_units::{Span, Time};

use super::{Simulation, Stopped};
use crate::application::Application;
use crate::network::class;

/// What an application is to be told, and when it acts.
#[derive(Debug, Default)]
pub(super) struct Starting {
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
}

/// An application learns so much later that a flow has completed: in the next instant, whatever part of the simulator
/// saw the last byte in.
const NOTICE: Span = Span::from_picos(1);

impl Simulation {
    /// Sets the event for what starts flows from now on.
    pub(super) fn begin(&mut self, application: &mut dyn Application) {
        self.starting.listens = application.listens();
        let next = application.next();
        self.attend_at(next.min(self.starting.notice()));
    }

    fn attend_at(&mut self, time: Time) {
        self.starting.number += 1;
        if time != Time::NEVER && self.starting.due.insert(time) {
            self.net.queue.push(time, Source::new(class::FLOW_START, 0), self.starting.number);
        }
    }

    /// Tells the application what has completed, and lets it act if its time has come.
    pub(super) fn attend(&mut self, now: Time, application: &mut dyn Application) -> Result<(), Stopped> {
        self.starting.due.remove(&now);
        // What has completed at this very instant is told at the next one, also if the application acts now.
        let known = self.starting.completed.partition_point(|&(at, _)| at < now);
        for (at, id) in self.starting.completed.drain(..known) {
            application.completed(at, id);
        }
        if application.next() <= now
            && let Some(start) = application.act(now)
        {
            assert_eq!(start.time, now, "starts come in order of time");
            self.start_flow(now, start)?;
        }
        let next = application.next().max(now);
        self.attend_at(next.min(self.starting.notice()));
        Ok(())
    }

    /// A flow that the application may wait for is complete.
    #[cold]
    pub(super) fn note_completed(&mut self, now: Time, flow: u32) {
        self.starting.completed.push((now, self.flows[flow as usize].start.id));
        self.attend_at(now.saturating_add(NOTICE));
    }
}
