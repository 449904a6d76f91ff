//! Conditions on the values of a scenario, as far as the file alone can tell.
//!
//! Names of congestion controls, metrics and tables of sizes are known elsewhere and checked there,
//! by [`crate::Document::problem_at`].

mod arrivals;
mod claims;
mod datagrams;
mod event_builder;
mod failures;
mod flows;
mod http;
mod lossless;
mod messages;
mod metering;
mod network;
mod pacing;
mod quick;
mod relay;
mod roce;
mod tree;
mod views;

pub(crate) use datagrams::IP_AND_UDP;

use crate::checker::Checker;
use crate::schema::ScenarioRecord;

/// Checks everything.
pub(crate) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    if scenario.about.contains('\n') {
        checker.problem(&["about"], "`about` must be one line".to_owned(), "", None);
    }
    network::check(scenario, checker);
    views::check(scenario, checker);
    flows::check(scenario, checker);
    pacing::check(scenario, checker);
    lossless::check(scenario, checker);
    metering::check(scenario, checker);
    failures::check(scenario, checker);
    relay::check(scenario, checker);
    roce::check(scenario, checker);
    claims::check(scenario, checker);
    quick::check(scenario, checker);
}
