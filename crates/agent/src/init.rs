//! Process 1: sets the guest up, has each host run by a process of its own, powers off.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use headway_agent::protocol::{CONFIG, Config, FILES, Host, RUN, Report, SHARE, SYSTEM};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};
use rustix::system::RebootCommand;

use crate::report::{Failure, Writer, because};
use crate::{setup, sys, worker};

/// What a host's process exits with when its report says why it failed.
const REPORTED: i32 = 3;
/// Open files, that is connections, that a host may have.
const FILES_LIMIT: u64 = 1 << 18;

/// Where this runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a guest of its own.
    Guest,
    /// On a machine that it must leave as it is.
    Ordinary,
}

/// Runs the guest from boot to power-off.
pub fn guest() -> ! {
    let share = Path::new(SHARE);
    if let Err(failure) = prepare().and_then(|()| run(share, Place::Guest)) {
        tell(share, 0, failure);
    }
    rustix::fs::sync();
    // Where the power cannot be switched off, process 1 has to stay.
    loop {
        if let Err(error) = rustix::system::reboot(RebootCommand::PowerOff) {
            eprintln!("cannot power off: {error}");
        }
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
}

/// Runs the hosts of the configuration in this folder on this machine. There can be several only if they have no
/// interfaces.
pub fn ordinary(share: &Path) -> ExitCode {
    // who started this may be killed, and nothing shall be left then
    _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    match run(share, Place::Ordinary) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            tell(share, 0, failure);
            ExitCode::FAILURE
        }
    }
}

/// Puts a failure into a host's report and on the console, which is all there is if the folder could not be mounted.
fn tell(share: &Path, place: usize, Failure(message): Failure) {
    eprintln!("host {place}: {message}");
    let told = Writer::open(share, place)
        .map_err(because("the report cannot be opened"))
        .and_then(|mut report| report.add_now(&Report::Failed { message }));
    if let Err(Failure(why)) = told {
        eprintln!("host {place}: {why}");
    }
}

fn prepare() -> Result<(), Failure> {
    let quiet = MountFlags::NOSUID | MountFlags::NODEV;
    attach("proc", "/proc", quiet, None)?;
    attach("sysfs", "/sys", quiet, None)?;
    attach("devtmpfs", "/dev", MountFlags::NOSUID, None)?;
    // A kernel for hosts needs no terminals.
    _ = attach("devpts", "/dev/pts", MountFlags::NOSUID, None);
    attach("tmpfs", "/tmp", quiet, Some(c"mode=1777"))?;
    attach("tmpfs", "/run", quiet, Some(c"mode=755"))?;
    attach("hostfs", SHARE, quiet, Some(c"share"))?;
    // An image may have all its programs among the first files.
    _ = attach("hostfs", SYSTEM, MountFlags::RDONLY | quiet, Some(c"system"));
    // What programs expect there, and udev makes elsewhere.
    for (link, target) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        _ = std::os::unix::fs::symlink(format!("/proc/self/{target}"), format!("/dev/{link}"));
    }
    // Otherwise the kernel keeps up to 4 MB of a small guest's memory free to fight fragmentation.
    _ = std::fs::write("/proc/sys/vm/watermark_boost_factor", "0");
    sys::set_environment("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    sys::set_environment("HOME", "/root");
    Ok(())
}

/// Mounts a file system that has no device.
fn attach(kind: &str, at: &str, flags: MountFlags, data: Option<&CStr>) -> Result<(), Failure> {
    std::fs::create_dir_all(at).map_err(because(format!("cannot make {at}")))?;
    match mount(kind, at, kind, flags, data) {
        Ok(()) | Err(Errno::BUSY) => Ok(()),
        Err(error) => Err(because(format!("cannot mount {at}"))(error)),
    }
}

/// Runs everything; false if a host failed, which its report then says.
fn run(share: &Path, place: Place) -> Result<bool, Failure> {
    let path = share.join(CONFIG);
    let file = File::open(&path).map_err(because(format!("cannot open {}", path.display())))?;
    let config: Config =
        serde_json::from_reader(BufReader::new(file)).map_err(because(format!("{} is not valid", path.display())))?;
    if config.hosts.is_empty() {
        return Err(Failure("there are no hosts".to_owned()));
    }
    raise_limit();
    if place == Place::Guest {
        if config.files {
            attach("hostfs", FILES, MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV, Some(c"files"))?;
        }
        std::fs::create_dir_all("/etc")
            .and_then(|()| std::fs::write("/etc/hosts", names(&config)))
            .map_err(because("cannot write /etc/hosts"))?;
    } else if config.hosts.len() > 1 && config.hosts.iter().any(|host| host.interfaces > 0) {
        return Err(Failure("several hosts with interfaces need a guest of their own".to_owned()));
    }
    let hosts = start(&config, share, place)?;
    Ok(wait(hosts, share))
}

/// Raises the number of files that may be open as far as allowed.
fn raise_limit() {
    let now = rustix::process::getrlimit(Resource::Nofile);
    let limit = |maximum| Rlimit { current: Some(maximum), maximum: Some(maximum) };
    if rustix::process::setrlimit(Resource::Nofile, limit(FILES_LIMIT)).is_err() {
        let allowed = Rlimit { current: now.maximum, maximum: now.maximum };
        _ = rustix::process::setrlimit(Resource::Nofile, allowed);
    }
}

/// The text of `/etc/hosts`.
fn names(config: &Config) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (address, name) in &config.names {
        _ = writeln!(text, "{address} {name}");
    }
    text
}

/// The hosts' processes, with the places of the hosts.
type Processes = BTreeMap<i32, (usize, String)>;

/// Starts a process for each host. Several wait until all have their namespaces and interfaces.
fn start(config: &Config, share: &Path, place: Place) -> Result<Processes, Failure> {
    let several = config.hosts.len() > 1;
    let no_pipe = || because::<Errno>("no pipe");
    let (apart, say_apart) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe())?;
    let (go, say_go) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe())?;
    let mut processes = Processes::new();
    let mut ids = Vec::new();
    for (number, host) in config.hosts.iter().enumerate() {
        match sys::fork() {
            Ok(None) => {
                drop((apart, say_go));
                let meet = several.then_some((say_apart, go));
                std::process::exit(become_host(config, number, share, place, meet));
            }
            Ok(Some(id)) => {
                ids.push(id);
                processes.insert(id.as_raw_nonzero().get(), (number, host.name.clone()));
            }
            Err(error) => {
                end(processes);
                return Err(because("no process for each host")(error));
            }
        }
    }
    drop((say_apart, go));
    if several {
        let mut arrived = Vec::new();
        let result = File::from(apart).read_to_end(&mut arrived).map_err(because("cannot wait for the hosts"));
        // One that did not arrive has said why, or is found by `wait`.
        if arrived.len() == ids.len()
            && let Err(failure) = result.and_then(|_| deal(&config.hosts, &ids))
        {
            end(processes);
            return Err(failure);
        }
    }
    drop(say_go);
    Ok(processes)
}

/// What a host's process does; gives its exit code.
fn become_host(config: &Config, number: usize, share: &Path, place: Place, meet: Option<(OwnedFd, OwnedFd)>) -> i32 {
    _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let mut report = match Writer::open(share, number) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("host {number}: the report cannot be opened: {error}");
            return 1;
        }
    };
    // A machine that is to stay as it is has no place for the files of its hosts' daemons but the folder.
    let folder = match place {
        Place::Guest => PathBuf::from(RUN),
        Place::Ordinary => share.join("run").join(number.to_string()),
    };
    let result = isolate(&config.hosts[number], place, meet)
        .and_then(|()| worker::run(config, number, share, &folder, &mut report));
    match result {
        Ok(()) => 0,
        Err(Failure(message)) => {
            eprintln!("host {number}: {message}");
            if report.add_now(&Report::Failed { message }).is_ok() { REPORTED } else { 1 }
        }
    }
}

/// Gives a host its namespace and name, and waits until its interfaces are there. With nobody to meet it is alone and
/// stays where it is.
fn isolate(host: &Host, place: Place, meet: Option<(OwnedFd, OwnedFd)>) -> Result<(), Failure> {
    let mut named = place == Place::Guest;
    let own = named || meet.is_some();
    if let Some((say_apart, go)) = meet {
        // Without namespaces for names all hosts would rename the one machine.
        named = sys::unshare().map_err(because("no network namespace"))?;
        rustix::io::write(&say_apart, &[0]).map_err(because("cannot meet the others"))?;
        drop(say_apart);
        if place == Place::Guest && !host.daemons.is_empty() {
            sys::unshare_mounts().map_err(because("no mount namespace"))?;
            attach("tmpfs", "/run", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=755"))?;
        }
        File::from(go).read_to_end(&mut Vec::new()).map_err(because("cannot meet the others"))?;
    }
    if named {
        rustix::system::sethostname(host.name.as_bytes()).map_err(because("cannot set the host's name"))?;
    }
    if own {
        sys::loopback_up().map_err(because("cannot switch `lo` on"))?;
    }
    Ok(())
}

/// Deals the guest's interfaces to the hosts' namespaces.
fn deal(hosts: &[Host], ids: &[Pid]) -> Result<(), Failure> {
    let mut lines = String::new();
    let mut next = 0;
    for (host, id) in hosts.iter().zip(ids) {
        for interface in 0..host.interfaces {
            // An interface moves first and is renamed then. Its number is at least the new one, and lower ones are
            // renamed already, so neither name is in use.
            _ = writeln!(lines, "link set dev eth{next} netns {id} name eth{interface}");
            next += 1;
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let words = ["ip", "-batch", "-"].map(str::to_owned);
    let (input, give) = pipe_with(PipeFlags::CLOEXEC).map_err(because("no pipe"))?;
    // A pipe holds 64 KiB, the lines of more than a thousand interfaces; more would need a reader first.
    rustix::io::write(&give, lines.as_bytes()).map_err(because("no pipe"))?;
    drop(give);
    setup::judge(&words, Command::new(&words[0]).args(&words[1..]).stdin(Stdio::from(input)).output())
}

/// Waits until all hosts are done or one has failed; says which.
fn wait(mut hosts: Processes, share: &Path) -> bool {
    while !hosts.is_empty() {
        // Process 1 also gets what commands leave behind.
        let (id, status) = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((id, status))) => (id, status),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(error) => {
                tell(share, 0, because("cannot wait for the hosts")(error));
                return false;
            }
        };
        let Some((place, name)) = hosts.remove(&id.as_raw_nonzero().get()) else { continue };
        match status.exit_status() {
            Some(0) => {}
            code => {
                if code != Some(REPORTED) {
                    tell(share, place, died(&name, status));
                }
                end(hosts);
                return false;
            }
        }
    }
    true
}

fn died(name: &str, status: WaitStatus) -> Failure {
    Failure(match status.terminating_signal() {
        Some(9) => format!("the process of host `{name}` was killed: the guest may need more memory"),
        Some(signal) => format!("the process of host `{name}` died by signal {signal}"),
        None => format!("the process of host `{name}` ended with status {}", status.exit_status().unwrap_or(-1)),
    })
}

/// Ends all hosts.
fn end(hosts: Processes) {
    for id in hosts.into_keys().filter_map(Pid::from_raw) {
        _ = rustix::process::kill_process(id, Signal::KILL);
        _ = rustix::process::waitpid(Some(id), WaitOptions::empty());
    }
}
