//! Readers and builders of events.

use super::arrivals::{arrival, times};
use super::messages::{TOLD_BEFOREHAND, drawn, group};
use crate::checker::Checker;
use crate::schema::{ArrivalRecord, Connections, EventBuilderRecord, Overflow, Protocol, ScenarioRecord};

pub(super) fn check(
    scenario: &ScenarioRecord,
    name: &str,
    own: &EventBuilderRecord,
    index: &str,
    checker: &mut Checker,
) {
    let path = |key: &'static str| ["traffic", index, key];
    let what = format!("event building, which `{name}` is");
    group(scenario, (&what, TOLD_BEFOREHAND), &own.readers, &path("readers"), checker);
    if own.readers == own.builders {
        let message = format!("`{}` reads and builds the events of `{name}`", own.builders);
        checker.problem(&path("builders"), message, "the readers' group", Some("builders need a group of their own"));
    } else {
        group(scenario, (&what, TOLD_BEFOREHAND), &own.builders, &path("builders"), checker);
    }
    drawn(&format!("traffic.{name}.fragment"), &own.fragment.0, &path("fragment"), checker);
    if own.overflow == Overflow::Throttle && own.buffer.is_none() {
        let message =
            format!("`traffic.{name}.overflow` holds triggers back where a buffer is full, and there is none");
        checker.problem(&path("overflow"), message, "", Some("say how much a reader can keep with `buffer`"));
    }
    if own.buffer.is_some() && matches!(own.arrival, ArrivalRecord::ClosedLoop(_)) {
        let message = format!(
            "events of `{name}` come one at a time, so its readers keep nothing when the next one is triggered"
        );
        let help = "leave `buffer` out, or take arrivals that do not wait for events";
        checker.problem(&path("buffer"), message, "without effect", Some(help));
    }
    times(scenario, name, (own.start, own.stop), index, checker);
    arrival(scenario, name, &own.arrival, index, checker);
    if let ArrivalRecord::Load(_) = own.arrival {
        let message = format!("traffic `{name}` is of events, which cannot make up a load");
        let help = "use arrival = { kind = \"periodic\", … }: the load of a builder's port follows from it";
        checker.problem(&path("arrival"), message, "", Some(help));
    }
    if own.connections == Connections::Persistent {
        plain_tcp(scenario, name, checker);
    }
}

/// Persistent connections go both ways, which those of plain TCP do.
fn plain_tcp(scenario: &ScenarioRecord, name: &str, checker: &mut Checker) {
    let help = "take kind = \"tcp\", or connections = \"per-fragment\" for the traffic";
    for (index, policy) in scenario.policy.iter().enumerate() {
        let index = index.to_string();
        let own = policy.traffic.get(name);
        if !matches!(own.unwrap_or(&policy.transport).protocol, Protocol::Tcp(_)) {
            let message =
                format!("policy `{}` has no plain TCP for `{name}`, whose connections are persistent", policy.name);
            let at: &[&str] = if own.is_some() { &["traffic", name] } else { &["transport"] };
            checker.problem(&[&["policy", &index], at].concat(), message, "carries data one way", Some(help));
        } else if policy.replicate.is_some() {
            let message =
                format!("policy `{}` sends copies, and the connections of `{name}` are persistent", policy.name);
            let help = "leave `replicate` out, or take connections = \"per-fragment\" for the traffic";
            checker.problem(&["policy", &index, "replicate"], message, "", Some(help));
        }
    }
}
