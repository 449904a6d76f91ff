//! Limits on ports of switches.

use headway_language::Name;
use headway_levers::metering::{ExcessWord, MeteringRecord, Way};

use crate::checker::Checker;
use crate::schema::{HostKind, ScenarioRecord};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    for (index, policy) in scenario.policy.iter().enumerate() {
        let Some(metering) = &policy.metering else { continue };
        let index = index.to_string();
        let at = ["policy", &index, "metering"];
        for mistake in metering.check() {
            let message = format!("policy `{}`: {}", policy.name, mistake.message);
            checker.problem(&[&at[..], &[mistake.key]].concat(), message, mistake.label, mistake.help);
        }
        names(scenario, &metering.ports, &[&at[..], &["ports"]].concat(), checker);
        modelled(scenario, metering, &at, checker);
        if policy.lossless.is_some() && (metering.way, metering.excess) != (Way::Into, ExcessWord::Drops) {
            let message = format!("policy `{}`: ports with classes have no queue for a limit", policy.name);
            let help = "with `lossless`, limits drop what comes in: way = \"into\", excess = \"drops\"";
            checker.problem(&at, message, "beside `lossless`", Some(help));
        }
        if let Some(control) = &metering.control {
            let path = [&at[..], &["control"]].concat();
            for mistake in control.check() {
                let message = format!("policy `{}`: {}", policy.name, mistake.message);
                checker.problem(&[&path[..], &[mistake.key]].concat(), message, mistake.label, mistake.help);
            }
            names(scenario, control.protect.as_deref().unwrap_or(&[]), &[&path[..], &["protect"]].concat(), checker);
            names(scenario, control.counted.as_deref().unwrap_or(&[]), &[&path[..], &["counted"]].concat(), checker);
            if control.interval > end {
                let message = format!("policy `{}`: ports are never read in a run of {end}", policy.name);
                checker.problem(&[&path[..], &["interval"]].concat(), message, "longer than the run", None);
            }
        }
        for (place, change) in metering.changes.iter().enumerate().filter(|(_, change)| change.at >= end) {
            let place = place.to_string();
            let message = format!("this limit is set at {}, after the end of the run", change.at);
            let help = format!("the run ends at {end}, `duration` and `drain` together");
            checker.problem(&[&at[..], &["changes", &place, "at"]].concat(), message, "too late", Some(&help));
        }
    }
}

fn names(scenario: &ScenarioRecord, groups: &[Name], at: &[&str], checker: &mut Checker) {
    for (index, group) in groups.iter().enumerate() {
        let place = index.to_string();
        let path = [at, &[&place]].concat();
        if groups[..index].contains(group) {
            checker.problem(&path, format!("`{group}` is named twice"), "once more", None);
            continue;
        }
        checker.known(&path, group, "host group", scenario.hosts.names());
    }
}

/// Frames that wait before a kernel host's cable would have to be kept back in its guest; those that wait at a switch are
/// the fabric's, whoever sent them. Namespaces have no fabric.
fn modelled(scenario: &ScenarioRecord, metering: &MeteringRecord, at: &[&str], checker: &mut Checker) {
    let kind = |group: &str| scenario.hosts.get(group).and_then(|own| own.kind).unwrap_or(scenario.host_kind);
    for (place, group) in metering.ports.iter().enumerate() {
        let help = match (kind(group), metering.way) {
            (HostKind::Modelled, _) | (HostKind::Linux, Way::Out) => continue,
            (HostKind::Linux, Way::Into) => "limit the other way, way = \"out\"",
            (HostKind::Namespaces, _) => "limits are of switches between modelled hosts or kernel hosts",
        };
        let place = place.to_string();
        let message = format!("the ports of `{group}` cannot be limited: its hosts are not modelled");
        checker.problem(&[at, &["ports", &place]].concat(), message, "not of modelled hosts", Some(help));
    }
}
