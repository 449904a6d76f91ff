//! `headway report`: the page for a browser, made again from folders of results, or of several side by side.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headway_experiment::report::{REPORT, comparison, single, write_page};

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::shell::quoted;
use crate::terminal;

/// The name of a comparison where none is given.
const COMPARISON: &str = "comparison";

/// The program that opens a file in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// An opener that fails does so within this time; a browser that it becomes stays.
const PATIENCE: Duration = Duration::from_millis(500);

pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    if let Some(file) = args.folders.iter().find(|folder| folder.is_file()) {
        let failure = Failure::usage(format!("{} is a file, not a folder of results", file.display()));
        return Err(failure.help("name the folder that `headway run` has written"));
    }
    if let Some(out) = args.out.as_ref().filter(|out| out.is_dir()) {
        let failure = Failure::usage(format!("--out {} is a folder", out.display()));
        return Err(failure.help(format!("name a file: {}", quoted(&out.join(REPORT)))));
    }
    let (page, path) = match &args.folders[..] {
        [one] => (single(one)?, args.out.clone().unwrap_or_else(|| one.join(REPORT))),
        several => (comparison(several)?, args.out.clone().map_or_else(free_name, Ok)?),
    };
    write_page(&page, &path)?;
    terminal::data(&format!("{}\n", path.display()))?;
    if args.open { open(&path) } else { Ok(()) }
}

/// `comparison.html`, with a number if that is taken.
fn free_name() -> Result<PathBuf, Failure> {
    const MOST: usize = 100_000;
    let name = |number: usize| match number {
        1 => PathBuf::from(format!("{COMPARISON}.html")),
        _ => PathBuf::from(format!("{COMPARISON}-{number}.html")),
    };
    let free = (1..MOST).map(name).find(|path| path.symlink_metadata().is_err());
    free.ok_or_else(|| Failure::environment(format!("there are {MOST} comparisons here; name another with --out")))
}

/// Shows the file at `path` in the user's browser.
fn open(path: &Path) -> Result<(), Failure> {
    let mut command = Command::new(OPENER);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let cannot = |why: &str| {
        let failure = Failure::environment(format!("cannot open {}: {why}", path.display()));
        failure.help("the report is written; open the file in any browser")
    };
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => cannot(&format!("there is no program {OPENER}")),
        _ => cannot(&format!("{OPENER}: {error}")),
    })?;
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(cannot(&format!("{OPENER} ended with {status}"))),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(cannot(&error.to_string())),
        }
    }
    Ok(())
}
