//! Runs: policies × sweep points × repeats, spread over threads, into a results folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use headway_kernel::GuestError;
use headway_kernel::image::Image;
use headway_lab::{LabError, MachineInfo};
use headway_results::{
    Cell, CommandRecord, Counters, Folder, Job, Kernel, Manifest, Outcome, Output, Summary, SummaryBuilder, SweepValue,
};
use headway_transport::Traced;
use thiserror::Error;

use crate::claims::{Claims, Verdict};
use crate::plan::{Failure, Plan};
use headway_emulation::{GuestMachine, Machine, Wanted, Where};
use headway_language::{Problem, Problems, Scalar};
use headway_scenario::plan::{Network, PlanError};
use headway_scenario::schema::TrafficRecord;
use headway_scenario::{Document, ScenarioRecord};

/// A scenario that was checked and built at every sweep point with every policy.
#[derive(Debug)]
pub struct Experiment {
    /// The scenario at its first sweep point: what does not vary is the same at all.
    pub scenario: ScenarioRecord,

    plans: Vec<Arc<Plan>>,
    cells: Vec<Cell>,
    /// Without results.
    claims: Claims,
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
    /// Kernel hosts cannot go on.
    #[error("policy `{policy}`{point}, repeat {repeat}: {error}")]
    Kernels {
        /// The policy.
        policy: String,
        /// The sweep point, as ` at …`, or nothing.
        point: String,
        /// Which repeat.
        repeat: u32,
        /// What happened.
        error: String,
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
    /// For kernel hosts; needed if [`Experiment::needs_kernel`] says so.
    pub kernel: Option<KernelOptions>,
    /// Ends runs in namespaces at once when it is set.
    pub abort: Arc<AtomicBool>,
}

/// How to run kernel hosts.
#[derive(Debug, Clone)]
pub struct KernelOptions {
    /// Their kernel.
    pub image: Arc<Image>,
    /// Ends runs under way at once when it is set.
    pub abort: Arc<AtomicBool>,
    /// The processors to use; wherever the system puts them if there are none.
    pub processors: Vec<usize>,
}

/// What `manifest.json` says of an image.
pub fn kernel_facts(image: &Image) -> Kernel {
    Kernel {
        name: image.name.clone(),
        version: image.about.version.clone(),
        linux_sha256: image.about.linux.sha256.clone(),
        initramfs_sha256: image.about.initramfs.sha256.clone(),
        system_sha256: image.about.system.sha256.clone(),
    }
}

/// What became of a command, and of which run it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The run.
    pub job: Job,
    /// What became of it, without what it wrote but for the first line, see [`Ended::line`].
    pub command: CommandRecord,
    /// The first line it wrote: to its standard error if it failed, otherwise to its standard output. Of a daemon the last
    /// lines.
    pub line: String,
}

/// The congestion controls that modelled hosts have, by the names that scenarios use.
pub fn controls() -> &'static [&'static str] {
    headway_control::congestion::AnyController::NAMES
}

/// What a run gave.
#[derive(Debug)]
pub struct Results {
    /// Estimates by policy, sweep point, traffic and metric.
    pub summary: Summary,
    /// The claims.
    pub verdicts: Vec<Verdict>,
    /// The commands, in order of cells and repeats.
    pub commands: Vec<Ended>,
    /// What to look at before trusting the results.
    pub warnings: Vec<String>,
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
            let locate = |fault: PlanError| {
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
        let claims = Claims::new(&first, document, folder);
        match claims {
            Ok(claims) if problems.is_empty() => {
                Ok(Experiment { scenario: first, plans, cells, claims, document: document.clone() })
            }
            Ok(_) => Err(problems.into_iter().collect()),
            Err(more) => Err(problems.into_iter().chain(more).collect()),
        }
    }

    /// The cells: every policy at every sweep point.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// How many hosts the network has at most, at any point.
    pub fn hosts(&self) -> usize {
        self.plans.iter().map(|plan| plan.hosts()).max().unwrap_or(0)
    }

    /// The names by which flows are reported.
    pub fn traffics(&self) -> Vec<String> {
        self.scenario.traffic.iter().flat_map(TrafficRecord::reported).collect()
    }

    /// What kernel hosts are told before cell number `cell` runs: addresses, routes, settings, as text. Whatever in a
    /// scenario, or in how Headway reads it, changes what a kernel does beyond its traffic, changes this.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn kernel_setup(&self, cell: usize) -> String {
        self.plans[cell].kernel_setup()
    }

    /// Whether any of it runs on kernel hosts.
    pub fn needs_kernel(&self) -> bool {
        self.plans.iter().any(|plan| plan.place() == Some(Where::Guests))
    }

    /// Whether any of it runs in namespaces of this machine.
    pub fn needs_namespaces(&self) -> bool {
        self.plans.iter().any(|plan| plan.place() == Some(Where::Namespaces))
    }

    /// Holds what the scenario asks of kernels against what this machine has, and gives what to know of its results.
    ///
    /// # Errors
    /// Everything that it has not.
    pub fn check_namespaces(&self, here: &MachineInfo) -> Result<Vec<String>, Problems> {
        let mut problems: Vec<Problem> = self.missing_files();
        let mut seen = BTreeSet::new();
        for need in self.plans.iter().filter_map(|plan| plan.needs()).flatten() {
            let Wanted::Control(name) = &need.what else { continue };
            if here.controls.contains(name) || !seen.insert(format!("{need:?}")) {
                continue;
            }
            let path: Vec<&str> = need.path.iter().map(String::as_str).collect();
            let message = format!("this machine's kernel has no congestion control `{name}`");
            let help = format!("its congestion controls are {}; modprobe may have more", here.controls.join(", "));
            problems.push(self.document.problem_at(&path, message, Some(help)));
        }
        if !problems.is_empty() {
            return Err(problems.into_iter().collect());
        }
        let mut warnings = here.warnings();
        warnings.extend(self.plans.first().and_then(|plan| plan.left_out()));
        Ok(warnings)
    }

    /// The folder of files, if it is named and not there.
    fn missing_files(&self) -> Vec<Problem> {
        let missing = self.plans.iter().find_map(|plan| plan.files()).filter(|path| !path.is_dir());
        let problem = |path: &Path| {
            let message = format!("there is no folder {}", path.display());
            let help = Some("kernel hosts see it as /files; it is looked for beside the scenario".to_owned());
            self.document.problem_at(&["files"], message, help)
        };
        missing.map(problem).into_iter().collect()
    }

    /// Holds what the scenario asks of kernels against what `image` has, and whether the files for them are there.
    ///
    /// # Errors
    /// Everything that it has not.
    pub fn check_image(&self, image: &Image) -> Result<(), Problems> {
        let about = &image.about;
        let mut problems: Vec<Problem> = self.missing_files();
        let mut seen = BTreeSet::new();
        for need in self.plans.iter().filter_map(|plan| plan.needs()).flatten() {
            if !seen.insert(format!("{need:?}")) {
                continue;
            }
            let path: Vec<&str> = need.path.iter().map(String::as_str).collect();
            let has = |what: &str, names: &[String]| Some(format!("its {what} are {}", names.join(", ")));
            let (missing, help) = match &need.what {
                Wanted::Control(name) if !about.controls.contains(name) => {
                    (format!("congestion control `{name}`"), has("congestion controls", &about.controls))
                }
                Wanted::Queue(name) if !about.queues.contains(name) => {
                    (format!("queueing discipline `{name}`"), has("queueing disciplines", &about.queues))
                }
                Wanted::Timer(ms) if about.hz == 0 || !(ms * about.hz).is_multiple_of(1000) => {
                    let grain = 1000.0 / f64::from(about.hz);
                    (format!("timer of {ms}ms"), Some(format!("its timers are multiples of {grain}ms")))
                }
                _ => continue,
            };
            let message = format!("the kernel `{}` has no {missing}", image.name);
            problems.push(self.document.problem_at(&path, message, help));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.into_iter().collect()) }
    }

    fn describe(&self, job: Job) -> (String, String) {
        let cell = &self.cells[job.cell as usize];
        let point = if cell.sweep.is_empty() { String::new() } else { format!(" at {}", cell.sweep) };
        (cell.policy.clone(), point)
    }

    fn run_job(&self, job: Job, options: &Options, machine: Option<&Machine>) -> Result<Outcome, RunError> {
        let plan = &self.plans[job.cell as usize];
        let abort = options.kernel.as_ref().map_or(&options.abort, |kernel| &kernel.abort);
        let outcome = plan.run(options.seed, job, machine, abort).map_err(|error| self.failed(job, error))?;
        if options.verify {
            let again = plan.run(options.seed, job, machine, abort).map_err(|error| self.failed(job, error))?;
            if again != outcome {
                let (policy, point) = self.describe(job);
                return Err(RunError::NotDeterministic { policy, point, repeat: job.repeat });
            }
        }
        Ok(outcome)
    }

    fn failed(&self, job: Job, failure: Failure) -> RunError {
        let (policy, point) = self.describe(job);
        let repeat = job.repeat;
        let error = match failure {
            Failure::NoPath(error) => return RunError::NoPath { policy, point, repeat, error },
            // the caller knows how many are done
            Failure::Guests(GuestError::Interrupted) | Failure::Namespaces(LabError::Interrupted) => {
                return RunError::Interrupted { done: 0, total: 0 };
            }
            Failure::Guests(error) => error.to_string(),
            Failure::Namespaces(error) => error.to_string(),
            Failure::Other(error) => error.to_string(),
            Failure::Report(error) => error,
            Failure::NoImage => "there are kernel hosts, and no kernel for them".to_owned(),
        };
        RunError::Kernels { policy, point, repeat, error }
    }

    /// What thread number `worker` runs `job` with.
    /// Each run has one: on two, the way between processors costs more than it gains (docs/kernel-hosts.md).
    fn machine(&self, job: Job, folder: &Path, options: &Options, worker: usize) -> Option<Machine> {
        if self.plans[job.cell as usize].place()? == Where::Namespaces {
            return Some(Machine::Namespaces);
        }
        let kernel = options.kernel.as_ref()?;
        let all = &kernel.processors;
        let own = all.get(worker % all.len().max(1)).copied();
        let captures = folder.join("captures").join(format!("{}-{}", job.cell, job.repeat));
        let image = Arc::clone(&kernel.image);
        let processors = own.into_iter().collect();
        Some(Machine::Guests(GuestMachine { image, processors, threads: 1, captures: Some(captures) }))
    }

    /// Runs `job` alone and gives what came of it. `worker` chooses among the processors that `options` has; captures
    /// go below `folder`, nothing else is written.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If the cell is not there, or a simulated run breaks an invariant: a bug.
    pub fn outcome(&self, job: Job, folder: &Path, options: &Options, worker: usize) -> Result<Outcome, RunError> {
        let machine = self.machine(job, folder, options, worker);
        self.run_job(job, options, machine.as_ref())
    }

    /// Runs `job`, whose hosts are modelled, and gives the segments that passed its senders, each with the name of its
    /// host, in order of time.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// As [`Experiment::outcome`].
    pub fn trace(&self, job: Job, seed: u64) -> Result<Vec<(Arc<str>, Traced)>, RunError> {
        let plan = &self.plans[job.cell as usize];
        let mut rows = Vec::new();
        let never = Arc::new(AtomicBool::new(false));
        plan.run_traced(seed, job, None, &never, Some(&mut rows)).map_err(|error| self.failed(job, error))?;
        Ok(rows.into_iter().map(|row| (plan.host(row.host), row)).collect())
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
        let mut claims = self.claims.clone();
        let mut builder = SummaryBuilder::new(&self.cells, self.traffics());
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
        let mut left: Vec<Job> = jobs.into_iter().filter(|job| !completed.contains(job)).collect();
        left.sort_by_key(|job| (job.repeat, job.cell));
        progress(done, total);
        let next = AtomicUsize::new(0);
        let failure = AtomicBool::new(false);
        let mut error = None;
        std::thread::scope(|scope| {
            // A bounded channel: threads that are faster than the one that counts wait for it.
            let (sender, receiver) = mpsc::sync_channel(2 * options.threads);
            // namespaces share the processors that they measure
            let most = if self.needs_namespaces() { 1 } else { options.threads };
            let workers = most.clamp(1, left.len().max(1));
            for worker in 0..workers {
                let sender = sender.clone();
                let (next, left, failure) = (&next, &left, &failure);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !failure.load(Ordering::Relaxed) {
                        let Some(&job) = left.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
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
                    Ok(outcome) => {
                        take(&outcome, &mut claims);
                        done += 1;
                        progress(done, total);
                    }
                    Err(RunError::Interrupted { .. }) => failure.store(true, Ordering::Relaxed),
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
        let (commands, warnings) = tally.finish();
        Ok(Results { summary: builder.build(), verdicts: claims.verdicts(), commands, warnings })
    }
}

/// Commands and failures of all runs.
#[derive(Debug, Default)]
struct Tally {
    commands: Vec<Ended>,
    /// Flows that failed, by traffic and reason.
    failed: BTreeMap<(String, String), u64>,
    /// Sums over all runs.
    counters: Counters,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        self.counters += outcome.counters;
        for failed in &outcome.failed {
            *self.failed.entry((failed.traffic.clone(), failed.reason.clone())).or_default() += failed.flows;
        }
        for command in &outcome.commands {
            let line = if command.daemon().is_some() { last_lines(command) } else { first_line(command) };
            let mut command = command.clone();
            command.stdout.kept = Vec::new();
            command.stderr.kept = Vec::new();
            self.commands.push(Ended { job: outcome.job, command, line });
        }
    }

    fn finish(mut self) -> (Vec<Ended>, Vec<String>) {
        self.commands.sort_by_key(|ended| ended.job);
        let mut warnings = Vec::new();
        for ((traffic, reason), flows) in &self.failed {
            let flows = if *flows == 1 { "1 flow".to_owned() } else { format!("{flows} flows") };
            warnings.push(format!("{flows} of `{traffic}` failed: {reason}"));
        }
        let frames = |count: u64| if count == 1 { "1 frame".to_owned() } else { format!("{count} frames") };
        if self.counters.overruns > 0 {
            let count = frames(self.counters.overruns);
            warnings.push(format!("{count} found no buffer in the network card of a kernel host and were dropped"));
        }
        if self.counters.astray > 0 {
            let count = frames(self.counters.astray);
            warnings.push(format!("{count} of kernel hosts went to addresses that nobody has"));
        }
        let full = [(self.counters.ring_drops, "receive ring"), (self.counters.backlog_drops, "backlog of a core")];
        for (count, what) in full.into_iter().filter(|&(count, _)| count > 0) {
            warnings.push(format!("{} found the {what} of a modelled host full and were dropped", frames(count)));
        }
        // By traffic: how many failed, and one of them.
        let mut wrong: BTreeMap<&str, (usize, &Ended)> = BTreeMap::new();
        // By daemon and host: in how many runs it ended by itself, and one of them.
        let mut early: BTreeMap<(&str, &str), (usize, &Ended)> = BTreeMap::new();
        let mut cut = BTreeSet::new();
        for ended in &self.commands {
            let command = &ended.command;
            if let Some(daemon) = command.daemon() {
                if !command.ended {
                    early.entry((daemon, &*command.host)).or_insert((0, ended)).0 += 1;
                }
                continue;
            }
            // what was told to end dies of that
            if command.code != 0 && !(command.ended && [128 + 15, 128 + 9].contains(&command.code)) {
                wrong.entry(&command.traffic).or_insert((0, ended)).0 += 1;
            }
            if command.stdout.bytes.max(command.stderr.bytes) > Output::MOST as u64 {
                cut.insert(&*command.traffic);
            }
        }
        for (traffic, (count, first)) in wrong {
            let more = if count == 1 { String::new() } else { format!(", and {} more like it", count - 1) };
            let (host, code) = (&first.command.host, first.command.code);
            let line = if first.line.is_empty() { String::new() } else { format!(": {}", first.line) };
            warnings.push(format!("the command of `{traffic}` on `{host}` ended with code {code}{more}{line}"));
        }
        for ((daemon, host), (count, first)) in early {
            let more = if count == 1 { String::new() } else { format!(", and in {} more runs", count - 1) };
            let (at, code) = (first.command.end, first.command.code);
            let words = if first.line.is_empty() { String::new() } else { format!(": {}", first.line) };
            warnings.push(format!("the daemon `{daemon}` of `{host}` ended at {at} with code {code}{more}{words}"));
        }
        for traffic in cut {
            let most = Output::MOST / 1_000_000;
            warnings.push(format!("a command of `{traffic}` wrote more than {most} MB, of which the rest is not kept"));
        }
        (self.commands, warnings)
    }
}

/// As one line of at most so many bytes for a message.
fn printable(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(most)]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The first line of what it wrote: to its standard error if it failed.
fn first_line(command: &CommandRecord) -> String {
    let failed = command.code != 0 && !command.stderr.kept.is_empty();
    let wrote = if failed { &command.stderr.kept } else { &command.stdout.kept };
    printable(wrote.split(|&byte| byte == b'\n').next().unwrap_or_default(), 400)
}

/// The last lines of what it wrote, to its standard error if there is something, with ` | ` between.
fn last_lines(command: &CommandRecord) -> String {
    const MOST: usize = 3;
    let (out, error) = (&command.stdout.kept, &command.stderr.kept);
    let wrote = if error.is_empty() { out } else { error };
    let lines: Vec<&[u8]> = wrote.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MOST)..];
    last.iter().map(|line| printable(line, 200)).collect::<Vec<_>>().join(" | ")
}

fn sweep_value(value: &Scalar) -> SweepValue {
    match value {
        Scalar::Integer(number) => SweepValue::from(*number),
        Scalar::Float(number) => SweepValue::from(*number),
        Scalar::Bool(flag) => SweepValue::from(flag.to_string().as_str()),
        Scalar::Text(text) => SweepValue::from(text.as_str()),
    }
}
