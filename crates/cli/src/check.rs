//! `headway check`.

use headway_experiment::Experiment;
use serde_json::json;

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::run::{Place, execute, warn_of_report};
use crate::{source, terminal};

pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    if args.run { with_run(args) } else { without_run(args) }
}

fn without_run(args: &CheckArgs) -> Result<(), Failure> {
    let source = source::find(&args.file)?;
    let scenario = source.scenario(args.how.overrides())?;
    let seed = args.how.seed.unwrap_or(scenario.record.seed);
    let repeats = args.how.repeats.unwrap_or(scenario.record.repeats);
    let (document, _) = scenario.with(seed, repeats)?;
    let experiment = Experiment::new(&document, &source.folder)?;
    scenario.check_files()?;
    warn_of_phases(&experiment);
    if !args.how.json {
        return terminal::data(&format!("ok: {}\n", experiment.extent(repeats)));
    }
    let extent = experiment.extent(repeats);
    let json = json!({
        "scenario": experiment.scenario.name.as_str(),
        "seed": seed,
        "repeats": repeats,
        "policies": extent.policies,
        "points": extent.points,
    });
    terminal::data(&format!("{json}\n"))
}

/// Says so if flows run in step and nothing is random.
fn warn_of_phases(experiment: &Experiment) {
    let names = experiment.in_step();
    if names.is_empty() {
        return;
    }
    let flows: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    terminal::warn(&format!(
        "flows of {} run in step and nothing is random: phases of microseconds may decide who loses packets\n\
         help: `random-processing = \"100us\"` in [hosts] (about what a packet takes at the bottleneck), random arrivals, or \
         `jitter` of periodic ones",
        flows.join(", ")
    ));
}

fn with_run(args: &CheckArgs) -> Result<(), Failure> {
    let temporary = match &args.out {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("headway-")
                .tempdir()
                .map_err(|error| Failure::environment(format!("cannot make a temporary folder: {error}")))?,
        ),
    };
    let place = match (&args.out, &temporary) {
        (Some(path), _) => Place::New(path),
        (None, Some(folder)) => Place::Temporary(folder.path()),
        (None, None) => unreachable!("made above"),
    };
    let ran = execute(&args.file, place, &args.how)?;
    for warning in &ran.manifest.warnings {
        terminal::warn(warning);
    }
    warn_of_report(&ran);
    let verdicts = &ran.results.verdicts;
    let failed = verdicts.iter().filter(|verdict| verdict.failed()).count();
    if args.how.json {
        let json = json!({
            "scenario": ran.manifest.scenario,
            "seed": ran.manifest.seed,
            "repeats": ran.manifest.repeats,
            "held": failed == 0,
            "claims": ran.manifest.claims,
            "not_evaluated": ran.left_out_claims,
        });
        terminal::data(&format!("{json}\n"))?;
    } else {
        let claims = headway_report::claims(verdicts, &ran.left_out_claims, terminal::layout());
        let claims = if claims.is_empty() { "no claims\n" } else { &claims };
        terminal::data(&format!("ran: {}\n{claims}", ran.extent))?;
    }
    match failed {
        // Nothing was looked at, so nothing may pass.
        0 if verdicts.is_empty() && !ran.left_out_claims.is_empty() => {
            Err(Failure::check("no claim is about a point that is run"))
        }
        0 => Ok(()),
        1 => Err(Failure::check("a claim is not held")),
        _ => Err(Failure::check(format!("{failed} claims are not held"))),
    }
}
