//! Links over time, from the steps of a folder's links.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{FlowRecord, Job, LinkRecord, LinkStep, Topologies};

use super::grid::{Grid, Traffics, spread};
use super::model;
use super::network::Drawn;
use super::number::Number;

/// Points of the sweep of which there are films on a page.
const POINTS: usize = 6;

/// Steps of a film at most, and at least where there are many.
const STEPS: usize = 300;
const LEAST_STEPS: usize = 30;

/// Values of all films of a page's run, some 40 MB.
const ALL_VALUES: usize = 3_000_000;

/// Moves to another lane that a film shows.
const SWITCHED: usize = 1000;

/// Steps of a link in a folder at most: the range of `measure.film.steps`.
const RECORDED: usize = 10_000;

/// A link of `links.parquet` has more steps than a film can have: the file is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

impl std::fmt::Display for TooManySteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a link has more than {RECORDED} steps")
    }
}

impl std::error::Error for TooManySteps {}

/// What a drawn link did in merged steps.
#[derive(Debug, Clone, Copy, Default)]
struct Merged {
    /// At most, bit/s; of links that are drawn as one the sum of each one's most.
    rate: u64,
    queue: u64,
    drops: u64,
    flows: u64,
}

/// A film whose rows are being read.
#[derive(Debug, Default)]
struct Open {
    /// The end of each step as the folder has them, ps: those of the link that came first.
    times: Vec<u64>,
    /// Links that are read to their end.
    ended: usize,
    /// The link that is being read, with its steps.
    link: Option<(usize, Vec<LinkStep>)>,
    /// Of drawn links, merged steps.
    links: BTreeMap<usize, Vec<Merged>>,
}

/// A film of which flows are still to come.
#[derive(Debug)]
struct Shown {
    film: model::Film,
    /// The end of each step as the folder has them, ps, and how many of them are merged into one of the film.
    times: Vec<u64>,
    group: usize,
    /// When, ps, of which traffic, and from which drawn node.
    switched: Vec<(u64, usize, Option<usize>)>,
    /// By traffic: changes of the number of flows at each step of the folder.
    active: BTreeMap<usize, Vec<i64>>,
}

/// Takes links in as the folder has them, then flows.
#[derive(Debug, Default)]
pub(super) struct Films {
    networks: Vec<Drawn>,
    /// The networks of the runs that are shown.
    runs: BTreeMap<Job, usize>,
    all: usize,
    steps: usize,
    open: Option<(Job, Open)>,
    shown: BTreeMap<Job, Shown>,
    merged: bool,
}

impl Films {
    pub(super) fn new(topologies: &Topologies, grid: &Grid) -> Films {
        let point = |job: &Job| grid.cell(job.cell).map(|(_, point)| point);
        let filmed: BTreeSet<usize> = topologies.runs.keys().filter_map(point).collect();
        let spread = spread(&grid.points, &grid.sweep, POINTS);
        let shown = |point: usize| filmed.len() <= POINTS || spread.contains(&point);
        let runs = topologies.runs.iter().filter(|(job, _)| point(job).is_some_and(shown));
        let runs: BTreeMap<Job, usize> = runs.map(|(job, network)| (*job, *network)).collect();
        // A sweep over the topology has a network for each point: those that are not shown are not drawn.
        let used: BTreeSet<usize> = runs.values().copied().collect();
        let places: BTreeMap<usize, usize> =
            used.iter().enumerate().map(|(place, network)| (*network, place)).collect();
        let networks: Vec<Drawn> = used.iter().map(|network| Drawn::new(&topologies.networks[*network])).collect();
        let runs: BTreeMap<Job, usize> = runs.into_iter().map(|(job, network)| (job, places[&network])).collect();
        let links: usize = runs.values().map(|network| networks[*network].topology.links.len()).sum();
        let steps = (ALL_VALUES / (4 * links.max(1))).clamp(LEAST_STEPS, STEPS);
        Films { networks, runs, steps, all: topologies.runs.len(), ..Films::default() }
    }

    /// Takes a step of a link in. Those of links that the network does not have are left out.
    pub(super) fn add_link(&mut self, job: Job, row: &LinkRecord, grid: &Grid) -> Result<(), TooManySteps> {
        let Some(&network) = self.runs.get(&job) else { return Ok(()) };
        if self.open.as_ref().is_none_or(|(open, _)| *open != job) {
            self.end_run(grid);
            self.open = Some((job, Open::default()));
        }
        let Some(&link) = self.networks[network].by_name.get(&*row.link) else { return Ok(()) };
        let Some((_, open)) = &mut self.open else { return Ok(()) };
        if open.link.as_ref().is_none_or(|(own, _)| *own != link) {
            open.end_link(&self.networks[network], self.steps);
            open.link = Some((link, Vec::new()));
        }
        let steps = &mut open.link.as_mut().expect("made above").1;
        if steps.len() == RECORDED {
            return Err(TooManySteps);
        }
        steps.push(row.step);
        if open.ended == 0 {
            open.times.push(row.time.picos());
        }
        Ok(())
    }

    fn end_run(&mut self, grid: &Grid) {
        let Some((job, mut open)) = self.open.take() else { return };
        let Some(&network) = self.runs.get(&job) else { return };
        let Some((policy, point)) = grid.cell(job.cell) else { return };
        let drawn = &self.networks[network];
        open.end_link(drawn, self.steps);
        let group = open.times.len().div_ceil(self.steps).max(1);
        self.merged |= group > 1;
        let ends: Vec<u64> = open.times.chunks(group).filter_map(|steps| steps.last().copied()).collect();
        let links = open.links.iter().map(|(link, steps)| {
            let rate = drawn.topology.links[*link].rate_bps;
            model::FilmLink {
                link: *link,
                sent: steps.iter().map(|step| permille(step.rate, rate)).collect(),
                queue: steps.iter().map(|step| step.queue).collect(),
                drops: steps.iter().map(|step| step.drops).collect(),
                flows: steps.iter().map(|step| step.flows).collect(),
            }
        });
        let film = model::Film {
            policy,
            point,
            repeat: job.repeat,
            topology: network,
            t: ends.iter().map(|end| Number::with_digits(*end as f64 / 1e3, 9)).collect(),
            links: links.collect(),
            switched: Vec::new(),
            active: Vec::new(),
        };
        let (times, switched, active) = (open.times, Vec::new(), BTreeMap::new());
        self.shown.insert(job, Shown { film, times, group, switched, active });
    }

    /// No more links: flows come next.
    pub(super) fn end_links(&mut self, grid: &Grid) {
        self.end_run(grid);
    }

    /// Takes a flow in: how long it was there, and when it moved to another lane.
    pub(super) fn add_flow(&mut self, job: Job, flow: &FlowRecord, traffics: &mut Traffics) {
        let Some(shown) = self.shown.get_mut(&job) else { return };
        let traffic = traffics.place(&flow.traffic);
        let source = self.networks[shown.film.topology].node.get(&*flow.source).copied();
        shown.switched.extend(flow.switched.map(|time| (time.picos(), traffic, source)));
        let t = &shown.times;
        let step = |picos: u64| t.partition_point(|end| *end < picos);
        let changes = shown.active.entry(traffic).or_insert_with(|| vec![0; t.len() + 1]);
        let (start, end) = (step(flow.start.picos()), flow.end.map_or(t.len(), |end| step(end.picos())));
        changes[start] += 1;
        changes[end.max(start)] -= 1;
    }

    /// All of them with their networks, and remarks on those that are not shown.
    pub(super) fn finish(self, traffics: &Traffics) -> (Vec<model::Topology>, Vec<model::Film>, Vec<String>) {
        let mut notes = Vec::new();
        if self.shown.len() < self.all {
            notes.push(format!("Links over time are shown of {} of {} runs.", self.shown.len(), self.all));
        }
        if self.merged {
            let steps = self.steps;
            notes.push(format!(
                "Links over time have at most {steps} steps: of merged steps the largest use and queue, most flows and \
                 all drops are kept."
            ));
        }
        if self.shown.values().any(|shown| shown.switched.len() > SWITCHED) {
            notes.push(format!("Of moves to another lane, films show the first {SWITCHED} each."));
        }
        let films = self.shown.into_values().map(|mut shown| {
            shown.switched.sort_unstable();
            shown.switched.truncate(SWITCHED);
            let nanos = |picos: u64| Number::with_digits(picos as f64 / 1e3, 9);
            let switched = shown.switched.iter();
            shown.film.switched = switched.map(|(picos, traffic, source)| (nanos(*picos), *traffic, *source)).collect();
            shown.film.active =
                shown.active.iter().map(|(name, changes)| active(*name, changes, shown.group, traffics)).collect();
            shown.film
        });
        (self.networks.into_iter().map(|drawn| drawn.topology).collect(), films.collect(), notes)
    }
}

/// The name of a traffic, and how many of its flows there are at the end of a step; of merged steps the most.
fn active(traffic: usize, changes: &[i64], group: usize, traffics: &Traffics) -> (String, Vec<u64>) {
    let mut now = 0_i64;
    let mut counts: Vec<u64> = changes
        .iter()
        .map(|change| {
            now += change;
            now.max(0).cast_unsigned()
        })
        .collect();
    counts.pop();
    let counts = counts.chunks(group).filter_map(|steps| steps.iter().copied().max()).collect();
    (traffics.names.get(traffic).cloned().unwrap_or_default(), counts)
}

/// `rate` in thousandths of `all`. A frame that was being sent when the step began may make it more than all.
fn permille(rate: u64, all: u64) -> u32 {
    if all == 0 {
        return 0;
    }
    let (rate, all) = (u128::from(rate), u128::from(all));
    ((rate * 1000 + all / 2) / all).min(1000) as u32
}

/// `bytes` in `picos`, bit/s.
fn rate(bytes: u64, picos: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    bits.checked_div(u128::from(picos)).map_or(0, |rate| u64::try_from(rate).unwrap_or(u64::MAX))
}

impl Open {
    /// Adds the steps of the link to those of the drawn one, merged to at most `most`.
    fn end_link(&mut self, drawn: &Drawn, most: usize) {
        let Some((link, steps)) = self.link.take() else { return };
        self.ended += 1;
        let group = self.times.len().div_ceil(most).max(1);
        let length = self.times.len().div_ceil(group);
        let Some(place) = drawn.link[link] else { return };
        let own = self.links.entry(place).or_insert_with(|| vec![Merged::default(); length]);
        let begins = std::iter::once(0).chain(self.times.iter().copied());
        let spans: Vec<u64> = self.times.iter().zip(begins).map(|(end, begin)| end.saturating_sub(begin)).collect();
        for ((merged, steps), spans) in own.iter_mut().zip(steps.chunks(group)).zip(spans.chunks(group)) {
            let largest = |of: fn(&LinkStep) -> u64| steps.iter().map(of).max().unwrap_or(0);
            let rates = steps.iter().zip(spans).map(|(step, span)| rate(step.sent, *span));
            // a damaged file may have any numbers
            merged.rate = merged.rate.saturating_add(rates.max().unwrap_or(0));
            merged.queue = merged.queue.max(largest(|step| step.queue));
            let drops = steps.iter().map(|step| u64::from(step.drops));
            merged.drops = drops.fold(merged.drops, u64::saturating_add);
            merged.flows = merged.flows.saturating_add(largest(|step| step.flows.into()));
        }
    }
}
