use super::*;

const SCENARIO: &str = r#"
name = "my"
about = "Four hosts on a switch"
duration = "1s"
[topology]
kind = "two-tier"
leaves = 1
spines = 1
hosts-per-leaf = 4
link = { rate = "10Gbps", delay = "25ns" }
queue = { kind = "drop-tail", limit = "1MB" }
[hosts]
a = { count = 3 }
b = { count = 1 }
[[traffic]]
name = "storage"
from = "a"
to = "b"
size = "1MB"
arrival = { kind = "once" }
priority = 3
[[policy]]
name = "plain"
transport = { kind = "tcp" }
[[policy]]
name = "dcb"
transport = { kind = "tcp" }
lossless = { priorities = [3] }
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("my.toml", SCENARIO);
    place
}

/// What `--help` shows as examples runs as it stands there.
#[test]
fn the_examples_run() {
    let place = place();
    let help = place.ok(&["lossless", "plan", "--help"]);
    let (_, examples) = help.split_once("Examples:").unwrap();
    let mut ran = 0;
    for line in examples.lines().filter_map(|line| line.trim().strip_prefix("headway ")) {
        let words: Vec<&str> = line.split(" > ").next().unwrap().split_whitespace().collect();
        assert!(!place.ok(&words).is_empty(), "{line}");
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn a_policy_is_named_where_several_are_lossless() {
    let place = place();
    let second = "[[policy]]\nname = \"other\"\ntransport = { kind = \"tcp\" }\nlossless = { priorities = [5] }\n";
    place.write("two.toml", format!("{SCENARIO}{second}"));
    place.fails(2, &["lossless", "plan", "two.toml"], &["several policies", "dcb, other"]);
    place.fails(2, &["lossless", "plan", "two.toml", "--policy", "none"], &["no policy `none`", "plain, dcb, other"]);
    let text = place.ok(&["lossless", "plan", "two.toml", "--policy", "other", "--as", "json"]);
    assert!(text.contains("priority 5"), "{text}");
}

#[test]
fn options_of_another_form_are_mistakes() {
    let place = place();
    for (option, form) in
        [("--device=eth1", "sonic"), ("--switch=leaf0", "dcb"), ("--lanes=8", "table"), ("--marks=none", "json")]
    {
        place.fails(2, &["lossless", "plan", "my.toml", "--as", form, option], &[option.split('=').next().unwrap()]);
    }
}

/// Of a sweep that changes nothing, the settings are printed; of one that does, a value is asked for.
#[test]
fn settings_are_those_of_all_points() {
    let place = place();
    let sweep = |key: &str, values: &str| {
        let text = SCENARIO.replace("\"25ns\"", "\"$delay\"").replace("\"1MB\"\narrival", "\"$size\"\narrival");
        let text = match key {
            "delay" => text.replace("$size", "1MB"),
            _ => text.replace("$delay", "25ns"),
        };
        place.write("sweep.toml", format!("{text}[sweep]\n{key} = {values}\n"));
    };
    sweep("size", "[\"1MB\", \"2MB\"]");
    place.ok(&["lossless", "plan", "sweep.toml"]);
    sweep("delay", "[\"25ns\", \"50ns\"]");
    place.fails(2, &["lossless", "plan", "sweep.toml"], &["not the same at all points", "--set"]);
    let text = place.ok(&["lossless", "plan", "sweep.toml", "--set", "sweep.delay=50ns", "--as", "json"]);
    assert!(text.contains("50000"), "{text}");
}
