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
            checker.known(&["kernel-hosts", "policies", &index.to_string()], policy, "policy", known);
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
