//! Views of groups of hosts.

use std::collections::BTreeSet;

use crate::checker::Checker;
use crate::schema::ScenarioRecord;

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    let mut known: BTreeSet<&str> = scenario.hosts.names().collect();
    for (name, view) in scenario.views.iter() {
        if scenario.hosts.get(name).is_some() {
            checker.problem(&["views", name], format!("a group of hosts is called `{name}`, too"), "", None);
        }
        if view.of.is_empty() {
            checker.problem(&["views", name, "of"], format!("`views.{name}` is of no group"), "empty", None);
        }
        let mut kinds = BTreeSet::new();
        for (index, group) in view.of.iter().enumerate() {
            let index = index.to_string();
            // A single name stands without a list.
            let path = ["views", name, "of", &index];
            if !checker.known(&path, group, "host group", known.iter().copied()) {
                continue;
            }
            let kind = scenario.group(group).and_then(|group| group.kind).unwrap_or(scenario.host_kind);
            kinds.insert(kind.as_str());
        }
        if kinds.len() > 1 {
            let message = format!("`views.{name}` has hosts of several kinds");
            let help = "give each kind a view of its own";
            checker.problem(&["views", name, "of"], message, "not of one kind", Some(help));
        }
        if view.count.is_some() && view.share.is_some() {
            let message = format!("`views.{name}` has a `count` and a `share`");
            checker.problem(&["views", name, "share"], message, "", Some("keep one of them"));
        }
        known.insert(name);
    }
}
