//! Tries what User-Mode Linux does when it starts.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether a child may be traced.
#[expect(unsafe_code, reason = "the call is one of the C library's, made between fork and exec")]
pub fn ptrace() -> io::Result<()> {
    let mut command = Command::new("/proc/self/exe");
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let trace_me = || {
        // SAFETY: this request has no other arguments.
        let done = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes one system call and touches no memory of ours.
    unsafe { command.pre_exec(trace_me) };
    // A traced child stops before its program's first instruction, so which one it is does not matter.
    let mut child = command.spawn()?;
    child.kill()?;
    child.wait().map(drop)
}

/// Whether memory may be executed that is a file in `folder`.
#[expect(unsafe_code, reason = "the calls are the C library's")]
pub fn executable(folder: &Path) -> io::Result<()> {
    const LENGTH: usize = 4096;
    let file: File = tempfile::tempfile_in(folder)?;
    file.set_len(LENGTH as u64)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: a new mapping at an address the kernel chooses, which nobody reads or writes.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), LENGTH, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is the one made above, as long as it was made, and nothing refers to it.
    unsafe { libc::munmap(at, LENGTH) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_end() {
        // What they find depends on the machine; that they leave no child behind does not.
        let _ = ptrace();
        let _ = executable(Path::new("/dev/shm"));
        assert!(executable(Path::new("/proc")).is_err());
    }
}
