//! Runs on real kernels, for the tests of this folder.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_experiment::{Experiment, KernelOptions, Options, Results, RunError};
use headway_kernel::image::Image;
use headway_results::{CommandRecord, Error, Folder, Manifest, Outcome};
use headway_scenario::{Document, Overrides};

/// The image, if there is one.
pub fn image() -> Option<Arc<Image>> {
    match Image::find(None) {
        Ok(image) => Some(Arc::new(image)),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// What runs gave.
pub struct Ran {
    pub results: Results,
    pub outcomes: Vec<Outcome>,
    pub place: tempfile::TempDir,
}

/// Runs a scenario with these settings.
pub fn run(image: &Arc<Image>, text: &str, sets: &[&str], threads: usize) -> Result<Ran, RunError> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let overrides = Overrides::sets(&sets);
    let document = Document::parse_with(text, "small.toml", &overrides).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    experiment.check_image(image).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(experiment.needs_kernel());
    let scenario = &experiment.scenario;
    let cells = experiment.cells().to_vec();
    let manifest = Manifest::new(scenario.name.as_str(), text, scenario.seed, scenario.repeats, "test", cells);
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path().join("results"), &manifest, text).unwrap();
    let abort = Arc::new(AtomicBool::new(false));
    let kernel = Some(KernelOptions { image: Arc::clone(image), processors: Vec::new() });
    let options = Options { seed: scenario.seed, threads, verify: false, kernel, abort };
    let stop = AtomicBool::new(false);
    let results = experiment.simulate(&folder, &manifest, &BTreeSet::new(), &options, &stop, &mut |_, _| {})?;
    let outcomes: Result<Vec<Outcome>, Error> = manifest.jobs().map(|job| folder.load(job)).collect();
    Ok(Ran { results, outcomes: outcomes.unwrap(), place })
}

/// A program on the first host of `side`.
pub fn program_on(side: &str, name: &str, start: &str, run: &str) -> String {
    format!(
        "\n[[traffic]]\nname = \"{name}\"\nkind = \"command\"\non = \"{side}\"\nhosts = 1\nstart = \"{start}\"\nrun = '{run}'\n"
    )
}

/// A program on the first host of the left.
pub fn program(name: &str, start: &str, run: &str) -> String {
    program_on("left", name, start, run)
}

pub fn command<'a>(outcome: &'a Outcome, name: &str) -> &'a CommandRecord {
    outcome.commands.iter().find(|command| &*command.traffic == name).unwrap_or_else(|| panic!("no `{name}`"))
}

pub fn said(outcome: &Outcome, name: &str) -> String {
    String::from_utf8_lossy(&command(outcome, name).stdout.kept).into_owned()
}

/// Mb/s that left by an interface of the sender between two times in ms, multiples of 20.
pub fn rate(outcome: &Outcome, interface: usize, from: usize, to: usize) -> f64 {
    let text = said(outcome, "see");
    let bytes: Vec<f64> =
        text.lines().map(|line| line.split(' ').nth(interface).unwrap().parse().expect("a number")).collect();
    (bytes[to / 20] - bytes[from / 20]) * 8e-3 / (to - from) as f64
}

/// Daemons ran to the end, and ended when they were told to.
pub fn check_daemons(ran: &Ran) {
    let daemons = ran.outcomes.iter().flat_map(|outcome| &outcome.commands);
    let ends: Vec<(i32, bool)> = daemons
        .filter(|command| command.daemon() == Some("lane"))
        .map(|command| (command.code, command.ended))
        .collect();
    assert!(!ends.is_empty() && ends.iter().all(|end| *end == (0, true)), "{ends:?}");
}
