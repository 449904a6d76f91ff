//! Distributions of flow completion times, and slowdown by size, from flows as a folder has them.

use std::collections::BTreeMap;

use headway_results::{FlowRecord, Job, Percentile};

use super::distribution::Distribution;
use super::grid::{Grid, Traffics};
use super::model::{Cdf, Slowdown, SlowdownBin};
use super::number::Number;

/// Steps of a distribution function at most.
const STEPS: usize = 200;

/// Steps of all of them together, so that memory is bounded however many cells there are: some 10 MB.
const ALL_STEPS: usize = 300_000;

/// The flows of one traffic in one cell.
#[derive(Debug, Default)]
struct Group {
    /// Flow completion times, ns.
    fct: Distribution,
    /// Slowdown by the place of the size's bin.
    slowdown: BTreeMap<u32, Distribution>,
}

/// Takes flows in as the folder has them: in the order of cells. One cell is in memory at a time.
#[derive(Debug)]
pub(super) struct Flows {
    cell: Option<u32>,
    groups: BTreeMap<usize, Group>,
    steps: usize,
    cdf: Vec<Cdf>,
    slowdown: Vec<Slowdown>,
}

/// Sizes are binned by powers of ten and three times those: 1 KB, 3 KB, 10 KB, …; below 1 KB there is one bin. Place 0
/// is that.
fn bin(bytes: u64) -> u32 {
    let Some(decade) = (bytes / 1000).checked_ilog10() else { return 0 };
    1 + 2 * decade + u32::from(bytes / 3000 >= 10_u64.pow(decade))
}

/// Where the bin at this place begins.
fn bin_start(place: u32) -> u64 {
    let Some(above) = place.checked_sub(1) else { return 0 };
    let decade = 1000_u64.saturating_mul(10_u64.saturating_pow(above / 2));
    if above.is_multiple_of(2) { decade } else { decade.saturating_mul(3) }
}

impl Flows {
    pub(super) fn new(grid: &Grid, traffics: usize) -> Flows {
        let curves = grid.shown().saturating_mul(traffics.max(1)).max(1);
        let steps = (ALL_STEPS / curves).clamp(12, STEPS);
        Flows { cell: None, groups: BTreeMap::new(), steps, cdf: Vec::new(), slowdown: Vec::new() }
    }

    /// Takes a flow in. Those without a size have no completion time and are left out.
    pub(super) fn add(&mut self, job: Job, flow: &FlowRecord, grid: &Grid, traffics: &mut Traffics) {
        if self.cell != Some(job.cell) {
            self.end_cell(grid);
            self.cell = Some(job.cell);
        }
        let Some(bytes) = flow.bytes.filter(|_| grid.cell(job.cell).is_some()) else { return };
        let fct = flow.fct();
        let ideal = flow.ideal.filter(|ideal| !ideal.is_zero());
        for traffic in traffics.of_flow(&flow.traffic) {
            let group = self.groups.entry(*traffic).or_default();
            match fct {
                Some(fct) => group.fct.push(fct.picos() as f64 / 1e3),
                None => group.fct.unfinished += 1,
            }
            let Some(ideal) = ideal else { continue };
            let slowdown = group.slowdown.entry(bin(bytes)).or_default();
            match fct {
                Some(fct) => slowdown.push(fct.picos() as f64 / ideal.picos() as f64),
                None => slowdown.unfinished += 1,
            }
        }
    }

    fn end_cell(&mut self, grid: &Grid) {
        let groups = std::mem::take(&mut self.groups);
        let Some((policy, point)) = self.cell.and_then(|cell| grid.cell(cell)) else { return };
        for (traffic, group) in groups {
            let fct = group.fct.sorted();
            let (n, unfinished) = (fct.len(), fct.unfinished());
            // a share of ten million flows needs eight digits
            let steps = fct.steps(self.steps).into_iter();
            let (x, y) = steps.map(|(x, y)| (Number::new(x), Number::with_digits(y, 8))).unzip();
            self.cdf.push(Cdf { policy, point, traffic, n, unfinished, x, y });
            let bins: Vec<SlowdownBin> = group.slowdown.into_iter().map(slowdown_bin).collect();
            if !bins.is_empty() {
                self.slowdown.push(Slowdown { policy, point, traffic, bins });
            }
        }
    }

    /// All of them.
    pub(super) fn finish(mut self, grid: &Grid) -> (Vec<Cdf>, Vec<Slowdown>) {
        self.end_cell(grid);
        (self.cdf, self.slowdown)
    }
}

/// A percentile is shown if at least one flow is expected above it: p95 of 20 flows, p99 of 100, p99.9 of 1,000.
fn slowdown_bin((place, slowdown): (u32, Distribution)) -> SlowdownBin {
    let sorted = slowdown.sorted();
    let n = sorted.len();
    let of = |p: Percentile| sorted.quantile(p.quantile()).filter(|_| n >= p.enough()).map(Number::new);
    SlowdownBin {
        from: bin_start(place),
        to: bin_start(place + 1),
        n,
        p50: sorted.quantile(0.5).map(Number::new),
        p95: of(Percentile::whole(95)),
        p99: of(Percentile::whole(99)),
        p999: of(Percentile::P999),
    }
}

#[cfg(test)]
mod tests {
    use headway_results::{Cell, SweepPoint};
    use headway_units::{Span, Time};

    use super::*;

    fn flow(id: u64, bytes: u64, fct: Option<u64>, ideal: u64) -> FlowRecord {
        FlowRecord {
            id,
            traffic: "short".into(),
            source: "a".into(),
            destination: "b".into(),
            bytes: Some(bytes),
            delivered: bytes,
            start: Time::ZERO,
            end: fct.map(|fct| Time::ZERO + Span::from_nanos(fct)),
            deadline: None,
            ideal: Some(Span::from_nanos(ideal)),
            retransmissions: 0,
            timeouts: 0,
            marks: 0,
            subflows: 1,
            paths: "0".into(),
            switched: None,
            stall: None,
            resets: 0,
            waits: None,
        }
    }

    fn grid() -> Grid {
        let cell = |index, policy: &str| Cell { index, policy: policy.into(), sweep: SweepPoint::new() };
        Grid::new(&[cell(0, "tcp"), cell(1, "lanes")], 10)
    }

    fn gathered(flows: impl IntoIterator<Item = (u32, FlowRecord)>) -> (Vec<Cdf>, Vec<Slowdown>) {
        let (grid, mut traffics) = (grid(), Traffics::default());
        let mut all = Flows::new(&grid, 1);
        for (cell, flow) in flows {
            all.add(Job { cell, repeat: 0 }, &flow, &grid, &mut traffics);
        }
        all.finish(&grid)
    }

    #[test]
    fn sizes_are_binned_by_half_decades() {
        let edges = [0, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
        for (place, edge) in edges.into_iter().enumerate() {
            assert_eq!((bin(edge), bin_start(place as u32)), (place as u32, edge));
            if edge > 0 {
                assert_eq!(bin(edge - 1), place as u32 - 1, "{edge}");
            }
        }
        assert!(bin_start(bin(u64::MAX)) < u64::MAX && bin_start(bin(u64::MAX) + 1) == u64::MAX);
    }

    /// 1,000 flows with slowdowns 1 … 1000: numpy.percentile(arange(1, 1001), [50, 95, 99, 99.9]) is
    /// 500.5, 950.05, 990.01, 999.001 by h = (n − 1)q.
    #[test]
    fn slowdown_has_the_percentiles_that_its_flows_are_enough_for() {
        let flows = (1..=1000).map(|i| (0, flow(i, 70_000, Some(i * 1000), 1000)));
        let (cdf, slowdown) = gathered(flows.chain([(1, flow(0, 500, Some(3000), 1000))]));
        let [tcp, lanes] = &slowdown[..] else { panic!("{slowdown:?}") };
        let bin = &tcp.bins[0];
        assert_eq!((bin.from, bin.to, bin.n, tcp.bins.len()), (30_000, 100_000, 1000, 1));
        let values = [bin.p50, bin.p95, bin.p99, bin.p999].map(|value| value.unwrap().get());
        assert_eq!(values, [500.5, 950.05, 990.01, 999.001]);
        let bin = &lanes.bins[0];
        assert_eq!((bin.n, bin.p50.map(Number::get), bin.p95, bin.p99), (1, Some(3.0), None, None));
        assert_eq!((cdf[0].n, cdf[0].policy, cdf[1].policy), (1000, 0, 1));
        assert_eq!((cdf[1].x[0].get(), cdf[1].y[0].get()), (3000.0, 1.0));
    }

    #[test]
    fn unfinished_flows_hold_the_curve_below_one() {
        let (cdf, slowdown) = gathered([(0, flow(0, 70_000, Some(5), 5)), (0, flow(1, 70_000, None, 5))]);
        assert_eq!((cdf[0].n, cdf[0].unfinished), (2, 1));
        assert_eq!(cdf[0].y.last().unwrap().get(), 0.5);
        // h = 0.5 lies between a finished and an unfinished one
        assert_eq!((slowdown[0].bins[0].n, slowdown[0].bins[0].p50), (2, None));
    }

    #[test]
    fn flows_without_a_size_or_an_ideal_are_left_out_where_these_are_needed() {
        let endless = FlowRecord { bytes: None, ..flow(0, 1, None, 1) };
        let unknown = FlowRecord { ideal: None, ..flow(1, 1, Some(7), 1) };
        let (cdf, slowdown) = gathered([(0, endless), (0, unknown)]);
        assert_eq!((cdf.len(), cdf[0].n, slowdown.len()), (1, 1, 0));
    }
}
