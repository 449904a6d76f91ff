//! The rules of the house that a compiler does not check: which crate may use which, what every dependency is for,
//! and that the deterministic crates deny what would make a run depend on more than its seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// What each crate may depend on. Arrows point one way; see docs/design.md.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("input", &["units"]),
    ("language", &["units", "input"]),
    ("control", &["units"]),
    ("levers", &["units", "language", "control"]),
    ("engine", &["units"]),
    ("fabric", &["units", "engine"]),
    ("transport", &["units", "control", "engine", "fabric"]),
    ("agent", &[]),
    ("kernel", &["units", "input", "engine", "fabric", "transport", "agent"]),
    ("lab", &["units", "fabric", "agent", "kernel"]),
    ("linux", &[]),
    ("daemon", &["units", "language", "linux"]),
    ("lane", &["units", "language", "control", "levers", "linux", "daemon"]),
    ("traffic", &["units", "engine"]),
    ("results", &["units", "input"]),
    ("report", &["units", "results"]),
    ("scenario", &["units", "input", "language", "control", "levers", "engine", "fabric", "transport", "traffic"]),
    (
        "emulation",
        &[
            "units",
            "input",
            "language",
            "control",
            "levers",
            "engine",
            "fabric",
            "transport",
            "results",
            "agent",
            "kernel",
            "lab",
            "scenario",
        ],
    ),
    (
        "experiment",
        &[
            "units",
            "input",
            "language",
            "control",
            "engine",
            "fabric",
            "transport",
            "results",
            "kernel",
            "lab",
            "scenario",
            "emulation",
            "report",
            "capture",
        ],
    ),
    ("capture", &["units", "input", "results"]),
    ("cli", &["units", "input", "control", "results", "scenario", "experiment", "report", "kernel", "lab", "capture"]),
    (
        "python",
        &["units", "input", "language", "control", "fabric", "results", "scenario", "experiment", "capture", "cli"],
    ),
];

/// Nothing but the scenario and the seed may decide what these do.
const DETERMINISTIC: &[&str] = &["units", "control", "engine", "fabric", "transport", "traffic"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace is two levels up")
}

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(vec!["--offline".to_owned()])
        .exec()
        .expect("cargo metadata runs")
}

#[test]
fn crates_depend_in_one_direction() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for package in metadata().packages {
        let name = package.name.strip_prefix("headway-").expect("every crate is called headway-…").to_owned();
        let may = allowed.get(name.as_str()).unwrap_or_else(|| panic!("crate `{name}` has no line in ALLOWED"));
        for dependency in package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal) {
            if let Some(used) = dependency.name.strip_prefix("headway-") {
                assert!(may.contains(&used), "`{name}` must not depend on `{used}`");
            }
        }
    }
}

#[test]
fn every_dependency_says_what_it_is_for() {
    let text = std::fs::read_to_string(root().join("docs/dependencies.md")).expect("docs/dependencies.md");
    let described: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let used: BTreeSet<String> = metadata()
        .packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.name.clone())
        .filter(|name| !name.starts_with("headway-"))
        .collect();
    for name in &used {
        assert!(described.contains(name.as_str()), "`{name}` has no line in docs/dependencies.md");
    }
    for name in described {
        assert!(used.contains(name), "docs/dependencies.md describes `{name}`, which nothing uses");
    }
}

#[test]
fn deterministic_crates_deny_what_differs_between_runs() {
    for name in DETERMINISTIC {
        let path = root().join("crates").join(name).join("src/lib.rs");
        let text = std::fs::read_to_string(&path).expect("a crate has src/lib.rs");
        let wanted = "#![deny(clippy::disallowed_types, clippy::disallowed_methods)]";
        assert!(text.contains(wanted), "{} must have {wanted}", path.display());
    }
}

/// What the README shows is what is bundled.
#[test]
fn the_scenario_in_the_readme_is_the_bundled_one() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let shown = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a TOML block");
    let bundled = std::fs::read_to_string(root().join("scenarios/example-incast.toml")).expect("the example");
    assert_eq!(shown, bundled);
}
