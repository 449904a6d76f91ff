//! All runs of an experiment, spread over threads, into a folder of results.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use headway_results::{Folder, Job, Manifest, Outcome, Summary, SummaryBuilder, Verdict, Warning};

use crate::claims::Claims;
use crate::error::RunError;
use crate::experiment::{Experiment, Options};
use crate::tally::{Ended, Tally};

/// The results of all runs.
#[derive(Debug)]
pub struct Results {
    /// Estimates by policy, sweep point, traffic and metric.
    pub summary: Summary,
    /// The claims.
    pub verdicts: Vec<Verdict>,
    /// The commands, in order of cells and repeats.
    pub commands: Vec<Ended>,
    /// Warnings of flows that did not finish, which go before all others.
    pub unfinished: Vec<Warning>,
    /// Reasons to look twice before trusting the results.
    pub warnings: Vec<Warning>,
}

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
        let mut claims = self.claims.clone();
        let mut builder = SummaryBuilder::new(&self.cells, self.traffics()).with_rates(self.rated());
        let policies = self.scenario.policy.len();
        let mut tally = Tally::default();
        let mut take = |outcome: &Outcome, claims: &mut Claims| {
            builder.add(outcome);
            tally.add(outcome);
            let cell = outcome.job.cell as usize;
            claims.add(cell % policies, cell / policies, outcome);
        };
        let mut done = 0;
        for &job in completed {
            take(&folder.load(job)?, &mut claims);
            done += 1;
        }
        // Repeats in the outer order, so that an interrupted run has something of every cell and the time left is
        // estimated from all of them.
        let mut remaining: Vec<Job> = jobs.into_iter().filter(|job| !completed.contains(job)).collect();
        remaining.sort_by_key(|job| (job.repeat, job.cell));
        progress(done, total);
        self.run_jobs(&remaining, folder, options, stop, &mut |outcome| {
            take(&outcome, &mut claims);
            done += 1;
            progress(done, total);
        })?;
        if done < total {
            return Err(RunError::Interrupted { done, total });
        }
        let summary = builder.build();
        let unfinished = tally.unfinished(&summary, &self.cells);
        let (commands, warnings) = tally.finish();
        Ok(Results { summary, verdicts: claims.verdicts(), commands, unfinished, warnings })
    }

    /// Runs `jobs` into `folder`, spread over threads, until done, `stop` is set or one fails; `take` gets the outcomes
    /// as they come.
    fn run_jobs(
        &self,
        jobs: &[Job],
        folder: &Folder,
        options: &Options,
        stop: &AtomicBool,
        take: &mut dyn FnMut(Outcome),
    ) -> Result<(), RunError> {
        let next = AtomicUsize::new(0);
        let failure = AtomicBool::new(false);
        let mut error = None;
        std::thread::scope(|scope| {
            // A bounded channel: threads that are faster than the one that counts wait for it.
            let (sender, receiver) = mpsc::sync_channel(2 * options.threads);
            // namespaces share the processors that they measure
            let most = if self.needs_namespaces() { 1 } else { options.threads };
            let workers = most.clamp(1, jobs.len().max(1));
            for worker in 0..workers {
                let sender = sender.clone();
                let (next, failure) = (&next, &failure);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !failure.load(Ordering::Relaxed) {
                        let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let machine = self.machine(job, folder.path(), options, worker);
                        let result = self.run_job(job, options, machine.as_ref());
                        let result = result.and_then(|outcome| {
                            folder.put(&outcome)?;
                            Ok(outcome)
                        });
                        if sender.send(result).is_err() {
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
