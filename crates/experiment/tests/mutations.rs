//! Damaged scenarios: whatever is wrong with a file, `check` neither crashes nor hangs, and says where the mistake is.
//!
//! Copies of every bundled scenario are damaged as people and broken disks do it: lines moved, values replaced, digits
//! added, bytes flipped. Each is checked as `headway check` does, in a process of its own with 4 GB of memory and 20
//! seconds of processor time a file. `HEADWAY_MUTATIONS` sets how many copies of each there are, `HEADWAY_MUTATIONS_SEED`
//! which.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "a test of processes, not of runs")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use headway_experiment::{BUNDLED, Experiment, Source, SourceError};
use headway_language::Problems;
use headway_scenario::Overrides;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Copies of each scenario, unless the environment says otherwise: about a minute on one processor.
const COPIES: u64 = 60;
/// Bytes of memory.
const MEMORY: u64 = 4 << 30;
/// Processor time of one check.
const SECONDS: u64 = 20;

/// Values that break programs.
const NASTY: [&str; 40] = [
    "0",
    "1",
    "-1",
    "2",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "-1e308",
    "5e-324",
    "nan",
    "inf",
    "-0.0",
    "0.5",
    "\"\"",
    "\" \"",
    "\"$\"",
    "\"$nothing\"",
    "\"0..3\"",
    "\"0..99999\"",
    "\"0s\"",
    "\"1ps\"",
    "\"5000h\"",
    "\"18446744s\"",
    "\"0.1B\"",
    "\"1B\"",
    "\"18446744TB\"",
    "\"0bps\"",
    "\"1bps\"",
    "\"100%\"",
    "\"none\"",
    "\"unlimited\"",
    "[]",
    "{}",
    "true",
    "1979-05-27",
    "\"\\u001b[2J\\u202e\"",
];

/// xorshift64* (Vigna 2016, doi:10.1145/2845077).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        // never 0, and unlike for seeds that follow each other
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(2);
        random.below(2);
        random
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % end.max(1) as u64) as usize
    }
}

/// The places of words, which are names, numbers and quoted texts.
fn words(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.%".contains(&byte);
    let mut words = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let length = if rest[0] == b'"' {
            rest[1..].iter().position(|&byte| byte == b'"').map_or(rest.len(), |end| end + 2)
        } else {
            rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len())
        };
        if length > 0 {
            words.push(start..start + length);
        }
        start += length.max(1);
    }
    words
}

/// One change of `text`.
fn damage(text: &mut Vec<u8>, random: &mut Random) {
    if text.is_empty() {
        return;
    }
    let start = random.below(text.len());
    let end = (start + 1 + random.below(40)).min(text.len());
    match random.below(11) {
        0 => text[start] ^= 1 << random.below(8),
        1 => drop(text.drain(start..end)),
        2 => {
            let piece = text[start..end].to_vec();
            let at = random.below(text.len());
            text.splice(at..at, piece);
        }
        3 => text.truncate(start),
        4 | 5 => {
            let mut lines: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(3) {
                0 => drop(lines.remove(a)),
                1 => lines.swap(a, b),
                _ => lines.insert(a, lines[b].clone()),
            }
            *text = lines.concat();
        }
        6 => {
            let digits: Vec<usize> = (0..text.len()).filter(|&at| text[at].is_ascii_digit()).collect();
            if let Some(&at) = digits.get(random.below(digits.len())) {
                text.splice(at..at, b"9".repeat(1 + random.below(9)));
            }
        }
        7 => {
            let bytes: Vec<u8> = (0..=random.below(8)).map(|_| random.below(256) as u8).collect();
            text.splice(start..start, bytes);
        }
        kind => {
            let words = words(text);
            let Some(at) = words.get(random.below(words.len())).cloned() else { return };
            let new = match kind {
                8 => text[words[random.below(words.len())].clone()].to_vec(),
                _ => NASTY[random.below(NASTY.len())].as_bytes().to_vec(),
            };
            text.splice(at, new);
        }
    }
}

/// Copy number `copy` of scenario number `scenario`.
fn damaged(seed: u64, scenario: usize, copy: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ ((scenario as u64) << 32) ^ (copy << 1));
    let mut text = BUNDLED[scenario].text.as_bytes().to_vec();
    for _ in 0..=random.below(6).saturating_sub(2) {
        damage(&mut text, &mut random);
    }
    text
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// As `headway check` does it. Whether it is accepted; panics if it is refused without a place.
fn check(bytes: Vec<u8>) -> bool {
    let done = || -> Result<(), Problems> {
        let source = match Source::of_file("damaged.toml", Ok(bytes), folder()) {
            Ok(source) => source,
            Err(SourceError::Problems(problems)) => return Err(problems),
            Err(SourceError::Read(error)) => panic!("{error}"),
        };
        let scenario = source.scenario(Overrides::default())?;
        Experiment::new(scenario.document(), &source.folder)?;
        scenario.check_files()
    };
    let Err(problems) = done() else { return true };
    assert!(!problems.is_empty());
    let text = problems.render(false);
    let placed = |line: &&str| {
        let place = line.trim_start().strip_prefix("--> damaged.toml:");
        place.and_then(|place| place.split_once(':')).is_some_and(|(line, column)| {
            let counted = |number: &str| number.parse::<usize>().is_ok_and(|number| number > 0);
            counted(line) && counted(column)
        })
    };
    let places = text.lines().filter(placed).count();
    assert!(places >= problems.len().min(20), "{places} places of {} problems:\n{text}", problems.len());
    assert!(!text.contains(headway_input::is_hidden), "{text:?}");
    assert!(text.len() < 200_000, "{} bytes of errors", text.len());
    false
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The child: checks `copies` of each scenario, and says which one it is at.
fn check_all(seed: u64, copies: u64) {
    let limit = |most| Rlimit { current: Some(most), maximum: None };
    setrlimit(Resource::As, limit(MEMORY)).unwrap();
    let mut accepted = 0;
    for scenario in 0..BUNDLED.len() {
        for copy in 0..copies {
            println!("at {scenario} {copy}");
            std::io::stdout().flush().unwrap();
            let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec as u64;
            setrlimit(Resource::Cpu, limit(used + SECONDS + 1)).unwrap();
            accepted += u64::from(check(damaged(seed, scenario, copy)));
        }
    }
    println!("accepted {accepted}");
}

#[test]
fn damaged_scenarios_are_refused_at_a_place_or_accepted() {
    const CHILD: &str = "HEADWAY_MUTATIONS_CHILD";
    let (seed, copies) = (number("HEADWAY_MUTATIONS_SEED", 17), number("HEADWAY_MUTATIONS", COPIES));
    if std::env::var_os(CHILD).is_some() {
        return check_all(seed, copies);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "damaged_scenarios_are_refused_at_a_place_or_accepted", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut last, mut accepted) = (None, None);
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if let Some((scenario, copy)) = line.split("at ").nth(1).and_then(|rest| rest.split_once(' ')) {
            last = scenario.parse::<usize>().ok().zip(copy.parse::<u64>().ok());
        } else if let Some(count) = line.strip_prefix("accepted ") {
            accepted = count.parse::<u64>().ok();
        }
    }
    let status = child.wait().unwrap();
    let Some(accepted) = accepted.filter(|_| status.success()) else {
        let (scenario, copy) = last.expect("it began");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged.toml");
        std::fs::write(&path, damaged(seed, scenario, copy)).unwrap();
        let name = BUNDLED[scenario].name;
        panic!("{status} at copy {copy} of {name} (seed {seed}), which is in {}", path.display());
    };
    let all = BUNDLED.len() as u64 * copies;
    // Comments, texts and numbers take many changes; most of the rest must be found.
    assert!(accepted > all / 20 && accepted < all * 3 / 4, "{accepted} of {all} are accepted");
}
