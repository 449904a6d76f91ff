//! `headway kernel`: the kernels of kernel hosts.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use headway_kernel::image::{self, BuildOptions, Finding, Image, ImageError, Progress, State};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::{KernelBuildArgs, KernelCommand, ListArgs};
use crate::clock;
use crate::failure::Failure;
use crate::terminal;

pub fn kernel(command: &KernelCommand) -> Result<(), Failure> {
    match command {
        KernelCommand::Build(args) => build(args),
        KernelCommand::List(args) => list(args),
        KernelCommand::Doctor(args) => doctor(args),
    }
}

fn build(args: &KernelBuildArgs) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::environment(format!("cannot listen to signals: {error}")))?;
    }
    let options = BuildOptions {
        source: args.source.clone(),
        name: args.name.clone(),
        config: args.config.clone(),
        patches: args.patch.clone(),
        programs: args.add.clone(),
        jobs: args.jobs,
        force: args.force,
    };
    let mut view = View::new(args.quiet);
    let result = image::build(&options, &mut |progress| view.show(progress), &stop);
    let took = view.end();
    let image = result?;
    if !args.quiet {
        terminal::say(&format!("{}, {}: {}", image.name, clock::span(took), image.folder.display()));
    }
    terminal::data(&format!("{}\n", image.name))
}

/// How far a build is: a line per step, and on a terminal the number of compiled files.
struct View {
    quiet: bool,
    began: Instant,
    step: Option<(String, Instant)>,
    counted: Option<Instant>,
}

impl View {
    fn new(quiet: bool) -> View {
        View { quiet, began: Instant::now(), step: None, counted: None }
    }

    fn show(&mut self, progress: Progress) {
        if self.quiet {
            return;
        }
        match progress {
            Progress::Step(step) => {
                self.clear();
                terminal::say(&format!("{step} …"));
                self.step = Some((step, Instant::now()));
            }
            Progress::Note(note) => {
                self.clear();
                terminal::say(&format!("note: {note}"));
            }
            Progress::Compiled(files) => {
                let every = Duration::from_millis(500);
                let Some((_, began)) = self.step.as_ref().filter(|_| terminal::can_redraw()) else { return };
                if self.counted.is_none_or(|last| last.elapsed() >= every) {
                    self.counted = Some(Instant::now());
                    let line = format!("\r\x1b[K{files} files, {}", clock::whole(began.elapsed()));
                    let _ = std::io::stderr().lock().write_all(line.as_bytes());
                }
            }
        }
    }

    fn clear(&mut self) {
        if self.counted.take().is_some() {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }

    fn end(mut self) -> Duration {
        self.clear();
        self.began.elapsed()
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let images = Image::list()?;
    if args.json {
        let all: Value = images.iter().map(|image| entry(image, is_unasked(image, &images))).collect();
        return terminal::data(&format!("{all}\n"));
    }
    if images.is_empty() {
        terminal::say("no kernel has been built yet: `headway kernel build` makes one");
        return Ok(());
    }
    let rows: Vec<_> = images.iter().map(|image| row(image, is_unasked(image, &images))).collect();
    let headers = ["name", "version", "default", "patched", "size", "fast path", "current", "made with"];
    terminal::data(&headway_report::listing(&headers, &rows, terminal::layout()))?;
    if let Some(image) = images.iter().find(|image| !image.is_current()) {
        terminal::warn(&ImageError::Stale { name: image.name.clone() }.to_string());
    }
    Ok(())
}

/// Whether it is the one of runs that name none.
fn is_unasked(image: &Image, images: &[Image]) -> bool {
    Image::unasked(images).is_some_and(|unasked| unasked.name == image.name)
}

/// The columns of `image`, and all that it is made with.
fn row(image: &Image, unasked: bool) -> (Vec<String>, String) {
    let about = &image.about;
    let columns = vec![
        image.name.clone(),
        about.version.clone(),
        yes(unasked),
        yes(image.is_patched()),
        megabytes(image.size()),
        yes(about.fast_path),
        yes(image.is_current()),
    ];
    let programs = about.programs.iter().map(|program| program.path.rsplit('/').next().unwrap_or_default());
    let programs = programs.collect::<Vec<_>>().join(" ");
    let changes = image.changes();
    let gap = if changes.is_empty() { "" } else { "; " };
    (columns, format!("{changes}{gap}{programs}"))
}

fn entry(image: &Image, unasked: bool) -> Value {
    let mut value = serde_json::to_value(&image.about).unwrap_or_default();
    if let Value::Object(object) = &mut value {
        object.insert("folder".into(), json!(image.folder.display().to_string()));
        object.insert("current".into(), json!(image.is_current()));
        object.insert("default".into(), json!(unasked));
        let names: Vec<&str> = image.patches().iter().map(|patch| patch.name.as_str()).collect();
        object.insert("patched".into(), json!(image.is_patched()));
        object.insert("own_patches".into(), json!(names));
    }
    value
}

fn doctor(args: &ListArgs) -> Result<(), Failure> {
    let findings = image::doctor();
    if args.json {
        let all = serde_json::to_value(&findings).unwrap_or_default();
        terminal::data(&format!("{all}\n"))?;
    } else {
        terminal::data(
            &findings.iter().map(|finding| lines(finding, terminal::colour(&std::io::stdout()))).collect::<String>(),
        )?;
    }
    let missing = findings.iter().filter(|finding| finding.state == State::Missing).count();
    match missing {
        0 => Ok(()),
        1 => Err(Failure::check("1 thing is missing")),
        _ => Err(Failure::check(format!("{missing} things are missing"))),
    }
}

fn lines(finding: &Finding, colour: bool) -> String {
    let (word, code) = match finding.state {
        State::Good => ("good", "32"),
        State::Warning => ("warning", "1;33"),
        State::Missing => ("missing", "1;31"),
    };
    let word = if colour { format!("\x1b[{code}m{word:7}\x1b[0m") } else { format!("{word:7}") };
    let remedy = finding.remedy.as_ref().map_or_else(String::new, |remedy| format!("{:28}{remedy}\n", ""));
    format!("{word}  {:17}  {}\n{remedy}", finding.name, finding.found)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn yes(is: bool) -> String {
    (if is { "yes" } else { "no" }).to_owned()
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Failure {
        let text = error.to_string();
        match error {
            // What to do comes in lines of its own.
            ImageError::NoImage
            | ImageError::NoPrograms { .. }
            | ImageError::Tools { .. }
            | ImageError::NoSource { .. } => {
                let (text, help) = text.split_once('\n').unwrap_or((&text, "see `headway kernel doctor`"));
                Failure::environment(text).help(help.replace('\n', "\n      "))
            }
            ImageError::Interrupted => Failure::interrupted(text),
            ImageError::NotFound { .. }
            | ImageError::BadName { .. }
            | ImageError::NotATree { .. }
            | ImageError::TooOld { .. }
            | ImageError::Patch { .. }
            | ImageError::Config { .. }
            | ImageError::Program { .. } => Failure::usage(text),
            _ => Failure::environment(text),
        }
    }
}
