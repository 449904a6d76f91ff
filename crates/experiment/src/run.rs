//! A run of a scenario into a folder: planned, opened, run to the end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use headway_control::own::Registry;
use headway_kernel::image::Image;
use headway_lab::MachineInfo;
use headway_results::{Folder, Job, Kernel, Manifest, Verdict, Warning};
use headway_scenario::Overrides;

use crate::clock;
use crate::error::{Error, RunError};
use crate::experiment::{Experiment, KernelOptions, Options};
use crate::files::Files;
use crate::report::{ReportError, write_report};
use crate::simulate::{Progress, Results};
use crate::source::Source;

/// The version that manifests carry. A run is gone on with by the same version only.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How a scenario is run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Changes to the scenario.
    pub overrides: Overrides,
    /// The root of all random numbers, if not the scenario's.
    pub seed: Option<u64>,
    /// Repeats of every cell, if not as many as the scenario says.
    pub repeats: Option<u32>,
    /// Runs at a time; one for each core when left out. Results do not depend on it.
    pub threads: Option<usize>,
    /// Make every run twice and compare.
    pub verify: bool,
    /// Congestion controls and judges that this program gives, by name.
    pub own: Registry,
    /// The arguments of the command line, for the manifest.
    pub command: Vec<String>,
    /// Make no report.
    pub no_report: bool,
}

/// The folder that results go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A folder in this one, called as the scenario, with a number behind it if that is taken.
    Numbered(PathBuf),
    /// This folder, which must be new or empty.
    New(PathBuf),
    /// This folder, in which an interrupted run is gone on with.
    Resume(PathBuf),
}

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

/// A scenario that was checked in all respects, ready to be run. Nothing was written.
#[derive(Debug)]
pub struct Planned {
    experiment: Experiment,
    left_out_claims: Vec<String>,
    text: String,
    manifest: Manifest,
    destination: Destination,
    /// The interrupted run: its manifest, and as it would be written by this version.
    interrupted: Option<(Manifest, Manifest)>,
    /// The text with the interrupted run's number of repeats.
    interrupted_text: String,
    files: Files,
    image: Option<Arc<Image>>,
    warnings: Vec<Warning>,
    threads: usize,
    verify: bool,
    no_report: bool,
}

/// A run whose folder is there.
#[derive(Debug)]
pub struct Opened {
    planned: Planned,
    folder: Folder,
    completed: BTreeSet<Job>,
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
    /// The report in the folder, or why there is none; `None` if none was wanted.
    pub report: Option<Result<PathBuf, ReportError>>,
}

impl Planned {
    /// Reads and checks `source`, and its requirements of this machine.
    ///
    /// # Errors
    /// If the scenario is wrong, the machine lacks something, or the run to go on with is of something else.
    pub fn new(source: &Source, destination: Destination, request: &Request) -> Result<Planned, Error> {
        let there = match &destination {
            Destination::Resume(path) => Some(interrupted(path)?),
            _ => None,
        };
        let scenario = source.scenario(request.overrides.clone())?;
        // An interrupted run is continued as it was begun.
        let seed = request.seed.or(there.as_ref().map(|there| there.seed)).unwrap_or(scenario.record.seed);
        let repeats = request.repeats.or(there.as_ref().map(|there| there.repeats)).unwrap_or(scenario.record.repeats);
        let (document, text) = scenario.with(seed, repeats)?;
        let experiment = Experiment::with_own(&document, &source.folder, &request.own)?;
        let image = find_image(&experiment)?;
        let warnings = check_machine(&experiment, request.verify)?;
        let files = scenario.files()?;
        let quick = request.overrides.quick || there.as_ref().is_some_and(|there| there.quick);
        let new_manifest = |text: &str| {
            let name = scenario.record.name.as_str();
            let mut manifest = Manifest::new(name, text, seed, repeats, VERSION, experiment.cells().to_vec());
            manifest.kernel = image.as_deref().map(kernel_facts);
            manifest.quick = quick;
            manifest
        };
        let mut manifest = new_manifest(&text);
        manifest.command.clone_from(&request.command);
        // Their text differs in the number of repeats, which may change.
        let interrupted_text = match &there {
            Some(there) => scenario.with(seed, there.repeats)?.1,
            None => String::new(),
        };
        let theirs = new_manifest(&interrupted_text);
        Ok(Planned {
            left_out_claims: document.left_out_claims().to_vec(),
            interrupted: there.map(|there| (there, theirs)),
            threads: threads(request.threads),
            verify: request.verify,
            no_report: request.no_report,
            experiment,
            text,
            manifest,
            destination,
            interrupted_text,
            files,
            image,
            warnings,
        })
    }

    /// Its size.
    pub fn extent(&self) -> Extent {
        self.experiment.extent(self.manifest.repeats)
    }

    /// Makes the folder, or takes the interrupted run up. `unfinished` is told of folders that were passed over since
    /// they hold an interrupted run.
    ///
    /// # Errors
    /// If the folder cannot be written, or holds something else.
    pub fn open(mut self, unfinished: &mut dyn FnMut(&Path)) -> Result<Opened, Error> {
        self.manifest.started = clock::now();
        let (folder, completed) = match &self.destination {
            Destination::Resume(path) => {
                let Some((there, theirs)) = &self.interrupted else { unreachable!("read when it was planned") };
                let (mut folder, completed) = resume(path, there, theirs, &self.files)?;
                self.manifest.started.clone_from(&there.started);
                if self.text != self.interrupted_text {
                    folder.adopt(&self.manifest, &self.text)?;
                }
                (folder, completed)
            }
            Destination::New(path) => (self.create(path)?, BTreeSet::new()),
            Destination::Numbered(parent) => (self.create_numbered(parent, unfinished)?, BTreeSet::new()),
        };
        Ok(Opened { planned: self, folder, completed })
    }

    fn create(&self, path: &Path) -> Result<Folder, Error> {
        let folder = Folder::create(path, &self.manifest, &self.text)?;
        self.files.keep_in(path)?;
        Ok(folder)
    }

    /// A folder in `parent` that nothing is in yet.
    fn create_numbered(&self, parent: &Path, unfinished: &mut dyn FnMut(&Path)) -> Result<Folder, Error> {
        use headway_results::Error as Why;
        const MOST: usize = 100_000;
        for number in 1..MOST {
            let name = &self.manifest.scenario;
            let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            let path = parent.join(name);
            if path.exists() && !path.is_dir() {
                continue;
            }
            match self.create(&path) {
                Err(Error::Results(Why::Interrupted { .. })) => unfinished(&path),
                // Whatever is there, it is not ours to touch.
                Err(Error::Results(
                    Why::Complete { .. }
                    | Why::NotOurs { .. }
                    | Why::Busy { .. }
                    | Why::Damaged { .. }
                    | Why::Format { .. },
                )) => {}
                done => return done,
            }
        }
        Err(Error::TooManyFolders { parent: parent.to_path_buf(), most: MOST })
    }
}

impl Opened {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether hosts are kernels, so that runs under way can be aborted.
    pub fn has_kernels(&self) -> bool {
        self.planned.image.is_some() || self.planned.experiment.needs_namespaces()
    }

    /// Whether congestion controls or judges of this program take part, whose runs can be aborted, too.
    pub fn has_own(&self) -> bool {
        !self.planned.experiment.own().is_empty()
    }

    /// Runs all that is not complete yet and finishes the folder, telling `progress`, until done or interrupted.
    ///
    /// # Errors
    /// See [`RunError`]; complete runs stay in the folder.
    ///
    /// # Panics
    /// If a simulated run breaks an invariant: a bug.
    pub fn run(self, interruption: &Interruption, progress: Progress<'_>) -> Result<Finished, RunError> {
        let began = Instant::now();
        let Opened { planned, folder, completed } = self;
        let extent = planned.extent();
        let Planned { experiment, mut manifest, left_out_claims, files, image, warnings, threads, .. } = planned;
        let (verify, no_report) = (planned.verify, planned.no_report);
        let path = folder.path().to_path_buf();
        let kernel = image.map(|image| KernelOptions { image, processors: processors() });
        let abort = Arc::clone(&interruption.abort);
        let options = Options { seed: manifest.seed, threads, verify, kernel, abort };
        let stop = &interruption.stop;
        let mut results = experiment.simulate(&folder, &manifest, &completed, &options, stop, progress)?;
        let mut all = std::mem::take(&mut results.unfinished);
        all.extend(warnings);
        all.append(&mut results.warnings);
        all.extend(files.outside.into_iter().map(|name| Warning::NotKept { name }));
        manifest.claims = results.verdicts.iter().map(Verdict::to_json).collect();
        manifest.not_evaluated.clone_from(&left_out_claims);
        manifest.warnings = all.iter().map(headway_report::warning).collect();
        results.warnings = all;
        manifest.finished = Some(clock::now());
        manifest.wall_s = began.elapsed().as_secs_f64();
        let manifest = folder.finish(&results.summary, &manifest)?;
        // The results are complete: whatever becomes of the report, they are kept.
        let report = (!no_report).then(|| write_report(&path));
        Ok(Finished { results, manifest, path, left_out_claims, extent, took: began.elapsed(), report })
    }
}

impl Experiment {
    /// Its size with so many repeats.
    pub fn extent(&self, repeats: u32) -> Extent {
        let policies = self.scenario.policy.len();
        Extent { policies, points: self.cells().len() / policies.max(1), repeats }
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

/// So many runs at a time: as `asked`, otherwise one for each core.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// The kernel of kernel hosts, if there are any in guests.
fn find_image(experiment: &Experiment) -> Result<Option<Arc<Image>>, Error> {
    if !experiment.needs_kernel() {
        return Ok(None);
    }
    let image = Image::find(experiment.scenario.kernel.as_deref())?;
    experiment.check_image(&image)?;
    Ok(Some(Arc::new(image)))
}

/// Whether this machine can have the hosts that are its namespaces, if there are any, and what to know of it.
fn check_machine(experiment: &Experiment, verify: bool) -> Result<Vec<Warning>, Error> {
    if !experiment.needs_namespaces() {
        return Ok(Vec::new());
    }
    if verify {
        return Err(Error::VerifyRealTime);
    }
    headway_lab::check(experiment.hosts())?;
    Ok(experiment.check_namespaces(&MachineInfo::look())?)
}

/// Processors for guests. Several experiments at a time should not all begin with the same one.
fn processors() -> Vec<usize> {
    let mut processors = headway_kernel::processors();
    let most = processors.len().max(1);
    processors.rotate_left(std::process::id() as usize % most);
    processors
}

/// The image in `manifest.json`.
fn kernel_facts(image: &Image) -> Kernel {
    Kernel {
        name: image.name.clone(),
        version: image.about.version.clone(),
        linux_sha256: image.about.linux.sha256.clone(),
        initramfs_sha256: image.about.initramfs.sha256.clone(),
        system_sha256: image.about.system.sha256.clone(),
    }
}

/// The manifest of the interrupted run in `path`.
///
/// # Errors
/// If there is none.
pub fn interrupted(path: &Path) -> Result<Manifest, Error> {
    use headway_results::Error as Why;
    if !path.is_dir() {
        return Err(Error::NoFolder { path: path.to_path_buf() });
    }
    let file = path.join("manifest.json");
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Why::NoManifest { path: path.to_path_buf() }.into());
        }
        Err(source) => return Err(Why::Io { action: "read", path: file, source }.into()),
    };
    let there: Manifest = match serde_json::from_str(&text) {
        Ok(there) => there,
        Err(error) => return Err(Why::Damaged { path: file, reason: error.to_string() }.into()),
    };
    if there.complete {
        return Err(Error::Finished { path: path.to_path_buf() });
    }
    Ok(there)
}

/// Takes the interrupted run `there` up as `manifest`, which has their number of repeats in its text.
fn resume(path: &Path, there: &Manifest, manifest: &Manifest, files: &Files) -> Result<(Folder, BTreeSet<Job>), Error> {
    use headway_results::Error as Why;
    // The text holds the seed, and its defaults are the version's: told before the hashes are found to differ.
    for (what, found, expected) in [
        ("version", there.version.clone(), manifest.version.clone()),
        ("seed", there.seed.to_string(), manifest.seed.to_string()),
    ] {
        if found != expected {
            return Err(Why::Mismatch { path: path.to_path_buf(), what: what.to_owned(), found, expected }.into());
        }
    }
    files.check_in(path)?;
    Folder::resume(path, manifest).map_err(|error| match &error {
        Why::Mismatch { what, .. } if what == "scenario hash" => {
            Error::OtherScenario { error, kept: path.join("scenario.toml") }
        }
        _ => error.into(),
    })
}
