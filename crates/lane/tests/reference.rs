//! What is written about the command and the configuration is what they are.
//!
//! `UPDATE=1` writes the man pages anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap_mangen::Man;
use headway_daemon::command::command;
use headway_lane::IDENTITY;
use headway_lane::command::Cli;
use headway_lane::config::{Configuration, json_schema};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A key of the configuration.
struct Key {
    /// `judge` or `lane`; empty at the top.
    section: String,
    name: String,
    about: String,
    default: Option<String>,
    required: bool,
    /// The choices of `kind` that have it.
    kinds: Vec<String>,
}

/// What a key is for, what it may be, and, of a word, which there are.
fn about(name: &str, property: &Value) -> String {
    if name == "kind" {
        return "Which judge.".to_owned();
    }
    let about = property["description"].as_str().unwrap();
    // "The age. (more than 0)"
    let about = match about.strip_suffix(')').and_then(|about| about.rsplit_once(". (")) {
        Some((about, range)) => format!("{about} ({range})."),
        None => about.to_owned(),
    };
    let words = property.pointer("/anyOf/0/oneOf").and_then(Value::as_array).map(|words| {
        let words: Vec<&str> = words.iter().map(|word| word["const"].as_str().unwrap()).collect();
        format!(" One of {}.", words.join(", "))
    });
    about + &words.unwrap_or_default()
}

/// Keys of `schema` in the order of their declaration, below those of `section`.
fn keys_of(schema: &Value, section: &str, whole: &Value, all: &mut Vec<Key>) {
    let choices = schema["anyOf"].as_array().map_or_else(|| vec![schema], |choices| choices.iter().collect());
    for choice in choices.into_iter().filter(|choice| choice["properties"].is_object()) {
        let kind = choice["properties"]["kind"]["const"].as_str();
        // that of a program, which a daemon refuses
        if kind == Some("own") {
            continue;
        }
        for (name, property) in choice["properties"].as_object().unwrap() {
            // Of a choice that is varied, which a daemon's file cannot have.
            if name == "kind" && kind.is_none() {
                continue;
            }
            let target = property["$ref"].as_str().or_else(|| property["items"]["$ref"].as_str());
            let table = target.map(|target| whole.pointer(target.trim_start_matches('#')).unwrap());
            if let Some(table) = table
                && section.is_empty()
            {
                keys_of(table, name, whole, all);
                continue;
            }
            let kinds: Vec<String> = kind.into_iter().map(str::to_owned).collect();
            let about = about(name, property);
            if let Some(known) = all.iter_mut().find(|key| key.section == section && key.name == *name) {
                known.kinds.extend(kinds);
                if name != "kind" && !known.about.contains(&about) {
                    known.about = format!("{} Or, depending on the judge: {about}", known.about);
                }
                continue;
            }
            let default = property.get("default").filter(|default| !default.is_object());
            all.push(Key {
                section: section.to_owned(),
                name: name.clone(),
                about,
                default: default.map(ToString::to_string),
                required: choice["required"].as_array().unwrap().iter().any(|one| one == name),
                kinds,
            });
        }
    }
}

fn keys() -> Vec<Key> {
    let schema = json_schema();
    let mut all = Vec::new();
    keys_of(&schema, "", &schema, &mut all);
    // a record's own keys come before those that it shares
    all.sort_by_key(|key| !key.section.is_empty());
    assert!(all.len() > 40, "only {} keys", all.len());
    all
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A dot or an apostrophe at the start of a line would be a command.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn compare(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, wanted).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        there,
        wanted,
        "{} is not current: UPDATE=1 cargo test -p headway-lane --test reference",
        path.display()
    );
}

fn render(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_man_page_of_the_command_is_that_of_its_options() {
    let command = command::<Cli>(&IDENTITY);
    let man = Man::new(command.clone()).section("8").date("").source("Headway").manual("Headway");
    let mut page = render(|out| {
        man.render_title(out)?;
        man.render_name_section(out)?;
        man.render_synopsis_section(out)?;
        man.render_description_section(out)?;
        man.render_options_section(out)
    });
    page.push_str(".SH COMMANDS\n");
    for sub in command.get_subcommands() {
        let _ = writeln!(page, ".SS {}", quoted(sub.get_name()));
        let about = sub.get_long_about().or_else(|| sub.get_about()).unwrap().to_string();
        let _ = writeln!(page, "{}", quoted(&about));
        let options = render(|out| Man::new(sub.clone()).render_options_section(out));
        page.push_str(
            &options.lines().filter(|line| *line != ".SH OPTIONS").flat_map(|line| [line, "\n"]).collect::<String>(),
        );
    }
    page.push_str(
        ".SH SIGNALS\n\
         .TP\nSIGHUP\nReads the configuration again. If it is wrong the old one stays, and the log says why.\n\
         .TP\nSIGTERM, SIGINT\nEnd the daemon. Connections go on as they are; routes and rules stay until \\fBcleanup\\fR.\n\
         .SH EXIT STATUS\n\
         .TP\n0\nAll is well.\n\
         .TP\n1\nIt ran, and something failed.\n\
         .TP\n2\nThe command line or the configuration is wrong.\n\
         .TP\n3\nThe host lacks something: a kernel feature, a setting, a capability; \\fBdoctor\\fR says what.\n\
         .SH FILES\n\
         .TP\n/etc/headway/lane.toml\nThe configuration.\n\
         .TP\n/run/headway/lane.sock\nStatus, events and metrics over HTTP: /status, /events, /metrics.\n\
         .TP\n/run/headway/lane/record.json\nWhat was set up, for \\fBcleanup\\fR.\n\
         .SH SEE ALSO\n\\fBlane.toml\\fR(5), \\fBip\\-mptcp\\fR(8), \\fBip\\-rule\\fR(8), \\fBmptcpize\\fR(8)\n",
    );
    assert!(page.contains("apply\\-routes") && page.contains(".SS doctor"), "{page}");
    compare("docs/man/headway-lane.8", &page);
}

#[test]
fn the_man_page_of_the_configuration_is_that_of_its_keys() {
    let mut page = ".TH lane.toml 5 \"\" \"Headway\" \"Headway\"\n.SH NAME\nlane.toml \\- configuration of headway\\-lane\n\
        .SH DESCRIPTION\nTOML 1.0. Times, rates and amounts of data are texts with a unit: \"20ms\", \"20Mbps\", \"100KB\". A key \
        that is not known is an error. \\fBheadway\\-lane check\\fR points at what is wrong; with \\fB\\-\\-print\\-defaults\\fR it \
        prints everything that was left out.\n"
        .to_owned();
    let mut section = None;
    for key in keys() {
        if section.as_ref() != Some(&key.section) {
            let title = match key.section.as_str() {
                "" => "top".to_owned(),
                list @ ("lane" | "rule") => format!("[[{list}]]"),
                table => format!("[{table}]"),
            };
            let _ = writeln!(page, ".SH \"{title}\"");
            section = Some(key.section.clone());
        }
        let default = match (&key.default, key.required) {
            (Some(default), _) => format!(" Default: {default}."),
            (None, true) => " Required.".to_owned(),
            (None, false) => String::new(),
        };
        let kinds = if key.kinds.is_empty() || key.name == "kind" {
            if key.name == "kind" { format!(" One of {}.", key.kinds.join(", ")) } else { String::new() }
        } else {
            format!(" For {}.", key.kinds.join(", "))
        };
        let _ =
            writeln!(page, ".TP\n\\fB{}\\fR\n{}", quoted(&key.name), quoted(&format!("{}{kinds}{default}", key.about)));
    }
    page.push_str(".SH SEE ALSO\n\\fBheadway\\-lane\\fR(8)\n");
    compare("docs/man/lane.toml.5", &page);
}

#[test]
fn the_example_names_every_key_and_says_the_defaults() {
    let text = fs::read_to_string(root().join("packaging/lane.toml")).unwrap();
    for key in keys() {
        let found =
            text.lines().any(|line| line.trim_start_matches(['#', ' ']).starts_with(&format!("{} = ", key.name)));
        assert!(found, "packaging/lane.toml does not name `{}` of [{}]", key.name, key.section);
        if let Some(default) = &key.default
            && key.section != "lane"
            && key.section != "rule"
        {
            assert!(text.contains(&format!("{} = {default}", key.name)), "{} = {default}", key.name);
        }
    }
    let users = |_: &str| None;
    let example =
        Configuration::read(&text, "packaging/lane.toml", &users).unwrap_or_else(|problems| panic!("{problems}"));
    let least = Configuration::read(include_str!("valid/least.toml"), "least", &users).unwrap();
    assert_eq!(example.settings, least.settings, "as it stands it is two lanes with all defaults");
    // With what is commented out it is right, too, once there is such a user; the judge's keys are of different judges.
    let judge = [
        "deadline",
        "threshold",
        "rate",
        "window",
        "alpha",
        "beta",
        "gamma",
        "delta",
        "delay-unit",
        "time-unit",
        "base-rtt",
    ];
    let whole: String = text
        .lines()
        .map(|line| {
            line.strip_prefix("# ").filter(|rest| rest.starts_with('[') || rest.contains(" = ")).unwrap_or(line)
        })
        .filter(|line| !judge.iter().any(|key| line.starts_with(&format!("{key} = "))))
        .flat_map(|line| [line, "\n"])
        .collect();
    let whole = Configuration::read(&whole, "whole", &|_| Some(1)).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((whole.settings.rules.len(), whole.settings.operations.metrics.is_some()), (1, true));
}

#[test]
fn the_reference_describes_every_key_and_no_other() {
    let text = fs::read_to_string(root().join("docs/lane-daemon.md")).unwrap();
    let text = text.split("\n## Configuration\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let described: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(key, _)| key).collect();
    let path =
        |key: &Key| if key.section.is_empty() { key.name.clone() } else { format!("{}.{}", key.section, key.name) };
    let known: BTreeSet<String> = keys().iter().map(path).collect();
    for key in &known {
        assert!(described.contains(key.as_str()), "docs/lane-daemon.md does not describe `{key}`");
    }
    for key in &described {
        assert!(known.contains(*key), "docs/lane-daemon.md describes `{key}`, which there is not");
    }
}

/// The units ask for the capabilities that are needed and keep the records.
#[test]
fn the_units_have_two_capabilities_and_keep_their_records() {
    for name in ["headway-lane.service", "headway-lane@.service"] {
        let text = fs::read_to_string(root().join("packaging").join(name)).unwrap();
        for line in [
            "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE",
            "AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE",
            "RuntimeDirectoryPreserve=yes",
            "Type=notify",
        ] {
            assert!(text.lines().any(|one| one == line), "{name} lacks {line}");
        }
        assert!(!text.contains("ExecStop"), "{name}: connections go on when the daemon ends");
    }
}
