//! How far the runs under way are: written by the threads that run them, read by whoever shows it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_transport::Progress;
use headway_units::Time;

/// The runs under way. Clones are of the same.
#[derive(Debug, Clone, Default)]
pub struct Live(Arc<Board>);

#[derive(Debug, Default)]
struct Board {
    runs: Mutex<Vec<Arc<Run>>>,
    /// Of runs that are over.
    hops: AtomicU64,
    flows: AtomicU64,
}

/// One run. Each number is looked at alone, so they need not be of one moment.
#[derive(Debug, Default)]
struct Run {
    end: u64,
    now: AtomicU64,
    hops: AtomicU64,
    done: AtomicU64,
    open: AtomicU64,
    samples: AtomicU64,
}

/// All runs under way at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Look {
    /// How many.
    pub runs: usize,
    /// The sum of the parts of their virtual time that have passed, each from 0 to 1.
    pub passed: f64,
    /// Of the one that is furthest behind: the virtual time, and its end.
    pub last: Option<(Time, Time)>,
    /// Flows of theirs that have ended.
    pub done: u64,
    /// Flows of theirs that have begun and not ended.
    pub open: u64,
    /// Samples that they have taken.
    pub samples: u64,
    /// Frames that have crossed a link, those of runs that are over included.
    pub hops: u64,
    /// Flows of runs that are over.
    pub earlier: u64,
}

/// Tells of one run; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    live: Live,
    run: Arc<Run>,
}

impl Live {
    fn runs(&self) -> MutexGuard<'_, Vec<Arc<Run>>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins that ends at `end`.
    pub(crate) fn begin(&self, end: Time) -> Running {
        let run = Arc::new(Run { end: end.picos(), ..Run::default() });
        self.runs().push(Arc::clone(&run));
        Running { live: self.clone(), run }
    }

    /// How far all runs under way are.
    pub fn look(&self) -> Look {
        let runs = self.runs();
        let mut look = Look {
            runs: runs.len(),
            hops: self.0.hops.load(Ordering::Relaxed),
            earlier: self.0.flows.load(Ordering::Relaxed),
            ..Look::default()
        };
        for run in runs.iter() {
            let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
            let now = read(&run.now);
            look.passed += (now as f64 / run.end.max(1) as f64).min(1.0);
            let own = (Time::from_picos(now), Time::from_picos(run.end));
            look.last = Some(look.last.map_or(own, |last| last.min(own)));
            look.done += read(&run.done);
            look.open += read(&run.open);
            look.samples += read(&run.samples);
            look.hops += read(&run.hops);
        }
        look
    }
}

impl Running {
    pub fn note(&self, progress: &Progress) {
        let write = |number: &AtomicU64, value: u64| number.store(value, Ordering::Relaxed);
        write(&self.run.now, progress.now.picos());
        write(&self.run.hops, progress.hops);
        write(&self.run.done, progress.done as u64);
        write(&self.run.open, progress.open as u64);
        write(&self.run.samples, progress.samples as u64);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut runs = self.live.runs();
        runs.retain(|run| !Arc::ptr_eq(run, &self.run));
        self.live.0.hops.fetch_add(self.run.hops.load(Ordering::Relaxed), Ordering::Relaxed);
        self.live.0.flows.fetch_add(self.run.done.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_under_way_are_added_up_and_those_that_are_over_counted() {
        let live = Live::default();
        let (one, other) = (live.begin(Time::from_picos(1000)), live.begin(Time::from_picos(4000)));
        let progress = |now, hops, done| Progress { now: Time::from_picos(now), hops, done, open: 2, samples: 7 };
        one.note(&progress(500, 30, 4));
        other.note(&progress(1000, 50, 1));
        let look = live.look();
        assert_eq!((look.runs, look.passed, look.hops), (2, 0.75, 80));
        assert_eq!((look.done, look.open, look.samples, look.earlier), (5, 4, 14, 0));
        assert_eq!(look.last, Some((Time::from_picos(500), Time::from_picos(1000))));
        drop(one);
        let look = live.look();
        assert_eq!((look.runs, look.passed, look.hops, look.earlier), (1, 0.25, 80, 4));
    }
}
