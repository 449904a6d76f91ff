//! The application starts flows, acts on sockets, and hears of what is complete.

use headway_units::Time;

use super::{Simulation, Stopped};
use crate::application::Application;

impl Simulation {
    /// Sets the event for what starts flows from now on.
    pub(super) fn begin(&mut self, application: &mut dyn Application) {
        let (listens, next) = (application.listens(), application.next());
        self.env.starting.begin(listens, next, &mut self.env.net.queue);
    }

    /// Tells the application what has completed, and lets it act if its time has come.
    pub(super) fn attend(&mut self, now: Time, application: &mut dyn Application) -> Result<(), Stopped> {
        for (at, id) in self.env.starting.take_completed(now) {
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
        self.env.starting.go_on(application.next().max(now), &mut self.env.net.queue);
        Ok(())
    }
}
