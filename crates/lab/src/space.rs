//! Network namespaces: made by name, and removed by name with all processes in them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal};

use crate::error::LabError;
use crate::program;

/// Where `ip netns` keeps namespaces (ip-netns(8)).
const FOLDER: &str = "/run/netns";
/// How names begin; the process and a number follow.
const PREFIX: &str = "hw-";
/// Processes that were killed are gone after this time at the latest, but for those that the kernel keeps.
const PATIENCE: Duration = Duration::from_secs(5);

/// The namespaces of a run; gone, with their processes, when this is dropped.
#[derive(Debug)]
pub struct Spaces {
    names: Vec<String>,
}

impl Spaces {
    /// Makes `count` of them; `folder` is for files that are needed in between.
    pub fn create(count: usize, folder: &Path) -> Result<Spaces, LabError> {
        let own = std::process::id();
        let names: Vec<String> = (0..count).map(|number| format!("{PREFIX}{own}-{number}")).collect();
        let line = |name: &String| format!("netns add {name}\n");
        let lines: String = names.iter().map(line).collect();
        // from here on those that are made are removed, whatever happens
        let spaces = Spaces { names };
        program::batch("namespaces", &["ip"], &lines, &folder.join("namespaces"))?;
        Ok(spaces)
    }

    /// The name of number `place`.
    pub fn name(&self, place: usize) -> &str {
        &self.names[place]
    }

    /// Removes them. An error names what is left.
    pub fn remove(mut self) -> Result<(), LabError> {
        remove(&std::mem::take(&mut self.names))
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        // an error is already under way, or a panic
        let _ = remove(&self.names);
    }
}

/// Removes what processes that were killed left behind; this process may have nothing there.
pub fn remove_leftovers() -> Result<(), LabError> {
    remove(&leftovers(Path::new(FOLDER), |process| Path::new("/proc").join(process.to_string()).exists()))
}

/// The names of namespaces whose process is gone, or is this one.
fn leftovers(folder: &Path, alive: impl Fn(u32) -> bool) -> Vec<String> {
    // there is no folder before the first namespace
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| owner(name).is_some_and(|process| process == std::process::id() || !alive(process)))
        .collect();
    names.sort();
    names
}

/// The process that made a namespace; nothing if the name is not one of ours.
fn owner(name: &str) -> Option<u32> {
    let (process, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(process) && digits(number)).then(|| process.parse().ok())?
}

fn remove(names: &[String]) -> Result<(), LabError> {
    let path = |name: &String| PathBuf::from(FOLDER).join(name);
    let there: Vec<&String> = names.iter().filter(|name| path(name).exists()).collect();
    if there.is_empty() {
        return Ok(());
    }
    // a namespace is known by the number of its file; a file that nothing is mounted on is no namespace
    let spaces: BTreeSet<(u64, u64)> =
        there.iter().filter_map(|name| fs::metadata(path(name)).ok()).map(|found| (found.dev(), found.ino())).collect();
    end_processes(&spaces);
    let mut first = None;
    for name in &there {
        if let Err(error) = program::run("namespaces", &["ip", "netns", "del", name]) {
            first.get_or_insert(error);
        }
    }
    first.map_or(Ok(()), Err)
}

/// Kills every process in these namespaces, one by one, and waits until they are gone.
fn end_processes(spaces: &BTreeSet<(u64, u64)>) {
    let until = Instant::now() + PATIENCE;
    // one that is being killed may have started another just before
    while Instant::now() < until {
        let inside = processes(spaces);
        if inside.is_empty() {
            return;
        }
        for id in inside {
            let Ok(handle) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { continue };
            // the number could have gone to another process since it was found; the handle's cannot
            if is_inside(id, spaces) {
                let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_inside(id: Pid, spaces: &BTreeSet<(u64, u64)>) -> bool {
    let space = fs::metadata(format!("/proc/{}/ns/net", id.as_raw_nonzero()));
    space.is_ok_and(|space| spaces.contains(&(space.dev(), space.ino())))
}

fn processes(spaces: &BTreeSet<(u64, u64)>) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(Pid::from_raw).filter(|&id| is_inside(id, spaces)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_have_an_owner() {
        assert_eq!(owner("hw-12-3"), Some(12));
        for other in
            ["hw-12", "hw--3", "hw-12-", "hw-1x-3", "hw-12-3-4", "hw-+1-2", "other", "xhw-1-2", "hw-99999999999-1"]
        {
            assert_eq!(owner(other), None, "{other}");
        }
    }

    #[test]
    fn leftovers_are_those_of_processes_that_are_gone() {
        let folder = std::env::temp_dir().join(format!("headway-space-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let own = format!("hw-{}-0", std::process::id());
        for name in ["hw-1000001-0", "hw-1000001-1", "hw-1000002-0", "mine", &own] {
            fs::write(folder.join(name), "").expect("a file");
        }
        let found = leftovers(&folder, |process| process == 1_000_002);
        fs::remove_dir_all(&folder).expect("it is there");
        let mut wanted = ["hw-1000001-0", "hw-1000001-1", &own].map(str::to_owned).to_vec();
        wanted.sort();
        assert_eq!(found, wanted);
        assert!(leftovers(&folder, |_| false).is_empty(), "no folder, no leftovers");
    }
}
