//! Programs of the machine, each with a limit on its time.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::{LabError, files};

/// No program that sets something up takes so long, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(30);
/// Of what a program says, so much is told.
const MAX_WORDS: u64 = 4000;

/// Runs a program to its end; an error if it does not succeed.
pub fn run(what: &str, words: &[&str]) -> Result<(), LabError> {
    let failed = |said: String| LabError::Program { what: what.to_owned(), line: words.join(" "), said };
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    let status = wait(&mut child, PATIENCE).map_err(files(format!("wait for `{}`", words[0])))?;
    let Some(status) = status else {
        // the only error there can be is that it has just ended
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(format!("has not ended after {} s", PATIENCE.as_secs())));
    };
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    let read = |from: Option<&mut dyn std::io::Read>, said: &mut String| {
        let mut bytes = Vec::new();
        // what was left in a pipe by a program that has ended, or by a child of it that has not: no more than is there
        if let Some(from) = from {
            let _ = from.take(MAX_WORDS).read_to_end(&mut bytes);
        }
        *said += String::from_utf8_lossy(&bytes).trim();
    };
    read(child.stderr.as_mut().map(|pipe| pipe as &mut dyn std::io::Read), &mut said);
    if said.is_empty() {
        read(child.stdout.as_mut().map(|pipe| pipe as &mut dyn std::io::Read), &mut said);
    }
    Err(failed(format!("ended with {status}: {said}")))
}

/// Has `program` (`ip` or `tc`, with what goes before) work through `lines`, which are put into the file `at` for it.
pub fn batch(what: &str, program: &[&str], lines: &str, at: &Path) -> Result<(), LabError> {
    if lines.is_empty() {
        return Ok(());
    }
    std::fs::write(at, lines).map_err(files(format!("write {}", at.display())))?;
    let file = at.display().to_string();
    let result = run(what, &[program, &["-batch", &file]].concat());
    result.map_err(|error| match error {
        LabError::Program { what, line, said } => LabError::Program { what, line, said: pointed(&said, lines) },
        other => other,
    })
}

/// Puts the line in question beside what a batch said (`Command failed FILE:7`).
fn pointed(said: &str, lines: &str) -> String {
    let number = said.lines().find_map(|line| {
        let place = line.strip_prefix("Command failed ")?;
        place.rsplit(':').next()?.trim().parse::<usize>().ok()
    });
    let line = number.and_then(|number| lines.lines().nth(number.checked_sub(1)?));
    line.map_or_else(|| said.to_owned(), |line| format!("{said}: {line}"))
}

/// Waits for a child for at most `patience`; nothing if that was not enough.
pub fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + patience;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_shown_with_its_words() {
        let error = run("a test", &["sh", "-c", "echo no >&2; exit 3"]).expect_err("it fails").to_string();
        assert_eq!(error, "a test: `sh -c echo no >&2; exit 3` ended with exit status: 3: no");
        let error = run("a test", &["/no/such/program"]).expect_err("it is not there").to_string();
        assert!(error.contains("cannot be run: No such file"), "{error}");
    }

    #[test]
    fn the_line_that_a_batch_failed_at_is_shown() {
        assert_eq!(pointed("No.\nCommand failed x:2", "one\ntwo\n"), "No.\nCommand failed x:2: two");
        assert_eq!(pointed("Command failed x:9", "one\n"), "Command failed x:9");
        assert_eq!(pointed("No.", "one\n"), "No.");
    }

    #[test]
    fn nobody_is_waited_for_without_end() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep is there");
        assert!(wait(&mut child, Duration::from_millis(5)).expect("it can be waited for").is_none());
        child.kill().expect("it is there");
        assert!(wait(&mut child, Duration::from_secs(30)).expect("it can be waited for").is_some());
    }
}
