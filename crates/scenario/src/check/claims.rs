//! Claims: they must be about results that the scenario will have.

use std::mem::discriminant;

use crate::checker::Checker;
use crate::schema::{Against, ClaimRecord, Comparison, OperandRecord, Published, ScenarioRecord, TrafficRecord};
use headway_language::SweepValues;

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    for (index, claim) in scenario.claim.iter().enumerate() {
        let index = index.to_string();
        for (key, text) in [("text", Some(&claim.text)), ("known", claim.known.as_ref())] {
            if text.is_some_and(|text| text.contains('\n')) {
                checker.problem(&["claim", &index, key], format!("`claim.{index}.{key}` must be one line"), "", None);
            }
        }
        comparison(claim, &index, checker);
        points(scenario, claim, &index, checker);
        for (key, pair) in [("less", &claim.less), ("greater", &claim.greater)] {
            let operands = pair.iter().flat_map(Comparison::operands).flatten();
            for (position, one) in operands.enumerate() {
                operand(scenario, one, &["claim", &index, key, &position.to_string()], checker);
            }
        }
        if let Some(near) = &claim.near {
            operand(scenario, &near.operand, &["claim", &index, "near"], checker);
        }
        published(claim, &index, checker);
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
    let given: Vec<&str> = [
        ("less", claim.less.is_some()),
        ("greater", claim.greater.is_some()),
        ("between", claim.between.is_some()),
        ("near", claim.near.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, given)| given.then_some(key))
    .collect();
    if given.len() != 1 {
        let message = format!("`claim.{index}` needs exactly one of `less`, `greater`, `between` and `near`");
        let label = if given.is_empty() { "it has none".to_owned() } else { format!("it has {}", given.join(" and ")) };
        let help = "for example less = [{ policy = …, value = \"fct.p95\" }, { policy = …, value = \"fct.p95\" }], or with a \
                    value in place of the second: \"20ms\"";
        checker.problem(&["claim", index], message, &label, Some(help));
    }
    if (claim.between.is_some() || claim.near.is_some()) && claim.by != 1.0 {
        let message = format!("`claim.{index}.by` is for `less` and `greater`");
        checker.problem(&["claim", index, "by"], message, "", None);
    }
    let against_value = |comparison: &Comparison| matches!(comparison.second, Against::Value(_));
    if claim.by != 1.0 && claim.less.iter().chain(&claim.greater).any(against_value) {
        let message = format!("`claim.{index}.by` multiplies a result, and this claim compares with a value");
        checker.problem(&["claim", index, "by"], message, "", Some("multiply the value itself"));
    }
    if let Some(near) = &claim.near
        && near.within.is_some() == near.factor.is_some()
    {
        let message = format!("`claim.{index}.near` needs one of `within` and `factor`");
        let label = if near.within.is_some() { "it has both" } else { "it has none" };
        checker.problem(&["claim", index, "near"], message, label, Some("for example within = \"20%\", or factor = 2"));
    }
}

/// What the source printed is one text, or a number for each operand.
fn published(claim: &ClaimRecord, index: &str, checker: &mut Checker) {
    let all: &[Published] = claim.published.as_deref().unwrap_or_default();
    let path = ["claim", index, "published"];
    let wanted = claim.operands().iter().flatten().count().max(1);
    let numbers = all.iter().filter(|one| matches!(one, Published::Number(_))).count();
    if claim.near.is_some() && (numbers, all.len()) != (1, 1) {
        let message = format!("`claim.{index}.near` needs a number in `published` that the result is near to");
        let help =
            "published = { value = \"180ms\", source = \"figure 1\" }, or a cell: { file = …, row = …, column = … }";
        checker.problem(&["claim", index], message, "", Some(help));
    } else if claim.published.is_some() && (all.is_empty() || numbers > 0 && all.len() != wanted || all.len() > wanted)
    {
        let message = format!("`claim.{index}.published` must be a text, or a number for each operand");
        let label = format!("{} for {wanted}", all.len());
        checker.problem(&path, message, &label, None);
    }
    for (position, one) in all.iter().enumerate() {
        let (position, many) = (position.to_string(), all.len() > 1);
        let at = |key| {
            let mut at = path.to_vec();
            if many {
                at.push(&position);
            }
            at.extend(key);
            at
        };
        let (lines, number) = match one {
            Published::Text(text) => (vec![(None, Some(text))], None),
            Published::Number(number) => (
                vec![
                    (Some("source"), number.source.as_ref()),
                    (Some("column"), number.column.as_ref()),
                    (Some("suspect"), number.suspect.as_ref()),
                ],
                Some(number),
            ),
        };
        for (key, text) in lines {
            if text.is_some_and(|text| text.contains('\n')) {
                let at = at(key);
                checker.problem(&at, format!("`{}` must be one line", at.join(".")), "", None);
            }
        }
        let Some(number) = number else { continue };
        let (value, file, column) = (number.value.is_some(), number.file.is_some(), number.column.is_some());
        let message = match (value, file, column) {
            (true, true, _) | (false, false, _) => "needs a `value` or a `file`, and not both",
            (true, false, true) => "has a `column`, but no `file`",
            (false, true, false) => "needs the `column` of its `file`",
            _ if value && number.row.iter().next().is_some() => "has a `row`, but no `file`",
            _ if value && number.suspect.is_some() => "has a column `suspect`, but no `file`",
            _ => continue,
        };
        let at = at(None);
        checker.problem(&at, format!("`{}` {message}", at.join(".")), "", None);
    }
}

/// Whether `name` is swept; notes if not.
fn is_swept(scenario: &ScenarioRecord, path: &[&str], name: &str, checker: &mut Checker) -> bool {
    let sweep = &scenario.sweep;
    if let Some(setter) = sweep.setter(name) {
        let variant = sweep.names().get(setter).and_then(|swept| swept.get(0)).map(|first| first.to_string());
        let help = format!("name a variant: {setter} = \"{}\"", variant.unwrap_or_default());
        checker.problem(
            path,
            format!("`{name}` is set by the variants of `{setter}`"),
            "not swept itself",
            Some(&help),
        );
        return false;
    }
    checker.known(path, name, "sweep", sweep.names().names())
}

/// A claim that no sweep point meets would be passed over in silence.
fn points(scenario: &ScenarioRecord, claim: &ClaimRecord, index: &str, checker: &mut Checker) {
    let sweep = scenario.sweep.names();
    for (name, wanted) in claim.at.iter() {
        let path = ["claim", index, "at", name];
        if !is_swept(scenario, &path, name, checker) {
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
    if let Some(minus) = &operand.minus {
        checker.known(&at("minus"), minus, "policy", scenario.policy.iter().map(|policy| &*policy.name));
        if *minus == operand.policy {
            let message = format!("`{}` takes the policy off itself", at("minus").join("."));
            checker.problem(&at("minus"), message, "", Some("name the policy that it is compared with"));
        }
    }
    // the traffic of all names
    if let Some(traffic) = operand.traffic.as_ref().filter(|traffic| traffic.as_str() != "*") {
        let known: Vec<String> = scenario.traffic.iter().flat_map(TrafficRecord::reported).collect();
        checker.known(&at("traffic"), traffic, "traffic", known.iter().map(String::as_str));
    }
    let sweep = scenario.sweep.names();
    for (name, value) in operand.at.iter() {
        let path = [path, &["at", name]].concat();
        if is_swept(scenario, &path, name, checker) && sweep.get(name).is_some_and(|all| !all.contains(value)) {
            let message = format!("`sweep.{name}` does not take the value {value}");
            checker.problem(&path, message, "not in the sweep", Some("results are there only at points of the sweep"));
        }
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
