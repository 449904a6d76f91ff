//! Reports of finished folders: the page's data as a snapshot, folders that are damaged, older or not ours, and a report
//! that cannot be written.
//!
//! `UPDATE=1` writes the snapshot anew; read it before it is accepted.

use std::fs;
use std::path::{Path, PathBuf};

use headway_experiment::report::{REPORT, ReportError, comparison, reproduction, single, write_page, write_report};
use headway_experiment::{Destination, Finished, Interruption, Planned, Request, Source};
use headway_report::page::{Kind, Page, Run};
use serde_json::Value;

const SCENARIO: &str = include_str!("report.toml");

fn request() -> Request {
    Request { threads: Some(1), ..Request::default() }
}

fn planned(path: &Path, request: &Request) -> Planned {
    let source = Source { name: "small.toml".into(), text: SCENARIO.into(), folder: ".".into() };
    Planned::new(&source, Destination::New(path.to_path_buf()), request).unwrap_or_else(|error| panic!("{error}"))
}

fn run(path: &Path, request: &Request) -> Finished {
    let opened = planned(path, request).open(&mut |_| {}).unwrap();
    opened.run(&Interruption::default(), &mut |_, _| {}).unwrap()
}

fn data(page: &Page) -> Value {
    serde_json::from_str(&page.json()).expect("the data are JSON")
}

/// All but what differs between machines and versions, and the links over time, which a test of their own looks at.
fn lasting(mut run: Value) -> Value {
    let object = run.as_object_mut().expect("an object");
    for key in ["version", "started", "finished", "wall_s", "machine", "toml", "topologies", "films"] {
        assert!(object.remove(key).is_some(), "{key}");
    }
    run
}

#[test]
fn the_data_of_a_small_run_are_those_of_the_snapshot() {
    let place = tempfile::tempdir().unwrap();
    let finished = run(&place.path().join("small"), &request());
    let path = finished.report.expect("a report is wanted").expect("it is written");
    assert_eq!(path, place.path().join("small").join(REPORT));
    let page = single(&finished.path).unwrap();
    assert!(page.runs[0].toml.contains("min-rto"), "every default is written out: {}", page.runs[0].toml);
    let page = data(&page);
    let html = fs::read_to_string(&path).unwrap();
    assert!(html.contains(r"A few flows \u003cb\u003einto\u003c/b\u003e one port"), "as text");
    assert_eq!(
        (page["format"].as_u64(), page["kind"].as_str(), page["title"].as_str()),
        (Some(1), Some("run"), Some("small"))
    );
    let text = format!("{:#}\n", lasting(page["runs"][0].clone()));
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&known, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&known).unwrap(), "if the change is meant, run this test with UPDATE=1");
}

#[test]
fn no_report_is_written_where_none_is_wanted() {
    let place = tempfile::tempdir().unwrap();
    let finished = run(&place.path().join("small"), &Request { no_report: true, ..request() });
    assert!(finished.report.is_none() && !finished.path.join(REPORT).exists());
    assert_eq!(write_report(&finished.path).unwrap(), finished.path.join(REPORT));
    assert!(fs::metadata(finished.path.join(REPORT)).unwrap().len() < 1_500_000);
}

#[test]
fn a_report_that_cannot_be_written_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("small");
    let opened = planned(&path, &request()).open(&mut |_| {}).unwrap();
    // a folder has its name
    let in_the_way = path.join(REPORT).join("x");
    let finished = opened.run(&Interruption::default(), &mut |_, _| fs::create_dir_all(&in_the_way).unwrap()).unwrap();
    let error = finished.report.unwrap().unwrap_err();
    assert!(matches!(error, ReportError::Write { .. }), "{error}");
    assert!(finished.manifest.complete && path.join("summary.csv").exists());
    assert!(!path.join(format!("{REPORT}.tmp")).exists(), "nothing half-done stays");
}

#[test]
fn a_page_replaces_pages_alone() {
    let place = tempfile::tempdir().unwrap();
    let finished = run(&place.path().join("small"), &request());
    let page = single(&finished.path).unwrap();
    let flows = finished.path.join("flows.parquet");
    let before = fs::read(&flows).unwrap();
    let error = write_page(&page, &flows).unwrap_err();
    assert!(matches!(error, ReportError::Taken { .. }), "{error}");
    assert_eq!(fs::read(&flows).unwrap(), before);
    for _ in 0..2 {
        write_page(&page, &place.path().join("page.html")).unwrap();
    }
    fs::write(place.path().join("empty"), "").unwrap();
    write_page(&page, &place.path().join("empty")).unwrap();
}

#[test]
fn claims_that_options_leave_out_are_told() {
    let place = tempfile::tempdir().unwrap();
    let mut request = request();
    request.overrides.policies = vec!["patient".to_owned()];
    let finished = run(&place.path().join("small"), &request);
    let page = single(&finished.path).unwrap();
    assert_eq!(page.runs[0].left_out, ["Two packets take less than a millisecond", "Nothing is dropped"]);
}

#[test]
fn several_folders_come_on_one_page() {
    let place = tempfile::tempdir().unwrap();
    let folders = ["a", "b"].map(|name| place.path().join(name));
    run(&folders[0], &request());
    run(&folders[1], &Request { seed: Some(9), ..request() });
    let page = comparison(&folders).unwrap();
    assert_eq!((page.kind, page.title.as_str()), (Kind::Comparison, "a, b"));
    let of = |run: &Run| (run.label.clone(), run.seed.clone());
    assert_eq!(page.runs.iter().map(of).collect::<Vec<_>>(), [("a".into(), "1".into()), ("b".into(), "9".into())]);
    let groups = [("one".to_owned(), vec![("x".to_owned(), folders[0].clone()), ("y".to_owned(), folders[1].clone())])];
    let page = data(&reproduction("title", &groups).unwrap());
    assert_eq!(page["kind"], "reproduction");
    assert_eq!(page["groups"], serde_json::json!([{ "title": "one", "runs": [0, 1] }]));
}

fn copied(from: &Path, to: PathBuf) -> PathBuf {
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to
}

/// The folder of an older version has no films, and its scenario may be one that nobody reads any more.
#[test]
fn folders_of_older_versions_have_reports_with_less_in_them() {
    let place = tempfile::tempdir().unwrap();
    let finished = run(&place.path().join("small"), &Request { no_report: true, ..request() });
    let old = copied(&finished.path, place.path().join("old"));
    for name in ["links.parquet", "topology.json"] {
        let _ = fs::remove_file(old.join(name));
    }
    fs::write(old.join("scenario.toml"), "nobody = \"reads\" # </script>\n").unwrap();
    let page = single(&old).unwrap();
    let run = &page.runs[0];
    assert!(run.toml.contains("nobody") && run.films.is_empty() && run.published.is_empty());
    assert!(run.notes.iter().any(|note| note.contains("of another version")), "{:?}", run.notes);
    assert_eq!((run.claims.len(), run.cdf.len()), (2, 4), "the results are there");
    fs::remove_file(old.join("scenario.toml")).unwrap();
    assert!(single(&old).unwrap().runs[0].notes[0].starts_with("scenario.toml cannot be read"));
}

#[test]
fn folders_that_are_damaged_or_not_ours_are_errors_that_name_the_file() {
    let place = tempfile::tempdir().unwrap();
    let finished = run(&place.path().join("small"), &Request { no_report: true, ..request() });
    for (name, bytes) in
        [("flows.parquet", "PAR1 not"), ("series.parquet", ""), ("summary.csv", "a,b\n"), ("manifest.json", "{}")]
    {
        let broken = copied(&finished.path, place.path().join(name));
        fs::write(broken.join(name), bytes).unwrap();
        let error = write_report(&broken).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("damaged"), "{name}: {error}");
        assert!(!broken.join(REPORT).exists(), "{name}");
    }
    let manifest = finished.path.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"complete\": true", "\"complete\": false")).unwrap();
    let error = single(&finished.path).unwrap_err().to_string();
    assert!(error.contains("interrupted run"), "{error}");
    fs::create_dir(place.path().join("empty")).unwrap();
    let error = single(&place.path().join("empty")).unwrap_err().to_string();
    assert!(error.contains("not a results folder"), "{error}");
}
