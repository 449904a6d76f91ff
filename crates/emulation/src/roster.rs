//! Which hosts are kernels, and which of them share one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headway_fabric::NodeId;
use headway_kernel::setup::MAX_CARDS;
use headway_scenario::ScenarioRecord;
use headway_scenario::plan::{FlowsPlan, Network, PlanError};
use headway_scenario::schema::{HostKind, LinuxHostsRecord, Series};

use crate::context::Context;
use crate::kernels::{Guest, Host, Where};

/// The series of flows, which kernel hosts that send them record.
pub(crate) const FLOW_SERIES: [Series; 4] = [Series::Goodput, Series::Cwnd, Series::Rtt, Series::LinkCost];

/// A kernel host in its group.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its number among all hosts.
    pub number: u32,
    /// Its group; the place behind the last for hosts without one.
    group: usize,
    /// Its place in the group.
    place: usize,
    pub record: Arc<LinuxHostsRecord>,
}

/// The kernel hosts of a scenario, by their groups.
#[derive(Debug)]
pub(crate) struct Roster<'a> {
    pub place: Where,
    pub kernels: BTreeMap<NodeId, Member>,
    groups: Vec<&'a str>,
}

impl<'a> Roster<'a> {
    pub fn new(scenario: &'a ScenarioRecord, network: &'a Network) -> Result<Roster<'a>, PlanError> {
        let default = Arc::new(LinuxHostsRecord::default());
        let mut members = BTreeMap::new();
        let mut groups = Vec::new();
        for (index, (name, hosts)) in network.groups().enumerate() {
            groups.push(name);
            let record = scenario.hosts.get(name);
            let kind = record.and_then(|record| record.kind).unwrap_or(scenario.host_kind);
            let linux = record.and_then(|record| record.linux.clone()).map_or_else(|| Arc::clone(&default), Arc::new);
            for (place, &host) in hosts.iter().enumerate() {
                members.insert(host, (kind, index, place, Arc::clone(&linux)));
            }
        }
        let mut kernels = BTreeMap::new();
        let mut kinds = BTreeSet::new();
        for (number, host) in network.built.graph.hosts().enumerate() {
            let (kind, group, place, linux) = members
                .remove(&host)
                .unwrap_or_else(|| (scenario.host_kind, groups.len(), number, Arc::clone(&default)));
            kinds.insert(kind == HostKind::Namespaces);
            if kind != HostKind::Modelled {
                kernels.insert(host, Member { number: number as u32, group, place, record: linux });
            }
        }
        if kinds.len() > 1 {
            let message = "some hosts are namespaces of this machine, and others are not";
            let help = "namespaces are in real time: all hosts are, or none; set `host-kind`, or run with --hosts";
            return Err(PlanError::new(&["hosts"], message).help(help));
        }
        let place = if kinds.contains(&true) { Where::Namespaces } else { Where::Guests };
        Ok(Roster { place, kernels, groups })
    }

    /// Whether kernel hosts send this traffic. Those that send and those that receive must be of one kind.
    pub fn are_kernels(&self, traffic: &FlowsPlan, scenario: &ScenarioRecord) -> Result<bool, PlanError> {
        let kernels = |hosts: &[NodeId]| hosts.iter().filter(|host| self.kernels.contains_key(host)).count();
        let (sources, destinations) = (kernels(&traffic.sources), kernels(&traffic.destinations));
        if sources + destinations == 0 {
            return Ok(false);
        }
        if sources == traffic.sources.len() && destinations == traffic.destinations.len() {
            return Ok(true);
        }
        let describe = |kernels: usize, all: usize| match kernels {
            0 => "modelled hosts",
            _ if kernels == all => "kernel hosts",
            _ => "modelled and kernel hosts",
        };
        let message = format!(
            "traffic `{}` goes from {} to {}: a modelled host cannot talk to a kernel",
            traffic.name,
            describe(sources, traffic.sources.len()),
            describe(destinations, traffic.destinations.len()),
        );
        let key = match scenario.traffic[usize::from(traffic.index)].flows() {
            Some(record) if record.from.is_some() => "from",
            Some(_) => "to",
            None => "file",
        };
        let fault = PlanError::new(&["traffic", &traffic.index.to_string(), key], message);
        Err(fault.help("give both groups the same `kind`, or all hosts one with `host-kind` or --hosts"))
    }

    /// Whether the flows of `traffic` are recorded over time by kernel hosts that send them.
    pub fn is_sampled(&self, context: &Context<'_>, traffic: &FlowsPlan) -> bool {
        context.scenario.measure.series.iter().any(|series| FLOW_SERIES.contains(series))
            && context.is_measured(&traffic.name)
            && traffic.sources.iter().any(|host| self.kernels.contains_key(host))
    }

    /// Whether the hosts of `member`'s group can share a kernel.
    pub fn can_share(&self, member: &Member) -> bool {
        self.place == Where::Guests && member.group < self.groups.len() && member.record.hosts_per_guest > 1
    }

    /// Which of `hosts` share a kernel. That depends on places in groups alone, so that runs in which fewer take part
    /// have the same kernels otherwise.
    pub fn guests(&self, network: &Network, hosts: &BTreeMap<NodeId, Host>) -> Result<Vec<Guest>, PlanError> {
        let mut shared: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
        let mut all: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
        for (&host, Member { group, place, record, .. }) in &self.kernels {
            let width = if *group < self.groups.len() { record.hosts_per_guest as usize } else { 1 };
            let key = (*group, place / width);
            all.entry(key).or_default().push(host);
            if hosts.contains_key(&host) {
                shared.entry(key).or_default().push(host);
            }
        }
        let mut guests = Vec::new();
        for (key, members) in shared {
            let cards: usize = members.iter().map(|host| hosts[host].links.len()).sum();
            if cards > MAX_CARDS as usize {
                let group = self.groups.get(key.0).copied().unwrap_or_default();
                let message = format!(
                    "{} hosts of `{group}` in one kernel have {cards} interfaces, and a kernel has at most {MAX_CARDS}",
                    members.len()
                );
                let fault = PlanError::new(&["hosts", group, "linux", "hosts-per-guest"], message);
                return Err(fault.help("take a smaller `hosts-per-guest`"));
            }
            let first = all[&key][0];
            guests.push(Guest { name: network.name(first).to_string(), hosts: members });
        }
        Ok(guests)
    }
}
