//! `repeats.csv`: every metric of every traffic in every run, for differences that are taken repeat by repeat.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use crate::metric::{Metric, Scalar};
use crate::summary::{Row, invalid, io_error};

/// The numbers behind a [`Summary`](crate::Summary), one for each repeat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repeats {
    /// Names of the swept parameters.
    pub(crate) sweep: Vec<String>,
    /// What is there of each run and traffic.
    pub(crate) metrics: Vec<Metric>,
    /// By cell, repeat, traffic, in that order.
    pub(crate) runs: Vec<TrafficOfRun>,
}

/// The values of one traffic in one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrafficOfRun {
    pub policy: String,
    /// Texts of the swept parameters.
    pub sweep: Vec<String>,
    pub repeat: u32,
    pub traffic: String,
    /// As many as there are metrics.
    pub values: Vec<Scalar>,
}

/// What a row of the summary is of: policy, sweep, traffic.
type Key<'a> = (&'a str, Vec<&'a str>, &'a str);

/// [`Repeats`], for looking up.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    metrics: &'a [Metric],
    runs: BTreeMap<Key<'a>, Vec<&'a TrafficOfRun>>,
}

impl Index<'_> {
    /// The values of `row` by repeat, of those that have one.
    pub fn values(&self, row: &Row) -> BTreeMap<u32, f64> {
        let texts = row.sweep.iter().map(|(_, value)| value.text.as_str()).collect();
        let runs = self.runs.get(&(row.policy.as_str(), texts, row.traffic.as_str()));
        let place = self.metrics.iter().position(|metric| *metric == row.metric);
        let (Some(runs), Some(place)) = (runs, place) else { return BTreeMap::new() };
        let value = |run: &&TrafficOfRun| match run.values[place] {
            Scalar::Value(value) => Some((run.repeat, value)),
            Scalar::Censored | Scalar::Missing => None,
        };
        runs.iter().filter_map(value).collect()
    }
}

const SWEEP: &str = "sweep_";
const BEFORE: &str = "policy";
const AFTER: [&str; 2] = ["repeat", "traffic"];

impl Repeats {
    pub(crate) fn index(&self) -> Index<'_> {
        let mut runs: BTreeMap<Key<'_>, Vec<&TrafficOfRun>> = BTreeMap::new();
        for run in &self.runs {
            let texts = run.sweep.iter().map(String::as_str).collect();
            runs.entry((run.policy.as_str(), texts, run.traffic.as_str())).or_default().push(run);
        }
        Index { metrics: &self.metrics, runs }
    }

    /// Writes the table: `policy`, one `sweep_<name>` for each parameter, `repeat`, `traffic`, and a column for each
    /// metric, in the unit of [`Metric::unit`]. A field is empty where there is nothing to take the metric over, and
    /// `inf` where it falls among unfinished flows. Numbers read back exactly.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        let header = std::iter::once(BEFORE.to_owned())
            .chain(self.sweep.iter().map(|name| format!("{SWEEP}{name}")))
            .chain(AFTER.map(str::to_owned))
            .chain(self.metrics.iter().map(ToString::to_string));
        csv.write_record(header).map_err(io_error)?;
        let field = |scalar: &Scalar| match scalar {
            Scalar::Value(value) => value.to_string(),
            Scalar::Censored => f64::INFINITY.to_string(),
            Scalar::Missing => String::new(),
        };
        for run in &self.runs {
            let record = std::iter::once(run.policy.clone())
                .chain(run.sweep.iter().cloned())
                .chain([run.repeat.to_string(), run.traffic.clone()])
                .chain(run.values.iter().map(field));
            csv.write_record(record).map_err(io_error)?;
        }
        csv.flush()
    }

    /// Reads what [`Repeats::write`] wrote.
    ///
    /// # Errors
    /// What the reader says; or, with the line, what does not fit.
    pub fn read<R: Read>(reader: R) -> std::io::Result<Repeats> {
        let mut csv = csv::Reader::from_reader(reader);
        let header = csv.headers().map_err(io_error)?.clone();
        let wrong = || invalid("line 1 has not the columns of a table of repeats".to_owned());
        let names = header.iter().skip(1).map_while(|column| column.strip_prefix(SWEEP));
        let sweep: Vec<String> = names.map(str::to_owned).collect();
        let mut rest = header.iter().skip(1 + sweep.len());
        if header.get(0) != Some(BEFORE) || !rest.by_ref().take(AFTER.len()).eq(AFTER) {
            return Err(wrong());
        }
        let metrics: Vec<Metric> = rest.map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let mut runs = Vec::new();
        for record in csv.records() {
            let record = record.map_err(io_error)?;
            let line = record.position().map_or(0, csv::Position::line);
            runs.push(read_run(&record, sweep.len()).map_err(|reason| invalid(format!("line {line}: {reason}")))?);
        }
        Ok(Repeats { sweep, metrics, runs })
    }
}

/// A record that has as many fields as the header, which `csv` has checked.
fn read_run(record: &csv::StringRecord, sweep: usize) -> Result<TrafficOfRun, String> {
    let mut fields = record.iter().map(str::to_owned);
    let mut next = || fields.next().unwrap_or_default();
    let policy = next();
    let sweep = (0..sweep).map(|_| next()).collect();
    let (repeat, traffic) = (next(), next());
    let repeat = repeat.parse().map_err(|_| format!("`{repeat}` is not the number of a repeat"))?;
    let value = |text: String| match (text.as_str(), text.parse::<f64>()) {
        ("", _) => Ok(Scalar::Missing),
        (_, Ok(f64::INFINITY)) => Ok(Scalar::Censored),
        (_, Ok(value)) if value.is_finite() => Ok(Scalar::Value(value)),
        _ => Err(format!("`{text}` is not a number")),
    };
    let values = fields.map(value).collect::<Result<_, _>>()?;
    Ok(TrafficOfRun { policy, sweep, repeat, traffic, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SweepPoint;
    use crate::stats::Estimate;

    fn repeats() -> Repeats {
        let run = |repeat, values: [Scalar; 2]| TrafficOfRun {
            policy: "tcp".into(),
            sweep: vec!["200KB".into()],
            repeat,
            traffic: "a,b".into(),
            values: values.to_vec(),
        };
        let metrics = vec!["fct.p99".parse().unwrap(), Metric::Timeouts];
        let runs = vec![
            run(0, [Scalar::Value(0.1 + 0.2), Scalar::Value(3.0)]),
            run(1, [Scalar::Censored, Scalar::Missing]),
            run(12, [Scalar::Value(1e-9), Scalar::Value(0.0)]),
        ];
        Repeats { sweep: vec!["buffer".into()], metrics, runs }
    }

    #[test]
    fn the_table_reads_back_exactly() {
        let mut text = Vec::new();
        repeats().write(&mut text).unwrap();
        assert_eq!(Repeats::read(text.as_slice()).unwrap(), repeats());
        let text = String::from_utf8(text).unwrap();
        let expected = "policy,sweep_buffer,repeat,traffic,fct.p99,timeouts\n\
                        tcp,200KB,0,\"a,b\",0.30000000000000004,3\n\
                        tcp,200KB,1,\"a,b\",inf,\n\
                        tcp,200KB,12,\"a,b\",0.000000001,0\n";
        assert_eq!(text, expected);
        let empty = Repeats::default();
        let mut text = Vec::new();
        empty.write(&mut text).unwrap();
        assert_eq!(Repeats::read(text.as_slice()).unwrap(), empty);
    }

    #[test]
    fn values_are_found_by_their_row() {
        let (repeats, estimate) = (repeats(), Estimate::default());
        let row = |buffer: &str, metric: &str| Row {
            policy: "tcp".into(),
            sweep: SweepPoint::new().with("buffer", buffer),
            traffic: "a,b".into(),
            metric: metric.parse().unwrap(),
            estimate,
        };
        let index = repeats.index();
        assert_eq!(index.values(&row("200KB", "timeouts")), BTreeMap::from([(0, 3.0), (12, 0.0)]));
        assert_eq!(index.values(&row("4MB", "timeouts")), BTreeMap::new());
        assert_eq!(index.values(&row("200KB", "fct.mean")), BTreeMap::new());
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_line() {
        for (text, reason) in [
            ("", "line 1 has not the columns"),
            ("policy,repeat\n", "line 1 has not the columns"),
            ("policy,repeat,traffic,fct.p999999\n", "line 1 has not the columns"),
            ("policy,repeat,traffic,timeouts\ntcp,-1,a,3\n", "line 2: `-1` is not the number of a repeat"),
            ("policy,repeat,traffic,timeouts\ntcp,1,a,NaN\n", "line 2: `NaN` is not a number"),
            ("policy,repeat,traffic,timeouts\ntcp,1,a\n", "line 2 has 3 fields, expected 4"),
        ] {
            let error = Repeats::read(text.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with(reason), "{text:?}: {error}");
        }
    }
}
