//! Paths of cgroups (v2) by their numbers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where cgroups (v2) may be: alone, or beside those of version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// `CGROUP2_SUPER_MAGIC` of `linux/magic.h`.
const CGROUP2: u64 = 0x6367_7270;
/// Cgroups that are looked at in search of one.
const MOST: usize = 20_000;
/// A search is followed by so many times its duration without one: users may make cgroups as they like, each with a
/// connection, and the search is through all of them.
const REST: u32 = 20;

/// What is known of cgroups.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    /// By number; `None`: it was looked for in vain. Numbers are not given again.
    known: BTreeMap<u64, Option<PathBuf>>,
    /// No search before this, by the daemon's uptime.
    next: Duration,
}

impl Cgroups {
    /// The path of a cgroup below the mount point, with `/` in front; `None` if there is none, or if it is too early to look
    /// for it at `now`.
    pub fn path(&mut self, id: u64, now: Duration) -> Option<PathBuf> {
        self.look(id, now, || {
            // numbers of folders of another file system name no cgroup
            let v2 = |path: &&Path| rustix::fs::statfs(*path).is_ok_and(|fs| fs.f_type as u64 == CGROUP2);
            let start = Instant::now();
            let (found, whole) = MOUNTS.map(Path::new).iter().copied().find(v2).map_or_else(Default::default, all);
            (found, whole, start.elapsed())
        })
    }

    /// `search` gives all there are, whether that is so, and how long it took.
    fn look(
        &mut self,
        id: u64,
        now: Duration,
        search: impl FnOnce() -> (BTreeMap<u64, PathBuf>, bool, Duration),
    ) -> Option<PathBuf> {
        if !self.known.contains_key(&id) && now >= self.next {
            let (found, whole, took) = search();
            self.next = now + took * REST;
            if whole {
                // what was looked for in vain is not looked for again, or each connection of such a group would cost a search
                self.known.retain(|_, path| path.is_none());
            }
            if self.known.len() >= MOST {
                self.known.clear();
            }
            self.known.extend(found.into_iter().map(|(id, path)| (id, Some(path))));
            if whole {
                self.known.entry(id).or_default();
            }
        }
        self.known.get(&id).cloned().flatten()
    }
}

/// All cgroups below `root` by their number, which is that of their folder; and whether they could all be read.
fn all(root: &Path) -> (BTreeMap<u64, PathBuf>, bool) {
    let (mut found, mut whole) = (BTreeMap::new(), true);
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if found.len() >= MOST {
            break;
        }
        let (metadata, entries) = match fs::metadata(&folder).and_then(|data| Ok((data, fs::read_dir(&folder)?))) {
            Ok(read) => read,
            Err(error) => {
                // one that is gone by now is none; else something is short, such as file descriptors
                whole &= error.kind() == std::io::ErrorKind::NotFound;
                continue;
            }
        };
        let path = Path::new("/").join(folder.strip_prefix(root).unwrap_or(&folder));
        found.insert(metadata.ino(), path);
        let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.extend(below.map(|entry| entry.path()));
    }
    (found, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_cgroups_without_end_take_a_small_part_of_the_time() {
        let mut cgroups = Cgroups::default();
        let (mut searches, took) = (0, Duration::from_millis(50));
        // a connection of a new cgroup each millisecond, for ten seconds
        for ms in 0..10_000 {
            let now = Duration::from_millis(ms);
            let path = cgroups.look(ms, now, || {
                searches += 1;
                ((0..=ms).map(|id| (id, PathBuf::from(format!("/{id}")))).collect(), true, took)
            });
            assert!(path.is_none_or(|path| path == Path::new(&format!("/{ms}"))));
        }
        assert!((8..=10).contains(&searches), "{searches} searches of {took:?}");
        // what is known costs none
        let known = cgroups.look(0, Duration::from_secs(100), || unreachable!());
        assert_eq!(known, Some(PathBuf::from("/0")));
        // and what is not there is looked for once
        let later = Duration::from_secs(100);
        // again, if not all could be read; and nothing that was known is forgotten
        assert_eq!(cgroups.look(77_777, later, || (BTreeMap::new(), false, Duration::ZERO)), None);
        assert_eq!(cgroups.look(0, later, || unreachable!()), Some(PathBuf::from("/0")));
        assert_eq!(cgroups.look(77_777, later, || (BTreeMap::new(), true, took)), None);
        assert_eq!(cgroups.look(77_777, later * 2, || unreachable!()), None);
    }
}
