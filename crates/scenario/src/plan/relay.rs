//! Relays of a policy: which hosts they are, and what they and the flows over them have.

use std::sync::Arc;

use headway_control::own::Registry;
use headway_fabric::NodeId;
use headway_levers::relay::RelayOpen;
use headway_transport::{self as transport, Profile, Relay, RelayCost};

use super::error::PlanError;
use super::network::Network;
use super::profile;
use super::traffics::TrafficPlan;
use crate::schema::{PolicyRecord, RelayPolicyRecord, ScenarioRecord};

/// The relays of a policy.
#[derive(Debug, Clone)]
pub struct RelayPlan {
    /// Who they are and what they have.
    pub relay: Arc<Relay>,
    /// Whether they relay it, by the traffic's place.
    pub traffic: Vec<bool>,
}

/// The relays of `policy`, which is number `index`, if it has any; `profiles` are those of its traffic, `registry` has the program's controls, and `kernels` says
/// by a traffic's place whether kernel hosts send it.
pub(super) fn build(
    scenario: &ScenarioRecord,
    (policy, index): (&PolicyRecord, usize),
    network: &Network,
    traffic: &TrafficPlan,
    (profiles, registry): (&[Profile], &Registry),
    kernels: &dyn Fn(u16) -> bool,
) -> Result<Option<RelayPlan>, PlanError> {
    let Some(record) = &policy.relay else { return Ok(None) };
    let number = index.to_string();
    let at = ["policy", &number, "relay"];
    let hosts: Vec<NodeId> = record.hosts.iter().flat_map(|name| network.group(name).iter().copied()).collect();
    let side = |key, own: &crate::schema::RelaySideRecord| {
        profile::build_one(scenario, policy, &own.0, registry, &[&at[..], &[key]].concat())
    };
    let relay = Relay {
        hosts,
        access: side("access", &record.access)?,
        long: side("long", &record.long)?,
        buffer: record.common.buffer,
        open: match record.common.open {
            RelayOpen::EndToEnd => transport::RelayOpen::EndToEnd,
            RelayOpen::AtOnce => transport::RelayOpen::AtOnce,
        },
        warm: record.common.warm,
        cost: RelayCost { byte: record.cost.cpu_per_byte, connection: record.cost.cpu_per_connection },
    };
    let relayed: Vec<bool> = scenario.traffic.iter().map(|own| is_relayed(record, &own.name)).collect();
    let ends = ends(traffic, &relayed);
    check_ends(scenario, &ends, &relay, network, &at)?;
    for (place, own) in profiles.iter().enumerate().filter(|(place, _)| relayed[*place]) {
        let name = &scenario.traffic[place].name;
        if kernels(place as u16) {
            let message = format!("kernel hosts send traffic `{name}`, and the relays of a policy are modelled");
            let help = "name the traffic of modelled hosts with `traffic`; for kernel hosts run a relay of their own, such as HAProxy";
            return Err(PlanError::new(&at, message).help(help));
        }
        check_sides(name, own, &relay, &at)?;
        if traffic.flows.iter().any(|flows| usize::from(flows.index) == place && flows.deadline.is_some()) {
            check_deadlines(name, own, &relay, &at)?;
        }
        for &(_, sources, destinations) in ends.iter().filter(|(own, ..)| *own == &**name) {
            check_interfaces((policy, index), (name, own), [sources, destinations], &relay, network)?;
        }
    }
    Ok(Some(RelayPlan { relay: Arc::new(relay), traffic: relayed }))
}

/// Whether `record` relays the traffic called `name`.
pub(crate) fn is_relayed(record: &RelayPolicyRecord, name: &str) -> bool {
    record.traffic.as_ref().is_none_or(|names| names.iter().any(|own| own.as_str() == name))
}

/// Sources and destinations of relayed traffic, with its name.
fn ends<'a>(traffic: &'a TrafficPlan, relayed: &[bool]) -> Vec<(&'a str, &'a [NodeId], &'a [NodeId])> {
    let flows = traffic.flows.iter().filter(|flows| relayed[usize::from(flows.index)]);
    flows.map(|flows| (&*flows.name, &flows.sources[..], &flows.destinations[..])).collect()
}

/// Relays must be there, be others than the ends of the flows, and reach them.
fn check_ends(
    scenario: &ScenarioRecord,
    ends: &[(&str, &[NodeId], &[NodeId])],
    relay: &Relay,
    network: &Network,
    at: &[&str],
) -> Result<(), PlanError> {
    let fault = |message: String| PlanError::new(&[at, &["hosts"]].concat(), message);
    if !(1..=2).contains(&relay.hosts.len()) {
        let message = format!("a policy has one relay or two, and these groups have {} hosts", relay.hosts.len());
        return Err(fault(message).help("one host is a relay alone, two are a pair with the long link between them"));
    }
    if let [one, other] = relay.hosts[..]
        && one == other
    {
        return Err(fault(format!("host `{}` is both relays", network.name(one))).help("two relays are two hosts"));
    }
    for &own in &relay.hosts {
        let kernel = network.groups().zip(scenario.hosts.iter()).any(|((_, hosts), (_, group))| {
            let kind = group.kind.unwrap_or(scenario.host_kind);
            kind != crate::schema::HostKind::Modelled && hosts.contains(&own)
        });
        if kernel {
            let message =
                format!("relay `{}` is a kernel host, and the relays of a policy are modelled", network.name(own));
            return Err(fault(message).help("kind = \"modelled\" in its group"));
        }
    }
    if relay.hosts.len() == 1 && relay.warm > 0 {
        let message = "warm connections are between two relays, and there is one";
        return Err(PlanError::new(&[at, &["warm"]].concat(), message).help("leave `warm` out, or take a pair"));
    }
    for &(name, sources, destinations) in ends {
        for &own in &relay.hosts {
            if sources.contains(&own) || destinations.contains(&own) {
                let message = format!("relay `{}` is an end of traffic `{name}`", network.name(own));
                let help =
                    "a relay forwards what others send: take another host, or leave the traffic out with `traffic`";
                return Err(fault(message).help(help));
            }
            for (message, hosts) in [("from", sources), ("to", destinations)] {
                let reached = |host: &&NodeId| first_connected(**host, own, network);
                if let Some(&host) = hosts.iter().find(|host| !reached(host)) {
                    let (host, own) = (network.name(host), network.name(own));
                    return Err(fault(format!(
                        "traffic `{name}` goes {message} `{host}`, and relay `{own}` has no path there"
                    )));
                }
            }
        }
    }
    if let [one, other] = relay.hosts[..]
        && !first_connected(one, other, network)
    {
        let (one, other) = (network.name(one), network.name(other));
        return Err(fault(format!("there is no path between the relays `{one}` and `{other}`")));
    }
    Ok(())
}

/// Whether every pair of interfaces of two hosts that connections can use is connected.
fn first_connected(one: NodeId, other: NodeId, network: &Network) -> bool {
    let graph = &network.built.graph;
    let (ours, theirs) = (graph.interfaces(one), graph.interfaces(other));
    !ours.is_empty()
        && !theirs.is_empty()
        && ours.iter().zip(theirs).all(|(&one, &other)| network.connected(one, other))
}

/// What hosts and relays have must fit together.
fn check_sides(name: &str, hosts: &Profile, relay: &Relay, at: &[&str]) -> Result<(), PlanError> {
    // hosts meet the long side of a single relay only
    let sides = [("access", &relay.access), ("long", &relay.long)];
    let met = if relay.hosts.len() == 1 { 2 } else { 1 };
    for (key, side) in sides.into_iter().take(met) {
        let both = [(side, hosts), (hosts, side)];
        for (sender, receiver) in both {
            let forth = sender.towards(receiver);
            if sender.control.dctcp_ecn() && !forth.ecn {
                let message = format!(
                    "`{}` counts marks, and without ECN at the hosts of traffic `{name}` and at `{key}` of the relay no \
                     packet is marked",
                    sender.control.name()
                );
                return Err(PlanError::new(&[at, &[key]].concat(), message).help("put ecn = true into both transports"));
            }
            let needs = sender.control.manages_cwnd() || sender.control.wants_delivery();
            if needs && !forth.recovery.is_linux() {
                let message = format!(
                    "`{}` needs selective acknowledgements, and the other end of its connections has none",
                    sender.control.name()
                );
                return Err(PlanError::new(&[at, &[key]].concat(), message).help("recovery = \"rack\" at both ends"));
            }
        }
    }
    Ok(())
}

/// A control that paces itself by a flow's deadline must know how much of the flow is left, and segments have no size.
fn check_deadlines(name: &str, hosts: &Profile, relay: &Relay, at: &[&str]) -> Result<(), PlanError> {
    for own in [hosts, &relay.access, &relay.long] {
        if own.control.name() == "d2tcp" {
            let message = format!("traffic `{name}` has deadlines, and `d2tcp` does not hear of them over relays");
            let help =
                "leave the traffic out with `traffic`; or control = \"dctcp\", which `d2tcp` is without a deadline";
            return Err(PlanError::new(at, message).help(help));
        }
    }
    Ok(())
}

/// Interfaces that are asked for must be there at both ends of every segment whose opener asks: the hosts' at the relays
/// (at both, each may be the first), `access` and `long` at the relays and at who they open connections to.
fn check_interfaces(
    (policy, index): (&PolicyRecord, usize),
    (name, hosts): (&str, &Profile),
    ends: [&[NodeId]; 2],
    relay: &Relay,
    network: &Network,
) -> Result<(), PlanError> {
    let fewest = |hosts: &[NodeId]| hosts.iter().map(|&host| network.built.graph.interfaces(host).len()).min();
    let [Some(sources), Some(destinations), Some(relays)] = [ends[0], ends[1], &relay.hosts].map(fewest) else {
        return Ok(());
    };
    let own = if policy.traffic.get(name).is_some() { vec!["traffic", name] } else { vec!["transport"] };
    let (ours, theirs) = (sources.min(relays), destinations.min(relays));
    // a single relay opens all its connections to destinations
    let long = if relay.hosts.len() == 1 { theirs } else { relays };
    let sides = [
        (hosts, own, ours, "sources"),
        (&relay.access, vec!["relay", "access"], theirs, "destinations"),
        (&relay.long, vec!["relay", "long"], long, if relay.hosts.len() == 1 { "destinations" } else { "" }),
    ];
    for (profile, keys, fewest, who) in sides {
        let Some(wanted) = profile.interface.filter(|&wanted| wanted >= fewest) else { continue };
        let who = if who.is_empty() { "relays".to_owned() } else { format!("{who} or relays") };
        let message = format!(
            "policy `{}` wants interface {wanted} for traffic `{name}`, whose {who} have {fewest}",
            policy.name
        );
        let index = index.to_string();
        let path = [&["policy", &index], &keys[..], &["interface"]].concat();
        return Err(PlanError::new(&path, message).help("interfaces count from 0"));
    }
    Ok(())
}
