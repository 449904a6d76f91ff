//! An experiment on modelled hosts or on kernel hosts: run, gone on with, or found finished.

use std::path::{Path, PathBuf};

use headway_experiment::{Experiment, Extent, Finished, Source, VERSION};
use headway_results::{Folder, Manifest, Summary, Verdict};
use serde_json::{Value, json};

use crate::args::RunOptions;
use crate::failure::Failure;
use crate::run::{Batch, Place, execute_source, warn_of_report};
use crate::source;

/// What one folder of results says.
#[derive(Debug)]
pub struct Part {
    pub path: PathBuf,
    pub manifest: Manifest,
    pub summary: Summary,
    pub verdicts: Vec<Verdict>,
    /// Texts of the claims that nothing was run for.
    pub left_out: Vec<String>,
    /// Policies, points and repeats.
    pub extent: Extent,
    /// It was finished before.
    pub found: bool,
}

impl Part {
    /// The bundled scenario `name` with results in `path`: run if there is nothing, gone on with if it was interrupted,
    /// read if it is finished.
    pub fn of(name: &str, path: &Path, how: &RunOptions, batch: &Batch<'_>) -> Result<Part, Failure> {
        let source = source::bundled(name)?;
        let place = match manifest(path) {
            Some(there) if there.complete => return Part::found(&source, path, how),
            Some(_) => Place::Resume(path),
            None => Place::New(path),
        };
        let ran = execute_source(&source, place, how, Some(batch))?;
        warn_of_report(&ran);
        let Finished { results, left_out_claims, manifest, path, extent, .. } = ran;
        let (summary, verdicts) = (results.summary, results.verdicts);
        Ok(Part { path, manifest, summary, verdicts, left_out: left_out_claims, extent, found: false })
    }

    /// The finished results in `path`, which must be those of this scenario and this version.
    fn found(source: &Source, path: &Path, how: &RunOptions) -> Result<Part, Failure> {
        let scenario = source.scenario(how.overrides())?;
        let (document, text) = scenario.with(scenario.record.seed, scenario.record.repeats)?;
        let finished = Folder::open(path)?;
        let manifest = finished.manifest;
        let kept = path.join("scenario.toml");
        let same = headway_input::read_text(&kept, Source::LARGEST).is_ok_and(|kept| kept == text)
            && manifest.version == VERSION;
        if !same {
            let failure = Failure::usage(format!("{} holds results of another scenario or version", path.display()));
            return Err(failure.help("name another folder with --out, or remove this one"));
        }
        let verdicts = manifest.claims.as_array().map(|all| all.iter().map(Verdict::from_json).collect());
        let Some(Some(verdicts)) = verdicts else {
            let failure = Failure::environment(format!("{} has verdicts that cannot be read", path.display()));
            return Err(failure.help("remove the folder to run it again"));
        };
        let left_out = document.left_out_claims().to_vec();
        let extent = Experiment::new(&document, &source.folder)?.extent(manifest.repeats);
        Ok(Part {
            path: path.to_path_buf(),
            manifest,
            summary: finished.summary,
            verdicts,
            left_out,
            extent,
            found: true,
        })
    }

    /// How many claims do not hold that are not known not to.
    pub fn failed(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.failed()).count()
    }

    pub fn to_json(&self) -> Value {
        json!({
            "out": self.path.display().to_string(),
            "seed": self.manifest.seed,
            "repeats": self.manifest.repeats,
            "quick": self.manifest.quick,
            "version": self.manifest.version,
            "wall_s": self.manifest.wall_s,
            "warnings": self.manifest.warnings,
            "claims": self.manifest.claims,
            "not_evaluated": self.left_out,
        })
    }
}

/// The manifest in `path`, if one is there that can be read; otherwise whoever makes the folder says what is wrong.
fn manifest(path: &Path) -> Option<Manifest> {
    serde_json::from_str(&headway_input::read_text(&path.join("manifest.json"), Manifest::LARGEST).ok()?).ok()
}
