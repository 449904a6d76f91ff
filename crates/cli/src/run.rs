//! `headway run`, and the running part of `headway check`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_experiment::{Ended, Experiment, KernelOptions, Options, Results, RunError, Verdict, kernel_facts};
use headway_kernel::image::Image;
use headway_lab::MachineInfo;
use headway_results::{Error, Folder, Job, Manifest};
use serde_json::json;

use crate::args::{RunArgs, RunOptions};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Meter;
use crate::source::{Files, Source};
use crate::{clock, terminal};

/// Folders of this name are made where the command is called.
const RESULTS: &str = "results";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let place = match (&args.out, &args.resume) {
        (_, Some(path)) => Place::Resume(path),
        (Some(path), None) => Place::New(path),
        (None, None) => Place::Numbered,
    };
    let kept = args.resume.as_ref().map(|folder| folder.join("scenario.toml"));
    let file = args.file.as_deref().or(kept.as_deref()).expect("clap asks for one of them");
    let ran = execute(file, place, &args.how)?;
    for warning in &ran.manifest.warnings {
        terminal::warn(warning);
    }
    if args.how.json {
        terminal::data(&format!("{}\n", to_json(&ran)))?;
    } else {
        let layout = terminal::layout();
        let quick = if ran.manifest.quick { ", quick" } else { "" };
        let title = format!("{}: {}, seed {}{quick}", ran.manifest.scenario, ran.size, ran.manifest.seed);
        let tables = headway_report::summary(&ran.results.summary, layout);
        let claims = headway_report::claims(&ran.results.verdicts, &ran.left_out_claims, layout);
        let gap = if claims.is_empty() { "" } else { "\n" };
        let commands = commands(&ran);
        terminal::data(&format!("{title}\n\n{tables}{commands}{gap}{claims}"))?;
    }
    if !args.how.quiet {
        terminal::say(&format!("results in {} after {}", terminal::quoted(&ran.path), ran.took));
    }
    Ok(())
}

/// A table of the commands and their exit codes; nothing if there are none.
fn commands(ran: &RunOutcome) -> String {
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
        [
            format!("{}{sweep}, repeat {}", cell.policy, ended.job.repeat),
            command.traffic.to_string(),
            command.host.to_string(),
            command.code.to_string(),
            ended.line.chars().take(60).collect(),
        ]
    };
    let mut rows = vec![["run", "command", "host", "code", "first line"].map(str::to_owned)];
    // those that failed by themselves first
    let (well, wrong): (Vec<&Ended>, Vec<&Ended>) = all.iter().copied().partition(|ended| ended.command.code == 0);
    rows.extend(wrong.into_iter().chain(well).take(MOST).map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut text: String = rows.iter().map(line).collect();
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
}

/// A scenario that was run.
#[derive(Debug)]
pub struct RunOutcome {
    pub results: Results,
    /// Claims of the scenario that overrides left without a policy or a point.
    pub left_out_claims: Vec<String>,
    pub manifest: Manifest,
    pub path: PathBuf,
    /// Policies, points and repeats, for people.
    pub size: String,
    took: String,
}

/// Reads, checks and runs `file`.
pub fn execute(file: &Path, place: Place<'_>, how: &RunOptions) -> Result<RunOutcome, Failure> {
    // A folder to resume is looked at first: its scenario is often the file.
    if let Place::Resume(path) = place {
        interrupted(path)?;
    }
    execute_source(&Source::find(file)?, place, how, None)
}

/// One of several.
#[derive(Debug)]
pub struct Batch<'a> {
    pub interrupt: &'a Interrupt,
    /// As progress calls it.
    pub title: &'a str,
}

/// Checks and runs `source`, as one of several if it is.
pub fn execute_source(
    source: &Source,
    place: Place<'_>,
    how: &RunOptions,
    among: Option<&Batch<'_>>,
) -> Result<RunOutcome, Failure> {
    let there = match place {
        Place::Resume(path) => Some(interrupted(path)?),
        _ => None,
    };
    let scenario = source.scenario(how.overrides())?;
    // An interrupted run is continued as it was begun.
    let seed = how.seed.or(there.as_ref().map(|there| there.seed)).unwrap_or(scenario.record.seed);
    let repeats = how.repeats.or(there.as_ref().map(|there| there.repeats)).unwrap_or(scenario.record.repeats);
    let (document, text) = scenario.with(seed, repeats)?;
    let experiment = Experiment::new(&document, &source.folder)?;
    let image = if experiment.needs_kernel() {
        let image = Image::find(scenario.record.kernel.as_deref())?;
        experiment.check_image(&image)?;
        Some(Arc::new(image))
    } else {
        None
    };
    let here = MachineInfo::look();
    let of_machine = if experiment.needs_namespaces() {
        if how.verify {
            let failure = Failure::usage("--verify runs everything twice, and times of namespaces are never the same");
            return Err(failure.help("leave out --verify, or run with --hosts linux"));
        }
        let hosts = experiment.hosts();
        headway_lab::check(hosts).map_err(|error| Failure::environment(error.to_string()))?;
        experiment.check_namespaces(&here)?
    } else {
        Vec::new()
    };
    let files = scenario.files()?;
    let quick = how.quick || there.as_ref().is_some_and(|there| there.quick);
    let new_manifest = |text: &str| {
        let name = scenario.record.name.as_str();
        let mut manifest = Manifest::new(name, text, seed, repeats, VERSION, experiment.cells().to_vec());
        manifest.kernel = image.as_deref().map(kernel_facts);
        manifest.quick = quick;
        manifest
    };
    let mut manifest = new_manifest(&text);
    manifest.command = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    manifest.started = clock::now();
    let (folder, completed) = match place {
        Place::Resume(path) => {
            let there = there.expect("read above");
            // Their text differs in the number of repeats, which may change.
            let (_, their_text) = scenario.with(seed, there.repeats)?;
            let (mut folder, completed) = resume(path, &there, &new_manifest(&their_text), &files)?;
            manifest.started = there.started;
            if text != their_text {
                folder.adopt(&manifest, &text)?;
            }
            (folder, completed)
        }
        Place::New(path) | Place::Temporary(path) => (create(path, &manifest, &text, &files)?, BTreeSet::new()),
        Place::Numbered => (create_numbered(&manifest, &text, &files, how)?, BTreeSet::new()),
    };

    let meter = Arc::new(Meter::new(how.quiet, among.map_or("", |among| among.title)));
    let temporary = matches!(place, Place::Temporary(_));
    let path = folder.path().to_path_buf();
    let own = if among.is_none() { Some(Interrupt::listen()?) } else { None };
    let interrupt = among.map(|among| among.interrupt).or(own.as_ref()).expect("one of the two is there");
    interrupt.during(&meter, &path, temporary, image.is_some() || experiment.needs_namespaces());
    let abort = Arc::clone(&interrupt.abort);
    let mut processors = headway_kernel::processors();
    // several runs at a time should not all begin with the same one
    let most = processors.len().max(1);
    processors.rotate_left(std::process::id() as usize % most);
    let kernel = image.map(|image| KernelOptions { image, abort: Arc::clone(&abort), processors });
    let options = Options { seed, threads: threads(how.threads), verify: how.verify, kernel, abort };
    let finished = experiment
        .simulate(&folder, &manifest, &completed, &options, &interrupt.stop, &mut |done, total| meter.set(done, total))
        .and_then(|results| {
            manifest.claims = results.verdicts.iter().map(Verdict::to_json).collect();
            manifest.warnings = headway_report::warnings(&results.summary);
            manifest.warnings.extend(of_machine.iter().cloned());
            manifest.warnings.extend(results.warnings.iter().cloned());
            manifest.warnings.extend(files.outside.iter().map(|name| {
                format!(
                    "the results do not hold {name}, which the scenario names; running scenario.toml again needs it"
                )
            }));
            manifest.finished = Some(clock::now());
            manifest.wall_s = meter.elapsed().as_secs_f64();
            manifest = folder.finish(&results.summary, &manifest)?;
            Ok(results)
        });
    let took = clock::span(meter.elapsed());
    drop(meter);
    let results = finished.map_err(|error| explain(error, &path, temporary))?;
    let left_out_claims = document.left_out_claims().to_vec();
    Ok(RunOutcome { results, left_out_claims, path, size: size(&experiment, repeats), manifest, took })
}

/// `5 policies × 11 sweep points × 2 repeats`.
pub fn size(experiment: &Experiment, repeats: u32) -> String {
    let policies = experiment.scenario.policy.len();
    let points = experiment.cells().len() / policies.max(1);
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    format!(
        "{} × {} × {}",
        count(policies, "policy", "policies"),
        count(points, "sweep point", "sweep points"),
        count(repeats as usize, "repeat", "repeats")
    )
}

/// So many runs at a time: as `asked`, otherwise one for each core.
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), usize::from)
}

fn create(path: &Path, manifest: &Manifest, text: &str, files: &Files) -> Result<Folder, Failure> {
    let folder = Folder::create(path, manifest, text)?;
    files.keep_in(path)?;
    Ok(folder)
}

/// A folder in [`RESULTS`] that nothing is in yet.
fn create_numbered(manifest: &Manifest, text: &str, files: &Files, how: &RunOptions) -> Result<Folder, Failure> {
    const MOST: usize = 100_000;
    for number in 1..MOST {
        let name = &manifest.scenario;
        let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let path = Path::new(RESULTS).join(name);
        if path.exists() && !path.is_dir() {
            continue;
        }
        match Folder::create(&path, manifest, text) {
            Ok(folder) => {
                files.keep_in(&path)?;
                return Ok(folder);
            }
            Err(Error::Interrupted { .. }) => {
                if !how.quiet {
                    let path = terminal::quoted(&path);
                    terminal::say(&format!(
                        "note: {path} holds an unfinished run; `headway run --resume {path}` goes on with it"
                    ));
                }
            }
            // Whatever is there, it is not ours to touch.
            Err(
                Error::Complete { .. }
                | Error::NotOurs { .. }
                | Error::Busy { .. }
                | Error::Damaged { .. }
                | Error::Format { .. },
            ) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::environment(format!("{RESULTS} has {MOST} folders of this scenario; name another with --out")))
}

/// The manifest of the interrupted run in `path`.
fn interrupted(path: &Path) -> Result<Manifest, Failure> {
    if !path.is_dir() {
        return Err(Failure::usage(format!("there is no folder {} to resume", path.display())));
    }
    let file = path.join("manifest.json");
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoManifest { path: path.to_path_buf() }.into());
        }
        Err(source) => return Err(Error::Io { action: "read", path: file, source }.into()),
    };
    let there: Manifest = serde_json::from_str(&text)
        .map_err(|error| Failure::from(Error::Damaged { path: file, reason: error.to_string() }))?;
    if there.complete {
        let failure = Failure::usage(format!("{} is finished, there is nothing to resume", path.display()));
        return Err(failure.help("for a new run, leave out --resume"));
    }
    Ok(there)
}

/// Takes the interrupted run up as `manifest`, which has their number of repeats in its text.
fn resume(
    path: &Path,
    there: &Manifest,
    manifest: &Manifest,
    files: &Files,
) -> Result<(Folder, BTreeSet<Job>), Failure> {
    // The text holds the seed, and its defaults are the version's: told before the hashes are found to differ.
    for (what, found, expected) in [
        ("version", there.version.clone(), manifest.version.clone()),
        ("seed", there.seed.to_string(), manifest.seed.to_string()),
    ] {
        if found != expected {
            return Err(Error::Mismatch { path: path.to_path_buf(), what: what.to_owned(), found, expected }.into());
        }
    }
    files.check_in(path)?;
    Folder::resume(path, manifest).map_err(|error| {
        let hash = matches!(&error, Error::Mismatch { what, .. } if what == "scenario hash");
        let failure = Failure::from(error);
        let kept = path.join("scenario.toml");
        if hash { failure.help(format!("what it began with is in {}", kept.display())) } else { failure }
    })
}

/// The command that goes on with the run in `path`.
pub fn resume_command(path: &Path) -> String {
    format!("headway run --resume {}", terminal::quoted(path))
}

/// Adds what becomes of the runs that are complete.
fn explain(error: RunError, path: &Path, temporary: bool) -> Failure {
    let resume = resume_command(path);
    match &error {
        RunError::Interrupted { .. } if temporary => Failure::from(error),
        RunError::Interrupted { .. } => Failure::interrupted(format!("{error}, which are kept; go on with: {resume}")),
        RunError::Results(_) if !temporary => {
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

fn to_json(ran: &RunOutcome) -> serde_json::Value {
    let m = &ran.manifest;
    json!({
        "scenario": m.scenario,
        "scenario_sha256": m.scenario_sha256,
        "seed": m.seed,
        "repeats": m.repeats,
        "quick": m.quick,
        "version": m.version,
        "out": ran.path.display().to_string(),
        "wall_s": m.wall_s,
        "warnings": m.warnings,
        "commands": ran.results.commands.iter().map(command_json).collect::<serde_json::Value>(),
        "summary": headway_report::summary_json(&ran.results.summary),
        "claims": m.claims,
        "not_evaluated": ran.left_out_claims,
    })
}
