//! Failures: what the file alone can tell. Names are looked up where the network is built.

use crate::checker::Checker;
use crate::schema::{CrashRecord, Direction, FailureRecord, ScenarioRecord};
use headway_language::OrOff;

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    for (index, failure) in scenario.failure.iter().enumerate() {
        let index = index.to_string();
        what(failure, &index, checker);
        if failure.at >= end {
            let message = format!("this failure comes at {}, after the end of the run", failure.at);
            let help = format!("the run ends at {end}, `duration` and `drain` together");
            checker.problem(&["failure", &index, "at"], message, "too late", Some(&help));
        }
        if let Some(until) = failure.until.filter(|&until| until <= failure.at) {
            let message = format!("this failure is over at {until}, before it begins at {}", failure.at);
            let help = "both times count from the start of the run; leave `until` out for a failure without end";
            checker.problem(&["failure", &index, "until"], message, "not later than `at`", Some(help));
        }
    }
}

/// Whether it says what goes down, once.
fn what(failure: &FailureRecord, index: &str, checker: &mut Checker) {
    let named =
        [("link", failure.link.is_some()), ("host", failure.host.is_some()), ("switch", failure.switch.is_some())];
    let mut named = named.iter().filter(|(_, is)| *is).map(|(key, _)| *key);
    match (named.next(), named.next()) {
        (None, _) => {
            let help = "say `link = [\"edge0\", \"core1\"]`, `host = \"left-host0\"` or `switch = \"core1\"`";
            checker.problem(&["failure", index], "this failure does not say what fails".to_owned(), "", Some(help));
        }
        (Some(first), Some(second)) => {
            let message = format!("`{first}` and `{second}` both say what fails");
            let help = "one [[failure]] for each; they may have the same times";
            checker.problem(&["failure", index, second], message, "one too many", Some(help));
        }
        (Some(_), None) => {}
    }
    if failure.crash.is_some() {
        let path = ["failure", index, "crash"];
        if failure.host.is_none() {
            let message = "`crash` is of a `host`: a relay".to_owned();
            checker.problem(&path, message, "", Some("name the relay with `host`"));
        }
        let whole = "a relay crashes as a whole";
        // A process takes no cable along, of which routing or hosts could learn.
        let up = "the cables stay up when the process of a relay crashes";
        let process = failure.crash == Some(CrashRecord::Process);
        for (key, ignored, message) in [
            ("interface", failure.interface.is_some(), whole),
            ("direction", failure.direction != Direction::Both, whole),
            ("reroute", process && failure.reroute != OrOff::Off, up),
            ("carrier", process && !failure.carrier, up),
        ] {
            if ignored && failure.host.is_some() {
                let help = format!("leave `{key}` out");
                checker.problem(&["failure", index, key], message.to_owned(), "", Some(&help));
            }
        }
    }
    if failure.interface.is_some() && failure.host.is_none() {
        let message = "`interface` is of a `host`".to_owned();
        checker.problem(&["failure", index, "interface"], message, "", Some("name the host, too"));
    }
    if failure.direction != Direction::Both && failure.switch.is_some() {
        let message = "a switch fails in both directions".to_owned();
        checker.problem(&["failure", index, "direction"], message, "", Some("leave it out, or name a `link`"));
    }
}
