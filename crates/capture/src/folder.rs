//! The folder of an analysis.

use std::fs;
use std::path::Path;

use headway_results::Error;

use crate::analysis::Report;
use crate::json::report_json;
use crate::scenario::{TrafficSection, size_table};
use crate::table::SeriesTable;

/// Writes into `folder` what a report says, beside the table of connections: `series.parquet`, `report.json`,
/// `sizes.csv`, and `section` with its files.
///
/// # Errors
/// If a file cannot be written.
pub fn keep(folder: &Path, report: &Report, section: Option<&TrafficSection>) -> Result<(), Error> {
    SeriesTable::write(&folder.join("series.parquet"), report)?;
    let mut files = vec![("report.json".to_owned(), format!("{:#}\n", report_json(report, &report.warnings(), &[])))];
    let all = report.sizes(|_, _| true);
    if all.count() > 0 {
        files.push(("sizes.csv".to_owned(), size_table(&all)));
    }
    if let Some(section) = section {
        files.extend(section.sizes.iter().cloned());
        files.push(("traffic.toml".to_owned(), section.traffic.clone()));
        files.push(("scenario.toml".to_owned(), section.scenario.clone()));
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| Error::Io { action: "write", path, source })?;
    }
    Ok(())
}
