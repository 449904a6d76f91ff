//! Flows that are datagrams.

use crate::checker::Checker;
use crate::schema::{ArrivalRecord, DatagramsRecord, FlowsRecord, HostKind, ScenarioRecord, TrafficRecord};

/// IPv4 and UDP headers.
pub(crate) const IP_AND_UDP: u64 = 20 + 8;

pub(super) fn check(
    scenario: &ScenarioRecord,
    traffic: &TrafficRecord,
    (flows, own): (&FlowsRecord, &DatagramsRecord),
    index: &str,
    checker: &mut Checker,
) {
    let name = &traffic.name;
    let path = |key: &'static str| ["traffic", index, key];
    if flows.connections.is_some() {
        let message = format!("traffic `{name}` has both `connections` and `datagrams`");
        checker.problem(&path("datagrams"), message, "", Some("a flow is one or the other: leave one out"));
    }
    if matches!(flows.arrival, ArrivalRecord::ClosedLoop(_)) {
        let message = format!("traffic `{name}` waits for flows to complete, and datagrams that are lost never do");
        checker.problem(&path("arrival"), message, "", Some("use another `kind` of arrival"));
    }
    let mtu = scenario.topology.mtu.get();
    if own.payload.get() + IP_AND_UDP > mtu {
        let message = format!("datagrams of traffic `{name}` do not fit into a frame");
        let label = format!("with {IP_AND_UDP} B of headers more than the MTU, {mtu} B");
        checker.problem(&["traffic", index, "datagrams", "payload"], message, &label, None);
    }
    if traffic.takes_part(scenario) && traffic.host_kind(scenario) != HostKind::Modelled {
        let message = format!("`traffic.{name}.datagrams` is for modelled hosts, and its hosts are not");
        let help = "on kernel hosts use a program such as iperf3 --udp, with traffic of kind = \"command\"";
        checker.problem(&path("datagrams"), message, "cannot be had there", Some(help));
    }
    for (place, policy) in scenario.policy.iter().enumerate() {
        let place = place.to_string();
        if policy.traffic.get(name).is_some() {
            let message = format!("policy `{}` has a transport for traffic `{name}`, which is datagrams", policy.name);
            let help = "datagrams are the same under every policy: leave it out";
            checker.problem(&["policy", &place, "traffic", name], message, "", Some(help));
        }
    }
}
