//! The programs that set a host up.

use std::io;
use std::process::{Command, Output, Stdio};

use crate::report::Failure;

/// Runs programs one after the other.
pub fn run(programs: &[Vec<String>]) -> Result<(), Failure> {
    programs.iter().try_for_each(|words| {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure("set-up: a program without a name".to_owned()));
        };
        judge(words, Command::new(program).args(arguments).stdin(Stdio::null()).output())
    })
}

/// Makes an error of a program that could not be run or did not succeed.
pub fn judge(words: &[String], result: io::Result<Output>) -> Result<(), Failure> {
    let line = words.join(" ");
    match result {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
            let said = String::from_utf8_lossy(said);
            Err(Failure(format!("set-up: `{line}` ended with {}: {}", output.status, said.trim())))
        }
        Err(error) => Err(Failure(format!("set-up: `{line}` cannot be run: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::run;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_status_and_words() {
        let programs = [words("true"), vec!["sh".into(), "-c".into(), "echo no >&2; exit 3".into()]];
        let failure = run(&programs).expect_err("fails").0;
        assert_eq!(failure, "set-up: `sh -c echo no >&2; exit 3` ended with exit status: 3: no");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let failure = run(&[words("/no/such/program now")]).expect_err("fails").0;
        assert!(failure.contains("`/no/such/program now` cannot be run: No such file"), "{failure}");
    }

    #[test]
    fn a_program_without_words_is_refused() {
        assert!(run(&[Vec::new()]).is_err());
    }
}
