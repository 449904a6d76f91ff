//! Priorities in classes, as the ports of real equipment have them.

use headway_fabric::{ClassSpec, Marks};
use headway_levers::lossless::{LosslessRecord, PauseBy};

use super::Wanted;
use crate::plan::{PlanError, lossless_classes, lossless_priorities};
use crate::schema::ScenarioRecord;

/// How many priorities there are.
const PRIORITIES: u8 = 8;

/// Priorities that share a part of the line, as every port has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its traffic class: its place among all. Strict ones come last, as the highest number goes first among them.
    pub number: u8,
    /// The priorities in it.
    pub priorities: Vec<u8>,
    /// It goes before all that are not.
    pub strict: bool,
    /// Its share of the line, %; 0 if it is strict.
    pub share: u32,
    /// The priorities of it whose frames are not to be lost.
    pub lossless: Vec<u8>,
    /// Where its frames are marked, if the policy says so.
    pub marks: Option<Marks>,
}

/// Priorities with a name, and how they share the line.
type Part = (String, Vec<u8>, ClassSpec);

/// The classes that the policy has; otherwise one for each priority of the traffic or `wanted`, with equal shares.
pub(super) fn classes(
    scenario: &ScenarioRecord,
    wanted: &Wanted,
    record: Option<&LosslessRecord>,
) -> Result<Vec<Class>, PlanError> {
    let place = wanted.policy.unwrap_or(0).to_string();
    let lossless = lossless(scenario, wanted, record, &place)?;
    let mut parts = match record.filter(|record| record.classes.iter().next().is_some()) {
        Some(record) => named(record, &["policy", &place, "lossless"])?,
        None => by_priority(scenario, &lossless),
    };
    parts.sort_by_key(|(_, priorities, own)| own.strict.then(|| priorities.iter().max().copied()));
    let weights: Vec<u32> = parts.iter().map(|(.., own)| if own.strict { 0 } else { own.share }).collect();
    let class = |(number, ((name, priorities, own), share)): (usize, (Part, u32))| Class {
        name,
        number: number as u8,
        lossless: priorities.iter().copied().filter(|own| lossless.contains(own)).collect(),
        priorities,
        strict: own.strict,
        share,
        marks: own.marks,
    };
    Ok(parts.into_iter().zip(shares(&weights)).enumerate().map(class).collect())
}

/// The priorities that are lossless: those of `wanted`, of the policy, or of the traffic.
fn lossless(
    scenario: &ScenarioRecord,
    wanted: &Wanted,
    record: Option<&LosslessRecord>,
    place: &str,
) -> Result<Vec<u8>, PlanError> {
    let all = if wanted.priorities.is_empty() {
        let Some(record) = record else {
            let fault = PlanError::new(&["policy", place], "nothing says which priorities are lossless");
            return Err(fault.help("give the policy `lossless = { priorities = [3] }`, or say --priority 3"));
        };
        let message = match record.pause {
            PauseBy::Pfc => None,
            PauseBy::Link => Some("PAUSE stops a whole link, and the settings are those of priority flow control"),
            PauseBy::Nothing => Some("nothing pauses, so nothing is lossless"),
        };
        if let Some(message) = message {
            let fault = PlanError::new(&["policy", place, "lossless", "pause"], message);
            return Err(fault.help("take pause = \"pfc\", or say --priority 3"));
        }
        lossless_priorities(scenario, record)
    } else {
        wanted.priorities.clone()
    };
    match all.iter().find(|&&own| own >= PRIORITIES) {
        Some(wrong) => Err(PlanError::new(&["policy"], format!("priorities are 0 to 7, and {wrong} is none"))),
        None => Ok(all),
    }
}

/// The classes of a policy, under their names.
fn named(record: &LosslessRecord, at: &[&str]) -> Result<Vec<Part>, PlanError> {
    let (specs, class_of) = lossless_classes(&record.classes, at)?;
    let names = record.classes.iter().map(|(name, _)| name).chain(["others"]);
    let part = |(number, (name, spec)): (usize, (&str, ClassSpec))| {
        let own = (0..PRIORITIES).filter(|&priority| usize::from(class_of[usize::from(priority)]) == number);
        (name.to_owned(), own.collect(), spec)
    };
    Ok(names.zip(specs).enumerate().map(part).collect())
}

/// A class for each priority that is used; all others are best effort, with priority 0 unless that is lossless.
fn by_priority(scenario: &ScenarioRecord, lossless: &[u8]) -> Vec<Part> {
    let traffic = scenario.traffic.iter().filter(|own| own.takes_part(scenario)).map(|own| own.priority);
    let mut used: Vec<u8> =
        traffic.chain(lossless.iter().copied()).filter(|&own| own > 0 || lossless.contains(&0)).collect();
    used.sort_unstable();
    used.dedup();
    let rest: Vec<u8> = (0..PRIORITIES).filter(|own| !used.contains(own)).collect();
    let equal = ClassSpec { strict: false, share: 1, marks: None };
    let best_effort = (!rest.is_empty()).then(|| ("best effort".to_owned(), rest, equal));
    let own = used.into_iter().map(|own| (format!("priority {own}"), vec![own], equal));
    best_effort.into_iter().chain(own).collect()
}

/// Parts of 100 in proportion to `weights`, which add up to 100: what rounding leaves goes to the first.
fn shares(weights: &[u32]) -> Vec<u32> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum::<u64>().max(1);
    let mut all: Vec<u32> = weights.iter().map(|&weight| (u64::from(weight) * 100 / sum) as u32).collect();
    let rest = 100_u32.saturating_sub(all.iter().sum());
    if let Some(place) = weights.iter().position(|&weight| weight > 0) {
        all[place] += rest;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole() {
        assert_eq!(shares(&[1, 1, 1]), [34, 33, 33]);
        assert_eq!(shares(&[0, 3, 1]), [0, 75, 25]);
        assert_eq!(shares(&[]), Vec::<u32>::new());
    }
}
