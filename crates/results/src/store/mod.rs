//! A store of runs, by the hash of all that their outcome depends on.
//!
//! A folder: `store.json` says that it is one, `runs/ab/cdef….run` are the runs. Each appears under its name only when
//! all of it is written, and never changes after that: any number of processes may use one store at a time, and a process
//! that dies leaves at most a file with a temporary name, which [`Store::collect`] removes.
//!
//! A run is kept in the form of the parts of an unfinished results folder ([`Outcome::encode`]) behind a line of
//! JSON, in one file, not as Parquet. Three reasons: an outcome has more than the tables hold (outputs of programs,
//! counters, failures), and results made from a store must be the bytes of results without one; a run of a few flows
//! takes 1 KB and tens of microseconds like that, and two Parquet files with some twenty columns take 10 KB and
//! milliseconds; one file is there or is not, two may be half there. Results folders are Parquet, with or
//! without a store.

#![allow(clippy::disallowed_types, reason = "the age of a file is a time; what time it is now the caller says")]

mod collect;
mod entry;
mod key;

use std::fs;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::json;

pub use collect::{Collected, Rule};
pub use entry::{Layout, StoredRun};
pub use key::{Key, KeyBuilder};

use crate::error::Error;
use crate::record::{Job, Outcome};

const ABOUT: &str = "store.json";
/// It says what the folder is, in a line.
const LARGEST_ABOUT: u64 = 1 << 16;
/// No run has more bytes: its outcome has to fit in memory.
const LARGEST_RUN: u64 = 1 << 36;
const RUNS: &str = "runs";
const RUN: &str = "run";

/// How temporary names begin and end; what is between is random.
const TEMPORARY: (&str, &str) = (".headway-", ".tmp");

/// The layout of a store.
const FORMAT: u64 = 1;

/// A store of runs.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
}

/// A run in a store, without its outcome.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name.
    pub key: Key,
    /// What it is of, unless a later version alone can read that; the reason if it is damaged.
    pub run: Result<Option<StoredRun>, String>,
    /// How it is written; as this version does it if it is damaged.
    pub layout: Layout,
    /// The bytes that it takes.
    pub bytes: u64,
    /// When it was written.
    pub written: Option<SystemTime>,
}

impl Store {
    /// The store at `path`, which is made if there is nothing yet.
    ///
    /// # Errors
    /// If something else is there, or it cannot be made.
    pub fn create(path: impl Into<PathBuf>) -> Result<Store, Error> {
        let path = path.into();
        if path.join(ABOUT).exists() {
            return Store::open(path);
        }
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        for entry in fs::read_dir(&path).map_err(Error::io("read", &path))? {
            let name = entry.map_err(Error::io("read", &path))?.file_name();
            let name = name.to_string_lossy();
            // Another process may be making the same store right now.
            if name != ABOUT && !name.starts_with(TEMPORARY.0) {
                // One that is done by now says so.
                return Store::open(path);
            }
        }
        let text = format!("{:#}\n", json!({ "headway-store": FORMAT }));
        write_new(&path, &path.join(ABOUT), |file| file.write_all(text.as_bytes()))?;
        Ok(Store { path })
    }

    /// The store at `path`.
    ///
    /// # Errors
    /// If there is none, or one of a later layout.
    pub fn open(path: impl Into<PathBuf>) -> Result<Store, Error> {
        let path = path.into();
        let file = path.join(ABOUT);
        let text = match headway_input::read_text(&file, LARGEST_ABOUT) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Err(Error::NotStore { path }),
            Err(error) => return Err(Error::unread(&file)(error)),
        };
        let about: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| Error::damaged(&file, error.to_string()))?;
        match about.get("headway-store").and_then(serde_json::Value::as_u64) {
            Some(FORMAT) => Ok(Store { path }),
            Some(found) => Err(Error::StoreFormat { path, found, known: FORMAT }),
            None => Err(Error::NotStore { path }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn folder(&self, key: &Key) -> PathBuf {
        self.path.join(RUNS).join(&key.to_string()[..2])
    }

    fn file(&self, key: &Key) -> PathBuf {
        self.folder(key).join(format!("{}.{RUN}", &key.to_string()[2..]))
    }

    /// The outcome of the run `key` as that of `job`; nothing if it is not there.
    ///
    /// # Errors
    /// If it is damaged or cannot be read.
    pub fn get(&self, key: &Key, job: Job) -> Result<Option<Outcome>, Error> {
        let path = self.file(key);
        let bytes = match headway_input::read(&path, LARGEST_RUN) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(Error::unread(&path)(error)),
        };
        entry::read(key, job, &bytes).map(Some).map_err(|error| Error::damaged(&path, error.to_string()))
    }

    /// Keeps the outcome of the run `key`, in place of what is there.
    ///
    /// # Errors
    /// If it cannot be written; what was there stays then.
    pub fn put(&self, key: &Key, run: &StoredRun, outcome: &Outcome) -> Result<(), Error> {
        let folder = self.folder(key);
        write_new(&folder, &self.file(key), |file| entry::write(key, run, outcome, file))
    }

    /// Removes the run `key`, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, key: &Key) -> Result<(), Error> {
        remove(&self.file(key))
    }

    /// Calls `each` with every run, in order of their keys.
    ///
    /// # Errors
    /// If the store cannot be read, or what `each` says.
    pub fn entries(&self, each: &mut dyn FnMut(Entry) -> Result<(), Error>) -> Result<(), Error> {
        self.files(&mut |path| {
            let Some(key) = key_of(path) else { return Ok(()) };
            let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
            let file = headway_input::open(path).map_err(io::Error::from);
            let run = file.and_then(|file| entry::look(&key, &mut BufReader::new(file)));
            let (run, layout) = match run {
                Ok((run, layout)) => (Ok(run), layout),
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => (Err(error.to_string()), Layout::Known),
            };
            each(Entry { key, run, layout, bytes: metadata.len(), written: metadata.modified().ok() })
        })
    }

    /// Reads the run `key` from beginning to end: what is wrong with it, if anything is.
    pub fn check(&self, key: &Key) -> Option<String> {
        let read = || -> io::Result<()> {
            let bytes = headway_input::read(&self.file(key), LARGEST_RUN)?;
            let mut rest = bytes.as_slice();
            let repeat = entry::read_manifest(key, &mut rest)?.repeat;
            entry::read(key, Job { cell: 0, repeat }, &bytes).map(drop)
        };
        read().err().map(|error| error.to_string())
    }

    /// Calls `each` with every file of the store and below `runs/`, in order.
    fn files(&self, each: &mut dyn FnMut(&Path) -> Result<(), Error>) -> Result<(), Error> {
        sorted(&self.path)?.iter().filter(|path| path.is_file()).try_for_each(|path| each(path))?;
        for folder in sorted(&self.path.join(RUNS))? {
            if folder.is_dir() {
                sorted(&folder)?.iter().try_for_each(|path| each(path))?;
            }
        }
        Ok(())
    }
}

/// The key of the run in `path`, if it is one.
fn key_of(path: &Path) -> Option<Key> {
    let name = path.file_name()?.to_str()?.strip_suffix(RUN)?.strip_suffix('.')?;
    format!("{}{name}", path.parent()?.file_name()?.to_str()?).parse().ok()
}

/// What is in `folder`, in order of names; nothing if there is none.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", folder)(error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = paths.map_err(Error::io("read", folder))?;
    paths.sort_unstable();
    Ok(paths)
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Writes all of `path` or nothing, under a name in `folder` that no other process has, on whatever machine it is.
fn write_new(
    folder: &Path,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut fs::File>) -> io::Result<()>,
) -> Result<(), Error> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    // As any other file: the user's mask decides who may read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = match builder.tempfile_in(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
            builder.tempfile_in(folder)
        }
        file => file,
    }
    .map_err(Error::io("create", path))?;
    let mut buffered = BufWriter::new(file.as_file_mut());
    write(&mut buffered).and_then(|()| buffered.flush()).map_err(Error::io("write", path))?;
    drop(buffered);
    file.persist(path).map_err(|error| Error::io("create", path)(error.error)).map(drop)
}

#[cfg(test)]
mod tests;
