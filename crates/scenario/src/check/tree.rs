//! Requests that are split up among the hosts of a tree.

use super::arrivals::{arrival, times};
use super::messages::{TOLD_BEFOREHAND, drawn, group};
use crate::checker::Checker;
use crate::schema::{ArrivalRecord, PartitionAggregateRecord, REQUEST, ScenarioRecord};

/// The deepest tree: a flow's name has room for so many.
const MAX_LEVELS: usize = 4;

pub(super) fn check(
    scenario: &ScenarioRecord,
    name: &str,
    tree: &PartitionAggregateRecord,
    index: &str,
    checker: &mut Checker,
) {
    let root = ["traffic", index, "root"];
    let what = format!("the tree `{name}`");
    group(scenario, (&what, TOLD_BEFOREHAND), &tree.root, &root, checker);
    let own = ["traffic", index, "query"];
    drawn(&format!("traffic.{name}.query"), &tree.query.0, &own, checker);
    if tree.levels.is_empty() || tree.levels.len() > MAX_LEVELS {
        let message = format!("`traffic.{name}.levels` must be 1 to {MAX_LEVELS} levels");
        let label = format!("there are {}", tree.levels.len());
        checker.problem(&["traffic", index, "levels"], message, &label, None);
    }
    let mut asked = vec![tree.root.as_str()];
    let mut above = tree.deadline;
    // all roots ask the whole first level
    let mut asks = Some(1);
    for (level, own) in tree.levels.iter().enumerate() {
        let level = level.to_string();
        let path = |key: &'static str| ["traffic", index, "levels", level.as_str(), key];
        let on = path("on");
        if asked.contains(&own.on.as_str()) {
            let message = format!("`{}` is in the tree `{name}` twice", own.on);
            checker.problem(&on, message, "once more", Some("every level needs hosts of its own"));
        } else if own.on.as_str() == REQUEST {
            let message = format!("a level of `{name}` cannot be on hosts called `{REQUEST}`");
            let help = format!("`{name}/{REQUEST}` is what its requests are reported as: give the group another name");
            checker.problem(&on, message, "", Some(&help));
        } else if group(scenario, (&what, TOLD_BEFOREHAND), &own.on, &on, checker) {
            let count = hosts(scenario, &own.on);
            if let (Some(count), Some(asks)) = (count, asks)
                && count < asks
            {
                let message = format!("`{}` has fewer hosts than ask them in the tree `{name}`", own.on);
                checker.problem(&on, message, &format!("{count} for {asks}"), Some("each needs one of its own"));
            }
            asks = count;
        }
        asked.push(&own.on);
        drawn(&format!("traffic.{name}.levels.{level}.answer"), &own.answer.0, &path("answer"), checker);
        if let (Some(deadline), Some(above)) = (own.deadline, above)
            && deadline > above
        {
            let message = format!("`traffic.{name}.levels.{level}.deadline` is longer than the one above");
            checker.problem(&path("deadline"), message, &format!("{deadline}, but above it is {above}"), None);
        }
        above = own.deadline.or(above);
    }
    times(scenario, name, (tree.start, tree.stop), index, checker);
    arrival(scenario, name, &tree.arrival, index, checker);
    if let ArrivalRecord::Load(_) = tree.arrival {
        let message = format!("traffic `{name}` is of requests, which cannot make up a load");
        let help = "use arrival = { kind = \"poisson\", … }";
        checker.problem(&["traffic", index, "arrival"], message, "", Some(help));
    }
}

/// The number of hosts of a group, if it is one.
pub(super) fn hosts(scenario: &ScenarioRecord, group: &str) -> Option<u32> {
    let group = scenario.hosts.get(group)?;
    group.count.or_else(|| Some(group.members.as_ref()?.len() as u32))
}
