//! A scenario that was checked and built: every policy at every sweep point.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_control::own::Registry;
use headway_emulation::{GuestMachine, Machine, Where};
use headway_kernel::image::Image;
use headway_language::{Problems, Scalar};
use headway_results::{Cell, Job, Outcome, SweepValue, Warning};
use headway_scenario::plan::{Network, PlanError, TrafficPlan, Unmarked};
use headway_scenario::schema::{HttpRecord, TrafficRecord};
use headway_scenario::{Document, ScenarioRecord};
use headway_transport::Traced;

use crate::cell::{CellPlan, Failure, Watched};
use crate::claims::Claims;
use crate::error::{RunError, Which};
use crate::files::Tables;
use crate::film::FilmPlan;
use crate::live::Live;
use crate::operand::check_ports;

/// A scenario that was checked and built at every sweep point with every policy.
#[derive(Debug)]
pub struct Experiment {
    /// The scenario at its first sweep point: keys that do not vary are the same at all.
    pub scenario: ScenarioRecord,

    pub(crate) plans: Vec<CellPlan>,
    pub(crate) cells: Vec<Cell>,
    /// Without results.
    pub(crate) claims: Claims,
    pub(crate) document: Document,
    /// The tables that the plans were made of.
    pub(crate) tables: Tables,
    /// Is told how far runs are.
    pub(crate) live: Live,
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
    /// Ends runs on kernels at once when it is set.
    pub abort: Arc<AtomicBool>,
}

/// How to run kernel hosts.
#[derive(Debug, Clone)]
pub struct KernelOptions {
    /// Their kernel.
    pub image: Arc<Image>,
    /// The processors to use; wherever the system puts them if there are none.
    pub processors: Vec<usize>,
}

/// The congestion controls that modelled hosts have, by the names that scenarios use.
pub fn controls() -> &'static [&'static str] {
    headway_control::congestion::AnyController::NAMES
}

impl Experiment {
    /// Checks and builds `document`; files it names are looked for in `folder`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(document: &Document, folder: &Path) -> Result<Experiment, Problems> {
        Experiment::with_own(document, folder, &Registry::default())
    }

    /// As [`Experiment::new`], with the congestion controls and judges that this program gives.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn with_own(document: &Document, folder: &Path, registry: &Registry) -> Result<Experiment, Problems> {
        document.check_all()?;
        let experiment = Experiment::plan(document, folder, registry)?;
        for variant in document.variants()? {
            Experiment::plan(&variant.document, folder, registry).map_err(|problems| variant.name(problems))?;
        }
        Ok(experiment)
    }

    /// Builds `document`, every point of which was checked.
    fn plan(document: &Document, folder: &Path, registry: &Registry) -> Result<Experiment, Problems> {
        let points = document.points();
        let first = document.scenario(&points[0])?;
        let mut plans = Vec::new();
        let mut cells = Vec::new();
        let mut problems = Vec::new();
        let (mut tables, mut networks) = (Tables::default(), Networks::default());
        for (at, point) in points.iter().enumerate() {
            let scenario = document.scenario(point)?;
            let locate = |fault: PlanError| {
                let problem = document.locate(fault);
                if points.len() > 1 { problem.at_point(point) } else { problem }
            };
            tables.look(&scenario, folder);
            let network = match networks.of(&scenario) {
                Ok(network) => network,
                Err(fault) => {
                    problems.push(locate(fault));
                    continue;
                }
            };
            problems.extend(check_ports(&scenario, &network).into_iter().map(locate));
            let traffic = match TrafficPlan::build(&scenario, &network, folder) {
                Ok(traffic) => Arc::new(traffic),
                Err(fault) => {
                    problems.push(locate(fault));
                    continue;
                }
            };
            let film = FilmPlan::new(&scenario, &network, at, points.len());
            for (index, policy) in scenario.policy.iter().enumerate() {
                match CellPlan::new(&scenario, index, (&network, &traffic), (folder, registry)) {
                    Ok(plan) => plans.push(plan.filmed(film.clone())),
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
            Ok(claims) if problems.is_empty() => Ok(Experiment {
                scenario: first,
                plans,
                cells,
                claims,
                document: document.clone(),
                tables,
                live: Live::default(),
            }),
            Ok(_) => Err(problems.into_iter().collect()),
            Err(more) => Err(problems.into_iter().chain(more).collect()),
        }
    }

    /// The cells: every policy at every sweep point.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether it is measured in some cell how long packets wait.
    pub(crate) fn measures_waits(&self) -> bool {
        self.plans.iter().any(CellPlan::measures_waits)
    }

    /// Seconds that a full frame takes at the port called `name`, in cell number `cell`.
    pub(crate) fn frame_time(&self, cell: u32, name: &str) -> Option<f64> {
        self.plans.get(cell as usize)?.frame_time(name)
    }

    /// Flows that act on marks, and queues on their way that do not mark: a warning for each policy of which that is so.
    pub fn unmarked(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        let mut seen = BTreeSet::new();
        for (cell, plan) in self.cells.iter().zip(&self.plans) {
            let Some(Unmarked { traffics, port, more }) = plan.unmarked().cloned() else { continue };
            if seen.insert(&cell.policy) {
                let (policy, sweep) = (cell.policy.clone(), cell.sweep.clone());
                warnings.push(Warning::Unmarked { policy, sweep, traffics, port, more });
            }
        }
        warnings
    }

    /// How many hosts the network has at most, at any point.
    pub fn hosts(&self) -> usize {
        self.plans.iter().map(CellPlan::hosts).max().unwrap_or(0)
    }

    /// The names by which flows are reported.
    pub fn traffics(&self) -> Vec<String> {
        self.scenario.traffic.iter().flat_map(TrafficRecord::reported).collect()
    }

    /// The traffics that are of requests one after the other, whose rate is what they are about.
    pub(crate) fn rated(&self) -> Vec<String> {
        let webs = self.scenario.traffic.iter().filter_map(|traffic| Some((traffic, traffic.http()?)));
        let of = |(traffic, http): (&TrafficRecord, &HttpRecord)| {
            let groups = http.clients.iter().map(|own| format!("{}/{}", traffic.name, own.on)).collect::<Vec<_>>();
            std::iter::once(traffic.name.to_string()).chain(groups)
        };
        webs.flat_map(of).collect()
    }

    /// The set-up of kernel hosts for cell number `cell`: addresses, routes, settings, as text. Any change of a scenario,
    /// or of how Headway reads it, that changes the kernels beyond their traffic changes this text.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn kernel_setup(&self, cell: usize) -> String {
        self.plans[cell].kernel_setup()
    }

    /// The congestion controls and judges of this program that it runs with, in words. What they do is in no folder of
    /// results: the same scenario with other code gives other results.
    pub fn own(&self) -> Vec<String> {
        self.plans.iter().flat_map(CellPlan::own).collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// Whether hosts or links of models are captured.
    pub(crate) fn captures_models(&self) -> bool {
        self.plans.iter().any(CellPlan::is_captured)
    }

    /// Whether any of it runs on kernel hosts.
    pub fn needs_kernel(&self) -> bool {
        self.plans.iter().any(|plan| plan.place() == Some(Where::Guests))
    }

    /// Whether any of it runs in namespaces of this machine.
    pub fn needs_namespaces(&self) -> bool {
        self.plans.iter().any(|plan| plan.place() == Some(Where::Namespaces))
    }

    fn run_job(
        &self,
        job: Job,
        options: &Options,
        machine: Option<&Machine>,
        captures: &Path,
    ) -> Result<Outcome, RunError> {
        let plan = &self.plans[job.cell as usize];
        let run = || {
            plan.run(options.seed, job, machine, (&options.abort, &self.live), captures)
                .map_err(|failure| self.failed(job, failure))
        };
        let outcome = run()?;
        if options.verify && run()? != outcome {
            let which = Box::new(self.which(job));
            let own = plan.own();
            let all = own.join(", ");
            return Err(if own.is_empty() {
                RunError::NotDeterministic(which)
            } else {
                RunError::Undecided(which, all)
            });
        }
        Ok(outcome)
    }

    /// The run `job`, for people.
    fn which(&self, job: Job) -> Which {
        let cell = &self.cells[job.cell as usize];
        Which { policy: cell.policy.clone(), sweep: cell.sweep.clone(), repeat: job.repeat }
    }

    fn failed(&self, job: Job, failure: Failure) -> RunError {
        match failure {
            Failure::NoPath(error) => RunError::NoPath(Box::new(self.which(job)), error),
            Failure::Interrupted => RunError::Aborted,
            Failure::Memory(error) => RunError::Memory(Box::new(self.which(job)), error.room),
            Failure::Own(flow, failure) => RunError::Own(Box::new(self.which(job)), flow, Box::new(failure)),
            Failure::Files(error) => RunError::Results(error),
            Failure::Kernels(error) => RunError::Kernels(Box::new(self.which(job)), Box::new(error)),
        }
    }

    /// The machine on which thread number `worker` runs `job`.
    /// Each run has one: on two, the way between processors costs more than it gains (docs/kernel-hosts.md).
    pub(crate) fn machine(&self, job: Job, folder: &Path, options: &Options, worker: usize) -> Option<Machine> {
        if self.plans[job.cell as usize].place()? == Where::Namespaces {
            return Some(Machine::Namespaces);
        }
        let kernel = options.kernel.as_ref()?;
        let all = &kernel.processors;
        let own = all.get(worker % all.len().max(1)).copied();
        let captures = captures(folder, job);
        let image = Arc::clone(&kernel.image);
        let processors = own.into_iter().collect();
        Some(Machine::Guests(GuestMachine { image, processors, threads: 1, captures: Some(captures) }))
    }

    /// Runs `job` alone and gives its outcome. `worker` chooses among the processors that `options` has; captures
    /// go below `folder`, nothing else is written.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If the cell is not there, or a simulated run breaks an invariant: a bug.
    pub fn outcome(&self, job: Job, folder: &Path, options: &Options, worker: usize) -> Result<Outcome, RunError> {
        let machine = self.machine(job, folder, options, worker);
        self.run_job(job, options, machine.as_ref(), &captures(folder, job))
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
        plan.run_traced(seed, job, None, (&never, &self.live), Watched::Traced(&mut rows))
            .map_err(|error| self.failed(job, error))?;
        Ok(rows.into_iter().map(|row| (plan.host(row.host), row)).collect())
    }
}

/// Networks that points of a sweep share: a large one takes most of a scenario's memory.
#[derive(Default)]
struct Networks {
    /// The latest, each with the scenario that it was built of.
    latest: VecDeque<(ScenarioRecord, Arc<Network>)>,
}

impl Networks {
    /// So many are looked at: the points of a network are mostly close to each other.
    const MOST: usize = 16;

    fn of(&mut self, scenario: &ScenarioRecord) -> Result<Arc<Network>, PlanError> {
        if let Some((_, network)) = self.latest.iter().find(|(own, _)| Network::is_shared(own, scenario)) {
            return Ok(Arc::clone(network));
        }
        let network = Arc::new(Network::build(scenario)?);
        self.latest.truncate(Networks::MOST - 1);
        self.latest.push_front((scenario.clone(), Arc::clone(&network)));
        Ok(network)
    }
}

/// Where captures of `job` are, of results in `folder`.
fn captures(folder: &Path, job: Job) -> PathBuf {
    folder.join("captures").join(format!("{}-{}", job.cell, job.repeat))
}

fn sweep_value(value: &Scalar) -> SweepValue {
    match value {
        Scalar::Integer(number) => SweepValue::from(*number),
        Scalar::Float(number) => SweepValue::from(*number),
        Scalar::Bool(flag) => SweepValue::from(flag.to_string().as_str()),
        Scalar::Text(text) => SweepValue::from(text.as_str()),
    }
}
