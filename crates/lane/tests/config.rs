//! `lane.toml`: what is accepted means what it says, what is refused is refused with a text that points at it.
//!
//! `UPDATE=1` writes the texts beside the wrong files anew; read them before they are accepted.

use std::fs;
use std::path::{Path, PathBuf};

use headway_control::lanes::{Backlog, Judge, LinkCost, Role};
use headway_lane::config::{ConfigError, Configuration};
use headway_lane::settings::{Judging, Remote, Treatment};
use headway_language::{Problems, Ratio};
use headway_levers::lanes::LaneOpen;
use headway_units::{Bytes, Span};
use proptest::prelude::*;

const LEAST: &str = include_str!("valid/least.toml");
const EVERYTHING: &str = include_str!("valid/everything.toml");

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn read(text: &str, name: &str) -> Result<Configuration, Problems> {
    Configuration::read(text, name, &|user| (user == "postgres").then_some(999))
}

fn valid(text: &str) -> Configuration {
    read(text, "lane.toml").unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn wrong_files_are_refused_with_the_text_beside_them() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut files: Vec<_> = fs::read_dir(folder("errors")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 25, "only {} wrong files", files.len());
    let mut different = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let found = format!("{}\n", read(&text, name).expect_err(&format!("{name} is accepted")));
        let beside = path.with_extension("txt");
        if update {
            fs::write(&beside, &found).unwrap();
        } else if fs::read_to_string(&beside).unwrap_or_default() != found {
            different.push(format!("{name} gives:\n{found}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn what_is_left_out_has_its_default() {
    let settings = valid(LEAST).settings;
    assert!(settings.client && settings.server);
    assert_eq!(settings.lanes[0].name, "fast");
    assert_eq!((settings.lanes[0].role, settings.lanes[1].role), (Role::Short, Role::Long));
    assert_eq!(settings.lanes[1].remote, Remote::Same);
    // A daemon polls what the kernel has smoothed (LinkCost::smoothing).
    assert_eq!(settings.judge, Judge::LinkCost(LinkCost { smoothing: 1.0, ..LinkCost::default() }));
    // A quarter of 300 ms: before that the author's kernel switches nothing.
    assert_eq!((settings.timing.open, settings.timing.open_after), (LaneOpen::Early, Span::from_millis(75)));
    assert_eq!(settings.timing.idle, Some(Span::from_secs(1)));
    assert_eq!((settings.history, settings.rules.len()), (None, 0));
    assert_eq!(settings.operations.metrics, None);
}

#[test]
fn when_subflows_open_follows_from_the_judges() {
    let timing = |more: &str| valid(&format!("{LEAST}\n{more}")).settings.timing;
    let backlog = timing("judge = 'backlog'".replace("judge", "[judge]\nkind").as_str());
    assert_eq!((backlog.open, backlog.open_after), (LaneOpen::WhenLong, Span::from_millis(20)));
    let deadline = timing("[judge]\nkind = 'deadline'\ndeadline = '100ms'");
    assert_eq!((deadline.open, deadline.open_after), (LaneOpen::WhenLong, Span::from_millis(25)));
}

#[test]
fn a_rule_changes_nothing_for_connections_that_it_does_not_match() {
    // keys at the top come before the tables
    let opens = |top: &str, text: &str| {
        let settings = valid(&format!("{top}\n{LEAST}\n{text}")).settings;
        let of = |one: Judging| (one.open, one.open_after);
        let Treatment::Judged(rule) = &settings.rules[0].then else { panic!("it is judged") };
        (of(settings.judging()), of(rule.clone()))
    };
    let (early, when_long) = (LaneOpen::Early, LaneOpen::WhenLong);
    let ms = Span::from_millis;
    let rule = "[[rule]]\nname = 'a'\nport = 1\n";
    let fast = format!("{rule}judge = {{ kind = 'link-cost', deadline = '40ms' }}\n");
    let backlog = "[judge]\nkind = 'backlog'\n";
    // each by its own judge
    assert_eq!(opens("", &format!("{backlog}{fast}")), ((when_long, ms(20)), (early, ms(10))));
    assert_eq!(opens("", &format!("{rule}judge = 'backlog'")), ((early, ms(75)), (when_long, ms(20))));
    // the same judge, the same times
    assert_eq!(opens("", rule), ((early, ms(75)), (early, ms(75))));
    // what is said for all is for all
    let (top, all) = ("open = 'early'", "[timing]\nopen-after = '5ms'\n");
    assert_eq!(opens(top, &format!("{backlog}{all}{fast}")), ((early, ms(5)), (early, ms(5))));
    // and what a rule says itself comes first
    let own = format!("{all}{rule}judge = 'backlog'\nopen = 'when-long'\nopen-after = '7ms'\n");
    assert_eq!(opens(top, &own), ((early, ms(5)), (when_long, ms(7))));
}

#[test]
fn everything_that_can_be_written_arrives() {
    let settings = valid(EVERYTHING).settings;
    let judge = LinkCost {
        deadline: Span::from_millis(200),
        alpha: 2.0,
        beta: 1.5,
        gamma: 0.5,
        delta: 1.5,
        delay_unit: Span::from_micros(250),
        time_unit: Span::from_millis(4),
        smoothing: 1.0,
        common_base: true,
    };
    assert_eq!(settings.judge, Judge::LinkCost(judge));
    assert_eq!(settings.lanes[0].addresses.len(), 2);
    assert_eq!(settings.lanes[0].gateways[1], "fd00::1".parse::<std::net::IpAddr>().unwrap());
    let prefixes = ["10.1.0.0/16", "fd00:0:0:1::/64"].map(|text| text.parse().unwrap());
    assert_eq!(settings.lanes[1].remote, Remote::Mapped(prefixes.to_vec()));
    assert_eq!((&settings.lanes[2].remote, &settings.lanes[2].interface), (&Remote::Announced, &None));
    let timing = settings.timing;
    assert_eq!((timing.open, timing.open_after, timing.idle), (LaneOpen::Early, Span::from_millis(30), None));
    assert_eq!((timing.probe_interval, timing.poll_interval), (Span::from_millis(200), Span::from_millis(10)));
    assert_eq!((timing.watch_interval, timing.patience), (Span::from_secs(1), Span::from_millis(1500)));
    let history = settings.history.unwrap();
    assert_eq!((history.half_life, history.capacity), (Span::from_secs(2), 500));
    assert_eq!((history.long, history.long_share.map(Ratio::get)), (Bytes::from_kb(1000), Some(0.9)));
    let rule = &settings.rules[0];
    assert_eq!(rule.destinations[1], "fd00:9::7/128".parse().unwrap());
    assert_eq!(rule.ports, [5201..=5201, 5000..=5100]);
    assert_eq!(rule.users, [999, 1000]);
    assert_eq!(rule.cgroups, [PathBuf::from("/system.slice/backup.service")]);
    assert_eq!((rule.server_side, rule.then.clone()), (Some(false), Treatment::Long));
    assert_eq!(settings.rules[1].then, Treatment::Leave);
    let threshold = Bytes::from_kb(1000);
    let judge = Judge::Backlog(Backlog { threshold });
    let judging = Judging { judge, open: LaneOpen::WhenLong, open_after: Span::from_millis(5) };
    assert_eq!(settings.rules[2].then, Treatment::Judged(judging));
    let limits = settings.limits;
    assert_eq!((limits.connections, limits.opens_per_second), (5000, 500));
    assert_eq!((limits.subflows, limits.accepted_addresses), (4, 2));
    assert_eq!((settings.setup.table, settings.setup.priority, settings.setup.listen), (9000, 9000, false));
    assert_eq!(settings.operations.metrics, Some("[::1]:9477".parse().unwrap()));
    assert_eq!(settings.operations.socket, Path::new("/run/headway/a.sock"));
    assert_eq!(settings.operations.state, Path::new("/run/headway/a"));
}

#[test]
fn what_is_shown_reads_back_to_the_same() {
    for text in [LEAST, EVERYTHING] {
        let configuration = valid(text);
        let shown = configuration.show();
        let again = valid(&shown);
        assert_eq!(again.settings, configuration.settings, "{shown}");
        assert_eq!(again.show(), shown);
    }
    for key in ["open = \"early\"", "open-after = \"75ms\"", "[limits]", "[operations]", "socket = "] {
        assert!(valid(LEAST).show().contains(key), "no {key} in\n{}", valid(LEAST).show());
    }
}

#[test]
fn files_that_are_none_or_too_long_are_refused() {
    let folder = std::env::temp_dir().join(format!("headway-lane-config-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("lane.toml");
    fs::write(&path, LEAST).unwrap();
    assert_eq!(Configuration::load(&path).unwrap().settings, valid(LEAST).settings);
    fs::write(&path, format!("{LEAST}#{}", "x".repeat(1_000_000))).unwrap();
    let error = Configuration::load(&path).unwrap_err().to_string();
    assert!(error.contains("at most 1000000 bytes"), "{error}");
    fs::write(&path, b"side = \"\xff\"").unwrap();
    assert!(matches!(Configuration::load(&path), Err(ConfigError::File { .. })));
    assert!(matches!(Configuration::load(&folder), Err(ConfigError::File { .. })));
    assert!(matches!(Configuration::load(&folder.join("nothing")), Err(ConfigError::File { .. })));
    fs::remove_dir_all(&folder).unwrap();
    // A pipe would wait for a writer, and some devices never end.
    assert!(matches!(Configuration::load(Path::new("/dev/zero")), Err(ConfigError::File { .. })));
}

/// Values that have broken parsers before, and words of the language in wrong places.
const NASTY: [&str; 24] = [
    "0",
    "-1",
    "9223372036854775807",
    "1e308",
    "nan",
    "-0.0",
    "\"\"",
    "\"0s\"",
    "\"18446744s\"",
    "\"1ps\"",
    "\"0B\"",
    "\"never\"",
    "\"same\"",
    "\"10.0.0.0/33\"",
    "\"::/0\"",
    "\"0-65535\"",
    "\"-\"",
    "[]",
    "[[]]",
    "{}",
    "true",
    "1979-05-27",
    "\"link-cost\"",
    "\"\\u0000\"",
];

/// The places of values in a line `key = value`.
fn lines(text: &str) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| line.contains(" = ")).map(|(index, _)| index).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_settings_or_problems(text in "\\PC{0,200}") {
        if let Err(problems) = read(&text, "x") {
            prop_assert!(!problems.is_empty() && !problems.render(false).is_empty());
        }
    }

    #[test]
    fn any_bytes_in_a_file_that_was_right_are_settings_or_problems(
        at in 0..EVERYTHING.len(), cut in 0..30_usize, put in "[\\PC\n]{0,6}",
    ) {
        let text = format!("{}{put}{}", &EVERYTHING[..at], &EVERYTHING[(at + cut).min(EVERYTHING.len())..]);
        match read(&text, "x") {
            Ok(configuration) => prop_assert_eq!(&valid(&configuration.show()).settings, &configuration.settings),
            Err(problems) => prop_assert!(!problems.render(true).is_empty()),
        }
    }

    #[test]
    fn any_value_in_any_place_is_settings_or_problems(changes in prop::collection::vec((0..100_usize, 0..NASTY.len()), 1..4)) {
        let places = lines(EVERYTHING);
        let mut text: Vec<String> = EVERYTHING.lines().map(str::to_owned).collect();
        for (place, value) in changes {
            let line = &mut text[places[place % places.len()]];
            let key = line.split(" = ").next().unwrap().to_owned();
            *line = format!("{key} = {}", NASTY[value]);
        }
        match read(&text.join("\n"), "x") {
            Ok(configuration) => prop_assert_eq!(&valid(&configuration.show()).settings, &configuration.settings),
            Err(problems) => prop_assert!(!problems.render(false).is_empty()),
        }
    }
}
