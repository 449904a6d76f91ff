//! `series.parquet`.

use headway_units::Time;

use super::columns::{Kind, Table, Wanted};
use super::rows::Rows;
use crate::error::Error;
use crate::record::{Job, Sample};

/// The samples of a finished folder, each with its run; see [`crate::Finished::series`]. Ends after the first error.
pub struct SeriesReader(Rows);

impl SeriesReader {
    pub(super) fn new(rows: Rows) -> SeriesReader {
        SeriesReader(rows)
    }
}

/// Those behind the run's, in the order in which [`record`] takes them.
pub(super) fn wanted() -> Vec<Wanted> {
    vec![
        Wanted::new("time_ps", Kind::U64),
        Wanted::new("entity", Kind::Text),
        Wanted::new("metric", Kind::Text),
        Wanted::new("value", Kind::F64),
    ]
}

fn record(row: &mut Table) -> Result<Sample, Error> {
    let time = Time::from_picos(row.u64()?);
    Ok(Sample { time, entity: row.text()?, metric: row.text()?, value: row.f64()? })
}

impl Iterator for SeriesReader {
    type Item = Result<(Job, Sample), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(record)
    }
}
