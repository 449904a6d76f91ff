//! `flows.parquet`.

use headway_units::{Span, Time};

use super::columns::{Kind, Table, Wanted};
use super::rows::Rows;
use crate::error::Error;
use crate::record::{FlowRecord, Job};
use crate::waits::FlowWaits;

/// The flows of a finished folder, each with its run; see [`crate::Finished::flows`].
///
/// [`FlowRecord::resets`] is 0, for the file does not hold it. Ends after the first error.
pub struct FlowReader(Rows);

impl FlowReader {
    pub(super) fn new(rows: Rows) -> FlowReader {
        FlowReader(rows)
    }
}

/// Those behind the run's, in the order in which [`record`] takes them.
pub(super) fn wanted() -> Vec<Wanted> {
    vec![
        Wanted::new("flow", Kind::U64),
        Wanted::new("traffic", Kind::Text),
        Wanted::new("source", Kind::Text),
        Wanted::new("destination", Kind::Text),
        Wanted::new("bytes", Kind::U64),
        Wanted::new("delivered_bytes", Kind::U64),
        Wanted::new("start_ps", Kind::U64),
        Wanted::new("end_ps", Kind::U64),
        Wanted::new("ideal_ps", Kind::U64),
        Wanted::new("retransmissions", Kind::U32),
        Wanted::new("timeouts", Kind::U32),
        Wanted::new("ecn_marks", Kind::U32),
        Wanted::new("subflows", Kind::U32),
        Wanted::new("paths", Kind::Text),
        Wanted::new("switched_ps", Kind::U64).may_lack(),
        Wanted::new("deadline_ps", Kind::U64).may_lack(),
        Wanted::new("stall_ps", Kind::U64).may_lack(),
        Wanted::new("data_packets", Kind::U64).may_lack(),
        Wanted::new("host_wait_ps", Kind::U64).may_lack(),
        Wanted::new("switch_wait_ps", Kind::U64).may_lack(),
    ]
}

fn record(row: &mut Table) -> Result<FlowRecord, Error> {
    let flow = FlowRecord {
        id: row.u64()?,
        traffic: row.text()?,
        source: row.text()?,
        destination: row.text()?,
        bytes: row.maybe_u64()?,
        delivered: row.u64()?,
        start: Time::from_picos(row.u64()?),
        end: row.maybe_u64()?.map(Time::from_picos),
        ideal: row.maybe_u64()?.map(Span::from_picos),
        retransmissions: row.u32()?,
        timeouts: row.u32()?,
        marks: row.u32()?,
        subflows: row.u8()?,
        paths: row.text()?,
        switched: row.maybe_u64()?.map(Time::from_picos),
        deadline: row.maybe_u64()?.map(Span::from_picos),
        stall: row.maybe_u64()?.map(Span::from_picos),
        resets: 0,
        waits: waits(row)?,
    };
    if flow.end.is_some_and(|end| end < flow.start) {
        return Err(row.wrong("`end_ps` is before `start_ps`"));
    }
    Ok(flow)
}

/// How long packets waited: of three columns, of which a file has all or none.
fn waits(row: &mut Table) -> Result<Option<FlowWaits>, Error> {
    let [packets, hosts, switches] = [row.maybe_u64()?, row.maybe_u64()?, row.maybe_u64()?];
    let (Some(packets), Some(hosts), Some(switches)) = (packets, hosts, switches) else { return Ok(None) };
    Ok(Some(FlowWaits { packets, hosts: Span::from_picos(hosts), switches: Span::from_picos(switches) }))
}

impl Iterator for FlowReader {
    type Item = Result<(Job, FlowRecord), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(record)
    }
}
