//! Columns of a Parquet file by their names, a batch of rows at a time.
//!
//! Nothing in the file is trusted: its columns may be missing, of another kind, of different lengths, or cut.

use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::error::Error;

/// Rows that are decoded together.
const BATCH_ROWS: usize = 4096;

/// So many different texts of a column are shared; of more, later ones are made anew, so that memory stays bounded.
const SHARED_TEXTS: usize = 1 << 16;

/// The values that are expected in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    U64,
    U32,
    F64,
}

impl Kind {
    fn physical(self) -> Physical {
        match self {
            Kind::Text => Physical::BYTE_ARRAY,
            Kind::U64 => Physical::INT64,
            Kind::U32 => Physical::INT32,
            Kind::F64 => Physical::DOUBLE,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::U64 => "64-bit numbers",
            Kind::U32 => "32-bit numbers",
            Kind::F64 => "floating-point numbers",
        }
    }
}

/// A column that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Files of older versions may be without it; its values are then not there.
    pub(super) may_lack: bool,
}

impl Wanted {
    pub(super) fn new(name: impl Into<String>, kind: Kind) -> Wanted {
        Wanted { name: name.into(), kind, may_lack: false }
    }

    pub(super) fn may_lack(self) -> Wanted {
        Wanted { may_lack: true, ..self }
    }
}

/// The decoded values of one column, of which the first `taken` were given out.
struct Buffer<T> {
    values: Vec<T>,
    taken: usize,
}

impl<T> Default for Buffer<T> {
    fn default() -> Buffer<T> {
        Buffer { values: Vec::new(), taken: 0 }
    }
}

impl<T> Buffer<T> {
    fn clear(&mut self) {
        self.values.clear();
        self.taken = 0;
    }

    fn take(&mut self) -> Option<&T> {
        let value = self.values.get(self.taken);
        self.taken += 1;
        value
    }
}

enum Values {
    Text(Buffer<ByteArray>),
    I64(Buffer<i64>),
    I32(Buffer<i32>),
    F64(Buffer<f64>),
}

struct Column {
    wanted: Wanted,
    /// Its place in the file, if it is there.
    place: Option<usize>,
    /// Whether values may be null.
    nullable: bool,
    reader: Option<ColumnReader>,
    /// Of a column that may have nulls, 1 where there is a value.
    levels: Buffer<i16>,
    values: Values,
    texts: Texts,
}

impl Column {
    fn new(wanted: Wanted, file: &SerializedFileReader<File>) -> Result<Column, String> {
        let schema = file.metadata().file_metadata().schema_descr();
        let mut all = schema.columns().iter().enumerate();
        let found = all.find(|(_, column)| column.path().parts().len() == 1 && column.name() == wanted.name);
        let mut nullable = false;
        if let Some((_, column)) = found {
            nullable = column.max_def_level() > 0;
            if column.physical_type() != wanted.kind.physical()
                || column.max_rep_level() > 0
                || column.max_def_level() > 1
            {
                return Err(format!("its column `{}` does not hold {}", wanted.name, wanted.kind.name()));
            }
        } else if !wanted.may_lack {
            return Err(format!("it has no column `{}`", wanted.name));
        }
        let values = match wanted.kind {
            Kind::Text => Values::Text(Buffer::default()),
            Kind::U64 => Values::I64(Buffer::default()),
            Kind::U32 => Values::I32(Buffer::default()),
            Kind::F64 => Values::F64(Buffer::default()),
        };
        let place = found.map(|(place, _)| place);
        let (levels, texts) = (Buffer::default(), Texts::default());
        Ok(Column { wanted, place, nullable, reader: None, levels, values, texts })
    }

    /// Decodes up to `rows` rows; gives how many there were.
    fn fill(&mut self, rows: usize) -> ParquetResult<usize> {
        let Some(reader) = &mut self.reader else { return Ok(rows) };
        self.levels.clear();
        let levels = self.nullable.then_some(&mut self.levels.values);
        match (&mut self.values, reader) {
            (Values::Text(buffer), ColumnReader::ByteArrayColumnReader(reader)) => decode(reader, rows, levels, buffer),
            (Values::I64(buffer), ColumnReader::Int64ColumnReader(reader)) => decode(reader, rows, levels, buffer),
            (Values::I32(buffer), ColumnReader::Int32ColumnReader(reader)) => decode(reader, rows, levels, buffer),
            (Values::F64(buffer), ColumnReader::DoubleColumnReader(reader)) => decode(reader, rows, levels, buffer),
            _ => Err(ParquetError::General("a row group has another schema than the file".to_owned())),
        }
    }

    /// Whether the next row has a value.
    fn is_there(&mut self) -> bool {
        self.place.is_some() && (!self.nullable || self.levels.take().is_some_and(|level| *level == 1))
    }
}

fn decode<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: Option<&mut Vec<i16>>,
    buffer: &mut Buffer<T::T>,
) -> ParquetResult<usize> {
    buffer.clear();
    reader.read_records(rows, levels, None, &mut buffer.values).map(|(rows, _, _)| rows)
}

/// Equal texts of a column share their memory.
#[derive(Default)]
struct Texts {
    known: BTreeMap<Box<[u8]>, Arc<str>>,
    last: Option<Arc<str>>,
}

impl Texts {
    fn share(&mut self, bytes: &[u8]) -> Option<Arc<str>> {
        if let Some(last) = self.last.as_ref().filter(|last| last.as_bytes() == bytes) {
            return Some(Arc::clone(last));
        }
        let text = match self.known.get(bytes) {
            Some(text) => Arc::clone(text),
            None => Arc::from(std::str::from_utf8(bytes).ok()?),
        };
        if self.known.len() < SHARED_TEXTS {
            self.known.entry(bytes.into()).or_insert_with(|| Arc::clone(&text));
        }
        self.last = Some(Arc::clone(&text));
        Some(text)
    }
}

/// A Parquet file, of which the columns that are asked for are read from the first row to the last.
pub(super) struct Table {
    path: PathBuf,
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// The row group that comes next.
    group: usize,
    /// Rows of the current one that are not decoded yet.
    undecoded: u64,
    /// Rows that are decoded and not given out yet.
    ready: usize,
    /// The number of the current row in the file, from 1.
    row: u64,
    /// Where the next value of the current row is.
    next: usize,
}

impl Table {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, is no Parquet file, or lacks a column.
    pub(super) fn open(path: &Path, wanted: Vec<Wanted>) -> Result<Table, Error> {
        let file = headway_input::open(path).map_err(Error::unread(path))?;
        let file = guarded(|| SerializedFileReader::new(file)).map_err(failed(path))?;
        let columns = wanted.into_iter().map(|wanted| Column::new(wanted, &file)).collect::<Result<_, _>>();
        let columns = columns.map_err(|reason| Error::damaged(path, reason))?;
        Ok(Table { path: path.to_path_buf(), file, columns, group: 0, undecoded: 0, ready: 0, row: 0, next: 0 })
    }

    /// Goes on to the next row; `false` behind the last. Its values are then given in the order of the columns.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        while self.ready == 0 {
            if self.undecoded > 0 {
                self.decode()?;
            } else if self.group < self.file.num_row_groups() {
                self.open_group()?;
            } else {
                return Ok(false);
            }
        }
        self.ready -= 1;
        self.row += 1;
        self.next = 0;
        Ok(true)
    }

    fn open_group(&mut self) -> Result<(), Error> {
        let Table { path, file, columns, group, .. } = self;
        let rows = guarded(|| {
            let reader = file.get_row_group(*group)?;
            for column in columns.iter_mut() {
                column.reader = match column.place {
                    Some(place) if place < reader.num_columns() => Some(reader.get_column_reader(place)?),
                    Some(_) => return Err(ParquetError::General("a row group lacks a column".to_owned())),
                    None => None,
                };
            }
            Ok(reader.metadata().num_rows())
        })
        .map_err(failed(path))?;
        self.undecoded = u64::try_from(rows).map_err(|_| Error::damaged(path, "a row group has less than no rows"))?;
        self.group += 1;
        Ok(())
    }

    fn decode(&mut self) -> Result<(), Error> {
        let rows = usize::try_from(self.undecoded).map_or(BATCH_ROWS, |rows| rows.min(BATCH_ROWS));
        for column in &mut self.columns {
            let read = guarded(|| column.fill(rows)).map_err(failed(&self.path))?;
            if read != rows {
                let reason = format!("its column `{}` is cut after row {}", column.wanted.name, self.row + read as u64);
                return Err(Error::damaged(&self.path, reason));
            }
        }
        self.undecoded -= rows as u64;
        self.ready = rows;
        Ok(())
    }

    /// The error that the current row is wrong.
    pub(super) fn wrong(&self, reason: &str) -> Error {
        Error::damaged(&self.path, format!("row {}: {reason}", self.row))
    }

    fn lacks(&self) -> Error {
        self.wrong(&format!("`{}` has no value", self.columns[self.next - 1].wanted.name))
    }

    fn column(&mut self) -> &mut Column {
        self.next += 1;
        &mut self.columns[self.next - 1]
    }

    pub(super) fn maybe_u64(&mut self) -> Result<Option<u64>, Error> {
        let column = self.column();
        if !column.is_there() {
            return Ok(None);
        }
        let Values::I64(buffer) = &mut column.values else { unreachable!("not a column of u64") };
        let value = buffer.take().copied();
        value.map(|value| Some(value.cast_unsigned())).ok_or_else(|| self.lacks())
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.maybe_u64()?.ok_or_else(|| self.lacks())
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        let column = self.column();
        let there = column.is_there();
        let Values::I32(buffer) = &mut column.values else { unreachable!("not a column of u32") };
        let value = if there { buffer.take().copied() } else { None };
        value.map(i32::cast_unsigned).ok_or_else(|| self.lacks())
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        let value = self.u32()?;
        u8::try_from(value).map_err(|_| {
            self.wrong(&format!("`{}` is {value}, which is more than 255", self.columns[self.next - 1].wanted.name))
        })
    }

    pub(super) fn f64(&mut self) -> Result<f64, Error> {
        let column = self.column();
        let there = column.is_there();
        let Values::F64(buffer) = &mut column.values else { unreachable!("not a column of f64") };
        let value = if there { buffer.take().copied() } else { None };
        value.ok_or_else(|| self.lacks())
    }

    pub(super) fn text(&mut self) -> Result<Arc<str>, Error> {
        let column = self.column();
        let there = column.is_there();
        let Values::Text(buffer) = &mut column.values else { unreachable!("not a column of text") };
        let Some(bytes) = (if there { buffer.take() } else { None }) else { return Err(self.lacks()) };
        match column.texts.share(bytes.data()) {
            Some(text) => Ok(text),
            None => Err(self.wrong(&format!("`{}` is not UTF-8", self.columns[self.next - 1].wanted.name))),
        }
    }
}

/// What `read` gives; a panic of the library on bytes that it did not expect is an error like others.
fn guarded<T>(read: impl FnOnce() -> ParquetResult<T>) -> ParquetResult<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("its contents contradict each other".to_owned())))
}

/// For `map_err`: the system's errors as such, all others as damage.
fn failed(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    let path = path.to_path_buf();
    move |error| match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => Error::Io { action: "read", path, source: *source },
            Err(other) => Error::damaged(&path, other.to_string()),
        },
        other => Error::damaged(&path, other.to_string()),
    }
}
