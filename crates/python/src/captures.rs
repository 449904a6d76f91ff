//! Packet captures, read on a thread of its own while Python's thread hears of signals.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use headway_capture::{Address, Analysis, Captures, ConnectionTable, Options, TrafficSection, keep, report_json};
use headway_units::{Bytes, Span};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::Failure;

/// Packets between two looks at the flag to stop.
const LOOK: u64 = 1 << 16;

/// Reads captures and writes what `headway trace --out` writes into `folder`, which is there and empty. Gives the report
/// as JSON.
#[pyfunction]
#[pyo3(signature = (files, folder, *, idle, short, long, window, burst, interval, max_flows, host))]
#[expect(clippy::too_many_arguments, reason = "the settings of an analysis, given by the package alone")]
pub fn trace(
    py: Python<'_>,
    files: Vec<String>,
    folder: PathBuf,
    idle: &str,
    short: &str,
    long: &str,
    window: &str,
    burst: u16,
    interval: &str,
    max_flows: usize,
    host: Option<&str>,
) -> PyResult<String> {
    let options = Options {
        idle: span("idle", idle)?,
        max_flows,
        short: bytes("short", short)?,
        long: bytes("long", long)?,
        window: span("window", window)?,
        burst,
        host: host.map(address).transpose()?,
        interval: span("interval", interval)?,
    };
    if options.short > options.long {
        return Err(PyValueError::new_err(format!("short, {}, is more than long, {}", options.short, options.long)));
    }
    if options.idle.is_zero() || options.interval.is_zero() || max_flows == 0 {
        return Err(PyValueError::new_err("idle, interval and max_flows must be more than 0"));
    }
    let stop = AtomicBool::new(false);
    let (sender, mut receiver) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (files, folder, stop) = (&files, &folder, &stop);
        let worker = scope.spawn(move || {
            let _ended = sender;
            read(files, folder, options, stop)
        });
        let mut raised = None;
        loop {
            let (news, back) = py.detach(move || (receiver.recv_timeout(Duration::from_millis(50)), receiver));
            receiver = back;
            if news == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            if let Err(error) = py.check_signals() {
                stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        }
        match (raised, py.detach(|| worker.join())) {
            (_, Err(panic)) => std::panic::resume_unwind(panic),
            (Some(error), _) => Err(error),
            (None, Ok(read)) => Ok(read?),
        }
    })
}

fn read(files: &[String], folder: &Path, options: Options, stop: &AtomicBool) -> Result<String, Failure> {
    let mut captures = Captures::open(files)?;
    // The table, and why it could not be written further.
    let table = RefCell::new((ConnectionTable::create(&folder.join("flows.parquet"))?, None));
    let mut analysis = Analysis::new(options, |record| {
        let (file, failed) = &mut *table.borrow_mut();
        if failed.is_none() {
            *failed = file.add(record).err();
        }
    });
    while let Some(packet) = captures.next_packet() {
        analysis.packet(&packet);
        if analysis.seen().is_multiple_of(LOOK) && (stop.load(Ordering::Relaxed) || table.borrow().1.is_some()) {
            break;
        }
    }
    let report = analysis.finish();
    let (file, failed) = table.into_inner();
    if let Some(error) = failed {
        return Err(error.into());
    }
    file.finish()?;
    keep(folder, &report, TrafficSection::new(&report).as_ref())?;
    let mut warnings = report.warnings();
    if captures.dropped() > 0 {
        warnings.push(format!("the capturing machine says that it dropped {} packets", captures.dropped()));
    }
    let errors: Vec<String> = captures.errors().iter().map(ToString::to_string).collect();
    Ok(report_json(&report, &warnings, &errors).to_string())
}

fn span(key: &str, text: &str) -> PyResult<Span> {
    text.parse().map_err(|error| PyValueError::new_err(format!("{key}: {error}")))
}

fn bytes(key: &str, text: &str) -> PyResult<Bytes> {
    text.parse().map_err(|error| PyValueError::new_err(format!("{key}: {error}")))
}

fn address(text: &str) -> PyResult<Address> {
    let address: std::net::IpAddr =
        text.parse().map_err(|_| PyValueError::new_err(format!("host: {text:?} is not an address")))?;
    Ok(Address::from(address))
}
