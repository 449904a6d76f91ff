//! Clearing up a store.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Entry, Layout, Store, TEMPORARY, key_of, remove};
use crate::error::Error;

/// A file with a temporary name that is older belongs to a process that died: nobody writes a run for a day.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Which runs stay in a store. Damaged ones never do; those of a later layout go by their age alone.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Runs of this epoch of results stay; all epochs if there is none.
    pub epoch: Option<u32>,
    /// Runs of at most this age stay; any age if there is none.
    pub older_than: Option<Duration>,
    /// Only runs of scenarios of this name go; of all if there is none.
    pub scenario: Option<String>,
    /// The time.
    pub now: SystemTime,
}

/// What was removed, and what is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Runs that were removed, or would be.
    pub removed: u64,
    /// Their bytes.
    pub removed_bytes: u64,
    /// Runs that are left.
    pub kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Files of processes that died while they wrote, which are not among the runs.
    pub abandoned: u64,
}

impl Rule {
    /// Whether the run of `entry` goes.
    pub fn takes(&self, entry: &Entry) -> bool {
        let Ok(run) = &entry.run else { return true };
        if self.scenario.as_ref().is_some_and(|name| run.as_ref().is_none_or(|run| *name != run.scenario)) {
            return false;
        }
        let old = |limit: Duration| age(entry.written, self.now).is_some_and(|age| age > limit);
        let useless = |epoch| match entry.layout {
            Layout::Known => run.as_ref().is_some_and(|run| epoch != run.epoch),
            Layout::Older => true,
            // A version that is in use elsewhere may find it.
            Layout::Later => false,
        };
        self.epoch.is_some_and(useless) || self.older_than.is_some_and(old)
    }
}

fn age(written: Option<SystemTime>, now: SystemTime) -> Option<Duration> {
    now.duration_since(written?).ok()
}

impl Store {
    /// Removes the runs that `rule` takes, and what processes that died have left; only counts them if `dry`.
    ///
    /// A process that looks for a run that is gone computes it again.
    ///
    /// # Errors
    /// If the store cannot be read, or a file cannot be removed.
    pub fn collect(&self, rule: &Rule, dry: bool) -> Result<Collected, Error> {
        let mut collected = Collected::default();
        let mut abandoned = |path: &Path| {
            let written = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
            let temporary = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY.0));
            if key_of(path).is_none() && temporary && age(written, rule.now).is_some_and(|age| age > ABANDONED) {
                collected.abandoned += 1;
                return if dry { Ok(()) } else { remove(path) };
            }
            Ok(())
        };
        self.files(&mut abandoned)?;
        self.entries(&mut |entry| {
            if rule.takes(&entry) {
                collected.removed += 1;
                collected.removed_bytes += entry.bytes;
                return if dry { Ok(()) } else { self.remove(&entry.key) };
            }
            collected.kept += 1;
            collected.kept_bytes += entry.bytes;
            Ok(())
        })?;
        Ok(collected)
    }
}
