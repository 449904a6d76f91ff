//! Limits on ports are set, by time or by a controller.

use headway_engine::{EventClass, Source};
use headway_units::{Rate, Time};

use super::Simulation;
use crate::metering::{Metered, MeteredPort, Metering, MeteringState};

/// The entity of readings for a controller.
const READING: u32 = 0;
/// The entity of limits that are set at times.
const SETTING: u32 = 1;

impl Simulation {
    /// Lets ports be limited. To be called once, before the first run.
    ///
    /// # Panics
    /// If something has happened already, a port that is limited has no queue for it in the graph, changes are not in
    /// order of time, or the interval of readings is zero.
    pub fn set_metering(&mut self, metering: Metering) {
        let net = &mut self.env.net;
        assert!(self.metering.is_none() && self.env.now == Time::ZERO && net.sent == 0, "metering is set once, first");
        let state = MeteringState::new(metering, &self.env.graph, &mut net.fabric);
        if let Some(interval) = state.interval() {
            assert!(!interval.is_zero(), "readings have a distance");
            net.queue.push(self.env.now + interval, Source::new(EventClass::Control, READING), 0);
        }
        if let Some(first) = state.next_change() {
            net.queue.push(first, Source::new(EventClass::Control, SETTING), 0);
        }
        self.metering = Some(Box::new(state));
    }

    /// Limits may be set at this instant.
    pub(super) fn on_control(&mut self, now: Time, entity: u32) {
        let Some(state) = &mut self.metering else { unreachable!("events of control mean metering") };
        let net = &mut self.env.net;
        let (changes, next) = if entity == READING {
            let changes = state.control(now, &mut net.fabric);
            (changes, state.interval().map(|interval| now.saturating_add(interval)))
        } else {
            (state.changes(now), state.next_change())
        };
        match next {
            Some(time) => net.queue.reschedule(time),
            None => net.queue.pop(),
        }
        for (port, limit) in changes {
            self.limit(now, port, limit);
        }
        while let Some((end, frame)) = self.env.net.fabric.evicted() {
            self.on_discard(end, &frame);
        }
    }

    fn limit(&mut self, now: Time, port: MeteredPort, limit: Option<Rate>) {
        let net = &mut self.env.net;
        match (port.metered, port.queue()) {
            (Metered::Nothing, _) => {}
            (_, Some((link, _))) => net.fabric.limit(&mut net.queue, now, link, limit),
            (_, None) => net.fabric.police(now, port.out.reverse(), limit),
        }
    }
}
