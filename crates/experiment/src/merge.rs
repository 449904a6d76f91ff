//! The results of all shards of a run, made into one folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headway_results::{Folder, Kernel, Manifest, Shard, Unfinished};

use crate::error::Error;
use crate::fingerprint::RESULTS_EPOCH;
use crate::opened::Session;
use crate::origin::Origin;
use crate::run::{Destination, Joined, Planned, Request, VERSION};
use crate::source::Source;

/// Captures are below this folder, in folders of their own for each run.
const CAPTURES: &str = "captures";

/// Takes the runs of all shards in `folders`, which must be all shards of one run, and complete, into a new folder. What is left
/// is [`Session::finish`], which makes the files that one call without shards makes. `command` is for the manifest.
/// With `no_report` there is no report.
///
/// # Errors
/// If something is missing or does not belong together: then nothing was written. If a run cannot be read or the folder not be
/// written: then the same call goes on with what is in the folder.
pub fn merge(
    folders: &[PathBuf],
    destination: &Destination,
    command: &[String],
    no_report: bool,
) -> Result<Session, Error> {
    let shards = folders.iter().map(|path| look(path)).collect::<Result<Vec<_>, Error>>()?;
    check(&shards)?;
    let first = &shards[0].1;
    let origin = Origin::read(&first.path)?;
    for (_, other) in &shards[1..] {
        check_outside(&origin, (&first.path, &other.path))?;
    }
    let mut warnings: Vec<String> = Vec::new();
    for text in shards.iter().flat_map(|(_, own)| &own.manifest.warnings) {
        if !warnings.contains(text) {
            warnings.push(text.clone());
        }
    }
    let started = shards.iter().map(|(_, own)| &own.manifest.started).min().cloned().unwrap_or_default();
    let wall_s = shards.iter().map(|(_, own)| own.manifest.wall_s).sum();
    let joined = Joined { kernel: first.manifest.kernel.clone(), warnings, started, wall_s };
    let planned = planned(&origin, &first.path, &unfinished(destination), (command, no_report), joined)?;
    let expected = &planned.manifest().scenario_sha256;
    if *expected != first.manifest.scenario_sha256 {
        let (found, expected) = (first.manifest.scenario_sha256.clone(), expected.clone());
        let what = "scenario hash".to_owned();
        return Err(headway_results::Error::Mismatch { path: first.path.clone(), what, found, expected }.into());
    }
    for (_, own) in &shards {
        planned.check_files(&own.path).map_err(|error| match error {
            Error::OtherFile { path, name } => {
                Error::OtherShardFile { folders: Box::new([first.path.clone(), path]), name }
            }
            other => other,
        })?;
    }
    let mut session = planned.open(&mut |_| {})?.take_up()?;
    for (shard, own) in &shards {
        for &job in &own.completed {
            session.take_from(own, job).map_err(|error| match error {
                headway_results::Error::Damaged { ref path, .. } if path.starts_with(&own.path) => {
                    Error::ShardDamaged { path: own.path.clone(), shard: *shard, error: Box::new(error) }
                }
                other => other.into(),
            })?;
        }
        let captures = own.path.join(CAPTURES);
        if captures.is_dir() {
            copy(&captures, &session.opened().path().join(CAPTURES))?;
        }
    }
    Ok(session)
}

/// `destination`, or the merging there that did not come to its end.
fn unfinished(destination: &Destination) -> Destination {
    match destination {
        Destination::New(path) if Folder::look(path).is_ok_and(|there| is_unfinished(&there.manifest)) => {
            Destination::Resume(path.clone())
        }
        other => other.clone(),
    }
}

fn is_unfinished(manifest: &Manifest) -> bool {
    !manifest.complete && manifest.shard.is_none()
}

/// Whether two shards were run with the same files from outside their scenario's folder.
fn check_outside(origin: &Origin, (first, second): (&Path, &Path)) -> Result<(), Error> {
    let other = Origin::read(second)?;
    let mut names = origin.outside.keys().chain(other.outside.keys());
    match names.find(|name| origin.outside.get(*name) != other.outside.get(*name)) {
        None => Ok(()),
        Some(name) => {
            let folders = Box::new([first.to_path_buf(), second.to_path_buf()]);
            Err(Error::OtherShardFile { folders, name: name.clone() })
        }
    }
}

/// The scenario of the shards, whose files are beside the first of them, or where it came from.
fn planned(
    origin: &Origin,
    shard: &Path,
    destination: &Destination,
    (command, no_report): (&[String], bool),
    joined: Joined,
) -> Result<Planned, Error> {
    let (seed, repeats) = (Some(origin.seed), Some(origin.repeats));
    let (overrides, command) = (origin.overrides.clone(), command.to_vec());
    let request = Request { overrides, seed, repeats, command, no_report, ..Request::default() };
    let beside = Source { folder: shard.to_path_buf(), ..origin.source.clone() };
    match Planned::joined(&beside, destination.clone(), &request, joined.clone()) {
        Err(error) if !origin.source.folder.is_dir() => Err(error),
        // Files that are not below the scenario's folder are not kept beside shards.
        Err(_) => Planned::joined(&origin.source, destination.clone(), &request, joined),
        planned => planned,
    }
}

fn look(path: &Path) -> Result<(Shard, Unfinished), Error> {
    let there = Folder::look(path)?;
    let shard = there.manifest.shard.ok_or_else(|| Error::NotAShard { path: path.to_path_buf() })?;
    Ok((shard, there))
}

/// Whether these are all shards of one run, each once and complete.
fn check(shards: &[(Shard, Unfinished)]) -> Result<(), Error> {
    let Some((shard, first)) = shards.first() else { return Err(Error::NoShards) };
    let own = &first.manifest;
    for (what, found, expected) in [
        ("version", own.version.clone(), VERSION.to_owned()),
        ("epoch of results", own.results_epoch.to_string(), RESULTS_EPOCH.to_string()),
    ] {
        if found != expected {
            let (path, what) = (first.path.clone(), what.to_owned());
            return Err(headway_results::Error::Mismatch { path, what, found, expected }.into());
        }
    }
    for (_, other) in &shards[1..] {
        if let Some((what, values)) = difference(&first.manifest, &other.manifest) {
            let folders = Box::new([first.path.clone(), other.path.clone()]);
            return Err(Error::OtherShard { folders, what, values: Box::new(values) });
        }
    }
    let mut paths: BTreeMap<u32, &Path> = BTreeMap::new();
    for (shard, own) in shards {
        if let Some(first) = paths.insert(shard.index(), &own.path) {
            let (first, second) = (first.to_path_buf(), own.path.clone());
            return Err(Error::ShardTwice { first, second, shard: *shard });
        }
    }
    let missing: Vec<u32> = (1..=shard.of()).filter(|index| !paths.contains_key(index)).collect();
    if !missing.is_empty() {
        let like = (first.manifest.command.clone(), first.path.clone());
        return Err(Error::ShardsMissing { missing, of: shard.of(), like });
    }
    for (shard, own) in shards {
        let (done, total) = (own.completed.len(), own.manifest.own_jobs().count());
        if done < total {
            return Err(Error::ShardUnfinished { path: own.path.clone(), shard: *shard, done, total });
        }
    }
    Ok(())
}

/// The first thing that two shards of one run have alike and these do not.
fn difference(one: &Manifest, other: &Manifest) -> Option<(&'static str, [String; 2])> {
    let values = |manifest: &Manifest| {
        [
            ("the version", manifest.version.clone()),
            ("the epoch of results", manifest.results_epoch.to_string()),
            ("the scenario's hash", manifest.scenario_sha256.clone()),
            ("the seed", manifest.seed.to_string()),
            ("the number of repeats", manifest.repeats.to_string()),
            ("the number of shards", manifest.shard.map_or(0, Shard::of).to_string()),
            ("the kernel", manifest.kernel.as_ref().map_or_else(|| "none".to_owned(), Kernel::identity)),
            ("the number of cells", manifest.cells.len().to_string()),
        ]
    };
    let pairs = values(one).into_iter().zip(values(other));
    pairs.map(|((what, one), (_, other))| (what, [one, other])).find(|(_, values)| values[0] != values[1])
}

/// Copies all files below `from`.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let read = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Read { path, source }
    };
    let written = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Write { path, source }
    };
    fs::create_dir_all(to).map_err(written(to))?;
    for entry in fs::read_dir(from).map_err(read(from))? {
        let entry = entry.map_err(read(from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).map_err(written(&to))?;
        }
    }
    Ok(())
}
