//! How far the runs are: a bar on a terminal, otherwise a line now and then.

use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use headway_experiment::{Live, Look};
use headway_units::Span;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{clock, terminal};

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Columns of the bar.
const WIDTH: usize = 16;

/// Shows progress on stderr until it is dropped.
#[derive(Debug)]
pub struct Meter {
    counts: Arc<Mutex<Counts>>,
    view: View,
}

#[derive(Debug)]
enum View {
    Bar(ProgressBar),
    /// Dropping the sender ends the thread.
    Lines(Option<(Sender<()>, JoinHandle<()>)>),
    Nothing,
}

#[derive(Debug, Clone)]
struct Counts {
    began: Instant,
    /// Complete when it began: done by an earlier process, which says nothing of this one's speed.
    earlier: Option<usize>,
    done: usize,
    total: usize,
    /// The runs under way.
    live: Live,
}

impl Counts {
    /// Runs that are done, with the parts of those under way that have passed.
    fn passed(&self, look: &Look) -> f64 {
        (self.done as f64 + look.passed).min(self.total as f64)
    }

    /// The time left if the rest takes as long as what has passed.
    fn left(&self, look: &Look) -> Option<Duration> {
        let passed = self.passed(look);
        let made = passed - self.earlier? as f64;
        let each = self.began.elapsed().as_secs_f64() / made;
        let left = each * (self.total as f64 - passed);
        // of less than this nothing follows
        if made < 0.005 { None } else { Duration::try_from_secs_f64(left).ok() }
    }

    /// The most important comes first, since terminals may be narrow.
    fn text(&self) -> String {
        let look = self.live.look();
        let elapsed = self.began.elapsed();
        let left = match self.left(&look) {
            _ if self.done == self.total && self.total > 0 => "writing the files".to_owned(),
            Some(left) => format!("about {} left", clock::whole(left)),
            None => "time left unknown".to_owned(),
        };
        let mut text = format!("{} of {} runs, {}, {left}", self.done, self.total, clock::whole(elapsed));
        if let Some((now, end)) = look.last {
            let step = (end.picos() / 1000).max(1);
            let now = Span::from_picos(now.picos() / step * step);
            let furthest = if look.runs == 1 { "at" } else { "the last at" };
            let flows = look.done + look.earlier;
            let speed = look.hops as f64 / elapsed.as_secs_f64().max(1e-3) / 1e6;
            let _ = write!(text, ", {furthest} {now} of {end}, {flows} flows, {speed:.1} M hops/s");
        }
        text
    }
}

impl Meter {
    /// `title` stands in front of it, if it is not empty.
    pub fn new(quiet: bool, title: &str) -> Meter {
        Meter::watching(quiet, title, Live::default())
    }

    /// As [`Meter::new`], and it shows how far the runs under way are, too.
    pub fn watching(quiet: bool, title: &str, live: Live) -> Meter {
        let counts = Counts { began: Instant::now(), earlier: None, done: 0, total: 0, live };
        let counts = Arc::new(Mutex::new(counts));
        let view = match (quiet, terminal::can_redraw()) {
            (true, _) => View::Nothing,
            (false, true) => View::Bar(bar(&counts, title)),
            (false, false) => View::Lines(lines(&counts, title)),
        };
        Meter { counts, view }
    }

    /// `done` runs of `total` are complete.
    pub fn set(&self, done: usize, total: usize) {
        {
            let mut counts = lock(&self.counts);
            counts.earlier.get_or_insert(done);
            (counts.done, counts.total) = (done, total);
        }
    }

    /// Prints a line above the bar.
    pub fn say(&self, line: &str) {
        match &self.view {
            View::Bar(bar) => bar.suspend(|| terminal::say(line)),
            _ => terminal::say(line),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        match &mut self.view {
            View::Bar(bar) => bar.finish_and_clear(),
            View::Lines(thread) => {
                if let Some((sender, thread)) = thread.take() {
                    drop(sender);
                    let _ = thread.join();
                }
            }
            View::Nothing => {}
        }
    }
}

fn bar(counts: &Arc<Mutex<Counts>>, title: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let (drawn, told) = (Arc::clone(counts), Arc::clone(counts));
    let draw = move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let counts = lock(&drawn).clone();
        let share = counts.passed(&counts.live.look()) / counts.total.max(1) as f64;
        let _ = write!(out, "{:.<WIDTH$}", "=".repeat((share * WIDTH as f64) as usize));
    };
    let tell = move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let counts = lock(&told).clone();
        let _ = out.write_str(&counts.text());
    };
    let style = ProgressStyle::with_template("{prefix}{draw} {tell}").expect("a sound template");
    bar.set_prefix(if title.is_empty() { String::new() } else { format!("{title} ") });
    bar.set_style(style.with_key("draw", draw).with_key("tell", tell));
    // The time goes on while no run is completed.
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A thread, for the time goes on while no run is completed.
fn lines(counts: &Arc<Mutex<Counts>>, title: &str) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel();
    let counts = Arc::clone(counts);
    let title = if title.is_empty() { String::new() } else { format!("{title}: ") };
    let print = move || {
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(INTERVAL) {
            let now = lock(&counts).clone();
            terminal::say(&format!("{title}{}", now.text()));
        }
    };
    // Without a thread to spare there is no progress to see, and nothing else is lost.
    let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(print).ok()?;
    Some((sender, thread))
}

/// A panic elsewhere leaves the numbers as they are, which is all there is to them.
fn lock(counts: &Mutex<Counts>) -> std::sync::MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(seconds: u64, earlier: Option<usize>, done: usize, total: usize) -> Counts {
        let began = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        Counts { began, earlier, done, total, live: Live::default() }
    }

    #[test]
    fn runs_of_an_earlier_process_do_not_count_as_fast() {
        let left = |counts: Counts, look: &Look| counts.left(look).map(|left| left.as_secs_f64().round());
        let none = Look::default();
        assert_eq!(left(counts(10, Some(50), 60, 100), &none), Some(40.0));
        assert_eq!(left(counts(10, Some(50), 50, 100), &none), None);
        assert_eq!(left(counts(10, None, 0, 100), &none), None);
    }

    /// A quarter of the only run took ten seconds.
    #[test]
    fn parts_of_runs_count() {
        let look = Look { runs: 1, passed: 0.25, ..Look::default() };
        let left = |total| counts(10, Some(0), 0, total).left(&look).map(|left| left.as_secs_f64().round());
        assert_eq!((left(1), left(2)), (Some(30.0), Some(70.0)));
        let text = counts(10, Some(0), 1, 1).text();
        assert_eq!(text, "1 of 1 runs, 10 s, writing the files");
    }
}
