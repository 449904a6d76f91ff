//! What sending hosts know of their lanes over all their connections: where a connection begins, and what it teaches.

use headway_control::lanes::{HostLanes, Lanes, Peer, Start};
use headway_units::Time;

use super::Tcp;
use super::connection::Laned;
use super::profile::{HistoryPlan, LanePlan, Multipath, Profile};
use crate::environment::Environment;
use crate::flows::FlowStart;
use crate::own::own_flow;

/// Who a flow goes to; its traffic stands for the destination port.
fn peer(start: &FlowStart) -> Peer {
    Peer { host: u64::from(start.destination.0), service: start.traffic }
}

fn plan(multipath: Option<&Multipath>) -> Option<&LanePlan> {
    multipath.and_then(|multipath| multipath.lanes.as_ref())
}

/// What the hosts of a profile decide by where a connection begins.
fn rule(profile: &Profile) -> Option<(usize, Start, Option<&HistoryPlan>)> {
    plan(profile.multipath.as_ref()).map(|plan| (plan.short, plan.start, plan.history.as_ref()))
}

/// By profile, the first one with the same rule: connections of both share what their host knows. Those of other
/// profiles, where traffics of one host have lanes of their own, do not.
pub(super) fn rules(profiles: &[Profile]) -> Vec<u16> {
    let first = |own: &Profile| profiles.iter().position(|one| rule(one) == rule(own)).expect("one is itself");
    profiles.iter().map(|own| first(own) as u16).collect()
}

impl Tcp {
    /// The interface on which copy `copy` of a flow begins, and its lanes, if it has any.
    pub(super) fn begin_lanes(
        &mut self,
        now: Time,
        (start, profile): (&FlowStart, u16),
        copy: u8,
        env: &Environment,
    ) -> (u8, Option<Box<Laned>>) {
        let mss = self.profiles[usize::from(profile)].mss;
        let Some(plan) = plan(self.profiles[usize::from(profile)].multipath.as_ref()) else { return (0, None) };
        let judge = plan.judge.for_flow(now, || own_flow(env.net.seed, start.id, (copy, 0), mss));
        let mut lanes = Lanes::new(judge, now).expect("the scenario's check validates the judge");
        lanes = lanes.returning(plan.back).patient(plan.patience).taking(plan.leftovers);
        let mut first = 0;
        if plan.history.is_some() || plan.start != Start::First {
            let history = plan.history.as_ref();
            let host = (start.source.0, self.lane_rules[usize::from(profile)]);
            let host = self.host_lanes.entry(host).or_insert_with(|| {
                let share = history.and_then(|history| history.long_share);
                // as the last bits of an address: neighbours differ
                let turn = u64::from(start.source.0);
                HostLanes::new(plan.short, plan.start, history.map(|history| history.empty.clone()), share)
                    .from_turn(turn)
            });
            let interfaces = [start.source, start.destination].map(|host| env.graph.interfaces(host).len());
            let hash = self.ports.hash(start.id, copy, 0);
            let begin = host.begin(now, peer(start), interfaces[0].min(interfaces[1]), hash);
            first = begin.lane as u8;
            if begin.long {
                lanes = lanes.long_from_the_start();
            }
        }
        (first, Some(Box::new(Laned::new(lanes, plan))))
    }

    /// Takes in what an acknowledgement on `subflow` says of its lane.
    #[inline(never)]
    pub(super) fn observe_lane(
        &mut self,
        now: Time,
        subflow: u32,
        established: bool,
        sampled: bool,
        env: &Environment,
    ) {
        let sender = &self.senders[subflow as usize];
        let connection = &mut self.connections[sender.connection as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let Some(plan) = plan(profile.multipath.as_ref()) else { return };
        let start = &env.flows[connection.flow].start;
        let host = (start.source.0, self.lane_rules[usize::from(connection.profile)]);
        let mut base = None;
        if let (Some(kept), Some(laned)) = (&plan.history, &mut connection.lanes)
            && let Some(history) = self.host_lanes.get_mut(&host).and_then(HostLanes::history)
        {
            if sampled && let Some(srtt) = sender.rtt.srtt() {
                let lane = laned.interface[connection.subflows.position(subflow)];
                base = history.measured(now, u64::from(start.destination.0), usize::from(lane), srtt);
            }
            let long = connection.una >= kept.long.get();
            if !laned.reported && (long || connection.una == connection.total) {
                laned.reported = true;
                history.ended(now, peer(start), long);
            }
        }
        if established {
            connection.add_lane(now, subflow, plan, &mut self.senders);
        }
        connection.observe_lane(now, subflow, sampled, base, &mut self.senders, profile);
    }

    /// `subflow` has timed out.
    #[inline(never)]
    pub(super) fn remember_failure(&mut self, now: Time, subflow: u32, env: &Environment) {
        let connection = &self.connections[self.senders[subflow as usize].connection as usize];
        let start = &env.flows[connection.flow].start;
        let host = (start.source.0, self.lane_rules[usize::from(connection.profile)]);
        if let Some(laned) = &connection.lanes
            && let Some(history) = self.host_lanes.get_mut(&host).and_then(HostLanes::history)
        {
            let lane = laned.interface[connection.subflows.position(subflow)];
            history.failed(now, u64::from(start.destination.0), usize::from(lane));
        }
    }
}
