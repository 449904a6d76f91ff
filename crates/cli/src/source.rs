//! Where a scenario comes from, and what of it is run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use headway_scenario::schema::{SizeKind, TrafficRecord};
use headway_scenario::{Document, Overrides, ScenarioRecord};

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

    /// The bundled scenario `name`.
    pub fn bundled(name: &str) -> Result<Source, Failure> {
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

    /// Understands it, with the changes `overrides`.
    pub fn parse(&self, overrides: &Overrides) -> Result<Document, Failure> {
        Ok(Document::parse_with(&self.text, &self.name, overrides)?)
    }

    /// Understands and checks it, with the changes `overrides`.
    pub fn scenario(&self, overrides: Overrides) -> Result<Scenario<'_>, Failure> {
        let document = self.parse(&overrides)?;
        document.check_all()?;
        let record = document.scenario(&document.points()[0])?;
        Ok(Scenario { source: self, overrides, document, record })
    }
}

/// A scenario that was checked, before `--seed` and `--repeats` change it.
#[derive(Debug)]
pub struct Scenario<'a> {
    source: &'a Source,
    overrides: Overrides,
    document: Document,
    /// At its first sweep point.
    pub record: ScenarioRecord,
}

impl Scenario<'_> {
    /// The scenario as it is run and the text of it as it is kept, which gives the same results when it is run
    /// again: the file's own text if nothing is changed, otherwise the changed scenario with every default.
    pub fn with(&self, seed: u64, repeats: u32) -> Result<(Document, String), Failure> {
        let mut changes = self.overrides.clone();
        if seed != self.record.seed {
            changes.sets.push(format!("seed={seed}"));
        }
        if repeats != self.record.repeats {
            changes.sets.push(format!("repeats={repeats}"));
        }
        if changes.is_empty() {
            return Ok((self.document.clone(), self.source.text.clone()));
        }
        let document = self.source.parse(&changes)?;
        let shown = document.show()?;
        let text = format!("# Changed on the command line: {changes}\n# Every default is written out.\n\n{shown}");
        Ok((document, text))
    }

    /// Adds the folder called `name`, if it can be kept.
    fn folder(&self, name: &str, files: &mut Files) -> Result<(), Failure> {
        let name = name.trim_end_matches('/');
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let known = format!("{name}/");
        if files.kept.keys().any(|kept| kept.starts_with(&known)) || files.outside.iter().any(|one| one == name) {
            return Ok(());
        }
        let path = self.source.folder.join(name);
        let mut kept = BTreeMap::new();
        let whole = inside
            && add_folder(&path, name, &mut kept, &mut LARGEST_FOLDER.clone())
                .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        if whole {
            files.kept.extend(kept);
        } else {
            files.outside.push(name.to_owned());
        }
        Ok(())
    }

    /// The files it names, by the path it gives: what has to be beside the text wherever that is run again.
    pub fn files(&self) -> Result<Files, Failure> {
        let mut files = Files::default();
        for point in self.document.points() {
            let record = self.document.scenario(&point)?;
            if let Some(name) = &record.files {
                self.folder(name, &mut files)?;
            }
            for size in record.traffic.iter().flat_map(TrafficRecord::sizes) {
                let SizeKind::Cdf(cdf) = size else { continue };
                let Some(name) = cdf.file.clone() else { continue };
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
                files.kept.insert(name, Kept { bytes, executable: false });
            }
        }
        files.outside.sort();
        files.outside.dedup();
        Ok(files)
    }
}

/// A folder of at most so many bytes is kept with the results.
const LARGEST_FOLDER: u64 = 64 << 20;

/// A file as it was.
#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    executable: bool,
}

#[cfg(unix)]
fn make_executable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Adds the files below `folder`, which is called `name`. Returns whether all of it is in: neither too much nor of
/// another sort than files and folders.
fn add_folder(folder: &Path, name: &str, kept: &mut BTreeMap<String, Kept>, room: &mut u64) -> std::io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(own) = entry.file_name().into_string() else { return Ok(false) };
        let (path, name) = (entry.path(), format!("{name}/{own}"));
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            if !add_folder(&path, &name, kept, room)? {
                return Ok(false);
            }
            continue;
        }
        if !metadata.is_file() || metadata.len() > *room {
            return Ok(false);
        }
        *room -= metadata.len();
        kept.insert(name, Kept { bytes: fs::read(&path)?, executable: is_executable(&metadata) });
    }
    Ok(true)
}

/// Files that a scenario names with a path relative to its own.
#[derive(Debug, Default)]
pub struct Files {
    kept: BTreeMap<String, Kept>,
    /// Those that are not below the scenario's folder, and so cannot be kept below another.
    pub outside: Vec<String>,
}

impl Files {
    /// Copies them into `folder`.
    pub fn keep_in(&self, folder: &Path) -> Result<(), Failure> {
        for (name, Kept { bytes, executable }) in &self.kept {
            let path = folder.join(name);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                // Never over one of our own.
                let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
                std::io::Write::write_all(&mut file, bytes)?;
                if *executable { make_executable(&file) } else { Ok(()) }
            });
            written.map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Whether `folder` has them as they are.
    pub fn check_in(&self, folder: &Path) -> Result<(), Failure> {
        for (name, Kept { bytes, .. }) in &self.kept {
            if fs::read(folder.join(name)).ok().as_ref() != Some(bytes) {
                let text = format!("cannot resume {}: its {name} is not the one of this scenario", folder.display());
                return Err(Failure::usage(text));
            }
        }
        Ok(())
    }
}
