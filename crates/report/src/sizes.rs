//! Slowdown by size of flow, as tables.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{
    Cell, Estimate, FlowRecord, Job, Metric, Percentile, Row, Statistic, Summary, SweepPoint, SweepValue,
};
use headway_units::Bytes;
use serde_json::{Value, json};

use crate::page::sizes::{SizeRow, Sizes};
use crate::summary::{Choice, tables};
use crate::{Layout, row_json};

/// The columns that name the rows beside those of the sweep, whose names have no blanks.
const SIZE: &str = "flow size";
const FLOWS: &str = "flow count";

/// Slowdown by size of flow: percentiles over the flows of all repeats together, with the sizes and the definitions of the
/// page. It is gathered from the flows of a folder, in its order.
#[derive(Debug)]
pub struct BySize {
    sizes: Sizes,
    choice: Choice,
    sweep: Vec<String>,
}

impl BySize {
    /// The metrics that there are by size.
    pub const METRICS: [Metric; 4] = [
        slowdown(Percentile::whole(50)),
        slowdown(Percentile::whole(95)),
        slowdown(Percentile::whole(99)),
        slowdown(Percentile::P999),
    ];

    /// Of the traffics of `summary` and of `cells`, as far as `choice` asks for them.
    pub fn new(cells: &[Cell], summary: &Summary, choice: &Choice) -> BySize {
        let mut traffics: Vec<&str> = Vec::new();
        for row in &summary.rows {
            if !traffics.contains(&row.traffic.as_str()) {
                traffics.push(&row.traffic);
            }
        }
        BySize { sizes: Sizes::new(cells, traffics), choice: choice.clone(), sweep: summary.sweep.clone() }
    }

    /// Takes in a flow of `flows.parquet`, in the order of the file.
    pub fn add(&mut self, job: Job, flow: &FlowRecord) {
        self.sizes.add(job, flow);
    }

    /// The tables.
    pub fn tables(self, layout: Layout) -> String {
        let BySize { sizes, choice, sweep } = self;
        let rows = chosen(sizes, &choice);
        let mut traffics: Vec<&str> = Vec::new();
        for row in &rows {
            if !traffics.contains(&row.traffic.as_str()) {
                traffics.push(&row.traffic);
            }
        }
        let text = |traffic: &&str| {
            let own: Vec<&SizeRow> = rows.iter().filter(|row| row.traffic == *traffic).collect();
            of_traffic(&own, &sweep, &choice, layout)
        };
        let texts: Vec<String> = traffics.iter().map(text).collect();
        if texts.is_empty() { "no flows whose slowdown is known\n".to_owned() } else { texts.join("\n") }
    }

    /// For programs: a list of rows, each with `size_from_bytes`, `size_to_bytes` (the first that is too large), `flows`
    /// and the `p50`, `p95`, `p99` and `p99.9` of the slowdown.
    pub fn json(self) -> Value {
        let object = |row: SizeRow| {
            let estimate = Estimate::default();
            let (policy, sweep, traffic) = (row.policy, row.sweep, row.traffic);
            let mut all = row_json(&Row { policy, sweep, traffic, metric: Metric::Flows, estimate });
            let numbers = json!({
                "size_from_bytes": row.from,
                "size_to_bytes": row.to,
                "flows": row.flows,
                "p50": row.slowdown[0],
                "p95": row.slowdown[1],
                "p99": row.slowdown[2],
                "p99.9": row.slowdown[3],
            });
            if let (Value::Object(all), Value::Object(numbers)) = (&mut all, numbers) {
                all.retain(|key, _| ["policy", "sweep", "traffic"].contains(&key.as_str()));
                all.extend(numbers);
            }
            all
        };
        chosen(self.sizes, &self.choice).into_iter().map(object).collect()
    }
}

const fn slowdown(percentile: Percentile) -> Metric {
    Metric::Slowdown(Statistic::Percentile(percentile))
}

fn chosen(sizes: Sizes, choice: &Choice) -> Vec<SizeRow> {
    let mut rows = sizes.finish();
    rows.retain(|row| choice.has_traffic(&row.traffic) && choice.has_policy(&row.policy));
    rows
}

/// `10 to 30 KB`.
fn size(row: &SizeRow) -> String {
    if row.from == 0 {
        return format!("up to {}", Bytes::new(row.to));
    }
    format!("{} to {}", Bytes::new(row.from), Bytes::new(row.to))
}

/// The tables of one traffic: sizes are one more swept name, and so are flows, if all policies have as many.
fn of_traffic(rows: &[&SizeRow], sweep: &[String], choice: &Choice, layout: Layout) -> String {
    let mut flows: BTreeMap<(String, u64), BTreeSet<usize>> = BTreeMap::new();
    for row in rows {
        flows.entry((row.sweep.to_string(), row.from)).or_default().insert(row.flows);
    }
    let alike = flows.values().all(|counts| counts.len() == 1);
    let point = |row: &SizeRow| {
        let of = |point: SweepPoint, (name, value): (&str, &SweepValue)| point.with(name, value.clone());
        let point = row.sweep.iter().fold(SweepPoint::new(), of).with(SIZE, size(row).as_str());
        if alike { point.with(FLOWS, row.flows as i64) } else { point }
    };
    let mut rows: Vec<&SizeRow> = rows.to_vec();
    let mut points: Vec<String> = Vec::new();
    for row in &rows {
        let text = row.sweep.to_string();
        if !points.contains(&text) {
            points.push(text);
        }
    }
    // The first policy may have no flows of some size.
    rows.sort_by_key(|row| (points.iter().position(|own| *own == row.sweep.to_string()), row.from));
    let mut summary = Summary { sweep: sweep.to_vec(), rows: Vec::new() };
    summary.sweep.push(SIZE.to_owned());
    summary.sweep.extend(alike.then(|| FLOWS.to_owned()));
    let asked = |metric: &Metric| choice.metrics.is_empty() || choice.metrics.contains(metric);
    let rare = rows.iter().any(|row| row.slowdown[3].is_some());
    for row in &rows {
        let mut add = |metric: Metric, value: Option<f64>| {
            let estimate = Estimate { value, low: None, high: None, n: 1 };
            let (policy, traffic) = (row.policy.clone(), row.traffic.clone());
            summary.rows.push(Row { policy, sweep: point(row), traffic, metric, estimate });
        };
        if !alike {
            add(Metric::Flows, Some(row.flows as f64));
        }
        for (metric, value) in BySize::METRICS.into_iter().zip(row.slowdown) {
            if asked(&metric) && (rare || metric != BySize::METRICS[3]) {
                add(metric, value);
            }
        }
    }
    let metrics: Vec<Metric> = [Metric::Flows].into_iter().chain(BySize::METRICS).collect();
    let choice = Choice { metrics, ..Choice::default() };
    tables(&summary, &choice, Some("of all repeats"), layout)
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::*;

    fn flow(bytes: u64, slowdown: u64) -> FlowRecord {
        FlowRecord {
            id: 0,
            traffic: "search".into(),
            source: "a".into(),
            destination: "b".into(),
            bytes: Some(bytes),
            delivered: bytes,
            start: Time::ZERO,
            end: Some(Time::ZERO + Span::from_nanos(slowdown * 10)),
            deadline: None,
            ideal: Some(Span::from_nanos(10)),
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

    fn gathered(sweep: &SweepPoint, choice: &Choice) -> BySize {
        let cell = |index, policy: &str| Cell { index, policy: policy.into(), sweep: sweep.clone() };
        let cells = [cell(0, "tcp"), cell(1, "lanes")];
        let row = |cell: &Cell| Row {
            policy: cell.policy.clone(),
            sweep: sweep.clone(),
            traffic: "search".into(),
            metric: Metric::Flows,
            estimate: Estimate::default(),
        };
        let names = sweep.names().map(str::to_owned).collect();
        let mut all = BySize::new(&cells, &Summary { sweep: names, rows: cells.iter().map(row).collect() }, choice);
        for cell in [0, 1] {
            for slowdown in 1..=100 {
                all.add(Job { cell, repeat: 0 }, &flow(20_000, slowdown * (2 - u64::from(cell))));
            }
            all.add(Job { cell, repeat: 0 }, &flow(500, 7));
        }
        all
    }

    /// Slowdowns 1 … 100: numpy.percentile(arange(1, 101), [50, 95, 99]) is 50.5, 95.05, 99.01; twice that with TCP.
    #[test]
    fn sizes_are_rows_and_policies_are_columns() {
        let expected = "\
search: p99 slowdown, of all repeats
flow size     flow count  tcp  lanes
up to 1KB              1    –      –
10KB to 30KB         100  198   99.0
–  Too few flows (p95 is taken of 20 and more, p99 of 100, p99.9 of 1000), or
   among those that did not finish.
";
        let asked = Choice { metrics: vec![BySize::METRICS[2]], ..Choice::default() };
        let text = gathered(&SweepPoint::new(), &asked).tables(Layout { width: 80, colour: false });
        assert_eq!(text, expected, "\n{text}");
        let text = gathered(&SweepPoint::new().with("size", 1), &Choice::default()).tables(Layout::PLAIN);
        let titles: Vec<&str> = text.lines().filter(|line| line.contains("of all repeats")).collect();
        let expected = ["p50", "p95", "p99"].map(|p| format!("search (size=1): {p} slowdown, of all repeats"));
        assert_eq!(titles, expected, "\n{text}");
    }

    #[test]
    fn programs_get_bytes_and_numbers() {
        let one = Choice { policies: vec!["lanes".into()], ..Choice::default() };
        let json = gathered(&SweepPoint::new(), &one).json();
        assert_eq!(json.as_array().unwrap().len(), 2);
        let expected = json!({
            "policy": "lanes", "sweep": {}, "traffic": "search", "size_from_bytes": 10_000, "size_to_bytes": 30_000,
            "flows": 100, "p50": 50.5, "p95": 95.05, "p99": 99.01, "p99.9": null,
        });
        assert_eq!(json[1], expected);
    }
}
