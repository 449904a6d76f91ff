//! `flows.parquet` and `series.parquet` of a capture.

use std::path::Path;

use headway_results::{Column, Error, ParquetFile};

use crate::analysis::{ConnectionRecord, Report};
use crate::flow::Class;
use crate::track::{Begin, Side};

/// One row for each TCP connection (each subflow of MPTCP), in order of their ends. docs/traffic-analysis.md has the
/// columns.
pub struct ConnectionTable(ParquetFile);

/// Columns of a side: what it sent.
fn side_columns(of: &str) -> [Column; 14] {
    let name = |what: &str| format!("{of}_{what}");
    [
        Column::u64(&name("bytes")),
        Column::u64(&name("unseen_bytes")),
        Column::u64(&name("packets")),
        Column::u32(&name("retransmissions")),
        Column::u64(&name("retransmitted_bytes")),
        Column::u32(&name("out_of_order")),
        Column::u32(&name("duplicates")),
        Column::maybe_u64(&name("first_data_ns")),
        Column::maybe_u64(&name("last_data_ns")),
        Column::maybe_u64(&name("rtt_min_ns")),
        Column::maybe_u64(&name("rtt_mean_ns")),
        Column::maybe_u64(&name("incast_degree")),
        Column::u32(&name("syn_retransmissions")),
        Column::u32(&name("fin_retransmissions")),
    ]
}

impl ConnectionTable {
    /// A file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be made.
    pub fn create(path: &Path) -> Result<ConnectionTable, Error> {
        let mut columns = vec![
            Column::u64("connection"),
            Column::maybe_u64("mptcp_connection"),
            Column::text("initiator"),
            Column::u32("initiator_port"),
            Column::text("responder"),
            Column::u32("responder_port"),
            Column::text("begin"),
            Column::text("end"),
            Column::u64("first_ns"),
            Column::u64("last_ns"),
            Column::maybe_u64("handshake_rtt_ns"),
        ];
        columns.extend(side_columns("initiator"));
        columns.extend(side_columns("responder"));
        ParquetFile::create(path, columns).map(ConnectionTable)
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn add(&mut self, record: &ConnectionRecord) -> Result<(), Error> {
        self.0.row(|row| {
            row.u64(record.number);
            row.maybe_u64(record.mptcp);
            for (address, port) in [record.initiator, record.responder] {
                row.str(&address.to_string());
                row.u32(u32::from(port));
            }
            row.str(match record.begin {
                Begin::Handshake => "handshake",
                Begin::Open => "open",
            });
            row.str(record.end.name());
            row.u64(record.first);
            row.u64(record.last);
            row.maybe_u64(record.handshake);
            for side in &record.sides {
                let Side { bytes, unseen, packets, retransmissions, retransmitted, .. } = *side;
                row.u64(bytes);
                row.u64(unseen);
                row.u64(packets);
                row.u32(retransmissions);
                row.u64(retransmitted);
                row.u32(side.out_of_order);
                row.u32(side.duplicates);
                let sent = side.first_data > 0;
                row.maybe_u64(sent.then_some(side.first_data));
                row.maybe_u64(sent.then_some(side.last_data));
                row.maybe_u64((side.rtt_count > 0).then_some(side.rtt_least));
                row.maybe_u64(side.rtt_sum.checked_div(u64::from(side.rtt_count)));
                row.maybe_u64((side.degree > 0).then_some(u64::from(side.degree)));
                row.u32(u32::from(side.syns_again));
                row.u32(u32::from(side.fins_again));
            }
        })
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        self.0.finish()
    }
}

/// One row for each interval.
pub struct SeriesTable;

impl SeriesTable {
    /// Writes the series of `report` to a file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn write(path: &Path, report: &Report) -> Result<(), Error> {
        let mut columns = vec![
            Column::u64("time_ns"),
            Column::u64("interval_ns"),
            Column::u64("connections"),
            Column::u64("opened"),
            Column::u64("closed"),
            Column::u64("packets"),
            Column::u64("wire_bytes"),
        ];
        columns.extend(Class::ALL.map(|class| Column::u64(&format!("{}_starts", class.name()))));
        let mut file = ParquetFile::create(path, columns)?;
        for (time, open, interval) in report.series.intervals() {
            file.row(|row| {
                row.u64(time);
                row.u64(report.series.length());
                row.u64(open);
                row.u64(interval.opened);
                row.u64(interval.closed);
                row.u64(interval.packets);
                row.u64(interval.bytes);
                interval.starts.iter().for_each(|&starts| row.u64(starts));
            })?;
        }
        file.finish()
    }
}

#[cfg(test)]
mod tests;
