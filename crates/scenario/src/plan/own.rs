//! Congestion controls and judges that the program gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use headway_control::congestion::{AnyController, Own};
use headway_control::lanes::{self, Judge};
use headway_control::own::{Registry, name_of};
use headway_language::suggest_nearest;
use headway_levers::lanes::{JudgeRecord, Sampling};
use headway_transport::Profile;

use super::error::PlanError;
use crate::schema::TransportRecord;

/// Where the interface for programs is described.
const GUIDE: &str = "it is given by a program that calls Headway as a library (docs/own-policies.md)";

/// The program's control that `control` names, if it names one; the transport stands at `at`.
pub(super) fn control(
    control: &str,
    transport: &TransportRecord,
    registry: &Registry,
    at: &[&str],
) -> Result<Option<AnyController>, PlanError> {
    let Some(name) = name_of(control) else { return Ok(None) };
    let path = [at, &["control"]].concat();
    let Some(kind) = registry.control(name) else {
        return Err(missing(&path, "congestion control", name, registry.controls()));
    };
    let parameters = transport.control_parameters.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let own = Own::new(name, kind, parameters).map_err(|reason| {
        let first = transport.control_parameters.iter().next();
        let key = if first.is_some() { "control-parameters" } else { "control" };
        PlanError::new(&[at, &[key]].concat(), format!("the program's congestion control `{name}`: {reason}"))
    })?;
    Ok(Some(AnyController::Own(Box::new(own))))
}

/// The judge of `record`; the transport stands at `at`.
pub(super) fn judge(record: &JudgeRecord, registry: &Registry, at: &[&str]) -> Result<Judge, PlanError> {
    let Some(own) = record.own() else { return Ok(record.judge(Sampling::Acks)) };
    let name: &str = &own.name;
    let path = [at, &["lanes", "judge"]].concat();
    let Some(kind) = registry.judge(name) else {
        return Err(missing(&[&path[..], &["name"]].concat(), "judge", name, registry.judges()));
    };
    let parameters: Vec<_> = own.parameters.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let key = if parameters.is_empty() { "name" } else { "parameters" };
    let made = lanes::Own::new(name, &Arc::clone(kind), parameters);
    made.map(Judge::from).map_err(|reason| {
        PlanError::new(&[&path[..], &[key]].concat(), format!("the program's judge `{name}`: {reason}"))
    })
}

/// What `profile` has of the program, in words.
fn words(profile: &Profile) -> Vec<String> {
    let control = (profile.control.own()).map(|own| format!("congestion control `{}`", own.given_name()));
    let lanes = profile.multipath.as_ref().and_then(|multipath| multipath.lanes.as_ref());
    let judge = lanes.and_then(|plan| match &plan.judge {
        Judge::Own(own) => Some(format!("judge `{}`", own.given_name())),
        _ => None,
    });
    control.into_iter().chain(judge).collect()
}

/// The controls and judges of the program that connections of these profiles have, in words, in order.
pub(super) fn all<'a>(profiles: impl Iterator<Item = &'a Profile>) -> Vec<String> {
    profiles.flat_map(words).collect::<BTreeSet<String>>().into_iter().collect()
}

/// The program has no `what` called `name`, or there is no program.
fn missing<'a>(path: &[&str], what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> PlanError {
    let known: Vec<&str> = known.collect();
    // a name of the file may be as long as it likes
    let shown: String = name.chars().take(80).collect();
    if known.is_empty() {
        let message = format!("the {what} `{shown}` is the program's, and no program gives one here");
        return PlanError::new(path, message)
            .help(format!("{GUIDE}; the command `headway` has the built-in ones alone"));
    }
    let fault = PlanError::new(path, format!("the program gives no {what} `{shown}`; it has {}", known.join(", ")));
    match suggest_nearest(&shown, known.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault,
    }
}
