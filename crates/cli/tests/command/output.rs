//! Streams: pipes that close, disks that are full, terminals with and without colours.

use std::process::{Command, Stdio};

use crate::Place;

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    for args in
        [&["schema"][..], &["show", "tiny.toml"], &["list"], &["completions", "zsh"], &["run", "tiny.toml", "-q"]]
    {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn nobody_listening_to_stderr_is_no_failure() {
    let place = Place::new();
    let mut child = place.command(&["run", "tiny.toml"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut child = place.command(&["run", "nothing.toml"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["schema"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: cannot write to the standard output: "), "{err}");
}

/// What the command prints on a terminal, both streams; `None` without util-linux's `script` to make one.
fn on_a_terminal(place: &Place, arguments: &str, no_color: Option<&str>) -> Option<String> {
    let command = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_headway"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(place.0.path()).stdin(Stdio::null());
    script.env("TERM", "xterm").env_remove("NO_COLOR");
    if let Some(value) = no_color {
        script.env("NO_COLOR", value);
    }
    match script.output() {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) => {
            println!("skipped: no terminal without `script`: {error}");
            None
        }
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let place = Place::new();
    let run = "run tiny.toml --quiet --repeats 1";
    let Some(coloured) = on_a_terminal(&place, run, None) else { return };
    assert!(coloured.contains("\x1b[1;32mheld"), "{coloured}");
    let plain = on_a_terminal(&place, run, Some("1")).unwrap();
    assert!(plain.contains("held") && !plain.contains('\x1b'), "{plain}");
    // Empty is as good as not set (no-color.org).
    assert!(on_a_terminal(&place, run, Some("")).unwrap().contains("\x1b[1;32mheld"));
    let wrong = "check tiny.toml --set duration=1";
    assert!(on_a_terminal(&place, wrong, None).unwrap().contains('\x1b'));
    assert!(!on_a_terminal(&place, wrong, Some("1")).unwrap().contains('\x1b'));
    assert!(!place.ok(&["run", "tiny.toml", "--repeats", "1"]).contains('\x1b'));
}

#[test]
fn progress_is_drawn_on_a_terminal_and_cleared() {
    let place = Place::new();
    let Some(text) = on_a_terminal(&place, "run tiny.toml --repeats 30", None) else { return };
    assert!(text.contains(" of 120 runs, "), "{text}");
    let quiet = on_a_terminal(&place, "run tiny.toml --repeats 30 --quiet", None).unwrap();
    assert!(!quiet.contains(" of 120 runs, "), "{quiet}");
}
