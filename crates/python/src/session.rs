//! Runs of a scenario that take place elsewhere: who asks for them, and who does them.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use headway_experiment::{Destination, Planned, Request};
use headway_results::{Job, Outcome};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Failure;
use crate::own::Policies;
use crate::source::Source;

/// A scenario as it goes to workers: name, text, files (path, content, whether it is a program), version, epoch and kernel
/// of who asks, verify.
type Work = (String, String, Vec<(String, Vec<u8>, bool)>, (String, u32, Option<(String, String)>), bool);

/// A run in a folder, whose outcomes somebody else computes.
#[pyclass(frozen, module = "headway._native")]
#[derive(Debug)]
pub struct Session {
    session: Mutex<Option<headway_experiment::Session>>,
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, Option<headway_experiment::Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut headway_experiment::Session) -> Result<T, Failure>) -> PyResult<T> {
        let mut session = self.lock();
        let session = session.as_mut().ok_or_else(|| PyRuntimeError::new_err("the run is finished"))?;
        Ok(act(session)?)
    }
}

#[pymethods]
impl Session {
    /// Opens the folder `path`, which is new (`"new"`) or that of an interrupted run (`"resume"`).
    #[new]
    #[pyo3(signature = (source, place, path, *, seed, repeats, verify, report, store, command, own=None))]
    #[expect(clippy::too_many_arguments, reason = "the settings of a run, given by the package alone")]
    fn new(
        py: Python<'_>,
        source: &Source,
        place: &str,
        path: PathBuf,
        seed: Option<u64>,
        repeats: Option<u32>,
        verify: bool,
        report: bool,
        store: Option<PathBuf>,
        command: Vec<String>,
        own: Option<Bound<'_, Policies>>,
    ) -> PyResult<Session> {
        let destination = match place {
            "new" => Destination::New(path),
            "resume" => Destination::Resume(path),
            other => return Err(PyValueError::new_err(format!("no such place: {other:?}"))),
        };
        let (overrides, no_report) = (source.overrides.clone(), !report);
        let own = own.map_or_else(Default::default, |own| own.get().registry.clone());
        let request =
            Request { overrides, seed, repeats, verify, command, no_report, store, own, ..Request::default() };
        let session = py.detach(|| -> Result<_, Failure> {
            let planned = Planned::new(&source.source, destination, &request)?;
            // Before a folder is made.
            planned.check_remote()?;
            Ok(planned.open(&mut |_| {})?.begin()?)
        })?;
        Ok(Session { session: Mutex::new(Some(session)) })
    }

    /// Takes what the store has; gives the other runs as (cell, repeat), in the order in which they are best done.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(u32, u32)>> {
        py.detach(|| {
            self.with(|session| {
                let missing = session.missing();
                let others = session.find(&missing)?;
                Ok(others.iter().map(|job| (job.cell, job.repeat)).collect())
            })
        })
    }

    /// Runs that are complete, and all.
    fn counts(&self) -> PyResult<(usize, usize)> {
        self.with(|session| Ok((session.done(), session.total())))
    }

    /// What workers need.
    fn work(&self) -> PyResult<Work> {
        self.with(|session| {
            let work = session.work()?;
            Ok((work.name, work.text, work.files, (work.version, work.epoch, work.kernel), work.verify))
        })
    }

    /// Takes the outcome of a run as a worker gave it.
    fn take(&self, py: Python<'_>, outcome: Vec<u8>) -> PyResult<()> {
        py.detach(|| {
            let outcome = Outcome::decode(&outcome)
                .map_err(|error| PyRuntimeError::new_err(format!("a worker's outcome is damaged: {error}")))?;
            self.with(|session| Ok(session.take(&outcome)?))
        })
    }

    /// Makes the results; gives the folder, and why there is no report if one was wanted.
    fn finish(&self, py: Python<'_>) -> PyResult<(PathBuf, Option<String>)> {
        let session = self.lock().take().ok_or_else(|| PyRuntimeError::new_err("the run is finished"))?;
        let finished = py.detach(|| session.finish()).map_err(Failure::from)?;
        let failed = finished.report.and_then(Result::err).map(|error| error.to_string());
        Ok((finished.path, failed))
    }
}

/// Does runs for somebody else.
#[pyclass(frozen, module = "headway._native")]
#[derive(Debug)]
pub struct Worker(headway_experiment::Worker);

#[pymethods]
impl Worker {
    /// Checks and builds the scenario of `work`, which [`Session::work`] gave, with the caller's policies.
    #[new]
    #[pyo3(signature = (work, own=None))]
    fn new(py: Python<'_>, work: Work, own: Option<Bound<'_, Policies>>) -> PyResult<Worker> {
        let own = own.map_or_else(Default::default, |own| own.get().registry.clone());
        let (name, text, files, (version, epoch, kernel), verify) = work;
        let work = headway_experiment::Work { name, text, files, version, epoch, kernel, verify };
        Ok(Worker(py.detach(|| headway_experiment::Worker::new(&work, &own)).map_err(Failure::from)?))
    }

    /// The outcome of a run, for [`Session::take`].
    fn run<'py>(&self, py: Python<'py>, cell: u32, repeat: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.run(Job { cell, repeat })).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &bytes))
    }
}
