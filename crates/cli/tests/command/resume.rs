//! Interrupted runs and their continuation.

#![cfg(unix)]
#![expect(clippy::disallowed_types, reason = "tests that wait for another process need a clock")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Place, names};

/// Nothing here takes this long on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ctrl-C for `child` alone.
fn interrupt(child: &Child) {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

fn is_part(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "part")
}

/// How many runs are complete in `folder`.
fn parts(place: &Place, folder: &str) -> usize {
    let parts = place.path(folder).join("parts");
    if !parts.is_dir() {
        return 0;
    }
    names(&parts).iter().filter(|name| is_part(name)).count()
}

/// Starts `headway run tiny.toml` with `args` on one thread, interrupts it once three runs are complete, and
/// returns what it said.
fn interrupted(place: &Place, folder: &str, args: &[&str]) -> String {
    stopped(place, folder, 3, &[&["run", "tiny.toml", "--threads", "1", "--out", folder], args].concat())
}

/// Starts `headway` with `args`, interrupts it once `enough` runs are complete in `folder`, and returns what it said.
fn stopped(place: &Place, folder: &str, enough: usize, args: &[&str]) -> String {
    let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while parts(place, folder) < enough {
        let ended = child.try_wait().unwrap();
        if ended.is_some() || began.elapsed() > PATIENCE {
            let output = child.wait_with_output().unwrap();
            panic!("{ended:?} before {enough} runs: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(output.stdout.is_empty());
    err
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bytes() {
    let place = Place::new();
    let repeats = ["--repeats", "100", "--seed", "3"];
    place.ok(&[&["run", "tiny.toml", "--out", "whole"], &repeats[..]].concat());
    let err = interrupted(&place, "cut", &repeats);
    assert!(err.contains("press Ctrl-C again to end at once"), "{err}");
    assert!(err.contains(" of 400 runs, which are kept; go on with: headway run --resume cut\n"), "{err}");
    assert!(!place.path("cut/summary.csv").exists());
    let kept = parts(&place, "cut");
    assert!((3..400).contains(&kept), "{kept} runs are complete");

    // A finished run is not written over, an unfinished one neither; both are told apart.
    place.fails(
        2,
        &["run", "tiny.toml", "--out", "cut"],
        &["cut holds an interrupted run", "headway run --resume cut"],
    );
    place.fails(2, &["compare", "whole", "cut"], &["cut holds an interrupted run"]);

    // As if the process had died while it wrote: a part cut short, one missing, one half written.
    let mut all = names(&place.path("cut/parts"));
    all.retain(|name| is_part(name));
    let part = |name: &str| place.path("cut/parts").join(name);
    let bytes = std::fs::read(part(&all[0])).unwrap();
    std::fs::write(part(&all[0]), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::remove_file(part(&all[1])).unwrap();
    std::fs::write(part(&format!("{}.tmp", all[1])), &bytes[..10]).unwrap();

    let ran = place.headway(&["run", "--resume", "cut"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("tiny: 2 policies × 2 sweep points × 100 repeats, seed 3\n"), "{}", ran.out);
    assert!(place.same_results("whole", "cut"));
    assert_eq!(names(&place.path("whole")), names(&place.path("cut")));
    assert_eq!(place.read("whole/scenario.toml"), place.read("cut/scenario.toml"));
    place.fails(2, &["run", "--resume", "cut"], &["cut is finished, there is nothing to resume"]);
}

#[test]
fn a_run_goes_on_from_its_file_as_well_and_only_from_that() {
    let place = Place::new();
    interrupted(&place, "cut", &["--repeats", "100"]);
    let resume = ["run", "tiny.toml", "--resume", "cut"];
    place.fails(
        2,
        &[&resume[..], &["--seed", "2"]].concat(),
        &["error: cannot resume cut: its seed is 1, this run's is 2"],
    );
    place.fails(
        2,
        &[&resume[..], &["--set", "duration=400ms"]].concat(),
        &["error: cannot resume cut: its scenario hash is ", "what it began with is in cut/scenario.toml"],
    );
    let manifest = place.read("cut/manifest.json");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version));
    place.write("cut/manifest.json", manifest.replace(&version, "\"version\": \"0.0.1\""));
    place.fails(2, &resume, &["error: cannot resume cut: its version is 0.0.1, this run's is "]);
    place.write("cut/manifest.json", &manifest);
    // 100 repeats without being told again.
    place.ok(&resume);
    place.ok(&["run", "tiny.toml", "--repeats", "100", "--out", "whole"]);
    assert!(place.same_results("whole", "cut"));
}

#[test]
fn an_interrupted_run_can_be_made_shorter_or_longer() {
    let place = Place::new();
    for repeats in ["2", "101"] {
        interrupted(&place, repeats, &["--repeats", "100"]);
        let out = place.ok(&["run", "--resume", repeats, "--repeats", repeats]);
        assert!(out.contains(&format!(" × {repeats} repeats, seed 1\n")), "{out}");
        let whole = format!("whole-{repeats}");
        place.ok(&["run", "tiny.toml", "--repeats", repeats, "--out", &whole]);
        assert!(place.same_results(&whole, repeats));
        let again = format!("again-{repeats}");
        place.ok(&["run", &format!("{repeats}/scenario.toml"), "--out", &again]);
        assert!(place.same_results(&whole, &again));
    }
}

#[test]
fn a_run_that_was_made_longer_can_be_interrupted_again() {
    let place = Place::new();
    interrupted(&place, "cut", &["--repeats", "100"]);
    let longer = ["run", "--resume", "cut", "--repeats", "120", "--threads", "1"];
    stopped(&place, "cut", parts(&place, "cut") + 3, &longer);
    let out = place.ok(&["run", "--resume", "cut"]);
    assert!(out.contains(" × 120 repeats, seed 1\n"), "{out}");
    place.ok(&["run", "tiny.toml", "--repeats", "120", "--out", "whole"]);
    assert!(place.same_results("whole", "cut"));
}

#[test]
fn only_results_folders_can_be_resumed() {
    let place = Place::new();
    place.fails(2, &["run", "--resume", "nowhere"], &["error: there is no folder nowhere to resume"]);
    std::fs::create_dir(place.path("other")).unwrap();
    place.fails(2, &["run", "tiny.toml", "--resume", "other"], &["error: other is not a results folder"]);
    place.fails(2, &["run", "tiny.toml", "--resume", "other", "--out", "x"], &["cannot be used with"]);
}

#[test]
fn an_unfinished_run_is_mentioned_when_another_is_started_beside_it() {
    let place = Place::new();
    interrupted(&place, "results/tiny", &["--repeats", "100"]);
    let ran = place.headway(&["run", "tiny.toml", "--repeats", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("`headway run --resume results/tiny` goes on with it"), "{}", ran.err);
    assert!(ran.err.contains("results in results/tiny-2 after"), "{}", ran.err);
}

#[test]
fn a_changed_file_beside_the_scenario_is_noticed() {
    let place = Place::new();
    let sizes = r#"traffic.short.size={ kind = "cdf", file = "web.txt" }"#;
    place.write("web.txt", "bytes,cumulative\n1000,0\n30000,1\n");
    interrupted(&place, "cut", &["--repeats", "100", "--set", sizes]);
    place.write("web.txt", "bytes,cumulative\n1000,0\n40000,1\n");
    place.fails(
        2,
        &["run", "tiny.toml", "--resume", "cut", "--set", sizes],
        &["error: cannot resume cut: its web.txt is not the one of this scenario"],
    );
    // Its own copy is unchanged.
    place.ok(&["run", "--resume", "cut"]);
}

#[test]
fn the_second_interrupt_ends_at_once() {
    let place = Place::new();
    // A run of hours.
    let args = ["run", "tiny.toml", "--out", "cut", "--set", "duration=100000s", "--set", "measure.interval=1000s"];
    let mut child = place.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let began = Instant::now();
    // The file is there before it listens to Ctrl-C, so give it the moment that is between.
    while !place.path("cut/parts/lock").exists() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(300));
    let mut line = String::new();
    interrupt(&child);
    err.read_line(&mut line).unwrap();
    assert!(line.starts_with("interrupted: the runs under way are finished first"), "{line}");
    interrupt(&child);
    line.clear();
    err.read_line(&mut line).unwrap();
    assert!(line.ends_with("go on with: headway run --resume cut\n"), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < PATIENCE);
}
