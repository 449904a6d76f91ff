//! The memory that this process may still take: of the machine, of its control group, of its own limits.

use std::fs;
use std::path::{Path, PathBuf};

use headway_units::Bytes;

/// The memory that is left, and whose limit that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that may still be taken.
    pub left: Bytes,
    /// Whose limit is the nearest.
    pub of: Limit,
}

/// Who limits memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The machine has no more (`MemAvailable` in /proc/meminfo).
    Machine,
    /// The control group, such as that of a container (`memory.max`).
    ControlGroup,
    /// The process' own limit on its address space or its data (`ulimit -v`, `ulimit -d`).
    Process,
}

impl Limit {
    /// What has so much left, for people.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Machine => "this machine",
            Limit::ControlGroup => "its control group (container)",
            Limit::Process => "its limit (ulimit)",
        }
    }
}

impl Room {
    /// The room there is now; `None` where the system does not say.
    pub fn now() -> Option<Room> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let machine = field(&read("/proc/meminfo"), "MemAvailable:").map(|kib| kib * 1024);
        let status = read("/proc/self/status");
        let (limits, used) = (read("/proc/self/limits"), |name| field(&status, name).map_or(0, |kib| kib * 1024));
        let own = [("Max address space", "VmSize:"), ("Max data size", "VmData:")];
        let own = own.into_iter().filter_map(|(limit, name)| Some(soft(&limits, limit)?.saturating_sub(used(name))));
        let group = groups(&read("/proc/self/cgroup")).filter_map(|group| group.left()).min();
        let all = [(machine, Limit::Machine), (group, Limit::ControlGroup), (own.min(), Limit::Process)];
        let all = all.into_iter().filter_map(|(left, of)| Some(Room { left: Bytes::new(left?), of }));
        all.min_by_key(|room| room.left)
    }
}

/// `bytes` for people: `820 MB`, `23.5 GB`.
pub fn text(bytes: Bytes) -> String {
    let bytes = bytes.get() as f64;
    let (unit, name) = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit)
        .unwrap_or((1e6, "MB"));
    let amount = bytes / unit;
    if amount < 10.0 { format!("{amount:.1} {name}") } else { format!("{amount:.0} {name}") }
}

/// The first number in the line that begins with `name`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// A soft limit in bytes of /proc/self/limits; none if it is unlimited.
fn soft(limits: &str, name: &str) -> Option<u64> {
    field(limits, name)
}

/// A control group with a say in memory: its folder, and the names of its files.
struct Group {
    folder: PathBuf,
    files: [&'static str; 2],
}

impl Group {
    /// What it has left; `None` if it has no limit. Pages of files that nobody uses can be given up.
    fn left(&self) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let [limit, used] = self.files.map(number);
        // version 1 writes "no limit" as the largest multiple of a page
        let limit = limit.filter(|&limit| limit < 1 << 62)?;
        let files = read("memory.stat").and_then(|stat| field(&stat, "inactive_file")).unwrap_or(0);
        Some(limit.saturating_sub(used?.saturating_sub(files)))
    }
}

/// The control groups that /proc/self/cgroup names, with all above them.
fn groups(own: &str) -> impl Iterator<Item = Group> + '_ {
    own.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let place = match controllers {
            "" => Some(("/sys/fs/cgroup", ["memory.max", "memory.current"])),
            _ if controllers.split(',').any(|one| one == "memory") => {
                Some(("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"]))
            }
            _ => None,
        };
        let above = Path::new(path).ancestors().map(|path| path.strip_prefix("/").unwrap_or(path).to_path_buf());
        let above: Vec<PathBuf> = above.collect();
        place.into_iter().flat_map(move |(root, files)| {
            let of = |path: &PathBuf| Group { folder: Path::new(root).join(path), files };
            above.iter().map(of).collect::<Vec<_>>()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         4294967296           unlimited            bytes     \n";
        assert_eq!(soft(limits, "Max address space"), Some(4 << 30));
        assert_eq!(soft(limits, "Max data size"), None);
        assert_eq!(field("MemTotal:  10 kB\nMemAvailable:   23 kB\n", "MemAvailable:"), Some(23));
        let folders = |own: &str| groups(own).map(|group| group.folder.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            folders("0::/user.slice/a\n"),
            ["/sys/fs/cgroup/user.slice/a", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/"]
        );
        assert_eq!(folders("5:cpu:/x\n4:memory:/\n"), ["/sys/fs/cgroup/memory/"]);
    }

    #[test]
    fn a_group_has_left_what_it_does_not_use() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let left = || Group { folder: folder.path().to_path_buf(), files: ["memory.max", "memory.current"] }.left();
        write("memory.max", "1000\n");
        write("memory.current", "700\n");
        assert_eq!(left(), Some(300));
        write("memory.stat", "anon 500\ninactive_file 150\n");
        assert_eq!(left(), Some(450));
        write("memory.max", "max\n");
        assert_eq!(left(), None);
        write("memory.max", &(u64::MAX >> 1).to_string());
        assert_eq!(left(), None);
    }

    /// On Linux there is always a machine.
    #[test]
    fn there_is_room() {
        assert!(Room::now().is_some_and(|room| room.left > Bytes::new(1 << 20)));
    }
}
