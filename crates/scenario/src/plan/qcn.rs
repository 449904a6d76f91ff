//! QCN: congestion points of switches, and cards that listen to them.

use std::collections::BTreeSet;

use headway_control::pacing::{Burst, FASTEST};
use headway_fabric::{LosslessSpec, NodeId};
use headway_transport::{CardModel, FlowRate, QcnModel, Release};
use headway_units::Span;

use super::error::PlanError;
use super::network::Network;
use crate::schema::ScenarioRecord;

/// Packets that wait in a card at an interface at most, as those of cards that pace.
const QUEUE: u32 = 10_000;

/// QCN under policy number `policy`, whose ports are `lossless`, if it has any.
pub(super) fn model(scenario: &ScenarioRecord, policy: usize, lossless: Option<&LosslessSpec>) -> Option<QcnModel> {
    let record = scenario.policy[policy].lossless.as_ref()?.qcn.as_ref()?;
    let own = record.priorities.as_ref().map(|own| own.iter().fold(0, |all, priority| all | 1 << priority));
    Some(QcnModel {
        point: record.point(),
        reaction: record.reaction(),
        priorities: own.or(lossless.map(|spec| spec.lossless)).unwrap_or(u8::MAX),
        feedback_priority: record.feedback_priority,
    })
}

/// Gives hosts without a card, which `cards` does not have, one that slows down what QCN says and nothing else. (Queue pairs
/// of RoCE have cards of their own.)
pub(super) fn add_cards(
    scenario: &ScenarioRecord,
    policy: usize,
    network: &Network,
    cards: &mut Vec<(NodeId, CardModel)>,
) -> Result<(), PlanError> {
    let graph = &network.built.graph;
    let with: BTreeSet<NodeId> = cards.iter().map(|(host, _)| *host).collect();
    for host in graph.hosts().filter(|host| !with.contains(host)) {
        let fastest = graph.interfaces(host).iter().map(|&link| graph.link(link).wire.rate).max();
        if let Some(rate) = fastest.filter(|&rate| rate > FASTEST) {
            let message = format!("`{}` has a link of {rate}, and cards pace up to {FASTEST}", network.name(host));
            return Err(PlanError::new(&["policy", &policy.to_string(), "lossless", "qcn"], message));
        }
        let model = CardModel {
            // a limiter of its own for each flow, as exact as the line
            release: Release::Timer(Span::from_nanos(1)),
            rate: FlowRate::Unpaced,
            burst: Burst::Packets(1),
            limit: None,
            classes: Vec::new(),
            queue: QUEUE,
            mtu: scenario.topology.mtu.get() as u32,
        };
        cards.push((host, model));
    }
    Ok(())
}
