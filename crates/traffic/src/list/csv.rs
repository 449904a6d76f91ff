//! Lists as CSV.

use super::FlowList;
use super::error::{Fault, ListError, Place, shorten};
use super::hosts::HostNames;
use super::rows::Rows;

impl FlowList {
    /// Reads CSV: a header, then a row for each flow. Lines that begin with `#` and empty ones are skipped. See
    /// [`Rows::new`] for the columns; others do not matter.
    ///
    /// # Errors
    /// [`ListError`], with the line.
    pub fn csv(text: &[u8], select: &[(String, String)], hosts: &HostNames<'_>) -> Result<FlowList, ListError> {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).comment(Some(b'#')).trim(csv::Trim::All);
        let mut reader = builder.from_reader(text);
        let mut record = csv::StringRecord::new();
        let mut rows: Option<Rows<'_>> = None;
        loop {
            let more = reader.read_record(&mut record).map_err(|error| unreadable(&error))?;
            if !more {
                return rows.ok_or(ListError::whole(Fault::Empty))?.finish();
            }
            let place = Place::Line(record.position().map_or(0, csv::Position::line));
            let row: Vec<&str> = record.iter().collect();
            match &mut rows {
                Some(rows) => rows.add(place, &row)?,
                None => rows = Some(Rows::new(&row, Some(place), select, hosts.clone())?),
            }
        }
    }
}

/// What the reader of CSV says.
fn unreadable(error: &csv::Error) -> ListError {
    let place = error.position().map(|at| Place::Line(at.line()));
    let fault = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => Fault::NoText,
        _ => Fault::Unreadable(shorten(&error.to_string())),
    };
    ListError { place, fault }
}
