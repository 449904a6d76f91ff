//! Whatever comes in, either a scenario or problems come out, and what is accepted survives printing.

use headway_scenario::Document;
use proptest::prelude::*;

const VALID: [&str; 4] = [
    include_str!("valid/lanes.toml"),
    include_str!("valid/dumbbell.toml"),
    include_str!("valid/graph.toml"),
    include_str!("valid/fat-tree.toml"),
];

/// What has broken parsers before, and words of the language in wrong places.
const NASTY: [&str; 48] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "64",
    "65",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "-0.0",
    "0.5",
    "1.0",
    "\"\"",
    "\" \"",
    "\"$\"",
    "\"$senders\"",
    "\"$alpha\"",
    "\"$nothing\"",
    "\"0..3\"",
    "\"3..0\"",
    "\"-9223372036854775808..9223372036854775807\"",
    "\"0..99 step 98\"",
    "\"0s\"",
    "\"1ps\"",
    "\"18446744s\"",
    "\"99999999999999999999s\"",
    "\"0.1B\"",
    "\"18446744TB\"",
    "\"0bps\"",
    "\"1bps\"",
    "\"100%\"",
    "\"101%\"",
    "\"none\"",
    "\"tcp\"",
    "\"mptcp\"",
    "\"drop-tail\"",
    "[]",
    "{}",
    "true",
    "1979-05-27",
    "\"日本\u{85}\\u0000\"",
    "[[\"a\", 1], {}]",
];

/// Pieces that put together again give `text`: words, quoted texts, blanks, and other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '-' || c == '.' || c == '_';
        let end = if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

/// Reads `text` all the way. Problems must print; an accepted scenario must print and read back equal.
fn exercise(text: &str, sets: &[String]) -> Result<bool, TestCaseError> {
    let document = match Document::parse(text, "fuzz.toml", sets) {
        Ok(document) => document,
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            prop_assert!(problems.to_string().starts_with("error: "));
            prop_assert!(problems.iter().all(|problem| problem.line_and_column() != Some((0, 0))));
            return Ok(false);
        }
    };
    // A mutation may make the sweep as large as it is allowed to be; a part of it will do.
    let points: Vec<_> = document.points().into_iter().take(50).collect();
    for point in &points {
        if let Err(problems) = document.scenario(point) {
            prop_assert!(problems.to_string().starts_with("error: "));
            return Ok(false);
        }
    }
    if document.points().len() > 200 || document.check_all().is_err() {
        return Ok(false);
    }
    let shown = document.show().map_err(|problems| TestCaseError::fail(problems.to_string()))?;
    let again = Document::parse(&shown, "shown.toml", &[])
        .map_err(|problems| TestCaseError::fail(format!("{problems}\n{shown}")))?;
    for point in &points {
        let second = again.scenario(point).map_err(|problems| TestCaseError::fail(format!("{problems}\n{shown}")))?;
        prop_assert_eq!(document.scenario(point).unwrap(), second, "{}", shown);
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        exercise(&String::from_utf8_lossy(&bytes), &[])?;
    }

    #[test]
    fn random_lines_of_toml_never_panic(
        lines in proptest::collection::vec(("[a-z\\[\\]\"=. -]{0,12}", 0..NASTY.len()), 0..12),
    ) {
        let lines: Vec<String> = lines.iter().map(|(key, value)| format!("{key} = {}", NASTY[*value])).collect();
        exercise(&lines.join("\n"), &[])?;
    }

    #[test]
    fn mutated_scenarios_never_panic_and_survive_printing(
        which in 0..VALID.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..4u8, 0..NASTY.len()), 1..6),
    ) {
        let mut tokens = tokens(VALID[which]);
        for (place, edit, nasty) in edits {
            let place = place.index(tokens.len());
            match edit {
                0 => drop(tokens.remove(place)),
                1 => tokens.insert(place, tokens[place]),
                _ => tokens[place] = NASTY[nasty],
            }
        }
        exercise(&tokens.concat(), &[])?;
    }

    #[test]
    fn one_nasty_value_never_panics_and_survives_printing(
        which in 0..VALID.len(), place in any::<prop::sample::Index>(), nasty in 0..NASTY.len(),
    ) {
        // Only values are replaced, so that more of these are accepted.
        let mut tokens = tokens(VALID[which]);
        let values: Vec<usize> = (2..tokens.len())
            .filter(|&index| tokens[index - 2] == "=" && !tokens[index].starts_with(['[', '{']))
            .collect();
        tokens[values[place.index(values.len())]] = NASTY[nasty];
        exercise(&tokens.concat(), &[])?;
    }

    #[test]
    fn overrides_never_panic_and_survive_printing(
        which in 0..VALID.len(),
        path in "(policy|traffic|topology|sweep|claim|hosts)(\\.(0|1|mptcp|short|transport|link|rate|size|kind|at)){0,3}|[a-z.= ]{0,9}",
        nasty in 0..NASTY.len(),
    ) {
        exercise(VALID[which], &[format!("{path}={}", NASTY[nasty])])?;
        exercise(VALID[which], &[path])?;
    }
}

#[test]
fn mutations_are_accepted_often_enough_to_mean_something() {
    let seeds = ["1", "2", "\"1ps\"", "0.5"];
    let mut accepted = 0;
    for text in VALID {
        let tokens = tokens(text);
        for index in (2..tokens.len()).filter(|&index| tokens[index - 2] == "=") {
            for seed in seeds {
                let mut mutated = tokens.clone();
                mutated[index] = seed;
                accepted += usize::from(exercise(&mutated.concat(), &[]).unwrap());
            }
        }
    }
    assert!(accepted >= 50, "only {accepted}");
}
