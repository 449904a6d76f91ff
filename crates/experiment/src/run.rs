//! A run of a scenario into a folder: planned, opened, run to the end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_control::own::Registry;
use headway_kernel::image::Image;
use headway_lab::MachineInfo;
use headway_language::Problems;
use headway_results::{Folder, Job, Kernel, Manifest, Shard, Store, Warning};
use headway_scenario::Overrides;

use crate::clock;
use crate::error::Error;
use crate::estimate::Estimate;
use crate::experiment::Experiment;
use crate::files::Files;
use crate::fingerprint::{Keys, RESULTS_EPOCH};
use crate::keeper::Keeper;
use crate::kept;
use crate::live::Live;
use crate::opened::{Extent, Opened};
use crate::origin::Origin;
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
    /// A store of runs: those that are there are not computed, those that are computed are kept there. With `verify`
    /// none are taken from it.
    pub store: Option<PathBuf>,
    /// Only these of the runs, if not all.
    pub shard: Option<Shard>,
    /// Make no report.
    pub no_report: bool,
    /// Is told how far the runs under way are.
    pub live: Live,
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
    /// The store of [`Request::store`] alone, from which other calls make results.
    Store,
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
    source: Source,
    overrides: Overrides,
    store: Option<PathBuf>,
    joined: Option<Joined>,
}

/// What is known of runs that took place elsewhere, of which results are made here.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    pub kernel: Option<Kernel>,
    /// Warnings of the machines.
    pub warnings: Vec<String>,
    pub started: String,
    /// The time they took, all machines together.
    pub wall_s: f64,
}

impl Planned {
    /// Reads and checks `source`, and its requirements of this machine.
    ///
    /// # Errors
    /// If the scenario is wrong, the machine lacks something, or the run to go on with is of something else.
    pub fn new(source: &Source, destination: Destination, request: &Request) -> Result<Planned, Error> {
        Planned::plan(source, destination, request, None)
    }

    /// As [`Planned::new`], of runs that took place elsewhere: this machine need not have what they need.
    pub(crate) fn joined(
        source: &Source,
        destination: Destination,
        request: &Request,
        joined: Joined,
    ) -> Result<Planned, Error> {
        Planned::plan(source, destination, request, Some(joined))
    }

    /// The manifest as it will be.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn plan(
        source: &Source,
        destination: Destination,
        request: &Request,
        joined: Option<Joined>,
    ) -> Result<Planned, Error> {
        let there = match &destination {
            Destination::Resume(path) => Some(interrupted(path)?),
            _ => None,
        };
        let scenario = source.scenario(request.overrides.clone())?;
        // An interrupted run is continued as it was begun.
        let seed = request.seed.or(there.as_ref().map(|there| there.seed)).unwrap_or(scenario.record.seed);
        let repeats = request.repeats.or(there.as_ref().map(|there| there.repeats)).unwrap_or(scenario.record.repeats);
        let (document, text) = scenario.with(seed, repeats)?;
        let mut experiment = Experiment::with_own(&document, &source.folder, &request.own)?;
        experiment.live = request.live.clone();
        let image = if joined.is_some() { None } else { find_image(&experiment)? };
        let warnings = if let Some(joined) = &joined {
            joined.warnings.iter().cloned().map(Warning::Machine).collect()
        } else {
            let mut own = experiment.unmarked();
            own.extend(check_machine(&experiment, request.verify)?);
            own
        };
        let fitting = match &joined {
            Some(_) => threads(request.threads),
            None => experiment.find_room(threads(request.threads), repeats)?,
        };
        let files = scenario.files()?;
        let shard = request.shard.or(there.as_ref().and_then(|there| there.shard));
        let quick = request.overrides.quick || there.as_ref().is_some_and(|there| there.quick);
        let new_manifest = |text: &str| {
            let name = scenario.record.name.as_str();
            let mut manifest = Manifest::new(name, text, seed, repeats, VERSION, experiment.cells().to_vec());
            let kernel = joined.as_ref().and_then(|joined| joined.kernel.clone());
            manifest.results_epoch = RESULTS_EPOCH;
            manifest.kernel = image.as_deref().map(kernel_facts).or(kernel);
            manifest.quick = quick;
            manifest.packet_waits = experiment.measures_waits();
            manifest.shard = shard;
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
            threads: fitting,
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
            source: source.clone(),
            overrides: request.overrides.clone(),
            store: request.store.clone(),
            joined,
        })
    }

    /// How many runs there are at a time: fewer than asked for where memory is scarce.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// What is known before it runs that is reason to look twice before trusting its results.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What it takes, about.
    pub fn estimate(&self) -> Estimate {
        self.experiment.estimate(self.manifest.repeats)
    }

    /// Its size.
    pub fn extent(&self) -> Extent {
        self.experiment.extent(self.manifest.repeats)
    }

    /// Whether its runs can take place elsewhere, for [`crate::Session::work`].
    ///
    /// # Errors
    /// The reasons against it.
    pub fn check_remote(&self) -> Result<(), Problems> {
        self.experiment.check_remote(&self.files)
    }

    /// Makes the folder, or takes the interrupted run up. `unfinished` is told of folders that were passed over since
    /// they hold an interrupted run.
    ///
    /// # Errors
    /// If the folder cannot be written, or holds something else.
    pub fn open(mut self, unfinished: &mut dyn FnMut(&Path)) -> Result<Opened, Error> {
        self.manifest.started = self.joined.as_ref().map_or_else(clock::now, |joined| joined.started.clone());
        // Before a folder is made: a store that cannot be had is no reason to leave one behind.
        let keeper = self.store.clone().map(|path| self.keeper(path)).transpose()?;
        let (mut earlier_s, mut ended) = (0.0, None);
        let (folder, completed) = match &self.destination {
            Destination::Resume(path) => {
                let Some((there, theirs)) = &self.interrupted else { unreachable!("read when it was planned") };
                let (mut folder, completed) = resume(path, there, theirs, &self.files)?;
                self.manifest.started.clone_from(&there.started);
                earlier_s = there.wall_s;
                // Whatever was done when a process died here: it is written before the manifest that it belongs to.
                self.keep_origin(path, true)?;
                if self.text != self.interrupted_text {
                    self.manifest.wall_s = there.wall_s;
                    folder.adopt(&self.manifest, &self.text)?;
                } else if there.finished.is_some() {
                    ended = Some(there.clone());
                }
                (Some(folder), completed)
            }
            Destination::New(path) => (Some(self.create(path)?), BTreeSet::new()),
            Destination::Numbered(parent) => (Some(self.create_numbered(parent, unfinished)?), BTreeSet::new()),
            Destination::Store => {
                let Some(keeper) = &keeper else { return Err(Error::NoStore) };
                if let Some(reason) = self.manifest.own_jobs().find_map(|job| keeper.left_out(job)) {
                    return Err(Error::NotStored { reason });
                }
                (None, BTreeSet::new())
            }
        };
        let earlier_s = self.joined.as_ref().map_or(earlier_s, |joined| joined.wall_s);
        let (verify, no_report) = (self.verify, self.no_report);
        let Planned { experiment, left_out_claims, text, manifest, files, image, warnings, threads, .. } = self;
        Ok(Opened {
            experiment,
            manifest,
            text,
            files,
            image,
            warnings,
            left_out_claims,
            threads,
            verify,
            earlier_s,
            ended,
            no_report,
            folder,
            completed,
            keeper,
        })
    }

    /// The store at `path`, with the keys of all runs.
    fn keeper(&self, path: PathBuf) -> Result<Keeper, Error> {
        let store = Store::create(path)?;
        let cells = self.experiment.fingerprints(&self.files, self.manifest.kernel.as_ref())?;
        let keys = Keys { cells, seed: self.manifest.seed };
        Ok(Keeper::new(store, keys, &self.manifest, !self.verify))
    }

    fn create(&self, path: &Path) -> Result<Folder, Error> {
        Folder::create_with(path, &self.manifest, &self.text, |path, staging| {
            kept::keep(&self.files, path, staging)?;
            self.keep_origin(path, false)
        })
    }

    /// Writes where a shard comes from into its folder. If it is `resumed`, the folder may be all that is known of its
    /// scenario: what it says of that stays.
    fn keep_origin(&self, path: &Path, resumed: bool) -> Result<(), Error> {
        if self.manifest.shard.is_none() {
            return Ok(());
        }
        let numbers = (self.manifest.seed, self.manifest.repeats);
        let outside = || kept::outside(&self.experiment, &self.files, &self.source.folder);
        let there = if resumed { Origin::read(path).ok() } else { None };
        let Some(there) = there else {
            return Origin::new(&self.source, &self.overrides, numbers, outside()?).write(path);
        };
        // Beside the shard itself there is nothing that could differ.
        if !there.outside.is_empty() && self.source.folder != path {
            let outside = outside()?;
            if let Some((name, _)) = there.outside.iter().find(|(name, hash)| outside.get(*name) != Some(hash)) {
                return Err(Error::OtherFile { path: path.to_path_buf(), name: name.clone() });
            }
        }
        Origin { repeats: numbers.1, ..there }.write(path)
    }

    /// Whether the folder at `path` has the files of the scenario, as far as they are kept.
    pub(crate) fn check_files(&self, path: &Path) -> Result<(), Error> {
        self.files.check_in(path)
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
                    | Why::Format { .. }
                    | Why::Shard { .. },
                )) => {}
                done => return done,
            }
        }
        Err(Error::TooManyFolders { parent: parent.to_path_buf(), most: MOST })
    }
}

/// So many runs at a time: as `asked`, otherwise one for each core.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// The kernel of kernel hosts, if there are any in guests.
pub(crate) fn find_image(experiment: &Experiment) -> Result<Option<Arc<Image>>, Error> {
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

/// The image in `manifest.json`.
pub(crate) fn kernel_facts(image: &Image) -> Kernel {
    Kernel {
        name: image.name.clone(),
        version: image.about.version.clone(),
        linux_sha256: image.about.linux.sha256.clone(),
        initramfs_sha256: image.about.initramfs.sha256.clone(),
        system_sha256: image.about.system.sha256.clone(),
        changes: image.changes(),
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
    let text = match headway_input::read_text(&file, Manifest::LARGEST) {
        Ok(text) => text,
        Err(error) if error.is_missing() => {
            return Err(Why::NoManifest { path: path.to_path_buf() }.into());
        }
        Err(error) => return Err(Why::Io { action: "read", path: file, source: error.into() }.into()),
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
        ("epoch of results", there.results_epoch.to_string(), manifest.results_epoch.to_string()),
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
