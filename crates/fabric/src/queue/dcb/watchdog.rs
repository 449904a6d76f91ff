//! The watchdog of pauses: what has waited for too long behind a pause does not wait for ever.
//!
//! A priority that is paused, without a break, and has frames that wait for `detect` is stuck. Until it has not been
//! paused for `restore`, its frames are dropped or sent in spite of pauses. This is what SONiC does (its design document
//! "PFC watchdog"), where both times are multiples of a polling interval; here they are exact, from the first look of the
//! port on: when a frame comes, or when the one that was being transmitted as the pause took effect has left.

use headway_units::Time;

use super::spec::{Watchdog, WatchdogAction};

/// The watchdog of one priority of a port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guard {
    /// Since when frames wait behind a pause.
    since: Option<Time>,
    /// It is stuck, and the pause, if there has been one since, ended then.
    stuck: Option<Time>,
}

impl Guard {
    pub const WATCHING: Guard = Guard { since: None, stuck: None };

    /// Looks at a priority that is `paused` up to `until` and of which frames wait or not. Says whether it has become
    /// stuck now.
    pub fn look(&mut self, now: Time, spec: &Watchdog, (paused, until): (bool, Time), waits: bool) -> bool {
        if let Some(end) = &mut self.stuck {
            *end = (*end).max(until.min(now));
            if !paused && end.saturating_add(spec.restore) <= now {
                self.stuck = None;
            }
        }
        if !paused || !waits || self.stuck.is_some() {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let trips = since.saturating_add(spec.detect) <= now;
        if trips {
            (self.since, self.stuck) = (None, Some(now));
        }
        trips
    }

    /// When it looks again, if nothing happens.
    pub fn next(&self, spec: &Watchdog) -> Time {
        self.since.map_or(Time::NEVER, |since| since.saturating_add(spec.detect))
    }

    pub fn is_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    /// Whether frames of the priority are dropped.
    pub fn drops(&self, spec: &Watchdog) -> bool {
        self.is_stuck() && spec.action == WatchdogAction::Drop
    }
}
