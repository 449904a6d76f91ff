//! Mistakes on the command line and in scenarios: exit code 2 and a message that helps.

use crate::Place;

#[test]
fn the_version_is_printed() {
    let place = Place::new();
    assert_eq!(place.ok(&["--version"]), format!("headway {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_explains_itself() {
    let place = Place::new();
    assert!(place.ok(&["--help"]).contains("Exit codes:"));
    for command in ["run", "check", "show", "schema", "list", "compare", "kernel", "trace", "completions"] {
        assert!(place.ok(&[command, "--help"]).contains("Examples:"), "{command}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_explained() {
    let place = Place::new();
    place.fails(2, &[], &["Usage: headway"]);
    place.fails(2, &["compar"], &["'compare'"]);
    place.fails(2, &["run"], &["  <FILE>"]);
    place.fails(2, &["run", "tiny.toml", "--sed", "1"], &["'--seed'"]);
    place.fails(2, &["run", "tiny.toml", "--seed", "x"], &["invalid value 'x'"]);
    place.fails(2, &["run", "tiny.toml", "--seed", "9223372036854775808"], &["is not in 0..=9223372036854775807"]);
    place.fails(2, &["run", "tiny.toml", "--repeats", "0"], &["0 is not in 1..=100000"]);
    place.fails(2, &["run", "tiny.toml", "--threads", "0"], &["0 is not in 1.."]);
    place.fails(2, &["run", "tiny.toml", "--set", "duration"], &["--set", "an override needs a key and a value"]);
}

#[test]
fn an_unknown_scenario_gets_a_suggestion() {
    let place = Place::new();
    let none = "and no bundled scenario of that name";
    let near = "help: did you mean `lanes-l7-queue-buildup`?";
    place.fails(2, &["run", "lanes-l7-queue-bildup"], &[none, near]);
    place.fails(2, &["check", "scenarios/lanes-l7-queue-buildup.tml"], &[none, near]);
    place.fails(2, &["show", "zzz"], &["error: there is no file zzz", none, "`headway list`"]);
}

#[test]
fn mistakes_in_a_scenario_are_pointed_at() {
    let place = Place::new();
    place.write("wrong.toml", crate::TINY.replace("duration = \"500ms\"", "duration = \"500ms\"\ndrian = \"1s\""));
    for command in ["run", "check", "show"] {
        place.fails(2, &[command, "wrong.toml"], &["wrong.toml:5:1", "drian", "did you mean `drain`?"]);
    }
    place.write("broken.toml", "name = \n");
    place.fails(2, &["run", "broken.toml"], &["this is not TOML"]);
    place.write("latin.toml", b"name = \"x\"\n# caf\xe9\n");
    place.fails(2, &["run", "latin.toml"], &["error: latin.toml is not text: line 2 is not UTF-8"]);
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--out", "done"]);
    place.fails(2, &["run", "done"], &["error: done is a folder", "help: its scenario is done/scenario.toml"]);
}

#[test]
fn a_scenario_may_come_from_the_standard_input() {
    let place = Place::new();
    let file = std::fs::File::open(place.path("tiny.toml")).unwrap();
    let output = place.command(&["check", "-"]).stdin(file).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("ok: 2 policies × 2 sweep points × 3 repeats\n"), "{out}");
}

/// As a gate, a check that looks at nothing must not open.
#[test]
fn a_check_without_a_claim_left_to_look_at_fails() {
    let place = Place::new();
    let check = ["check", "--run", "example-incast", "--repeats", "1", "--set", "sweep.buffer=512KB"];
    let ran = place.headway(&check);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains(", 1 not evaluated\nnot evaluated  "), "{}", ran.out);
    assert!(ran.err.contains("no claim is about a point that is run\n"), "{}", ran.err);
}
