//! `headway reproduce`: published experiments again, with their claims held against what comes out.

mod part;
mod select;
mod show;

use std::path::{Path, PathBuf};
use std::time::Instant;

use headway_experiment::report::{REPORT, reproduction, write_page};
use headway_kernel::image::Image;
use headway_scenario::schema::KernelHostsRecord;
use headway_scenario::{Document, Overrides, ScenarioRecord};

use self::part::Part;
use self::select::Experiment;
use crate::args::{Hosts, ReproduceArgs, RunOptions};
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt::Interrupt;
use crate::run::Batch;
use crate::{clock, shell, terminal};

/// An experiment with what came of it.
struct Done {
    experiment: Experiment,
    about: String,
    source: Option<String>,
    model: Result<Part, Failure>,
    kernels: Beside,
}

/// What stands beside the model.
enum Beside {
    /// The scenario does not ask for it, or the model has failed.
    Nothing,
    /// It asks, and there is a reason why not.
    Without(String),
    Failed(Failure),
    Ran(Box<Part>),
}

/// An experiment that is to be run.
struct Planned {
    experiment: Experiment,
    record: ScenarioRecord,
    /// Runs times simulated seconds: what it costs, compared with others, very roughly.
    weight: f64,
}

pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let chosen = select::choose(&args.experiments)?;
    if args.list {
        return terminal::data(&show::list(&chosen, args)?);
    }
    let how = how(args);
    let planned = chosen.iter().map(|&one| plan(one, &how)).collect::<Result<Vec<_>, _>>()?;
    let wanted = planned.iter().any(|one| !args.no_kernel_hosts && kernels(&one.record, args).is_some());
    let image = if wanted { Some(Image::find(args.kernel.as_deref())) } else { None };
    let lacks = match image {
        Some(Err(error)) if args.kernel_hosts || args.kernel.is_some() => return Err(error.into()),
        Some(Err(error)) => Some(format!("{error}; `headway kernel build` makes one")),
        _ => None,
    };
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("results").join(if args.quick { "reproduce-quick" } else { "reproduce" }));
    let interrupt = Interrupt::listen()?;
    let began = Instant::now();
    let mut done: Vec<Done> = Vec::new();
    for (index, one) in planned.iter().enumerate() {
        if interrupt.pressed() {
            break;
        }
        let title = title(&planned, index, began);
        let result = run(one, &title, &out, &how, args, lacks.as_deref(), &interrupt);
        if !args.json {
            terminal::data(&show::experiment(&result, index > 0))?;
        }
        done.push(result);
    }
    finish(&done, planned.len(), &out, args, &interrupt)
}

/// Says what came of all, and fails if something did not hold or run.
fn finish(
    done: &[Done],
    planned: usize,
    out: &Path,
    args: &ReproduceArgs,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let report = if args.no_report { None } else { write_report(done, out) };
    if args.json {
        terminal::data(&format!("{}\n", show::json(done, args.quick, report.as_deref())))?;
    } else if planned > 1 {
        terminal::data(&format!("\n{}", show::table(done)))?;
    }
    if !args.quiet {
        let report = report.map(|path| format!(", report in {}", shell::quoted(&path))).unwrap_or_default();
        terminal::say(&format!("results in {}{report}", shell::quoted(out)));
    }
    if interrupt.pressed() {
        let text = format!("interrupted: {} of {planned} experiments were begun; the same command goes on", done.len());
        return Err(Failure::interrupted(text));
    }
    let broken = done.iter().filter_map(|one| match (&one.model, &one.kernels) {
        (Err(failure), _) => Some(failure.code),
        (_, Beside::Failed(failure)) if args.kernel_hosts => Some(failure.code),
        _ => None,
    });
    let broken: Vec<u8> = broken.collect();
    if let Some(&code) = broken.first() {
        let experiments =
            if broken.len() == 1 { "an experiment".to_owned() } else { format!("{} experiments", broken.len()) };
        return Err(Failure::of_code(code, format!("{experiments} could not be run to the end")));
    }
    let failed: usize = done.iter().filter_map(|one| one.model.as_ref().ok()).map(Part::failed).sum();
    match failed {
        0 => Ok(()),
        1 => Err(Failure::check("a claim is not held")),
        _ => Err(Failure::check(format!("{failed} claims are not held"))),
    }
}

/// Writes one page over all that has results, and gives its path. Without it, the results are still there.
fn write_report(done: &[Done], out: &Path) -> Option<PathBuf> {
    let mut groups: Vec<(String, Vec<(String, PathBuf)>)> = Vec::new();
    for one in done {
        let Ok(model) = &one.model else { continue };
        if groups.last().is_none_or(|(title, _)| title != one.experiment.group) {
            groups.push((one.experiment.group.to_owned(), Vec::new()));
        }
        let (_, folders) = groups.last_mut()?;
        let name = one.experiment.bundled.name;
        folders.push((name.to_owned(), model.path.clone()));
        if let Beside::Ran(part) = &one.kernels {
            folders.push((format!("{name} on kernel hosts"), part.path.clone()));
        }
    }
    if groups.is_empty() {
        return None;
    }
    let path = out.join(REPORT);
    let written = reproduction("Published experiments, repeated", &groups).and_then(|page| write_page(&page, &path));
    match written {
        Ok(()) => Some(path),
        Err(error) => {
            terminal::warn(&format!("no report over all experiments: {error}"));
            None
        }
    }
}

/// How modelled hosts are run.
fn how(args: &ReproduceArgs) -> RunOptions {
    RunOptions {
        quick: args.quick,
        policy: args.policy.clone(),
        threads: args.threads,
        quiet: args.quiet,
        no_report: args.no_report,
        ..RunOptions::default()
    }
}

fn plan(experiment: Experiment, how: &RunOptions) -> Result<Planned, Failure> {
    let bundled = experiment.bundled;
    let read = |overrides: &Overrides| Document::parse_with(bundled.text, bundled.name, overrides);
    let whole = read(&Overrides::default())?;
    let record = whole.scenario(&whole.points()[0])?;
    // Not every scenario has the policies asked for; that one says so when it is run.
    let weight = read(&how.overrides()).and_then(|document| {
        let points = document.points();
        let record = document.scenario(&points[0])?;
        let runs = points.len() * record.policy.len() * record.repeats as usize;
        Ok(runs as f64 * (record.duration.as_secs_f64() + record.drain.as_secs_f64()))
    });
    Ok(Planned { experiment, record, weight: weight.unwrap_or(0.0) })
}

/// What progress calls experiment number `index`: its name, its place, and how long those behind it take if they cost
/// what those before it did.
fn title(planned: &[Planned], index: usize, began: Instant) -> String {
    let weight = |some: &[Planned]| some.iter().map(|one| one.weight).sum::<f64>();
    let (before, behind) = (weight(&planned[..index]), weight(&planned[index + 1..]));
    let rest = began.elapsed().as_secs_f64() / before * behind;
    let rest = std::time::Duration::try_from_secs_f64(rest).ok().filter(|rest| rest.as_secs() > 0 && before > 0.0);
    let rest = rest.map(|rest| format!(", those behind it roughly {}", clock::whole(rest))).unwrap_or_default();
    format!("{} ({} of {}{rest})", planned[index].experiment.bundled.name, index + 1, planned.len())
}

/// What of the scenario runs on kernel hosts, if anything: its policies that were asked for.
fn kernels(record: &ScenarioRecord, args: &ReproduceArgs) -> Option<(KernelHostsRecord, Vec<String>)> {
    let kernels = record.kernel_hosts.clone()?;
    let wanted = |policy: &String| args.policy.is_empty() || args.policy.contains(policy);
    let policies: Vec<String> = kernels.policies.iter().map(ToString::to_string).filter(wanted).collect();
    (!policies.is_empty()).then_some((kernels, policies))
}

fn run(
    planned: &Planned,
    title: &str,
    out: &Path,
    how: &RunOptions,
    args: &ReproduceArgs,
    lacks: Option<&str>,
    interrupt: &Interrupt,
) -> Done {
    let Planned { experiment, record, .. } = planned;
    let name = experiment.bundled.name;
    let model = Part::of(name, &out.join(name), how, &Batch { interrupt, title });
    let beside = match kernels(record, args).filter(|_| !args.no_kernel_hosts && model.is_ok()) {
        None => Beside::Nothing,
        Some(_) if interrupt.pressed() => Beside::Without("interrupted".to_owned()),
        Some(_) if lacks.is_some() => Beside::Without(lacks.unwrap_or_default().to_owned()),
        Some((kernels, policies)) => {
            let how = RunOptions {
                set: kernels.sets(args.quick),
                hosts: Some(Hosts::Linux),
                kernel: args.kernel.clone(),
                policy: policies,
                ..how.clone()
            };
            let title = format!("{title} on kernel hosts");
            let path = out.join(format!("{name}-kernel-hosts"));
            match Part::of(name, &path, &how, &Batch { interrupt, title: &title }) {
                Ok(part) => Beside::Ran(Box::new(part)),
                Err(failure) if failure.code == INTERRUPTED => Beside::Without("interrupted".to_owned()),
                Err(failure) => Beside::Failed(failure),
            }
        }
    };
    let (about, source) = (record.about.clone(), record.source.clone());
    Done { experiment: *experiment, about, source, model, kernels: beside }
}
