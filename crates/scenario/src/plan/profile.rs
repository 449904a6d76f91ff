//! Profiles: the parameters of connections.

use headway_control::congestion::{AnyController, BadParameter};
use headway_control::own::Registry;
use headway_levers::lanes::{LaneOpen, LanesRecord, LeftoversRecord, ModelledLanesRecord, ReturnRecord, Sampling};
use headway_transport::{HistoryPlan, LanePlan, Multipath, Pacing, Profile, Scheduler};

use super::combination;
use super::error::PlanError;
use super::{own as given, roce};
use crate::schema::{
    AddressPairs, MptcpRecord, PolicyRecord, Protocol, ScenarioRecord, Stack, TrafficRecord, TransportRecord,
};
use crate::stack;
use headway_language::{Ratio, suggest_nearest};

/// Ethernet header and checksum.
const ETHERNET: u32 = 14 + 4;
/// IPv4 and TCP headers without options.
const IP_AND_TCP: u32 = 20 + 20;
/// Timestamps and their padding (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// Data sequence signal with 4-byte numbers and without checksum (RFC 8684 §3.3): kind, length and flags 4,
/// acknowledgement 4, mapping 10, padding 2.
const DSS: u32 = 20;
/// As Linux' senders write it, with mappings of 8-byte numbers (`net/mptcp/options.c: mptcp_established_options_dss`):
/// kind, length and flags 4, acknowledgement 4, mapping 14, padding 2.
const DSS_LINUX: u32 = 24;
/// The same on an acknowledgement, which has no mapping.
const DSS_ACK: u32 = 8;
/// The room for options in TCP's header.
const OPTIONS: u32 = 40;

/// The profiles of a policy, one for each traffic. Of flows that are not modelled they say how large packets are, which
/// gives the times on an idle network.
pub(super) fn build(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    index: usize,
    registry: &Registry,
    modelled: impl Fn(usize) -> bool,
) -> Result<Vec<Profile>, PlanError> {
    let index = index.to_string();
    let each = |(place, traffic): (usize, &TrafficRecord)| {
        let modelled = modelled(place);
        match policy.traffic.get(&traffic.name) {
            Some(own) => {
                profile(scenario, (policy, own), registry, modelled, &["policy", &index, "traffic", &traffic.name])
            }
            None => {
                profile(scenario, (policy, &policy.transport), registry, modelled, &["policy", &index, "transport"])
            }
        }
    };
    scenario.traffic.iter().enumerate().map(each).collect()
}

/// The profile of a modelled transport by itself, which stands at `at`.
pub(super) fn build_one(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    transport: &TransportRecord,
    registry: &Registry,
    at: &[&str],
) -> Result<Profile, PlanError> {
    profile(scenario, (policy, transport), registry, true, at)
}

fn profile(
    scenario: &ScenarioRecord,
    (policy, transport): (&PolicyRecord, &TransportRecord),
    registry: &Registry,
    modelled: bool,
    at: &[&str],
) -> Result<Profile, PlanError> {
    let fault = |key: &str, message: String| PlanError::new(&[at, &[key]].concat(), message);
    let own = stack::profile(transport);
    let (name, multipath, interface) = match &transport.protocol {
        Protocol::Tcp(tcp) => (tcp.control.as_deref().unwrap_or("new-reno"), None, tcp.interface.map(|n| n as usize)),
        Protocol::Mptcp(mptcp) => {
            // kernel hosts have no judge here
            let judges = if modelled { Some(registry) } else { None };
            (&*mptcp.control, Some(multipath(mptcp, transport.stack, judges, at)?), None)
        }
        Protocol::Roce(own) => return roce::stand_in(scenario, own, at),
    };
    // kernels have controls of their own
    let name = if modelled { name } else { "new-reno" };
    let mut control = control(name, transport, registry, at)?;
    let timestamps = if modelled {
        own.timestamps
    } else {
        // left out, they are the kernel's own, which has them (`net.ipv4.tcp_timestamps`)
        let linux = transport.linux.as_ref().and_then(|linux| linux.timestamps);
        linux.or(transport.timestamps).unwrap_or(true)
    };
    if control.is_coupled() && multipath.is_none() {
        let message = format!("`{name}` couples the subflows of MPTCP; a TCP connection has none");
        return Err(fault("control", message).help("use `new-reno`, or kind = \"mptcp\""));
    }
    if modelled {
        combination::check(transport, &own, &control, at)?;
        tell_of_pacing(&mut control, &own);
        set_parameters(&mut control, transport, at)?;
    }
    let timestamps = if timestamps { TIMESTAMPS } else { 0 };
    let (dss, dss_ack) = match (&multipath, transport.stack) {
        (None, _) => (0, 0),
        (Some(_), Stack::Linux) => (DSS_LINUX, DSS_ACK),
        (Some(_), _) => (DSS, DSS_ACK),
    };
    let options = timestamps + dss;
    let headers = IP_AND_TCP + options;
    let mtu = scenario.topology.mtu.get() as u32;
    let Some(mss) = mtu.checked_sub(headers).filter(|&mss| mss > 0) else {
        let message = format!("an MTU of {mtu} bytes leaves no room for data behind {headers} bytes of headers");
        return Err(PlanError::new(&["topology", "mtu"], message));
    };
    Ok(Profile {
        control,
        mss,
        overhead: headers + ETHERNET,
        // kind and length take two bytes, padded to four, and each block eight
        sack_blocks: ((OPTIONS - 4 - timestamps - dss_ack) / 8) as u8,
        multipath,
        interface,
        replicate: policy.replicate.as_ref().map(|replicate| (replicate.below, replicate.copies)),
        ..own
    })
}

/// A fresh control called `name`, built-in or the program's.
fn control(
    name: &str,
    transport: &TransportRecord,
    registry: &Registry,
    at: &[&str],
) -> Result<AnyController, PlanError> {
    if let Some(given) = given::control(name, transport, registry, at)? {
        return Ok(given);
    }
    AnyController::by_name(name).map_err(|error| {
        let help = super::control_name::help(&error.0);
        let message = format!("there is no congestion control `{}`", error.0);
        PlanError::new(&[at, &["control"]].concat(), message).help(help)
    })
}

/// A control that asks whether its sender paces is told (Linux: `sk_pacing_status`, `net/ipv4/tcp_cubic.c:
/// hystart_update`), unless the file says otherwise.
fn tell_of_pacing(control: &mut AnyController, own: &Profile) {
    const PACED: &str = "paced";
    if own.pacing == Pacing::Always && control.parameters().iter().any(|parameter| parameter.name == PACED) {
        control.set(PACED, 1.0).expect("1 is among its values");
    }
}

fn set_parameters(control: &mut AnyController, transport: &TransportRecord, at: &[&str]) -> Result<(), PlanError> {
    if control.own_mut().is_some() {
        // it has got them already
        return Ok(());
    }
    for (key, value) in transport.control_parameters.iter() {
        // longer names are none, and too long for a message
        let short: String = key.chars().take(60).collect();
        let path = [at, &["control-parameters", key]].concat();
        control.set(&short, value).map_err(|error| parameter_fault(&path, &error))?;
    }
    Ok(())
}

/// The mistake in a control's parameter, which stands at `path`.
fn parameter_fault(path: &[&str], error: &BadParameter) -> PlanError {
    let fault = PlanError::new(path, error.to_string());
    match error {
        BadParameter::Unknown { name, known, .. } => match suggest_nearest(name, known.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault,
        },
        BadParameter::Range { parameter, .. } => {
            fault.help(format!("{} (default {})", parameter.about, parameter.default))
        }
    }
}

fn lanes(record: &ModelledLanesRecord, registry: Option<&Registry>, at: &[&str]) -> Result<LanePlan, PlanError> {
    let LanesRecord { judge, open, patience, history } = &record.common;
    Ok(LanePlan {
        short: record.short as usize,
        judge: match registry {
            Some(registry) => given::judge(judge, registry, at)?,
            None => judge.judge(Sampling::Acks),
        },
        start: record.start.start(),
        late: *open == Some(LaneOpen::WhenLong),
        history: history.as_ref().map(|own| HistoryPlan {
            empty: own.memory(),
            long: own.long,
            long_share: own.long_share.map(Ratio::get),
        }),
        back: record.back.as_ref().map(ReturnRecord::rule),
        patience: *patience,
        leftovers: record.leftovers.as_ref().map(LeftoversRecord::rule),
    })
}

/// Judges of the program are in `registry`; without one they stay names.
fn multipath(
    record: &MptcpRecord,
    stack: Stack,
    registry: Option<&Registry>,
    at: &[&str],
) -> Result<Multipath, PlanError> {
    let lanes = record.lanes.as_ref().map(|lanes| self::lanes(lanes, registry, at)).transpose()?;
    // what needs windows, and so a kernel that has them
    let windows = lanes.as_ref().is_some_and(|plan| plan.leftovers.is_some() || plan.back.is_some());
    Ok(Multipath {
        // Without a number of its own a connection takes one subflow for each pair, which the hosts limit.
        subflows: record.subflows.map(|n| n as usize),
        pairs: match record.address_pairs {
            AddressPairs::OneToOne => headway_transport::AddressPairs::OneToOne,
            AddressPairs::FullMesh => headway_transport::AddressPairs::FullMesh,
        },
        join_after: record.join_after,
        backup: record.backup.iter().map(|&i| i as usize).collect(),
        syn_fallback: record.syn_fallback,
        scheduler: if stack == Stack::Linux && !windows { Scheduler::Linux } else { Scheduler::LowestRtt },
        lanes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_asks_is_told_that_its_sender_paces() {
        let told = |name: &str, pacing: Pacing| {
            let mut control = AnyController::by_name(name).expect("a known control");
            tell_of_pacing(&mut control, &Profile { pacing, ..Profile::linux() });
            format!("{control:?}")
        };
        assert!(told("cubic", Pacing::Always).contains("paced: true"));
        assert!(told("cubic", Pacing::Control).contains("paced: false"));
        assert_eq!(told("bbr", Pacing::Always), told("bbr", Pacing::Control), "it has no such parameter");
    }
}
