//! A clock that never ends.

use std::time::{Duration, Instant};

use headway_units::{Span, Time};

/// The time that a daemon's decisions see. [`Time`] ends after 213 days, so it begins anew after 100 days. What is as old as the
/// daemon may be goes by [`Clock::uptime`].
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    epoch: Instant,
}

impl Clock {
    /// 100 days.
    const LIFE: Duration = Duration::from_secs(100 * 24 * 3600);
    /// So much is before its beginning, for what is older: 50 days.
    const BEFORE: Span = Span::from_secs(50 * 24 * 3600);
    /// The event loop looks at it at least once a day.
    pub(crate) const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

    /// At its beginning.
    pub(crate) fn new() -> Clock {
        let now = Instant::now();
        Clock { start: now, epoch: now }
    }

    /// The time now.
    pub fn now(self) -> Time {
        let nanos = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX / 1000);
        Time::ZERO.saturating_add(Clock::BEFORE).saturating_add(Span::from_nanos(nanos))
    }

    /// Since the daemon's start; never begins anew.
    pub fn uptime(self) -> Duration {
        self.start.elapsed()
    }

    /// Begins anew if it is time. Returns what was the time before.
    pub(crate) fn renew(&mut self) -> Option<Time> {
        let then = self.now();
        (self.epoch.elapsed() >= Clock::LIFE).then(|| self.epoch = Instant::now()).map(|()| then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_begins_anew_after_100_days_and_the_uptime_does_not() {
        let days = |n: u64| Duration::from_secs(n * 24 * 3600);
        let span = |time: Time| Duration::from_nanos(time.since(Time::ZERO).nanos());
        let ago = Instant::now().checked_sub(days(99)).unwrap();
        let mut clock = Clock { start: ago, epoch: ago };
        assert_eq!(clock.renew(), None);
        assert!((days(149)..days(150)).contains(&span(clock.now())));
        // however late it is looked at, `Time` is far from its end
        let latest = Clock::LIFE + Clock::MAX_WAIT + Duration::from_nanos(Clock::BEFORE.nanos());
        assert!(Duration::from_nanos(Span::MAX.nanos()) > latest + days(60));
        clock.start = Instant::now().checked_sub(days(250)).unwrap();
        clock.epoch = Instant::now().checked_sub(days(100)).unwrap();
        let then = clock.renew().unwrap();
        assert!(span(then) >= days(150) && clock.uptime() >= days(250));
        // a connection may be older than the clock
        assert!(clock.renew().is_none() && span(clock.now()) >= days(50) && span(clock.now()) < days(51));
    }
}
