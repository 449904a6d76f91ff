//! When the flows or requests of a traffic start.

use headway_units::Span;

use crate::checker::Checker;
use crate::schema::{ArrivalRecord, ScenarioRecord};

/// Checks the time at which a traffic begins and the one at which it ends.
pub(super) fn times(
    scenario: &ScenarioRecord,
    name: &str,
    (start, stop): (Span, Option<Span>),
    index: &str,
    checker: &mut Checker,
) {
    let duration = scenario.duration;
    if start >= duration {
        let message = format!("traffic `{name}` never starts: the scenario's duration is {duration}");
        checker.problem(&["traffic", index, "start"], message, "", Some("start before `duration`"));
    }
    if let Some(stop) = stop
        && stop <= start
    {
        let message = format!("traffic `{name}` stops before it starts");
        let label = format!("it starts at {start}");
        checker.problem(&["traffic", index, "stop"], message, &label, None);
    }
}

/// Checks the arrivals of a traffic by themselves.
pub(super) fn arrival(
    scenario: &ScenarioRecord,
    name: &str,
    arrival: &ArrivalRecord,
    index: &str,
    checker: &mut Checker,
) {
    let duration = scenario.duration;
    let ArrivalRecord::Periodic(periodic) = arrival else { return };
    if periodic.jitter >= periodic.period {
        let message = format!("`traffic.{name}.arrival.jitter` is not shorter than the period, {}", periodic.period);
        checker.problem(&["traffic", index, "arrival", "jitter"], message, "", None);
    }
    if periodic.period > duration {
        let message = format!("`traffic.{name}.arrival.period` is longer than the duration, {duration}");
        checker.problem(&["traffic", index, "arrival", "period"], message, "", None);
    }
}
