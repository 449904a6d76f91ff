//! All runs of an experiment, spread over threads, into a folder of results.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use headway_results::{Folder, Job, Manifest, Outcome};

use crate::error::RunError;
use crate::experiment::{Experiment, Options};
use crate::gathered::{Gathered, Results};

/// Is told of progress: runs complete, runs in all.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

impl Experiment {
    /// Runs all of `manifest` that `completed` does not have yet into `folder`, telling `progress`, until
    /// done or `stop` is set. Runs under way when `stop` is set are finished. The folder is left for the caller to
    /// finish, who knows the time.
    ///
    /// The results depend neither on the number of threads nor on the runs that were complete before.
    ///
    /// # Errors
    /// See [`RunError`]; complete runs stay in the folder.
    ///
    /// # Panics
    /// If a simulated run breaks an invariant: a bug.
    pub fn simulate(
        &self,
        folder: &Folder,
        manifest: &Manifest,
        completed: &BTreeSet<Job>,
        options: &Options,
        stop: &AtomicBool,
        progress: Progress<'_>,
    ) -> Result<Results, RunError> {
        let jobs: Vec<Job> = manifest.jobs().collect();
        let total = jobs.len();
        let mut gathered = Gathered::new(self);
        let mut done = 0;
        for &job in completed {
            gathered.add(&folder.load(job)?);
            done += 1;
        }
        let remaining = in_order(jobs.into_iter().filter(|job| !completed.contains(job)));
        progress(done, total);
        let run = |job: Job, worker: usize| {
            let outcome = self.outcome(job, folder.path(), options, worker)?;
            folder.put(&outcome)?;
            Ok(outcome)
        };
        self.run_jobs(&remaining, options.threads, stop, &run, &mut |outcome| {
            gathered.add(&outcome);
            done += 1;
            progress(done, total);
        })?;
        if done < total {
            return Err(RunError::Interrupted { done, total });
        }
        Ok(gathered.results(self))
    }

    /// Calls `run` with `jobs` and the number of the thread, spread over threads, until done, `stop` is set or one fails;
    /// `take` gets the outcomes as they come.
    pub(crate) fn run_jobs(
        &self,
        jobs: &[Job],
        threads: usize,
        stop: &AtomicBool,
        run: &(dyn Fn(Job, usize) -> Result<Outcome, RunError> + Sync),
        take: &mut dyn FnMut(Outcome),
    ) -> Result<(), RunError> {
        let next = AtomicUsize::new(0);
        let failure = AtomicBool::new(false);
        let mut error = None;
        std::thread::scope(|scope| {
            // A bounded channel: threads that are faster than the one that counts wait for it.
            let (sender, receiver) = mpsc::sync_channel(2 * threads);
            // namespaces share the processors that they measure
            let most = if self.needs_namespaces() { 1 } else { threads };
            let workers = most.clamp(1, jobs.len().max(1));
            for worker in 0..workers {
                let sender = sender.clone();
                let (next, failure) = (&next, &failure);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !failure.load(Ordering::Relaxed) {
                        let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        if sender.send(run(job, worker)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for result in receiver {
                match result {
                    Ok(outcome) => take(outcome),
                    Err(RunError::Aborted) => failure.store(true, Ordering::Relaxed),
                    Err(first) => {
                        failure.store(true, Ordering::Relaxed);
                        error.get_or_insert(first);
                    }
                }
            }
        });
        error.map_or(Ok(()), Err)
    }
}

/// Repeats in the outer order, so that an interrupted run has something of every cell and the time left is estimated
/// from all of them.
pub(crate) fn in_order(jobs: impl Iterator<Item = Job>) -> Vec<Job> {
    let mut jobs: Vec<Job> = jobs.collect();
    jobs.sort_by_key(|job| (job.repeat, job.cell));
    jobs
}
