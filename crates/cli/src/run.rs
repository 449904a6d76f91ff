//! `headway run`, and the running part of `headway check` and `headway reproduce`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_experiment::{Destination, Ended, Finished, Planned, Ran, Request, RunError, Source, interrupted, threads};
use headway_report::Layout;
use headway_results::{Shard, Warning};
use serde_json::json;

use crate::args::{RunArgs, RunOptions};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, Kept};
use crate::progress::Meter;
use crate::shell::{quoted, resume_command};
use crate::tables::{TableOptions, title};
use crate::{clock, source, sweeps, terminal};

/// Folders of this name are made where the command is called.
pub const RESULTS: &str = "results";

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let place = match (&args.out, &args.resume) {
        _ if args.shard.is_some() => sweeps::place(args)?,
        (_, Some(path)) => Place::Resume(path),
        (Some(path), None) => Place::New(path),
        (None, None) => Place::Numbered,
    };
    let kept = args.resume.as_ref().map(|folder| folder.join("scenario.toml"));
    let file = args.file.as_deref().or(kept.as_deref()).expect("clap asks for one of them");
    // A folder to resume is looked at first: its scenario is often the file.
    if let Place::Resume(path) = place {
        interrupted(path)?;
    }
    let source = source::find(file)?;
    args.tables.check_source(&source, args.how.overrides())?;
    match run_source(&source, place, &args.how, args.shard, None)? {
        Done::Results(ran) => show(&ran, &args.how, &args.tables),
        Done::Runs(ran) => sweeps::close(&ran, args),
    }
}

/// Prints results as text or JSON.
pub fn show(ran: &Finished, how: &RunOptions, options: &TableOptions) -> Result<(), Failure> {
    let tables = options.of(&ran.results.summary, &ran.path, &[])?;
    // those of the beginning have been printed then
    let early = |at: usize| !how.quiet && ran.results.warnings.get(at).is_some_and(is_early);
    for (_, warning) in ran.manifest.warnings.iter().enumerate().filter(|(at, _)| !early(*at)) {
        terminal::warn(warning);
    }
    if let Some(stored) = &ran.stored {
        sweeps::of_store(stored, how.quiet);
    }
    if how.json {
        let mut object = to_json(ran);
        let (name, value) = tables.json();
        object[name] = value;
        terminal::data(&format!("{object}\n"))?;
    } else {
        let layout = terminal::layout();
        let m = &ran.manifest;
        let title = title(&m.scenario, ran.extent, m.seed, m.quick, layout);
        let tables = tables.text(layout);
        let waits = match headway_report::waits(m, layout) {
            waits if waits.is_empty() => waits,
            waits => format!("\n{waits}"),
        };
        let claims = headway_report::claims(&ran.results.verdicts, &ran.left_out_claims, layout);
        let gap = if claims.is_empty() { "" } else { "\n" };
        let commands = commands(ran, layout);
        terminal::data(&format!("{title}\n{tables}{waits}{commands}{gap}{claims}"))?;
    }
    warn_of_report(ran);
    if !how.quiet {
        let report = match &ran.report {
            Some(Ok(path)) => format!(", report in {}", quoted(path)),
            _ => String::new(),
        };
        terminal::say(&format!("results in {} after {}{report}", quoted(&ran.path), clock::span(ran.took)));
    }
    Ok(())
}

/// Whether it is printed before the first run.
fn is_early(warning: &Warning) -> bool {
    matches!(warning, Warning::Unmarked { .. })
}

/// Says why there is no report, if one was wanted: the results are complete without it.
pub fn warn_of_report(ran: &Finished) {
    if let Some(Err(error)) = &ran.report {
        let path = quoted(&ran.path);
        terminal::warn(&format!("no report: {error}; `headway report {path}` makes one of the results"));
    }
}

/// A list of the commands and their exit codes; nothing if there are none.
fn commands(ran: &Finished, layout: Layout) -> String {
    /// More rows say less.
    const MOST: usize = 20;
    // of daemons there is something to say only if they ended early, which is a warning
    let all: Vec<&Ended> = ran.results.commands.iter().filter(|ended| ended.command.daemon().is_none()).collect();
    if all.is_empty() {
        return String::new();
    }
    let cells = &ran.manifest.cells;
    let row = |ended: &Ended| {
        let cell = &cells[ended.job.cell as usize];
        let sweep = if cell.sweep.is_empty() { String::new() } else { format!(" at {}", cell.sweep) };
        let command = &ended.command;
        let words = [command.traffic.to_string(), command.host.to_string(), command.code.to_string()];
        let line: String = ended.line.chars().take(60).collect();
        let gap = if line.is_empty() { "" } else { ": " };
        (words.to_vec(), format!("{}{sweep}, repeat {}{gap}{line}", cell.policy, ended.job.repeat))
    };
    // those that failed by themselves first
    let (well, wrong): (Vec<&Ended>, Vec<&Ended>) = all.iter().copied().partition(|ended| ended.command.code == 0);
    let rows: Vec<_> = wrong.into_iter().chain(well).take(MOST).map(row).collect();
    let mut text = headway_report::listing(&["command", "host", "code", "run and first line"], &rows, layout);
    if all.len() > MOST {
        let _ = writeln!(text, "and {} more in commands.csv", all.len() - MOST);
    }
    format!("\n{text}")
}

/// Where results go.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// `results/<scenario>`, with a number behind it if that is taken.
    Numbered,
    /// A new folder.
    New(&'a Path),
    /// A folder that is not kept.
    Temporary(&'a Path),
    /// On with an interrupted run.
    Resume(&'a Path),
    /// The store alone.
    Store,
}

impl Place<'_> {
    /// Where runs are that are complete when it is interrupted.
    fn kept(self) -> Kept {
        match self {
            Place::Numbered | Place::New(_) | Place::Resume(_) => Kept::InFolder,
            Place::Temporary(_) => Kept::Not,
            Place::Store => Kept::InStore,
        }
    }

    fn destination(self) -> Destination {
        match self {
            Place::Numbered => Destination::Numbered(PathBuf::from(RESULTS)),
            Place::New(path) | Place::Temporary(path) => Destination::New(path.to_path_buf()),
            Place::Resume(path) => Destination::Resume(path.to_path_buf()),
            Place::Store => Destination::Store,
        }
    }
}

/// Reads, checks and runs `file`.
pub fn execute(file: &Path, place: Place<'_>, how: &RunOptions) -> Result<Finished, Failure> {
    // A folder to resume is looked at first: its scenario is often the file.
    if let Place::Resume(path) = place {
        interrupted(path)?;
    }
    execute_source(&source::find(file)?, place, how, None)
}

/// One of several.
#[derive(Debug)]
pub struct Batch<'a> {
    pub interrupt: &'a Interrupt,
    /// As progress calls it.
    pub title: &'a str,
}

/// Checks and runs all of `source`, as one of several if it is.
pub fn execute_source(
    source: &Source,
    place: Place<'_>,
    how: &RunOptions,
    batch: Option<&Batch<'_>>,
) -> Result<Finished, Failure> {
    match run_source(source, place, how, None, batch)? {
        Done::Results(finished) => Ok(*finished),
        Done::Runs(ran) => {
            let shard = ran.manifest.shard.map(|shard| shard.to_string()).unwrap_or_default();
            Err(Failure::usage(format!("{} holds shard {shard} of a run", ran.path.unwrap_or_default().display())))
        }
    }
}

/// The results of all runs, or runs without.
enum Done {
    Results(Box<Finished>),
    Runs(Box<Ran>),
}

/// Checks and runs `source`, or a shard of it, as one of several if it is.
fn run_source(
    source: &Source,
    place: Place<'_>,
    how: &RunOptions,
    shard: Option<Shard>,
    batch: Option<&Batch<'_>>,
) -> Result<Done, Failure> {
    let request = Request {
        overrides: how.overrides(),
        seed: how.seed,
        repeats: how.repeats,
        threads: how.threads.map(usize::from),
        verify: how.verify,
        command: crate::command_line(),
        no_report: how.no_report || matches!(place, Place::Temporary(_)),
        store: how.store.path(),
        shard,
        ..Request::default()
    };
    let planned = Planned::new(source, place.destination(), &request)?;
    let (at_a_time, asked) = (planned.threads(), threads(request.threads));
    if at_a_time < asked && !how.quiet {
        terminal::say(&format!("note: {at_a_time} of {asked} runs at a time, since memory is scarce"));
    }
    if !how.quiet {
        planned
            .warnings()
            .iter()
            .filter(|own| is_early(own))
            .for_each(|own| terminal::warn(&headway_report::warning(own)));
    }
    let opened = planned.open(&mut |path| {
        if !how.quiet {
            let path = quoted(path);
            terminal::say(&format!(
                "note: {path} holds an unfinished run; `headway run --resume {path}` goes on with it"
            ));
        }
    })?;
    if let Some(image) = opened.image().filter(|_| !how.quiet) {
        terminal::say(&format!("kernel hosts: {}", image.title()));
    }
    let meter = Arc::new(Meter::watching(how.quiet, batch.map_or("", |batch| batch.title), request.live.clone()));
    let path = opened.path().to_path_buf();
    let own = if batch.is_none() { Some(Interrupt::listen()?) } else { None };
    let interrupt = batch.map(|batch| batch.interrupt).or(own.as_ref()).expect("one of the two is there");
    let kept = place.kept();
    interrupt.during(&meter, &path, kept, opened.has_kernels());
    let mut progress = |done, total| meter.set(done, total);
    let done = if opened.gives_results() {
        opened.run(&interrupt.interruption, &mut progress).map(|finished| Done::Results(Box::new(finished)))
    } else {
        opened.run_only(&interrupt.interruption, &mut progress).map(|ran| Done::Runs(Box::new(ran)))
    };
    drop(meter);
    done.map_err(|error| explain(error, &path, kept))
}

/// Adds the fate of the runs that are complete.
fn explain(error: RunError, path: &Path, kept: Kept) -> Failure {
    let resume = resume_command(path);
    match (&error, kept) {
        (RunError::Interrupted { .. }, Kept::InStore) => {
            Failure::interrupted(format!("{error}, which are in the store; the same command goes on"))
        }
        (RunError::Interrupted { .. }, Kept::InFolder) => {
            Failure::interrupted(format!("{error}, which are kept; go on with: {resume}"))
        }
        (RunError::Results(_) | RunError::Memory(..), Kept::InFolder) => {
            Failure::from(error).help(format!("what is complete is kept; once there is a remedy: {resume}"))
        }
        _ => Failure::from(error),
    }
}

fn command_json(ended: &Ended) -> serde_json::Value {
    let command = &ended.command;
    json!({
        "cell": ended.job.cell,
        "repeat": ended.job.repeat,
        "traffic": &*command.traffic,
        "host": &*command.host,
        "start_ns": command.start.picos() / 1000,
        "end_ns": command.end.picos() / 1000,
        "code": command.code,
        "ended": command.ended,
    })
}

fn to_json(ran: &Finished) -> serde_json::Value {
    let m = &ran.manifest;
    json!({
        "scenario": m.scenario,
        "scenario_sha256": m.scenario_sha256,
        "seed": m.seed,
        "repeats": m.repeats,
        "quick": m.quick,
        "version": m.version,
        "kernel": m.kernel,
        "out": ran.path.display().to_string(),
        "report": ran.report.as_ref().and_then(|report| Some(report.as_ref().ok()?.display().to_string())),
        "wall_s": m.wall_s,
        "warnings": m.warnings,
        "waits": m.waits,
        "commands": ran.results.commands.iter().map(command_json).collect::<serde_json::Value>(),
        "claims": m.claims,
        "not_evaluated": ran.left_out_claims,
    })
}
