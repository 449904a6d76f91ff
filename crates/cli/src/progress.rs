//! How far the runs are: a bar on a terminal, otherwise a line now and then.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{clock, terminal};

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

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

#[derive(Debug, Clone, Copy)]
struct Counts {
    began: Instant,
    /// Complete when it began: done by an earlier process, which says nothing of this one's speed.
    earlier: Option<usize>,
    done: usize,
    total: usize,
}

impl Counts {
    /// The time left if the other runs take as long as those made so far.
    fn left(&self) -> Option<Duration> {
        let made = self.done - self.earlier?;
        let each = self.began.elapsed().as_secs_f64() / made as f64;
        Duration::try_from_secs_f64(each * (self.total - self.done) as f64).ok()
    }

    fn text(&self) -> String {
        let elapsed = clock::whole(self.began.elapsed());
        let left = match self.left() {
            _ if self.done == self.total => "writing the files".to_owned(),
            Some(left) => format!("about {} left", clock::whole(left)),
            None => "time left unknown".to_owned(),
        };
        format!("{elapsed}, {left}")
    }
}

impl Meter {
    /// `title` stands in front of it, if it is not empty.
    pub fn new(quiet: bool, title: &str) -> Meter {
        let counts = Counts { began: Instant::now(), earlier: None, done: 0, total: 0 };
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
        if let View::Bar(bar) = &self.view {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
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
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let counts = Arc::clone(counts);
    let times = move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = out.write_str(&lock(&counts).text());
    };
    let style =
        ProgressStyle::with_template("{prefix}{bar:30} {pos} of {len} runs, {times}").expect("a sound template");
    bar.set_prefix(if title.is_empty() { String::new() } else { format!("{title} ") });
    bar.set_style(style.with_key("times", times).progress_chars("=> "));
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
            let now = *lock(&counts);
            terminal::say(&format!("{title}{} of {} runs, {}", now.done, now.total, now.text()));
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

    #[test]
    fn runs_of_an_earlier_process_do_not_count_as_fast() {
        let began = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        let counts = Counts { began, earlier: Some(50), done: 60, total: 100 };
        let left = counts.left().unwrap().as_secs_f64();
        assert!((left - 40.0).abs() < 1.0, "{left}");
        assert_eq!(Counts { done: 50, ..counts }.left(), None);
        assert_eq!(Counts { earlier: None, done: 0, ..counts }.left(), None);
    }
}
