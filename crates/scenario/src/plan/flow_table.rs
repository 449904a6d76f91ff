//! Lists of flows as Parquet.
//!
//! Nothing in the file is trusted: the library's panics on bytes that it did not expect are errors like others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use headway_traffic::{Fault, FlowList, HostNames, ListError, Place, Rows};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

/// Whether these are the bytes of a Parquet file.
pub(super) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1")
}

/// Reads a list from the bytes of a Parquet file.
///
/// # Errors
/// [`ListError`], with the row.
pub(super) fn read(bytes: Vec<u8>, select: &[(String, String)], hosts: HostNames<'_>) -> Result<FlowList, ListError> {
    let damaged = || ListError::whole(Fault::Unreadable("its contents contradict each other".to_owned()));
    catch_unwind(AssertUnwindSafe(|| rows(bytes, select, hosts))).unwrap_or_else(|_| Err(damaged()))
}

fn rows(bytes: Vec<u8>, select: &[(String, String)], hosts: HostNames<'_>) -> Result<FlowList, ListError> {
    let file = SerializedFileReader::new(Bytes::from(bytes)).map_err(|error| whole(&error))?;
    let schema = file.metadata().file_metadata().schema();
    let fields = schema.get_fields();
    let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
    let wanted = Rows::wanted(&names, select);
    // a column within another is none of ours
    let plain = |field: &&Arc<Type>| field.is_primitive() && wanted.contains(&field.name());
    let chosen: Vec<Arc<Type>> = fields.iter().filter(plain).map(Arc::clone).collect();
    let header: Vec<String> = chosen.iter().map(|field| field.name().to_owned()).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut rows = Rows::new(&header, None, select, hosts)?;
    let part = Type::group_type_builder(schema.name()).with_fields(chosen).build().map_err(|error| whole(&error))?;
    for (row, number) in file.get_row_iter(Some(part)).map_err(|error| whole(&error))?.zip(1..) {
        let place = Place::Row(number);
        let row = row.map_err(|error| ListError { place: Some(place), ..whole(&error) })?;
        let cells = row.get_column_iter().map(|(_, field)| text(field)).collect::<Option<Vec<String>>>();
        let cells = cells.ok_or(ListError::at(place, Fault::NoText))?;
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        rows.add(place, &cells)?;
    }
    rows.finish()
}

fn whole(error: &ParquetError) -> ListError {
    let text: String = error.to_string().chars().take(200).collect();
    ListError::whole(Fault::Unreadable(text))
}

/// A value as CSV would have it.
fn text(field: &Field) -> Option<String> {
    Some(match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Bytes(bytes) => std::str::from_utf8(bytes.data()).ok()?.to_owned(),
        Field::Double(number) => number.to_string(),
        Field::Float(number) => number.to_string(),
        other => other.to_string(),
    })
}
