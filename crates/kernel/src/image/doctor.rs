//! What this machine lacks for kernel hosts.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use serde::Serialize;

use super::files::PROGRAMS;
use super::machine::{Machine, PACKAGE, TOOLS, install};
use super::{Image, needs, own, probe};

/// What building needs while it runs: sources of 1.65 GB, objects of 0.15 GB, and some air.
const DISK: u64 = 2_200_000_000;
/// Below this, compilers or guests may find no memory: two compilers take 0.5 GB, a guest up to what it is given.
const MEMORY: u64 = 1_000_000_000;
/// The memory of guests is a file where the machine keeps shared memory; 16 small ones take this much.
const SHARED: u64 = 512_000_000;

/// How a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it should be.
    Good,
    /// Not needed at present, or less than is comfortable.
    Warning,
    /// Needed, and not there.
    Missing,
}

/// Something that kernel hosts, or building kernels for them, depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do about it, unless it is good; a command for root where one helps.
    pub remedy: Option<String>,
}

/// Looks at this machine. What only building needs is a warning where there is a kernel already.
pub fn doctor() -> Vec<Finding> {
    examine(&Machine::here())
}

fn good(name: &'static str, found: impl Into<String>) -> Finding {
    Finding { name, state: State::Good, found: found.into(), remedy: None }
}

fn bad(name: &'static str, state: State, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { name, state, found: found.into(), remedy: Some(remedy.into()) }
}

fn examine(machine: &Machine) -> Vec<Finding> {
    let image = image(machine);
    let build = if image.state == State::Good { State::Warning } else { State::Missing };
    let mut findings = vec![platform(), ptrace(), executable_memory(), shared_memory(), memory(), embedded(), image];
    for tool in &TOOLS {
        findings.push(match machine.program(tool.name) {
            Some(path) => good(tool.name, path.display().to_string()),
            None => bad(tool.name, build, format!("not found; it {}", tool.what_for), install([tool.package])),
        });
    }
    findings.push(headers(machine, build));
    findings.push(static_library(machine, build));
    for (name, package) in PROGRAMS {
        findings.push(match machine.program(name) {
            Some(path) => good(name, path.display().to_string()),
            None => bad(name, build, "not found; kernel hosts have it", install([package])),
        });
    }
    findings.push(source(machine, build));
    findings.push(disk(machine, build));
    findings
}

fn platform() -> Finding {
    let found = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    if found == "linux x86_64" {
        good("platform", found)
    } else {
        bad("platform", State::Missing, found, "kernel hosts run on x86-64 Linux alone; all else works here")
    }
}

fn ptrace() -> Finding {
    match probe::ptrace() {
        Ok(()) => good("ptrace", "processes may trace their children"),
        Err(error) => {
            let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
            let remedy = match scope.trim() {
                "2" => "sysctl -w kernel.yama.ptrace_scope=1",
                "3" => "set kernel.yama.ptrace_scope = 1 in /etc/sysctl.d and start the machine again",
                _ => "in a container, allow it: --cap-add SYS_PTRACE --security-opt seccomp=unconfined",
            };
            bad("ptrace", State::Missing, format!("processes may not trace their children: {error}"), remedy)
        }
    }
}

/// Where User-Mode Linux keeps the memory of guests (arch/um/os-Linux/mem.c), in an environment without `TMPDIR`.
fn memory_folder() -> &'static Path {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let tmpfs = mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq(["/dev/shm", "tmpfs"]));
    Path::new(if tmpfs { "/dev/shm" } else { "/tmp" })
}

fn executable_memory() -> Finding {
    let folder = memory_folder();
    match probe::executable(folder) {
        Ok(()) => good("executable memory", format!("files in {} may be", folder.display())),
        Err(error) => bad(
            "executable memory",
            State::Missing,
            format!("files in {} may not be: {error}", folder.display()),
            format!("mount -o remount,exec {}", folder.display()),
        ),
    }
}

fn shared_memory() -> Finding {
    let folder = memory_folder();
    let name = "shared memory";
    let Some(free) = free(folder) else { return good(name, "cannot tell") };
    let found = format!("{} free in {}, where the memory of kernel hosts is", size(free), folder.display());
    if free >= SHARED {
        good(name, found)
    } else {
        let remedy = format!("mount -o remount,size=2G {} (for a container: --shm-size 2g)", folder.display());
        bad(name, State::Warning, found, remedy)
    }
}

fn memory() -> Finding {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    match kibibytes.map(|kibibytes| kibibytes * 1024) {
        Some(bytes) if bytes >= MEMORY => good("memory", format!("{} available", size(bytes))),
        Some(bytes) => {
            bad("memory", State::Warning, format!("{} available", size(bytes)), "build with --jobs 1, run fewer hosts")
        }
        None => good("memory", "cannot tell"),
    }
}

fn embedded() -> Finding {
    match own::own() {
        Ok(own) => {
            let daemons = own.daemons.iter().map(|(name, program)| format!(", {name} {}", size(program.len() as u64)));
            let daemons: String = daemons.collect();
            good("agent", format!("part of this headway, {}{daemons}", size(own.agent.len() as u64)))
        }
        Err(error) => {
            let text = error.to_string();
            let (found, remedy) = text.split_once('\n').unwrap_or((&text, "build headway again"));
            bad("agent", State::Missing, found, remedy)
        }
    }
}

fn image(machine: &Machine) -> Finding {
    let build = "headway kernel build";
    let images = machine.kernels().and_then(Image::list_in);
    match images {
        Ok(images) if images.is_empty() => bad("kernel", State::Warning, "none has been built yet", build),
        Ok(images) => match Image::unasked(&images).filter(|image| image.is_current()).or_else(|| current(&images)) {
            Some(image) => good("kernel", image.title()),
            None => bad("kernel", State::Warning, "all were made by another version of headway", build),
        },
        Err(error) => bad("kernel", State::Missing, error.to_string(), "set HEADWAY_CACHE to a folder of yours"),
    }
}

fn current(images: &[Image]) -> Option<&Image> {
    images.iter().find(|image| image.is_current())
}

fn headers(machine: &Machine, build: State) -> Finding {
    let name = "headers";
    let missing = needs::missing_headers(machine);
    if machine.program("gcc").is_none() {
        return bad(name, build, "cannot tell without gcc", install(["libc6-dev"]));
    }
    if missing.is_empty() {
        return good(name, "gcc finds those of the C library and of the kernel");
    }
    let names: Vec<&str> = missing.iter().map(|(header, _)| *header).collect();
    let packages = install(missing.iter().map(|(_, package)| *package));
    bad(name, build, format!("gcc does not find {}", names.join(", ")), packages)
}

fn static_library(machine: &Machine, build: State) -> Finding {
    match needs::static_library(machine) {
        Some(path) => good("static C library", path.display().to_string()),
        None => bad("static C library", build, "not found; the kernel is linked with it", install(["libc6-dev"])),
    }
}

fn source(machine: &Machine, build: State) -> Finding {
    let name = "kernel source";
    if machine.tarball.is_file() {
        return good(name, machine.tarball.display().to_string());
    }
    if needs::has_source(machine) {
        return good(name, format!("apt knows {PACKAGE}; it is downloaded when a kernel is built"));
    }
    let found = format!("{} is not there, and apt knows no such package", machine.tarball.display());
    bad(name, build, found, format!("{} (or name a source tree with --source)", install([PACKAGE])))
}

fn disk(machine: &Machine, build: State) -> Finding {
    let name = "disk";
    let Some(folder) = machine.kernels.as_deref().and_then(existing) else { return good(name, "cannot tell") };
    let Some(free) = free(&folder) else { return good(name, "cannot tell") };
    let found = format!("{} free in {}; building takes {}", size(free), folder.display(), size(DISK));
    if free >= DISK { good(name, found) } else { bad(name, build, found, "set HEADWAY_CACHE to a folder with space") }
}

/// The folder, or the nearest one above it that is there.
fn existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_path_buf)
}

fn free(folder: &Path) -> Option<u64> {
    statvfs(folder).ok().map(|about| about.f_bavail * about.f_frsize)
}

fn size(bytes: u64) -> String {
    if bytes >= 1_000_000_000 {
        format!("{:.1} GB", bytes as f64 / 1e9)
    } else {
        format!("{:.1} MB", bytes as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn state(findings: &[Finding], name: &str) -> State {
        findings.iter().find(|finding| finding.name == name).unwrap_or_else(|| panic!("no finding `{name}`")).state
    }

    fn program(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn machine(place: &Path) -> Machine {
        let path = place.join("bin");
        fs::create_dir_all(&path).unwrap();
        let (path, tarball, kernels) = (path.into(), place.join("source.tar.xz"), Some(place.join("cache/kernels")));
        Machine { path, tarball, kernels }
    }

    #[test]
    fn an_empty_machine_lacks_everything_and_says_how_to_get_it() {
        let place = tempfile::tempdir().unwrap();
        let findings = examine(&machine(place.path()));
        for name in ["gcc", "flex", "bc", "busybox", "ip", "iperf3", "kernel source", "headers", "static C library"] {
            assert_eq!(state(&findings, name), State::Missing, "{name}");
        }
        assert_eq!(state(&findings, "kernel"), State::Warning);
        for finding in &findings {
            assert_eq!(finding.remedy.is_none(), finding.state == State::Good, "{finding:?}");
            let lines = finding.remedy.iter().map(String::as_str).chain([finding.found.as_str()]);
            assert!(lines.clone().all(|text| !text.is_empty() && !text.contains('\n')), "{finding:?}");
        }
        let remedy = |name| findings.iter().find(|finding| finding.name == name).unwrap().remedy.clone().unwrap();
        assert_eq!(remedy("gcc"), "apt-get install gcc libc6-dev");
        assert_eq!(remedy("busybox"), "apt-get install busybox-static");
    }

    #[test]
    fn what_is_there_is_good() {
        let place = tempfile::tempdir().unwrap();
        let machine = machine(place.path());
        let bin = place.path().join("bin");
        for name in ["ld", "make", "flex", "bison", "bc", "patch", "tar", "xz", "ldd", "dpkg-deb"] {
            program(&bin, name, "");
        }
        for (name, _) in PROGRAMS {
            program(&bin, name, "");
        }
        program(&bin, "gcc", "echo /usr/lib/libc.a");
        program(&bin, "apt-cache", "echo Version: 6.12.1-1");
        let findings = examine(&machine);
        for name in ["gcc", "ldd", "busybox", "tc", "kernel source", "headers", "static C library"] {
            assert_eq!(state(&findings, name), State::Good, "{name}");
        }
        program(&bin, "apt-cache", "exit 100");
        assert_eq!(state(&examine(&machine), "kernel source"), State::Missing);
        fs::write(place.path().join("source.tar.xz"), "").unwrap();
        assert_eq!(state(&examine(&machine), "kernel source"), State::Good);
    }

    #[test]
    fn space_is_that_of_the_nearest_folder() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(existing(&place.path().join("a/b")).as_deref(), Some(place.path()));
        assert!(free(place.path()).is_some_and(|bytes| bytes > 0));
    }
}
