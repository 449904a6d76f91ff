//! A run of the page, from the results in its folder.

use std::collections::BTreeMap;

use headway_results::{
    Difference, Differences, FlowRecord, Job, LinkRecord, Manifest, Metric, Row, Sample, Summary, Topologies, Verdict,
};

use crate::json::judgement;

use super::claims::{Operand, claim, measured, published};
use super::film::{Films, TooManySteps};
use super::flows::Flows;
use super::grid::{Grid, Traffics};
use super::metric::{metric, unit};
use super::model::{Against, Estimate, Kernel, Machine, Run};
use super::number::Number;
use super::series::AllSeries;
use super::thinning;

/// A page of one run has at most so many points of a sweep.
pub const MOST_POINTS: usize = 512;

/// Warnings beyond these say nothing new.
const MOST_WARNINGS: usize = 100;

/// The facts about a run that its folder and scenario have beside flows and series.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// A short name, which no other run of the page has.
    pub label: String,
    /// `manifest.json`.
    pub manifest: &'a Manifest,
    /// `summary.csv`.
    pub summary: &'a Summary,
    /// How its rows differ from those of the page's first run; `None` of that, and of a page of one run.
    pub against: Option<&'a Differences>,
    /// `topology.json`; empty in folders of older versions.
    pub topologies: &'a Topologies,
    /// The scenario's `about`.
    pub about: String,
    /// The scenario's `source`.
    pub source: Option<String>,
    /// The scenario with every default.
    pub toml: String,
    /// For each verdict of the manifest the values that it is about; empty if the scenario cannot be read.
    pub operands: Vec<Vec<Option<Operand>>>,
    /// Remarks on what could not be found.
    pub notes: Vec<String>,
    /// At most so many points of the sweep are shown.
    pub most_points: usize,
}

/// Gathers a [`Run`] from the tables of its folder, row by row: links before flows.
#[derive(Debug)]
pub struct RunBuilder {
    run: Run,
    grid: Grid,
    traffics: Traffics,
    flows: Flows,
    series: AllSeries,
    films: Films,
}

impl RunBuilder {
    /// With all but flows and series.
    pub fn new(facts: Facts<'_>) -> RunBuilder {
        let manifest = facts.manifest;
        let grid = Grid::new(&manifest.cells, facts.most_points);
        let mut traffics = Traffics::default();
        let mut notes = facts.notes;
        notes.extend(crate::waits::sentences(manifest));
        let verdicts: Option<Vec<Verdict>> = match manifest.claims.as_array() {
            Some(claims) => claims.iter().map(Verdict::from_json).collect(),
            None => Some(Vec::new()),
        };
        let verdicts = verdicts.unwrap_or_else(|| {
            notes.push("The verdicts in manifest.json are of another version and are not shown.".to_owned());
            Vec::new()
        });
        let operands = if facts.operands.len() == verdicts.len() { facts.operands } else { Vec::new() };
        let mut metrics = Metrics::default();
        let mut summary = summary_rows(facts.summary, &grid, &mut traffics, &mut metrics);
        facts.against.into_iter().for_each(|all| set_against(&mut summary, all, &grid, &traffics, &metrics));
        add_measured(&mut summary, &verdicts, &operands, &grid, &traffics, &mut metrics);
        let published = published(&verdicts, &operands, &grid, &traffics, &mut |metric| metrics.place(metric));
        if grid.points.len() < grid.all_points {
            let (shown, all) = (grid.points.len(), grid.all_points);
            notes.push(format!("{shown} of {all} points of the sweep are shown; summary.csv has all."));
        }
        let mut warnings: Vec<String> = manifest.warnings.iter().take(MOST_WARNINGS).cloned().collect();
        if manifest.warnings.len() > MOST_WARNINGS {
            warnings.push(format!("and {} more in manifest.json", manifest.warnings.len() - MOST_WARNINGS));
        }
        let (flows, series) = (Flows::new(&grid, traffics.names.len()), AllSeries::new(&grid));
        let films = Films::new(facts.topologies, &grid);
        let run = Run {
            label: facts.label,
            scenario: manifest.scenario.clone(),
            about: facts.about,
            source: facts.source,
            version: manifest.version.clone(),
            seed: manifest.seed.to_string(),
            repeats: manifest.repeats,
            quick: manifest.quick,
            started: manifest.started.clone(),
            finished: manifest.finished.clone().unwrap_or_default(),
            wall_s: Number::new(manifest.wall_s),
            machine: machine(manifest),
            kernel: manifest.kernel.as_ref().map(kernel),
            command: command(&manifest.command),
            toml: facts.toml,
            warnings,
            notes,
            policies: grid.policies.clone(),
            traffics: Vec::new(),
            sweep: grid.sweep.clone(),
            points: grid.points.clone(),
            claims: verdicts.iter().map(claim).collect(),
            left_out: manifest.not_evaluated.clone(),
            metrics: metrics.all.into_iter().map(metric).collect(),
            summary,
            published,
            cdf: Vec::new(),
            slowdown: Vec::new(),
            series: Vec::new(),
            topologies: Vec::new(),
            films: Vec::new(),
        };
        RunBuilder { run, grid, traffics, flows, series, films }
    }

    /// Takes in a step of `links.parquet`, in the order of the file. All of them come before the first flow.
    ///
    /// # Errors
    /// If a link has more steps than a film can have.
    pub fn add_link(&mut self, job: Job, row: &LinkRecord) -> Result<(), TooManySteps> {
        self.films.add_link(job, row, &self.grid)
    }

    /// Takes in a flow of `flows.parquet`, in the order of the file.
    pub fn add_flow(&mut self, job: Job, flow: &FlowRecord) {
        self.films.end_links(&self.grid);
        self.films.add_flow(job, flow, &mut self.traffics);
        self.flows.add(job, flow, &self.grid, &mut self.traffics);
    }

    /// Takes in a sample of `series.parquet`, in the order of the file.
    pub fn add_sample(&mut self, job: Job, sample: &Sample) {
        self.series.add(job, sample, &self.grid);
    }

    /// Notes that something is missing on the page, and why.
    pub fn note(&mut self, note: impl Into<String>) {
        self.run.notes.push(note.into());
    }

    /// The run, not fitted to a page yet.
    pub fn finish(self) -> Run {
        let RunBuilder { mut run, grid, traffics, flows, series, mut films } = self;
        films.end_links(&grid);
        (run.cdf, run.slowdown) = flows.finish(&grid);
        let (series, notes) = series.finish(&grid);
        run.series = series;
        run.notes.extend(notes);
        let (topologies, films, notes) = films.finish(&traffics);
        (run.topologies, run.films) = (topologies, films);
        run.notes.extend(notes);
        run.traffics = traffics.names;
        // those of runs without a record of their links
        thinning::keep_used_networks(&mut run);
        run
    }
}

/// Metrics in the order in which they come up.
#[derive(Debug, Default)]
struct Metrics {
    all: Vec<Metric>,
}

impl Metrics {
    fn place(&mut self, metric: Metric) -> usize {
        self.all.iter().position(|own| *own == metric).unwrap_or_else(|| {
            self.all.push(metric);
            self.all.len() - 1
        })
    }
}

fn row(place: [usize; 4], metric: Metric, estimate: &headway_results::Estimate) -> Estimate {
    let factor = unit(metric).1;
    let number = |value: Option<f64>| value.map(|value| Number::new(value * factor));
    let [policy, point, traffic, metric] = place;
    let (value, low, high) = (number(estimate.value), number(estimate.low), number(estimate.high));
    Estimate(policy, point, traffic, metric, value, low, high, estimate.n, None)
}

fn summary_rows(summary: &Summary, grid: &Grid, traffics: &mut Traffics, metrics: &mut Metrics) -> Vec<Estimate> {
    let mut rows = Vec::new();
    for own in &summary.rows {
        let traffic = traffics.place(&own.traffic);
        let place = metrics.place(own.metric);
        let Some((policy, point)) = grid.policy(&own.policy).zip(grid.point(&own.sweep)) else { continue };
        rows.push(row([policy, point, traffic, place], own.metric, &own.estimate));
    }
    rows
}

/// Notes at the rows of a summary how they differ from those of the first run.
fn set_against(rows: &mut [Estimate], all: &Differences, grid: &Grid, traffics: &Traffics, metrics: &Metrics) {
    let place = |own: &Row| {
        let metric = metrics.all.iter().position(|metric| *metric == own.metric)?;
        Some([grid.policy(&own.policy)?, grid.point(&own.sweep)?, traffics.find(&own.traffic)?, metric])
    };
    let of_rows: BTreeMap<[usize; 4], &Difference> =
        all.both.iter().filter_map(|row| Some((place(&row.a)?, row))).collect();
    for Estimate(policy, point, traffic, metric, .., against) in rows {
        let Some(row) = of_rows.get(&[*policy, *point, *traffic, *metric]) else { continue };
        let factor = unit(row.a.metric).1;
        let number = |value: Option<f64>| value.map(|value| Number::new(value * factor));
        let difference = row.difference.unwrap_or_default();
        let (value, low, high) = (number(difference.value), number(difference.low), number(difference.high));
        *against = Some(Against(value, low, high, judgement(row.judgement)));
    }
}

/// Adds rows of metrics that claims are about and `summary.csv` does not have.
fn add_measured(
    rows: &mut Vec<Estimate>,
    verdicts: &[Verdict],
    operands: &[Vec<Option<Operand>>],
    grid: &Grid,
    traffics: &Traffics,
    metrics: &mut Metrics,
) {
    let of_summary = metrics.all.len();
    let mut more = BTreeMap::new();
    measured(verdicts, operands, grid, traffics, |policy, point, traffic, metric, estimate| {
        let place = metrics.place(metric);
        if place >= of_summary {
            more.entry([policy, point, traffic, place]).or_insert((metric, estimate));
        }
    });
    rows.extend(more.iter().map(|(place, (metric, estimate))| row(*place, *metric, estimate)));
}

fn machine(manifest: &Manifest) -> Machine {
    let own = &manifest.machine;
    Machine { os: own.os.clone(), arch: own.arch.clone(), cpus: own.cpus }
}

fn kernel(kernel: &headway_results::Kernel) -> Kernel {
    Kernel { name: kernel.name.clone(), version: kernel.version.clone(), changes: kernel.changes.clone() }
}

/// The command line, with the quotes that a shell needs.
fn command(args: &[String]) -> String {
    if args.is_empty() {
        return String::new();
    }
    let plain = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
        !text.is_empty() && text.chars().all(fits)
    };
    let quoted = |arg: &String| if plain(arg) { arg.clone() } else { format!("'{}'", arg.replace('\'', r"'\''")) };
    let words: Vec<String> = std::iter::once("headway".to_owned()).chain(args.iter().map(quoted)).collect();
    words.join(" ")
}
