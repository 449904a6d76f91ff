//! The `headway-lane` command: reads the command line, calls the library, prints, and gives the exit code.

mod args;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use headway_daemon::args::{AskArgs, CheckArgs, HostArgs};
use headway_daemon::command::{self, Failure, enter, print, print_json};
use headway_daemon::log;

use crate::IDENTITY;
use crate::config::Configuration;
use crate::doctor;
use crate::driver::{self, RunError, RunOptions};
use crate::settings::Settings;
use crate::setup::{self, LinuxHost, Present, Recorded, Setup, Warning};
pub use args::Cli;
use args::{Command, RunArgs};

/// What the binary does.
pub fn main() -> ExitCode {
    let cli: Cli = command::parse(&IDENTITY);
    log::start(&cli.log);
    command::exit(match cli.command {
        Command::Run(args) => run(&args),
        Command::Plan(args) => plan(&args),
        Command::Status(args) => socket(&args).and_then(|socket| command::status(&socket, args.json, status::table)),
        Command::Monitor(args) => socket(&args).and_then(|socket| command::monitor(&socket, args.json)),
        Command::Doctor(args) => doctor(&args),
        Command::Cleanup(args) => cleanup(&args),
        Command::Check(args) => check(&args),
    })
}

fn load(path: &Path) -> Result<Settings, Failure> {
    Ok(Configuration::load(path)?.settings)
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let configuration = Configuration::load(&args.config)?;
    let defaults = args.print_defaults.then(|| configuration.show());
    command::check(&args.config, &configuration.settings.summary(), defaults.as_deref())
}

fn run(args: &RunArgs) -> Result<(), Failure> {
    let settings = load(&args.config.config)?;
    let options =
        RunOptions { config: args.config.config.clone(), netns: args.netns.clone(), apply_routes: args.apply_routes };
    driver::run(settings, &options).map_err(|error| {
        let text = format!("error: {error}");
        match error {
            RunError::Namespace(_) | RunError::Kernel { .. } | RunError::PathManager | RunError::Sysctl(_) => {
                Failure::host(text)
            }
            RunError::Setup(_) | RunError::Loop(_) | RunError::Io { .. } => Failure::failed(text),
        }
    })
}

fn plan(args: &HostArgs) -> Result<(), Failure> {
    let settings = load(&args.config.config)?;
    enter(args.netns.as_deref())?;
    let (recorded, unread) = match Recorded::read(&settings.operations.state, args.netns.as_deref()) {
        Ok(recorded) => (recorded, None),
        Err(error) => (Recorded::default(), Some(error)),
    };
    let present = Present::read(&settings, recorded)?;
    let mut plan = setup::plan(&settings, &present);
    plan.warnings.extend(unread.map(|error| Warning::RecordUnreadable(error.to_string())));
    if args.json {
        return print_json(&plan);
    }
    let place = args.netns.as_ref().map_or(String::new(), |name| format!("# in the network namespace {name}\n"));
    print(&format!("{place}{plan}"))
}

fn cleanup(args: &HostArgs) -> Result<(), Failure> {
    let settings = load(&args.config.config)?;
    let netns = args.netns.as_deref();
    let mut setup = Setup::open(&settings.operations.state, netns)?;
    enter(netns)?;
    let undone = setup.cleanup(&mut LinuxHost::open()?)?;
    command::cleanup(&undone, args.json)
}

/// The socket to ask: the one that is named, else the configuration's.
fn socket(args: &AskArgs) -> Result<PathBuf, Failure> {
    match &args.socket {
        Some(path) => Ok(path.clone()),
        None => Ok(load(&args.config.config)?.operations.socket),
    }
}

fn doctor(args: &HostArgs) -> Result<(), Failure> {
    // A configuration that is wrong says nothing of the host.
    let settings = if args.config.config.exists() { Some(load(&args.config.config)?) } else { None };
    command::doctor(&doctor::examine(settings.as_ref(), args.netns.as_deref()), args.json)
}
