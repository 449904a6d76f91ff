//! The programs a host runs beside its flows.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use headway_agent::protocol::{self, FILES, OUT, Report};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::report::{Failure, because};
use crate::sys;

/// The largest file that a command can write: its output must not fill the disk of the machine outside.
const FILE_BYTES: u64 = 64 << 20;

/// The file of what it writes to its standard output (`stdout`) or error (`stderr`).
pub fn output(share: &Path, host: usize, name: &str, end: &str) -> PathBuf {
    share.join(OUT).join(host.to_string()).join(format!("{name}.{end}"))
}

/// A command that was started.
pub struct Command {
    name: String,
    start_ns: u64,
    child: Child,
    group: Option<Pid>,
    over: bool,
    stopped: bool,
    killed: bool,
}

impl Command {
    /// Starts it; also gives what becomes readable when it is over.
    pub fn start(
        command: &protocol::Command,
        share: &Path,
        host: usize,
        now: impl FnOnce() -> u64,
    ) -> Result<(Self, OwnedFd), Failure> {
        // on a machine that is not a guest the user's files are beside the configuration
        let beside = share.join("files");
        let here = [beside.as_path(), Path::new(FILES)].into_iter().find(|folder| folder.is_dir());
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &command.shell]).current_dir(here.unwrap_or(Path::new("/tmp")));
        Self::spawn(&command.name, shell, share, host, now)
    }

    /// Starts a program by this name; also gives what becomes readable when it is over.
    pub fn spawn(
        name: &str,
        mut program: std::process::Command,
        share: &Path,
        host: usize,
        now: impl FnOnce() -> u64,
    ) -> Result<(Self, OwnedFd), Failure> {
        let output = |end: &str| {
            File::create(output(share, host, name, end))
                .map_err(because(format!("command `{name}`: its output cannot be written")))
        };
        program.stdin(Stdio::null()).stdout(output("stdout")?).stderr(output("stderr")?);
        sys::on_its_own(&mut program, FILE_BYTES);
        let start_ns = now();
        let child = program.spawn().map_err(because(format!("command `{name}` cannot be started")))?;
        let group = Pid::from_raw(child.id().cast_signed());
        let over = group
            .ok_or(rustix::io::Errno::SRCH)
            .and_then(|id| rustix::process::pidfd_open(id, PidfdFlags::empty()))
            .map_err(because(format!("command `{name}` cannot be watched")))?;
        Ok((Self { name: name.to_owned(), start_ns, child, group, over: false, stopped: false, killed: false }, over))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its report, after it was seen to be over.
    pub fn over(&mut self, end_ns: u64) -> Result<Report, Failure> {
        let status = self.child.wait().map_err(because(format!("command `{}` cannot be waited for", self.name)))?;
        self.over = true;
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(Report::Command { name: self.name.clone(), start_ns: self.start_ns, end_ns, code })
    }

    /// Whether it, or something it started that was not killed, is still there.
    pub fn is_there(&self) -> bool {
        let group = |group| rustix::process::test_kill_process_group(group).is_ok();
        !self.over || (!self.killed && self.group.is_some_and(group))
    }

    /// Tells it and all it started to end, if it was not told before; says whether it was told now.
    pub fn stop(&mut self) -> bool {
        let first = !self.stopped;
        if first {
            self.signal(Signal::TERM);
        }
        self.stopped = true;
        first
    }

    /// Ends it and all it started.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.killed = true;
    }

    fn signal(&self, signal: Signal) {
        // The only error there can be is that nothing is left.
        _ = self.group.map(|group| rustix::process::kill_process_group(group, signal));
    }
}
