//! The kernel hosts of a policy, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use headway_fabric::NodeId;
use headway_scenario::ScenarioRecord;
use headway_scenario::plan::{FlowsPlan, Network, PlanError, carriers};
use headway_transport::Failure;
use headway_units::Time;

use crate::captures::captures;
use crate::commands::{Commands, beside};
use crate::context::Context;
use crate::host::{Tenant, host};
use crate::kernels::{Flows, Kernels, Where};
use crate::namespaces;
use crate::policy::Resolved;
use crate::requirements::requirements;
use crate::roster::{FLOW_SERIES, Roster};

/// Listeners of flows are at this port and the following ones, one for each traffic.
const FIRST_SERVICE: u16 = 5_000;

/// The transports of traffic whose flows kernel hosts send, by its place.
type Transports = BTreeMap<u16, Resolved>;

impl Kernels {
    /// The kernel hosts of `scenario` under policy number `policy`, if there are any that may take part; `flows` is all
    /// traffic that is flows, and files that the scenario names are in `folder`.
    ///
    /// # Errors
    /// If kernels cannot do it.
    pub fn new(
        scenario: &ScenarioRecord,
        policy: usize,
        network: &Network,
        flows: &[FlowsPlan],
        failures: &[Failure],
        folder: &Path,
    ) -> Result<Option<Kernels>, PlanError> {
        let number = policy.to_string();
        let context = Context { scenario, policy: &scenario.policy[policy], number: &number, network, folder };
        let roster = Roster::new(scenario, network)?;
        let (transports, sampled) = transports(&context, &roster, flows)?;
        let programs = Commands::new(&context, &roster)?;
        let captures = captures(&context, &roster)?;
        if transports.is_empty() && programs.commands.is_empty() {
            return Ok(None);
        }
        if roster.place == Where::Namespaces {
            let all = transports.len() == flows.len();
            namespaces::check(scenario, context.policy, &number, network, all)?;
        }
        let end = Time::ZERO + scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
        let sent = || flows.iter().filter_map(|flows| Some((flows, transports.get(&flows.index)?)));
        let of_flows = sent().map(|(flows, own)| (&*flows.name, own));
        let of_commands = programs.transports.iter().map(|(name, own)| (*name, own));
        let mut kernels = Kernels {
            place: roster.place,
            hosts: BTreeMap::new(),
            guests: Vec::new(),
            flows: sent().map(|(flows, own)| (flows.index, service(flows, own, &sampled))).collect(),
            commands: Vec::new(),
            requirements: requirements(&context, of_flows.chain(of_commands)),
            captures,
            files: scenario.files.as_ref().map(|name| folder.join(name)),
            sample_ns: sample_ns(scenario, !sampled.is_empty())?,
            mtu: scenario.topology.mtu.get() as u16,
            end,
            carriers: carriers(failures, end),
        };
        let tenants = tenants(sent(), &programs);
        kernels.commands.clone_from(&programs.commands);
        for (number, line) in context.policy.linux.iter().flat_map(|linux| &linux.run).enumerate() {
            kernels.commands.extend(tenants.keys().map(|&host| beside(number, line, host)));
        }
        for (&node, tenants) in &tenants {
            let own = host(&context, &roster, node, tenants, kernels.flows.is_empty())?;
            kernels.hosts.insert(node, own);
        }
        if kernels.place == Where::Guests {
            kernels.guests = roster.guests(network, &kernels.hosts)?;
        }
        Ok(Some(kernels))
    }
}

/// The transports of traffic whose flows kernel hosts send, and the places of such traffic that is sampled.
fn transports(
    context: &Context<'_>,
    roster: &Roster<'_>,
    flows: &[FlowsPlan],
) -> Result<(Transports, BTreeSet<u16>), PlanError> {
    let (mut transports, mut sampled) = (Transports::new(), BTreeSet::new());
    for traffic in flows {
        if !roster.are_kernels(traffic, context.scenario)? {
            continue;
        }
        if traffic.is_pooled() {
            let message = format!("kernel hosts open a connection for each flow of `{}`", traffic.name);
            let fault = PlanError::new(&["traffic", &traffic.index.to_string(), "connections"], message);
            let help =
                "let its hosts be modelled, or use programs that keep connections, with traffic of kind = \"command\"";
            return Err(fault.help(help));
        }
        if traffic.waits() {
            let message = format!("kernel hosts cannot send `{}` in a closed loop", traffic.name);
            let fault = PlanError::new(&["traffic", &traffic.index.to_string(), "arrival"], message);
            let help = "kernels are told beforehand when their flows start: use another `kind` of arrival, or a program \
                        that waits, with traffic of kind = \"command\"";
            return Err(fault.help(help));
        }
        let own = context.resolve_flows(traffic)?;
        if roster.is_sampled(context, traffic) {
            sampled.insert(traffic.index);
        }
        transports.insert(traffic.index, own);
    }
    Ok((transports, sampled))
}

/// How the flows of `traffic` are sent.
fn service(traffic: &FlowsPlan, own: &Resolved, sampled: &BTreeSet<u16>) -> Flows {
    Flows {
        port: FIRST_SERVICE + traffic.index,
        control: own.control.clone(),
        max_pacing_rate: own.max_pacing_rate,
        mptcp: own.mptcp.is_some(),
        sampled: sampled.contains(&traffic.index),
        destinations: traffic.destinations.iter().copied().collect(),
    }
}

/// The traffic that each host has: flows first, then commands, in the order of the file.
fn tenants<'a>(
    flows: impl Iterator<Item = (&'a FlowsPlan, &'a Resolved)>,
    programs: &'a Commands<'_>,
) -> BTreeMap<NodeId, Vec<Tenant<'a>>> {
    let mut tenants: BTreeMap<NodeId, Vec<Tenant>> = BTreeMap::new();
    for (traffic, resolved) in flows {
        for (hosts, opens) in [(&traffic.sources, true), (&traffic.destinations, false)] {
            for &host in hosts {
                let tenant = Tenant { traffic: &traffic.name, resolved, opens, accepts: !opens };
                tenants.entry(host).or_default().push(tenant);
            }
        }
    }
    for command in &programs.commands {
        let own = programs.transports.iter().find(|(name, _)| **name == *command.traffic);
        let (traffic, resolved) = own.expect("every command's transport is resolved");
        let tenant = Tenant { traffic, resolved, opens: true, accepts: true };
        tenants.entry(command.host).or_default().push(tenant);
    }
    tenants
}

fn sample_ns(scenario: &ScenarioRecord, sampled: bool) -> Result<Option<u64>, PlanError> {
    if !sampled {
        return Ok(None);
    }
    let measure = &scenario.measure;
    let mut of_flows = measure.series.iter().copied().filter(|series| FLOW_SERIES.contains(series));
    let Some(first) = of_flows.next() else { return Ok(None) };
    let interval = measure.interval_of(first);
    // The agent looks at a connection once for all of them.
    if let Some(other) = of_flows.find(|&series| measure.interval_of(series) != interval) {
        let path = ["measure", "intervals"];
        let (one, other) = (first.as_str(), other.as_str());
        let message = format!("`{one}` and `{other}` of kernel hosts are sampled at the same times");
        return Err(PlanError::new(&path, message).help("give both the same interval"));
    }
    if !interval.picos().is_multiple_of(1000) {
        let message = format!("an interval of {interval} is no whole number of nanoseconds, in which kernels count");
        let own = ["measure", "intervals", first.as_str()];
        let path = if measure.intervals.of(first).is_some() { &own[..] } else { &["measure", "interval"] };
        return Err(PlanError::new(path, message));
    }
    Ok(Some(interval.picos() / 1000))
}
