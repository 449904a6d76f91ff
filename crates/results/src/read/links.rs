//! `links.parquet`.

use headway_units::Time;

use super::columns::{Kind, Table, Wanted};
use super::rows::Rows;
use crate::error::Error;
use crate::film::{LinkRecord, LinkStep};
use crate::record::Job;

/// The links of a finished folder step by step, each row with its run; see [`crate::Finished::links`]. Ends after the
/// first error.
pub struct LinkReader(Rows);

impl LinkReader {
    pub(super) fn new(rows: Rows) -> LinkReader {
        LinkReader(rows)
    }
}

/// Those behind the run's, in the order in which [`record`] takes them.
pub(super) fn wanted() -> Vec<Wanted> {
    vec![
        Wanted::new("time_ps", Kind::U64),
        Wanted::new("link", Kind::Text),
        Wanted::new("sent_bytes", Kind::U64),
        Wanted::new("queue_bytes", Kind::U64),
        Wanted::new("drops", Kind::U32),
        Wanted::new("flows", Kind::U32),
    ]
}

fn record(row: &mut Table) -> Result<LinkRecord, Error> {
    let time = Time::from_picos(row.u64()?);
    let link = row.text()?;
    let step = LinkStep { sent: row.u64()?, queue: row.u64()?, drops: row.u32()?, flows: row.u32()? };
    Ok(LinkRecord { time, link, step })
}

impl Iterator for LinkReader {
    type Item = Result<(Job, LinkRecord), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(record)
    }
}
