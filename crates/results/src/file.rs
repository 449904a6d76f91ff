//! Files that are written whole or not at all: under a temporary name first.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::error::Error;

/// The extension of temporary names.
pub(crate) const TEMPORARY: &str = "tmp";

pub(crate) fn create(path: &Path) -> Result<File, Error> {
    File::create(path).map_err(Error::io("create", path))
}

pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(TEMPORARY);
    name.into()
}

/// Gives the temporary file of `path` its name.
pub(crate) fn rename(path: &Path) -> Result<(), Error> {
    fs::rename(temporary(path), path).map_err(Error::io("create", path))
}

/// Writes all of `path` or nothing.
pub(crate) fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Error> {
    let temporary = temporary(path);
    let mut file = BufWriter::new(create(&temporary)?);
    let written = write(&mut file).and_then(|()| file.flush());
    // Not through the buffer's destructor, which would try once more and keep the error to itself.
    drop(file.into_parts());
    if let Err(error) = written {
        // The room may be what others need; if this fails, too, the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
        return Err(Error::io("write", path)(error));
    }
    rename(path)
}

/// For `map_err`: the I/O error inside, so that a full disk is told as such.
pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    let path = path.to_path_buf();
    move |error| {
        let source = match error {
            ParquetError::External(inner) => inner.downcast().map_or_else(io::Error::other, |error| *error),
            other => io::Error::other(other),
        };
        Error::Io { action: "write", path, source }
    }
}
