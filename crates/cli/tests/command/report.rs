//! `headway report`, and the reports that runs write.

use std::fs;

use crate::{Place, names};

const ONE: [&str; 4] = ["run", "tiny.toml", "--repeats", "1"];

#[test]
fn a_run_writes_a_report_and_says_where_it_is() {
    let place = Place::new();
    let ran = place.headway(&ONE);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let last = ran.err.lines().last().unwrap_or_default();
    assert!(last.ends_with(", report in results/tiny/report.html"), "{}", ran.err);
    let html = place.read("results/tiny/report.html");
    assert!(html.starts_with("<!doctype html>") && html.contains(r#""scenario":"tiny""#));
    assert!(html.len() < 1_500_000, "{}", html.len());
    let json: serde_json::Value = serde_json::from_str(&place.ok(&[&ONE[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["report"], "results/tiny-2/report.html");
}

#[test]
fn without_a_report_a_run_is_the_same_but_for_that() {
    let place = Place::new();
    place.ok(&[&ONE[..], &["--out", "with"]].concat());
    let ran = place.headway(&[&ONE[..], &["--out", "without", "--no-report"]].concat());
    assert!(!ran.err.contains("report"), "{}", ran.err);
    let without = names(&place.path("without"));
    assert!(!without.contains(&"report.html".to_owned()) && place.same_results("with", "without"));
    let mut with = names(&place.path("with"));
    with.retain(|name| name != "report.html");
    assert_eq!(with, without);
}

#[test]
fn a_report_is_made_again_in_its_folder_or_elsewhere() {
    let place = Place::new();
    place.ok(&[&ONE[..], &["--out", "r"]].concat());
    let first = place.read("r/report.html");
    fs::remove_file(place.path("r/report.html")).unwrap();
    assert_eq!(place.ok(&["report", "r"]), "r/report.html\n");
    assert!(place.read("r/report.html") == first, "the same folder gives the same page");
    assert_eq!(place.ok(&["report", "r", "--out", "own.html"]), "own.html\n");
    assert!(place.read("own.html") == first);
}

#[test]
fn several_folders_are_compared_on_one_page_and_nothing_is_overwritten() {
    let place = Place::new();
    for (name, seed) in [("a", "1"), ("b", "2")] {
        place.ok(&[&ONE[..], &["--out", name, "--seed", seed]].concat());
    }
    assert_eq!(place.ok(&["report", "a", "b"]), "comparison.html\n");
    assert_eq!(place.ok(&["report", "a", "b"]), "comparison-2.html\n");
    let html = place.read("comparison.html");
    assert!(html.contains(r#""kind":"comparison""#) && html.contains(r#""label":"b""#));
}

#[test]
fn what_has_no_finished_results_is_refused() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    place.fails(2, &["report", "empty"], &["empty is not a results folder"]);
    place.fails(2, &["report", "none"], &["none"]);
    place.fails(2, &["report", "tiny.toml"], &["tiny.toml is a file, not a folder of results"]);
    place.fails(2, &["report"], &["DIR"]);
    place.ok(&[&ONE[..], &["--out", "r"]].concat());
    place.fails(2, &["report", "r", "--out", "empty"], &["--out empty is a folder", "name a file: empty/report.html"]);
    place.fails(3, &["report", "r", "--out", "none/x.html"], &["cannot write none/x.html"]);
    let manifest = place.read("r/manifest.json").replace("\"complete\": true", "\"complete\": false");
    place.write("r/manifest.json", manifest);
    place.fails(2, &["report", "r"], &["interrupted run", "headway run --resume r"]);
}

/// Without a program that opens it, the report is there all the same, and the message says so.
#[test]
fn a_browser_that_is_not_there_is_told() {
    let place = Place::new();
    place.ok(&[&ONE[..], &["--out", "r", "--no-report"]].concat());
    let output = place.command(&["report", "r", "--open"]).env("PATH", place.path("nowhere")).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("cannot open r/report.html: there is no program"), "{err}");
    assert!(err.contains("open the file in any browser") && place.path("r/report.html").exists(), "{err}");
}
