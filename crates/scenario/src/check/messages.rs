//! What the traffic of applications has in common: modelled hosts that take part, and the sizes of their messages.

use crate::checker::Checker;
use crate::schema::{HostKind, ScenarioRecord, SizeKind};

/// Why kernels cannot take part where one message starts the next.
pub(super) const TOLD_BEFOREHAND: &str = "kernels are told beforehand when their flows start: use modelled hosts, or \
                                          programs that ask and answer, with traffic of kind = \"command\"";

/// Checks that `group` is one of modelled hosts. It takes part in `what`; `help` says what kernel hosts could do instead.
/// Returns whether there is such a group.
pub(super) fn group(
    scenario: &ScenarioRecord,
    (what, help): (&str, &str),
    group: &str,
    path: &[&str],
    checker: &mut Checker,
) -> bool {
    if !checker.known(path, group, "host group", scenario.hosts.names()) {
        return false;
    }
    let kind = scenario.hosts.get(group).and_then(|group| group.kind).unwrap_or(scenario.host_kind);
    if kind != HostKind::Modelled {
        let message = format!("kernel hosts cannot take part in {what}");
        checker.problem(path, message, &format!("`{group}` has kernels"), Some(help));
    }
    true
}

/// Checks a size of which one is drawn for every message.
pub(super) fn drawn(label: &str, kind: &SizeKind, path: &[&str], checker: &mut Checker) {
    let wrong = match kind {
        SizeKind::Unlimited(_) => "without end",
        SizeKind::Shared(_) => "shared out among senders",
        _ => return kind.check(label, path, checker),
    };
    checker.problem(path, format!("`{label}` cannot be {wrong}"), "", Some("use an amount, or a distribution"));
}
