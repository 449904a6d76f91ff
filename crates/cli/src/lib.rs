//! The `headway` command: reads the command line, calls the libraries, prints, and says the exit code.
//!
//! It is a library so that the program `headway` and the command of the Python package are the same; both do nothing
//! but call [`main`]. It must not assume that the process is its own: it never ends it but on Ctrl-C.
//!
//! What is printed as data goes to stdout, everything else to stderr. Exit codes are in `failure.rs`.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the command lives in the world: it has a clock, an environment and threads; runs do not see them"
)]

mod args;
mod bundled;
mod check;
mod clock;
mod compare;
mod cost;
mod failure;
mod fidelity;
mod interrupt;
mod kernel;
mod lossless;
mod model;
mod progress;
mod report;
mod reproduce;
mod run;
mod shell;
mod source;
mod sweeps;
mod tables;
mod terminal;
mod trace;

use std::ffi::OsString;
use std::io::Write as _;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser};
use headway_scenario::{Document, Overrides, json_schema};
use serde_json::json;

use args::{Cli, Command, ListArgs, ShowArgs};
use failure::Failure;

/// The command line of this process, without the name of the program.
static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Runs the command with `arguments`, the first of which is the program's name, and gives its exit code: 0 fine, 1 a
/// check failed, 2 usage or scenario, 3 environment, 130 interrupted.
///
/// It listens to Ctrl-C while runs are under way, and the second press ends the process. A process calls it once.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let _ = ARGUMENTS.set(words);
    let code = match Cli::try_parse_from(arguments) {
        Ok(cli) => execute(cli.command),
        Err(message) => {
            // Nobody reads it if this fails, and the code still says it.
            let _ = message.print();
            u8::try_from(message.exit_code()).unwrap_or(failure::USAGE)
        }
    };
    // A library's output is not flushed when the process ends.
    let _ = std::io::stdout().flush();
    code
}

/// The command line, for manifests.
fn command_line() -> Vec<String> {
    ARGUMENTS.get().cloned().unwrap_or_default()
}

fn execute(command: Command) -> u8 {
    let done = match command {
        Command::Run(args) => run::run(&args),
        Command::Merge(args) => sweeps::merge(&args),
        Command::Slurm(args) => sweeps::slurm(&args),
        Command::Store(args) => sweeps::store(&args),
        Command::Check(args) => check::check(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Show(args) => show(&args),
        Command::Schema => terminal::data(&format!("{:#}\n", json_schema())),
        Command::List(args) => list(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Report(args) => report::report(&args),
        Command::Cost(args) => cost::cost(&args),
        Command::Model(args) => model::model(&args),
        Command::Lossless(args) => lossless::lossless(&args),
        Command::Fidelity(args) => fidelity::fidelity(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Kernel(args) => kernel::kernel(&args.command),
        Command::Completions(args) => {
            // Into memory first: the generator panics when a pipe is closed.
            let mut text = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "headway", &mut text);
            terminal::data(&String::from_utf8_lossy(&text))
        }
    };
    match done {
        Ok(()) => 0,
        Err(failure) => {
            terminal::report(&failure);
            failure.code
        }
    }
}

fn show(args: &ShowArgs) -> Result<(), Failure> {
    if args.file.is_dir() {
        return tables::show_folder(args);
    }
    if !args.tables.is_default() || !args.policy.is_empty() || args.json {
        let failure = Failure::usage("--metric, --traffic, --policy, --by and --json are for folders of results");
        return Err(failure.help(format!("`{}` is taken for a scenario", args.file.display())));
    }
    let overrides = Overrides { quick: args.quick, ..Overrides::sets(&args.set) };
    let document = source::find(&args.file)?.parse(&overrides)?;
    document.check_all()?;
    terminal::data(&document.show()?)
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let about = |bundled: &bundled::Bundled| {
        let document = Document::parse(bundled.text, bundled.name, &[]).ok()?;
        let scenario = document.scenario(document.points().first()?).ok()?;
        Some((scenario.about, scenario.source))
    };
    if args.json {
        let entry = |bundled: &bundled::Bundled| {
            let (about, source) = about(bundled).unzip();
            json!({ "name": bundled.name, "about": about, "source": source.flatten() })
        };
        let all: serde_json::Value = bundled::ALL.iter().map(entry).collect();
        return terminal::data(&format!("{all}\n"));
    }
    let row = |bundled: &bundled::Bundled| {
        let about = about(bundled).map_or_else(|| "(cannot be read by this version)".to_owned(), |(about, _)| about);
        (vec![bundled.name.to_owned()], about)
    };
    let rows: Vec<_> = bundled::ALL.iter().map(row).collect();
    terminal::data(&headway_report::listing(&[], &rows, terminal::layout()))
}
