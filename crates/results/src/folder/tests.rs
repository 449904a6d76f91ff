use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::*;
use crate::record::{Cell, SweepPoint};
use crate::summary::SummaryBuilder;

const SCENARIO_TEXT: &str = "name = \"test\"\n";

fn manifest() -> Manifest {
    let cell =
        |index, policy: &str, n: i64| Cell { index, policy: policy.into(), sweep: SweepPoint::new().with("n", n) };
    Manifest::new("test", SCENARIO_TEXT, 7, 2, "0.1.0", vec![cell(0, "tcp", 1), cell(1, "mptcp", 1)])
}

/// Some outcome for each run; the same at every call.
fn outcomes() -> Vec<Outcome> {
    let mut runner = TestRunner::deterministic();
    let any = |job| part::tests::outcome(job).new_tree(&mut runner).unwrap().current();
    manifest().jobs().map(any).collect()
}

fn builder(outcomes: &[Outcome]) -> SummaryBuilder {
    let mut builder = SummaryBuilder::new(&manifest().cells, ["short"]);
    for outcome in outcomes {
        builder.add(outcome);
    }
    builder
}

fn summary(outcomes: &[Outcome]) -> Summary {
    builder(outcomes).build()
}

fn repeats(outcomes: &[Outcome]) -> Repeats {
    builder(outcomes).repeats()
}

fn create_in(directory: &TempDir) -> Folder {
    Folder::create(directory.path().join("run"), &manifest(), SCENARIO_TEXT).unwrap()
}

/// A folder as an interrupted process leaves it, with all its parts.
fn interrupted(directory: &TempDir) -> PathBuf {
    let folder = create_in(directory);
    for outcome in outcomes() {
        folder.put(&outcome).unwrap();
    }
    folder.path().to_path_buf()
}

fn finished(directory: &TempDir) -> PathBuf {
    let path = interrupted(directory);
    let (folder, _) = Folder::resume(&path, &manifest()).unwrap();
    folder.finish(&summary(&outcomes()), &repeats(&outcomes()), &manifest()).unwrap();
    path
}

fn names(path: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(path).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn commands_leave_a_table_and_what_they_wrote() {
    use crate::record::{CommandRecord, Output};
    let directory = tempfile::tempdir().unwrap();
    let folder = create_in(&directory);
    let path = folder.path().to_path_buf();
    let at = headway_units::Time::from_picos;
    let mut outcomes = outcomes();
    outcomes[3].commands.push(CommandRecord {
        traffic: "ask".into(),
        host: "left-host0".into(),
        start: at(1_000),
        end: at(5_999),
        code: 3,
        ended: false,
        stdout: Output::new(b"all\xff".to_vec()),
        stderr: Output { kept: b"no".to_vec(), bytes: 20 },
    });
    for outcome in &outcomes {
        folder.put(outcome).unwrap();
    }
    folder.finish(&summary(&outcomes), &repeats(&outcomes), &manifest()).unwrap();
    let expected = "policy,sweep_n,repeat,traffic,host,start_ns,end_ns,code,ended,stdout_bytes,stderr_bytes,output\n\
                    mptcp,1,1,ask,left-host0,1,5,3,false,4,20,commands/1-1/ask-left-host0\n";
    assert_eq!(fs::read_to_string(path.join(COMMANDS)).unwrap(), expected);
    assert_eq!(fs::read(path.join("commands/1-1/ask-left-host0.stdout")).unwrap(), b"all\xff");
    assert_eq!(fs::read(path.join("commands/1-1/ask-left-host0.stderr")).unwrap(), b"no");
    assert_eq!(names(&path.join("commands")), ["1-1"]);
}

#[test]
fn a_run_goes_on_only_with_its_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let path = interrupted(&directory);
    let mut other = manifest();
    let kernel = crate::manifest::Kernel {
        name: "k".into(),
        version: "6.12".into(),
        linux_sha256: "a".into(),
        initramfs_sha256: "b".into(),
        system_sha256: "c".into(),
        changes: String::new(),
    };
    other.kernel = Some(kernel);
    let error = Folder::resume(&path, &other).unwrap_err();
    assert!(matches!(&error, Error::Mismatch { what, .. } if what == "kernel"), "{error}");
}

#[test]
fn a_run_from_start_to_end() {
    let directory = tempfile::tempdir().unwrap();
    let folder = create_in(&directory);
    let path = folder.path().to_path_buf();
    let outcomes = outcomes();
    for outcome in &outcomes {
        folder.put(outcome).unwrap();
        assert_eq!(folder.load(outcome.job).unwrap(), *outcome);
    }
    let mut last = manifest();
    last.finished = Some("2024-05-06T07:08:09Z".into());
    last.claims = serde_json::json!([{ "holds": true }]);
    let written = folder.finish(&summary(&outcomes), &repeats(&outcomes), &last).unwrap();
    let expected = [FLOWS, LINKS, MANIFEST, PATHS, REPEATS, SCENARIO, SERIES, SUMMARY, TOPOLOGY];
    assert!(outcomes.iter().any(|outcome| outcome.film.is_some()));
    assert_eq!(names(&path), expected);
    assert_eq!(fs::read_to_string(path.join(SCENARIO)).unwrap(), SCENARIO_TEXT);

    let read = Folder::open(&path).unwrap();
    assert_eq!(read.manifest, written);
    assert!(written.complete);
    assert_eq!(written.runs, outcomes.iter().map(RunTotals::from).collect::<Vec<_>>());
    assert_eq!(Manifest { complete: false, runs: Vec::new(), ..written }, last);
    assert_eq!(read.summary, summary(&outcomes));
    assert_eq!(read.repeats().unwrap(), Some(repeats(&outcomes)));
    fs::write(path.join(REPEATS), "policy\n").unwrap();
    assert!(matches!(read.repeats().unwrap_err(), Error::Damaged { .. }));
    fs::remove_file(path.join(REPEATS)).unwrap();
    assert_eq!(read.repeats().unwrap(), None);
}

#[test]
fn the_order_of_arrival_changes_no_byte() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = finished(&one);
    let folder = create_in(&other);
    // Each from a thread of its own, the last first.
    std::thread::scope(|scope| {
        for outcome in outcomes().into_iter().rev() {
            let folder = &folder;
            scope.spawn(move || folder.put(&outcome).unwrap());
        }
    });
    let (mut reversed, other) = (outcomes(), folder.path().to_path_buf());
    reversed.reverse();
    folder.finish(&summary(&reversed), &repeats(&reversed), &manifest()).unwrap();
    for name in names(&path) {
        assert!(fs::read(path.join(&name)).unwrap() == fs::read(other.join(&name)).unwrap(), "{name} differs");
    }
}

#[test]
fn resuming_knows_what_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = interrupted(&directory);
    let part = |name: &str| path.join(PARTS).join(name);
    fs::remove_file(part("0-1.part")).unwrap();
    let bytes = fs::read(part("1-0.part")).unwrap();
    fs::write(part("1-0.part"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(part("0-1.part.tmp"), &bytes[..10]).unwrap();
    fs::write(path.join("flows.parquet.tmp"), "cut").unwrap();

    let (folder, done) = Folder::resume(&path, &manifest()).unwrap();
    let done: Vec<Job> = done.into_iter().collect();
    assert_eq!(done, [Job { cell: 0, repeat: 0 }, Job { cell: 1, repeat: 1 }]);
    assert_eq!(names(&path.join(PARTS)), ["0-0.part", "1-0.part", "1-1.part", "lock"]);
    assert!(!path.join("flows.parquet.tmp").exists());
    for outcome in outcomes().iter().filter(|outcome| !done.contains(&outcome.job)) {
        folder.put(outcome).unwrap();
    }
    folder.finish(&summary(&outcomes()), &repeats(&outcomes()), &manifest()).unwrap();
    let undisturbed = tempfile::tempdir().unwrap();
    let expected = finished(&undisturbed);
    assert_eq!(fs::read(path.join(FLOWS)).unwrap(), fs::read(expected.join(FLOWS)).unwrap());
}

#[test]
fn resuming_with_more_repeats_keeps_what_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = interrupted(&directory);
    let (_, done) = Folder::resume(&path, &Manifest { repeats: 3, ..manifest() }).unwrap();
    assert_eq!(done.len(), 4);
    let (_, done) = Folder::resume(&path, &Manifest { repeats: 1, ..manifest() }).unwrap();
    assert_eq!(done.len(), 2);
}

#[test]
fn resuming_something_else_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = interrupted(&directory);
    let mut other_cell = manifest();
    other_cell.cells[1].sweep = SweepPoint::new().with("n", 2);
    let cases = [
        (Manifest { scenario_sha256: sha256("other"), ..manifest() }, "its scenario hash is "),
        (Manifest { seed: 8, ..manifest() }, "its seed is 7, this run's is 8"),
        (Manifest { version: "0.2.0".into(), ..manifest() }, "its version is 0.1.0, this run's is 0.2.0"),
        (Manifest { results_epoch: 5, ..manifest() }, "its epoch of results is 0, this run's is 5"),
        (other_cell, "its cell 1 is `mptcp` at n=1, this run's is `mptcp` at n=2"),
        (Manifest { cells: manifest().cells[..1].to_vec(), ..manifest() }, "this run's is none"),
    ];
    for (other, reason) in cases {
        let error = Folder::resume(&path, &other).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }));
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_place_that_is_taken_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let create = |path: &Path| Folder::create(path, &manifest(), SCENARIO_TEXT).unwrap_err();
    let path = finished(&directory);
    assert!(matches!(create(&path), Error::Complete { .. }));
    assert!(matches!(Folder::resume(&path, &manifest()).unwrap_err(), Error::Complete { .. }));

    let other = tempfile::tempdir().unwrap();
    let path = interrupted(&other);
    assert!(matches!(create(&path), Error::Interrupted { .. }));
    assert!(matches!(Folder::open(&path).unwrap_err(), Error::Interrupted { .. }));

    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("thesis.tex"), "mine").unwrap();
    assert!(matches!(create(foreign.path()), Error::NotOurs { .. }));
    assert!(matches!(Folder::open(foreign.path()).unwrap_err(), Error::NoManifest { .. }));
    assert!(matches!(Folder::resume(foreign.path(), &manifest()).unwrap_err(), Error::NoManifest { .. }));
    assert_eq!(names(foreign.path()), ["thesis.tex"]);
}

/// Killed at any point of its beginning, a run can be begun again in the same folder.
#[test]
fn a_folder_without_its_manifest_is_begun_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let create = |path: &Path| Folder::create(path, &manifest(), SCENARIO_TEXT);
    let stopped = Folder::create_with(&path, &manifest(), SCENARIO_TEXT, |folder, own| {
        fs::create_dir(own).unwrap();
        fs::write(own.join("half"), "").unwrap();
        fs::write(folder.join("sizes.cdf"), "").unwrap();
        Err(Error::NotOurs { path: folder.into() })
    });
    assert!(matches!(stopped.unwrap_err(), Error::NotOurs { .. }));
    assert!(!path.join(MANIFEST).exists());
    let folder = create(&path).unwrap();
    assert!(!path.join(PARTS).join(OWN).exists());
    // It is begun once.
    assert!(matches!(create(&path).unwrap_err(), Error::Interrupted { .. }));
    drop(folder);
    // Runs without a manifest are somebody's work, and a folder of this name alone says nothing.
    fs::remove_file(path.join(MANIFEST)).unwrap();
    fs::write(path.join(PARTS).join("0-0.part"), "").unwrap();
    assert!(matches!(create(&path).unwrap_err(), Error::NotOurs { .. }));
    let mine = tempfile::tempdir().unwrap();
    fs::create_dir(mine.path().join(PARTS)).unwrap();
    fs::write(mine.path().join("mine"), "").unwrap();
    assert!(matches!(create(mine.path()).unwrap_err(), Error::NotOurs { .. }));
}

#[test]
fn an_unwritable_place_is_refused_at_once() {
    // Under a file rather than without permission, which would not stop the superuser.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Folder::create(file.join("run"), &manifest(), SCENARIO_TEXT).unwrap_err();
    assert!(matches!(&error, Error::Io { action: "create", .. }));
    assert!(error.to_string().contains("file/run"), "{error}");
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let directory = tempfile::tempdir().unwrap();
    let folder = create_in(&directory);
    assert!(matches!(Folder::resume(folder.path(), &manifest()).unwrap_err(), Error::Busy { .. }));
    let path = folder.path().to_path_buf();
    drop(folder);
    assert!(Folder::resume(path, &manifest()).is_ok());
}

#[test]
fn too_little_space_is_refused() {
    assert!(check_space(Path::new("."), MIN_SPACE).is_ok());
    let error = check_space(Path::new("here"), Bytes::new(1000)).unwrap_err();
    assert_eq!(error.to_string(), "only 1KB free at here; a run needs at least 64MiB");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_with_the_file_and_spares_earlier_parts() {
    let directory = tempfile::tempdir().unwrap();
    let folder = create_in(&directory);
    let outcomes = outcomes();
    folder.put(&outcomes[0]).unwrap();
    // What `put` will write to leads to the device that is always full.
    let part = folder.part(outcomes[1].job);
    std::os::unix::fs::symlink("/dev/full", temporary(&part)).unwrap();
    let error = folder.put(&outcomes[1]).unwrap_err();
    assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull));
    assert!(error.to_string().contains("0-1.part"), "{error}");
    assert_eq!(names(&folder.path().join(PARTS)), ["0-0.part", "lock"]);
    assert_eq!(folder.load(outcomes[0].job).unwrap(), outcomes[0]);

    // Likewise when the parts are merged.
    for outcome in &outcomes {
        folder.put(outcome).unwrap();
    }
    let path = folder.path().to_path_buf();
    std::os::unix::fs::symlink("/dev/full", path.join("flows.parquet.tmp")).unwrap();
    let error = folder.finish(&summary(&outcomes), &repeats(&outcomes), &manifest()).unwrap_err();
    assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull), "{error:?}");
    assert!(error.to_string().contains("flows.parquet"), "{error}");
    let (folder, done) = Folder::resume(&path, &manifest()).unwrap();
    assert_eq!(done.len(), 4);
    folder.finish(&summary(&outcomes), &repeats(&outcomes), &manifest()).unwrap();
    assert!(Folder::open(&path).is_ok());
}

#[test]
fn finishing_needs_all_runs() {
    let directory = tempfile::tempdir().unwrap();
    let folder = create_in(&directory);
    folder.put(&outcomes()[0]).unwrap();
    let error = folder.finish(&summary(&outcomes()), &repeats(&outcomes()), &manifest()).unwrap_err();
    assert!(error.to_string().ends_with("lacks 3 of 4 runs, the first being repeat 1 of cell 0"), "{error}");
}

#[test]
fn a_part_under_another_name_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let folder = create_in(&directory);
    let jobs: Vec<Job> = manifest().jobs().collect();
    folder.put(&outcomes()[0]).unwrap();
    fs::rename(folder.part(jobs[0]), folder.part(jobs[1])).unwrap();
    let error = folder.load(jobs[1]).unwrap_err();
    assert!(error.to_string().ends_with("0-1.part is damaged or not ours: it is repeat 0 of cell 0"), "{error}");
}

#[test]
fn damaged_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = finished(&directory);
    let summary = fs::read(path.join(SUMMARY)).unwrap();
    fs::write(path.join(SUMMARY), &summary[..summary.len() - 5]).unwrap();
    let error = Folder::open(&path).unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with(SUMMARY)), "{error}");

    let text = fs::read_to_string(path.join(MANIFEST)).unwrap();
    for cut in [0, 1, text.len() / 2, text.len() - 3] {
        fs::write(path.join(MANIFEST), &text[..cut]).unwrap();
        let error = Folder::open(&path).unwrap_err();
        assert!(matches!(&error, Error::Damaged { path, .. } if path.ends_with(MANIFEST)), "{error}");
    }
    fs::write(path.join(MANIFEST), text.replace("\"format\": 1", "\"format\": 2")).unwrap();
    let error = Folder::open(&path).unwrap_err();
    assert!(error.to_string().ends_with("has results format 2; this version reads format 1"), "{error}");
    fs::write(path.join(MANIFEST), text.replace("\"index\": 1", "\"index\": 5")).unwrap();
    assert!(matches!(Folder::open(&path).unwrap_err(), Error::Damaged { .. }));
    assert!(matches!(Folder::open(path.join("nowhere")).unwrap_err(), Error::Io { .. }));
}
