//! Kernel hosts of a plan: which there are, how they are set up, what they send and run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_agent::protocol;
use headway_fabric::{LinkId, NodeId};
use headway_kernel::Watch;
use headway_kernel::setup::{self, Endpoints, MAX_CARDS, MAX_HOSTS, Mptcp, Setup};
use headway_transport::Failure;
use headway_units::{Span, Time};

use crate::namespaces;
use crate::policy::{Multipath, Resolved};
use headway_scenario::plan::{FlowsPlan, Network, PlanError, carriers};
use headway_scenario::schema::{
    CommandRecord, HostKind, LinuxHostsRecord, PolicyRecord, ScenarioRecord, Series, TransportRecord,
};

/// What to do about hosts without a lane for long flows.
const LANES: &str = "a lane is an interface: take fewer short ones, more subflows, or hosts with more interfaces";
/// Listeners of flows are at this port and the following ones, one for each traffic.
const FIRST_SERVICE: u16 = 5_000;

/// A feature that kernels must have, and where the scenario asks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// The keys that lead to the place in the file that asks for it.
    pub path: Vec<String>,
    /// What must be there.
    pub feature: Feature,
}

/// A feature that not every kernel has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A congestion control.
    Control(String),
    /// A queueing discipline.
    Queue(String),
    /// Timers of so many milliseconds.
    Timer(u32),
}

/// Where kernel hosts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In guests, in virtual time.
    Guests,
    /// In namespaces of the machine's own kernel, in real time.
    Namespaces,
}

/// The kernel hosts of a plan.
#[derive(Debug, Clone)]
pub struct Kernels {
    /// Where they are.
    pub place: Where,
    /// Those that may take part.
    pub(crate) hosts: BTreeMap<NodeId, Host>,
    /// Which of them share a kernel, in order.
    pub(crate) guests: Vec<Guest>,
    /// Per traffic, by its place: how its flows are sent, if kernel hosts send them.
    pub(crate) flows: BTreeMap<u16, Flows>,
    pub(crate) commands: Vec<Command>,
    /// What the image must have.
    pub requirements: Vec<Requirement>,
    pub(crate) captures: Vec<(String, Vec<Watch>)>,
    /// The user's files. Whether they are there is for runs to find out.
    pub files: Option<PathBuf>,
    /// Samples of flows are so far apart, if there are any.
    pub(crate) sample_ns: Option<u64>,
    pub(crate) mtu: u16,
    pub(crate) end: Time,
    /// When the carrier of an interface goes, comes back, …
    pub(crate) carriers: BTreeMap<LinkId, Vec<Time>>,
}

/// A host that is a kernel.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) name: Arc<str>,
    pub(crate) record: Arc<LinuxHostsRecord>,
    pub(crate) links: Vec<LinkId>,
    pub(crate) setup: Setup,
    pub(crate) daemon: Option<protocol::Daemon>,
}

/// Hosts that share a kernel.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// The first of them, whether it takes part or not: random numbers are named by it.
    pub(crate) name: String,
    pub(crate) hosts: Vec<NodeId>,
}

/// How flows of a traffic are sent.
#[derive(Debug, Clone)]
pub(crate) struct Flows {
    pub(crate) port: u16,
    pub(crate) control: String,
    pub(crate) mptcp: bool,
    pub(crate) sampled: bool,
    /// Who listens.
    pub(crate) destinations: BTreeSet<NodeId>,
}

/// A program on a host.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) traffic: Arc<str>,
    pub(crate) host: NodeId,
    pub(crate) shell: String,
    /// Before the run when left out.
    pub(crate) start: Option<Span>,
    pub(crate) stop: Option<Span>,
}

/// What a traffic wants of a host as a whole.
struct Want<'a> {
    traffic: &'a str,
    resolved: &'a Resolved,
    opens: bool,
    accepts: bool,
}

impl Kernels {
    /// The programs that set its hosts up, as text.
    pub fn setup(&self) -> String {
        let daemon = |host: &Host| {
            let files = host.daemon.iter().flat_map(|daemon| &daemon.files).map(|(_, text)| text.clone());
            host.daemon.iter().map(|daemon| daemon.words.join(" ") + "\n").chain(files).collect::<String>()
        };
        let programs =
            |host: &Host| host.setup.programs().iter().map(|words| words.join(" ") + "\n").collect::<String>();
        self.hosts.values().map(|host| programs(host) + &daemon(host)).collect()
    }

    /// Whether all hosts of `traffic` are kernels; none of them are otherwise.
    pub fn sends(&self, traffic: u16) -> bool {
        self.flows.contains_key(&traffic)
    }

    /// The kernel hosts of `scenario` under `policy`, if there are any that may take part.
    pub fn new(
        scenario: &ScenarioRecord,
        policy: usize,
        network: &Network,
        planned: &[FlowsPlan],
        failures: &[Failure],
        folder: &Path,
    ) -> Result<Option<Kernels>, PlanError> {
        let place = Places::new(scenario, network)?;
        let record = &scenario.policy[policy];
        let number = policy.to_string();
        let (mut resolved, mut sampled) = (BTreeMap::new(), BTreeSet::new());
        for traffic in planned {
            if place.are_kernels(traffic, scenario)? {
                if traffic.waits() {
                    let message = format!("kernel hosts cannot send `{}` in a closed loop", traffic.name);
                    let fault = PlanError::new(&["traffic", &traffic.index.to_string(), "arrival"], message);
                    let help = "kernels are told beforehand when their flows start: use another `kind` of arrival, or \
                                a program that waits, with traffic of kind = \"command\"";
                    return Err(fault.help(help));
                }
                let own = resolve(record, &number, scenario, traffic, folder)?;
                if place.is_sampled(scenario, traffic) {
                    sampled.insert(traffic.index);
                }
                resolved.insert(traffic.index, own);
            }
        }
        let (commands, of_commands) = place.commands(scenario, record, &number, network, folder)?;
        let captures = place.captures(scenario, network)?;
        if resolved.is_empty() && commands.is_empty() {
            return Ok(None);
        }
        if place.place == Where::Namespaces {
            namespaces::check(scenario, record, &number, network, resolved.len() == planned.len())?;
        }
        let mtu = scenario.topology.mtu.get() as u16;
        let end = Time::ZERO + scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
        let mut kernels = Kernels {
            place: place.place,
            hosts: BTreeMap::new(),
            guests: Vec::new(),
            flows: BTreeMap::new(),
            commands,
            requirements: requirements(record, &number, planned, &resolved, &of_commands),
            captures,
            files: scenario.files.as_ref().map(|name| folder.join(name)),
            sample_ns: sample_ns(scenario, !sampled.is_empty())?,
            mtu,
            end,
            carriers: carriers(failures, end),
        };
        let mut wants: BTreeMap<NodeId, Vec<Want>> = BTreeMap::new();
        for traffic in planned.iter().filter(|traffic| resolved.contains_key(&traffic.index)) {
            let own = &resolved[&traffic.index];
            for (hosts, opens) in [(&traffic.sources, true), (&traffic.destinations, false)] {
                for &host in hosts {
                    let want = Want { traffic: &traffic.name, resolved: own, opens, accepts: !opens };
                    wants.entry(host).or_default().push(want);
                }
            }
            let flows = Flows {
                port: FIRST_SERVICE + traffic.index,
                control: own.control.clone(),
                mptcp: own.mptcp.is_some(),
                sampled: sampled.contains(&traffic.index),
                destinations: traffic.destinations.iter().copied().collect(),
            };
            kernels.flows.insert(traffic.index, flows);
        }
        for command in &kernels.commands {
            let (traffic, resolved) = of_commands
                .iter()
                .find(|(name, _)| **name == *command.traffic)
                .expect("every command's transport is resolved");
            let want = Want { traffic, resolved, opens: true, accepts: true };
            wants.entry(command.host).or_default().push(want);
        }
        for (number, line) in record.linux.iter().flat_map(|linux| &linux.run).enumerate() {
            kernels.commands.extend(wants.keys().map(|&host| beside(number, line, host)));
        }
        for (&host, wants) in &wants {
            let own = place.host(host, wants, record, &number, scenario, network, kernels.flows.is_empty())?;
            kernels.hosts.insert(host, own);
        }
        if kernels.place == Where::Guests {
            kernels.guests = place.guests(network, &kernels.hosts)?;
        }
        Ok(Some(kernels))
    }

    /// The names by which hosts know each other: its own for interface 0, with the interface's number for all.
    pub(crate) fn names(&self) -> BTreeMap<IpAddr, String> {
        let mut names = BTreeMap::new();
        for host in self.hosts.values() {
            for interface in 0..host.setup.interfaces {
                let address = setup::ipv4(host.setup.number, interface);
                let own = format!("{}-{interface}", host.name);
                let text = if interface == 0 { format!("{} {own}", host.name) } else { own };
                names.insert(address.into(), text);
            }
        }
        names
    }
}

/// What hosts are and where they come from.
struct Places<'a> {
    place: Where,
    /// Per kernel host: its number, its group (the last place for those without), its place in that, and how it is set up.
    kernels: BTreeMap<NodeId, (u32, usize, usize, Arc<LinuxHostsRecord>)>,
    groups: Vec<&'a str>,
}

impl<'a> Places<'a> {
    fn new(scenario: &'a ScenarioRecord, network: &'a Network) -> Result<Places<'a>, PlanError> {
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
                kernels.insert(host, (number as u32, group, place, linux));
            }
        }
        if kinds.len() > 1 {
            let message = "some hosts are namespaces of this machine, and others are not";
            let help = "namespaces are in real time: all hosts are, or none; set `host-kind`, or run with --hosts";
            return Err(PlanError::new(&["hosts"], message).help(help));
        }
        let place = if kinds.contains(&true) { Where::Namespaces } else { Where::Guests };
        Ok(Places { place, kernels, groups })
    }

    /// Whether kernel hosts send this traffic. Those that send and those that receive must be of one kind.
    fn are_kernels(&self, traffic: &FlowsPlan, scenario: &ScenarioRecord) -> Result<bool, PlanError> {
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
        let record = scenario.traffic[usize::from(traffic.index)].flows();
        let key = if record.is_some_and(|record| record.from.is_some()) { "from" } else { "to" };
        let fault = PlanError::new(&["traffic", &traffic.index.to_string(), key], message);
        Err(fault.help("give both groups the same `kind`, or all hosts one with `host-kind` or --hosts"))
    }

    fn is_sampled(&self, scenario: &ScenarioRecord, traffic: &FlowsPlan) -> bool {
        let measure = &scenario.measure;
        let flows = [Series::Goodput, Series::Cwnd, Series::Rtt, Series::LinkCost];
        measure.series.iter().any(|series| flows.contains(series))
            && measure.traffic.as_ref().is_none_or(|names| names.iter().any(|name| **name == *traffic.name))
            && traffic.sources.iter().any(|host| self.kernels.contains_key(host))
    }

    /// The programs of the scenario, and how TCP of their hosts is set up, by traffic.
    #[expect(clippy::type_complexity, reason = "two lists, used once")]
    fn commands(
        &self,
        scenario: &'a ScenarioRecord,
        policy: &PolicyRecord,
        number: &str,
        network: &Network,
        folder: &Path,
    ) -> Result<(Vec<Command>, Vec<(&'a str, Resolved)>), PlanError> {
        let (mut commands, mut resolved) = (Vec::new(), Vec::new());
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            let Some(record) = traffic.command().filter(|_| traffic.takes_part(scenario)) else { continue };
            let name = &*traffic.name;
            let fault = |key: &str, message: String| PlanError::new(&["traffic", &index.to_string(), key], message);
            let hosts = network.group(&record.on);
            if hosts.iter().any(|host| !self.kernels.contains_key(host)) {
                let message = format!("traffic `{name}` is a program, and the hosts of `{}` are modelled", record.on);
                let help = format!(
                    "programs need kernel hosts: set kind = \"linux\" in hosts.{}, or run with --hosts linux",
                    record.on
                );
                return Err(fault("on", message).help(help));
            }
            let count = record.hosts.map_or(hosts.len(), |n| n as usize);
            if count > hosts.len() {
                let message =
                    format!("`traffic.{name}.hosts` is more than the {} hosts of `{}`", hosts.len(), record.on);
                return Err(fault("hosts", message));
            }
            for (place, &host) in hosts.iter().take(count).enumerate() {
                commands.push(command(name, record, host, &network.name(host), place));
            }
            let (transport, at) = transport(policy, number, name);
            let at: Vec<&str> = at.iter().map(String::as_str).collect();
            resolved.push((name, Resolved::new(policy, transport, &at, folder)?));
        }
        Ok((commands, resolved))
    }

    fn captures(&self, scenario: &ScenarioRecord, network: &Network) -> Result<Vec<(String, Vec<Watch>)>, PlanError> {
        let graph = &network.built.graph;
        let mut captures: Vec<(String, Vec<Watch>)> = Vec::new();
        for (index, name) in scenario.measure.capture.iter().enumerate() {
            let fault = |message: String| PlanError::new(&["measure", "capture", &index.to_string()], message);
            let watches = if let Some((from, to)) = name.split_once('>') {
                let links: Vec<LinkId> = (0..graph.links().len() as u32)
                    .map(LinkId)
                    .filter(|&id| {
                        let link = graph.link(id);
                        *network.name(link.from) == *from && *network.name(link.to) == *to
                    })
                    .collect();
                if links.is_empty() {
                    let message = format!("there is no link `{name}` to capture");
                    return Err(fault(message).help("links are named from>to, as in the series of queues"));
                }
                if self.kernels.is_empty() {
                    let message = format!("`{name}` cannot be captured: packets of modelled hosts have no content");
                    return Err(fault(message).help("only what kernel hosts send is captured"));
                }
                links.into_iter().map(Watch::Link).collect()
            } else {
                let Some(host) = graph.find(name).filter(|&node| !graph.interfaces(node).is_empty()) else {
                    return Err(fault(format!("there is no host `{name}` to capture")));
                };
                if !self.kernels.contains_key(&host) {
                    let message = format!("`{name}` cannot be captured: packets of modelled hosts have no content");
                    return Err(fault(message).help("capture kernel hosts, or links that their packets pass"));
                }
                graph.interfaces(host).iter().map(|&link| Watch::Interface(link)).collect()
            };
            if captures.iter().any(|(known, _)| known == name) {
                return Err(fault(format!("`{name}` is captured twice")));
            }
            captures.push((name.clone(), watches));
        }
        Ok(captures)
    }

    #[expect(clippy::too_many_arguments, reason = "all that decides how a host is set up")]
    fn host(
        &self,
        host: NodeId,
        wants: &[Want<'_>],
        policy: &PolicyRecord,
        policy_number: &str,
        scenario: &ScenarioRecord,
        network: &Network,
        only_commands: bool,
    ) -> Result<Host, PlanError> {
        let (number, group, _, record) = &self.kernels[&host];
        let name = network.name(host);
        let links = network.built.graph.interfaces(host).to_vec();
        if *number >= MAX_HOSTS || links.len() > MAX_CARDS as usize {
            let message =
                format!("`{name}` cannot be a kernel host: it is number {number} with {} interfaces", links.len());
            let help = format!("kernel hosts are among the first {MAX_HOSTS}, with at most {MAX_CARDS} interfaces");
            return Err(PlanError::new(&["hosts"], message).help(help));
        }
        let interfaces = links.len() as u32;
        let first = &wants[0];
        // What is the same for all sockets of a host: everything but the congestion control, and MPTCP's path manager.
        let mut mptcp: Option<Mptcp> = None;
        let mut of_mptcp: Option<(&Multipath, &str)> = None;
        let mut daemon = None;
        for want in wants {
            let differ = |other: &str| {
                let message = format!(
                    "under policy `{}`, traffic `{other}` and `{}` want different settings of host `{name}`, which has \
                     one kernel for both",
                    policy.name, want.traffic
                );
                let fault = PlanError::new(&["policy", policy_number, "traffic", want.traffic], message);
                fault.help("on one kernel host only `control` and the protocol may differ")
            };
            if want.resolved.stack != first.resolved.stack {
                return Err(differ(first.traffic));
            }
            let Some(own) = &want.resolved.mptcp else { continue };
            let subflows = own.subflows.unwrap_or(interfaces).min(interfaces).min(8);
            if let Some((known, other)) = of_mptcp {
                let alike = known.subflows.unwrap_or(interfaces).min(interfaces).min(8) == subflows
                    && (&known.backup, &known.daemon) == (&own.backup, &own.daemon);
                if !alike {
                    return Err(differ(other));
                }
            } else {
                of_mptcp = Some((own, want.traffic));
                mptcp = Some(if let Some(lanes) = &own.daemon {
                    let program = lanes.program(subflows).map_err(|what| {
                        let message = format!("policy `{}` on host `{name}` {what}", policy.name);
                        PlanError::new(&["policy", policy_number], message).help(LANES)
                    })?;
                    daemon = Some(program);
                    Mptcp::Userspace
                } else {
                    let backup = own.backup.clone();
                    Mptcp::Kernel(Endpoints { subflows, backup, opens: false, accepts: false })
                });
            }
            if let Some(Mptcp::Kernel(endpoints)) = &mut mptcp {
                endpoints.opens |= want.opens;
                endpoints.accepts |= want.accepts;
            }
        }
        // Sockets of flows are given theirs; those of commands have what the host has.
        let is_command = |want: &&Want<'_>| {
            scenario.traffic.iter().any(|traffic| traffic.name.as_str() == want.traffic && traffic.command().is_some())
        };
        let decides = wants.iter().find(is_command).unwrap_or(first);
        let other = wants.iter().find(|want| want.resolved.control != decides.resolved.control);
        if let Some(other) = wants.iter().filter(is_command).find(|w| w.resolved.control != decides.resolved.control) {
            let message = format!(
                "under policy `{}`, commands `{}` and `{}` want different congestion controls of host `{name}`",
                policy.name, decides.traffic, other.traffic
            );
            let path = ["policy", policy_number, "traffic", other.traffic];
            return Err(PlanError::new(&path, message).help("run them on hosts of their own"));
        }
        let agreed = is_command(&decides) || other.is_none();
        let mut sysctls = Vec::new();
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        sysctls.extend(policy.linux.iter().flat_map(|linux| linux.sysctl.iter()).map(own));
        sysctls.extend(record.sysctl.iter().map(own));
        let setup = Setup {
            number: *number,
            interfaces,
            mtu: scenario.topology.mtu.get() as u32,
            memory: memory(record),
            shared: self.place == Where::Guests && *group < self.groups.len() && record.hosts_per_guest > 1,
            stack: Some(first.resolved.stack.clone()),
            control: agreed.then(|| decides.resolved.control.clone()),
            mptcp,
            // what the kernel chooses by itself must not be in the way of the ports that flows are given
            local_ports: (!only_commands).then_some((60_000, 65_535)),
            queue: policy.linux.as_ref().and_then(|linux| linux.qdisc.clone()),
            sysctls,
            lines: policy.linux.iter().flat_map(|linux| &linux.setup).chain(&record.setup).cloned().collect(),
        };
        Ok(Host { name, record: Arc::clone(record), links, setup, daemon })
    }

    /// Which of `hosts` share a kernel. That depends on places in groups alone, so that runs in which fewer take part
    /// have the same kernels otherwise.
    fn guests(&self, network: &Network, hosts: &BTreeMap<NodeId, Host>) -> Result<Vec<Guest>, PlanError> {
        let mut shared: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
        let mut all: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
        for (&host, (_, group, place, record)) in &self.kernels {
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

/// Whole megabytes (2²⁰), as kernels like their memory.
pub(crate) fn memory(record: &LinuxHostsRecord) -> u64 {
    record.memory.get().div_ceil(1 << 20) << 20
}

/// A program of a policy: it is there before the first flow, and no traffic can have its name.
fn beside(number: usize, line: &str, host: NodeId) -> Command {
    let traffic = format!("run.{number}").into();
    Command { traffic, host, shell: line.to_owned(), start: None, stop: None }
}

fn command(traffic: &str, record: &CommandRecord, host: NodeId, name: &str, place: usize) -> Command {
    Command {
        traffic: traffic.into(),
        host,
        shell: record.run.replace("{host}", name).replace("{index}", &place.to_string()),
        start: Some(record.start),
        stop: record.stop,
    }
}

/// The transport of `traffic` under `policy`, and where it stands.
fn transport<'a>(policy: &'a PolicyRecord, number: &str, traffic: &str) -> (&'a TransportRecord, Vec<String>) {
    let at = |path: &[&str]| path.iter().map(|&part| part.to_owned()).collect();
    match policy.traffic.get(traffic) {
        Some(own) => (own, at(&["policy", number, "traffic", traffic])),
        None => (&policy.transport, at(&["policy", number, "transport"])),
    }
}

fn resolve(
    policy: &PolicyRecord,
    number: &str,
    scenario: &ScenarioRecord,
    traffic: &FlowsPlan,
    folder: &Path,
) -> Result<Resolved, PlanError> {
    let (record, at) = transport(policy, number, &traffic.name);
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    let resolved = Resolved::new(policy, record, &at, folder)?;
    if let Some(own) = &resolved.mptcp
        && let Some(wanted) = own.subflows
        && let Some(fewest) = traffic.fewest_interfaces
        && wanted as usize > fewest
    {
        let message = format!(
            "policy `{}` has {wanted} subflows, and hosts of traffic `{}` have {fewest} interfaces: a kernel opens one \
             for each pair",
            policy.name, traffic.name
        );
        return Err(PlanError::new(&[&at[..], &["subflows"]].concat(), message)
            .help("for kernel hosts, put linux = { subflows = … } into the transport"));
    }
    let sampled_cost = scenario.measure.series.contains(&Series::LinkCost)
        && scenario.measure.traffic.as_ref().is_none_or(|names| names.iter().any(|name| **name == *traffic.name));
    if sampled_cost {
        let message = format!("the link cost of traffic `{}` cannot be recorded: kernels do not tell it", traffic.name);
        return Err(PlanError::new(&["measure", "series"], message));
    }
    Ok(resolved)
}

/// What the image must have, where it is asked for.
fn requirements(
    policy: &PolicyRecord,
    number: &str,
    planned: &[FlowsPlan],
    resolved: &BTreeMap<u16, Resolved>,
    of_commands: &[(&str, Resolved)],
) -> Vec<Requirement> {
    let mut requirements = Vec::new();
    let of_flows = planned.iter().filter_map(|traffic| Some((&*traffic.name, resolved.get(&traffic.index)?)));
    let of_commands = of_commands.iter().map(|(name, own)| (*name, own));
    for (name, own) in of_flows.chain(of_commands) {
        let (record, at) = transport(policy, number, name);
        let at = |key: &str| [&at[..], &[key.to_owned()]].concat();
        let key = match &record.linux {
            Some(linux) if linux.control.is_some() => ["linux", "control"].as_slice(),
            _ => ["control"].as_slice(),
        };
        let mut path = at(key[0]);
        path.extend(key[1..].iter().map(|&part| part.to_owned()));
        requirements.push(Requirement { path, feature: Feature::Control(own.control.clone()) });
        requirements.push(Requirement { path: at("min-rto"), feature: Feature::Timer(own.stack.min_rto_ms) });
    }
    if let Some(queue) = policy.linux.as_ref().and_then(|linux| linux.qdisc.as_ref())
        && let Some(name) = headway_scenario::queue_name(queue)
    {
        let path = ["policy", number, "linux", "qdisc"].map(str::to_owned).to_vec();
        requirements.push(Requirement { path, feature: Feature::Queue(name.to_owned()) });
    }
    requirements.dedup();
    requirements
}

fn sample_ns(scenario: &ScenarioRecord, sampled: bool) -> Result<Option<u64>, PlanError> {
    if !sampled {
        return Ok(None);
    }
    let interval = scenario.measure.interval;
    if !interval.picos().is_multiple_of(1000) {
        let message = format!("an interval of {interval} is no whole number of nanoseconds, in which kernels count");
        return Err(PlanError::new(&["measure", "interval"], message));
    }
    Ok(Some(interval.picos() / 1000))
}
