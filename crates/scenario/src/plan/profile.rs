//! What connections are set up with.

use headway_control::congestion::Congestion;
use headway_control::lanes::{Deadline, Judge, LinkCost};
use headway_transport::{DelayedAck, LanePlan, Multipath, Profile, Recovery};

use super::Fault;
use crate::schema::{
    self, JudgeRecord, MptcpRecord, PolicyRecord, Protocol, ScenarioRecord, TrafficRecord, TransportRecord,
};

/// Ethernet header and checksum.
const ETHERNET: u32 = 14 + 4;
/// IPv4 and TCP headers without options.
const IP_AND_TCP: u32 = 20 + 20;
/// Timestamps and their padding (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// Data sequence signal with 4-byte numbers and without checksum (RFC 8684 §3.3): kind, length and flags 4,
/// acknowledgement 4, mapping 10, padding 2.
const DSS: u32 = 20;
/// The same on an acknowledgement, which has no mapping.
const DSS_ACK: u32 = 8;
/// What TCP's header leaves for options.
const OPTIONS: u32 = 40;

/// The profiles of a policy, one for each traffic. Of flows that are not modelled they say how large packets are, which
/// gives the times on an idle network.
pub(super) fn build(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    index: usize,
    modelled: impl Fn(usize) -> bool,
) -> Result<Vec<Profile>, Fault> {
    let index = index.to_string();
    let each = |(place, traffic): (usize, &TrafficRecord)| {
        let modelled = modelled(place);
        match policy.traffic.get(&traffic.name) {
            Some(own) => profile(scenario, policy, own, modelled, &["policy", &index, "traffic", &traffic.name]),
            None => profile(scenario, policy, &policy.transport, modelled, &["policy", &index, "transport"]),
        }
    };
    scenario.traffic.iter().enumerate().map(each).collect()
}

fn profile(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    transport: &TransportRecord,
    modelled: bool,
    at: &[&str],
) -> Result<Profile, Fault> {
    let fault = |key: &str, message: String| Fault::new(&[at, &[key]].concat(), message);
    let (name, multipath) = match &transport.protocol {
        Protocol::Tcp(tcp) => (&tcp.control, None),
        Protocol::Mptcp(mptcp) => (&mptcp.control, Some(multipath(mptcp).map_err(|(key, text)| fault(key, text))?)),
    };
    // kernels have controls of their own
    let name = if modelled { name } else { &"new-reno".to_owned() };
    let control = Congestion::by_name(name).map_err(|error| {
        let help = format!("known are {}", Congestion::NAMES.join(", "));
        fault("control", format!("there is no congestion control `{}`", error.0)).help(help)
    })?;
    let timestamps = transport.linux.as_ref().and_then(|linux| linux.timestamps).filter(|_| !modelled);
    let timestamps = timestamps.unwrap_or(transport.timestamps);
    if control.is_coupled() && multipath.is_none() {
        let message = format!("`{name}` couples the subflows of MPTCP; a TCP connection has none");
        return Err(fault("control", message).help("use `new-reno`, or kind = \"mptcp\""));
    }
    let timestamps = if timestamps { TIMESTAMPS } else { 0 };
    let (dss, dss_ack) = if multipath.is_some() { (DSS, DSS_ACK) } else { (0, 0) };
    let options = timestamps + dss;
    let headers = IP_AND_TCP + options;
    let mtu = scenario.topology.mtu.get() as u32;
    let Some(mss) = mtu.checked_sub(headers).filter(|&mss| mss > 0) else {
        let message = format!("an MTU of {mtu} bytes leaves no room for data behind {headers} bytes of headers");
        return Err(Fault::new(&["topology", "mtu"], message));
    };
    Ok(Profile {
        control,
        recovery: match transport.recovery {
            schema::Recovery::NewReno => Recovery::NewReno,
            schema::Recovery::Sack => Recovery::Sack,
        },
        limited_transmit: transport.limited_transmit,
        mss,
        overhead: headers + ETHERNET,
        // kind and length take two bytes, padded to four, and each block eight
        sack_blocks: ((OPTIONS - 4 - timestamps - dss_ack) / 8) as u8,
        initial_window: transport.initial_window,
        initial_ssthresh: transport.initial_ssthresh,
        min_rto: transport.min_rto,
        initial_rto: transport.initial_rto,
        max_rto: transport.max_rto,
        delayed_ack: DelayedAck {
            packets: transport.delayed_ack.packets,
            timeout: transport.delayed_ack.timeout,
            quick: transport.delayed_ack.quick,
            adaptive: false,
        },
        receive_window: transport.receive_window,
        ecn: transport.ecn,
        multipath,
        replicate: policy.replicate.as_ref().map(|replicate| (replicate.below, replicate.copies)),
        ..Profile::default()
    })
}

fn multipath(record: &MptcpRecord) -> Result<Multipath, (&'static str, String)> {
    let lanes = record.lanes.as_ref().map(|lanes| {
        let judge: Judge = match &lanes.judge {
            JudgeRecord::Deadline(own) => Deadline { after: own.deadline }.into(),
            JudgeRecord::LinkCost(own) => LinkCost {
                deadline: own.deadline,
                alpha: own.alpha,
                beta: own.beta,
                gamma: own.gamma,
                delta: own.delta,
                delay_unit: own.delay_unit,
                time_unit: own.time_unit,
                ..LinkCost::default()
            }
            .into(),
        };
        LanePlan { short: lanes.short as usize, judge }
    });
    if let Some(Err(error)) = lanes.as_ref().map(|lanes| lanes.judge.validate()) {
        return Err(("lanes", error.to_string()));
    }
    Ok(Multipath {
        // Without a number of its own a connection takes one subflow for each interface, which the hosts limit.
        subflows: record.subflows.map(|n| n as usize),
        join_after: record.join_after,
        backup: record.backup.iter().map(|&i| i as usize).collect(),
        lanes,
    })
}
