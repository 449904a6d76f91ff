//! Failures take their course: what they change in the fabric, and who is told.

use headway_engine::{EventClass, Source};
use headway_units::Time;

use super::Simulation;
use crate::failures::{Failure, FailureState};

impl Simulation {
    /// Lets links fail. To be called once, before the first run.
    ///
    /// # Panics
    /// If something has happened already, a failure ends before it begins, or a link is not in the graph.
    pub fn set_failures(&mut self, failures: &[Failure]) {
        let env = &mut self.env;
        assert!(env.failures.is_none() && env.now == Time::ZERO && env.net.sent == 0, "failures are set once, first");
        let Some((first, state)) = FailureState::new(failures, &env.graph) else { return };
        env.net.queue.push(first, Source::new(EventClass::Change, 0), 0);
        env.failures = Some(Box::new(state));
    }

    /// Makes the changes of this instant.
    pub(super) fn on_change(&mut self, now: Time) {
        let env = &mut self.env;
        let Some(failures) = &mut env.failures else { unreachable!("a change means failures") };
        let made = failures.make_changes(now, &env.graph, &mut env.net);
        match made.next {
            Some(time) => env.net.queue.reschedule(time),
            None => env.net.queue.pop(),
        }
        while let Some((end, frame)) = self.env.net.fabric.evicted() {
            self.on_discard(end, &frame);
        }
        if self.roce.holds() {
            self.roce.let_go(now, None, &mut self.env);
        }
        if made.learnt {
            self.tcp.reroute(&mut self.env);
            self.datagrams.reroute(&mut self.env);
            self.roce.reroute(&mut self.env);
            // Resolved routes stay: frames may be on their way on them.
            if let Some(external) = &mut self.external {
                external.routes.clear();
            }
        }
        for link in made.lost {
            self.tcp.on_carrier(now, link, false, &mut self.env);
        }
        for link in made.back {
            self.tcp.on_carrier(now, link, true, &mut self.env);
        }
    }
}
