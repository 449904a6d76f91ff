//! Every wrong scenario in `tests/errors` is refused with exactly the text beside it.
//!
//! `UPDATE=1` writes the texts anew; read them before they are accepted. Overrides are given in
//! comment lines `#set key=value` at the top of the file.

use std::fs;
use std::path::{Path, PathBuf};

use headway_experiment::Experiment;
use headway_scenario::{Document, Overrides, Problems};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors")
}

fn problems(text: &str, file: &str) -> Result<(), Problems> {
    let sets: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("#set ")).map(str::to_owned).collect();
    Experiment::new(&Document::parse(text, file, &sets)?, &folder()).map(drop)
}

#[test]
fn wrong_scenarios_are_refused_with_the_text_beside_them() {
    let folder = folder();
    let update = std::env::var_os("UPDATE").is_some();
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 30, "only {} wrong scenarios", files.len());
    let mut different = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let found = format!("{}\n", problems(&text, name).expect_err(&format!("{name} is accepted")));
        let beside = path.with_extension("txt");
        if update {
            fs::write(&beside, &found).unwrap();
        } else if fs::read_to_string(&beside).unwrap_or_default() != found {
            different.push(format!("{name} gives:\n{found}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// What is refused beside it has its long lane with one subflow more, or where crossed pairs have no path.
#[test]
fn a_full_mesh_has_a_long_lane_when_a_subflow_leaves_by_it() {
    let text = fs::read_to_string(folder().join("no-long-lane-in-a-full-mesh.toml")).unwrap();
    for (from, to) in [("subflows = 2", "subflows = 3"), ("{ between = [\"s1\", \"s2\"] },", "")] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        problems(&changed, "test.toml").unwrap_or_else(|problems| panic!("{problems}"));
    }
}

/// `--policy` leaves the crash of a relay of another policy without effect; so does the text that is kept of it.
#[test]
fn a_crash_without_the_policies_that_relay_is_no_mistake() {
    let text = fs::read_to_string(folder().join("../../../../scenarios/relay-beyond-crash.toml")).unwrap();
    let overrides = Overrides { policies: vec!["direct".to_owned()], ..Overrides::default() };
    let document = Document::parse_with(&text, "relay-beyond-crash.toml", &overrides).unwrap();
    Experiment::new(&document, &folder()).unwrap_or_else(|problems| panic!("{problems}"));
    let kept = document.show().unwrap();
    problems(&kept, "kept.toml").unwrap_or_else(|problems| panic!("{problems}"));
    // With a policy that relays, over other hosts, it remains one.
    let wrong = text.replace("host = \"relay-a\"", "host = \"server\"");
    assert_ne!(wrong, text);
    assert!(problems(&wrong, "wrong.toml").unwrap_err().to_string().contains("no relay of any policy"));
}

/// The port that may be limited counts, and so does that of the host that sends.
#[test]
fn ports_that_are_read_only_count_where_data_comes_from() {
    let text = fs::read_to_string(folder().join("metering-of-one-port.toml")).unwrap();
    let changed = text.replace("from = \"busy\"", "from = \"quiet\"");
    assert_ne!(changed, text);
    problems(&changed, "test.toml").unwrap_or_else(|problems| panic!("{problems}"));
    // data goes to the server's port only
    let out = changed.replace("ports = [\"busy\"]", "ports = [\"server\"], way = \"out\"");
    assert!(problems(&out, "test.toml").unwrap_err().to_string().contains("1 of the ports"));
}

#[test]
fn colour_is_used_only_when_asked_for() {
    let problems = problems("name = 1", "x.toml").unwrap_err();
    assert!(!problems.render(false).contains('\u{1b}'));
    assert!(problems.render(true).contains('\u{1b}'));
}

#[test]
fn places_are_given_to_programs_too() {
    let problems = problems("name = \"x\"\nabout = 1", "x.toml").unwrap_err();
    let about = problems.iter().find(|problem| problem.message().starts_with("`about`")).unwrap();
    assert_eq!((about.file(), about.line_and_column(), about.bytes()), ("x.toml", Some((2, 9)), 19..20));
}

#[test]
fn a_text_of_more_than_4_mb_is_refused_unread() {
    let text = "#".repeat(4_000_001);
    assert!(problems(&text, "x.toml").unwrap_err().to_string().contains("at most 4 MB"));
}

#[test]
fn hostile_files_are_refused_in_few_words() {
    let mut long_line = "name = [".to_owned();
    long_line.push_str(&"{ x = \"日本\" }, ".repeat(150_000));
    let texts = [
        long_line + "]",
        (0..200_000).map(|n| format!("k{n} = {n}")).collect::<Vec<_>>().join("\n"),
        format!(
            "{}\n{}",
            include_str!("../../scenario/tests/valid/dumbbell.toml"),
            "[[policy]]\nname = \"p\"\n".repeat(90_000)
        ),
        format!(
            "{}\n[sweep]\na = \"0..9999\"",
            include_str!("../../scenario/tests/valid/graph.toml").replace("\"1s\"", "\"$a\"")
        ),
    ];
    for text in texts {
        let refused = problems(&text, "x.toml").unwrap_err().to_string();
        assert!(refused.len() < 100_000 && refused.starts_with("error: "), "{} bytes", refused.len());
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in [format!("a = {}", "[".repeat(100_000)), format!("{}x = 1", "a.".repeat(100_000))] {
        assert!(problems(&text, "x.toml").unwrap_err().to_string().contains("recurs"));
    }
    let deep = vec!["a".repeat(3); 10_000].join(".") + "=1";
    let refused = Document::parse("name = \"x\"", "x.toml", &[deep]).unwrap_err().to_string();
    assert!(refused.contains("at most 32 parts"), "{refused}");
}

#[test]
fn checks_from_outside_point_into_the_file() {
    let text = include_str!("../../scenario/tests/valid/lanes.toml");
    let document = Document::parse(text, "lanes.toml", &[]).unwrap();
    let path = ["policy", "mptcp", "transport", "control"];
    let problem =
        document.problem_at(&path, "there is no congestion control `lia`", Some("did you mean `olia`?".into()));
    let start = text.find("\"lia\"").unwrap();
    assert_eq!(problem.bytes(), start..start + 5);
    let point = &document.points()[0];
    assert!(Problems::from(problem.at_point(point)).to_string().ends_with("= note: with senders = 0, alpha = 0.5"));
    // A default has no place of its own: the table around it has.
    let problem = document.problem_at(&["policy", "1", "transport", "control"], "no", None);
    assert_eq!(&text[problem.bytes()], "\"tcp\"");
}
