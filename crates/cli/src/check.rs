//! `headway check`.

use headway_experiment::machine::Room;
use headway_experiment::{Estimate, Experiment, threads};
use headway_units::Bytes;
use serde_json::json;

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::run::{Place, execute, warn_of_report};
use crate::{clock, source, terminal};

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
    if !args.how.quiet {
        warn_of_phases(&experiment);
        experiment.unmarked().iter().for_each(|warning| terminal::warn(&headway_report::warning(warning)));
    }
    let extent = experiment.extent(repeats);
    let estimate = experiment.estimate(repeats);
    let threads = threads(args.how.threads.map(usize::from));
    let warning = Room::now().and_then(|room| estimate.warning(threads, &room));
    if let Some(warning) = warning.as_ref().filter(|_| !args.how.quiet) {
        terminal::warn(warning);
    }
    if !args.how.json {
        return terminal::data(&format!("ok: {extent}\n{}\n", about(&estimate, threads)));
    }
    let json = json!({
        "scenario": experiment.scenario.name.as_str(),
        "seed": seed,
        "repeats": repeats,
        "policies": extent.policies,
        "points": extent.points,
        "estimate": {
            "flows": estimate.flows.round(),
            "packet_hops": estimate.hops.round(),
            "processor_s": estimate.processor.as_secs_f64(),
            "wall_s": estimate.time(threads).as_secs_f64(),
            "run_bytes": estimate.largest.round(),
            "memory_bytes": estimate.memory(threads).round(),
            "without_kernel_hosts": estimate.kernels,
            "warning": warning,
        },
    });
    terminal::data(&format!("{json}\n"))
}

/// What it takes, in a line.
fn about(estimate: &Estimate, threads: usize) -> String {
    let at_a_time = threads.clamp(1, estimate.runs.max(1));
    let many = if at_a_time == 1 { String::new() } else { format!(", {at_a_time} runs at a time") };
    let kernels = if estimate.kernels { ", kernel hosts not counted" } else { "" };
    format!(
        "about {} flows, {} packet-hops, {}{many}, {} of memory{kernels}",
        amount(estimate.flows),
        amount(estimate.hops),
        clock::span(estimate.time(threads)),
        headway_experiment::machine::text(Bytes::new(estimate.memory(threads) as u64)),
    )
}

/// A number that is known about: `850`, `12 thousand`, `3.4 million`.
fn amount(number: f64) -> String {
    let units = [(1e12, "million million"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| number >= *unit) else {
        return format!("{number:.0}");
    };
    let amount = number / unit;
    if amount < 10.0 { format!("{amount:.1} {name}") } else { format!("{amount:.0} {name}") }
}

/// Says so if flows run in step and nothing is random.
fn warn_of_phases(experiment: &Experiment) {
    let names = experiment.in_step();
    if names.is_empty() {
        return;
    }
    let flows: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    // hosts with lossless ports cannot have it
    let lossless = experiment.scenario.policy.iter().any(|policy| policy.lossless.is_some());
    let processing = "`random-processing = \"100us\"` in [hosts] (about what a packet takes at the bottleneck), ";
    terminal::warn(&format!(
        "flows of {} run in step and nothing is random: phases of microseconds may decide who loses packets\n\
         help: {}random arrivals, or `jitter` of periodic ones",
        flows.join(", "),
        if lossless { "" } else { processing }
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

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn amounts_are_about() {
        let cases =
            [(850.4, "850"), (12_345.0, "12 thousand"), (3.44e6, "3.4 million"), (2e15, "2000 million million")];
        for (number, text) in cases {
            assert_eq!(amount(number), text);
        }
    }
}
