//! Quick sizes, and the part of a reproduction that runs on kernel hosts: both must be about keys of the scenario.

use crate::checker::Checker;
use crate::schema::ScenarioRecord;
use headway_language::{Map, SweepValues};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    if let Some(quick) = &scenario.quick {
        sweep(scenario, &quick.sweep, &["quick"], checker);
    }
    if let Some(kernels) = &scenario.kernel_hosts {
        if kernels.policies.is_empty() {
            let message = "`kernel-hosts.policies` names no policy".to_owned();
            checker.problem(&["kernel-hosts", "policies"], message, "empty", None);
        }
        for (index, policy) in kernels.policies.iter().enumerate() {
            let known = scenario.policy.iter().map(|policy| &*policy.name);
            let path = ["kernel-hosts", "policies", &index.to_string()];
            checker.known(&path, policy, "policy", known);
            let of = scenario.policy.iter().find(|one| *one.name == **policy);
            let modelled = [
                ("pacing", of.is_some_and(|one| one.pacing.is_some())),
                ("relay", of.is_some_and(|one| one.relay.is_some())),
            ];
            if let Some((key, _)) = modelled.iter().find(|(_, has)| *has) {
                let message = format!("policy `{policy}` has `{key}`, which only modelled hosts have");
                checker.problem(&path, message, "not on kernel hosts", Some("take it off this list"));
            }
        }
        sweep(scenario, &kernels.sweep, &["kernel-hosts"], checker);
        sweep(scenario, &kernels.quick.sweep, &["kernel-hosts", "quick"], checker);
    }
}

fn sweep(scenario: &ScenarioRecord, changed: &Map<SweepValues>, table: &[&str], checker: &mut Checker) {
    for name in changed.names() {
        let path = [table, &["sweep", name]].concat();
        checker.known(&path, name, "sweep", scenario.sweep.names().names());
    }
}
