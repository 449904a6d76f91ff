//! Tables of a finished folder, read back row by row into the records that they were written from.
//!
//! A reader holds one batch of rows in memory, whatever the size of the file. It finds columns by their names, so that
//! files of later versions with more columns are read as well. Files may be damaged, or of another program: what does
//! not fit is an [`Error::Damaged`] with the column or the row, after which the reader ends.

mod cells;
mod columns;
mod flows;
mod links;
mod rows;
mod series;

pub use flows::FlowReader;
pub use links::LinkReader;
pub use series::SeriesReader;

use rows::Rows;

use crate::error::Error;
use crate::folder::{FLOWS, Finished, LINKS, SERIES, TOPOLOGY};
use crate::topologies::Topologies;

/// No topology of a film has more bytes.
const LARGEST_TOPOLOGY: u64 = 1 << 30;

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

    /// Reads `links.parquet`: run by run in the order of cells and repeats, link by link in the order of the network's, step
    /// by step. `None` where no run was filmed, as in folders of older versions.
    ///
    /// # Errors
    /// If the file cannot be read or is no such table.
    pub fn links(&self) -> Result<Option<LinkReader>, Error> {
        if !self.path.join(LINKS).exists() {
            return Ok(None);
        }
        Rows::open(self, LINKS, links::wanted()).map(|rows| Some(LinkReader::new(rows)))
    }

    /// Reads `topology.json`, whole. Empty where no run was filmed, as in folders of older versions.
    ///
    /// # Errors
    /// If the file cannot be read or holds something else.
    pub fn topologies(&self) -> Result<Topologies, Error> {
        let path = self.path.join(TOPOLOGY);
        let text = match headway_input::read(&path, LARGEST_TOPOLOGY) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Ok(Topologies::default()),
            Err(error) => return Err(Error::unread(&path)(error)),
        };
        Topologies::from_text(&text).map_err(|reason| Error::damaged(&path, reason))
    }
}

#[cfg(test)]
mod tests;
