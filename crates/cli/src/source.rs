//! Where a scenario comes from, and what of it is run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use headway_scenario::schema::SizeKind;
use headway_scenario::{Document, ScenarioRecord};

use crate::bundled;
use crate::failure::Failure;

/// The text of a scenario.
#[derive(Debug)]
pub struct Source {
    /// As it is called in messages.
    name: String,
    text: String,
    /// Where files it names are looked for.
    pub folder: PathBuf,
}

impl Source {
    /// Reads `file`, or takes the bundled scenario of that name if there is no such file, or the standard input
    /// for `-`.
    pub fn find(file: &Path) -> Result<Source, Failure> {
        let name = file.display().to_string();
        if name == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Failure::environment(format!("cannot read the standard input: {error}")))?;
            return Source::decode("standard input".to_owned(), bytes, PathBuf::from("."));
        }
        if file.is_dir() {
            let failure = Failure::usage(format!("{name} is a folder, not a scenario file"));
            let inside = file.join("scenario.toml");
            return Err(if inside.exists() {
                failure.help(format!("its scenario is {}", inside.display()))
            } else {
                failure
            });
        }
        match fs::read(file) {
            Ok(bytes) => Source::decode(name, bytes, file.parent().map_or_else(PathBuf::new, Path::to_path_buf)),
            Err(error) if error.kind() == ErrorKind::NotFound => Source::bundled(&name),
            Err(error) => Err(Failure::environment(format!("cannot read {name}: {error}"))),
        }
    }

    fn bundled(name: &str) -> Result<Source, Failure> {
        if let Some(bundled) = bundled::find(name) {
            let name = format!("{}.toml (bundled)", bundled.name);
            return Ok(Source { name, text: bundled.text.to_owned(), folder: PathBuf::from(".") });
        }
        let failure = Failure::usage(format!("there is no file {name} and no bundled scenario of that name"));
        let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        Err(failure.help(match bundled::nearest(stem) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`headway list` prints the bundled ones".to_owned(),
        }))
    }

    fn decode(name: String, bytes: Vec<u8>, folder: PathBuf) -> Result<Source, Failure> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source { name, text, folder }),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..valid].split(|byte| *byte == b'\n').count();
                Err(Failure::usage(format!("{name} is not text: line {line} is not UTF-8")))
            }
        }
    }

    /// Understands it, with the changes `sets`.
    pub fn parse(&self, sets: &[String]) -> Result<Document, Failure> {
        Ok(Document::parse(&self.text, &self.name, sets)?)
    }

    /// Understands and checks it, with the changes `sets`.
    pub fn scenario<'a>(&'a self, sets: &'a [String]) -> Result<Scenario<'a>, Failure> {
        let document = self.parse(sets)?;
        document.check_all()?;
        let record = document.scenario(&document.points()[0])?;
        Ok(Scenario { source: self, sets, document, record })
    }
}

/// A scenario that was checked, before `--seed` and `--repeats` change it.
#[derive(Debug)]
pub struct Scenario<'a> {
    source: &'a Source,
    sets: &'a [String],
    document: Document,
    /// At its first sweep point.
    pub record: ScenarioRecord,
}

impl Scenario<'_> {
    /// The scenario as it is run and the text of it as it is kept, which gives the same results when it is run
    /// again: the file's own text if nothing is changed, otherwise the changed scenario with every default.
    pub fn with(&self, seed: u64, repeats: u32) -> Result<(Document, String), Failure> {
        let mut changes = self.sets.to_vec();
        if seed != self.record.seed {
            changes.push(format!("seed={seed}"));
        }
        if repeats != self.record.repeats {
            changes.push(format!("repeats={repeats}"));
        }
        if changes.is_empty() {
            return Ok((self.document.clone(), self.source.text.clone()));
        }
        let document = self.source.parse(&changes)?;
        let shown = document.show()?;
        let list = changes.join(", ").replace(char::is_control, " ");
        let text = format!("# Changed on the command line: {list}\n# Every default is written out.\n\n{shown}");
        Ok((document, text))
    }

    /// The files it names, by the path it gives: what has to be beside the text wherever that is run again.
    pub fn files(&self) -> Result<Files, Failure> {
        let mut files = Files::default();
        for point in self.document.points() {
            for traffic in self.document.scenario(&point)?.traffic {
                let SizeKind::Cdf(cdf) = traffic.size.0 else { continue };
                let Some(name) = cdf.file else { continue };
                let inside =
                    Path::new(&name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
                if Path::new(&name).is_absolute() || files.kept.contains_key(&name) {
                    continue;
                }
                if !inside {
                    files.outside.push(name);
                    continue;
                }
                let path = self.source.folder.join(&name);
                let bytes = fs::read(&path)
                    .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
                files.kept.insert(name, bytes);
            }
        }
        files.outside.sort();
        files.outside.dedup();
        Ok(files)
    }
}

/// Files that a scenario names with a path relative to its own.
#[derive(Debug, Default)]
pub struct Files {
    kept: BTreeMap<String, Vec<u8>>,
    /// Those that are not below the scenario's folder, and so cannot be kept below another.
    pub outside: Vec<String>,
}

impl Files {
    /// Copies them into `folder`.
    pub fn keep_in(&self, folder: &Path) -> Result<(), Failure> {
        for (name, bytes) in &self.kept {
            let path = folder.join(name);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                // Never over one of our own.
                let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
                std::io::Write::write_all(&mut file, bytes)
            });
            written.map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Whether `folder` has them as they are.
    pub fn check_in(&self, folder: &Path) -> Result<(), Failure> {
        for (name, bytes) in &self.kept {
            if fs::read(folder.join(name)).ok().as_ref() != Some(bytes) {
                let text = format!("cannot resume {}: its {name} is not the one of this scenario", folder.display());
                return Err(Failure::usage(text));
            }
        }
        Ok(())
    }
}
