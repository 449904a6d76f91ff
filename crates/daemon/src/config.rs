//! Reading a configuration file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use headway_language::{Field, Parse, Part, Problems, Shown, show_document};
use thiserror::Error;

/// The longest file that is read: 1 MB.
pub const MAX_FILE: usize = 1_000_000;

/// Why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something in it is wrong.
    #[error("{0}")]
    Problems(#[from] Problems),
}

/// The configuration in the file at `path`, as `read` understands its text and its name for problems.
///
/// # Errors
/// If the file cannot be read, or something in it is wrong.
pub fn load<T>(path: &Path, read: impl FnOnce(&str, &str) -> Result<T, Problems>) -> Result<T, ConfigError> {
    let text = text(path).map_err(|error| ConfigError::File { path: path.to_owned(), error })?;
    Ok(read(&text, &path.display().to_string())?)
}

/// The record that `text` says, called `name` in problems.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read<R: Field>(text: &str, name: &str) -> Result<R, Problems> {
    let Parse { tree, mut reader } = Parse::new(text, name, MAX_FILE)?;
    let record = R::read(&tree, &mut reader);
    let problems = Problems::new(reader.into_problems());
    record.filter(|_| problems.is_empty()).ok_or(problems)
}

/// The whole of `record` as TOML with every default written out. Reads back to the same.
pub fn show(record: &impl Part) -> String {
    let mut entries = Vec::new();
    record.show_part(&mut entries);
    // An empty list of tables has no header to write.
    entries.retain(|(_, shown)| !matches!(shown, Shown::List(items) if items.is_empty()));
    show_document(&entries)
}

/// The text of the file at `path`, as far as one byte more than is allowed. Only a plain file has an end.
fn text(path: &Path) -> io::Result<String> {
    // without waiting for someone to write to a pipe
    let flags = rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("this is not a file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(path: &Path) -> Result<usize, ConfigError> {
        load(path, |text, _| Ok(text.len()))
    }

    #[test]
    fn only_plain_files_are_read_and_no_further_than_one_byte_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        assert!(matches!(length(&path), Err(ConfigError::File { .. })));
        std::fs::write(&path, vec![b' '; 3 * MAX_FILE]).unwrap();
        assert_eq!(length(&path).unwrap(), MAX_FILE + 1);
        assert!(length(folder.path()).unwrap_err().to_string().ends_with("this is not a file"));
    }
}
