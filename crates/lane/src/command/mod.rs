//! The `headway-lane` command: reads the command line, calls the library, prints, and gives the exit code.
//!
//! What is printed as data goes to stdout, everything else to stderr. Exit codes: 0 fine, 1 it ran and something failed,
//! 2 the command line or the configuration is wrong, 3 the host lacks something.

mod args;
mod log;
mod status;

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use args::{AskArgs, CheckArgs, Command, HostArgs, RunArgs};
pub use args::{Cli, LogFormat, LogLevel};

use crate::config::{ConfigError, Configuration};
use crate::doctor;
use crate::driver::{self, RunError, RunOptions};
use crate::http::client;
use crate::setup::{self, Live, Present, Recorded, Setup, SetupError, Undone};
use crate::snapshot::Status;

/// Why a command ends with another exit code than 0.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// It ran and something failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Failure {
        Failure { code: 1, message: message.to_string() }
    }

    /// The command line or the configuration is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure { code: 2, message: message.to_string() }
    }

    /// The host lacks something.
    pub(crate) fn host(message: impl fmt::Display) -> Failure {
        Failure { code: 3, message: message.to_string() }
    }
}

/// What the binary does.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    log::start(cli.log_format, cli.log_level);
    let done = match cli.command {
        Command::Run(args) => run(&args),
        Command::Plan(args) => plan(&args),
        Command::Status(args) => status(&args),
        Command::Monitor(args) => monitor(&args),
        Command::Doctor(args) => doctor(&args),
        Command::Cleanup(args) => cleanup(&args),
        Command::Check(args) => check(&args),
    };
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
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(format!("error: {error}"))),
        _ => Ok(()),
    }
}

fn load(path: &Path) -> Result<Configuration, Failure> {
    Configuration::load(path).map_err(|error| match error {
        ConfigError::Problems(problems) => {
            let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            Failure::usage(problems.render(colour))
        }
        error @ ConfigError::File { .. } => Failure::usage(format!("error: {error}")),
    })
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let configuration = load(&args.config)?;
    if args.print_defaults {
        return print(&configuration.show());
    }
    print(&format!("{}: OK, {}\n", args.config.display(), configuration.settings.summary()))
}

/// Moves into the network namespace that is named, if one is.
fn enter(netns: Option<&str>) -> Result<(), Failure> {
    let Some(name) = netns else { return Ok(()) };
    headway_linux::netns::enter(name).map_err(|error| Failure::host(format!("error: {error}")))
}

fn setup_failure(error: SetupError) -> Failure {
    match error {
        SetupError::Read(_) => Failure::host(format!("error: {error}")),
        error => Failure::failed(format!("error: {error}")),
    }
}

fn run(args: &RunArgs) -> Result<(), Failure> {
    let configuration = load(&args.config.config)?;
    let options =
        RunOptions { config: args.config.config.clone(), netns: args.netns.clone(), apply_routes: args.apply_routes };
    driver::run(configuration.settings, &options).map_err(|error| {
        let text = format!("error: {error}");
        match error {
            RunError::Namespace(_) | RunError::Kernel { .. } | RunError::PathManager | RunError::Sysctl(_) => {
                Failure::host(text)
            }
            RunError::Setup(_) | RunError::Bind(_) | RunError::Taken | RunError::Io { .. } => Failure::failed(text),
        }
    })
}

fn plan(args: &HostArgs) -> Result<(), Failure> {
    let settings = load(&args.config.config)?.settings;
    enter(args.netns.as_deref())?;
    let (recorded, unread) = match Recorded::read(&settings.operations.state, args.netns.as_deref()) {
        Ok(recorded) => (recorded, None),
        Err(error) => (Recorded::default(), Some(error)),
    };
    let present = Present::read(&settings, recorded).map_err(setup_failure)?;
    let mut plan = setup::plan(&settings, &present);
    plan.warnings.extend(unread.map(|error| format!("what was set up before is not known: {error}")));
    if args.json {
        return print_json(&plan);
    }
    let place = args.netns.as_ref().map_or(String::new(), |name| format!("# in the network namespace {name}\n"));
    print(&format!("{place}{plan}"))
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    print(&format!("{text}\n"))
}

fn cleanup(args: &HostArgs) -> Result<(), Failure> {
    let settings = load(&args.config.config)?.settings;
    let netns = args.netns.as_deref();
    let mut setup = Setup::open(&settings.operations.state, netns).map_err(setup_failure)?;
    enter(netns)?;
    let undone = setup.cleanup(&mut Live::open().map_err(setup_failure)?).map_err(setup_failure)?;
    let mut lines = String::new();
    let mut all = Vec::new();
    for one in &undone {
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
    if args.json {
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

/// The socket to ask: the one that is named, else the configuration's.
fn socket(args: &AskArgs) -> Result<PathBuf, Failure> {
    match &args.socket {
        Some(path) => Ok(path.clone()),
        None => Ok(load(&args.config.config)?.settings.operations.socket),
    }
}

fn status(args: &AskArgs) -> Result<(), Failure> {
    let answer = client::get(&socket(args)?, "/status").map_err(|error| Failure::failed(format!("error: {error}")))?;
    if args.json {
        return print(&format!("{answer}\n"));
    }
    let status: Status = serde_json::from_str(&answer)
        .map_err(|error| Failure::failed(format!("error: the daemon's answer is not understood: {error}")))?;
    print(&status::table(&status))
}

fn monitor(args: &AskArgs) -> Result<(), Failure> {
    let mut failure = None;
    let mut out = io::stdout().lock();
    let each = |line: &str| {
        let line = if args.json { line.to_owned() } else { status::event(line) };
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
    client::follow(&socket(args)?, each).map_err(|error| Failure::failed(format!("error: {error}")))?;
    failure.map_or(Ok(()), Err)
}

fn doctor(args: &HostArgs) -> Result<(), Failure> {
    // A configuration that is wrong says nothing of the host.
    let settings = if args.config.config.exists() { Some(load(&args.config.config)?.settings) } else { None };
    let report = doctor::examine(settings.as_ref(), args.netns.as_deref());
    if args.json {
        print_json(&report)?;
    } else {
        print(&report.to_string())?;
    }
    if report.is_fine() { Ok(()) } else { Err(Failure { code: 3, message: String::new() }) }
}
