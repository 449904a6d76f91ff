//! A run whose folder is there: its runs one by one, here or elsewhere, and the end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use headway_kernel::image::Image;
use headway_results::{Folder, Job, Manifest, Outcome, Shard, Unfinished, Verdict, Warning};

use crate::cell::CellPlan;
use crate::clock;
use crate::error::RunError;
use crate::experiment::{Experiment, KernelOptions, Options};
use crate::files::Files;
use crate::gathered::{Gathered, Results};
use crate::keeper::{Keeper, Stored};
use crate::report::{ReportError, write_report};
use crate::simulate::{Progress, in_order};

/// Ends a run early, from another thread.
#[derive(Debug, Clone, Default)]
pub struct Interruption {
    /// When it is set, no further runs begin; those under way are finished.
    pub stop: Arc<AtomicBool>,
    /// When it is set, kernel hosts under way end at once.
    pub abort: Arc<AtomicBool>,
}

/// The size of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Policies.
    pub policies: usize,
    /// Sweep points; 1 without a sweep.
    pub points: usize,
    /// Repeats of each.
    pub repeats: u32,
}

impl Experiment {
    /// Its size with so many repeats.
    pub fn extent(&self, repeats: u32) -> Extent {
        let policies = self.scenario.policy.len();
        Extent { policies, points: self.cells().len() / policies.max(1), repeats }
    }

    /// The traffics whose flows run in step at some point where nothing is random, so that phases of microseconds may
    /// decide who loses packets; mostly none.
    pub fn in_step(&self) -> Vec<&str> {
        let first = self.plans.iter().map(CellPlan::in_step).find(|names| !names.is_empty());
        first.unwrap_or_default().iter().map(String::as_str).collect()
    }
}

/// `5 policies × 11 sweep points × 2 repeats`.
impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        write!(
            f,
            "{} × {} × {}",
            count(self.policies, "policy", "policies"),
            count(self.points, "sweep point", "sweep points"),
            count(self.repeats as usize, "repeat", "repeats")
        )
    }
}

/// A run whose folder is there.
#[derive(Debug)]
pub struct Opened {
    pub(crate) experiment: Experiment,
    pub(crate) manifest: Manifest,
    pub(crate) text: String,
    pub(crate) files: Files,
    pub(crate) image: Option<Arc<Image>>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) left_out_claims: Vec<String>,
    pub(crate) threads: usize,
    pub(crate) verify: bool,
    /// Seconds that runs took before.
    pub(crate) earlier_s: f64,
    /// The manifest of runs that are there and were ended before.
    pub(crate) ended: Option<Manifest>,
    pub(crate) no_report: bool,
    /// None if the store is all that is filled.
    pub(crate) folder: Option<Folder>,
    pub(crate) completed: BTreeSet<Job>,
    pub(crate) keeper: Option<Keeper>,
}

/// A run that came to its end.
#[derive(Debug)]
pub struct Finished {
    /// Estimates, verdicts, commands and warnings.
    pub results: Results,
    /// The manifest as it stands in the folder.
    pub manifest: Manifest,
    /// The folder.
    pub path: PathBuf,
    /// Texts of the claims that overrides left without a policy or a point.
    pub left_out_claims: Vec<String>,
    /// Policies, points and repeats.
    pub extent: Extent,
    /// The time it took.
    pub took: Duration,
    /// What the store did, if there was one.
    pub stored: Option<Stored>,
    /// The report in the folder, or why there is none; `None` if none was wanted.
    pub report: Option<Result<PathBuf, ReportError>>,
}

/// Runs that came to their end without results of all: those of a shard, or those that went to a store alone.
#[derive(Debug)]
pub struct Ran {
    /// As in the folder's manifest.
    pub manifest: Manifest,
    /// The folder, if there is one.
    pub path: Option<PathBuf>,
    /// How many runs there are.
    pub runs: usize,
    /// Those of them that this call computed.
    pub computed: usize,
    /// The time it took.
    pub took: Duration,
    /// What the store did, if there was one.
    pub stored: Option<Stored>,
}

impl Opened {
    /// The folder that is filled; the store, if that is all.
    ///
    /// # Panics
    /// Never: there is one of the two.
    pub fn path(&self) -> &Path {
        let store = || self.keeper.as_ref().map(|keeper| keeper.store().path());
        self.folder.as_ref().map(Folder::path).or_else(store).expect("there is a folder or a store")
    }

    /// Whether hosts are kernels, so that runs under way can be aborted.
    pub fn has_kernels(&self) -> bool {
        self.image.is_some() || self.experiment.needs_namespaces()
    }

    /// The kernel of kernel hosts in guests, if there are any.
    pub fn image(&self) -> Option<&Image> {
        self.image.as_deref()
    }

    /// Whether congestion controls or judges of this program take part, whose runs can be aborted, too.
    pub fn has_own(&self) -> bool {
        !self.experiment.own().is_empty()
    }

    /// Whether these are all runs, and there is a folder for their results: then [`Session::finish`] makes them,
    /// otherwise [`Session::close`] ends it.
    pub fn gives_results(&self) -> bool {
        self.manifest.shard.is_none() && self.folder.is_some()
    }

    /// The part of the runs that these are, if they are not all.
    pub fn shard(&self) -> Option<Shard> {
        self.manifest.shard
    }

    /// Takes up the runs that are complete. Those that are not are for [`Session::run`], or for somebody else
    /// ([`Session::missing`]) who gives them to [`Session::take`].
    ///
    /// # Errors
    /// If a run that was complete cannot be read.
    pub fn begin(self) -> Result<Session, RunError> {
        Ok(self.take_up()?)
    }

    /// As [`Opened::begin`].
    pub(crate) fn take_up(self) -> Result<Session, headway_results::Error> {
        let began = Instant::now();
        let mut gathered = Gathered::new(&self.experiment);
        if let Some(folder) = self.folder.as_ref().filter(|_| self.gives_results()) {
            for &job in &self.completed {
                gathered.add(&folder.load(job)?);
            }
        }
        let done = self.completed.clone();
        let total = self.manifest.own_jobs().count();
        Ok(Session { opened: self, gathered, done, total, computed: 0, began })
    }

    /// Runs all that is not complete yet and finishes the folder, telling `progress`, until done or interrupted.
    ///
    /// # Errors
    /// See [`RunError`]; complete runs stay in the folder.
    ///
    /// # Panics
    /// If a simulated run breaks an invariant: a bug. If it is a shard, or has no folder.
    pub fn run(self, interruption: &Interruption, progress: Progress<'_>) -> Result<Finished, RunError> {
        assert!(self.gives_results(), "shards have no results");
        let mut session = self.begin()?;
        session.run(interruption, progress)?;
        session.finish()
    }

    /// As [`Opened::run`], without results of all: of a shard, or into a store alone.
    ///
    /// # Errors
    /// See [`RunError`]; complete runs stay in the folder or store.
    ///
    /// # Panics
    /// If a simulated run breaks an invariant: a bug.
    pub fn run_only(self, interruption: &Interruption, progress: Progress<'_>) -> Result<Ran, RunError> {
        let mut session = self.begin()?;
        session.run(interruption, progress)?;
        session.close()
    }
}

/// Runs under way.
#[derive(Debug)]
pub struct Session {
    opened: Opened,
    gathered: Gathered,
    done: BTreeSet<Job>,
    total: usize,
    computed: usize,
    began: Instant,
}

impl Session {
    /// The run before it began: its text, its files, its cells.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Runs that are complete.
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// Runs in all, of the shard if it is one.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The runs that are not complete, in the order in which they are best run.
    pub fn missing(&self) -> Vec<Job> {
        in_order(self.opened.manifest.own_jobs().filter(|job| !self.done.contains(job)))
    }

    /// Takes those of `jobs` that the store has; gives the others.
    ///
    /// # Errors
    /// If the store cannot be read, or the folder not be written.
    pub fn find(&mut self, jobs: &[Job]) -> Result<Vec<Job>, RunError> {
        let mut others = Vec::new();
        for &job in jobs {
            let found = self.opened.keeper.as_ref().map_or(Ok(None), |keeper| keeper.find(job))?;
            let Some(outcome) = found else {
                others.push(job);
                continue;
            };
            if let Some(folder) = &self.opened.folder {
                folder.put(&outcome)?;
            }
            self.count(&outcome);
        }
        Ok(others)
    }

    /// Takes an outcome that was computed elsewhere. One that is there already changes nothing.
    ///
    /// # Errors
    /// If it is not one of these runs, or the folder or the store cannot be written.
    pub fn take(&mut self, outcome: &Outcome) -> Result<(), RunError> {
        let job = outcome.job;
        if self.done.contains(&job) {
            return Ok(());
        }
        if !self.opened.owns(job) {
            return Err(RunError::NotAsked { cell: job.cell, repeat: job.repeat });
        }
        self.opened.keep(outcome)?;
        self.computed += 1;
        self.count(outcome);
        Ok(())
    }

    /// Takes an outcome that another folder has.
    pub(crate) fn take_from(&mut self, other: &Unfinished, job: Job) -> Result<(), headway_results::Error> {
        if self.done.contains(&job) {
            return Ok(());
        }
        let outcome = other.load(job)?;
        if let Some(folder) = &self.opened.folder {
            folder.put_from(other, job)?;
        }
        self.count(&outcome);
        Ok(())
    }

    fn count(&mut self, outcome: &Outcome) {
        if self.done.insert(outcome.job) && self.opened.gives_results() {
            self.gathered.add(outcome);
        }
    }

    /// Runs all that is missing on threads of this process, telling `progress`.
    ///
    /// # Errors
    /// See [`RunError`]; complete runs stay in the folder.
    ///
    /// # Panics
    /// If a simulated run breaks an invariant: a bug.
    pub fn run(&mut self, interruption: &Interruption, progress: Progress<'_>) -> Result<(), RunError> {
        let missing = self.missing();
        let Session { opened, gathered, done, total, computed, .. } = self;
        let kernel = opened.image.clone().map(|image| KernelOptions { image, processors: processors() });
        let abort = Arc::clone(&interruption.abort);
        let (seed, threads, verify) = (opened.manifest.seed, opened.threads, opened.verify);
        let options = Options { seed, threads, verify, kernel, abort };
        progress(done.len(), *total);
        let found_before = opened.stored().map_or(0, |stored| stored.found);
        let results = opened.gives_results();
        let run = |job: Job, worker: usize| opened.one(job, &options, worker);
        let mut took = 0;
        opened.experiment.run_jobs(&missing, threads, &interruption.stop, &run, &mut |outcome| {
            took += 1;
            if done.insert(outcome.job) && results {
                gathered.add(&outcome);
            }
            progress(done.len(), *total);
        })?;
        *computed += took - (opened.stored().map_or(0, |stored| stored.found) - found_before);
        if done.len() < *total {
            return Err(RunError::Interrupted { done: done.len(), total: *total });
        }
        Ok(())
    }

    /// Makes the results of all runs.
    ///
    /// # Errors
    /// If a run is missing, or a file cannot be written.
    ///
    /// # Panics
    /// If [`Opened::gives_results`] says otherwise.
    pub fn finish(self) -> Result<Finished, RunError> {
        let Session { opened, gathered, done, total, began, .. } = self;
        if done.len() < total {
            return Err(RunError::Interrupted { done: done.len(), total });
        }
        let stored = opened.stored();
        let Opened { experiment, mut manifest, left_out_claims, files, warnings, folder, earlier_s, no_report, .. } =
            opened;
        let folder = folder.expect("it gives results");
        let path = folder.path().to_path_buf();
        let extent = experiment.extent(manifest.repeats);
        let mut results = gathered.results(&experiment);
        let mut all = std::mem::take(&mut results.unfinished);
        all.extend(warnings);
        all.append(&mut results.warnings);
        all.extend(files.outside.into_iter().map(|name| Warning::NotKept { name }));
        manifest.claims = results.verdicts.iter().map(Verdict::to_json).collect();
        manifest.not_evaluated.clone_from(&left_out_claims);
        manifest.waits.clone_from(&results.waits);
        manifest.warnings = all.iter().map(headway_report::warning).collect();
        results.warnings = all;
        manifest.finished = Some(clock::now());
        manifest.wall_s = earlier_s + began.elapsed().as_secs_f64();
        let manifest = folder.finish(&results.summary, &results.repeats, &manifest)?;
        // The results are complete: whatever becomes of the report, they are kept.
        let report = (!no_report).then(|| write_report(&path));
        Ok(Finished { results, manifest, path, left_out_claims, extent, took: began.elapsed(), stored, report })
    }

    /// Ends runs that give no results by themselves.
    ///
    /// # Errors
    /// If a run is missing, or the manifest cannot be written.
    pub fn close(self) -> Result<Ran, RunError> {
        let Session { opened, done, total, computed, began, .. } = self;
        if done.len() < total {
            return Err(RunError::Interrupted { done: done.len(), total });
        }
        let stored = opened.stored();
        let Opened { mut manifest, mut folder, warnings, text, earlier_s, completed, ended, .. } = opened;
        let path = folder.as_ref().map(|folder| folder.path().to_path_buf());
        // Nothing was left to do: that is no other end.
        if let Some(manifest) = ended.filter(|_| completed.len() == total) {
            return Ok(Ran { manifest, path, runs: total, computed, took: began.elapsed(), stored });
        }
        manifest.finished = Some(clock::now());
        manifest.wall_s = earlier_s + began.elapsed().as_secs_f64();
        manifest.warnings = warnings.iter().map(headway_report::warning).collect();
        if let Some(folder) = &mut folder {
            folder.adopt(&manifest, &text)?;
        }
        Ok(Ran { manifest, path, runs: total, computed, took: began.elapsed(), stored })
    }
}

impl Opened {
    /// Whether `job` is one of the runs.
    fn owns(&self, job: Job) -> bool {
        let (cells, repeats) = (self.manifest.cells.len(), self.manifest.repeats);
        let place = job.cell as usize * repeats as usize + job.repeat as usize;
        let inside = (job.cell as usize) < cells && job.repeat < repeats;
        inside && self.manifest.shard.is_none_or(|shard| shard.has(place))
    }

    fn stored(&self) -> Option<Stored> {
        self.keeper.as_ref().map(Keeper::stored)
    }

    /// Keeps an outcome that was computed: in the store first, since the folder may be the one that is thrown away.
    fn keep(&self, outcome: &Outcome) -> Result<(), RunError> {
        if let Some(keeper) = &self.keeper {
            keeper.keep(outcome)?;
        }
        if let Some(folder) = &self.folder {
            folder.put(outcome)?;
        }
        Ok(())
    }

    /// Runs `job`, or takes it from the store.
    fn one(&self, job: Job, options: &Options, worker: usize) -> Result<Outcome, RunError> {
        if let Some(outcome) = self.keeper.as_ref().map_or(Ok(None), |keeper| keeper.find(job))? {
            if let Some(folder) = &self.folder {
                folder.put(&outcome)?;
            }
            return Ok(outcome);
        }
        let outcome = self.experiment.outcome(job, self.path(), options, worker)?;
        self.keep(&outcome)?;
        Ok(outcome)
    }
}

/// Processors for guests. Several experiments at a time should not all begin with the same one.
pub(crate) fn processors() -> Vec<usize> {
    let mut processors = headway_kernel::processors();
    let most = processors.len().max(1);
    processors.rotate_left(std::process::id() as usize % most);
    processors
}
