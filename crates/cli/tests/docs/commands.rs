//! Every command that a page shows is one: its options exist, the files that it names are there or come from the page
//! itself, the scenario is right with the changes that it makes. Cheap commands are run, in the order of their page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{all_files, is_page, read, root};

/// Commands that cost nothing: they are run. All others (`run`, `check --run`, `reproduce` without `--list`, `fidelity`,
/// `trace`, `compare`, `kernel`, `report`, `merge`) are parsed, and the scenarios of `run` and `check` are checked.
const CHEAP: [&str; 8] = ["list", "schema", "show", "check", "model", "cost", "lossless", "completions"];

/// Commands of which the first word that is no option is a scenario.
const OF_SCENARIOS: [&str; 3] = ["run", "check", "show"];

/// Names that stand for files of the reader's own.
const OWN: [&str; 6] = ["my.toml", "capture.pcap", "results/a", "results/b", "results/before", "results/after"];

/// Words of a synopsis.
const STANDS_FOR: [&str; 9] =
    ["FILE", "DIR", "NAME", "SCENARIO", "POINT", "COMMAND", "DIR/scenario.toml", "fidelity/FILE.toml", "-"];

/// One command of a page.
#[derive(Debug, PartialEq)]
struct Shown {
    line: usize,
    /// Its words, the program first, without what a shell does with its output.
    words: Vec<String>,
    /// The file into which its output goes.
    into: Option<String>,
}

/// The words of a shell's command up to a pipe or a comment, and the file behind `>`.
fn split(text: &str) -> (Vec<String>, Option<String>) {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in text.chars() {
        match (quote, character) {
            (Some(mark), _) if mark == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';') => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    let into = words.iter().position(|word| word == ">").and_then(|at| {
        let into = words.get(at + 1).cloned();
        words.truncate(at);
        into
    });
    (words, into)
}

/// Lines of code with their numbers: blocks that are indented or fenced without a language, and spans within a line.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut fence, mut continues) = (None, false);
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(language) = trimmed.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language.to_owned()) };
        } else if continues {
            found.last_mut().expect("a line before").1.push_str(trimmed);
        } else if line.starts_with("    ") && fence.is_none() || fence.as_deref() == Some("") {
            found.push((number + 1, trimmed.to_owned()));
        } else if fence.is_none() {
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (number + 1, span.to_owned())));
        }
        continues = found.last().is_some_and(|(last, line)| *last == number + 1 && line.ends_with('\\'))
            || continues && line.ends_with('\\');
        if continues {
            found.last_mut().expect("a line").1.pop();
        }
    }
    found
}

/// All commands of `program` in a page, in order.
fn commands(text: &str, program: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    for (line, code) in code(text) {
        let (words, into) = split(&code);
        if words.first().is_some_and(|word| word == program) {
            found.push(Shown { line, words, into });
        }
    }
    found
}

/// Scenarios that a page holds, by the name under which it saves them: the scenario's own.
fn scenarios(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("```toml\nname = \"").skip(1);
    let whole = blocks.filter_map(|block| block.split_once("```").map(|(scenario, _)| scenario));
    whole.filter_map(|one| Some((format!("{}.toml", one.split_once('"')?.0), format!("name = \"{one}")))).collect()
}

fn headway(arguments: &[String], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").output().expect("headway starts")
}

/// The options of a command that take a value, by its help.
fn with_values(words: &[String]) -> BTreeSet<String> {
    let names: Vec<String> = words[1..].iter().take_while(|word| !word.starts_with('-')).take(2).cloned().collect();
    let help = (0..=names.len()).rev().find_map(|count| {
        let mut arguments = names[..count].to_vec();
        arguments.push("--help".to_owned());
        let output = headway(&arguments, root());
        // a positional argument before --help is no command, but does not matter
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    });
    let help = help.expect("headway --help works");
    let options = help.lines().filter_map(|line| line.trim_start().split_once(" <"));
    options.map(|(option, _)| option.rsplit(' ').next().unwrap_or(option).to_owned()).collect()
}

/// What a command reads: scenarios, captures, folders of results, lists of prices.
fn inputs(words: &[String]) -> Vec<String> {
    let valued = with_values(words);
    let mut found = Vec::new();
    let deep = usize::from(["model", "lossless", "kernel"].contains(&words[1].as_str()));
    let mut rest = words.iter().skip(2 + deep);
    while let Some(word) = rest.next() {
        if valued.contains(word) {
            let value = rest.next();
            if ["--beside", "--prices"].contains(&word.as_str()) {
                found.extend(value.cloned());
            }
        } else if !word.starts_with('-') {
            // Behind a folder that is compared stand values of swept names.
            let values = word.split_once(':').filter(|(_, values)| words[1] == "compare" && values.contains('='));
            found.push(values.map_or(word.as_str(), |(folder, _)| folder).trim_end_matches('…').to_owned());
        }
    }
    let reads = ["run", "check", "show", "lossless", "trace", "compare", "cost", "model", "report"];
    if reads.contains(&words[1].as_str()) { found } else { Vec::new() }
}

/// A page with the folder in which its commands are run.
struct Bench {
    folder: tempfile::TempDir,
    /// What is there: scenarios of the page, and what commands before have made.
    made: BTreeSet<String>,
}

impl Bench {
    fn new(text: &str) -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        let mut made = BTreeSet::new();
        for (name, scenario) in scenarios(text) {
            fs::write(folder.path().join(&name), scenario).expect("a file can be written");
            made.insert(name);
        }
        for (_, line) in code(text) {
            // other programs that make files of the page: tcpdump -w FILE, cp FROM TO
            let (words, _) = split(&line);
            if words.first().is_some_and(|word| word == "tcpdump") {
                made.extend(words.iter().skip_while(|word| *word != "-w").nth(1).cloned());
            }
        }
        Bench { folder, made }
    }

    /// Where a file that a command names is; none if there is no such file and the page does not make it.
    fn place(&self, name: &str) -> Option<PathBuf> {
        let bundled = root().join("scenarios").join(format!("{name}.toml"));
        let own = self.folder.path().join(name);
        let here = root().join(name);
        [own, bundled, here].into_iter().find(|path| path.is_file())
    }

    fn is_known(&self, name: &str) -> bool {
        let of_run = name.strip_prefix("results/").is_some_and(|run| {
            let file = format!("{run}.toml");
            self.place(run).is_some() || self.made.contains(&file) || OWN.contains(&file.as_str())
        });
        let inside = self.made.iter().any(|made| Path::new(name).starts_with(made));
        OWN.contains(&name) || STANDS_FOR.contains(&name) || inside || of_run || self.place(name).is_some()
    }

    /// Notes what a command makes.
    fn note(&mut self, shown: &Shown) {
        self.made.extend(shown.into.clone());
        self.made.extend(shown.words.iter().skip_while(|word| *word != "--out").nth(1).cloned());
    }

    /// Runs a command, or the part of it that costs nothing; a message if that fails.
    fn run(&self, shown: &Shown) -> Result<bool, String> {
        let command = shown.words[1].as_str();
        let names = inputs(&shown.words);
        let reads_scenario = OF_SCENARIOS.contains(&command) || command == "lossless";
        let place = names.first().filter(|_| reads_scenario).and_then(|name| Some((name, self.place(name)?)));
        let runs = CHEAP.contains(&command) || command == "run" || shown.words.iter().any(|word| word == "--list");
        let stands = names.iter().any(|name| self.place(name).is_none());
        if !runs || reads_scenario && place.is_none() || stands || shown.words.iter().any(|word| word == "--help") {
            return Ok(false);
        }
        let mut arguments: Vec<String> = shown.words[1..].to_vec();
        if let Some((name, place)) = place {
            let at = arguments.iter().position(|word| word == name).expect("it is one of the words");
            arguments[at] = place.display().to_string();
        }
        if ["run", "check"].contains(&command) {
            "check".clone_into(&mut arguments[0]);
            without_runs(&mut arguments);
        }
        let output = headway(&arguments, self.folder.path());
        if let Some(into) = &shown.into {
            fs::write(self.folder.path().join(into), &output.stdout).expect("a file can be written");
        }
        let message = || format!("`headway {}`: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(true) } else { Err(message()) }
    }
}

/// Takes what is about runs alone off the words of `run` and `check`.
fn without_runs(arguments: &mut Vec<String>) {
    arguments.retain(|word| !["--run", "--verify", "--no-report", "--no-store"].contains(&word.as_str()));
    for option in ["--out", "--shard", "--store"] {
        if let Some(at) = arguments.iter().position(|word| word == option) {
            arguments.drain(at..=at + 1);
        }
    }
}

/// Whether a program takes the words: `--help` behind them prints its help only if all before are options that exist,
/// with values that can be read.
fn is_taken(program: &Path, words: &[String]) -> Result<(), String> {
    if words.get(1).is_some_and(|word| word == "help") {
        return Ok(());
    }
    let output = Command::new(program).args(&words[1..]).arg("--help").output().expect("the program starts");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// The pages that people read: not the log of changes, which names commands as they were.
fn pages() -> Vec<PathBuf> {
    all_files().into_iter().filter(|path| is_page(path) && path != Path::new("CHANGELOG.md")).collect()
}

#[test]
fn every_command_that_a_page_shows_is_one() {
    let (mut wrong, mut count, mut ran) = (Vec::new(), 0, 0);
    for page in pages() {
        let text = read(&page);
        let mut bench = Bench::new(&text);
        for shown in commands(&text, "headway") {
            count += 1;
            let place = format!("{}:{}", page.display(), shown.line);
            if let Err(message) = is_taken(Path::new(env!("CARGO_BIN_EXE_headway")), &shown.words) {
                wrong.push(format!("{place}: {message}"));
                continue;
            }
            if shown.words.len() > 1 {
                let unknown = inputs(&shown.words).into_iter().filter(|name| !bench.is_known(name));
                wrong.extend(
                    unknown.map(|name| format!("{place}: {name} is not there, and nothing on the page makes it")),
                );
                match bench.run(&shown) {
                    Ok(done) => ran += usize::from(done),
                    Err(message) => wrong.push(format!("{place}: {message}")),
                }
            }
            bench.note(&shown);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "only {count} commands were found, so they are not looked for in the right way");
    assert!(ran > 100, "only {ran} of {count} commands were run or checked");
}

#[test]
fn every_command_of_the_daemon_that_a_page_shows_is_one() {
    let daemon = Path::new(env!("CARGO_BIN_EXE_headway")).with_file_name("headway-lane");
    if !daemon.is_file() {
        println!("skipped: {} is not built", daemon.display());
        return;
    }
    let mut count = 0;
    for page in pages() {
        for shown in commands(&read(&page), "headway-lane") {
            count += 1;
            let taken = is_taken(&daemon, &shown.words);
            assert!(taken.is_ok(), "{}:{}: {}", page.display(), shown.line, taken.unwrap_err());
        }
    }
    assert!(count > 20, "only {count} commands were found");
}

#[test]
fn commands_are_found_with_their_words() {
    let text = "Do `headway list --json`:\n\n    headway run a.toml --set 'x=[1, 2]' \\\n        --quick   # quick\n    headway cost > p.toml\n\n\
                ```text\nheadway no\n```\n\n```\n  headway show x | less\n```\n`other headway`\n";
    let found: Vec<(usize, String, Option<String>)> =
        commands(text, "headway").into_iter().map(|shown| (shown.line, shown.words.join("~"), shown.into)).collect();
    let expected = [
        (1, "headway~list~--json", None),
        (3, "headway~run~a.toml~--set~x=[1, 2]~--quick", None),
        (5, "headway~cost", Some("p.toml")),
        (12, "headway~show~x", None),
    ];
    assert_eq!(found, expected.map(|(line, words, into)| (line, words.to_owned(), into.map(str::to_owned))));
}

#[test]
fn a_wrong_command_is_told() {
    let program = Path::new(env!("CARGO_BIN_EXE_headway"));
    let words = |text: &str| split(text).0;
    assert!(is_taken(program, &words("headway run x.toml --repeats 3")).is_ok());
    assert!(is_taken(program, &words("headway run x.toml --repeets 3")).is_err());
    assert!(is_taken(program, &words("headway run x.toml --repeats three")).is_err());
    assert!(is_taken(program, &words("headway runn x.toml")).is_err());
    let text = "```toml\nname = \"small\"\n```\n";
    let bench = Bench::new(text);
    let known = ["small.toml", "results/small", "example-incast", "results/example-incast", "my.toml", "Makefile"];
    assert!(known.iter().all(|name| bench.is_known(name)));
    assert!(!bench.is_known("other.toml") && !bench.is_known("results/other") && !bench.is_known("no-scenario"));
    let shown = |text: &str| Shown { line: 1, words: words(text), into: None };
    assert_eq!(bench.run(&shown("headway run example-incast --repeats 3 --out x")), Ok(true));
    assert_eq!(bench.run(&shown("headway run my.toml")), Ok(false));
    assert!(bench.run(&shown("headway run example-incast --set sweep.buffer=1bit")).is_err());
    assert_eq!(inputs(&words("headway check --run my.toml --set a=b --quick")), ["my.toml"]);
    assert_eq!(inputs(&words("headway cost --topology mhft --k 4 --prices p.toml")), ["p.toml"]);
    assert_eq!(inputs(&words("headway compare results/a results/b")), ["results/a", "results/b"]);
    assert_eq!(inputs(&words("headway compare results/a:x=1 results/b:x=2,y=3")), ["results/a", "results/b"]);
}
