//! The programs that run for as long as a host does: how they are started, and how they say that they are ready.
//!
//! As systemd does for services of `Type=notify`: sd_notify(3), systemd.exec(5) (`RUNTIME_DIRECTORY`).

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use headway_agent::protocol;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::clock::now_ns;
use crate::command::{self, Command};
use crate::report::{Failure, because};

/// So long before the epoch it must be ready: the rest of set-up needs some time, too.
const MARGIN_NS: u64 = 100_000_000;
/// The longest notice that is read; systemd's own limit is the page size.
const NOTICE: usize = 4096;
/// Of what it wrote, an error shows the last bytes and lines.
const SHOWN_BYTES: u64 = 2000;
const SHOWN_LINES: usize = 10;

/// A daemon that is ready.
pub struct Daemon {
    /// The program.
    pub command: Command,
    /// Becomes readable when it is over.
    pub over: OwnedFd,
    /// Becomes readable when it says something more.
    pub notices: UnixDatagram,
}

/// Starts a daemon and waits until it is ready, which it must be a moment before `epoch_ns`.
pub fn start(
    asked: &protocol::Daemon,
    share: &Path,
    host: usize,
    folder: &Path,
    epoch_ns: u64,
) -> Result<Daemon, Failure> {
    let name = &asked.name;
    let Some((program, arguments)) = asked.words.split_first() else {
        return Err(Failure(format!("daemon `{name}` has no program")));
    };
    let failed = |what: &str| because(format!("daemon `{name}`: {what}"));
    fs::create_dir_all(folder).map_err(failed("no folder for it"))?;
    for (file, content) in &asked.files {
        if file.contains('/') {
            return Err(Failure(format!("daemon `{name}`: `{file}` is not a file's name")));
        }
        fs::write(folder.join(file), content).map_err(failed("its files cannot be written"))?;
    }
    let socket = folder.join(format!("{name}.notify"));
    let notices = UnixDatagram::bind(&socket).map_err(failed("no socket for its notices"))?;
    notices.set_nonblocking(true).map_err(failed("no socket for its notices"))?;
    let mut process = std::process::Command::new(program);
    process.args(arguments).current_dir(folder).env("NOTIFY_SOCKET", &socket).env("RUNTIME_DIRECTORY", folder);
    let command = asked.command();
    let wrote = || last_words(share, host, &command);
    let (mut command, over) = Command::spawn(&command, process, share, host, now_ns)?;
    fs::write(folder.join(format!("{name}.pid")), format!("{}\n", command.id()))
        .map_err(failed("its process cannot be noted"))?;
    let begin_ns = now_ns();
    let until_ns = epoch_ns.saturating_sub(MARGIN_NS);
    loop {
        let left = until_ns.saturating_sub(now_ns());
        let timeout = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
        let mut ready = [PollFd::new(&notices, PollFlags::IN), PollFd::new(&over, PollFlags::IN)];
        match poll(&mut ready, Some(&timeout)) {
            Ok(0) => {
                command.kill();
                let waited = until_ns.saturating_sub(begin_ns) / 1_000_000;
                let text = format!("daemon `{name}` did not say within {waited} ms that it is ready{}", wrote());
                return Err(Failure(text));
            }
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(failed("cannot wait for it")(error.into())),
        }
        if is_ready(&notices).map_err(failed("its notice cannot be read"))? {
            return Ok(Daemon { command, over, notices });
        }
        if !ready[1].revents().is_empty() {
            let protocol::Report::Command { code, .. } = command.over(now_ns())? else {
                unreachable!("a command's report")
            };
            return Err(Failure(format!("daemon `{name}` ended with code {code} before it was ready{}", wrote())));
        }
    }
}

/// Reads what is there; whether one of the notices says that the daemon is ready.
fn is_ready(notices: &UnixDatagram) -> io::Result<bool> {
    let mut buffer = [0; NOTICE];
    loop {
        match notices.recv(&mut buffer) {
            Ok(length) if buffer[..length].split(|byte| *byte == b'\n').any(|line| line == b"READY=1") => {
                return Ok(true);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Reads what is there, so that nobody waits to say more.
pub fn discard(notices: &UnixDatagram) {
    while notices.recv(&mut [0; NOTICE]).is_ok() {}
}

/// The end of what it wrote to its standard error, or else output, to follow an error; nothing if it wrote nothing.
fn last_words(share: &Path, host: usize, command: &str) -> String {
    for end in ["stderr", "stdout"] {
        let text = tail(&command::output(share, host, command, end)).unwrap_or_default();
        let lines: Vec<&str> = text.trim().lines().collect();
        let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
        if !shown.is_empty() {
            return format!(": {shown}");
        }
    }
    String::new()
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SHOWN_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(SHOWN_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
