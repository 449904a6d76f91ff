//! Runs on real kernels, for the tests of this folder.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_kernel::image::Image;
use headway_results::{Error, Folder, Manifest, Outcome};
use headway_scenario::{Document, Experiment, KernelOptions, Options, Overrides, Results, RunError};

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
    let kernel = Some(KernelOptions { image: Arc::clone(image), abort, processors: Vec::new() });
    let options = Options { seed: scenario.seed, threads, verify: false, kernel, abort: Arc::default() };
    let stop = AtomicBool::new(false);
    let results = experiment.simulate(&folder, &manifest, &BTreeSet::new(), &options, &stop, &mut |_, _| {})?;
    let outcomes: Result<Vec<Outcome>, Error> = manifest.jobs().map(|job| folder.load(job)).collect();
    Ok(Ran { results, outcomes: outcomes.unwrap(), place })
}
