//! Runs that take place elsewhere: what is sent there, and what does it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_control::own::Registry;
use headway_kernel::image::Image;
use headway_language::Problems;
use headway_results::{Job, Kernel};
use tempfile::TempDir;

use crate::error::{Error, RunError};
use crate::experiment::{Experiment, KernelOptions, Options};
use crate::files::lay_out;
use crate::fingerprint::RESULTS_EPOCH;
use crate::opened::{Session, processors};
use crate::run::{VERSION, kernel_facts};
use crate::source::Source;

/// A scenario as it goes to workers: its text with all that was changed, the files that it names, and what else outcomes
/// depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The name of the scenario in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Files by the name that the scenario has for them, and whether each is a program. A name that ends in `/` is that of
    /// a folder. Files with absolute names have to be at the worker, and the same.
    pub files: Vec<(String, Vec<u8>, bool)>,
    /// The version of the process that asks, [`VERSION`].
    pub version: String,
    /// Its epoch of results, [`RESULTS_EPOCH`].
    pub epoch: u32,
    /// The kernel of kernel hosts, if there are any: its image's name and [`Kernel::identity`].
    pub kernel: Option<(String, String)>,
    /// Whether each run is made twice and compared.
    pub verify: bool,
}

impl Session {
    /// What a worker needs for any of the runs.
    ///
    /// # Errors
    /// If they cannot take place elsewhere: in namespaces, with captures, or with a folder that cannot be sent.
    pub fn work(&self) -> Result<Work, Problems> {
        let opened = self.opened();
        opened.experiment.check_remote(&opened.files)?;
        let kernel = opened.manifest.kernel.as_ref().map(|kernel| (kernel.name.clone(), kernel.identity()));
        Ok(Work {
            name: opened.manifest.scenario.clone(),
            text: opened.text.clone(),
            files: opened.files.sent(),
            version: VERSION.to_owned(),
            epoch: RESULTS_EPOCH,
            kernel,
            verify: opened.verify,
        })
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
    /// If it is wrong here: the version, the epoch of results, the kernel or a file is another or missing.
    pub fn new(work: &Work, own: &Registry) -> Result<Worker, Error> {
        same_program(work)?;
        let folder = tempfile::tempdir().map_err(|source| Error::Write { path: std::env::temp_dir(), source })?;
        let beside = lay_out(&work.files, folder.path())?;
        let source = Source { name: work.name.clone(), text: work.text.clone(), folder: beside };
        let document = source.parse(&headway_scenario::Overrides::default())?;
        let experiment = Experiment::with_own(&document, &source.folder, own)?;
        let image = same_image(work, &experiment)?;
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

/// Whether this program gives the outcomes that the one which asks would have.
fn same_program(work: &Work) -> Result<(), Error> {
    if (work.version.as_str(), work.epoch) == (VERSION, RESULTS_EPOCH) {
        return Ok(());
    }
    let told = |version: &str, epoch: u32| format!("{version} with results of epoch {epoch}");
    let (here, there) = (told(VERSION, RESULTS_EPOCH), told(&work.version, work.epoch));
    Err(Error::OtherWorker { what: "version".to_owned(), here, there })
}

/// The kernel of kernel hosts, which has to be that of the process that asks.
fn same_image(work: &Work, experiment: &Experiment) -> Result<Option<Arc<Image>>, Error> {
    if !experiment.needs_kernel() {
        return Ok(None);
    }
    // The newest there need not be the newest here.
    let name = work.kernel.as_ref().map(|(name, _)| name.as_str()).or(experiment.scenario.kernel.as_deref());
    let image = Image::find(name)?;
    same_kernel(work.kernel.as_ref(), &kernel_facts(&image))?;
    experiment.check_image(&image)?;
    Ok(Some(Arc::new(image)))
}

fn same_kernel(asked: Option<&(String, String)>, found: &Kernel) -> Result<(), Error> {
    let here = found.identity();
    match asked {
        Some((_, there)) if *there == here => Ok(()),
        _ => {
            let there = asked.map_or_else(|| "not told".to_owned(), |(_, there)| there.clone());
            Err(Error::OtherWorker { what: format!("kernel `{}`", found.name), here, there })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kernel_is_told() {
        let text = |text: &str| text.to_owned();
        let found = Kernel {
            name: text("linux-6.12"),
            version: text("6.12.1"),
            linux_sha256: text("a"),
            initramfs_sha256: text("b"),
            system_sha256: text("c"),
            changes: String::new(),
        };
        let same = (found.name.clone(), found.identity());
        assert!(same_kernel(Some(&same), &found).is_ok());
        let other = Kernel { system_sha256: text("d"), ..found };
        let error = same_kernel(Some(&same), &other).unwrap_err().to_string();
        assert!(error.contains("kernel `linux-6.12`") && error.contains("(a, b, d)"), "{error}");
        assert!(same_kernel(None, &other).is_err());
    }
}
