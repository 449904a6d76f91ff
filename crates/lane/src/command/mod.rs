//! The `headway-lane` command: reads the command line, calls the library, prints, and gives the exit code.
//!
//! What is printed as data goes to stdout, everything else to stderr. Exit codes: 0 fine, 1 it ran and something failed,
//! 2 the command line or the configuration is wrong, 3 the host lacks something.

mod args;
mod log;
mod status;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use args::{AskArgs, CheckArgs, Command, HostArgs, RunArgs};
pub use args::{Cli, LogFormat, LogLevel};

use crate::config::{ConfigError, Configuration};
use crate::http::client;
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
                eprintln!("{message}");
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
