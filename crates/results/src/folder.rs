//! The folder that a run leaves behind, from its first part to its final files.
//!
//! While it runs there are `manifest.json` (not `complete`), `scenario.toml` and `parts/`, one file for
//! each finished run. [`Folder::finish`] merges the parts into `flows.parquet`, `series.parquet` and
//! `summary.csv`, marks the manifest `complete` as the last step and removes `parts/`. Every file appears
//! under its name only when all of it is written, so a process that dies leaves whole files or none.
//! Nothing is flushed to the device, though: after a power cut a part may be empty, which is why
//! [`Folder::resume`] reads each before it counts it.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use headway_units::Bytes;

use crate::command::CommandTable;
use crate::error::Error;
use crate::file::{TEMPORARY, create, parquet, rename, temporary, write_file};
use crate::manifest::{Kernel, Manifest, RunTotals, sha256};
use crate::part;
use crate::record::{Cell, Job, Outcome};
use crate::repeats::Repeats;
use crate::summary::Summary;
use crate::table::{FlowTable, LinkTable, PathTable, SeriesTable};
use crate::topologies::Topologies;

pub(crate) const MANIFEST: &str = "manifest.json";
const SCENARIO: &str = "scenario.toml";
pub(crate) const FLOWS: &str = "flows.parquet";
pub(crate) const SERIES: &str = "series.parquet";
pub(crate) const LINKS: &str = "links.parquet";
pub(crate) const PATHS: &str = "paths.parquet";
pub(crate) const TOPOLOGY: &str = "topology.json";
const SUMMARY: &str = "summary.csv";
const REPEATS: &str = "repeats.csv";
const COMMANDS: &str = "commands.csv";
const PARTS: &str = "parts";
const LOCK: &str = "lock";
const PART: &str = "part";

/// In `parts/`, a place for the caller's files before the folder is there.
const OWN: &str = "files";

/// Less than this is not worth starting with; a run of any size can still fill the disk.
const MIN_SPACE: Bytes = Bytes::new(64 << 20);

/// A results folder that is being filled. It is locked against other processes while this exists.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    manifest: Manifest,
    lock: File,
}

/// A folder of runs that was not finished, for reading.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// The folder.
    pub path: PathBuf,
    /// Its `manifest.json`.
    pub manifest: Manifest,
    /// Those of its own runs that are there.
    pub completed: BTreeSet<Job>,
}

/// A finished results folder, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The folder.
    pub path: PathBuf,
    /// Its `manifest.json`.
    pub manifest: Manifest,
    /// Its `summary.csv`.
    pub summary: Summary,
}

impl Folder {
    /// As [`Folder::create_with`], with no files of the caller's.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn create(path: impl Into<PathBuf>, manifest: &Manifest, scenario_text: &str) -> Result<Folder, Error> {
        Folder::create_with(path, manifest, scenario_text, |_, _| Ok(()))
    }

    /// Starts a folder at `path`, which must be new or empty (parents are made), for the runs of `manifest`. `files` puts
    /// further files into the folder, its first argument; its second is a place within for a folder of its own, which is not
    /// there and need not last.
    ///
    /// The manifest is written last, and makes it a folder of results. So a process that dies before leaves a folder with
    /// `parts/` and no manifest, which is taken for a new one; files of `files` may be there already then.
    ///
    /// # Errors
    /// If something is there already, the place cannot be written, or less than 64 MiB are free.
    ///
    /// # Panics
    /// If the manifest is of another text than `scenario_text`.
    pub fn create_with<E: From<Error>>(
        path: impl Into<PathBuf>,
        manifest: &Manifest,
        scenario_text: &str,
        files: impl FnOnce(&Path, &Path) -> Result<(), E>,
    ) -> Result<Folder, E> {
        assert_eq!(manifest.scenario_sha256, sha256(scenario_text), "the manifest is of another scenario");
        let path = path.into();
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        check_no_results(&path)?;
        if !was_begun(&path) && fs::read_dir(&path).map_err(Error::io("read", &path))?.next().is_some() {
            return Err(Error::NotOurs { path }.into());
        }
        // Where the system does not tell, the run itself will.
        check_space(&path, fs4::available_space(&path).map_or(Bytes::MAX, Bytes::new))?;
        let lock = lock(&path)?;
        // Another process may have begun it in the meantime.
        check_no_results(&path)?;
        let mut manifest = manifest.clone();
        manifest.complete = false;
        write_file(&path.join(SCENARIO), |file| file.write_all(scenario_text.as_bytes()))?;
        let own = path.join(PARTS).join(OWN);
        if own.exists() {
            fs::remove_dir_all(&own).map_err(Error::io("remove", &own))?;
        }
        files(&path, &own)?;
        write_file(&path.join(MANIFEST), |file| file.write_all(manifest.to_text().as_bytes()))?;
        Ok(Folder { path, manifest, lock })
    }

    /// The manifest of the unfinished folder at `path`, and those of its own runs that are there, for reading alone: nobody else
    /// should write to it. Whether a run is damaged is seen when it is read.
    ///
    /// # Errors
    /// If there is no manifest, or a damaged one.
    pub fn look(path: impl Into<PathBuf>) -> Result<Unfinished, Error> {
        let path = path.into();
        let manifest = read_manifest(&path)?;
        let completed = manifest.own_jobs().filter(|job| part_of(&path, *job).exists()).collect();
        Ok(Unfinished { path, manifest, completed })
    }

    /// Continues the interrupted run in the folder at `path`; also returns the runs of `manifest` that need
    /// not run again. The number of repeats may differ: parts beyond it are left alone.
    ///
    /// Parts that are cut or damaged do not count.
    ///
    /// # Errors
    /// If there is no run, if it is complete, or if scenario, seed, version or cells differ.
    pub fn resume(path: impl Into<PathBuf>, manifest: &Manifest) -> Result<(Folder, BTreeSet<Job>), Error> {
        let path = path.into();
        let there = read_manifest(&path)?;
        if there.complete {
            return Err(Error::Complete { path });
        }
        if let Some((what, found, expected)) = difference(&there, manifest) {
            return Err(Error::Mismatch { path, what, found, expected });
        }
        let lock = lock(&path)?;
        let mut manifest = manifest.clone();
        manifest.complete = false;
        let folder = Folder { path, manifest, lock };
        folder.remove_temporary()?;
        let completed = folder.manifest.own_jobs().filter(|job| folder.load(*job).is_ok()).collect();
        Ok((folder, completed))
    }

    /// Makes `manifest` the folder's own, with the text it is of: a resumed run may have another number of repeats.
    ///
    /// # Errors
    /// If the files cannot be written.
    ///
    /// # Panics
    /// If the manifest is of another text, or has other cells.
    pub fn adopt(&mut self, manifest: &Manifest, scenario_text: &str) -> Result<(), Error> {
        assert_eq!(manifest.scenario_sha256, sha256(scenario_text), "the manifest is of another scenario");
        assert!(manifest.cells == self.manifest.cells, "the manifest is of other runs");
        let mut manifest = manifest.clone();
        manifest.complete = false;
        write_file(&self.path.join(SCENARIO), |file| file.write_all(scenario_text.as_bytes()))?;
        write_file(&self.path.join(MANIFEST), |file| file.write_all(manifest.to_text().as_bytes()))?;
        self.manifest = manifest;
        Ok(())
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the outcome of one run. May be called from several threads, once for each run.
    ///
    /// # Errors
    /// If the file cannot be written, naming it; parts kept before are not touched.
    ///
    /// # Panics
    /// If the manifest has no such run.
    pub fn put(&self, outcome: &Outcome) -> Result<(), Error> {
        assert!(self.manifest.has(outcome.job), "no run {:?} in the manifest", outcome.job);
        write_file(&self.part(outcome.job), |file| part::write(outcome, file))
    }

    /// As [`Folder::put`], of a run that another folder has: without a copy where the file system allows.
    ///
    /// # Errors
    /// If it is not there, or the file cannot be written.
    ///
    /// # Panics
    /// If the manifest has no such run.
    pub fn put_from(&self, other: &Unfinished, job: Job) -> Result<(), Error> {
        assert!(self.manifest.has(job), "no run {job:?} in the manifest");
        let (from, to) = (part_of(&other.path, job), self.part(job));
        let temporary = temporary(&to);
        // What a process that died left may be a link to that very file.
        let _ = fs::remove_file(&temporary);
        if fs::hard_link(&from, &temporary).is_err() {
            fs::copy(&from, &temporary).map_err(Error::io("copy", &from))?;
        }
        rename(&to)
    }

    /// Reads the outcome of one run back, exactly as it was put.
    ///
    /// # Errors
    /// If it was not put, or its file is damaged.
    pub fn load(&self, job: Job) -> Result<Outcome, Error> {
        load(&self.path, job)
    }

    /// Merges all runs into the final files, in the order of cells and repeats, with one run in memory at a
    /// time. `manifest` is the one to leave in the folder: with times, warnings and claims as the caller has
    /// set them; its `runs` are filled here. Returns it as written.
    ///
    /// # Errors
    /// If a run is missing or damaged, or a file cannot be written. The parts are still there then, and the
    /// folder can be resumed.
    ///
    /// # Panics
    /// If the manifest is not that of the folder's runs.
    pub fn finish(self, summary: &Summary, repeats: &Repeats, manifest: &Manifest) -> Result<Manifest, Error> {
        let own = &self.manifest;
        assert!(own.cells == manifest.cells && own.repeats == manifest.repeats, "the manifest is of other runs");
        self.check_all_there()?;
        let mut manifest = manifest.clone();
        manifest.runs = self.merge().inspect_err(|_| {
            // The room may be what is missing.
            let _ = self.remove_temporary();
        })?;
        write_file(&self.path.join(SUMMARY), |file| summary.write(file))?;
        write_file(&self.path.join(REPEATS), |file| repeats.write(file))?;
        // Last, for it says that the others are there.
        manifest.complete = true;
        write_file(&self.path.join(MANIFEST), |file| file.write_all(manifest.to_text().as_bytes()))?;
        // Some systems do not remove a file that is open.
        drop(self.lock);
        let parts = self.path.join(PARTS);
        fs::remove_dir_all(&parts).map_err(Error::io("remove", &parts))?;
        Ok(manifest)
    }

    /// Reads a finished folder.
    ///
    /// # Errors
    /// If it is not one, is not finished, or a file is damaged.
    pub fn open(path: impl Into<PathBuf>) -> Result<Finished, Error> {
        let path = path.into();
        let manifest = read_manifest(&path)?;
        if let Some(shard) = manifest.shard {
            return Err(Error::Shard { path, shard });
        }
        if !manifest.complete {
            return Err(Error::Interrupted { path });
        }
        let file = path.join(SUMMARY);
        let reader = headway_input::open(&file).map_err(Error::unread(&file))?;
        let mut summary = Summary::read(BufReader::new(reader)).map_err(|error| unreadable(&file, error))?;
        summary.restore_numbers(&manifest.cells);
        Ok(Finished { path, manifest, summary })
    }

    fn part(&self, job: Job) -> PathBuf {
        part_of(&self.path, job)
    }

    fn check_all_there(&self) -> Result<(), Error> {
        let missing: Vec<Job> = self.manifest.jobs().filter(|job| !self.part(*job).exists()).collect();
        let Some(&Job { cell, repeat }) = missing.first() else { return Ok(()) };
        let total = self.manifest.jobs().count();
        Err(Error::Missing { path: self.path.clone(), missing: missing.len(), total, cell, repeat })
    }

    /// Writes both tables; returns the totals of all runs.
    fn merge(&self) -> Result<Vec<RunTotals>, Error> {
        let (flows, series) = (self.path.join(FLOWS), self.path.join(SERIES));
        let cells = &self.manifest.cells;
        let file = create(&temporary(&flows))?;
        let mut flow_table = FlowTable::new(file, cells, self.manifest.packet_waits).map_err(parquet(&flows))?;
        let mut series_table = SeriesTable::new(create(&temporary(&series))?, cells).map_err(parquet(&series))?;
        let commands = self.path.join(COMMANDS);
        let mut command_table = CommandTable::new(&self.path, cells);
        let mut films = Films::new(&self.path);
        let paths = self.path.join(PATHS);
        let mut path_table: Option<PathTable<File>> = None;
        let mut runs = Vec::new();
        for job in self.manifest.jobs() {
            let outcome = self.load(job)?;
            films.add(&outcome, cells)?;
            if outcome.paths.is_some() {
                let table = match &mut path_table {
                    Some(table) => table,
                    none => none.insert(PathTable::new(create(&temporary(&paths))?, cells).map_err(parquet(&paths))?),
                };
                table.add(&outcome).map_err(parquet(&paths))?;
            }
            command_table.add(&outcome)?;
            flow_table.add(&outcome).map_err(parquet(&flows))?;
            series_table.add(&outcome).map_err(parquet(&series))?;
            runs.push(RunTotals::from(&outcome));
        }
        flow_table.finish().map_err(parquet(&flows))?;
        series_table.finish().map_err(parquet(&series))?;
        films.finish()?;
        if let Some(table) = path_table {
            table.finish().map_err(parquet(&paths))?;
            rename(&paths)?;
        }
        rename(&flows)?;
        rename(&series)?;
        if let Some(text) = command_table.finish() {
            write_file(&commands, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(runs)
    }

    /// Removes what a process that died was writing.
    fn remove_temporary(&self) -> Result<(), Error> {
        let remove = |path: &Path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
            _ => Ok(()),
        };
        for name in [FLOWS, SERIES, LINKS, PATHS, TOPOLOGY, SUMMARY, REPEATS, COMMANDS, MANIFEST] {
            remove(&temporary(&self.path.join(name)))?;
        }
        let parts = self.path.join(PARTS);
        for entry in fs::read_dir(&parts).map_err(Error::io("read", &parts))? {
            let path = entry.map_err(Error::io("read", &parts))?.path();
            if path.extension().is_some_and(|extension| extension == TEMPORARY) {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

impl Finished {
    /// Its `repeats.csv`; `None` if it has none, as folders of earlier versions.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn repeats(&self) -> Result<Option<Repeats>, Error> {
        let file = self.path.join(REPEATS);
        let reader = match headway_input::open(&file) {
            Err(error) if error.is_missing() => return Ok(None),
            reader => reader.map_err(Error::unread(&file))?,
        };
        Repeats::read(BufReader::new(reader)).map(Some).map_err(|error| unreadable(&file, error))
    }
}

/// Why a table of text could not be read.
fn unreadable(file: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::damaged(file, error.to_string()),
        _ => Error::io("read", file)(error),
    }
}

impl Unfinished {
    /// Reads the outcome of one run.
    ///
    /// # Errors
    /// If it is not there, or its file is damaged.
    pub fn load(&self, job: Job) -> Result<Outcome, Error> {
        load(&self.path, job)
    }
}

fn part_of(folder: &Path, job: Job) -> PathBuf {
    folder.join(PARTS).join(format!("{}-{}.{PART}", job.cell, job.repeat))
}

/// Reads the part of `job` in the folder at `folder`.
fn load(folder: &Path, job: Job) -> Result<Outcome, Error> {
    let path = part_of(folder, job);
    let file = headway_input::open(&path).map_err(Error::unread(&path))?;
    let outcome = part::read(BufReader::new(file)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::Other => {
            Error::damaged(&path, error.to_string())
        }
        _ => Error::io("read", &path)(error),
    })?;
    if outcome.job == job {
        Ok(outcome)
    } else {
        Err(Error::damaged(&path, format!("it is repeat {} of cell {}", outcome.job.repeat, outcome.job.cell)))
    }
}

/// `links.parquet` and `topology.json`, which are there if a run was filmed.
struct Films {
    links: PathBuf,
    topology: PathBuf,
    table: Option<LinkTable<File>>,
    topologies: Topologies,
}

impl Films {
    fn new(folder: &Path) -> Films {
        let (links, topology) = (folder.join(LINKS), folder.join(TOPOLOGY));
        Films { links, topology, table: None, topologies: Topologies::default() }
    }

    fn add(&mut self, outcome: &Outcome, cells: &[Cell]) -> Result<(), Error> {
        let Some(film) = &outcome.film else { return Ok(()) };
        let path = &self.links;
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(LinkTable::new(create(&temporary(path))?, cells).map_err(parquet(path))?),
        };
        table.add(outcome.job, film).map_err(parquet(path))?;
        self.topologies.add(outcome.job, &film.topology);
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        let Some(table) = self.table else { return Ok(()) };
        table.finish().map_err(parquet(&self.links))?;
        rename(&self.links)?;
        write_file(&self.topology, |file| file.write_all(self.topologies.to_text().as_bytes()))
    }
}

/// The first thing that keeps a run from being continued as another: what it is, as it was, as it is now.
fn difference(there: &Manifest, here: &Manifest) -> Option<(String, String, String)> {
    let values = |manifest: &Manifest| -> [(&str, String); 6] {
        [
            ("scenario hash", manifest.scenario_sha256.clone()),
            ("seed", manifest.seed.to_string()),
            ("shard", manifest.shard.map_or_else(|| "all runs".to_owned(), |shard| shard.to_string())),
            ("version", manifest.version.clone()),
            ("epoch of results", manifest.results_epoch.to_string()),
            ("kernel", manifest.kernel.as_ref().map_or_else(|| "none".to_owned(), Kernel::identity)),
        ]
    };
    for ((what, found), (_, expected)) in values(there).into_iter().zip(values(here)) {
        if found != expected {
            return Some((what.to_owned(), found, expected));
        }
    }
    let most = there.cells.len().max(here.cells.len());
    let place = (0..most).find(|&place| there.cells.get(place) != here.cells.get(place))?;
    let describe = |manifest: &Manifest| match manifest.cells.get(place) {
        Some(cell) if cell.sweep.is_empty() => format!("`{}`", cell.policy),
        Some(cell) => format!("`{}` at {}", cell.policy, cell.sweep),
        None => "none".to_owned(),
    };
    Some((format!("cell {place}"), describe(there), describe(here)))
}

fn read_manifest(path: &Path) -> Result<Manifest, Error> {
    let file = path.join(MANIFEST);
    if path.is_dir() && !file.exists() {
        return Err(Error::NoManifest { path: path.to_path_buf() });
    }
    Manifest::read(&file)
}

/// That there is no manifest in `path`.
fn check_no_results(path: &Path) -> Result<(), Error> {
    if !path.join(MANIFEST).exists() {
        return Ok(());
    }
    let (there, path) = (Manifest::read(&path.join(MANIFEST))?, path.to_path_buf());
    Err(match there.shard {
        Some(shard) => Error::Shard { path, shard },
        None if there.complete => Error::Complete { path },
        None => Error::Interrupted { path },
    })
}

/// Whether a process died in the folder `path` before it wrote the manifest.
fn was_begun(path: &Path) -> bool {
    let names = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.file_name()).collect::<Vec<_>>()
    };
    let parts = path.join(PARTS);
    if !parts.is_dir() {
        return false;
    }
    let inside = names(&parts);
    let locked = inside.iter().any(|name| name == LOCK);
    let no_part = inside.iter().all(|name| name == LOCK || name == OWN);
    no_part && (locked || names(path).len() == 1)
}

fn check_space(path: &Path, available: Bytes) -> Result<(), Error> {
    if available >= MIN_SPACE {
        return Ok(());
    }
    Err(Error::Space { path: path.to_path_buf(), available, needed: MIN_SPACE })
}

/// Makes `parts/` and takes its lock, which the system releases when the process ends, however it ends.
fn lock(path: &Path) -> Result<File, Error> {
    let parts = path.join(PARTS);
    fs::create_dir_all(&parts).map_err(Error::io("create", &parts))?;
    let name = parts.join(LOCK);
    let file = create(&name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { path: path.to_path_buf() }),
        // Some network file systems have no locks; the user keeps order there.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &name)(error)),
    }
}

#[cfg(test)]
mod tests;
