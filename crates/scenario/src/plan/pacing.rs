//! Cards that pace.

use std::collections::BTreeSet;

use headway_control::pacing::{FASTEST, Limit};
use headway_fabric::NodeId;
use headway_levers::pacing::{By, ModelledPacingRecord, PaceRate, RoundTripOf};
use headway_transport::{CardClass, CardModel, FlowRate, Release, RoundTrip};

use super::error::PlanError;
use super::network::Network;
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
    Ok(hosts.into_iter().map(|host| (host, model.clone())).collect())
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
