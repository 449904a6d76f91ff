//! Claims: they must be about results that the scenario will have.

use std::mem::discriminant;

use super::Checker;
use crate::language::SweepValues;
use crate::schema::{ClaimRecord, OperandRecord, ScenarioRecord, TrafficRecord};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    for (index, claim) in scenario.claim.iter().enumerate() {
        let index = index.to_string();
        if claim.text.contains('\n') {
            let message = format!("`claim.{index}.text` must be one line");
            checker.problem(&["claim", &index, "text"], message, "", None);
        }
        comparison(claim, &index, checker);
        points(scenario, claim, &index, checker);
        for (key, pair) in [("less", &claim.less), ("greater", &claim.greater)] {
            for (position, one) in pair.iter().flatten().enumerate() {
                operand(scenario, one, &["claim", &index, key, &position.to_string()], checker);
            }
        }
        if let Some(between) = &claim.between {
            let path = ["claim", &index, "between"];
            operand(scenario, &between.operand, &path, checker);
            if discriminant(&between.low) != discriminant(&between.high) {
                let message = format!("`claim.{index}.between` has `low` and `high` of different kinds");
                checker.problem(&path, message, "", Some("give both the same unit"));
            } else if between.low.exceeds(&between.high) {
                let message = format!("`claim.{index}.between` has a `low` above its `high`");
                checker.problem(&["claim", &index, "between", "low"], message, "", None);
            }
        }
    }
}

fn comparison(claim: &ClaimRecord, index: &str, checker: &mut Checker) {
    let given: Vec<&str> =
        [("less", claim.less.is_some()), ("greater", claim.greater.is_some()), ("between", claim.between.is_some())]
            .into_iter()
            .filter_map(|(key, given)| given.then_some(key))
            .collect();
    if given.len() != 1 {
        let message = format!("`claim.{index}` needs exactly one of `less`, `greater` and `between`");
        let label = if given.is_empty() { "it has none".to_owned() } else { format!("it has {}", given.join(" and ")) };
        let help = "for example less = [{ policy = …, value = \"fct.p95\" }, { policy = …, value = \"fct.p95\" }]";
        checker.problem(&["claim", index], message, &label, Some(help));
    }
    if claim.between.is_some() && claim.by != 1.0 {
        let message = format!("`claim.{index}.by` is for `less` and `greater`");
        checker.problem(&["claim", index, "by"], message, "", None);
    }
}

/// A claim that no sweep point meets would be passed over in silence.
fn points(scenario: &ScenarioRecord, claim: &ClaimRecord, index: &str, checker: &mut Checker) {
    let sweep = scenario.sweep.names();
    for (name, wanted) in claim.at.iter() {
        let path = ["claim", index, "at", name];
        if !checker.known(&path, name, "sweep", sweep.names()) {
            continue;
        }
        let Some(values) = sweep.get(name) else { continue };
        let help = "a claim is checked only at points of the sweep";
        match wanted {
            SweepValues::List(all) => {
                for value in all.iter().filter(|value| !values.contains(value)) {
                    let message = format!("`sweep.{name}` does not take the value {value}");
                    checker.problem(&path, message, "not in the sweep", Some(help));
                }
            }
            SweepValues::Range { .. } => {
                if !(0..values.len()).filter_map(|index| values.get(index)).any(|value| wanted.contains(&value)) {
                    let message = format!("`sweep.{name}` takes no value of this range");
                    checker.problem(&path, message, "not in the sweep", Some(help));
                }
            }
        }
    }
}

fn operand(scenario: &ScenarioRecord, operand: &OperandRecord, path: &[&str], checker: &mut Checker) {
    let at = |key| [path, &[key]].concat();
    checker.known(&at("policy"), &operand.policy, "policy", scenario.policy.iter().map(|policy| &*policy.name));
    if let Some(traffic) = &operand.traffic {
        let known: Vec<String> = scenario.traffic.iter().flat_map(TrafficRecord::reported).collect();
        checker.known(&at("traffic"), traffic, "traffic", known.iter().map(String::as_str));
    }
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    if let Some(from) = operand.from {
        if from >= end {
            let message = format!("`{}` begins when the scenario is over", at("from").join("."));
            checker.problem(&at("from"), message, &format!("it ends at {end}"), None);
        } else if operand.to.is_some_and(|to| to <= from) {
            let message = format!("`{}` is not after `from`", at("to").join("."));
            checker.problem(&at("to"), message, "", None);
        }
    }
}
