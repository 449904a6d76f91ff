use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::*;
use crate::part;
use crate::record::SweepPoint;

fn outcome(repeat: u32) -> Outcome {
    let job = Job { cell: 5, repeat };
    part::tests::outcome(job).new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

fn run(repeat: u32) -> StoredRun {
    StoredRun {
        epoch: 3,
        version: "0.1.0".into(),
        scenario: "tiny\nwith \"quotes\"".into(),
        policy: "tcp".into(),
        sweep: SweepPoint::new().with("n", 1),
        seed: u64::MAX,
        repeat,
        kernel: None,
    }
}

fn key(name: &str) -> Key {
    KeyBuilder::new().with("name", name.as_bytes()).finish()
}

fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::create(directory.path().join("store")).unwrap();
    (directory, store)
}

fn job(repeat: u32) -> Job {
    Job { cell: 1, repeat }
}

fn entries(store: &Store) -> Vec<Entry> {
    let mut entries = Vec::new();
    store
        .entries(&mut |entry| {
            entries.push(entry);
            Ok(())
        })
        .unwrap();
    entries
}

#[test]
fn a_run_is_found_by_its_key_as_any_cell() {
    let (_directory, store) = store();
    assert_eq!(store.get(&key("a"), job(0)).unwrap(), None);
    store.put(&key("a"), &run(0), &outcome(0)).unwrap();
    let found = store.get(&key("a"), job(0)).unwrap().unwrap();
    assert_eq!(found, Outcome { job: job(0), ..outcome(0) });
    assert_eq!(store.get(&key("b"), job(0)).unwrap(), None);
    // A second process writes the same run, and nothing is left of the way there.
    Store::create(store.path()).unwrap().put(&key("a"), &run(0), &outcome(0)).unwrap();
    let all = entries(&store);
    assert_eq!((all.len(), all[0].key, all[0].run.clone()), (1, key("a"), Ok(Some(run(0)))));
    let mut files = 0;
    store
        .files(&mut |_| {
            files += 1;
            Ok(())
        })
        .unwrap();
    // The run, and the file that says that it is a store.
    assert_eq!(files, 2);
}

#[test]
fn damaged_runs_are_told_and_can_be_put_again() {
    let (_directory, store) = store();
    store.put(&key("a"), &run(0), &outcome(0)).unwrap();
    let path = store.file(&key("a"));
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for bytes in [&whole[..whole.len() - 1], &whole[..20], &[], &changed, b"something else"] {
        fs::write(&path, bytes).unwrap();
        let error = store.get(&key("a"), job(0)).unwrap_err();
        assert!(matches!(&error, Error::Damaged { path: damaged, .. } if *damaged == path), "{error}");
        assert!(store.check(&key("a")).is_some());
    }
    store.put(&key("a"), &run(0), &outcome(0)).unwrap();
    assert!(store.get(&key("a"), job(0)).unwrap().is_some());
    assert_eq!(store.check(&key("a")), None);
}

/// A file that was copied over another is not taken for it.
#[test]
fn a_run_under_another_name_is_damaged() {
    let (_directory, store) = store();
    store.put(&key("a"), &run(0), &outcome(0)).unwrap();
    store.put(&key("b"), &run(1), &outcome(1)).unwrap();
    fs::copy(store.file(&key("a")), store.file(&key("b"))).unwrap();
    let error = store.get(&key("b"), job(1)).unwrap_err();
    assert!(error.to_string().ends_with("it has the name of another run"), "{error}");
    assert!(store.get(&key("a"), job(1)).unwrap_err().to_string().ends_with("it is another repeat"));
}

#[test]
fn only_stores_and_empty_folders_become_stores() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine"), "").unwrap();
    let error = Store::create(directory.path()).unwrap_err();
    assert!(matches!(error, Error::NotStore { .. }), "{error}");
    assert!(matches!(Store::open(directory.path().join("none")).unwrap_err(), Error::NotStore { .. }));
    let (_directory, store) = store();
    fs::write(store.path().join(ABOUT), "{\"headway-store\": 2}").unwrap();
    assert!(matches!(Store::create(store.path()).unwrap_err(), Error::StoreFormat { found: 2, .. }));
    fs::write(store.path().join(ABOUT), "{").unwrap();
    assert!(matches!(Store::create(store.path()).unwrap_err(), Error::Damaged { .. }));
}

#[test]
fn what_a_rule_takes_goes_and_the_rest_stays() {
    let (_directory, store) = store();
    let put = |name: &str, run: StoredRun| store.put(&key(name), &run, &outcome(0)).unwrap();
    put("now", run(0));
    put("old epoch", StoredRun { epoch: 2, ..run(0) });
    put("other scenario", StoredRun { epoch: 2, scenario: "other".into(), ..run(0) });
    put("damaged", run(0));
    fs::write(store.file(&key("damaged")), "x").unwrap();
    let written = entries(&store)[0].written.unwrap();
    let rule = Rule { epoch: Some(3), older_than: None, scenario: Some(run(0).scenario), now: written };
    let abandoned = store.folder(&key("now")).join(format!("{}x{}", TEMPORARY.0, TEMPORARY.1));
    fs::write(&abandoned, "").unwrap();

    let dry = store.collect(&rule, true).unwrap();
    assert_eq!((dry.removed, dry.kept, dry.abandoned, entries(&store).len()), (2, 2, 0, 4));
    assert_eq!(store.collect(&rule, false).unwrap(), dry);
    let left: Vec<Key> = entries(&store).iter().map(|entry| entry.key).collect();
    let mut expected = vec![key("now"), key("other scenario")];
    expected.sort();
    assert_eq!(left, expected);

    // Two days on.
    let later = Rule { epoch: None, scenario: None, now: written + Duration::from_secs(2 * 86_400), ..rule };
    let by_age = |days: u64| Rule { older_than: Some(Duration::from_secs(days * 86_400)), ..later.clone() };
    assert_eq!(store.collect(&by_age(3), false).unwrap().kept, 2);
    assert!(!abandoned.exists());
    assert_eq!(store.collect(&by_age(1), false).unwrap().removed, 2);
    assert!(entries(&store).is_empty());
}

/// Versions of other layouts may share a store: a later one's runs are not damage, an earlier one's are of no use.
#[test]
fn runs_of_other_layouts_are_told_from_damage() {
    let (_directory, store) = store();
    let names = ["now", "later part", "older part", "later run", "cut"];
    for name in names {
        store.put(&key(name), &run(0), &outcome(0)).unwrap();
    }
    let change = |name: &str, from: &[u8], to: &[u8]| {
        let path = store.file(&key(name));
        let bytes = fs::read(&path).unwrap();
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        fs::write(&path, [&bytes[..at], to, &bytes[at + from.len()..]].concat()).unwrap();
    };
    change("later part", part::MAGIC, b"headway part 99\n");
    change("older part", part::MAGIC, b"headway part 2\n");
    change("later run", b"headway run 1\n", b"headway run 2\nsomething else");
    change("cut", part::MAGIC, b"");
    let temporary = store.path().join(format!("{}x{}", TEMPORARY.0, TEMPORARY.1));
    fs::write(&temporary, "").unwrap();
    let now = entries(&store)[0].written.unwrap() + Duration::from_secs(2 * 86_400);
    let rule = Rule { epoch: Some(3), older_than: None, scenario: None, now };
    let collected = store.collect(&rule, false).unwrap();
    assert_eq!((collected.removed, collected.kept, collected.abandoned), (2, 3, 1));
    assert!(!temporary.exists());
    let mut left: Vec<Key> = ["now", "later part", "later run"].map(key).to_vec();
    left.sort();
    let all = entries(&store);
    assert_eq!(all.iter().map(|entry| entry.key).collect::<Vec<_>>(), left);
    let layout = |name: &str| all.iter().find(|entry| entry.key == key(name)).unwrap().layout;
    assert_eq!(
        (layout("now"), layout("later part"), layout("later run")),
        (Layout::Known, Layout::Later, Layout::Later)
    );
    let by_age = Rule { epoch: None, older_than: Some(Duration::from_secs(86_400)), ..rule };
    assert_eq!(store.collect(&by_age, false).unwrap().removed, 3);
}

/// Writers and readers of one run at once: a reader finds all of it or nothing.
#[test]
fn a_reader_never_finds_half_a_run() {
    let (_directory, store) = store();
    let wanted = Outcome { job: job(0), ..outcome(0) };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..200).for_each(|_| store.put(&key("a"), &run(0), &outcome(0)).unwrap()));
        }
        let mut found = 0;
        while found < 200 {
            if let Some(outcome) = store.get(&key("a"), job(0)).unwrap() {
                assert_eq!(outcome, wanted);
                found += 1;
            }
        }
    });
}
