//! Cards that pace.

use headway_levers::pacing::ModelledPacingRecord;

use crate::checker::Checker;
use crate::schema::{HostKind, PolicyRecord, ScenarioRecord};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    for (index, policy) in scenario.policy.iter().enumerate() {
        let Some(pacing) = &policy.pacing else { continue };
        let index = index.to_string();
        let at = ["policy", &index, "pacing"];
        for mistake in pacing.check() {
            let message = format!("policy `{}`: {}", policy.name, mistake.message);
            checker.problem(&[&at[..], &[mistake.key]].concat(), message, mistake.label, mistake.help);
        }
        classes(scenario, pacing, &at, checker);
        hosts(scenario, policy, pacing, &at, checker);
    }
}

/// Classes are of flows that there are.
fn classes(scenario: &ScenarioRecord, pacing: &ModelledPacingRecord, at: &[&str], checker: &mut Checker) {
    for (name, class) in pacing.classes.iter() {
        let path = [at, &["classes", name]].concat();
        if class.traffic.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("class `{name}` has no traffic");
            checker.problem(&[&path[..], &["traffic"]].concat(), message, "nobody is in it", None);
        }
        let sends = scenario.traffic.iter().filter(|traffic| traffic.command().is_none());
        let known = sends.map(|traffic| traffic.name.as_str());
        for (place, traffic) in class.traffic(name).into_iter().enumerate() {
            let place = place.to_string();
            let path = match &class.traffic {
                Some(_) => [&path[..], &["traffic", &place]].concat(),
                None => path.clone(),
            };
            checker.known(&path, traffic, "traffic of flows", known.clone());
        }
    }
}

/// Cards are of modelled hosts.
fn hosts(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    pacing: &ModelledPacingRecord,
    at: &[&str],
    checker: &mut Checker,
) {
    let name = &policy.name;
    let help = "kernel hosts pace by themselves: linux = { qdisc = \"fq\" }";
    let kind = |group: &str| scenario.hosts.get(group).and_then(|own| own.kind).unwrap_or(scenario.host_kind);
    let Some(groups) = &pacing.hosts else {
        let mut real = scenario.hosts.names().filter(|group| kind(group) != HostKind::Modelled);
        let who = match real.next() {
            Some(group) => format!("hosts of `{group}`"),
            None if scenario.host_kind != HostKind::Modelled => "the hosts".to_owned(),
            None => return,
        };
        let message = format!("policy `{name}` gives all hosts cards that pace, and {who} are not modelled");
        let help = format!("{help}; `hosts` names the groups that have such cards");
        return checker.problem(at, message, "for modelled hosts", Some(&help));
    };
    if groups.is_empty() {
        let message = format!("policy `{name}` has cards that pace, and no host has one");
        checker.problem(&[at, &["hosts"]].concat(), message, "empty", Some("leave it out for all hosts"));
    }
    for (index, group) in groups.iter().enumerate() {
        let place = index.to_string();
        let path = [at, &["hosts", &place]].concat();
        if groups[..index].contains(group) {
            let message = format!("`policy.{name}.pacing.hosts` has `{group}` twice");
            checker.problem(&path, message, "once more", None);
            continue;
        }
        if checker.known(&path, group, "host group", scenario.hosts.names()) && kind(group) != HostKind::Modelled {
            let message = format!("policy `{name}` gives `{group}` cards that pace, and its hosts are not modelled");
            checker.problem(&path, message, "for modelled hosts", Some(help));
        }
    }
}
