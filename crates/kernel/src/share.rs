//! The folder that the simulator and an agent share: what an agent reports and what its commands write.
//!
//! Nothing in it is trusted: programs of the user's run where it is written.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use headway_agent::protocol::{self, Report};
use thiserror::Error;

/// A file of reports larger than this is not read.
const LARGEST_REPORT: u64 = 1 << 30;

/// Of what a command writes to a file, more than this is not read. The agent lets none have more than 64 MB.
const LARGEST_OUTPUT: u64 = 64 << 20;

/// Why a report cannot be read.
#[derive(Debug, Error)]
pub enum ShareError {
    /// The file system says so.
    #[error("cannot read a report: {0}")]
    Io(#[from] io::Error),
    /// It is not what an agent writes.
    #[error("{0}")]
    Nonsense(String),
}

/// The folder of the host at place `host`, in the shared folder.
pub fn out(share: &Path, host: usize) -> PathBuf {
    share.join(protocol::OUT).join(host.to_string())
}

/// The files that the commands and daemons of a host write.
pub fn outputs(host: &protocol::Host) -> Vec<String> {
    let commands = host.commands.iter().map(|command| command.name.clone());
    let all = commands.chain(host.daemons.iter().map(protocol::Daemon::command));
    all.flat_map(|name| ["stdout", "stderr"].map(|end| format!("{name}.{end}"))).collect()
}

/// The whole lines of the report in a host's folder; none if it has not begun one.
///
/// # Errors
/// If it cannot be read, or makes no sense.
pub fn reports(folder: &Path) -> Result<Vec<Report>, ShareError> {
    let nonsense = |text: String| Err(ShareError::Nonsense(text));
    let file = match regular(&folder.join(protocol::REPORT)) {
        Ok(Some(file)) => file,
        Ok(None) => return nonsense("something else stands in the place of its report".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let size = file.metadata()?.len();
    if size > LARGEST_REPORT {
        return nonsense(format!("its report has {size} bytes"));
    }
    let mut reports = Vec::new();
    let mut line = Vec::new();
    let mut reader = BufReader::new(file.take(LARGEST_REPORT));
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(reports);
        }
        match serde_json::from_slice(&line) {
            Ok(report) => reports.push(report),
            Err(error) => {
                return nonsense(format!("line {} of its report makes no sense: {error}", reports.len() + 1));
            }
        }
    }
}

/// What the files `names` in a host's folder hold, by name, as far as they are there. Nothing else that may be there is
/// looked at.
///
/// # Errors
/// If one cannot be read.
pub fn files(folder: &Path, names: &[String]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for name in names {
        let mut bytes = Vec::new();
        match regular(&folder.join(name)) {
            Ok(Some(file)) => file.take(LARGEST_OUTPUT).read_to_end(&mut bytes)?,
            Ok(None) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        found.push((name.clone(), bytes));
    }
    found.sort();
    Ok(found)
}

/// Opens a regular file, and nothing else that a guest may have put in its place: opening a pipe would wait for ever,
/// and a link may lead to the machine's own files.
fn regular(path: &Path) -> io::Result<Option<fs::File>> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => {
            let file = fs::File::from(file);
            Ok(file.metadata()?.is_file().then_some(file))
        }
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

const LOCK: rustix::fs::FlockOperation = rustix::fs::FlockOperation::NonBlockingLockExclusive;

/// A temporary folder of a run, locked while this lives and removed, with all in it, when it is dropped.
#[derive(Debug)]
pub struct RunFolder {
    folder: tempfile::TempDir,
    _lock: fs::File,
}

impl RunFolder {
    /// Makes one whose name begins with `prefix` and the id of this process, once those that processes which were
    /// killed left behind are gone.
    ///
    /// # Errors
    /// If there is no room for it, say.
    pub fn new(prefix: &str) -> io::Result<RunFolder> {
        remove_leftovers(prefix);
        let folder = tempfile::Builder::new().prefix(&format!("{prefix}{}-", std::process::id())).tempdir()?;
        let lock = fs::File::open(folder.path())?;
        rustix::fs::flock(&lock, LOCK)?;
        Ok(RunFolder { folder, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what processes that were killed left behind.
fn remove_leftovers(prefix: &str) {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.strip_prefix(prefix)?.split('-').next()) else {
            continue;
        };
        let alive = process.parse::<u32>().map_or(true, |id| Path::new(&format!("/proc/{id}")).exists());
        // a process of another container is not seen, but holds its lock
        let locked = || {
            let folder = fs::File::open(entry.path());
            folder.is_ok_and(|folder| rustix::fs::flock(&folder, LOCK).is_err())
        };
        if !alive && entry.file_type().is_ok_and(|kind| kind.is_dir()) && !locked() {
            // of another user perhaps; then it is theirs to remove
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
