//! Runs that take place elsewhere: what is sent there, and what does it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_control::own::Registry;
use headway_results::Job;
use tempfile::TempDir;

use crate::error::{Error, RunError};
use crate::experiment::{Experiment, KernelOptions, Options};
use crate::opened::{Session, processors};
use crate::run::find_image;
use crate::source::Source;

/// A scenario as it goes to workers: its text with all that was changed, and the files that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The name of the scenario in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Files by their path from the scenario's folder, and whether each is a program.
    pub files: Vec<(String, Vec<u8>, bool)>,
    /// The scenario's folder, in which files are looked for that are not among `files`.
    pub folder: PathBuf,
    /// Whether each run is made twice and compared.
    pub verify: bool,
}

impl Session {
    /// What a worker needs for any of the runs. Files in `folder` that are not below it are not in it.
    pub fn work(&self, folder: PathBuf) -> Work {
        let opened = self.opened();
        let name = opened.manifest.scenario.clone();
        let files = opened.files.contents().map(|(name, bytes, program)| (name.to_owned(), bytes.to_vec(), program));
        Work { name, text: opened.text.clone(), files: files.collect(), folder, verify: opened.verify }
    }
}

/// Does runs of one scenario for somebody else.
#[derive(Debug)]
pub struct Worker {
    experiment: Experiment,
    options: Options,
    /// The files that were sent; removed when it is dropped.
    folder: TempDir,
}

impl Worker {
    /// Checks and builds the scenario, and finds the kernel if it has kernel hosts. `own` has the congestion controls and
    /// judges that the program gives: they do not travel with the work.
    ///
    /// # Errors
    /// If it is wrong here: a kernel or a file is missing, or the version is another.
    pub fn new(work: &Work, own: &Registry) -> Result<Worker, Error> {
        let folder = tempfile::tempdir().map_err(|source| Error::Write { path: std::env::temp_dir(), source })?;
        let files = crate::files::Files::of(work.files.iter().cloned());
        files.keep_in(folder.path())?;
        let beside = if work.files.is_empty() { work.folder.clone() } else { folder.path().to_path_buf() };
        let source = Source { name: work.name.clone(), text: work.text.clone(), folder: beside };
        let document = source.parse(&headway_scenario::Overrides::default())?;
        let experiment = Experiment::with_own(&document, &source.folder, own)?;
        let image = find_image(&experiment)?;
        let kernel = image.map(|image| KernelOptions { image, processors: processors() });
        let (seed, abort) = (experiment.scenario.seed, Arc::new(AtomicBool::new(false)));
        let options = Options { seed, threads: 1, verify: work.verify, kernel, abort };
        Ok(Worker { experiment, options, folder })
    }

    /// Runs `job` and gives its outcome as bytes, for [`headway_results::Outcome::decode`].
    ///
    /// # Errors
    /// See [`RunError`]; if there is no such run.
    ///
    /// # Panics
    /// If a simulated run breaks an invariant: a bug.
    pub fn run(&self, job: Job) -> Result<Vec<u8>, RunError> {
        if job.cell as usize >= self.experiment.cells().len() {
            return Err(RunError::NotAsked { cell: job.cell, repeat: job.repeat });
        }
        Ok(self.experiment.outcome(job, self.folder.path(), &self.options, 0)?.encode())
    }
}
