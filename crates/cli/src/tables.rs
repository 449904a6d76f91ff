//! The tables of results: which of them are asked for, and `headway show` of a folder.

use std::path::Path;

use clap::{Args, ValueEnum};
use headway_experiment::{Extent, Source, is_kept, measured};
use headway_report::{BySize, Choice, Layout};
use headway_results::{Cell, Finished, Folder, Metric, Summary, Verdict};
use headway_scenario::Overrides;
use headway_scenario::schema::TrafficRecord;
use serde_json::{Value, json};

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::terminal;

/// Which tables are printed; the same wherever results are.
#[derive(Debug, Clone, Default, Args)]
pub struct TableOptions {
    /// Print these metrics, such as `fct.p99,slowdown.mean` (names with commas between, or repeated) [default: those that
    /// answer most questions]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub metric: Vec<Metric>,
    /// Print the numbers of these traffics (names with commas between, or repeated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub traffic: Vec<String>,
    /// Print the slowdown of flows of like sizes instead: its percentiles over the flows of all repeats
    #[arg(long, value_name = "WHAT")]
    pub by: Option<By>,
}

/// What flows are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Their sizes
    Size,
}

/// The numbers that are printed.
#[derive(Debug)]
pub enum Tables {
    /// Of a summary, chosen already.
    Summary(Summary, Choice),
    /// By size of flow.
    BySize(Box<BySize>),
}

impl TableOptions {
    /// Whether nothing is asked for in particular.
    pub fn is_default(&self) -> bool {
        self.metric.is_empty() && self.traffic.is_empty() && self.by.is_none()
    }

    /// That the traffics asked for are among `known`, and the metrics among those that there are.
    ///
    /// # Errors
    /// Naming what there is.
    pub fn check(&self, known: &[String]) -> Result<(), Failure> {
        self.traffics(known)?;
        if self.by.is_some() {
            let other = self.metric.iter().find(|metric| !BySize::METRICS.contains(metric));
            if let Some(metric) = other {
                return Err(unknown("by size there is no metric", &metric.to_string(), &BySize::METRICS));
            }
        }
        Ok(())
    }

    /// The traffics asked for: of `web` its parts `web/GROUP`, too, if it has no rows of its own.
    fn traffics(&self, known: &[String]) -> Result<Vec<String>, Failure> {
        let mut all = Vec::new();
        for wanted in &self.traffic {
            let is_part = |own: &&String| own.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('/'));
            if known.contains(wanted) {
                all.push(wanted.clone());
            } else if known.iter().any(|own| is_part(&own)) {
                all.extend(known.iter().filter(is_part).cloned());
            } else {
                return Err(unknown("there is no traffic", wanted, known));
            }
        }
        Ok(all)
    }

    /// That the traffics asked for are among those of `source`, before it is run.
    ///
    /// # Errors
    /// If they are not, or the scenario is wrong.
    pub fn check_source(&self, source: &Source, overrides: Overrides) -> Result<(), Failure> {
        if self.is_default() {
            return Ok(());
        }
        let scenario = source.scenario(overrides)?;
        let known: Vec<String> = scenario.record.traffic.iter().flat_map(TrafficRecord::reported).collect();
        self.check(&known)?;
        match self.metric.iter().find(|metric| !is_kept(**metric, &scenario.record)) {
            None => Ok(()),
            Some(metric) => {
                let failure = Failure::usage(format!("no results of this scenario hold what `{metric}` is taken of"));
                let packets = metric.is_of_packets();
                Err(failure.help(if packets { "add --set measure.waits=true" } else { "claims can be about it" }))
            }
        }
    }

    /// The numbers asked for of `summary`, and of the flows in the folder at `path` where that has not all of them.
    ///
    /// # Errors
    /// If a name is unknown, or the folder cannot be read.
    pub fn of(&self, summary: &Summary, path: &Path, policies: &[String]) -> Result<Tables, Failure> {
        if self.is_default() && policies.is_empty() {
            return Ok(Tables::Summary(summary.clone(), Choice::default()));
        }
        self.of_folder(&Folder::open(path)?, policies)
    }

    fn of_folder(&self, folder: &Finished, policies: &[String]) -> Result<Tables, Failure> {
        let mut known: Vec<String> = Vec::new();
        for row in &folder.summary.rows {
            if !known.contains(&row.traffic) {
                known.push(row.traffic.clone());
            }
        }
        self.check(&known)?;
        let of_cells = policies_of(&folder.manifest.cells);
        if let Some(policy) = policies.iter().find(|policy| !of_cells.contains(policy)) {
            return Err(unknown("there is no policy", policy, &of_cells));
        }
        let (metrics, traffics) = (self.metric.clone(), self.traffics(&known)?);
        let choice = Choice { metrics, traffics, policies: policies.to_vec() };
        if self.by.is_none() {
            return Ok(Tables::Summary(measured(folder, &self.metric)?, choice));
        }
        let mut by_size = BySize::new(&folder.manifest.cells, &folder.summary, &choice);
        for row in folder.flows()? {
            let (job, flow) = row?;
            by_size.add(job, &flow);
        }
        Ok(Tables::BySize(Box::new(by_size)))
    }
}

impl Tables {
    pub fn text(self, layout: Layout) -> String {
        match self {
            Tables::Summary(summary, choice) => headway_report::summary(&summary, &choice, layout),
            Tables::BySize(by_size) => by_size.tables(layout),
        }
    }

    /// The name and the value in a JSON object.
    pub fn json(self) -> (&'static str, Value) {
        match self {
            Tables::Summary(summary, choice) => ("summary", headway_report::summary_json(&choice.of(&summary))),
            Tables::BySize(by_size) => ("by_size", by_size.json()),
        }
    }
}

/// `wanted` is not among `known`.
fn unknown(what: &str, wanted: &str, known: &[impl ToString]) -> Failure {
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    let there_are =
        if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
    Failure::usage(format!("{what} `{}`", wanted.escape_debug())).help(there_are)
}

fn policies_of(cells: &[Cell]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for cell in cells {
        if !all.contains(&cell.policy) {
            all.push(cell.policy.clone());
        }
    }
    all
}

/// Prints the results in the folder that `args` names.
pub fn show_folder(args: &ShowArgs) -> Result<(), Failure> {
    let options = [("--set", !args.set.is_empty()), ("--quick", args.quick)];
    if let Some((option, _)) = options.iter().find(|(_, given)| *given) {
        let failure = Failure::usage(format!("{option} is for scenarios, and {} is a folder", args.file.display()));
        return Err(failure.help("results are as they were run; `headway run` makes others"));
    }
    let folder = Folder::open(&args.file)?;
    let tables = args.tables.of_folder(&folder, &args.policy)?;
    let m = &folder.manifest;
    for warning in &m.warnings {
        terminal::warn(warning);
    }
    if args.json {
        let mut object = json!({
            "scenario": m.scenario,
            "scenario_sha256": m.scenario_sha256,
            "seed": m.seed,
            "repeats": m.repeats,
            "quick": m.quick,
            "version": m.version,
            "warnings": m.warnings,
            "waits": m.waits,
            "claims": m.claims,
            "not_evaluated": m.not_evaluated,
        });
        let (name, value) = tables.json();
        object[name] = value;
        return terminal::data(&format!("{object}\n"));
    }
    let layout = terminal::layout();
    let title = title(&m.scenario, extent(&folder), m.seed, m.quick, layout);
    let all = args.tables.is_default() && args.policy.is_empty();
    let verdicts: Option<Vec<Verdict>> =
        m.claims.as_array().and_then(|claims| claims.iter().map(Verdict::from_json).collect());
    let claims = match verdicts {
        Some(verdicts) if all => headway_report::claims(&verdicts, &m.not_evaluated, layout),
        _ => String::new(),
    };
    let gap = if claims.is_empty() { "" } else { "\n" };
    let waits = if all { headway_report::waits(m, layout) } else { String::new() };
    let above = if waits.is_empty() { "" } else { "\n" };
    terminal::data(&format!("{title}\n{}{above}{waits}{gap}{claims}", tables.text(layout)))
}

/// The first line of results.
pub fn title(scenario: &str, extent: Extent, seed: u64, quick: bool, layout: Layout) -> String {
    let quick = if quick { ", quick" } else { "" };
    let lines = headway_report::wrapped(&format!("{scenario}: {extent}, seed {seed}{quick}"), layout.width, 2);
    lines.join("\n") + "\n"
}

fn extent(folder: &Finished) -> Extent {
    let cells = &folder.manifest.cells;
    let policies = policies_of(cells).len();
    Extent { policies, points: cells.len() / policies.max(1), repeats: folder.manifest.repeats }
}
