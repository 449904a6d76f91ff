//! The common part of a daemon's command.
//!
//! What is printed as data goes to stdout, everything else to stderr. Exit codes: 0 fine, 1 it ran and something failed,
//! 2 the command line or the configuration is wrong, 3 the host lacks something.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::ConfigError;
use crate::http::client::{self, ClientError};
use crate::identity::Identity;
use crate::report::Report;
use crate::setup::{SetupError, Step, Undone};
use crate::table;

/// Why a command ends with another exit code than 0.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// It ran and something failed.
    pub fn failed(message: impl fmt::Display) -> Failure {
        Failure { code: 1, message: message.to_string() }
    }

    /// The command line or the configuration is wrong.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure { code: 2, message: message.to_string() }
    }

    /// The host lacks something.
    pub fn host(message: impl fmt::Display) -> Failure {
        Failure { code: 3, message: message.to_string() }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        match error {
            ConfigError::Problems(problems) => {
                let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
                Failure::usage(problems.render(colour))
            }
            error @ ConfigError::File { .. } => Failure::usage(format!("error: {error}")),
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Failure {
        match error {
            SetupError::Read(_) => Failure::host(format!("error: {error}")),
            error => Failure::failed(format!("error: {error}")),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        Failure::failed(format!("error: {error}"))
    }
}

/// The command line `C` of a daemon, with the daemon's configuration wherever one may be named and is not.
pub fn command<C: CommandFactory>(identity: &Identity) -> clap::Command {
    C::command().mut_subcommands(|sub| {
        if sub.get_arguments().any(|argument| argument.get_id() == "config") {
            sub.mut_arg("config", |argument| argument.required(false).default_value(identity.config))
        } else {
            sub
        }
    })
}

/// Reads the command line; ends the process if it is wrong, or asks for help.
pub fn parse<C: Parser>(identity: &Identity) -> C {
    let matches = command::<C>(identity).get_matches();
    C::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The exit code of what was `done`, with the reason on stderr.
pub fn exit(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, message }) => {
            if !message.is_empty() {
                // if that is not possible the exit code has to say it alone
                let _ = writeln!(io::stderr(), "{message}");
            }
            ExitCode::from(code)
        }
    }
}

/// Writes `text` to stdout. A reader that has seen enough is no failure.
///
/// # Errors
/// If that is not possible.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(format!("error: {error}"))),
        _ => Ok(()),
    }
}

/// Writes `value` to stdout as JSON.
///
/// # Errors
/// If that is not possible.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    print(&format!("{text}\n"))
}

/// `check`: the configuration at `config` is right. `defaults`: all of it, if that is wanted.
///
/// # Errors
/// If it cannot be printed.
pub fn check(config: &Path, summary: &str, defaults: Option<&str>) -> Result<(), Failure> {
    match defaults {
        Some(text) => print(text),
        None => print(&format!("{}: OK, {summary}\n", config.display())),
    }
}

/// `status`: what the daemon answers that listens on `socket`, as JSON or as `table` shows it.
///
/// # Errors
/// If there is no answer, or none that is understood.
pub fn status<S: DeserializeOwned>(socket: &Path, json: bool, table: impl FnOnce(&S) -> String) -> Result<(), Failure> {
    let answer = client::get(socket, "/status")?;
    if json {
        return print(&format!("{answer}\n"));
    }
    let status: S = serde_json::from_str(&answer)
        .map_err(|error| Failure::failed(format!("error: the daemon's answer is not understood: {error}")))?;
    print(&table(&status))
}

/// `monitor`: the events of the daemon that listens on `socket`, until it ends.
///
/// # Errors
/// If there are none, or they cannot be printed.
pub fn monitor(socket: &Path, json: bool) -> Result<(), Failure> {
    let mut failure = None;
    let mut out = io::stdout().lock();
    let each = |line: &str| {
        let line = if json { line.to_owned() } else { table::event(line) };
        match writeln!(out, "{line}").and_then(|()| out.flush()) {
            Ok(()) => true,
            Err(error) => {
                // A reader that has seen enough is no failure.
                if error.kind() != io::ErrorKind::BrokenPipe {
                    failure = Some(Failure::failed(format!("error: {error}")));
                }
                false
            }
        }
    };
    client::follow(socket, each)?;
    failure.map_or(Ok(()), Err)
}

/// `doctor`: prints `report`.
///
/// # Errors
/// Exit code 3 if something is missing.
pub fn doctor(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        print_json(report)?;
    } else {
        print(&report.to_string())?;
    }
    if report.is_fine() { Ok(()) } else { Err(Failure::host("")) }
}

/// `cleanup`: prints what became of each step.
///
/// # Errors
/// If some could not be undone.
pub fn cleanup<S: Step>(undone: &[Undone<S>], json: bool) -> Result<(), Failure> {
    let mut lines = String::new();
    let mut all = Vec::new();
    for one in undone {
        let (step, what, detail) = match one {
            Undone::Undone(step) => (step, "undone", None),
            Undone::Gone(step) => (step, "gone already", None),
            Undone::Changed(step, now) => (step, "left alone, changed since", Some(now)),
            Undone::Failed(step, error) => (step, "failed", Some(error)),
        };
        let detail = detail.map_or(String::new(), |detail| format!(" ({detail})"));
        let _ = writeln!(lines, "{what}{detail}: {step}");
        all.push(serde_json::json!({ "step": step, "result": what, "detail": detail.trim() }));
    }
    if json {
        print_json(&all)?;
    } else if undone.is_empty() {
        print("nothing is recorded, nothing was done\n")?;
    } else {
        print(&lines)?;
    }
    let failed = undone.iter().filter(|one| matches!(one, Undone::Failed(..))).count();
    if failed > 0 {
        return Err(Failure::failed(format!("error: {failed} steps could not be undone; they stay in the record")));
    }
    Ok(())
}

/// Moves into the network namespace that is named, if one is.
///
/// # Errors
/// If it cannot be entered.
pub fn enter(netns: Option<&str>) -> Result<(), Failure> {
    let Some(name) = netns else { return Ok(()) };
    headway_linux::netns::enter(name).map_err(|error| Failure::host(format!("error: {error}")))
}
