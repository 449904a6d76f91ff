//! Folders of results.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use headway_results::Finished;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::table::{Table, sweeps, text};

/// A finished folder of results.
#[pyclass(frozen, module = "headway._native")]
#[derive(Debug)]
pub struct Folder {
    finished: Finished,
}

#[pymethods]
impl Folder {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Folder> {
        let finished = py.detach(|| headway_results::Folder::open(path)).map_err(Failure::from)?;
        Ok(Folder { finished })
    }

    /// `manifest.json`.
    fn manifest(&self) -> PyResult<String> {
        serde_json::to_string(&self.finished.manifest).map_err(crate::errors::bug)
    }

    /// `summary.csv`.
    fn summary(&self) -> PyResult<Table> {
        let Finished { manifest, summary, .. } = &self.finished;
        text::summary(summary).and_then(|table| sweeps::extend(table, &manifest.cells)).map_err(crate::errors::bug)
    }

    /// The tables that a file of Parquet in the folder holds.
    fn table(&self, py: Python<'_>, file: &str) -> PyResult<Table> {
        let path = self.finished.path.join(file);
        Ok(py.detach(|| self.read(&path))?)
    }

    /// `commands.csv`, empty if no program ran.
    fn commands(&self, py: Python<'_>) -> PyResult<Table> {
        let path = self.finished.path.join("commands.csv");
        let cells = &self.finished.manifest.cells;
        let read = || match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => text::no_commands(cells),
            Err(error) => Err(error.to_string()),
            Ok(file) => text::commands(file, cells),
        };
        let table = py.detach(|| read().and_then(|table| sweeps::extend(table, cells)));
        Ok(table.map_err(|reason| damaged(&path, &reason))?)
    }
}

impl Folder {
    fn read(&self, path: &Path) -> Result<Table, Failure> {
        let file = File::open(path).map_err(|error| {
            Failure::Results(format!("cannot read {}: {error}", path.display()), Some(path.to_path_buf()))
        })?;
        let table = parquet(file).and_then(|table| sweeps::extend(table, &self.finished.manifest.cells));
        table.map_err(|reason| damaged(path, &reason))
    }
}

/// Writes the page of a folder, or of several side by side, to `path`.
#[pyfunction]
pub fn report(py: Python<'_>, folders: Vec<PathBuf>, path: PathBuf) -> PyResult<()> {
    let write = || {
        let page = match folders.as_slice() {
            [folder] => headway_experiment::report::single(folder)?,
            several => headway_experiment::report::comparison(several)?,
        };
        headway_experiment::report::write_page(&page, &path)
    };
    Ok(py.detach(|| write().map_err(Failure::from))?)
}

/// The whole file. The reader panics on some files that are damaged.
pub fn parquet(file: File) -> Result<Table, String> {
    let read = || {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| {
            // Few large batches: consumers make a chunk of each.
            builder.with_batch_size(1 << 17).build()
        });
        let reader = reader.map_err(|error| error.to_string())?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        Ok(Table::new(schema, batches))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("its columns do not fit each other".to_owned()))
}

pub fn damaged(path: &Path, reason: &str) -> Failure {
    Failure::Results(format!("{} is damaged or not ours: {reason}", path.display()), Some(path.to_path_buf()))
}
