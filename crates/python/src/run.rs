//! Runs: the experiment on a thread of its own, while Python's thread hears of progress and signals.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use headway_experiment::{Destination, Finished, Interruption, Live, Look, Opened, Planned, Request, RunError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Failure;
use crate::own::Policies;
use crate::source::Source;

/// The time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// So many looks without news are half a second, after which `within` is told of the runs under way.
const WITHIN: u32 = 10;

/// Runs `source` into `path`, which is new (`"new"`), a parent of it (`"numbered"`) or that of an interrupted run
/// (`"resume"`). Gives the folder, and why there is no report if one was wanted.
///
/// `progress` is called with the numbers of complete and of all runs; if it gives `False`, no further runs begin, and
/// neither do any after Ctrl-C. If it has a method `within`, that is called twice a second, with how far the runs under way
/// are. Runs under way are finished first, but on kernel hosts they end at once at the second
/// Ctrl-C.
#[pyfunction]
#[pyo3(signature = (source, place, path, *, seed, repeats, threads, verify, report, command, progress, own=None))]
#[expect(clippy::too_many_arguments, reason = "the settings of a run, given by the package alone")]
pub fn run(
    py: Python<'_>,
    source: &Source,
    place: &str,
    path: PathBuf,
    seed: Option<u64>,
    repeats: Option<u32>,
    threads: Option<usize>,
    verify: bool,
    report: bool,
    command: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
    own: Option<Bound<'_, Policies>>,
) -> PyResult<(PathBuf, Option<String>)> {
    let destination = match place {
        "new" => Destination::New(path),
        "numbered" => Destination::Numbered(path),
        "resume" => Destination::Resume(path),
        other => return Err(PyValueError::new_err(format!("no such place: {other:?}"))),
    };
    let overrides = source.overrides.clone();
    let no_report = !report;
    let own = own.map_or_else(Default::default, |own| own.get().registry.clone());
    let live = Live::default();
    let request = Request {
        overrides,
        seed,
        repeats,
        threads,
        verify,
        command,
        no_report,
        own,
        live: live.clone(),
        ..Request::default()
    };
    let opened = py.detach(|| {
        let planned = Planned::new(&source.source, destination, &request)?;
        planned.open(&mut |_| {})
    });
    let opened = opened.map_err(Failure::from)?;
    let folder = opened.path().to_path_buf();
    match watched(py, opened, progress.as_ref(), &live)? {
        Ok(finished) => {
            let failed = finished.report.and_then(Result::err).map(|error| error.to_string());
            Ok((finished.path, failed))
        }
        Err(error) => Err(match Failure::from(error) {
            Failure::Interrupted(text, counts, _) => Failure::Interrupted(text, counts, Some(folder)).into(),
            other => other.into(),
        }),
    }
}

/// Runs it to its end. Fails with what a signal handler or `progress` raised, once the runs under way are over.
fn watched(
    py: Python<'_>,
    opened: Opened,
    progress: Option<&Bound<'_, PyAny>>,
    live: &Live,
) -> PyResult<Result<Finished, RunError>> {
    let within = progress.map(|progress| progress.getattr_opt("within")).transpose()?.flatten();
    let mut silent = 0;
    let interruption = Interruption::default();
    let (kernels, own) = (opened.has_kernels(), opened.has_own());
    let (sender, mut receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let stop = interruption.clone();
        let worker = scope.spawn(move || {
            opened.run(&stop, &mut |done, total| {
                // Nobody listens any more only if this thread's result is not wanted either.
                let _ = sender.send((done, total));
            })
        });
        let mut raised: Option<PyErr> = None;
        loop {
            let (news, back) = py.detach(move || (receiver.recv_timeout(LOOK), receiver));
            receiver = back;
            let told = match news {
                // Of several runs that ended meanwhile the last says all.
                Ok(counts) => tell(progress, receiver.try_iter().last().unwrap_or(counts), &interruption),
                Err(RecvTimeoutError::Timeout) => {
                    silent = (silent + 1) % WITHIN;
                    if silent == 0 { tell_within(within.as_ref(), &live.look(), &interruption) } else { Ok(()) }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = told.and_then(|()| py.check_signals()) {
                let again = interruption.stop.swap(true, Ordering::Relaxed);
                // callbacks are slow, so runs with them do not go on to their ends
                if own || again && kernels {
                    interruption.abort.store(true, Ordering::Relaxed);
                }
                raised.get_or_insert(error);
            }
            if own
                && let Some(error) = &raised
                && let Err(other) = py.import("headway._own").and_then(|own| own.call_method0("interrupt"))
            {
                other.set_cause(py, Some(error.clone_ref(py)));
                raised = Some(other);
            }
        }
        let finished = py.detach(|| worker.join());
        match (raised, finished) {
            (_, Err(panic)) => std::panic::resume_unwind(panic),
            (Some(error), _) => Err(error),
            (None, Ok(finished)) => Ok(finished),
        }
    })
}

fn tell(
    progress: Option<&Bound<'_, PyAny>>,
    (done, total): (usize, usize),
    interruption: &Interruption,
) -> PyResult<()> {
    let Some(progress) = progress.filter(|_| !interruption.stop.load(Ordering::Relaxed)) else { return Ok(()) };
    if progress.call1((done, total))?.extract::<bool>().is_ok_and(|goes_on| !goes_on) {
        Arc::clone(&interruption.stop).store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Calls `within` with the runs under way. As with progress, `False` lets no further runs begin.
fn tell_within(within: Option<&Bound<'_, PyAny>>, look: &Look, interruption: &Interruption) -> PyResult<()> {
    let Some(within) = within.filter(|_| !interruption.stop.load(Ordering::Relaxed)) else { return Ok(()) };
    let Some((now, end)) = look.last else { return Ok(()) };
    let told = PyDict::new(within.py());
    told.set_item("runs", look.runs)?;
    told.set_item("passed", look.passed)?;
    told.set_item("now_s", now.as_secs_f64())?;
    told.set_item("end_s", end.as_secs_f64())?;
    told.set_item("flows", look.done + look.earlier)?;
    told.set_item("packet_hops", look.hops)?;
    if within.call1((told,))?.extract::<bool>().is_ok_and(|goes_on| !goes_on) {
        interruption.stop.store(true, Ordering::Relaxed);
    }
    Ok(())
}
