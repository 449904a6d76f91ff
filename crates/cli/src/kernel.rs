//! `headway kernel`: the kernels of kernel hosts.

use std::io::Write as _;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use headway_kernel::image::{self, BuildOptions, Finding, Image, ImageError, Progress, State};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::{KernelBuildArgs, KernelCommand, ListArgs};
use crate::clock;
use crate::failure::{Failure, INTERRUPTED};
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
        // In this order: the second of them ends the program at once. What it leaves goes with the next build, and its
        // children end with it.
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
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
    let view = View::new(args.quiet);
    let result = image::build(&options, &mut |progress| view.show(progress), &stop);
    let took = view.end();
    let image = result?;
    if !args.quiet {
        terminal::say(&format!("{}, {}: {}", image.name, clock::span(took), image.folder.display()));
    }
    terminal::data(&format!("{}\n", image.name))
}

/// How far a build is: a line per step, and while a step takes its time, on a terminal a line that is drawn again,
/// elsewhere a further line now and then.
struct View {
    quiet: bool,
    began: Instant,
    now: Arc<Mutex<Now>>,
    /// Dropping the sender ends the thread.
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The step under way.
#[derive(Debug, Clone, Default)]
struct Now {
    step: Option<(String, Instant)>,
    /// Files compiled so far, if it compiles.
    files: Option<u32>,
    /// Whether there is a line that can be drawn again.
    drawn: bool,
}

impl Now {
    /// The step, the files compiled so far, the time it has taken.
    fn text(&self) -> Option<String> {
        let (step, began) = self.step.as_ref()?;
        let files = self.files.map(|files| format!("{files} files, ")).unwrap_or_default();
        Some(format!("{step}: {files}{}", clock::whole(began.elapsed())))
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}

/// The time between two lines where nothing can be drawn again, as of runs.
const INTERVAL: Duration = Duration::from_secs(10);
/// The time after which a line is drawn again.
const REDRAW: Duration = Duration::from_millis(500);

impl View {
    fn new(quiet: bool) -> View {
        let now = Arc::new(Mutex::new(Now::default()));
        let ticker = match (quiet, terminal::can_redraw()) {
            (true, _) => None,
            (false, true) => ticker(&now, REDRAW, |now| {
                if let Some(text) = now.text() {
                    now.drawn = true;
                    // as wide as the narrowest terminal: a line that is broken cannot be drawn again
                    let text: String = text.chars().take(79).collect();
                    let _ = std::io::stderr().lock().write_all(format!("\r\x1b[K{text}").as_bytes());
                }
            }),
            (false, false) => ticker(&now, INTERVAL, |now| {
                if let Some(text) = now.text() {
                    terminal::say(&text);
                }
            }),
        };
        View { quiet, began: Instant::now(), now, ticker }
    }

    fn show(&self, progress: Progress) {
        if self.quiet {
            return;
        }
        let mut now = lock(&self.now);
        match progress {
            Progress::Step(step) => {
                now.clear();
                terminal::say(&format!("{step} …"));
                (now.step, now.files) = (Some((step, Instant::now())), None);
            }
            Progress::Note(note) => {
                now.clear();
                terminal::say(&format!("note: {note}"));
            }
            Progress::Compiled(files) => now.files = Some(files),
        }
    }

    /// Ends it, and says how long all has taken.
    fn end(mut self) -> Duration {
        if let Some((sender, thread)) = self.ticker.take() {
            drop(sender);
            let _ = thread.join();
        }
        lock(&self.now).clear();
        self.began.elapsed()
    }
}

/// A thread that shows `now` at every `interval`: steps tell nothing while they wait for others.
fn ticker(
    now: &Arc<Mutex<Now>>,
    interval: Duration,
    show: impl Fn(&mut Now) + Send + 'static,
) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel();
    let now = Arc::clone(now);
    let tick = move || {
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(interval) {
            show(&mut lock(&now));
        }
    };
    // Without a thread to spare there is no progress to see, and nothing else is lost.
    let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(tick).ok()?;
    Some((sender, thread))
}

fn lock(now: &Mutex<Now>) -> std::sync::MutexGuard<'_, Now> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
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
            | ImageError::Malformed { .. }
            | ImageError::Unreadable { .. }
            | ImageError::Config { .. }
            | ImageError::Program { .. } => Failure::usage(text),
            _ => Failure::environment(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_takes_its_time_is_told_again_and_again() {
        let now = Arc::new(Mutex::new(Now::default()));
        let (told, heard) = mpsc::channel();
        let (sender, thread) = ticker(&now, Duration::from_millis(5), move |now| {
            if let Some(text) = now.text() {
                let _ = told.send(text);
            }
        })
        .unwrap();
        lock(&now).step = Some(("unpacking".to_owned(), Instant::now()));
        let next = || heard.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!((next(), next()), ("unpacking: 0 s".to_owned(), "unpacking: 0 s".to_owned()));
        lock(&now).files = Some(512);
        let mut last = next();
        while last == "unpacking: 0 s" {
            last = next();
        }
        assert!(last.starts_with("unpacking: 512 files, "), "{last}");
        drop(sender);
        thread.join().unwrap();
        assert!(heard.iter().count() < 1000, "it has ended");
    }

    #[test]
    fn a_kernel_is_listed_with_what_it_is_made_with() {
        let part = |bytes| json!({ "bytes": bytes, "sha256": "" });
        let about = json!({
            "format": image::FORMAT, "name": "mine", "version": "6.12.1", "compiler": "", "config_sha256": "",
            "source": { "name": "linux-source-6.12", "sha256": null, "describe": null },
            "patches": [{ "name": "0001-tcp.patch", "sha256": "" }, { "name": "seed-6.12.patch", "sha256": "" }],
            "inputs_sha256": "", "linux": part(1_000_000), "initramfs": part(0), "system": part(0), "own_sha256": "",
            "programs": [{ "path": "/bin/ip", "sha256": "" }, { "path": "/bin/ss", "sha256": "" }],
            "hz": 1000, "fast_path": false, "controls": [], "queues": [],
        });
        let path = std::path::PathBuf::new();
        let image = Image {
            name: "mine".to_owned(),
            folder: path.clone(),
            linux: path.clone(),
            initramfs: path.clone(),
            system: path,
            about: serde_json::from_value(about).unwrap(),
        };
        let (columns, with) = row(&image, true);
        assert_eq!(columns, ["mine", "6.12.1", "yes", "yes", "1.0 MB", "no", "no"]);
        assert_eq!(with, "patched with 0001-tcp.patch; ip ss");
        let entry = entry(&image, false);
        assert_eq!((&entry["default"], &entry["patched"]), (&json!(false), &json!(true)));
        assert_eq!(entry["own_patches"], json!(["0001-tcp.patch"]));
        assert_eq!(image.title(), "mine (Linux 6.12.1, patched with 0001-tcp.patch)");
    }
}
