//! Files that a scenario names: kept with its results, so that they can be run again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use headway_results::KeyBuilder;
use headway_scenario::schema::{NumberRecord, Published, SizeKind, TrafficRecord};

use crate::error::Error;
use crate::source::Scenario;

impl Scenario<'_> {
    /// Adds the folder called `name`, if it can be kept.
    fn folder(&self, name: &str, files: &mut Files) -> Result<(), Error> {
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
                .map_err(|source| Error::Read { path: path.clone(), source })?;
        if whole {
            files.kept.extend(kept);
        } else {
            files.outside.push(name.to_owned());
        }
        Ok(())
    }

    /// The files it names, by the path it gives: they have to be beside the text wherever that is run again.
    pub(crate) fn files(&self) -> Result<Files, Error> {
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
                let bytes = fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
                files.kept.insert(name, Kept { bytes, executable: false });
            }
            let published = record.claim.iter().flat_map(|claim| &claim.published).flat_map(|many| many.iter());
            for one in published {
                let Published::Number(NumberRecord { file: Some(name), .. }) = one else { continue };
                let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
                if !inside || files.kept.contains_key(name) {
                    continue;
                }
                // The others come with Headway.
                if let Ok(bytes) = fs::read(self.source.folder.join(name)) {
                    files.kept.insert(name.clone(), Kept { bytes, executable: false });
                }
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
pub(crate) struct Files {
    kept: BTreeMap<String, Kept>,
    /// Those that are not below the scenario's folder, and so cannot be kept below another.
    pub outside: Vec<String>,
}

impl Files {
    /// These, by name, each with its content and whether it is a program.
    pub fn of(files: impl Iterator<Item = (String, Vec<u8>, bool)>) -> Files {
        let inside = |name: &str| {
            Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        let files = files.filter(|(name, ..)| inside(name));
        let kept = files.map(|(name, bytes, executable)| (name, Kept { bytes, executable })).collect();
        Files { kept, outside: Vec::new() }
    }

    /// Their names, contents, and whether they are programs.
    pub fn contents(&self) -> impl Iterator<Item = (&str, &[u8], bool)> {
        self.kept.iter().map(|(name, kept)| (name.as_str(), kept.bytes.as_slice(), kept.executable))
    }

    /// Copies them into `folder`.
    pub fn keep_in(&self, folder: &Path) -> Result<(), Error> {
        for (name, Kept { bytes, executable }) in &self.kept {
            let path = folder.join(name);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                // Never over one of our own.
                let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
                std::io::Write::write_all(&mut file, bytes)?;
                if *executable { make_executable(&file) } else { Ok(()) }
            });
            written.map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// `builder` with all that is below the folder `name`; nothing if that is not known.
    pub fn hashed(&self, name: &str, mut builder: KeyBuilder) -> Option<KeyBuilder> {
        let name = name.trim_end_matches('/');
        if self.outside.iter().any(|outside| outside == name) {
            return None;
        }
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
            if fs::read(folder.join(name)).ok().as_ref() != Some(bytes) {
                return Err(Error::OtherFile { path: folder.to_path_buf(), name: name.clone() });
            }
        }
        Ok(())
    }
}
