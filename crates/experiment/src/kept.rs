//! Files that a scenario names, beside the results of its runs: copies of some, hashes of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use headway_results::KeyBuilder;
use headway_scenario::schema::{SizeKind, TrafficRecord};

use crate::error::Error;
use crate::experiment::Experiment;
use crate::files::Files;

/// Names in a folder of results that are no scenario's to give.
const OWN: [&str; 4] = ["manifest.json", "scenario.toml", "shard.json", "parts"];

/// Copies `files` into `folder`, which nothing else is in but the same of a process that died. `staging` is a place for a folder.
pub(crate) fn keep(files: &Files, folder: &Path, staging: &Path) -> Result<(), Error> {
    let written = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Write { path, source }
    };
    fs::create_dir(staging).map_err(written(staging))?;
    files.keep_in(staging)?;
    // Each appears under its name only when all of it is written.
    for entry in fs::read_dir(staging).map_err(written(staging))? {
        let name = entry.map_err(written(staging))?.file_name();
        let to = folder.join(&name);
        if OWN.iter().any(|own| name == *own) {
            return Err(written(&to)(io::ErrorKind::AlreadyExists.into()));
        }
        let removed = if to.is_dir() { fs::remove_dir_all(&to) } else { fs::remove_file(&to) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(written(&to)(error)),
            _ => fs::rename(staging.join(&name), &to).map_err(written(&to))?,
        }
    }
    fs::remove_dir(staging).map_err(written(staging))
}

/// Hashes of what the scenario names that is not kept with its results, by name; files are looked for in `folder`.
///
/// # Errors
/// If one cannot be read.
pub(crate) fn outside(
    experiment: &Experiment,
    files: &Files,
    folder: &Path,
) -> Result<BTreeMap<String, String>, Error> {
    let mut names: BTreeSet<String> = files.outside.iter().cloned().collect();
    for point in experiment.document.points() {
        let record = experiment.document.scenario(&point)?;
        for size in record.traffic.iter().flat_map(TrafficRecord::sizes) {
            let SizeKind::Cdf(cdf) = size else { continue };
            names.extend(cdf.file.iter().filter(|name| Path::new(name).is_absolute()).cloned());
        }
    }
    let mut hashes = BTreeMap::new();
    for name in names {
        let path = folder.join(&name);
        let builder = hashed(&path, "", KeyBuilder::new()).map_err(|source| Error::Read { path, source })?;
        hashes.insert(name, builder.finish().to_string());
    }
    Ok(hashes)
}

/// `builder` with the file or folder at `path`, which is called `name`.
fn hashed(path: &Path, name: &str, builder: KeyBuilder) -> io::Result<KeyBuilder> {
    let metadata = fs::symlink_metadata(path)?;
    // The name that the scenario gives may be a link; links below are only compared.
    if metadata.is_symlink() && !name.is_empty() {
        let target = fs::read_link(path)?;
        return Ok(builder.with("link", name.as_bytes()).with("target", target.as_os_str().as_encoded_bytes()));
    }
    let metadata = fs::metadata(path)?;
    if metadata.is_file() {
        return Ok(builder.with("file", name.as_bytes()).with("content", &fs::read(path)?));
    }
    if !metadata.is_dir() {
        return Ok(builder.with("other", name.as_bytes()));
    }
    let mut builder = builder.with("folder", name.as_bytes());
    let mut entries =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable();
    for entry in entries {
        let own = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        builder = hashed(&entry, &format!("{name}/{own}"), builder)?;
    }
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(some: &[(&str, &str)]) -> (tempfile::TempDir, BTreeMap<String, String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in some {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let hash = hashed(folder.path(), "", KeyBuilder::new()).unwrap().finish().to_string();
        (folder, BTreeMap::from([("x".to_owned(), hash)]))
    }

    #[test]
    fn a_folder_has_the_hash_of_all_that_is_in_it() {
        let of = |some: &[(&str, &str)]| files(some).1;
        let one = of(&[("a", "1"), ("b/c", "2")]);
        assert_eq!(one, of(&[("b/c", "2"), ("a", "1")]));
        for other in [&[("a", "1"), ("b/c", "3")], &[("a", "1"), ("b/d", "2")], &[("a", "1"), ("c", "2")]] {
            assert_ne!(one, of(other), "{other:?}");
        }
    }
}
