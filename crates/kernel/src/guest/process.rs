//! The process that a guest is: started so that equal inputs give equal runs, and ended with all it started.
#![allow(unsafe_code, reason = "what a child does between fork and exec")]

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::GuestSpec;

/// A running guest. It is killed, with all its helpers, when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    console: PathBuf,
}

/// A console shows at most so much in an error.
const TAIL: u64 = 4000;

impl Process {
    /// Starts a guest.
    ///
    /// Nothing it can see differs between runs: the folder's name, the environment and the addresses of its memory
    /// would otherwise find their way into the kernel's random numbers.
    pub fn start(spec: &GuestSpec<'_>) -> io::Result<Process> {
        let link = |target: &Path, name: &str| {
            let link = spec.folder.join(name);
            // User-Mode Linux does not follow relative ones
            match std::os::unix::fs::symlink(std::path::absolute(target)?, &link) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                other => other,
            }
        };
        link(spec.linux, "linux")?;
        link(spec.initramfs, "initramfs")?;
        link(spec.system, "system")?;
        let console = spec.folder.join("console");
        let output = File::create(&console)?;
        let mut command = Command::new("./linux");
        command
            .current_dir(&spec.folder)
            .args([
                "initrd=initramfs",
                "root=/dev/ram0",
                "rdinit=/init",
                "hostfs=/proc/self/cwd",
                "uml_dir=./",
                "umid=guest",
            ])
            .args(["con=null", "con0=null,fd:1", "ssl=null", "panic=-1", "loglevel=5"])
            // interfaces only where a host asks for them
            .args(["dummy.numdummies=0", "ifb.numifbs=0"])
            .arg(format!("mem={}K", spec.memory / 1024))
            .arg("time-travel=ext:1:clock");
        for card in 0..spec.cards.len() {
            command.arg(format!("virtio_uml.device=card{card}:1"));
        }
        command
            .env_clear()
            // static glibc 2.36 and its rseq area do not survive User-Mode Linux's way of starting processes
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .env("UML_SEED", spec.seed.to_string())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // a terminal's Ctrl-C is for us alone; we end our guests
            .process_group(0);
        let parent = rustix::process::getpid();
        // SAFETY: the closure makes three system calls and touches no memory but its own.
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
                    || libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) < 0
                {
                    return Err(io::Error::last_os_error());
                }
                // whoever started us may be gone already
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Ok(())
            });
        }
        Ok(Process { child: command.spawn()?, console })
    }

    /// Whether it has ended, and how.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// The last lines of its console.
    pub fn console(&self) -> String {
        tail(&self.console).unwrap_or_default()
    }
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(20)..].join("\n"))
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32)
            && self.ended().is_none()
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
