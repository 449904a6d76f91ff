//! Slowdown by size of flow, as the page has it, in rows.

use headway_results::{Cell, FlowRecord, Job, SweepPoint};

use super::flows::Flows;
use super::grid::{Grid, Traffics};
use super::model::SlowdownBin;
use super::number::Number;

/// The flows of a traffic in a cell that have similar sizes, over all repeats.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SizeRow {
    pub policy: String,
    pub sweep: SweepPoint,
    pub traffic: String,
    /// The least size, B.
    pub from: u64,
    /// The first size that is too large, B.
    pub to: u64,
    /// Flows, unfinished ones among them.
    pub flows: usize,
    /// p50, p95, p99 and p99.9 of their slowdown; `None` of too few flows, and among unfinished ones.
    pub slowdown: [Option<f64>; 4],
}

/// Gathers slowdowns by size from the flows of a folder, in its order.
#[derive(Debug)]
pub(crate) struct Sizes {
    cells: Vec<Cell>,
    grid: Grid,
    traffics: Traffics,
    flows: Flows,
}

impl Sizes {
    /// Of `cells` and of `traffics`, with the parts that flows are reported as.
    pub fn new<'a>(cells: &[Cell], traffics: impl IntoIterator<Item = &'a str>) -> Sizes {
        let grid = Grid::new(cells, usize::MAX);
        let mut names = Traffics::default();
        for traffic in traffics {
            names.place(traffic);
        }
        let flows = Flows::new(&grid, names.names.len());
        Sizes { cells: cells.to_vec(), grid, traffics: names, flows }
    }

    pub fn add(&mut self, job: Job, flow: &FlowRecord) {
        self.flows.add(job, flow, &self.grid, &mut self.traffics);
    }

    /// The rows, by cell, then traffic, then size.
    pub fn finish(self) -> Vec<SizeRow> {
        let Sizes { cells, grid, traffics, flows } = self;
        let mut rows = Vec::new();
        for slowdown in flows.finish(&grid).1 {
            let is_own = |cell: &&Cell| grid.cell(cell.index) == Some((slowdown.policy, slowdown.point));
            let Some(cell) = cells.iter().find(is_own) else { continue };
            let value = |number: Option<Number>| number.map(Number::get);
            rows.extend(slowdown.bins.iter().map(|bin: &SlowdownBin| SizeRow {
                policy: cell.policy.clone(),
                sweep: cell.sweep.clone(),
                traffic: traffics.names[slowdown.traffic].clone(),
                from: bin.from,
                to: bin.to,
                flows: bin.n,
                slowdown: [bin.p50, bin.p95, bin.p99, bin.p999].map(value),
            }));
        }
        rows
    }
}
