//! `headway run --shard`: runs without results of all.

use headway_experiment::{Ran, Stored};
use serde_json::json;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::run::Place;
use crate::shell::{behind, quoted};
use crate::{clock, terminal};

/// Where the runs of `args`, which are a shard, go.
pub fn place(args: &RunArgs) -> Result<Place<'_>, Failure> {
    match (&args.resume, &args.out) {
        (Some(path), _) => Ok(Place::Resume(path)),
        // The same command goes on with what is there, as a cluster repeats it after a failure.
        (None, Some(path)) if path.join("manifest.json").exists() => Ok(Place::Resume(path)),
        (None, Some(path)) => Ok(Place::New(path)),
        (None, None) if args.how.store.path().is_some() => Ok(Place::Store),
        (None, None) => {
            Err(Failure::usage("a shard needs a folder for its runs").help("name one with --out or --store"))
        }
    }
}

/// What became of a shard, or of runs that went to a store alone.
pub fn close(ran: &Ran, args: &RunArgs) -> Result<(), Failure> {
    for warning in &ran.manifest.warnings {
        terminal::warn(warning);
    }
    let stored = ran.stored.as_ref();
    if let Some(stored) = stored {
        of_store(stored, args.how.quiet);
    }
    if args.how.json {
        let object = json!({
            "scenario": ran.manifest.scenario,
            "scenario_sha256": ran.manifest.scenario_sha256,
            "seed": ran.manifest.seed,
            "repeats": ran.manifest.repeats,
            "shard": ran.manifest.shard.map(|shard| shard.to_string()),
            "out": ran.path.as_ref().map(|path| path.display().to_string()),
            "runs": ran.runs,
            "computed": ran.computed,
            "found": stored.map(|stored| stored.found),
            "wall_s": ran.took.as_secs_f64(),
        });
        return terminal::data(&format!("{object}\n"));
    }
    if !args.how.quiet {
        let shard = ran.manifest.shard.map(|shard| format!("shard {shard}: ")).unwrap_or_default();
        let place = match (&ran.path, args.how.store.path()) {
            (Some(path), _) => quoted(path),
            (None, Some(store)) => quoted(&store),
            (None, None) => String::new(),
        };
        let (runs, computed, took) = (ran.runs, ran.computed, clock::span(ran.took));
        terminal::say(&format!("{shard}{runs} runs in {place}, {computed} of them computed in {took}"));
        match (&ran.path, &args.file) {
            (Some(_), _) => terminal::say("when all shards are there: headway merge DIR… --out RESULTS"),
            (None, Some(file)) => {
                let (file, how) = (quoted(file), behind(&args.how.words()));
                terminal::say(&format!(
                    "when all shards are done: headway run {file}{how} --store {place} --out RESULTS"
                ));
            }
            (None, None) => {}
        }
    }
    Ok(())
}

/// What a store did, in a line or two.
pub fn of_store(stored: &Stored, quiet: bool) {
    if let Some(first) = stored.damaged.first() {
        let more = match stored.damaged.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        terminal::warn(&format!("damaged runs of the store were computed again: {first}{more}"));
    }
    if quiet {
        return;
    }
    let total = stored.found + stored.added;
    if total > 0 {
        terminal::say(&format!("{} of {total} runs were in the store", stored.found));
    }
    for (reason, count) in &stored.left_out {
        terminal::say(&format!("note: runs {reason} are not kept in the store: {count}"));
    }
}
