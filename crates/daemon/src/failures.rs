//! What fails again and again: how long to leave it alone, and when to speak of it.

use std::io;
use std::time::Duration;

/// The pause after a first failure; doubled with each that follows.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(10);
/// Without a failure for so long, the next one is a first one again.
const CALM: Duration = Duration::from_secs(60);

/// Failures of one thing. Times are since anything that does not go back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failures {
    count: u32,
    until: Duration,
}

impl Failures {
    /// It failed at `now`, and is left alone until [`Failures::due`]. Returns whether to speak of it: of the first of
    /// several only.
    pub fn add(&mut self, now: Duration) -> bool {
        if now >= self.until + CALM {
            self.count = 0;
        }
        self.until = now + PAUSE.saturating_mul(1 << self.count.min(16)).min(LONGEST);
        self.count = self.count.saturating_add(1);
        self.count == 1
    }

    /// Until when it is left alone; `None` if it does not have to be.
    pub fn due(&self, now: Duration) -> Option<Duration> {
        (self.count > 0 && now < self.until).then_some(self.until)
    }

    /// It works at `now`. Returns how often it failed before, once that is over for a while.
    pub fn works(&mut self, now: Duration) -> Option<u32> {
        if self.count == 0 || now < self.until + CALM {
            return None;
        }
        Some(std::mem::take(&mut self.count))
    }
}

/// What an error of `accept` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing to accept.
    Nothing,
    /// About the connection that was next: the following ones can be accepted.
    Connection,
    /// The process or the system has no room for another one now.
    Room,
    /// The socket does not listen any more.
    Socket,
}

/// The kind of `error`, which `accept` gave. Source: accept(2), "Error handling".
pub fn refusal(error: &io::Error) -> Refusal {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN) => Refusal::Nothing,
        Some(
            Errno::INTR
            | Errno::CONNABORTED
            | Errno::NETDOWN
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
            | Errno::PERM
            | Errno::TIMEDOUT,
        ) => Refusal::Connection,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Refusal::Room,
        _ => Refusal::Socket,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_only_the_first_failure_is_told() {
        let mut failures = Failures::default();
        let mut now = Duration::from_secs(100);
        assert_eq!((failures.due(now), failures.works(now)), (None, None));
        let mut pauses = Vec::new();
        let mut told = 0;
        for _ in 0..40 {
            told += u32::from(failures.add(now));
            let until = failures.due(now).unwrap();
            pauses.push(until.saturating_sub(now).as_millis());
            now = until;
            assert_eq!((failures.due(now), failures.works(now)), (None, None));
        }
        assert_eq!(told, 1);
        assert_eq!(pauses[..7], [200, 400, 800, 1600, 3200, 6400, 10_000]);
        assert_eq!(pauses[39], 10_000);
        // once it has worked for a while it is over, whether anyone asked or not
        let mut unasked = failures;
        assert_eq!(failures.works(now + CALM), Some(40));
        assert!(failures.add(now + CALM) && unasked.add(now + CALM));
    }
}
