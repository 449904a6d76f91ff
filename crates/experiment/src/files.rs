//! Files that a scenario names: kept with its results, so that they can be run again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use headway_language::Problems;
use headway_results::{Key, KeyBuilder};
use headway_scenario::ScenarioRecord;
use headway_scenario::schema::{NumberRecord, Published, TrafficRecord};

use crate::error::Error;
use crate::source::Scenario;

impl Scenario<'_> {
    /// Adds the folder called `name`, if it can be kept.
    fn folder(&self, name: &str, files: &mut Files) -> Result<(), Problems> {
        let Some(name) = below(name) else {
            files.outside.push(name.trim_end_matches('/').to_owned());
            return Ok(());
        };
        if files.folders.contains(&name) || files.outside.contains(&name) {
            return Ok(());
        }
        let path = self.source.folder.join(&name);
        let mut kept = BTreeMap::new();
        let whole = add_folder(&path, &name, &mut kept, &mut LARGEST_FOLDER.clone())
            .map_err(|error| self.unreadable(&["files"], &name, &error))?;
        if whole {
            files.kept.extend(kept);
            files.folders.insert(name);
        } else {
            files.outside.push(name);
        }
        Ok(())
    }

    /// That the file or folder `name` at the key `path` cannot be read.
    fn unreadable(&self, path: &[&str], name: &str, error: &dyn std::fmt::Display) -> Problems {
        let message = format!("{name} cannot be read: {error}");
        let help = "it is looked for beside the scenario".to_owned();
        self.document.problem_at(path, message, Some(help)).into()
    }

    /// Checks that the files that it names can be read and kept with results, as far as it can be told before.
    ///
    /// # Errors
    /// If one of them is missing, or is neither file nor folder as it should be.
    pub fn check_files(&self) -> Result<(), Problems> {
        self.files().map(drop)
    }

    /// Adds the file called `name`, wherever it is. One that cannot be read is left out if it is `optional`.
    fn file(&self, name: &str, optional: bool, files: &mut Files) -> Result<(), Problems> {
        if files.file(name).is_some() {
            return Ok(());
        }
        let path = self.source.folder.join(name);
        let bytes = match headway_input::read(&path, LARGEST_FOLDER) {
            Ok(bytes) => bytes,
            Err(_) if optional => return Ok(()),
            Err(error) => return Err(self.unreadable(&["traffic"], name, &error)),
        };
        match below(name) {
            Some(name) => drop(files.kept.insert(name, Kept { bytes, executable: false })),
            None => drop(files.beyond.insert(name.to_owned(), bytes)),
        }
        Ok(())
    }

    /// The files it names, by the path it gives: they have to be beside the text wherever that is run again.
    pub(crate) fn files(&self) -> Result<Files, Problems> {
        let mut files = Files::default();
        for point in self.document.points() {
            let record = self.document.scenario(&point)?;
            if let Some(name) = &record.files {
                self.folder(name, &mut files)?;
            }
            for name in tables(&record) {
                self.file(name, false, &mut files)?;
                if below(name).is_none() && Path::new(name).is_relative() {
                    files.outside.push(name.to_owned());
                }
            }
            let daemons = record.policy.iter().filter_map(|policy| policy.linux.as_ref()?.daemon.as_ref());
            for name in daemons.filter_map(|daemon| daemon.config.as_deref()) {
                // Modelled hosts need none.
                self.file(name, true, &mut files)?;
            }
            let published = record.claim.iter().flat_map(|claim| &claim.published).flat_map(|many| many.iter());
            for one in published {
                let Published::Number(NumberRecord { file: Some(name), .. }) = one else { continue };
                // The others come with Headway.
                self.file(name, true, &mut files)?;
            }
        }
        files.outside.sort();
        files.outside.dedup();
        Ok(files)
    }
}

/// The tables of sizes and lists of flows that `record` names.
fn tables(record: &ScenarioRecord) -> impl Iterator<Item = &str> {
    record.traffic.iter().flat_map(TrafficRecord::files)
}

/// `name` without `.` and slashes too many, if that is below the folder that it is relative to.
fn below(name: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// How far above the folder that it is relative to `name` leads on its way.
fn steps_up(name: &str) -> usize {
    let (mut above, mut most) = (0_i64, 0);
    for part in Path::new(name).components() {
        match part {
            Component::ParentDir => above += 1,
            Component::Normal(_) => above -= 1,
            _ => {}
        }
        most = most.max(above);
    }
    usize::try_from(most).unwrap_or(0)
}

/// Writes a file that is not there, with its folders.
fn write_new(path: &Path, bytes: &[u8], executable: bool) -> Result<(), Error> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
        // Never over one of our own.
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        std::io::Write::write_all(&mut file, bytes)?;
        if executable { make_executable(&file) } else { Ok(()) }
    });
    written.map_err(|source| Error::Write { path: path.to_path_buf(), source })
}

/// The hash of a file's content.
fn hash(bytes: &[u8]) -> Key {
    KeyBuilder::new().with("content", bytes).finish()
}

/// A file as it goes to a worker: its name, its content, and whether it is a program. A name that ends in `/` is that
/// of a folder, which may be empty.
pub(crate) type Sent = (String, Vec<u8>, bool);

/// Writes `files` below `root`. Gives the folder beside which the scenario finds them all: so deep that those it names as
/// `../…` are below `root` as well. Files with absolute names must be here already.
pub(crate) fn lay_out(files: &[Sent], root: &Path) -> Result<PathBuf, Error> {
    // nobody's folders are so deep
    const MOST: usize = 64;
    let up = files.iter().map(|(name, ..)| steps_up(name)).max().unwrap_or(0);
    let mut base = root.to_path_buf();
    base.extend(std::iter::repeat_n("0", up.min(MOST)));
    let write = |path: &Path, source: std::io::Error| Error::Write { path: path.to_path_buf(), source };
    fs::create_dir_all(&base).map_err(|source| write(&base, source))?;
    for (name, bytes, executable) in files {
        let path = base.join(name);
        if Path::new(name).is_absolute() {
            let there = hash(bytes);
            let here = headway_input::read(&path, LARGEST_FOLDER);
            let here = here.map_or_else(|error| error.to_string(), |bytes| hash(&bytes).to_string());
            if here != there.to_string() {
                let what = format!("file {name}");
                return Err(Error::OtherWorker { what, here, there: there.to_string() });
            }
        } else if steps_up(name) > MOST {
            return Err(write(&path, std::io::Error::other("it is too far above the scenario")));
        } else if name.ends_with('/') {
            fs::create_dir_all(&path).map_err(|source| write(&path, source))?;
        } else {
            write_new(&path, bytes, *executable)?;
        }
    }
    Ok(base)
}

/// A folder of at most so many bytes is kept with the results.
const LARGEST_FOLDER: u64 = 64 << 20;

/// A file or folder in it counts as so many bytes at least: a million empty ones are no folder to keep either.
const SMALLEST: u64 = 1 << 10;

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
        let Some(left) = room.checked_sub(SMALLEST) else { return Ok(false) };
        if metadata.is_dir() {
            *room = left;
            if !add_folder(&path, &name, kept, room)? {
                return Ok(false);
            }
            continue;
        }
        if !metadata.is_file() || metadata.len() > *room {
            return Ok(false);
        }
        let bytes = headway_input::read(&path, *room)?;
        *room = room.saturating_sub(SMALLEST.max(bytes.len() as u64));
        kept.insert(name, Kept { bytes, executable: is_executable(&metadata) });
    }
    Ok(true)
}

/// Tables of sizes as they were before the plans were made of them, by name. None: it could not be read.
#[derive(Debug, Default)]
pub(crate) struct Tables(BTreeMap<String, Option<Key>>);

impl Tables {
    /// Looks at those that `record` names, in `folder`.
    pub fn look(&mut self, record: &ScenarioRecord, folder: &Path) {
        for name in tables(record) {
            if !self.0.contains_key(name) {
                let bytes = headway_input::read(&folder.join(name), LARGEST_FOLDER).ok();
                self.0.insert(name.to_owned(), bytes.map(|bytes| hash(&bytes)));
            }
        }
    }

    /// Adds what the tables of `record` hold to `builder`. `files` were read after the plans: the plans are of what is
    /// the same before and after.
    pub fn add(&self, mut builder: KeyBuilder, record: &ScenarioRecord, files: &Files) -> Result<KeyBuilder, Error> {
        for name in tables(record) {
            let before = self.0.get(name).copied().flatten();
            let Some(bytes) = files.file(name).filter(|bytes| Some(hash(bytes)) == before) else {
                let source = std::io::Error::other("it was changed while the scenario was read");
                return Err(Error::Read { path: name.into(), source });
            };
            builder = builder.with("file", name.as_bytes()).with("content", bytes);
        }
        Ok(builder)
    }
}

/// Files that a scenario names.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Those below the scenario's folder, by [`below`].
    kept: BTreeMap<String, Kept>,
    /// The folders of which all is in `kept`.
    folders: BTreeSet<String>,
    /// Those that are elsewhere, by the name that the scenario has.
    beyond: BTreeMap<String, Vec<u8>>,
    /// Relative names that are not below the scenario's folder, and folders of which not all can be kept.
    pub outside: Vec<String>,
}

impl Files {
    /// The content of the file that a scenario calls `name`.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        match below(name) {
            Some(name) => self.kept.get(&name).map(|kept| kept.bytes.as_slice()),
            None => self.beyond.get(name).map(Vec::as_slice),
        }
    }

    /// All of them for [`lay_out`].
    pub fn sent(&self) -> Vec<Sent> {
        let folders = self.folders.iter().map(|name| (format!("{name}/"), Vec::new(), false));
        let kept = self.kept.iter().map(|(name, kept)| (name.clone(), kept.bytes.clone(), kept.executable));
        let beyond = self.beyond.iter().map(|(name, bytes)| (name.clone(), bytes.clone(), false));
        folders.chain(kept).chain(beyond).collect()
    }

    /// The folders of which not all is known.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.outside.iter().map(String::as_str).filter(|name| !self.beyond.contains_key(*name))
    }

    /// Copies those below the scenario's folder into `folder`.
    pub fn keep_in(&self, folder: &Path) -> Result<(), Error> {
        for name in &self.folders {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(|source| Error::Write { path, source })?;
        }
        for (name, Kept { bytes, executable }) in &self.kept {
            write_new(&folder.join(name), bytes, *executable)?;
        }
        Ok(())
    }

    /// `builder` with all that is below the folder `name`; nothing if that is not known.
    pub fn hashed(&self, name: &str, builder: KeyBuilder) -> Option<KeyBuilder> {
        let name = below(name).filter(|name| self.folders.contains(name))?;
        // A folder without a file is not the same as none.
        let mut builder = builder.with("files", b"");
        let inside = format!("{name}/");
        for (path, Kept { bytes, executable }) in &self.kept {
            let Some(own) = path.strip_prefix(&inside) else { continue };
            let kind = if *executable { "program" } else { "file" };
            builder = builder.with(kind, own.as_bytes()).with("content", bytes);
        }
        Some(builder)
    }

    /// Whether `folder` has them as they are.
    pub fn check_in(&self, folder: &Path) -> Result<(), Error> {
        for (name, Kept { bytes, .. }) in &self.kept {
            if headway_input::read(&folder.join(name), LARGEST_FOLDER).ok().as_ref() != Some(bytes) {
                return Err(Error::OtherFile { path: folder.to_path_buf(), name: name.clone() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use headway_scenario::Overrides;

    use super::*;
    use crate::experiment::Experiment;
    use crate::source::Source;

    const SMALL: &str = include_str!("../../scenario/tests/small.toml");

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn source(folder: &Path, text: String) -> Source {
        Source { name: "small.toml".into(), text, folder: folder.into() }
    }

    fn files(source: &Source) -> Files {
        let scenario = source.scenario(Overrides::default()).unwrap_or_else(|problems| panic!("{problems}"));
        scenario.files().unwrap()
    }

    #[test]
    fn names_are_below_their_folder_or_not() {
        for (name, expected) in [
            ("a", Some("a")),
            ("./a//b/", Some("a/b")),
            ("", None),
            (".", None),
            ("../a", None),
            ("a/../b", None),
            ("/a", None),
        ] {
            assert_eq!(below(name).as_deref(), expected, "{name}");
        }
        for (name, up) in [("a", 0), ("../a", 1), ("a/../b", 0), ("a/../../b", 1), ("../../a/../../b", 3)] {
            assert_eq!(steps_up(name), up, "{name}");
        }
    }

    #[test]
    fn a_folder_is_known_whole_after_a_folder_in_it() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        write(place, "a/b/one", "1");
        write(place, "a/two", "2");
        fs::create_dir(place.join("empty")).unwrap();
        let source = source(place, SMALL.to_owned());
        let files = || {
            let scenario = source.scenario(Overrides::default()).unwrap();
            let mut files = Files::default();
            for name in ["a/b", "a/", "./empty"] {
                scenario.folder(name, &mut files).unwrap();
            }
            files
        };
        let key = |name: &str| files().hashed(name, KeyBuilder::new()).map(KeyBuilder::finish);
        let before = ["a/b", "a", "empty"].map(|name| key(name).unwrap());
        write(place, "a/two", "3");
        assert_eq!(key("a/b"), Some(before[0]));
        assert_ne!(key("a"), Some(before[1]), "another file in it");
        assert_ne!(before[2], KeyBuilder::new().finish(), "an empty folder is not none");
        assert_eq!(key("b"), None);
        let kept = place.join("kept");
        files().keep_in(&kept).unwrap();
        assert_eq!(fs::read_to_string(kept.join("a/two")).unwrap(), "3");
        assert!(kept.join("empty").is_dir());
    }

    #[test]
    fn a_table_that_changes_while_it_is_read_has_no_key() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        write(place, "sizes.cdf", "bytes,cumulative\n1000,0.5\n2000,1\n");
        let source = source(place, SMALL.replace("\"50KB\"", "{ kind = \"cdf\", file = \"sizes.cdf\" }"));
        let document = source.parse(&Overrides::default()).unwrap();
        let experiment = Experiment::new(&document, place).unwrap();
        assert!(experiment.fingerprints(&files(&source), None).unwrap().iter().all(Result::is_ok));
        write(place, "sizes.cdf", "bytes,cumulative\n1000,0.5\n3000,1\n");
        let error = experiment.fingerprints(&files(&source), None).unwrap_err().to_string();
        assert_eq!(error, "cannot read sizes.cdf: it was changed while the scenario was read");
    }
}
