//! `summary.csv`: every metric of every traffic in every cell, with its confidence interval.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use crate::metric::{Metric, Percentile, Scalar, Statistic, Subject, is_of};
use crate::record::{Cell, Job, Outcome, SweepPoint};
use crate::repeats::{Repeats, TrafficOfRun};
use crate::stats::Estimate;

/// One metric of one traffic in one cell, over the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The policy's name.
    pub policy: String,
    /// The point of the sweep.
    pub sweep: SweepPoint,
    /// The traffic's name.
    pub traffic: String,
    /// What was asked; its unit is [`Metric::unit`].
    pub metric: Metric,
    /// The mean over the repeats that gave a value, with its interval.
    pub estimate: Estimate,
}

/// The contents of `summary.csv`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Names of the swept parameters, the same in all rows.
    pub sweep: Vec<String>,
    /// The rows, ordered by cell, then traffic, then metric.
    pub rows: Vec<Row>,
}

/// Gathers a [`Summary`] from outcomes in any order.
///
/// It keeps some numbers for each run, not the run. A row appears if some repeat gave a value; if in some
/// repeat a percentile fell among unfinished flows, the row appears without one.
#[derive(Debug, Clone)]
pub struct SummaryBuilder {
    cells: Vec<Cell>,
    traffics: Vec<String>,
    /// Of every traffic.
    metrics: Vec<Metric>,
    /// Traffics that have [`Metric::Rate`], too.
    rated: Vec<String>,
    /// p99.9 FCT is left out of runs with few flows.
    only_enough: bool,
    /// By run, hence in the files' order: for each traffic its metrics, and its rate if it has one.
    scalars: BTreeMap<Job, Vec<Scalar>>,
}

impl SummaryBuilder {
    /// For the manifest's `cells` and the `traffics` in the order the rows shall have.
    pub fn new<T: Into<String>>(cells: &[Cell], traffics: impl IntoIterator<Item = T>) -> SummaryBuilder {
        SummaryBuilder { only_enough: true, ..SummaryBuilder::of(cells, traffics, &Metric::SUMMARY) }
    }

    /// As [`SummaryBuilder::new`], of these `metrics` in place of [`Metric::SUMMARY`], whatever the number of flows.
    pub fn of<T: Into<String>>(
        cells: &[Cell],
        traffics: impl IntoIterator<Item = T>,
        metrics: &[Metric],
    ) -> SummaryBuilder {
        let traffics = traffics.into_iter().map(Into::into).collect();
        let (cells, metrics) = (cells.to_vec(), metrics.to_vec());
        SummaryBuilder { cells, traffics, metrics, rated: Vec::new(), only_enough: false, scalars: BTreeMap::new() }
    }

    /// The rows of all traffics have these metrics, too, behind the others.
    pub fn with(mut self, metrics: &[Metric]) -> SummaryBuilder {
        self.metrics.extend(metrics);
        self
    }

    /// The rows of these traffics have [`Metric::Rate`], too, behind the others.
    pub fn with_rates<T: Into<String>>(self, traffics: impl IntoIterator<Item = T>) -> SummaryBuilder {
        SummaryBuilder { rated: traffics.into_iter().map(Into::into).collect(), ..self }
    }

    /// The metrics of every traffic, in the rows' order.
    fn asked(&self) -> impl Iterator<Item = (&String, Metric)> {
        self.traffics.iter().flat_map(|traffic| {
            let rate = self.rated.contains(traffic).then_some(Metric::Rate);
            self.metrics.iter().copied().chain(rate).map(move |metric| (traffic, metric))
        })
    }

    /// Takes in one run. Adding it again changes nothing.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn add(&mut self, outcome: &Outcome) {
        assert!((outcome.job.cell as usize) < self.cells.len(), "no cell {}", outcome.job.cell);
        let of = |(traffic, metric): (&String, Metric)| {
            if self.only_enough && !is_enough(outcome, traffic, metric) {
                return Scalar::Missing;
            }
            metric.scalar_of(outcome, &Subject { traffic, ..Subject::default() })
        };
        let scalars = self.asked().map(of).collect();
        self.scalars.insert(outcome.job, scalars);
    }

    /// The summary of what was added; cells of which nothing was added have no rows.
    pub fn build(&self) -> Summary {
        let sweep = self.cells.first().map(|cell| cell.sweep.names().map(str::to_owned).collect()).unwrap_or_default();
        let mut rows = Vec::new();
        for cell in &self.cells {
            let runs = Job { cell: cell.index, repeat: 0 }..=Job { cell: cell.index, repeat: u32::MAX };
            let repeats: Vec<&[Scalar]> = self.scalars.range(runs).map(|(_, scalars)| scalars.as_slice()).collect();
            for (place, (traffic, metric)) in self.asked().enumerate() {
                let of_repeats = repeats.iter().map(|scalars| scalars[place]);
                let Some(estimate) = estimate(metric, of_repeats) else { continue };
                let (policy, sweep) = (cell.policy.clone(), cell.sweep.clone());
                rows.push(Row { policy, sweep, traffic: traffic.clone(), metric, estimate });
            }
        }
        Summary { sweep, rows }
    }

    /// The numbers behind the summary, one for each repeat.
    pub fn repeats(&self) -> Repeats {
        let sweep = self.cells.first().map(|cell| cell.sweep.names().map(str::to_owned).collect()).unwrap_or_default();
        let asked: Vec<(&String, Metric)> = self.asked().collect();
        let mut metrics: Vec<Metric> = Vec::new();
        for (_, metric) in &asked {
            if !metrics.contains(metric) {
                metrics.push(*metric);
            }
        }
        let mut runs = Vec::new();
        for (job, scalars) in &self.scalars {
            let cell = &self.cells[job.cell as usize];
            let texts: Vec<String> = cell.sweep.iter().map(|(_, value)| value.text.clone()).collect();
            for traffic in &self.traffics {
                let of = |metric: &Metric| {
                    let place = asked.iter().position(|one| *one == (traffic, *metric));
                    place.map_or(Scalar::Missing, |place| scalars[place])
                };
                runs.push(TrafficOfRun {
                    policy: cell.policy.clone(),
                    sweep: texts.clone(),
                    repeat: job.repeat,
                    traffic: traffic.clone(),
                    values: metrics.iter().map(of).collect(),
                });
            }
        }
        Repeats { sweep, metrics, runs }
    }
}

/// Whether the run has flows enough for p99.9; the other percentiles of a summary are always there.
fn is_enough(outcome: &Outcome, traffic: &str, metric: Metric) -> bool {
    let rare = Percentile::P999;
    if metric != Metric::Fct(Statistic::Percentile(rare)) {
        return true;
    }
    let sized = outcome.flows.iter().filter(|flow| flow.bytes.is_some() && is_of(&flow.traffic, traffic));
    sized.take(rare.enough()).count() == rare.enough()
}

/// `None` if no repeat says anything.
fn estimate(metric: Metric, scalars: impl Iterator<Item = Scalar>) -> Option<Estimate> {
    let (mut values, mut censored) = (Vec::new(), false);
    for scalar in scalars {
        match scalar {
            Scalar::Value(value) => values.push(value),
            Scalar::Censored => censored = true,
            Scalar::Missing => {}
        }
    }
    if censored {
        // The mean of the others would be smaller than the truth by an unknown amount.
        return Some(Estimate { n: values.len(), ..Estimate::default() });
    }
    (!values.is_empty()).then(|| Estimate::within(metric.support(), &values))
}

const AFTER_SWEEP: [&str; 7] = ["traffic", "metric", "unit", "value", "ci95_low", "ci95_high", "repeats"];

impl Summary {
    /// Writes the table: `policy`, one `sweep_<name>` for each parameter, `traffic`, `metric`, `unit`,
    /// `value`, `ci95_low`, `ci95_high` (empty where there is none), `repeats` (that gave a value). Numbers
    /// are in the unit of their row and read back exactly.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        let sweep = self.sweep.iter().map(|name| format!("sweep_{name}"));
        csv.write_record(std::iter::once("policy".to_owned()).chain(sweep).chain(AFTER_SWEEP.map(str::to_owned)))
            .map_err(io_error)?;
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        for row in &self.rows {
            let text = |name: &String| row.sweep.get(name).map(|value| value.text.clone()).unwrap_or_default();
            let estimate = row.estimate;
            let after = [
                row.traffic.clone(),
                row.metric.to_string(),
                row.metric.unit().to_owned(),
                number(estimate.value),
                number(estimate.low),
                number(estimate.high),
                estimate.n.to_string(),
            ];
            let record = std::iter::once(row.policy.clone()).chain(self.sweep.iter().map(text)).chain(after);
            csv.write_record(record).map_err(io_error)?;
        }
        csv.flush()
    }

    /// Reads what [`Summary::write`] wrote. Values of the sweep are read as text only.
    ///
    /// # Errors
    /// What the reader says; or, with the line, what does not fit.
    pub fn read<R: Read>(reader: R) -> std::io::Result<Summary> {
        let mut csv = csv::Reader::from_reader(reader);
        let header = csv.headers().map_err(io_error)?.clone();
        let names: Option<Vec<String>> = header
            .iter()
            .take(header.len().saturating_sub(AFTER_SWEEP.len()))
            .skip(1)
            .map(|column| column.strip_prefix("sweep_").map(str::to_owned))
            .collect();
        let sweep = names.unwrap_or_default();
        let distinct = sweep.iter().collect::<std::collections::BTreeSet<_>>().len() == sweep.len();
        let expected = 1 + sweep.len() + AFTER_SWEEP.len();
        let after = header.iter().skip(1 + sweep.len());
        if header.get(0) != Some("policy") || header.len() != expected || !distinct || !after.eq(AFTER_SWEEP) {
            return Err(invalid("line 1 has not the columns of a summary".to_owned()));
        }
        let mut rows = Vec::new();
        for record in csv.records() {
            let record = record.map_err(io_error)?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(read_row(&record, &sweep).map_err(|reason| invalid(format!("line {line}: {reason}")))?);
        }
        Ok(Summary { sweep, rows })
    }

    /// Puts the numbers back that [`Summary::read`] cannot know.
    pub(crate) fn restore_numbers(&mut self, cells: &[Cell]) {
        let of_cells: BTreeMap<_, _> = cells.iter().map(|cell| (cell.sweep.texts(), &cell.sweep)).collect();
        for row in &mut self.rows {
            if let Some(sweep) = of_cells.get(&row.sweep.texts()) {
                row.sweep = (*sweep).clone();
            }
        }
    }
}

/// A row from a record that has as many fields as the header, which `csv` has checked.
fn read_row(record: &csv::StringRecord, names: &[String]) -> Result<Row, String> {
    let sweep = names.iter().zip(record.iter().skip(1)).fold(SweepPoint::new(), |s, (name, value)| s.with(name, value));
    let field = |place: usize| record.get(1 + names.len() + place).unwrap_or_default();
    let number = |place: usize| match field(place) {
        "" => Ok(None),
        text => text.parse::<f64>().map(Some).map_err(|_| format!("`{text}` is not a number")),
    };
    let metric: Metric = field(1).parse().map_err(|error: crate::UnknownMetric| error.to_string())?;
    if field(2) != metric.unit() {
        return Err(format!("{metric} is in `{}`, expected `{}`", field(2), metric.unit()));
    }
    let n = field(6).parse().map_err(|_| format!("`{}` is not a number of repeats", field(6)))?;
    let estimate = Estimate { value: number(3)?, low: number(4)?, high: number(5)?, n };
    let (policy, traffic) = (record.get(0).unwrap_or_default().to_owned(), field(0).to_owned());
    Ok(Row { policy, sweep, traffic, metric, estimate })
}

/// The I/O error inside, so that a full disk is still known as such.
pub(crate) fn io_error(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        csv::ErrorKind::Utf8 { pos, err } => {
            invalid(format!("line {}: {err}", pos.as_ref().map_or(0, csv::Position::line)))
        }
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            invalid(format!("line {line} has {len} fields, expected {expected_len}"))
        }
        other => invalid(format!("{other:?}")),
    }
}

pub(crate) fn invalid(reason: String) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, reason)
}

/// The same row of two summaries.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The row of the first; its policy, sweep, traffic and metric are those of the second, too.
    pub a: Row,
    /// The estimate of the second.
    pub b: Estimate,
}

impl Pair {
    /// How much larger the second is, in per cent of the first; `None` if one has no value or the first is 0.
    pub fn change(&self) -> Option<f64> {
        let (a, b) = (self.a.estimate.value?, self.b.value?);
        (a != 0.0).then(|| (b - a) / a.abs() * 100.0)
    }

    /// Whether the confidence intervals share a point; `None` if one has none. If they do not, the two
    /// differ; if they do, they may still.
    pub fn overlap(&self) -> Option<bool> {
        self.a.estimate.overlaps(&self.b)
    }
}

/// Two summaries side by side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The rows that both have, in the first's order.
    pub both: Vec<Pair>,
    /// The rows that only the first has.
    pub only_a: Vec<Row>,
    /// The rows that only the second has.
    pub only_b: Vec<Row>,
}

/// Matches rows by policy, sweep (names and texts), traffic and metric.
pub fn compare(a: &Summary, b: &Summary) -> Comparison {
    fn key(row: &Row) -> (&str, Vec<(&str, &str)>, &str, Metric) {
        (&row.policy, row.sweep.texts(), &row.traffic, row.metric)
    }
    let of_a: BTreeMap<_, _> = a.rows.iter().map(|row| (key(row), row)).collect();
    let of_b: BTreeMap<_, _> = b.rows.iter().map(|row| (key(row), row)).collect();
    let mut comparison = Comparison::default();
    for row in &a.rows {
        match of_b.get(&key(row)) {
            Some(other) => comparison.both.push(Pair { a: row.clone(), b: other.estimate }),
            None => comparison.only_a.push(row.clone()),
        }
    }
    comparison.only_b = b.rows.iter().filter(|row| !of_a.contains_key(&key(row))).cloned().collect();
    comparison
}

#[cfg(test)]
mod tests;
