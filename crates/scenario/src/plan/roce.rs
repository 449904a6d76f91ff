//! Queue pairs of RoCE.

use headway_control::congestion::AnyController;
use headway_language::{Limit, OrOff};
use headway_transport::{self as transport, Profile, Roce};

use super::error::PlanError;
use crate::schema::{DcqcnRecord, PolicyRecord, Protocol, Retransmission, RoceRecord, ScenarioRecord, TrafficRecord};

/// The queue pairs of a policy, by the traffic's place.
pub(super) fn build(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    index: usize,
) -> Result<Vec<Option<Roce>>, PlanError> {
    let index = index.to_string();
    let each = |traffic: &TrafficRecord| {
        let (transport, at) = match policy.traffic.get(&traffic.name) {
            Some(own) => (own, vec!["policy", &index, "traffic", &traffic.name]),
            None => (&policy.transport, vec!["policy", &index, "transport"]),
        };
        match &transport.protocol {
            Protocol::Roce(own) => profile(scenario, own, &at).map(Some),
            Protocol::Tcp(_) | Protocol::Mptcp(_) => Ok(None),
        }
    };
    scenario.traffic.iter().map(each).collect()
}

fn profile(scenario: &ScenarioRecord, record: &RoceRecord, at: &[&str]) -> Result<Roce, PlanError> {
    let mtu = scenario.topology.mtu;
    let Some(most) = RoceRecord::largest(mtu) else {
        let headers = Roce::IP_OVERHEAD;
        let message = format!("an MTU of {mtu} has no room for 256 B behind {headers} B of headers, the least of RoCE");
        return Err(PlanError::new(&["topology", "mtu"], message));
    };
    let payload = record.path_mtu.unwrap_or(most);
    if payload > most {
        let message = format!("a path MTU of {payload} does not fit into datagrams of {mtu}");
        let help = format!("at most {most}, or `topology.mtu` = \"4200B\" (4096 B and headers)");
        return Err(PlanError::new(&[at, &["path-mtu"]].concat(), message).help(help));
    }
    let profile = Roce {
        payload: payload.get() as u32,
        retransmission: match record.retransmission {
            Retransmission::GoBackN => transport::Retransmission::GoBackN,
            Retransmission::SelectiveRepeat => transport::Retransmission::SelectiveRepeat,
        },
        control: record.dcqcn.as_ref().map(DcqcnRecord::parameters),
        rate: record.rate,
        window: Limit::get(record.window),
        ack_every: record.ack_every,
        nak_interval: OrOff::get(record.nak_interval),
        timeout: record.timeout,
        cnp_priority: record.cnp_priority,
    };
    let (packets, every) = (profile.window(), record.ack_every);
    if u64::from(every) > packets {
        let message = format!("a window of {packets} packets is sent before {every} could be acknowledged");
        let help = format!("each window would wait for the time-out: at most {packets}, or a larger `window`");
        return Err(PlanError::new(&[at, &["ack-every"]].concat(), message).help(help));
    }
    Ok(profile)
}

/// What stands for a queue pair where profiles of TCP are asked for the size of packets.
pub(super) fn stand_in(scenario: &ScenarioRecord, record: &RoceRecord, at: &[&str]) -> Result<Profile, PlanError> {
    let roce = profile(scenario, record, at)?;
    let control = AnyController::by_name("new-reno").expect("it is there");
    Ok(Profile { control, mss: roce.payload, overhead: Roce::OVERHEAD, ..Profile::default() })
}
