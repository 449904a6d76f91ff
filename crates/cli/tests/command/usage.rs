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
    place.fails(2, &["run", "latin.toml"], &["error: this is not UTF-8 text", "latin.toml:2:6", "0xe9"]);
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--out", "done"]);
    place.fails(2, &["run", "done"], &["error: done is a folder", "help: its scenario is done/scenario.toml"]);
}

/// A device without end, a pipe that nobody writes, more than any scenario, a folder of what is no file: each is refused
/// before it is read, by `check` as by `run`.
#[test]
fn what_is_no_file_of_a_scenario_is_refused_at_once() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::File::create(place.path("huge.toml")).unwrap().set_len(1 << 40).unwrap();
    for command in ["check", "run", "show"] {
        place.fails(2, &[command, "/dev/zero"], &["cannot read /dev/zero: it is a device, not a file"]);
        place.fails(2, &[command, "pipe"], &["cannot read pipe: it is a pipe, not a file"]);
        place.fails(2, &[command, "/proc/self/status"], &["it is made by the system"]);
        place.fails(2, &[command, "huge.toml"], &["at most 4 MB of text", "huge.toml:1:1"]);
    }
    place.fails(2, &["cost", "--prices", "/dev/zero"], &["it is a device"]);
    place.fails(2, &["cost", "--prices", "pipe"], &["it is a pipe"]);
    let sizes = |file: &str| format!("traffic.0.size={{ kind = \"cdf\", file = \"{file}\" }}");
    for command in ["check", "run"] {
        let tables = [("/dev/zero", "a device"), ("pipe", "a pipe"), ("huge.toml", "more than 16MiB")];
        for (file, what) in tables {
            place.fails(2, &[command, "tiny.toml", "--set", &sizes(file)], &[file, what, "--> "]);
        }
        place.fails(2, &[command, "tiny.toml", "--set", "files=nowhere"], &["nowhere cannot be read", "--set:1:7"]);
        place.fails(2, &[command, "tiny.toml", "--set", "files=pipe"], &["pipe cannot be read", "--set:1:7"]);
    }
}

/// Errors hold keys and values of the file, and names of files; none of them acts on the terminal.
#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let place = Place::new();
    let hostile = crate::TINY.replace("duration = ", "\"\\u001b]0;x\\u0007\\u202e\" = 1\nduration = ");
    place.write("hostile\u{9b}2J.toml", hostile);
    place.fails(2, &["check", "hostile\u{9b}2J.toml"], &["unknown key `␛]0;x␇�`", "hostile�2J.toml:5:1"]);
    place.fails(2, &["check", "none\x1b[2J"], &["there is no file none␛[2J"]);
    place.fails(2, &["check", "tiny.toml", "--set", "name=\x1b[31mx"], &["is not a name"]);
}

#[test]
fn a_scenario_may_come_from_the_standard_input() {
    let place = Place::new();
    let file = std::fs::File::open(place.path("tiny.toml")).unwrap();
    let output = place.command(&["check", "-"]).stdin(file).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "ok: 2 policies × 2 sweep points × 3 repeats\n");
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
