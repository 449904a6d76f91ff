//! Time series from samples as a folder has them, thinned as they come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headway_results::{Job, Sample};

use super::grid::{Grid, spread};
use super::model;
use super::number::Number;
use super::thin::Thinner;

/// Points of the sweep that series are shown of.
const POINTS: usize = 8;

/// Buckets of a series; it has eight times as many samples at most.
const BUCKETS: usize = 50;

/// Series that are kept of a page's runs, some 6 KB each.
const ALL_SERIES: usize = 4096;

/// Of each metric in a cell the most that are kept.
const ENTITIES: usize = 16;

/// Entities of one run that are followed at a time; of more, those that come later are left out.
const FOLLOWED: usize = 10_000;

/// Takes samples in as the folder has them: in the order of cells and repeats. Series of the first repeat are shown.
#[derive(Debug)]
pub(super) struct AllSeries {
    points: BTreeSet<usize>,
    cell: Option<u32>,
    /// By metric, then entity.
    open: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Thinner>>,
    following: usize,
    most: usize,
    kept: Vec<model::Series>,
    /// Samples of other repeats or points were passed over; entities were left out.
    passed_repeats: bool,
    left_out: u64,
    /// Some were sampled first when [`FOLLOWED`] others were followed already.
    too_many: bool,
    seen_points: BTreeSet<usize>,
}

/// The unit of `series.parquet`'s metrics is the end of their names.
fn unit(metric: &str) -> &'static str {
    match metric.rsplit('_').next() {
        Some("bps") => "bps",
        Some("bytes") => "B",
        Some("ns") => "ns",
        Some("share") => "share",
        _ => "1",
    }
}

impl AllSeries {
    pub(super) fn new(grid: &Grid) -> AllSeries {
        let points = spread(&grid.points, &grid.sweep, POINTS);
        // some eight metrics of each
        let most = (ALL_SERIES / (8 * points.len().max(1) * grid.policies.len().max(1))).clamp(2, ENTITIES);
        AllSeries {
            points,
            cell: None,
            open: BTreeMap::new(),
            following: 0,
            most,
            kept: Vec::new(),
            passed_repeats: false,
            left_out: 0,
            too_many: false,
            seen_points: BTreeSet::new(),
        }
    }

    /// Takes a sample in.
    pub(super) fn add(&mut self, job: Job, sample: &Sample, grid: &Grid) {
        let Some((_, point)) = grid.cell(job.cell) else { return };
        self.seen_points.insert(point);
        if job.repeat != 0 || !self.points.contains(&point) {
            self.passed_repeats |= job.repeat != 0;
            return;
        }
        if self.cell != Some(job.cell) {
            self.end_run(grid);
            self.cell = Some(job.cell);
        }
        let time = sample.time.picos() as f64 / 1e12;
        if let Some(thinner) = self.open.get_mut(&sample.metric).and_then(|all| all.get_mut(&sample.entity)) {
            thinner.push((time, sample.value));
            return;
        }
        if self.following == FOLLOWED {
            self.too_many = true;
            return;
        }
        self.following += 1;
        let mut thinner = Thinner::new(BUCKETS);
        thinner.push((time, sample.value));
        self.open.entry(Arc::clone(&sample.metric)).or_default().insert(Arc::clone(&sample.entity), thinner);
    }

    /// Keeps the series that vary most.
    fn end_run(&mut self, grid: &Grid) {
        self.following = 0;
        let open = std::mem::take(&mut self.open);
        let Some((policy, point)) = self.cell.and_then(|cell| grid.cell(cell)) else { return };
        for (metric, entities) in open {
            let mut all: Vec<(Arc<str>, Thinner)> = entities.into_iter().collect();
            // stable, so that equals stay in the order of their names
            all.sort_by(|(_, a), (_, b)| b.range().total_cmp(&a.range()));
            self.left_out += all.len().saturating_sub(self.most) as u64;
            for (entity, thinner) in all.into_iter().take(self.most) {
                let samples = thinner.samples();
                let (t, v) = samples.iter().map(|(t, v)| (Number::with_digits(*t, 9), Number::new(*v))).unzip();
                self.kept.push(model::Series {
                    policy,
                    point,
                    repeat: 0,
                    entity: entity.to_string(),
                    metric: metric.to_string(),
                    unit: unit(&metric),
                    t,
                    v,
                    of: thinner.seen(),
                });
            }
        }
    }

    /// All of them, and remarks on those that are not shown.
    pub(super) fn finish(mut self, grid: &Grid) -> (Vec<model::Series>, Vec<String>) {
        self.end_run(grid);
        let mut notes = Vec::new();
        if self.passed_repeats {
            notes.push("Time series are those of the first repeat.".to_owned());
        }
        if self.seen_points.len() > self.points.len() {
            let (shown, all) = (self.points.len(), self.seen_points.len());
            notes.push(format!("Time series are shown of {shown} of {all} points of the sweep."));
        }
        if self.left_out > 0 {
            let most = self.most;
            notes.push(format!(
                "Of each metric, time series are shown of the {most} flows or ports of a cell that vary most."
            ));
        }
        if self.too_many {
            notes.push(format!(
                "Some runs have samples of more than {FOLLOWED} flows and ports: those that were sampled later are not \
                 looked at, however much they vary."
            ));
        }
        let thinned = self.kept.iter().filter(|series| series.of > series.t.len() as u64).count();
        if thinned > 0 {
            notes.push(format!(
                "{thinned} of {} time series are thinned: of successive samples the first, the least, the largest and \
                 the last are kept.",
                self.kept.len()
            ));
        }
        (self.kept, notes)
    }
}

#[cfg(test)]
mod tests {
    use headway_results::{Cell, SweepPoint};
    use headway_units::{Span, Time};

    use super::*;

    fn grid() -> Grid {
        Grid::new(&[Cell { index: 0, policy: "tcp".into(), sweep: SweepPoint::new() }], 10)
    }

    fn sample(nanos: u64, entity: &str, metric: &str, value: f64) -> Sample {
        Sample { time: Time::ZERO + Span::from_nanos(nanos), entity: entity.into(), metric: metric.into(), value }
    }

    #[test]
    fn series_are_apart_by_metric_and_entity_and_keep_their_peak() {
        let grid = grid();
        let mut all = AllSeries::new(&grid);
        for i in 0..10_000 {
            let queue = if i == 4321 { 1e6 } else { 10.0 };
            all.add(Job { cell: 0, repeat: 0 }, &sample(i * 1000, "a>b", "queue_bytes", queue), &grid);
            all.add(Job { cell: 0, repeat: 0 }, &sample(i * 1000, "short/1", "cwnd_bytes", i as f64), &grid);
            all.add(Job { cell: 0, repeat: 1 }, &sample(i * 1000, "a>b", "queue_bytes", 1e9), &grid);
        }
        let (series, notes) = all.finish(&grid);
        let [cwnd, queue] = &series[..] else { panic!("{}", series.len()) };
        assert_eq!((cwnd.metric.as_str(), cwnd.unit, cwnd.of), ("cwnd_bytes", "B", 10_000));
        assert!(queue.t.len() <= 400 && queue.t.len() == queue.v.len(), "{}", queue.t.len());
        let peak = queue.v.iter().position(|value| value.get() == 1e6).expect("the peak");
        assert_eq!(queue.t[peak].get(), 0.004_321);
        assert!(notes.iter().any(|note| note.contains("first repeat")), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("2 of 2 time series are thinned")), "{notes:?}");
    }

    #[test]
    fn of_many_flows_those_that_vary_most_are_kept() {
        let grid = grid();
        let mut all = AllSeries::new(&grid);
        for flow in 0..100 {
            for time in [0, 1] {
                let value = f64::from(flow * time);
                all.add(Job { cell: 0, repeat: 0 }, &sample(1, &format!("short/{flow}"), "rtt_ns", value), &grid);
            }
        }
        let (series, notes) = all.finish(&grid);
        assert_eq!(series.len(), ENTITIES);
        assert!(series.iter().any(|one| one.entity == "short/99") && !series.iter().any(|one| one.entity == "short/1"));
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    /// A late queue with a peak is not among "those that vary most" if nobody looked at it: the page says so.
    #[test]
    fn entities_that_are_not_followed_are_told_of() {
        let grid = grid();
        let mut all = AllSeries::new(&grid);
        for flow in 0..=FOLLOWED {
            let value = if flow == FOLLOWED { 1e9 } else { 1.0 };
            all.add(Job { cell: 0, repeat: 0 }, &sample(1, &format!("f{flow}"), "rtt_ns", value), &grid);
        }
        let (series, notes) = all.finish(&grid);
        assert!(!series.iter().any(|one| one.entity == format!("f{FOLLOWED}")));
        assert!(notes.iter().any(|note| note.contains("more than 10000 flows and ports")), "{notes:?}");
    }

    #[test]
    fn units_are_the_ends_of_names() {
        for (metric, expected) in
            [("goodput_bps", "bps"), ("cwnd_bytes", "B"), ("rtt_ns", "ns"), ("core_share", "share"), ("link_cost", "1")]
        {
            assert_eq!(unit(metric), expected);
        }
    }
}
