//! What this machine has for namespaces.

use std::fs;
use std::path::Path;

use crate::error::LabError;

/// Programs that runs need.
const PROGRAMS: [(&str, &str); 5] =
    [("ip", "iproute2"), ("tc", "iproute2"), ("unshare", "util-linux"), ("mount", "mount"), ("sh", "dash")];
/// Memory that the machine must have to spare: for programs, and for each host what its sockets hold.
const MEMORY: u64 = 128 << 20;
const MEMORY_PER_HOST: u64 = 16 << 20;

/// The machine as runs find it.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineInfo {
    /// The kernel's release.
    pub kernel: String,
    /// Congestion controls that it has.
    pub controls: Vec<String>,
    /// Those that all sockets of a namespace may have; the others are for sockets that ask.
    pub allowed: Vec<String>,
    /// Processors that this process may use.
    pub processors: usize,
    /// Processes that ran or wanted to, averaged over the last minute.
    pub load: f64,
}

fn words(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

impl MachineInfo {
    /// Looks at the machine.
    pub fn look() -> MachineInfo {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        MachineInfo {
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            controls: words("/proc/sys/net/ipv4/tcp_available_congestion_control"),
            allowed: words("/proc/sys/net/ipv4/tcp_allowed_congestion_control"),
            processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            load: load.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0),
        }
    }

    /// What to know before trusting results of this machine.
    pub fn warnings(&self) -> Vec<String> {
        let processors =
            if self.processors == 1 { "1 processor".to_owned() } else { format!("{} processors", self.processors) };
        let mut warnings = vec![format!(
            "times are those of this machine, Linux {} on {processors}, load {:.2} before the run: another run gives \
             other ones",
            self.kernel, self.load
        )];
        if self.load > self.processors as f64 / 2.0 {
            warnings.push("the machine was busy with something else when the run began".to_owned());
        }
        warnings
    }
}

/// Whether runs with so many hosts can begin at all.
///
/// # Errors
/// If they cannot: why, and what to do.
pub fn check(hosts: usize) -> Result<(), LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::Machine("network namespaces are made by root".to_owned()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if let Some((name, package)) = PROGRAMS.iter().find(|(name, _)| !there(name)) {
        return Err(LabError::Machine(format!("`{name}` is not there (apt-get install {package})")));
    }
    if !Path::new("/proc/self/ns/net").exists() {
        return Err(LabError::Machine("this kernel has no network namespaces".to_owned()));
    }
    let needed = MEMORY + MEMORY_PER_HOST * hosts as u64;
    match available_memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default()) {
        Some(free) if free < needed => {
            let [free, needed] = [free, needed].map(|bytes| bytes >> 20);
            Err(LabError::Machine(format!("{hosts} hosts need {needed} MiB of memory, and {free} MiB are free")))
        }
        _ => Ok(()),
    }
}

/// Bytes, from `/proc/meminfo`.
fn available_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(available_memory("MemTotal:  9 kB\nMemAvailable:   12 kB\n"), Some(12 * 1024));
        for other in ["", "MemAvailable: x kB\n", "MemAvailable: 12\n", "MemAvailable: 99999999999999999999 kB\n"] {
            assert_eq!(available_memory(other), None, "{other}");
        }
    }

    #[test]
    fn a_busy_machine_is_told_of() {
        let here =
            MachineInfo { kernel: "6.18".into(), controls: Vec::new(), allowed: Vec::new(), processors: 2, load: 0.5 };
        assert_eq!(here.warnings().len(), 1);
        assert!(here.warnings()[0].contains("Linux 6.18 on 2 processors, load 0.50"));
        assert_eq!(MachineInfo { load: 1.5, ..here }.warnings().len(), 2);
    }
}
