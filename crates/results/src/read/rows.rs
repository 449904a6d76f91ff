//! Rows of a table, whichever it is.

use super::cells::Jobs;
use super::columns::{Table, Wanted};
use crate::error::Error;
use crate::folder::{Finished, MANIFEST};
use crate::record::Job;

/// The rows of a table, each with its run.
pub(super) struct Rows {
    table: Table,
    jobs: Jobs,
    /// After the last row, or an error.
    ended: bool,
}

impl Rows {
    pub(super) fn open(folder: &Finished, name: &str, columns: Vec<Wanted>) -> Result<Rows, Error> {
        let manifest = &folder.manifest;
        let jobs = Jobs::new(manifest).map_err(|reason| Error::damaged(&folder.path.join(MANIFEST), reason))?;
        let mut wanted = jobs.wanted(manifest);
        wanted.extend(columns);
        Ok(Rows { table: Table::open(&folder.path.join(name), wanted)?, jobs, ended: false })
    }

    /// The next row, of which `read` takes the columns that follow the run's.
    pub(super) fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Table) -> Result<T, Error>,
    ) -> Option<Result<(Job, T), Error>> {
        if self.ended {
            return None;
        }
        let row = self.row(read).transpose();
        self.ended = !matches!(row, Some(Ok(_)));
        row
    }

    fn row<T>(&mut self, read: impl FnOnce(&mut Table) -> Result<T, Error>) -> Result<Option<(Job, T)>, Error> {
        if !self.table.advance()? {
            return Ok(None);
        }
        let job = self.jobs.take(&mut self.table)?;
        Ok(Some((job, read(&mut self.table)?)))
    }
}
