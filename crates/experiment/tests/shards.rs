//! Shards of a run: begun, stopped, gone on with, merged.

use std::fs;
use std::path::{Path, PathBuf};

use headway_experiment::{
    Destination, Error, Finished, Interruption, Planned, RESULTS_EPOCH, Ran, Request, Source, merge,
};
use headway_results::Shard;

const SMALL: &str = include_str!("../../scenario/tests/small.toml");

/// A scenario with a table of sizes beside it, in a folder `name` below `place`.
fn source(place: &Path, name: &str, file: &str, largest: u32) -> Source {
    let folder = place.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), format!("bytes,cumulative\n1000,0\n{largest},1\n")).unwrap();
    let size = format!("size = {{ kind = \"cdf\", file = \"{file}\" }}");
    let text = SMALL.replace("size = \"50KB\"", &size);
    assert_ne!(text, SMALL);
    Source { name: "small.toml".into(), text, folder }
}

fn run(source: &Source, shard: u32, destination: Destination, repeats: Option<u32>) -> Result<Ran, Error> {
    let request = Request { shard: Shard::new(shard, 2), threads: Some(1), repeats, ..Request::default() };
    let opened = Planned::new(source, destination, &request)?.open(&mut |_| {})?;
    Ok(opened.run_only(&Interruption::default(), &mut |_, _| {}).unwrap())
}

fn merged(folders: &[PathBuf], out: &Path) -> Result<Finished, Error> {
    Ok(merge(folders, &Destination::New(out.to_path_buf()), &[], true)?.finish().unwrap())
}

#[test]
fn shards_with_other_files_do_not_merge() {
    for file in ["sizes.cdf", "../sizes.cdf"] {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let shards = [place.join("shards/1"), place.join("shards/2")];
        run(&source(place, "a/in", file, 50_000), 1, Destination::New(shards[0].clone()), None).unwrap();
        run(&source(place, "b/in", file, 90_000), 2, Destination::New(shards[1].clone()), None).unwrap();
        let error = merged(&shards, &place.join("out")).unwrap_err();
        assert!(matches!(&error, Error::OtherShardFile { name, .. } if name == file), "{error}");
        assert!(!place.join("out").exists());
        fs::remove_dir_all(&shards[1]).unwrap();
        run(&source(place, "b/in", file, 50_000), 2, Destination::New(shards[1].clone()), None).unwrap();
        assert_eq!(merged(&shards, &place.join("out")).unwrap().manifest.results_epoch, RESULTS_EPOCH);
    }
}

/// As a process that was killed leaves it, at each moment of the beginning of a shard.
#[test]
fn a_shard_that_is_killed_at_its_beginning_is_begun_again() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let source = source(place, "in", "sizes.cdf", 50_000);
    let shards = [place.join("shards/1"), place.join("shards/2")];
    run(&source, 2, Destination::New(shards[1].clone()), None).unwrap();
    let path = &shards[0];
    let written = ["parts/lock", "scenario.toml", "parts/files/sizes.cdf", "sizes.cdf", "shard.json"];
    for count in 1..=written.len() {
        fs::create_dir_all(path.join("parts/files")).unwrap();
        for name in &written[..count] {
            fs::write(path.join(name), if name.ends_with("lock") { "" } else { "half of it" }).unwrap();
        }
        run(&source, 1, Destination::New(path.clone()), None).unwrap();
        merged(&shards, &place.join(format!("out-{count}"))).unwrap();
        fs::remove_dir_all(path).unwrap();
    }
    // Killed when the manifest had its new number of repeats, and shard.json not.
    run(&source, 1, Destination::New(path.clone()), None).unwrap();
    let before = fs::read_to_string(path.join("shard.json")).unwrap();
    run(&source, 1, Destination::Resume(path.clone()), Some(4)).unwrap();
    fs::write(path.join("shard.json"), before).unwrap();
    run(&source, 1, Destination::Resume(path.clone()), Some(4)).unwrap();
    run(&source, 2, Destination::Resume(shards[1].clone()), Some(4)).unwrap();
    assert_eq!(merged(&shards, &place.join("more")).unwrap().manifest.repeats, 4);
}

#[test]
fn a_complete_shard_that_is_run_again_stays_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let source = source(place, "in", "sizes.cdf", 50_000);
    let path = place.join("1");
    let first = run(&source, 1, Destination::New(path.clone()), None).unwrap().manifest;
    let before = fs::read_to_string(path.join("manifest.json")).unwrap();
    let again = run(&source, 1, Destination::Resume(path.clone()), None).unwrap();
    assert_eq!((again.computed, again.manifest), (0, first.clone()));
    assert_eq!(fs::read_to_string(path.join("manifest.json")).unwrap(), before);
    let more = run(&source, 1, Destination::Resume(path), Some(4)).unwrap().manifest;
    assert!(more.wall_s > first.wall_s);
}

#[test]
fn a_merge_that_stopped_is_gone_on_with() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let source = source(place, "in", "sizes.cdf", 50_000);
    let (shards, out) = ([place.join("1"), place.join("2")], place.join("out"));
    for (shard, path) in (1..).zip(&shards) {
        run(&source, shard, Destination::New(path.clone()), None).unwrap();
    }
    let parts = || fs::read_dir(shards[1].join("parts")).unwrap().map(|entry| entry.unwrap().path());
    let part = parts().find(|path| path.extension().is_some_and(|end| end == "part")).unwrap();
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let error = merged(&shards, &out).unwrap_err();
    assert!(matches!(&error, Error::ShardDamaged { path, .. } if *path == shards[1]), "{error}");
    fs::write(&part, whole).unwrap();
    merged(&shards, &out).unwrap();
    // What is finished stays.
    assert!(merged(&shards, &out).unwrap_err().to_string().contains("finished"));
}
