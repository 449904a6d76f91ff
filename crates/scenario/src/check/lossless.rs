//! Ports with priorities, classes and pauses.

use crate::checker::Checker;
use crate::schema::{HostKind, ScenarioRecord};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    for (index, policy) in scenario.policy.iter().enumerate() {
        let Some(lossless) = &policy.lossless else { continue };
        let index = index.to_string();
        let at = ["policy", &index, "lossless"];
        for mistake in lossless.check() {
            let message = format!("policy `{}`: {}", policy.name, mistake.message);
            checker.problem(&[&at[..], &[mistake.key]].concat(), message, mistake.label, mistake.help);
        }
        let real =
            scenario.hosts.iter().find(|(_, group)| group.kind.unwrap_or(scenario.host_kind) != HostKind::Modelled);
        let who = match real {
            Some((name, _)) => format!("hosts of `{name}`"),
            None if scenario.host_kind != HostKind::Modelled => "the hosts".to_owned(),
            None => continue,
        };
        let message = format!("policy `{}` pauses what hosts send, and {who} are not modelled", policy.name);
        let help = "cards of kernel hosts know no pause; --policy runs the other policies";
        checker.problem(&at, message, "for modelled hosts", Some(help));
    }
}
