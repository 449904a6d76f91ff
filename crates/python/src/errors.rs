//! Errors of the Rust crates as exceptions of `headway._errors`.

use std::path::PathBuf;

use headway_capture::CaptureError;
use headway_experiment::report::ReportError;
use headway_experiment::{Error, RunError};
use headway_language::{Problem, Problems};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Where the exceptions are defined.
const MODULE: &str = "headway._errors";

/// A problem as `headway._errors.Problem` takes it: file, line, column, message, help, sweep point.
type Row = (String, Option<usize>, Option<usize>, String, Option<String>, Option<String>);

/// An error on its way to Python.
#[derive(Debug)]
pub enum Failure {
    /// Of a scenario.
    Scenario(Problems),
    /// Of a scenario, without a place in its text.
    Unplaced(String),
    /// Of a folder of results.
    Results(String, Option<PathBuf>),
    /// Of kernel hosts, or of the machine that shall have them.
    Kernel(String),
    /// Runs were stopped: complete runs, all runs, the folder.
    Interrupted(String, Option<(usize, usize)>, Option<PathBuf>),
    /// Of a policy written in Python: the place, and what a callback raised.
    Policy(String, Option<PyErr>),
    /// Of a capture.
    Capture(String),
    /// Any other.
    Other(String),
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Scenario(problems)
    }
}

impl From<headway_results::Error> for Failure {
    fn from(error: headway_results::Error) -> Failure {
        use headway_results::Error;
        let text = error.to_string();
        match error {
            Error::Interrupted { path } => {
                let text =
                    format!("{} holds a run that was interrupted; run it again with resume=True", path.display());
                Failure::Interrupted(text, None, Some(path))
            }
            Error::Io { path, .. }
            | Error::NotOurs { path }
            | Error::NoManifest { path }
            | Error::Complete { path }
            | Error::NotStore { path }
            | Error::StoreFormat { path, .. }
            | Error::Shard { path, .. }
            | Error::Busy { path }
            | Error::Mismatch { path, .. }
            | Error::Space { path, .. }
            | Error::Damaged { path, .. }
            | Error::Format { path, .. }
            | Error::Missing { path, .. } => Failure::Results(text, Some(path)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = error.to_string();
        match error {
            Error::Scenario(problems) => Failure::Scenario(problems),
            Error::Results(error) | Error::OtherScenario { error, .. } => error.into(),
            Error::Image(_) | Error::Machine(_) => Failure::Kernel(text),
            Error::Read { .. } => Failure::Unplaced(text),
            Error::NoFolder { path }
            | Error::Finished { path }
            | Error::OtherFile { path, .. }
            | Error::NotAShard { path }
            | Error::ShardUnfinished { path, .. }
            | Error::ShardDamaged { path, .. }
            | Error::Write { path, .. } => Failure::Results(text, Some(path)),
            Error::TooManyFolders { parent, .. } => Failure::Results(text, Some(parent)),
            Error::VerifyRealTime
            | Error::OtherWorker { .. }
            | Error::NoStore
            | Error::NotStored { .. }
            | Error::NoShards
            | Error::OtherShard { .. }
            | Error::OtherShardFile { .. }
            | Error::ShardTwice { .. }
            | Error::ShardsMissing { .. } => Failure::Other(text),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let text = error.to_string();
        match error {
            RunError::Results(error) => error.into(),
            RunError::NoPath(..) => Failure::Unplaced(text),
            RunError::Kernels(..) => Failure::Kernel(text),
            RunError::NotDeterministic(_) | RunError::NotAsked { .. } => Failure::Other(text),
            RunError::Undecided(..) => Failure::Policy(text, None),
            RunError::Own(_, _, failure) => {
                Failure::Policy(text, failure.error.downcast::<PyErr>().ok().map(|error| *error))
            }
            RunError::Interrupted { done, total } => Failure::Interrupted(text, Some((done, total)), None),
            RunError::Aborted => Failure::Interrupted(text, None, None),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Failure {
        let text = error.to_string();
        match error {
            ReportError::Results(error) => error.into(),
            ReportError::Order { path }
            | ReportError::Steps { path, .. }
            | ReportError::Taken { path }
            | ReportError::Write { path, .. } => Failure::Results(text, Some(path)),
        }
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Failure {
        Failure::Capture(error.to_string())
    }
}

fn row(problem: &Problem) -> Row {
    let (line, column) = problem.line_and_column().unzip();
    let own = |text: Option<&str>| text.map(str::to_owned);
    let (message, help) = (problem.message().to_owned(), own(problem.help()));
    (problem.file().to_owned(), line, column, message, help, own(problem.point.as_deref()))
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| exception(py, failure).unwrap_or_else(|error| error))
    }
}

fn exception(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    let module = py.import(MODULE)?;
    let class = |name: &str| module.getattr(name);
    let value = match failure {
        Failure::Scenario(problems) => {
            let rows: Vec<Row> = problems.iter().map(row).collect();
            let problem = class("Problem")?;
            let all = rows.into_iter().map(|row| problem.call1(row)).collect::<PyResult<Vec<_>>>()?;
            class("ScenarioError")?.call1((problems.render(false), all))?
        }
        Failure::Unplaced(text) => class("ScenarioError")?.call1((text,))?,
        Failure::Results(text, path) => class("ResultsError")?.call1((text, path))?,
        Failure::Kernel(text) => class("KernelError")?.call1((text,))?,
        Failure::Interrupted(text, counts, path) => {
            let (done, total) = counts.unzip();
            class("Interrupted")?.call1((text, done, total, path))?
        }
        Failure::Policy(text, raised) => {
            let place = class("PolicyError")?.call1((text,))?;
            let Some(raised) = raised else { return Ok(PyErr::from_value(place)) };
            name_place(py, &raised, place)?;
            return Ok(raised);
        }
        Failure::Capture(text) => class("CaptureError")?.call1((text,))?,
        Failure::Other(text) => class("Error")?.call1((text,))?,
    };
    Ok(PyErr::from_value(value))
}

/// Puts `place` at the beginning of the exceptions that led to `raised`.
fn name_place(py: Python<'_>, raised: &PyErr, place: Bound<'_, PyAny>) -> PyResult<()> {
    // a chain may be as long as a program likes, and a circle
    const MOST: usize = 100;
    let mut first = raised.value(py).clone().into_any();
    for _ in 0..MOST {
        let cause = first.getattr("__cause__")?;
        if cause.is_none() {
            return first.setattr("__cause__", place);
        }
        first = cause;
    }
    Ok(())
}

/// What only a bug can cause.
pub fn bug(text: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("{text}; this is a bug in Headway"))
}
