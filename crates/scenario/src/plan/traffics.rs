//! All traffic of a sweep point on its network.

use std::path::Path;
use std::sync::Arc;

use headway_engine::Streams;
use headway_transport::FlowStart;
use headway_units::Bytes;

use super::error::PlanError;
use super::event_builder::EventBuilding;
use super::given::Given;
use super::network::Network;
use super::pooled::MessageStarts;
use super::traffic::FlowsPlan;
use super::tree::Tree;
use super::web::Web;
use super::workload::{Part, Workload};
use crate::schema::{ScenarioRecord, TrafficKind};

/// The traffic of a sweep point: the same under every policy.
#[derive(Debug, Clone)]
pub struct TrafficPlan {
    /// Traffic that is flows.
    pub flows: Vec<FlowsPlan>,
    pub(super) trees: Vec<Tree>,
    pub(super) event_builders: Vec<EventBuilding>,
    pub(super) webs: Vec<Web>,
    /// Of all traffic, commands included, and behind them those by which the flows of trees, event building and web clients,
    /// and of traffic that tells sizes apart, are reported.
    names: Vec<Arc<str>>,
    /// By traffic: flows of at most this size are reported by the name at this place, others by the one after it.
    classes: Vec<Option<(Bytes, usize)>>,
    /// Priorities of flows by their traffic's number; 0 of all others.
    pub priorities: Vec<(u16, u8)>,
    /// Paths that flows are given.
    pub given: Given,
}

impl TrafficPlan {
    /// The traffic of `scenario` that takes part, on `network`; files it names are looked for in `folder`.
    ///
    /// # Errors
    /// If there are no such hosts, paths, files or sizes.
    pub fn build(scenario: &ScenarioRecord, network: &Network, folder: &Path) -> Result<TrafficPlan, PlanError> {
        let all = || scenario.traffic.iter().enumerate().filter(|(_, one)| one.takes_part(scenario));
        let flows = all().filter_map(|(index, one)| match &one.kind {
            TrafficKind::Flows(own) => Some(FlowsPlan::build(&one.name, own, index, scenario, network, folder)),
            TrafficKind::Replay(own) => Some(FlowsPlan::replay(&one.name, own, index, scenario, network, folder)),
            _ => None,
        });
        let mut flows = flows.collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<Arc<str>> =
            scenario.traffic.iter().map(|traffic| Arc::from(traffic.name.as_str())).collect();
        let (mut trees, mut event_builders, mut webs) = (Vec::new(), Vec::new(), Vec::new());
        let mut classes = vec![None; scenario.traffic.len()];
        for (index, one) in scenario.traffic.iter().enumerate() {
            let short = one.short();
            if let Some(record) = one.tree() {
                if one.takes_part(scenario) {
                    trees.push(Tree::build(&one.name, record, (index, names.len()), scenario, network, folder)?);
                }
            } else if let Some(record) = one.event_builder() {
                if one.takes_part(scenario) {
                    let place = (index, names.len());
                    event_builders.push(EventBuilding::build(&one.name, record, place, scenario, network, folder)?);
                }
            } else if let Some(record) = one.http() {
                if one.takes_part(scenario) {
                    webs.push(Web::build(&one.name, record, (index, names.len()), scenario, network, folder)?);
                }
            } else if !one.is_reported_apart() {
                continue;
            }
            let reported = one.reported();
            if let Some(short) = short {
                classes[index] = Some((short, names.len()));
            }
            if let Some(at) = flows.iter().position(|own| usize::from(own.index) == index) {
                // connections are the last
                let number = names.len() + reported.len() - 1;
                let own = flows.remove(at).pooled(one.pool(), number, one.begins())?;
                flows.insert(at, own);
            }
            names.extend(reported.into_iter().map(Arc::from));
        }
        let given = Given::build(scenario, network, &flows)?;
        let mut plan =
            TrafficPlan { flows, trees, event_builders, webs, names, classes, priorities: Vec::new(), given };
        let priorities = all().filter(|(_, one)| one.priority > 0);
        plan.priorities =
            priorities.flat_map(|(at, one)| plan.numbers(at).into_iter().map(|n| (n, one.priority))).collect();
        Ok(plan)
    }

    /// The numbers that flows of the traffic at `place` of the file have.
    pub(super) fn numbers(&self, place: usize) -> Vec<u16> {
        let trees = self.trees.iter().filter(|tree| usize::from(tree.index) == place);
        let events = self.event_builders.iter().filter(|own| usize::from(own.index) == place);
        let webs = self.webs.iter().filter(|web| usize::from(web.index) == place);
        let others = trees.flat_map(Tree::numbers).chain(events.flat_map(EventBuilding::numbers));
        let pools = self.flows.iter().filter(|flows| usize::from(flows.index) == place);
        let connections = pools.filter_map(|flows| Some(flows.pool.as_ref()?.number));
        let others = others.chain(webs.flat_map(Web::numbers)).chain(connections);
        std::iter::once(place as u16).chain(others).collect()
    }

    /// The names by which flows are reported, by the places that [`TrafficPlan::class`] gives.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The place of the name by which a flow is reported.
    pub fn class(&self, start: &FlowStart) -> usize {
        let traffic = usize::from(start.traffic);
        match self.classes.get(traffic) {
            Some(&Some((short, name))) => name + usize::from(start.size.is_none_or(|size| size > short)),
            _ => traffic,
        }
    }

    /// The flows that kernel hosts send, for which `kernels` says so by the traffic's place, in order of time.
    pub fn of_kernels<'a>(&'a self, streams: Streams, kernels: &dyn Fn(u16) -> bool) -> Workload<'a> {
        let flows = self.flows.iter().filter(|flows| kernels(flows.index));
        Workload::new(flows.map(|flows| Part::Flows(flows.starts(streams))))
    }

    /// The flows that modelled hosts send: all others.
    pub fn of_models<'a>(&'a self, streams: Streams, kernels: &dyn Fn(u16) -> bool) -> Workload<'a> {
        let flows = self.flows.iter().filter(|flows| !kernels(flows.index));
        let flows = flows.map(|flows| match &flows.pool {
            Some(pool) => Part::Messages(Box::new(MessageStarts::new(flows.starts(streams), flows, pool))),
            None => Part::Flows(flows.starts(streams)),
        });
        let trees = self.trees.iter().map(|tree| Part::Tree(Box::new(tree.starts(streams))));
        let events = self.event_builders.iter().map(|own| Part::Events(Box::new(own.starts(streams))));
        let webs = self.webs.iter().map(|web| Part::Web(Box::new(web.starts(streams))));
        Workload::new(flows.chain(trees).chain(events).chain(webs))
    }
}
