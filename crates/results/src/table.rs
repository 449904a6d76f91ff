//! `flows.parquet`, `series.parquet`, `links.parquet` and `paths.parquet`: columns gathered in memory, written a row group at a time.
//!
//! Plain Parquet 1.0 with Snappy, which every reader knows. Strings are dictionary-encoded. Times are
//! unsigned picoseconds, as nanoseconds would lose some and floats would lose more; the unit is the last
//! part of a column's name. Nothing in the file depends on when, where or by how many threads it was made.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_units::{Span, Time};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::base_unit::in_base_units;
use crate::error::Error;
use crate::file;
use crate::film::Film;
use crate::record::{Cell, Job, Outcome};

/// Rows held in memory before they are written: some 15 MB of flows.
const GROUP_ROWS: usize = 1 << 17;

/// A fixed text, for equal contents shall be equal bytes. Readers know it as `application version …`.
const CREATED_BY: &str = "headway version 1.0.0";

/// The values of one column that are not written yet.
enum Values {
    Text(Vec<ByteArray>),
    /// Unsigned, as Parquet stores it: the bits of the signed.
    U64(Vec<i64>),
    /// With nulls: one level for each row (1 where there is a value) and the values there are.
    MaybeU64(Vec<i16>, Vec<i64>),
    U32(Vec<i32>),
    U8(Vec<i32>),
    F64(Vec<f64>),
    /// With nulls, as [`Values::MaybeU64`].
    MaybeF64(Vec<i16>, Vec<f64>),
}

/// A column of a [`ParquetFile`]: its name, which ends in the unit, and the kind of its values.
pub struct Column {
    name: String,
    values: Values,
}

impl Column {
    /// Of text.
    pub fn text(name: impl Into<String>) -> Column {
        Column { name: name.into(), values: Values::Text(Vec::new()) }
    }

    /// Of unsigned 64-bit numbers.
    pub fn u64(name: &str) -> Column {
        Column { name: name.into(), values: Values::U64(Vec::new()) }
    }

    /// Of unsigned 64-bit numbers, some of which are not there (null).
    pub fn maybe_u64(name: &str) -> Column {
        Column { name: name.into(), values: Values::MaybeU64(Vec::new(), Vec::new()) }
    }

    /// Of unsigned 32-bit numbers.
    pub fn u32(name: &str) -> Column {
        Column { name: name.into(), values: Values::U32(Vec::new()) }
    }

    fn u8(name: &str) -> Column {
        Column { name: name.into(), values: Values::U8(Vec::new()) }
    }

    /// Of floating-point numbers.
    pub fn f64(name: impl Into<String>) -> Column {
        Column { name: name.into(), values: Values::F64(Vec::new()) }
    }

    fn maybe_f64(name: impl Into<String>) -> Column {
        Column { name: name.into(), values: Values::MaybeF64(Vec::new(), Vec::new()) }
    }

    fn schema(&self) -> Result<Type> {
        let (physical, logical) = match self.values {
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::U64(_) | Values::MaybeU64(..) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Values::U32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Values::U8(_) => (Physical::INT32, Some(LogicalType::integer(8, false))),
            Values::F64(_) | Values::MaybeF64(..) => (Physical::DOUBLE, None),
        };
        let nullable = matches!(self.values, Values::MaybeU64(..) | Values::MaybeF64(..));
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .with_logical_type(logical)
            .build()
    }

    /// Writes the values as the group's next column and forgets them.
    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let mut column = group.next_column()?.expect("as many columns as in the schema");
        match &mut self.values {
            Values::Text(values) => {
                column.typed::<ByteArrayType>().write_batch(values, None, None)?;
                values.clear();
            }
            Values::U64(values) => {
                column.typed::<Int64Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Values::MaybeU64(levels, values) => {
                column.typed::<Int64Type>().write_batch(values, Some(levels), None)?;
                levels.clear();
                values.clear();
            }
            Values::U32(values) | Values::U8(values) => {
                column.typed::<Int32Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Values::F64(values) => {
                column.typed::<DoubleType>().write_batch(values, None, None)?;
                values.clear();
            }
            Values::MaybeF64(levels, values) => {
                column.typed::<DoubleType>().write_batch(values, Some(levels), None)?;
                levels.clear();
                values.clear();
            }
        }
        column.close()
    }
}

/// Fills one row, column by column in the order of the schema.
pub struct RowWriter<'a>(std::slice::IterMut<'a, Column>);

impl RowWriter<'_> {
    fn next(&mut self) -> &mut Values {
        &mut self.0.next().expect("no more values than columns").values
    }

    fn text(&mut self, text: &ByteArray) {
        match self.next() {
            Values::Text(values) => values.push(text.clone()),
            _ => unreachable!("not a column of text"),
        }
    }

    /// The next value, in a column of text.
    ///
    /// # Panics
    /// If the column is of another kind, as all of these.
    pub fn str(&mut self, text: &str) {
        self.text(&bytes(text));
    }

    /// The next value.
    ///
    /// # Panics
    /// If the column is of another kind.
    pub fn u64(&mut self, value: u64) {
        match self.next() {
            Values::U64(values) => values.push(value.cast_signed()),
            _ => unreachable!("not a column of u64"),
        }
    }

    /// The next value, or that there is none.
    ///
    /// # Panics
    /// If the column is of another kind.
    pub fn maybe_u64(&mut self, value: Option<u64>) {
        match self.next() {
            Values::MaybeU64(levels, values) => {
                levels.push(i16::from(value.is_some()));
                values.extend(value.map(u64::cast_signed));
            }
            _ => unreachable!("not a column of u64 with nulls"),
        }
    }

    /// The next value.
    ///
    /// # Panics
    /// If the column is of another kind.
    pub fn u32(&mut self, value: u32) {
        match self.next() {
            Values::U32(values) => values.push(value.cast_signed()),
            _ => unreachable!("not a column of u32"),
        }
    }

    fn u8(&mut self, value: u8) {
        match self.next() {
            Values::U8(values) => values.push(i32::from(value)),
            _ => unreachable!("not a column of u8"),
        }
    }

    /// The next value.
    ///
    /// # Panics
    /// If the column is of another kind.
    pub fn f64(&mut self, value: f64) {
        match self.next() {
            Values::F64(values) => values.push(value),
            _ => unreachable!("not a column of f64"),
        }
    }

    fn maybe_f64(&mut self, value: Option<f64>) {
        match self.next() {
            Values::MaybeF64(levels, values) => {
                levels.push(i16::from(value.is_some()));
                values.extend(value);
            }
            _ => unreachable!("not a column of f64 with nulls"),
        }
    }

    fn done(mut self) {
        assert!(self.0.next().is_none(), "fewer values than columns");
    }
}

/// A Parquet file that is being written.
struct Table<W: Write + Send> {
    columns: Vec<Column>,
    rows: usize,
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> Table<W> {
    fn new(writer: W, columns: Vec<Column>) -> Result<Table<W>> {
        let fields = columns.iter().map(|column| column.schema().map(Arc::new)).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(CREATED_BY.to_owned())
            .build();
        let file = SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))?;
        Ok(Table { columns, rows: 0, file })
    }

    fn row(&mut self, fill: impl FnOnce(&mut RowWriter<'_>)) -> Result<()> {
        let mut row = RowWriter(self.columns.iter_mut());
        fill(&mut row);
        row.done();
        self.rows += 1;
        if self.rows >= GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.close().map(drop)
    }
}

/// A Parquet file that is no part of a run's results. It has a temporary name until it is finished.
pub struct ParquetFile {
    table: Table<File>,
    path: PathBuf,
}

impl ParquetFile {
    /// A file at `path` with these columns.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be made.
    pub fn create(path: &Path, columns: Vec<Column>) -> std::result::Result<ParquetFile, Error> {
        let file = file::create(&file::temporary(path))?;
        let table = Table::new(file, columns).map_err(file::parquet(path))?;
        Ok(ParquetFile { table, path: path.to_path_buf() })
    }

    /// Adds a row: `fill` gives a value for every column, in their order.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    ///
    /// # Panics
    /// If there are fewer or more values than columns.
    pub fn row(&mut self, fill: impl FnOnce(&mut RowWriter<'_>)) -> std::result::Result<(), Error> {
        self.table.row(fill).map_err(file::parquet(&self.path))
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn finish(self) -> std::result::Result<(), Error> {
        self.table.finish().map_err(file::parquet(&self.path))?;
        file::rename(&self.path)
    }
}

/// A cell's own columns, made once for all its rows.
struct CellColumns {
    policy: ByteArray,
    sweep: Vec<CellValue>,
}

enum CellValue {
    Text(ByteArray),
    Number(f64),
    /// Of the text before it.
    Base(Option<f64>),
}

impl CellColumns {
    fn write(&self, row: &mut RowWriter<'_>, repeat: u32) {
        row.text(&self.policy);
        for value in &self.sweep {
            match value {
                CellValue::Text(text) => row.text(text),
                CellValue::Number(number) => row.f64(*number),
                CellValue::Base(number) => row.maybe_f64(*number),
            }
        }
        row.u32(repeat);
    }
}

/// The number that each of the cells has for the parameter at `place`, if it is one in all of them.
pub(crate) fn numbers(cells: &[Cell], place: usize) -> Option<Vec<f64>> {
    cells.iter().map(|cell| cell.sweep.iter().nth(place).and_then(|(_, value)| value.number)).collect()
}

/// `policy`, one `sweep_<name>` for each parameter, `repeat`: what all tables start with. Behind texts of which some are
/// quantities stands `sweep_<name>_si`, with their numbers.
fn cell_columns(cells: &[Cell]) -> (Vec<Column>, Vec<CellColumns>) {
    let mut columns = vec![Column::text("policy")];
    let policy = |cell: &Cell| CellColumns { policy: bytes(&cell.policy), sweep: Vec::new() };
    let mut of_cells: Vec<CellColumns> = cells.iter().map(policy).collect();
    let names: Vec<&str> = cells.first().map(|cell| cell.sweep.names().collect()).unwrap_or_default();
    for (place, name) in names.into_iter().enumerate() {
        let name = format!("sweep_{name}");
        if let Some(numbers) = numbers(cells, place) {
            columns.push(Column::f64(name));
            for (of_cell, number) in of_cells.iter_mut().zip(numbers) {
                of_cell.sweep.push(CellValue::Number(number));
            }
        } else {
            let texts: Vec<&str> =
                cells.iter().map(|cell| cell.sweep.iter().nth(place).map_or("", |(_, value)| &value.text)).collect();
            columns.push(Column::text(&name));
            for (of_cell, text) in of_cells.iter_mut().zip(&texts) {
                of_cell.sweep.push(CellValue::Text(bytes(text)));
            }
            let Some(numbers) = in_base_units(&texts) else { continue };
            columns.push(Column::maybe_f64(name + "_si"));
            for (of_cell, number) in of_cells.iter_mut().zip(numbers) {
                of_cell.sweep.push(CellValue::Base(number));
            }
        }
    }
    columns.push(Column::u32("repeat"));
    (columns, of_cells)
}

fn bytes(text: &str) -> ByteArray {
    ByteArray::from(text)
}

/// `flows.parquet`: one row for each flow.
pub(crate) struct FlowTable<W: Write + Send> {
    table: Table<W>,
    cells: Vec<CellColumns>,
    /// It has columns of packets' waits.
    waits: bool,
}

impl<W: Write + Send> FlowTable<W> {
    /// With columns of packets' waits if these were measured, according to `waits`.
    pub(crate) fn new(writer: W, cells: &[Cell], waits: bool) -> Result<FlowTable<W>> {
        let (mut columns, cells) = cell_columns(cells);
        columns.extend([
            Column::u64("flow"),
            Column::text("traffic"),
            Column::text("source"),
            Column::text("destination"),
            Column::maybe_u64("bytes"),
            Column::u64("delivered_bytes"),
            Column::u64("start_ps"),
            Column::maybe_u64("end_ps"),
            Column::maybe_u64("fct_ps"),
            Column::maybe_u64("ideal_ps"),
            Column::u32("retransmissions"),
            Column::u32("timeouts"),
            Column::u32("ecn_marks"),
            Column::u8("subflows"),
            Column::text("paths"),
            Column::maybe_u64("switched_ps"),
            Column::maybe_u64("deadline_ps"),
            Column::maybe_u64("stall_ps"),
        ]);
        if waits {
            columns.extend(["data_packets", "host_wait_ps", "switch_wait_ps"].map(Column::maybe_u64));
        }
        Ok(FlowTable { table: Table::new(writer, columns)?, cells, waits })
    }

    /// Adds the flows of one run.
    pub(crate) fn add(&mut self, outcome: &Outcome) -> Result<()> {
        let cell = &self.cells[outcome.job.cell as usize];
        for flow in &outcome.flows {
            self.table.row(|row| {
                cell.write(row, outcome.job.repeat);
                row.u64(flow.id);
                row.text(&bytes(&flow.traffic));
                row.text(&bytes(&flow.source));
                row.text(&bytes(&flow.destination));
                row.maybe_u64(flow.bytes);
                row.u64(flow.delivered);
                row.u64(flow.start.picos());
                row.maybe_u64(flow.end.map(Time::picos));
                row.maybe_u64(flow.fct().map(Span::picos));
                row.maybe_u64(flow.ideal.map(Span::picos));
                row.u32(flow.retransmissions);
                row.u32(flow.timeouts);
                row.u32(flow.marks);
                row.u8(flow.subflows);
                row.text(&bytes(&flow.paths));
                row.maybe_u64(flow.switched.map(Time::picos));
                row.maybe_u64(flow.deadline.map(Span::picos));
                row.maybe_u64(flow.stall.map(Span::picos));
                if self.waits {
                    row.maybe_u64(flow.waits.map(|own| own.packets));
                    row.maybe_u64(flow.waits.map(|own| own.hosts.picos()));
                    row.maybe_u64(flow.waits.map(|own| own.switches.picos()));
                }
            })?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

/// `series.parquet`: one row for each sample.
pub(crate) struct SeriesTable<W: Write + Send> {
    table: Table<W>,
    cells: Vec<CellColumns>,
}

impl<W: Write + Send> SeriesTable<W> {
    pub(crate) fn new(writer: W, cells: &[Cell]) -> Result<SeriesTable<W>> {
        let (mut columns, cells) = cell_columns(cells);
        columns.extend([Column::u64("time_ps"), Column::text("entity"), Column::text("metric"), Column::f64("value")]);
        Ok(SeriesTable { table: Table::new(writer, columns)?, cells })
    }

    /// Adds the samples of one run.
    pub(crate) fn add(&mut self, outcome: &Outcome) -> Result<()> {
        let cell = &self.cells[outcome.job.cell as usize];
        for sample in &outcome.samples {
            self.table.row(|row| {
                cell.write(row, outcome.job.repeat);
                row.u64(sample.time.picos());
                row.text(&bytes(&sample.entity));
                row.text(&bytes(&sample.metric));
                row.f64(sample.value);
            })?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

/// `links.parquet`: one row for each step of each link that was used.
pub(crate) struct LinkTable<W: Write + Send> {
    table: Table<W>,
    cells: Vec<CellColumns>,
}

impl<W: Write + Send> LinkTable<W> {
    pub(crate) fn new(writer: W, cells: &[Cell]) -> Result<LinkTable<W>> {
        let (mut columns, cells) = cell_columns(cells);
        columns.extend([
            Column::u64("time_ps"),
            Column::text("link"),
            Column::u64("sent_bytes"),
            Column::u64("queue_bytes"),
            Column::u32("drops"),
            Column::u32("flows"),
        ]);
        Ok(LinkTable { table: Table::new(writer, columns)?, cells })
    }

    /// Adds the film of one run.
    pub(crate) fn add(&mut self, job: Job, film: &Film) -> Result<()> {
        let cell = &self.cells[job.cell as usize];
        let names = film.topology.link_names();
        for link in &film.links {
            let name = bytes(&names[link.link as usize]);
            for (time, step) in film.times.iter().zip(&link.steps) {
                self.table.row(|row| {
                    cell.write(row, job.repeat);
                    row.u64(time.picos());
                    row.text(&name);
                    row.u64(step.sent);
                    row.u64(step.queue);
                    row.u32(step.drops);
                    row.u32(step.flows);
                })?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

/// `paths.parquet`: one row for each path of each subflow. With the flow's own columns it is a list that can be replayed.
pub(crate) struct PathTable<W: Write + Send> {
    table: Table<W>,
    cells: Vec<CellColumns>,
}

impl<W: Write + Send> PathTable<W> {
    pub(crate) fn new(writer: W, cells: &[Cell]) -> Result<PathTable<W>> {
        let (mut columns, cells) = cell_columns(cells);
        columns.extend([
            Column::u64("flow"),
            Column::text("traffic"),
            Column::text("source"),
            Column::text("destination"),
            Column::maybe_u64("bytes"),
            Column::u64("start_ps"),
            Column::u8("connection"),
            Column::u8("subflow"),
            Column::u64("time_ps"),
            Column::text("path"),
            Column::text("path_back"),
        ]);
        Ok(PathTable { table: Table::new(writer, columns)?, cells })
    }

    /// Adds the paths of one run.
    pub(crate) fn add(&mut self, outcome: &Outcome) -> Result<()> {
        let cell = &self.cells[outcome.job.cell as usize];
        for path in outcome.paths.iter().flatten() {
            let flow = &outcome.flows[path.flow as usize];
            self.table.row(|row| {
                cell.write(row, outcome.job.repeat);
                row.u64(flow.id);
                row.text(&bytes(&flow.traffic));
                row.text(&bytes(&flow.source));
                row.text(&bytes(&flow.destination));
                row.maybe_u64(flow.bytes);
                row.u64(flow.start.picos());
                row.u8(path.connection);
                row.u8(path.subflow);
                row.u64(path.time.picos());
                row.text(&bytes(&path.path));
                row.text(&bytes(&path.back));
            })?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

#[cfg(test)]
mod tests;
