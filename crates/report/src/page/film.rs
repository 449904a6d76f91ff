//! Links over time, from the steps of a folder's links.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{FlowRecord, Job, LinkRecord, Topologies};

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

/// What drawn links did in one step.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    sent: u64,
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
    link: Option<(usize, Vec<Step>)>,
    /// Of drawn links, merged steps.
    links: BTreeMap<usize, Vec<Step>>,
}

/// A film of which flows are still to come.
#[derive(Debug)]
struct Shown {
    film: model::Film,
    switched: Vec<(u64, usize)>,
    /// By traffic: changes of the number of flows at each step.
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
        let networks: Vec<Drawn> = topologies.networks.iter().map(Drawn::new).collect();
        let links: usize = runs.values().map(|network| networks[*network].topology.links.len()).sum();
        let steps = (ALL_VALUES / (4 * links.max(1))).clamp(LEAST_STEPS, STEPS);
        Films { networks, runs, steps, all: topologies.runs.len(), ..Films::default() }
    }

    /// Takes a step of a link in. Those of links that the network does not have are left out.
    pub(super) fn add_link(&mut self, job: Job, row: &LinkRecord, grid: &Grid) {
        let Some(&network) = self.runs.get(&job) else { return };
        if self.open.as_ref().is_none_or(|(open, _)| *open != job) {
            self.end_run(grid);
            self.open = Some((job, Open::default()));
        }
        let Some(&link) = self.networks[network].by_name.get(&*row.link) else { return };
        let Some((_, open)) = &mut self.open else { return };
        if open.link.as_ref().is_none_or(|(own, _)| *own != link) {
            open.end_link(&self.networks[network], self.steps);
            open.link = Some((link, Vec::new()));
        }
        if open.ended == 0 {
            open.times.push(row.time.picos());
        }
        let step = row.step;
        let step = Step { sent: step.sent, queue: step.queue, drops: step.drops.into(), flows: step.flows.into() };
        open.link.as_mut().expect("made above").1.push(step);
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
            let begins = std::iter::once(0).chain(ends.iter().copied());
            let spans = ends.iter().zip(begins).map(|(end, begin)| end.saturating_sub(begin));
            model::FilmLink {
                link: *link,
                sent: steps.iter().zip(spans).map(|(step, span)| permille(step.sent, rate, span)).collect(),
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
        self.shown.insert(job, Shown { film, switched: Vec::new(), active: BTreeMap::new() });
    }

    /// No more links: flows come next.
    pub(super) fn end_links(&mut self, grid: &Grid) {
        self.end_run(grid);
    }

    /// Takes a flow in: how long it was there, and when it moved to another lane.
    pub(super) fn add_flow(&mut self, job: Job, flow: &FlowRecord, traffics: &mut Traffics) {
        let Some(shown) = self.shown.get_mut(&job) else { return };
        let traffic = traffics.place(&flow.traffic);
        shown.switched.extend(flow.switched.map(|time| (time.picos(), traffic)));
        let t = &shown.film.t;
        let step = |picos: u64| t.partition_point(|end| end.get() * 1e3 < picos as f64);
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
                "Links over time have at most {steps} steps: of merged steps the largest queue, all drops and the mean \
                 rate are kept."
            ));
        }
        if self.shown.values().any(|shown| shown.switched.len() > SWITCHED) {
            notes.push(format!("Of moves to another lane, films show the first {SWITCHED} each."));
        }
        let films = self.shown.into_values().map(|mut shown| {
            shown.switched.sort_unstable();
            shown.switched.truncate(SWITCHED);
            let switched = shown.switched.iter();
            shown.film.switched =
                switched.map(|(picos, traffic)| (Number::with_digits(*picos as f64 / 1e3, 9), *traffic)).collect();
            shown.film.active =
                shown.active.iter().map(|(traffic, changes)| active(*traffic, changes, traffics)).collect();
            shown.film
        });
        (self.networks.into_iter().map(|drawn| drawn.topology).collect(), films.collect(), notes)
    }
}

/// The name of a traffic, and how many of its flows there are at the end of each step.
fn active(traffic: usize, changes: &[i64], traffics: &Traffics) -> (String, Vec<u64>) {
    let mut now = 0_i64;
    let mut counts: Vec<u64> = changes
        .iter()
        .map(|change| {
            now += change;
            now.max(0).cast_unsigned()
        })
        .collect();
    counts.pop();
    (traffics.names.get(traffic).cloned().unwrap_or_default(), counts)
}

/// `bytes` in `picos` in thousandths of `rate`. A frame that was being sent when the step began may make it more than all.
fn permille(bytes: u64, rate: u64, picos: u64) -> u32 {
    let all = u128::from(rate) * u128::from(picos);
    if all == 0 {
        return 0;
    }
    let sent = u128::from(bytes) * 8 * 1_000_000_000_000 * 1000;
    ((sent + all / 2) / all).min(1000) as u32
}

impl Open {
    /// Adds the steps of the link to those of the drawn one, merged to at most `most`.
    fn end_link(&mut self, drawn: &Drawn, most: usize) {
        let Some((link, steps)) = self.link.take() else { return };
        self.ended += 1;
        let group = self.times.len().div_ceil(most).max(1);
        let length = self.times.len().div_ceil(group);
        let Some(place) = drawn.link[link] else { return };
        let own = self.links.entry(place).or_insert_with(|| vec![Step::default(); length]);
        for (merged, steps) in own.iter_mut().zip(steps.chunks(group)) {
            let largest = |of: fn(&Step) -> u64| steps.iter().map(of).max().unwrap_or(0);
            merged.sent += steps.iter().map(|step| step.sent).sum::<u64>();
            merged.queue = merged.queue.max(largest(|step| step.queue));
            merged.drops += steps.iter().map(|step| step.drops).sum::<u64>();
            merged.flows += largest(|step| step.flows);
        }
    }
}
