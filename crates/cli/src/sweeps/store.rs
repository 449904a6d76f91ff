//! `headway store`: what is in a store of runs, and clearing it up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;

use headway_experiment::{RESULTS_EPOCH, clock};
use headway_results::{Entry, Layout, Rule, Store};
use serde_json::json;

use crate::failure::Failure;
use crate::sweeps::args::{StoreArgs, StoreCommand, StoreGcArgs, StoreLsArgs, StoreOptions, VARIABLE};
use crate::terminal;

pub fn store(args: &StoreArgs) -> Result<(), Failure> {
    match &args.command {
        StoreCommand::Ls(args) => list(args),
        StoreCommand::Gc(args) => collect(args),
        StoreCommand::Verify(args) => verify(args),
    }
}

fn open(args: &StoreLsArgs) -> Result<Store, Failure> {
    let path: Option<PathBuf> = args.store.clone().or_else(|| StoreOptions::default().path());
    let Some(path) = path else {
        return Err(Failure::usage("there is no store").help(format!("name one, or set {VARIABLE}")));
    };
    Ok(Store::open(path)?)
}

/// Runs of one scenario, version and epoch.
#[derive(Debug, Default)]
struct Group {
    runs: u64,
    bytes: u64,
    newest: Option<SystemTime>,
}

fn list(args: &StoreLsArgs) -> Result<(), Failure> {
    let store = open(args)?;
    let mut groups: BTreeMap<(String, String, u32, bool), Group> = BTreeMap::new();
    let (mut damaged, mut later) = (0, 0);
    store.entries(&mut |Entry { run, layout, bytes, written, .. }| {
        let run = match run {
            Ok(Some(run)) => run,
            Ok(None) => {
                later += 1;
                return Ok(());
            }
            Err(_) => {
                damaged += 1;
                return Ok(());
            }
        };
        let usable = run.epoch == RESULTS_EPOCH && layout == Layout::Known;
        let group = groups.entry((run.scenario, run.version, run.epoch, usable)).or_default();
        group.runs += 1;
        group.bytes += bytes;
        group.newest = group.newest.max(written);
        Ok(())
    })?;
    let (runs, bytes) = groups.values().fold((0, 0), |(runs, bytes), one| (runs + one.runs, bytes + one.bytes));
    let newest = |group: &Group| {
        let seconds = group.newest?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        Some(clock::rfc3339(seconds))
    };
    if args.json {
        let one = |((scenario, version, epoch, usable), group): (&(String, String, u32, bool), &Group)| {
            json!({
                "scenario": scenario,
                "version": version,
                "epoch": epoch,
                "usable": usable,
                "runs": group.runs,
                "bytes": group.bytes,
                "newest": newest(group),
            })
        };
        let groups: Vec<_> = groups.iter().map(one).collect();
        let path = store.path().display().to_string();
        let object = json!({
            "store": path,
            "epoch": RESULTS_EPOCH,
            "runs": runs,
            "bytes": bytes,
            "damaged": damaged,
            "later": later,
            "groups": groups,
        });
        return terminal::data(&format!("{object}\n"));
    }
    let mut rows = vec![["scenario", "version", "epoch", "runs", "size", "newest"].map(str::to_owned)];
    for ((scenario, version, epoch, usable), group) in &groups {
        let stale = if *usable { "" } else { " (not of this version)" };
        rows.push([
            printable(scenario),
            printable(version),
            format!("{epoch}{stale}"),
            group.runs.to_string(),
            size(group.bytes),
            newest(group).unwrap_or_default(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    let _ = writeln!(text, "\n{runs} runs, {}", size(bytes));
    if later > 0 {
        let _ = writeln!(text, "{later} of a later version, which this one cannot read");
    }
    if damaged > 0 {
        let _ = writeln!(text, "{damaged} damaged; `headway store gc` removes them");
    }
    terminal::data(&text)
}

fn collect(args: &StoreGcArgs) -> Result<(), Failure> {
    let store = open(&args.of)?;
    let rule = Rule {
        epoch: (!args.all_epochs).then_some(RESULTS_EPOCH),
        older_than: args.older_than,
        scenario: args.scenario.clone(),
        now: SystemTime::now(),
    };
    let collected = store.collect(&rule, args.dry_run)?;
    if args.of.json {
        let object = json!({
            "dry_run": args.dry_run,
            "removed": collected.removed,
            "removed_bytes": collected.removed_bytes,
            "kept": collected.kept,
            "kept_bytes": collected.kept_bytes,
            "abandoned": collected.abandoned,
        });
        return terminal::data(&format!("{object}\n"));
    }
    let would = if args.dry_run { "would be removed" } else { "removed" };
    let (removed, kept) = (size(collected.removed_bytes), size(collected.kept_bytes));
    let mut text = format!("{} runs {would} ({removed}), {} left ({kept})\n", collected.removed, collected.kept);
    if collected.abandoned > 0 {
        let _ = writeln!(text, "{} files of processes that died {would}", collected.abandoned);
    }
    terminal::data(&text)
}

fn verify(args: &StoreLsArgs) -> Result<(), Failure> {
    let store = open(args)?;
    let mut keys = Vec::new();
    store.entries(&mut |entry| {
        // Others can be read by their versions alone.
        if entry.layout == Layout::Known {
            keys.push(entry.key);
        }
        Ok(())
    })?;
    let damaged: Vec<(String, String)> =
        keys.iter().filter_map(|key| Some((key.to_string(), store.check(key)?))).collect();
    if args.json {
        let one = |(key, reason): &(String, String)| json!({ "key": key, "reason": reason });
        let damaged: Vec<_> = damaged.iter().map(one).collect();
        terminal::data(&format!("{}\n", json!({ "runs": keys.len(), "damaged": damaged })))?;
    } else {
        let mut text = String::new();
        for (key, reason) in &damaged {
            let _ = writeln!(text, "{key}: {reason}");
        }
        let _ = writeln!(text, "{} runs, {} damaged", keys.len(), damaged.len());
        terminal::data(&text)?;
    }
    if damaged.is_empty() {
        return Ok(());
    }
    let help =
        "they are computed again when they are asked for; `headway store gc` removes those whose beginning is damaged";
    Err(Failure::check("the store has damaged runs").help(help))
}

/// On one line, without what a terminal takes for commands.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
