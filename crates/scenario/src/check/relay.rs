//! Relays of policies, as far as the file alone can tell.

use std::collections::BTreeSet;

use crate::checker::Checker;
use crate::plan::is_relayed;
use crate::schema::{PolicyRecord, Protocol, RelayPolicyRecord, ScenarioRecord, TrafficKind, TransportRecord};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    for (index, policy) in scenario.policy.iter().enumerate() {
        if let Some(relay) = &policy.relay {
            names(scenario, policy, relay, &index.to_string(), checker);
            combination(scenario, policy, relay, &index.to_string(), checker);
        }
    }
}

/// Groups and traffic must be there, once.
fn names(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    relay: &RelayPolicyRecord,
    index: &str,
    checker: &mut Checker,
) {
    let path = |key: &'static str| ["policy", index, "relay", key];
    if relay.hosts.is_empty() {
        let message = format!("policy `{}` has relays without a host", policy.name);
        checker.problem(&path("hosts"), message, "", Some("name the groups of the relays: hosts = [\"relays\"]"));
    }
    let groups = relay.hosts.iter().map(|name| (name, "hosts", "host group"));
    let traffic = relay.traffic.iter().flatten().map(|name| (name, "traffic", "traffic"));
    for (list, known) in [
        (groups.collect::<Vec<_>>(), scenario.hosts.names().collect::<Vec<_>>()),
        (traffic.collect(), scenario.traffic.iter().map(|traffic| traffic.name.as_str()).collect()),
    ] {
        let mut seen = BTreeSet::new();
        for (place, (name, key, what)) in list.into_iter().enumerate() {
            let place = place.to_string();
            let path = ["policy", index, "relay", key, &place];
            if checker.known(&path, name, what, known.iter().copied()) && !seen.insert(name.as_str()) {
                let message = format!("`policy.{}.relay.{key}` has `{name}` twice", policy.name);
                checker.problem(&path, message, "once more", None);
            }
        }
    }
    if relay.traffic.as_ref().is_some_and(Vec::is_empty) {
        let message = format!("policy `{}` relays no traffic", policy.name);
        checker.problem(&path("traffic"), message, "", Some("leave `traffic` out for all, or `relay` for none"));
    }
}

/// What cannot be had together with relays.
fn combination(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    relay: &RelayPolicyRecord,
    index: &str,
    checker: &mut Checker,
) {
    let name = &policy.name;
    let other = |transport: &TransportRecord| match transport.protocol {
        Protocol::Tcp(_) => None,
        Protocol::Mptcp(_) => Some("MPTCP"),
        Protocol::Roce(_) => Some("RoCE"),
    };
    for (key, side) in [("access", &relay.access), ("long", &relay.long)] {
        if let Some(other) = other(&side.0) {
            let message = format!("`policy.{name}.relay.{key}` is {other}, and relays have connections of plain TCP");
            checker.problem(&["policy", index, "relay", key], message, "", Some("kind = \"tcp\""));
        }
    }
    for traffic in scenario.traffic.iter().filter(|traffic| is_relayed(relay, &traffic.name)) {
        let own = policy.traffic.get(&traffic.name);
        if let Some(other) = other(own.unwrap_or(&policy.transport)) {
            let message = format!("policy `{name}` relays traffic `{}`, which is {other}", traffic.name);
            let help = "relays have connections of plain TCP: kind = \"tcp\", or leave it out with `relay.traffic`";
            let at: &[&str] = if own.is_some() { &["traffic", &traffic.name] } else { &["transport"] };
            checker.problem(&[&["policy", index], at].concat(), message, "not over relays", Some(help));
        }
        let at = ["policy", index, "relay"];
        let help = "name the traffic of `kind = \"flows\"` with `relay.traffic`";
        match &traffic.kind {
            TrafficKind::Flows(flows) if flows.datagrams.is_some() => {
                let message = format!("policy `{name}` relays traffic `{}`, which is datagrams", traffic.name);
                let help = "relays end connections of TCP: name other traffic with `relay.traffic`";
                checker.problem(&at, message, "", Some(help));
            }
            TrafficKind::Flows(_) | TrafficKind::Replay(_) if traffic.pool().is_some() => {
                let message = format!(
                    "policy `{name}` relays traffic `{}`, whose flows are messages on connections that stay; only flows \
                     with connections of their own are relayed",
                    traffic.name
                );
                let help = "relays keep connections of their own with `warm`: leave `connections` out, or name other \
                            traffic with `relay.traffic`";
                checker.problem(&at, message, "", Some(help));
            }
            TrafficKind::Flows(_) | TrafficKind::Replay(_) => {}
            TrafficKind::PartitionAggregate(_) => {
                let message = format!(
                    "policy `{name}` relays traffic `{}`, which is partition–aggregate; only flows are relayed",
                    traffic.name
                );
                checker.problem(&at, message, "", Some(help));
            }
            TrafficKind::EventBuilder(_) | TrafficKind::Http(_) => {
                let sort =
                    if matches!(traffic.kind, TrafficKind::Http(_)) { "of web clients" } else { "event building" };
                let message = format!(
                    "policy `{name}` relays traffic `{}`, which is {sort}; only flows are relayed",
                    traffic.name
                );
                checker.problem(&at, message, "", Some(help));
            }
            TrafficKind::Command(_) => {
                let message = format!(
                    "policy `{name}` relays traffic `{}`, which is a command on kernel hosts; only flows are relayed",
                    traffic.name
                );
                checker.problem(&at, message, "", Some(help));
            }
        }
    }
    if policy.replicate.is_some() {
        let message = format!("policy `{name}` sends copies of flows, and relays them");
        let help = "copies over different paths meet again at a relay: leave `replicate` or `relay` out";
        checker.problem(&["policy", index, "replicate"], message, "not with `relay`", Some(help));
    }
}
