//! Cards that pace.

use std::collections::BTreeSet;

use headway_control::pacing::{FASTEST, Limit};
use headway_fabric::NodeId;
use headway_levers::pacing::{By, ModelledPacingRecord, PaceRate, RoundTripOf};
use headway_transport::{CardClass, CardModel, FlowRate, Release, RoundTrip};
use headway_units::Rate;

use super::error::PlanError;
use super::network::Network;
use super::traffic::FlowsPlan;
use super::traffics::TrafficPlan;
use crate::schema::ScenarioRecord;

/// The hosts that have a card under policy number `policy`.
pub(super) fn cards(
    scenario: &ScenarioRecord,
    policy: usize,
    network: &Network,
    traffic: &TrafficPlan,
) -> Result<Vec<(NodeId, CardModel)>, PlanError> {
    let Some(record) = &scenario.policy[policy].pacing else { return Ok(Vec::new()) };
    let model = model(record, scenario, traffic);
    let graph = &network.built.graph;
    let hosts: BTreeSet<NodeId> = match &record.hosts {
        Some(groups) => groups.iter().flat_map(|group| network.group(group).iter().copied()).collect(),
        None => graph.hosts().collect(),
    };
    for &host in &hosts {
        let fastest = graph.interfaces(host).iter().map(|&link| graph.link(link).wire.rate).max();
        if let Some(rate) = fastest.filter(|&rate| rate > FASTEST) {
            let message = format!("`{}` has a link of {rate}, and cards pace up to {FASTEST}", network.name(host));
            return Err(PlanError::new(&["policy", &policy.to_string(), "pacing"], message));
        }
    }
    let number = policy.to_string();
    let at = ["policy", &number, "pacing"];
    let links = hosts.iter().flat_map(|&host| graph.interfaces(host)).map(|&link| graph.link(link).wire.rate);
    if let Some(fastest) = links.max() {
        check_rates(record, fastest, &at)?;
    }
    if scenario.policy[policy].relay.is_none() {
        check_classes(record, scenario, &hosts, traffic, &at)?;
    }
    Ok(hosts.into_iter().map(|host| (host, model.clone())).collect())
}

/// Rates above the fastest link of all hosts with cards would never hold anything back.
fn check_rates(record: &ModelledPacingRecord, fastest: Rate, at: &[&str]) -> Result<(), PlanError> {
    let fixed = |rate| if let PaceRate::Static(rate) = rate { Some(rate) } else { None };
    let common = &record.common;
    let mut rates = vec![
        (vec!["rate"], fixed(common.rate)),
        (vec!["limit"], common.limit),
        (vec!["interface-limit"], common.interface_limit),
    ];
    for (name, class) in record.classes.iter() {
        rates.push((vec!["classes", name, "rate"], class.rate.and_then(fixed)));
        rates.push((vec!["classes", name, "limit"], class.limit));
    }
    for (key, rate) in rates {
        if let Some(rate) = rate.filter(|&rate| rate > fastest) {
            let message = format!("{rate} is more than any link of a host with such a card has ({fastest})");
            return Err(PlanError::new(&[at, &key].concat(), message).help("it would never hold anything back"));
        }
    }
    Ok(())
}

/// Flows of a class pass a card where they are sent. (With relays they are sent by those as well.)
fn check_classes(
    record: &ModelledPacingRecord,
    scenario: &ScenarioRecord,
    hosts: &BTreeSet<NodeId>,
    traffic: &TrafficPlan,
    at: &[&str],
) -> Result<(), PlanError> {
    for (class, own) in record.classes.iter() {
        for name in own.traffic(class) {
            let of = |flows: &&FlowsPlan| scenario.traffic[usize::from(flows.index)].name.as_str() == name;
            let Some(flows) = traffic.flows.iter().find(of) else { continue };
            if !flows.sources.iter().any(|source| hosts.contains(source)) {
                let message =
                    format!("no host that sends `{name}` has such a card, so class `{class}` would do nothing");
                let fault = PlanError::new(&[at, &["classes", class]].concat(), message);
                return Err(fault.help("`hosts` names the groups that have cards: add those that send it"));
            }
        }
    }
    Ok(())
}

/// The card that `record`, which has been checked, describes.
fn model(record: &ModelledPacingRecord, scenario: &ScenarioRecord, traffic: &TrafficPlan) -> CardModel {
    let common = &record.common;
    let burst = common.burst.unwrap_or(1);
    let rate = |rate: PaceRate| match rate {
        PaceRate::None => FlowRate::Unpaced,
        PaceRate::Static(rate) => FlowRate::Static(rate),
        PaceRate::Dynamic => FlowRate::Dynamic {
            limit: common.limit,
            round_trip: match common.round_trip.unwrap_or(RoundTripOf::Smoothed) {
                RoundTripOf::Smoothed => RoundTrip::Smoothed,
                RoundTripOf::Least => RoundTrip::Least,
            },
        },
    };
    let place = |name: &str| scenario.traffic.iter().position(|traffic| traffic.name.as_str() == name);
    let classes = record.classes.iter().map(|(name, class)| CardClass {
        traffics: class.traffic(name).into_iter().filter_map(place).flat_map(|at| traffic.numbers(at)).collect(),
        limit: class.limit.map(|rate| Limit { rate, burst }),
        share: class.share,
        rate: class.rate.map(rate),
    });
    CardModel {
        release: match record.by {
            By::Gap => Release::Gap,
            By::GapFrames => Release::GapFrames,
            By::Timer => Release::Timer(record.granularity.expect("checked when it was read")),
        },
        rate: rate(common.rate),
        burst: common.bursts(),
        limit: common.interface_limit.map(|rate| Limit { rate, burst }),
        classes: classes.collect(),
        queue: record.packets().expect("checked when it was read"),
        mtu: scenario.topology.mtu.get() as u32,
    }
}
