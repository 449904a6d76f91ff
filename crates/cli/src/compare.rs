//! `headway compare`: two folders of results, or rows of one at two values of a swept name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use headway_results::{Filter, Folder, Side, Unknown, differences};

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::terminal;

pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let (a, b) = (Operand::parse(&args.a)?, Operand::parse(&args.b)?);
    let (folder_a, folder_b) = (Folder::open(&a.folder)?, Folder::open(&b.folder)?);
    let (repeats_a, repeats_b) = (folder_a.repeats()?, folder_b.repeats()?);
    let side = |folder, repeats, operand: Operand| Side::new(folder, repeats, operand.choice).map_err(|e| unknown(&e));
    let a = side(&folder_a, repeats_a.as_ref(), a)?;
    let b = side(&folder_b, repeats_b.as_ref(), b)?;
    let (metrics, traffics, policies) = (args.metric.clone(), args.traffic.clone(), args.policy.clone());
    let found = differences(&a, &b, &Filter { metrics, traffics, policies }).map_err(|error| unknown(&error))?;
    if args.json {
        return terminal::data(&format!("{}\n", headway_report::comparison_json(&a, &b, &found)));
    }
    terminal::data(&headway_report::comparison(&a, &b, &found, args.all, terminal::layout()))
}

fn unknown(error: &Unknown) -> Failure {
    /// More names than this are no help.
    const MOST: usize = 30;
    let failure = Failure::usage(error.to_string());
    if let Unknown::Apart { .. } = error {
        return failure.help("give a value to the names that only one has: DIR:NAME=VALUE");
    }
    let known = error.known();
    let names = known.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    // They come from a file, and must not steer the terminal.
    let names = names.replace(char::is_control, "\u{fffd}");
    let more = if known.len() > MOST { format!(" and {} more", known.len() - MOST) } else { String::new() };
    failure.help(format!("there is: {names}{more}"))
}

/// `DIR`, or `DIR:NAME=VALUE,NAME=VALUE`.
#[derive(Debug, PartialEq, Eq)]
struct Operand {
    folder: PathBuf,
    choice: Vec<(String, String)>,
}

impl Operand {
    /// A folder of the whole name goes before one with values behind it, for names may have colons.
    fn parse(given: &OsStr) -> Result<Operand, Failure> {
        let whole = || Operand { folder: given.into(), choice: Vec::new() };
        let Some(text) = given.to_str().filter(|_| !Path::new(given).exists()) else { return Ok(whole()) };
        // The folder ends at the first colon before the first equals sign that leaves a folder which is there, or at the last.
        let Some(equals) = text.find('=') else { return Ok(whole()) };
        let colons = || text[..equals].match_indices(':').map(|(at, _)| at);
        let there = colons().find(|&at| Path::new(&text[..at]).is_dir());
        let Some(colon) = there.or_else(|| colons().next_back()) else { return Ok(whole()) };
        let mut choice: Vec<(String, String)> = Vec::new();
        for part in text[colon + 1..].split(',') {
            match (part.split_once('='), choice.last_mut()) {
                (Some((name, value)), _) => choice.push((name.trim().to_owned(), value.trim().to_owned())),
                // a comma within a value
                (None, Some((_, value))) => {
                    value.push(',');
                    value.push_str(part);
                }
                (None, None) => return Err(malformed(text)),
            }
        }
        for (place, (name, _)) in choice.iter().enumerate() {
            if name.is_empty() {
                return Err(malformed(text));
            }
            if choice[..place].iter().any(|(other, _)| other == name) {
                return Err(Failure::usage(format!("`{text}` has two values of `{name}`")));
            }
        }
        Ok(Operand { folder: text[..colon].into(), choice })
    }
}

fn malformed(text: &str) -> Failure {
    let failure = Failure::usage(format!("`{text}` is not DIR:NAME=VALUE"));
    failure.help("for example results/a:buffer=200KB,load=0.6")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Vec<String>) {
        let operand = Operand::parse(OsStr::new(text)).unwrap();
        let choice = operand.choice.iter().map(|(name, value)| format!("{name} {value}")).collect();
        (operand.folder.display().to_string(), choice)
    }

    #[test]
    fn values_stand_behind_the_folder() {
        assert_eq!(parsed("results/a"), ("results/a".into(), vec![]));
        assert_eq!(parsed("results/a:x"), ("results/a:x".into(), vec![]));
        assert_eq!(parsed("a:b=1"), ("a".into(), vec!["b 1".into()]));
        assert_eq!(
            parsed("c:d:b=200KB,e=x:y, policy=p"),
            ("c:d".into(), vec!["b 200KB".into(), "e x:y".into(), "policy p".into()])
        );
        assert_eq!(parsed("a:b=1,2,c=3"), ("a".into(), vec!["b 1,2".into(), "c 3".into()]));
        for wrong in ["a:=1", "a:b=1,b=2", "a:,b=1"] {
            assert!(Operand::parse(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_folder_of_that_name_goes_first() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("odd:b=1");
        std::fs::create_dir(&name).unwrap();
        assert_eq!(Operand::parse(name.as_os_str()).unwrap(), Operand { folder: name, choice: Vec::new() });
    }
}
