//! Runs: policies × sweep points × repeats, spread over threads, into a results folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use headway_results::{Cell, Folder, Job, Manifest, Outcome, Summary, SummaryBuilder, SweepValue};
use thiserror::Error;

use crate::Document;
use crate::claims::{Claims, Verdict};
use crate::language::{Problems, Scalar};
use crate::plan::{Fault, Network, Plan};
use crate::schema::ScenarioRecord;

/// A scenario that was checked and built at every sweep point with every policy.
#[derive(Debug)]
pub struct Experiment {
    /// The scenario at its first sweep point: what does not vary is the same at all.
    pub scenario: ScenarioRecord,

    plans: Vec<Arc<Plan>>,
    cells: Vec<Cell>,
    document: Document,
}

/// Why a run ended without results.
#[derive(Debug, Error)]
pub enum RunError {
    /// Files.
    #[error(transparent)]
    Results(#[from] headway_results::Error),
    /// A flow found no way through the network.
    #[error("policy `{policy}`{point}, repeat {repeat}: {error}")]
    NoPath {
        /// The policy.
        policy: String,
        /// The sweep point, as ` at …`, or nothing.
        point: String,
        /// Which repeat.
        repeat: u32,
        /// Which hosts.
        error: headway_fabric::NoPath,
    },
    /// The same run gave two different streams of events.
    #[error("policy `{policy}`{point}, repeat {repeat}: two runs with one seed differ; this is a bug in Headway")]
    NotDeterministic {
        /// The policy.
        policy: String,
        /// The sweep point, as ` at …`, or nothing.
        point: String,
        /// Which repeat.
        repeat: u32,
    },
    /// Told to stop; what is complete is kept.
    #[error("interrupted after {done} of {total} runs")]
    Interrupted {
        /// Runs complete, earlier ones included.
        done: usize,
        /// Runs in all.
        total: usize,
    },
}

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The root of all random numbers.
    pub seed: u64,
    /// Threads; at least 1.
    pub threads: usize,
    /// Run everything twice and compare.
    pub verify: bool,
}

/// What a run gave.
#[derive(Debug)]
pub struct Results {
    /// Estimates by policy, sweep point, traffic and metric.
    pub summary: Summary,
    /// The claims.
    pub verdicts: Vec<Verdict>,
}

/// Is told of progress: runs complete, runs in all.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

impl Experiment {
    /// Checks and builds `document`; files it names are looked for in `folder`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(document: &Document, folder: &Path) -> Result<Experiment, Problems> {
        document.check_all()?;
        let points = document.points();
        let first = document.scenario(&points[0])?;
        let mut plans = Vec::new();
        let mut cells = Vec::new();
        let mut problems = Vec::new();
        for point in &points {
            let scenario = document.scenario(point)?;
            let locate = |fault: Fault| {
                let problem = fault.locate(document);
                if points.len() > 1 { problem.at_point(point) } else { problem }
            };
            let network = match Network::build(&scenario) {
                Ok(network) => Arc::new(network),
                Err(fault) => {
                    problems.push(locate(fault));
                    continue;
                }
            };
            for (index, policy) in scenario.policy.iter().enumerate() {
                match Plan::new(&scenario, index, &network, folder) {
                    Ok(plan) => plans.push(Arc::new(plan)),
                    Err(fault) => problems.push(locate(fault)),
                }
                let mut sweep = headway_results::SweepPoint::new();
                for (name, value) in point.values() {
                    sweep = sweep.with(name, sweep_value(value));
                }
                cells.push(Cell { index: cells.len() as u32, policy: policy.name.to_string(), sweep });
            }
            if problems.len() > 100 {
                break;
            }
        }
        if let Err(more) = Claims::new(&first, document) {
            problems.extend(more);
        }
        if !problems.is_empty() {
            return Err(problems.into_iter().collect());
        }
        Ok(Experiment { scenario: first, plans, cells, document: document.clone() })
    }

    /// The cells: every policy at every sweep point.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The names of the kinds of traffic.
    pub fn traffics(&self) -> Vec<&str> {
        self.scenario.traffic.iter().map(|traffic| traffic.name.as_str()).collect()
    }

    fn describe(&self, job: Job) -> (String, String) {
        let cell = &self.cells[job.cell as usize];
        let point = if cell.sweep.is_empty() { String::new() } else { format!(" at {}", cell.sweep) };
        (cell.policy.clone(), point)
    }

    fn run_job(&self, job: Job, options: &Options) -> Result<Outcome, RunError> {
        let plan = &self.plans[job.cell as usize];
        let failed = |error| {
            let (policy, point) = self.describe(job);
            RunError::NoPath { policy, point, repeat: job.repeat, error }
        };
        let outcome = plan.run(options.seed, job).map_err(failed)?;
        if options.verify {
            let again = plan.run(options.seed, job).map_err(failed)?;
            if again != outcome {
                let (policy, point) = self.describe(job);
                return Err(RunError::NotDeterministic { policy, point, repeat: job.repeat });
            }
        }
        Ok(outcome)
    }

    /// Runs what `completed` does not have yet of the runs of `manifest` into `folder`, telling `progress`, until
    /// done or `stop` is set. Runs under way when `stop` is set are finished. The folder is left for the caller to
    /// finish, who knows the time.
    ///
    /// The results do not depend on the number of threads nor on what was complete before.
    ///
    /// # Errors
    /// See [`RunError`]; what is complete stays in the folder.
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
        let mut claims = Claims::new(&self.scenario, &self.document).expect("checked when the experiment was made");
        let mut builder = SummaryBuilder::new(&self.cells, self.traffics());
        let policies = self.scenario.policy.len();
        let mut take = |outcome: &Outcome, claims: &mut Claims| {
            builder.add(outcome);
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
        let mut left: Vec<Job> = jobs.into_iter().filter(|job| !completed.contains(job)).collect();
        left.sort_by_key(|job| (job.repeat, job.cell));
        progress(done, total);
        let next = AtomicUsize::new(0);
        let failure = AtomicBool::new(false);
        let mut error = None;
        std::thread::scope(|scope| {
            // A bounded channel: threads that are faster than the one that counts wait for it.
            let (sender, receiver) = mpsc::sync_channel(2 * options.threads);
            for _ in 0..options.threads.clamp(1, left.len().max(1)) {
                let sender = sender.clone();
                let (next, left, failure) = (&next, &left, &failure);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !failure.load(Ordering::Relaxed) {
                        let Some(&job) = left.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let result = self.run_job(job, options);
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
                    Ok(outcome) => {
                        take(&outcome, &mut claims);
                        done += 1;
                        progress(done, total);
                    }
                    Err(first) => {
                        failure.store(true, Ordering::Relaxed);
                        error.get_or_insert(first);
                    }
                }
            }
        });
        if let Some(error) = error {
            return Err(error);
        }
        if done < total {
            return Err(RunError::Interrupted { done, total });
        }
        Ok(Results { summary: builder.build(), verdicts: claims.verdicts() })
    }
}

fn sweep_value(value: &Scalar) -> SweepValue {
    match value {
        Scalar::Integer(number) => SweepValue::from(*number),
        Scalar::Float(number) => SweepValue::from(*number),
        Scalar::Bool(flag) => SweepValue::from(flag.to_string().as_str()),
        Scalar::Text(text) => SweepValue::from(text.as_str()),
    }
}
