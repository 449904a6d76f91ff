//! `docs/congestion-controls.md` tells of every control and of all that can be set.

use headway_control::congestion::AnyController;

const PAGE: &str = include_str!("../../../docs/congestion-controls.md");

/// The rows of the table below the heading `from`, whose first cell that is not empty names `control`.
fn rows<'a>(from: &str, control: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    let table = PAGE.split_once(from).expect("the page has the heading").1;
    let mut own = false;
    table.lines().filter(|line| line.starts_with('|')).filter(move |line| {
        let first = line.split('|').nth(1).unwrap_or_default().trim();
        if !first.is_empty() {
            own = first.contains(&format!("`{control}`"));
        }
        own
    })
}

#[test]
fn every_control_has_a_line() {
    for name in AnyController::NAMES {
        let first = rows("# Congestion controls", name).next();
        assert!(first.is_some_and(|row| row.starts_with(&format!("| `{name}` |"))), "{name}");
    }
}

/// The name and the default of every parameter stand in a row of its control.
#[test]
fn every_parameter_has_a_line() {
    for name in AnyController::NAMES {
        let control = AnyController::by_name(name).unwrap();
        for parameter in control.parameters() {
            let named = |row: &&str| row.contains(&format!("`{}`", parameter.name));
            let row = rows("## Parameters", name).find(named);
            let row = row.unwrap_or_else(|| panic!("{name} has `{}`", parameter.name));
            let defaults = row.split('|').nth(3).unwrap_or_default().replace("65,536", "65536");
            let default = parameter.default.to_string();
            assert!(defaults.split(", ").any(|value| value.trim() == default), "{name}, {}: {row}", parameter.name);
        }
    }
}
