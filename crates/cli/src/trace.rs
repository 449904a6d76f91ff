//! `headway trace`: captures as numbers, tables, and traffic of a scenario.

mod text;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headway_capture::{
    Address, Analysis, Captures, Class, ConnectionTable, Options, Report, TrafficSection, keep, report_json,
};
use headway_results::Error;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::TraceArgs;
use crate::clock;
use crate::failure::{Failure, INTERRUPTED};
use crate::shell;
use crate::terminal;

/// Packets between two looks at the clock.
const LOOK: u64 = 1 << 16;

pub fn trace(args: &TraceArgs) -> Result<(), Failure> {
    let options = options(args)?;
    if args.files.len() > 1 && args.files.iter().any(|file| file == "-") {
        return Err(Failure::usage("`-` (the standard input) cannot be one of several files"));
    }
    if let Some(twice) = args.files.iter().enumerate().find(|(at, file)| args.files[..*at].contains(file)) {
        return Err(Failure::usage(format!("{} is named twice", twice.1)));
    }
    let mut captures = Captures::open(&args.files)?;
    let folder = args.out.as_deref().map(new_folder).transpose()?;
    let stop = listen()?;
    let began = Instant::now();
    let report = read(&mut captures, options, folder.as_deref(), &stop, args.quiet)?;
    let took = began.elapsed();
    let section = TrafficSection::new(&report);
    if let Some(folder) = &folder {
        keep(folder, &report, section.as_ref())?;
    }
    let mut warnings = report.warnings();
    if captures.dropped() > 0 {
        warnings.push(format!("the capturing machine says that it dropped {} packets", captures.dropped()));
    }
    for warning in &warnings {
        terminal::warn(warning);
    }
    if args.json {
        let errors: Vec<String> = captures.errors().iter().map(ToString::to_string).collect();
        terminal::data(&format!("{}\n", report_json(&report, &warnings, &errors)))?;
    } else {
        terminal::data(&text::report(&report, terminal::layout()))?;
    }
    if !args.quiet {
        let rate = captures.bytes() as f64 / took.as_secs_f64().max(1e-9) / 1e6;
        terminal::say(&format!(
            "read {} in {}, {rate:.0} MB/s",
            text::bytes(captures.bytes() as f64),
            clock::span(took)
        ));
        if let Some(folder) = &folder {
            let what =
                if section.is_some() { "connections, series, sizes and a scenario" } else { "connections and series" };
            terminal::say(&format!("{what} are in {}", shell::quoted(folder)));
        }
    }
    let mut failures: Vec<Failure> = captures.into_errors().into_iter().map(Failure::from).collect();
    if stop.load(Ordering::Relaxed) {
        failures.push(Failure::interrupted("interrupted; what was read until then is reported"));
    }
    let Some(last) = failures.pop() else { return Ok(()) };
    for failure in &failures {
        terminal::report(failure);
    }
    Err(last)
}

fn options(args: &TraceArgs) -> Result<Options, Failure> {
    if args.short > args.long {
        return Err(Failure::usage(format!("--short {} is more than --long {}", args.short, args.long)));
    }
    for (name, span) in [("--idle", args.idle), ("--interval", args.interval)] {
        if span.nanos() == 0 {
            return Err(Failure::usage(format!("{name} must be at least 1ns")));
        }
    }
    Ok(Options {
        idle: args.idle,
        max_flows: args.max_flows as usize,
        short: args.short,
        long: args.long,
        window: args.window,
        burst: args.burst,
        host: args.host.map(Address::from),
        interval: args.interval,
    })
}

/// The folder of `--out`, which must have nothing in it.
fn new_folder(path: &Path) -> Result<PathBuf, Failure> {
    let io = |action| move |source| Failure::from(Error::Io { action, path: path.to_path_buf(), source });
    fs::create_dir_all(path).map_err(io("create"))?;
    if fs::read_dir(path).map_err(io("read"))?.next().is_some() {
        return Err(Failure::usage(format!("{} is not empty; name a new or an empty folder", path.display())));
    }
    Ok(path.to_path_buf())
}

/// The first Ctrl-C ends the reading, the second the command.
fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::environment(format!("cannot listen to signals: {error}")))?;
    }
    Ok(stop)
}

/// Reads all packets; connections go to a table in `folder`, if there is one.
fn read(
    captures: &mut Captures,
    options: Options,
    folder: Option<&Path>,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Report, Failure> {
    let table = folder.map(|folder| ConnectionTable::create(&folder.join("flows.parquet"))).transpose()?;
    // The table, and why it could not be written further.
    let table = RefCell::new((table, None));
    let mut analysis = Analysis::new(options, |record| {
        let (file, failed) = &mut *table.borrow_mut();
        if let (Some(file), None) = (file, &failed) {
            *failed = file.add(record).err();
        }
    });
    let mut meter = (!quiet && terminal::can_redraw()).then(Instant::now);
    let mut drawn = false;
    while let Some(packet) = captures.next_packet() {
        analysis.packet(&packet);
        if analysis.seen().is_multiple_of(LOOK) {
            if stop.load(Ordering::Relaxed) || table.borrow().1.is_some() {
                break;
            }
            if let Some(last) = meter.as_mut().filter(|last| last.elapsed() >= Duration::from_millis(500)) {
                *last = Instant::now();
                drawn = true;
                let line = format!("\r\x1b[K{} packets, {}", analysis.seen(), text::bytes(captures.bytes() as f64));
                let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), line.as_bytes());
            }
        }
    }
    if drawn {
        let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), b"\r\x1b[K");
    }
    let report = analysis.finish();
    let (file, failed) = table.into_inner();
    if let Some(error) = failed {
        return Err(error.into());
    }
    file.map(ConnectionTable::finish).transpose()?;
    Ok(report)
}

/// The classes in the order of tables.
fn classes() -> [Class; 4] {
    Class::ALL
}
