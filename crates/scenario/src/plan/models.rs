//! Modelled hosts under a policy.

use std::sync::Arc;

use headway_control::own::Registry;
use headway_fabric::{LosslessSpec, NodeId};
use headway_transport::{
    CardModel, Crash, Datagram, HostModel, Measure, Profile, QcnModel, Relayed, Roce, ServerModel, Transport,
};

use super::error::PlanError;
use super::metering::MeteringPlan;
use super::network::Network;
use super::relay::RelayPlan;
use super::traffic::FlowsPlan;
use super::traffics::TrafficPlan;
use super::{failures, host, lossless, measure, own, pacing, profile, qcn, relay, roce};
use crate::check::IP_AND_UDP;
use crate::schema::{DatagramsRecord, ScenarioRecord};
use headway_units::Span;

/// How modelled hosts are run under one policy.
#[derive(Debug, Clone)]
pub struct ModelPlan {
    /// How connections are set up, by the traffic's place. Of flows that kernel hosts send they say how large packets
    /// are, which gives the times on an idle network.
    pub profiles: Vec<Profile>,
    /// Queue pairs that carry flows, by the traffic's place; `None` where `profiles` does.
    pub roce: Vec<Option<Roce>>,
    /// Datagrams that flows are, by the traffic's place, whatever the policy is.
    pub datagrams: Vec<Option<Datagram>>,
    /// Relays that flows go over, if the policy has any.
    pub relays: Option<RelayPlan>,
    /// Crashes of theirs.
    pub crashes: Vec<Crash>,
    /// Hosts that take time.
    pub hosts: Vec<(NodeId, HostModel)>,
    /// Hosts each of whose packets takes a random time before it is on the line, and the longest.
    pub processing: Vec<(NodeId, Span)>,
    /// Hosts that serve.
    pub servers: Vec<(NodeId, ServerModel)>,
    /// Hosts with cards that pace.
    pub cards: Vec<(NodeId, CardModel)>,
    /// Ports with priorities and pauses, if the policy has them.
    pub lossless: Option<LosslessSpec>,
    /// Congestion points of switches, if the policy has them.
    pub qcn: Option<QcnModel>,
    /// Limits on ports of switches, if the policy has any.
    pub metering: Option<MeteringPlan>,
    /// The quantities that are recorded over time.
    pub measure: Measure,
    /// Whether it is measured how long packets wait.
    pub waits: bool,
}

impl ModelPlan {
    /// The modelled hosts of `scenario` under policy number `policy`; `kernels` says by a traffic's place whether kernel
    /// hosts send it, `registry` has the controls and judges that the program gives.
    ///
    /// # Errors
    /// If a transport cannot be had like that, or not on this network.
    pub fn build(
        scenario: &ScenarioRecord,
        policy: usize,
        network: &Network,
        traffic: &TrafficPlan,
        registry: &Registry,
        kernels: &dyn Fn(u16) -> bool,
    ) -> Result<ModelPlan, PlanError> {
        let record = &scenario.policy[policy];
        let modelled = |place: usize| scenario.traffic[place].command().is_none() && !kernels(place as u16);
        let profiles = profile::build(scenario, record, policy, registry, modelled)?;
        let datagrams: Vec<_> = scenario.traffic.iter().map(|one| one.datagrams().map(datagram)).collect();
        for flows in &traffic.flows {
            if datagrams[usize::from(flows.index)].is_some() {
                continue;
            }
            flows.check_interface(&profiles[usize::from(flows.index)], record, policy)?;
            flows.check_pool(&profiles[usize::from(flows.index)], record, policy)?;
        }
        let connected = |flows: &&FlowsPlan| !kernels(flows.index) && datagrams[usize::from(flows.index)].is_none();
        for flows in traffic.flows.iter().filter(connected) {
            let profile = &profiles[usize::from(flows.index)];
            flows.check_lanes(profile, network, &policy.to_string())?;
            flows.check_timeouts(profile, network, record, policy)?;
        }
        for tree in &traffic.trees {
            let profile = &profiles[usize::from(tree.index)];
            tree.check_interface(profile, network, record, policy)?;
            tree.check_lanes(profile, network, &policy.to_string())?;
        }
        for own in &traffic.event_builders {
            own.check_transport(&profiles[usize::from(own.index)], network, record, policy)?;
        }
        for web in &traffic.webs {
            web.check(&profiles[usize::from(web.index)], network, record, policy)?;
        }
        let measure = measure::build(scenario, network)?;
        let lossless = lossless::spec(scenario, policy, network)?;
        let qcn = qcn::model(scenario, policy, lossless.as_ref());
        let mut cards = pacing::cards(scenario, policy, network, traffic)?;
        if qcn.is_some() {
            qcn::add_cards(scenario, policy, network, &mut cards)?;
        }
        let metering = MeteringPlan::build(scenario, policy, network)?;
        let relays = relay::build(scenario, (record, policy), network, traffic, (&profiles, registry), kernels)?;
        for flows in traffic.flows.iter().filter(connected) {
            let place = usize::from(flows.index);
            let relayed = relays.as_ref().is_some_and(|own| own.traffic[place]);
            let profile = (&profiles[place], relayed);
            traffic.given.check_transport(flows, profile, (record, policy), network)?;
        }
        let crashes = failures::crashes(scenario, network)?;
        let ours = |crash: &Crash| relays.as_ref().is_some_and(|own| own.relay.hosts.contains(&crash.host));
        let crashes = crashes.into_iter().filter(ours).collect();
        let roce = roce::build(scenario, (record, policy), network, lossless.as_ref())?;
        let (hosts, servers) = (host::models(scenario, network)?, host::servers(scenario, network));
        let processing = host::processing(scenario, record, network)?;
        Ok(ModelPlan {
            profiles,
            roce,
            datagrams,
            relays,
            crashes,
            hosts,
            processing,
            servers,
            cards,
            lossless,
            qcn,
            metering,
            measure,
            waits: scenario.measure.waits,
        })
    }

    /// The congestion controls and judges of the program that it has, in words, in order.
    pub fn own(&self) -> Vec<String> {
        let sides = self.relays.iter().flat_map(|own| [&own.relay.access, &own.relay.long]);
        own::all(self.profiles.iter().chain(sides))
    }

    /// How flows are carried, by the traffic's place.
    pub fn transports(&self) -> Vec<Transport> {
        let each = |(place, profile): (usize, &Profile)| match &self.relays {
            Some(relays) if relays.traffic[place] => {
                Relayed { hosts: profile.clone(), relay: Arc::clone(&relays.relay) }.into()
            }
            _ => match (self.datagrams[place], self.roce[place]) {
                (Some(datagram), _) => datagram.into(),
                (None, Some(roce)) => roce.into(),
                (None, None) => profile.clone().into(),
            },
        };
        self.profiles.iter().enumerate().map(each).collect()
    }
}

fn datagram(record: &DatagramsRecord) -> Datagram {
    // Ethernet header and checksum
    let overhead = IP_AND_UDP as u32 + 14 + 4;
    Datagram { rate: record.rate, payload: record.payload.get() as u32, overhead }
}
