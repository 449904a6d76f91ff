//! The first program of a kernel host's guest, and of each host in it.
//!
//! As process 1 it sets the guest up, runs what [`protocol::Config`](headway_agent::protocol::Config) asks for, writes
//! the reports and powers off. Started with a folder as its argument it does the same on the machine it is started on,
//! with that folder in place of the mounted one: it then mounts nothing, changes nothing about the machine and just
//! exits.

#[cfg(target_os = "linux")]
mod agenda;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod setup;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if std::process::id() == 1 {
        init::guest()
    }
    if let Some(folder) = std::env::args_os().nth(1) {
        return init::ordinary(folder.as_ref());
    }
    eprintln!("usage: headway-agent FOLDER (with {} in it)", headway_agent::protocol::CONFIG);
    std::process::ExitCode::from(2)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("headway-agent runs on Linux only");
}
