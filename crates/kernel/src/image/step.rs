//! Steps of a build: commands whose output goes to a log, and which end with us.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::error::{ImageError, io};

/// How many lines of a failed step are shown.
const TAIL: usize = 30;
/// How long a step may take to end when told to, before it is killed. Compilers remove their temporary files meanwhile; all
/// else is in a folder that is removed.
const GRACE: Duration = Duration::from_secs(1);

/// Runs steps.
pub struct Steps<'a> {
    log: File,
    path: PathBuf,
    stop: &'a AtomicBool,
}

impl<'a> Steps<'a> {
    /// With a new log at `path`; steps end when `stop` is set.
    pub fn new(path: &Path, stop: &'a AtomicBool) -> Result<Steps<'a>, ImageError> {
        let log = OpenOptions::new().create(true).write(true).truncate(true).open(path);
        // Appending, for our lines and those of the commands go to the same file.
        let log = log.and_then(|_| OpenOptions::new().read(true).append(true).open(path)).map_err(io("write", path))?;
        Ok(Steps { log, path: path.to_owned(), stop })
    }

    /// Fails if we are told to stop.
    pub fn go_on(&self) -> Result<(), ImageError> {
        if self.stop.load(Ordering::Relaxed) { Err(ImageError::Interrupted) } else { Ok(()) }
    }

    /// Runs a command. `seen` gets what it prints, some times a second.
    pub fn run(
        &mut self,
        step: &'static str,
        command: &mut Command,
        seen: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ImageError> {
        self.go_on()?;
        let program = command.get_program().display().to_string();
        let failed = |error| ImageError::Step {
            step,
            how: format!("{program} cannot be started: {error}"),
            tail: String::new(),
            log: self.path.clone(),
        };
        let start = writeln!(self.log, "== {step}").and_then(|()| self.log.seek(SeekFrom::End(0)));
        let start = start.map_err(io("write", &self.path))?;
        let (out, err) = (self.log.try_clone(), self.log.try_clone());
        command.stdin(Stdio::null());
        command.stdout(out.map_err(io("write", &self.path))?).stderr(err.map_err(io("write", &self.path))?);
        let mut child = Group::start(command).map_err(failed)?;
        let mut reader = File::open(&self.path).map_err(io("read", &self.path))?;
        reader.seek(SeekFrom::Start(start)).map_err(io("read", &self.path))?;
        let status = loop {
            let ended = child.0.try_wait().map_err(io("wait for", Path::new(step)))?;
            let mut fresh = Vec::new();
            reader.read_to_end(&mut fresh).map_err(io("read", &self.path))?;
            seen(&fresh);
            if let Some(status) = ended {
                break status;
            }
            self.go_on()?;
            sleep(Duration::from_millis(50));
        };
        if status.success() {
            return Ok(());
        }
        // Who presses Ctrl-C on a terminal ends the step, too, if it listens to it on its own.
        self.go_on()?;
        let mut text = Vec::new();
        reader.seek(SeekFrom::Start(start)).map_err(io("read", &self.path))?;
        reader.read_to_end(&mut text).map_err(io("read", &self.path))?;
        Err(ImageError::Step { step, how: how(status), tail: tail(&text), log: self.path.clone() })
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}

fn tail(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// A command in a process group of its own, so that all it starts can be ended; dropping it does.
struct Group(Child);

impl Group {
    fn start(command: &mut Command) -> io::Result<Group> {
        command.process_group(0);
        ends_with_us(command);
        command.spawn().map(Group)
    }
}

/// The kernel ends it when we are killed without a chance to.
#[expect(unsafe_code, reason = "a call between fork and exec")]
fn ends_with_us(command: &mut Command) {
    let set = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?);
    // SAFETY: between fork and exec, only what is async-signal-safe may be called; this is one system call, and
    // neither it nor the conversion of its error allocates.
    unsafe { command.pre_exec(set) };
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        let group = Pid::from_child(&self.0);
        let _ = kill_process_group(group, Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < GRACE && matches!(self.0.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(20));
        }
        // Whatever is left of the group, even if its first process is gone.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
        // Until the last of them is gone it may write to what is about to be removed. Those whose parent is gone are
        // waited for by another process, which may not come to it.
        let began = Instant::now();
        while began.elapsed() < GRACE && test_kill_process_group(group).is_ok() {
            sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn a_failed_step_shows_its_last_lines() {
        let place = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let mut steps = Steps::new(&place.path().join("log"), &never).unwrap();
        steps.run("first", &mut shell("echo before"), &mut |_| ()).unwrap();
        let mut seen = Vec::new();
        let mut command = shell("for i in $(seq 40); do echo line $i; done; exit 3");
        let error = steps.run("second", &mut command, &mut |text| seen.extend_from_slice(text)).unwrap_err();
        let ImageError::Step { step: "second", how, tail, log } = error else { panic!("{error}") };
        assert_eq!(how, "exit code 3");
        assert!(tail.starts_with("line 11\n") && tail.ends_with("line 40"), "{tail}");
        assert!(seen.starts_with(b"line 1\n"));
        assert!(std::fs::read_to_string(log).unwrap().contains("== first\nbefore\n"));
    }

    #[test]
    fn a_step_and_all_it_started_end_when_told_to() {
        let place = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut steps = Steps::new(&place.path().join("log"), &stop).unwrap();
        let began = Instant::now();
        let mut command = shell("sleep 60 & echo $!; wait");
        let mut seen = String::new();
        let error = steps.run("long", &mut command, &mut |text| {
            seen.push_str(&String::from_utf8_lossy(text));
            stop.store(seen.ends_with('\n'), Ordering::Relaxed);
        });
        assert!(matches!(error, Err(ImageError::Interrupted)));
        assert!(began.elapsed() < 2 * GRACE, "it was killed, not ended");
        let state = std::fs::read_to_string(format!("/proc/{}/stat", seen.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }

    /// It takes no notice of SIGTERM, and neither does the one that it started.
    #[test]
    fn a_step_that_does_not_listen_is_killed_with_all_it_started() {
        let place = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut steps = Steps::new(&place.path().join("log"), &stop).unwrap();
        let began = Instant::now();
        let mut command = shell("trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $!; wait; wait");
        let mut seen = String::new();
        let error = steps.run("deaf", &mut command, &mut |text| {
            seen.push_str(&String::from_utf8_lossy(text));
            stop.store(seen.ends_with('\n'), Ordering::Relaxed);
        });
        assert!(matches!(error, Err(ImageError::Interrupted)));
        assert!(began.elapsed() < 6 * GRACE, "{:?}", began.elapsed());
        let state = std::fs::read_to_string(format!("/proc/{}/stat", seen.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}
