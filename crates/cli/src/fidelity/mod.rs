//! `headway fidelity`: how far modelled hosts are from real Linux kernels on the same fabric.
//!
//! A point is one sweep point of a scenario of the folder `fidelity`. Both sides run it with the same seed. What the
//! kernels did is kept, for it does not depend on the model.

mod compare;
mod measured;
mod page;
mod plot;
mod points;
mod store;
mod table;
mod trace;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use headway_experiment::{KernelOptions, Options};
use headway_kernel::image::Image;
use headway_results::Job;

use self::compare::{Line, Verdict, compare};
use self::measured::Measured;
use self::points::{File, Point, QUICK, Side};
use self::store::{Baseline, Kernels, Record};
use crate::args::FidelityArgs;
use crate::failure::Failure;
use crate::progress::Meter;
use crate::shell;
use crate::terminal;

/// A point with what both sides gave.
#[derive(Debug)]
struct Compared {
    point: Point,
    record: Record,
    model: Measured,
    lines: Vec<Line>,
}

/// One side of one point that is to be run.
struct Task<'a> {
    point: &'a Point,
    side: &'a Side,
    kernels: bool,
}

pub fn fidelity(args: &FidelityArgs) -> Result<(), Failure> {
    let files = points::files(&args.data)?;
    let all = all_points(&files)?;
    let chosen = choose(&all, args)?;
    if let Some(folder) = &args.trace {
        return trace::trace(folder, &files, &chosen, args);
    }
    let mut stored = Kernels::load(&args.data)?;
    let mut notes = Vec::new();
    let image = image(args, &chosen, &stored, &mut notes)?;
    let models: Vec<Option<Side>> = sides(&files, &chosen, |file| file.models(&args.set))?;
    let kernels: Vec<Option<Side>> = match &image {
        Some(_) => sides(&files, &chosen, |file| file.kernels(Vec::new(), args.kernel.as_deref()).map(Some))?,
        None => files.iter().map(|_| None).collect(),
    };

    let mut tasks = Vec::new();
    for point in &chosen {
        let has = stored.get(&point.name, &point.inputs).is_some();
        if let Some(side) = kernels[point.file].as_ref().filter(|_| args.kernel_hosts || !has) {
            tasks.push(Task { point, side, kernels: true });
        }
    }
    for point in &chosen {
        let unknown: Vec<&str> = point.unknown().collect();
        match &models[point.file] {
            Some(side) if side.cells.contains_key(&point.sweep) => tasks.push(Task { point, side, kernels: false }),
            _ => notes.push(format!("{}: the model has no {}", point.name, unknown.join(" and "))),
        }
    }
    let measured = run(&tasks, args, image.as_ref(), &mut stored)?;

    let mut compared = Vec::new();
    for point in &chosen {
        let Some(record) = stored.get(&point.name, &point.inputs) else {
            notes.push(format!("{}: there are no numbers of kernel hosts", point.name));
            continue;
        };
        let Some((_, model)) = measured.iter().find(|(name, _)| *name == point.name) else { continue };
        let lines = compare(&point.name, &record.measured, model);
        compared.push(Compared { point: point.clone(), record: record.clone(), model: model.clone(), lines });
    }
    finish(args, &files, &all, &compared, &stored, &notes)
}

/// Prints, and writes what is to be written.
fn finish(
    args: &FidelityArgs,
    files: &[File],
    all: &[Point],
    compared: &[Compared],
    stored: &Kernels,
    notes: &[String],
) -> Result<(), Failure> {
    let lines: Vec<Line> = compared.iter().flat_map(|one| one.lines.iter().cloned()).collect();
    if args.json {
        terminal::data(&table::json(&lines))?;
    } else {
        terminal::data(&format!("{}\n{}", table::rows(&lines), table::summary(&lines)))?;
    }
    if !args.quiet {
        for note in table::folded(notes) {
            terminal::say(&format!("note: {note}"));
        }
    }
    let whole = args.points.is_empty() && !args.quick && args.set.is_empty();
    if whole && !args.no_files && !args.check {
        let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
        page::write(&args.docs, &names, compared, notes)?;
        if !args.quiet {
            terminal::say(&format!("written: {}", shell::quoted(&args.docs.join("fidelity.md"))));
        }
    }
    let baseline = Baseline::load(&args.data)?;
    if args.accept {
        let names: Vec<String> = all.iter().map(|point| point.name.clone()).collect();
        baseline.only(&names).accept(&lines, &args.data)?;
        return Kernels(
            stored.0.iter().filter(|(name, _)| names.contains(name)).map(|(n, r)| (n.clone(), r.clone())).collect(),
        )
        .save(&args.data);
    }
    if args.check {
        return check(&baseline, &lines);
    }
    Ok(())
}

fn check(baseline: &Baseline, lines: &[Line]) -> Result<(), Failure> {
    if lines.is_empty() {
        return Err(Failure::check("nothing was compared"));
    }
    let worse = baseline.worse(lines);
    for (line, before) in &worse {
        let (error, before) = (table::percent(line.error), table::percent(*before));
        terminal::warn(&format!("{}, {}, {}: error {error}, was {before}", line.point, line.traffic, line.metric));
    }
    match worse.len() {
        0 => Ok(()),
        1 => Err(Failure::check("the model has moved away from the kernel in one number")),
        n => Err(Failure::check(format!("the model has moved away from the kernel in {n} numbers"))),
    }
}

fn all_points(files: &[File]) -> Result<Vec<Point>, Failure> {
    let mut all = Vec::new();
    for (index, file) in files.iter().enumerate() {
        all.extend(file.points(index)?);
    }
    Ok(all)
}

fn choose(all: &[Point], args: &FidelityArgs) -> Result<Vec<Point>, Failure> {
    let named = |point: &&Point| args.points.is_empty() || args.points.iter().any(|part| point.name.contains(part));
    let quick = |point: &&Point| !args.quick || QUICK.contains(&point.name.as_str());
    let chosen: Vec<Point> = all.iter().filter(named).filter(quick).cloned().collect();
    if chosen.is_empty() {
        let failure = Failure::usage("no point has such a name");
        return Err(failure.help(format!("names are such as `{}`; any part of one will do", QUICK[0])));
    }
    Ok(chosen)
}

/// The sides of the files that have a point among `chosen`.
fn sides(
    files: &[File],
    chosen: &[Point],
    side: impl Fn(&File) -> Result<Option<Side>, Failure>,
) -> Result<Vec<Option<Side>>, Failure> {
    let used: BTreeSet<usize> = chosen.iter().map(|point| point.file).collect();
    files.iter().enumerate().map(|(index, file)| if used.contains(&index) { side(file) } else { Ok(None) }).collect()
}

/// The image, if kernel hosts are to be run.
fn image(
    args: &FidelityArgs,
    chosen: &[Point],
    stored: &Kernels,
    notes: &mut Vec<String>,
) -> Result<Option<Arc<Image>>, Failure> {
    let missing = chosen.iter().filter(|point| stored.get(&point.name, &point.inputs).is_none()).count();
    if args.model_only || (missing == 0 && !args.kernel_hosts) {
        return Ok(None);
    }
    match Image::find(args.kernel.as_deref()) {
        Ok(image) => {
            if !args.quiet {
                terminal::say(&format!("kernel hosts: {}", image.title()));
            }
            Ok(Some(Arc::new(image)))
        }
        Err(error) if args.kernel_hosts || args.kernel.is_some() => Err(error.into()),
        Err(_) => {
            notes.push("there is no kernel image: `headway kernel build` makes one".to_owned());
            Ok(None)
        }
    }
}

/// Runs `tasks`. Returns what models gave by point; what kernels did is stored, and kept on the disk as it comes.
fn run(
    tasks: &[Task<'_>],
    args: &FidelityArgs,
    image: Option<&Arc<Image>>,
    stored: &mut Kernels,
) -> Result<Vec<(String, Measured)>, Failure> {
    let meter = Arc::new(Meter::new(args.quiet, ""));
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::environment(format!("cannot make a temporary folder: {error}")))?;
    let kernel =
        image.map(|image| KernelOptions { image: Arc::clone(image), processors: headway_kernel::processors() });
    let threads = headway_experiment::threads(args.threads.map(usize::from));
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Vec::new(), stored, None::<Failure>, 0));
    std::thread::scope(|scope| {
        for worker in 0..threads.clamp(1, tasks.len().max(1)) {
            let (next, done, meter, kernel, scratch) = (&next, &done, &meter, &kernel, scratch.path());
            scope.spawn(move || {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = measure(task, kernel.clone(), scratch, worker);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    let (models, stored, failure, count) = &mut *done;
                    let kept = result.and_then(|measured| match image.filter(|_| task.kernels) {
                        None => {
                            models.push((task.point.name.clone(), measured));
                            Ok(())
                        }
                        Some(image) => {
                            stored.0.insert(task.point.name.clone(), record(task.point, image, measured));
                            if args.no_files { Ok(()) } else { stored.save(&args.data) }
                        }
                    });
                    if let Err(error) = kept {
                        failure.get_or_insert(error);
                        next.store(tasks.len(), Ordering::Relaxed);
                    }
                    *count += 1;
                    meter.set(*count, tasks.len());
                }
            });
        }
    });
    let (models, _, failure, _) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(models), Err)
}

fn record(point: &Point, image: &Image, measured: Measured) -> Record {
    Record {
        point: point.name.clone(),
        inputs: point.inputs.clone(),
        linux: image.about.version.clone(),
        linux_sha256: image.about.linux.sha256.clone(),
        measured,
    }
}

/// All repeats of a task.
fn measure(task: &Task<'_>, kernel: Option<KernelOptions>, scratch: &Path, worker: usize) -> Result<Measured, Failure> {
    let experiment = &task.side.experiment;
    let cell = task.side.cells[&task.point.sweep];
    let options = Options { seed: experiment.scenario.seed, threads: 1, verify: false, kernel, abort: Arc::default() };
    let repeats = 0..experiment.scenario.repeats;
    let outcomes: Result<Vec<_>, _> =
        repeats.map(|repeat| experiment.outcome(Job { cell, repeat }, scratch, &options, worker)).collect();
    let outcomes = outcomes?;
    // Numbers of a kernel that lacked memory, or of flows that it refused, say nothing of its TCP.
    let overruns: u64 = outcomes.iter().map(|outcome| outcome.counters.overruns).sum();
    if overruns > 0 {
        let text = format!("{}: kernel hosts had no buffer for {overruns} frames", task.point.name);
        return Err(Failure::check(text).help("give them more `hosts.NAME.linux.memory`"));
    }
    if let Some(failed) = outcomes.iter().flat_map(|outcome| &outcome.failed).next() {
        return Err(Failure::check(format!("{}: flows failed: {}", task.point.name, failed.reason)));
    }
    Ok(Measured::new(&outcomes, experiment.scenario.measure.interval))
}

/// How many of `lines` with a goal have which verdict: met, noise, missed.
fn count<'a>(lines: impl Iterator<Item = &'a Line>) -> [usize; 3] {
    let mut counts = [0; 3];
    for line in lines {
        match line.verdict {
            Verdict::Met => counts[0] += 1,
            Verdict::Noise => counts[1] += 1,
            Verdict::Missed => counts[2] += 1,
            Verdict::Told => {}
        }
    }
    counts
}
