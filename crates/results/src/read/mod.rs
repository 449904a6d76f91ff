//! Tables of a finished folder, read back row by row into the records that they were written from.
//!
//! A reader holds one batch of rows in memory, whatever the size of the file. It finds columns by their names, so that
//! files of later versions with more columns are read as well. Files may be damaged, or of another program: what does
//! not fit is an [`Error::Damaged`] with the column or the row, after which the reader ends.

mod cells;
mod columns;
mod flows;
mod rows;
mod series;

pub use flows::FlowReader;
pub use series::SeriesReader;

use rows::Rows;

use crate::error::Error;
use crate::folder::{FLOWS, Finished, SERIES};

impl Finished {
    /// Reads `flows.parquet`, in the order of cells and repeats.
    ///
    /// # Errors
    /// If the file is missing, cannot be read or is no such table.
    pub fn flows(&self) -> Result<FlowReader, Error> {
        Rows::open(self, FLOWS, flows::wanted()).map(FlowReader::new)
    }

    /// Reads `series.parquet`, in the order of cells and repeats.
    ///
    /// # Errors
    /// If the file is missing, cannot be read or is no such table.
    pub fn series(&self) -> Result<SeriesReader, Error> {
        Rows::open(self, SERIES, series::wanted()).map(SeriesReader::new)
    }
}

#[cfg(test)]
mod tests;
