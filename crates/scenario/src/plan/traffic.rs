//! Flows of a traffic: senders, receivers, sizes and times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use headway_control::lanes::MAX_SUBFLOWS;
use headway_engine::Streams;
use headway_fabric::NodeId;
use headway_traffic::{Arrival, Ends, Expected, Flows, Pattern, Shares, Size, Traffic};
use headway_transport::{AddressPairs, FlowStart, Multipath, Profile};
use headway_units::{Span, Time};

use super::error::PlanError;
use super::network::{Hosts, Network};
use super::offered::{Offered, Round};
use super::pooled::Pool;
use super::replay::Replay;
use crate::schema::{ArrivalRecord, FlowsRecord, LoadRecord, Pairs, PolicyRecord, Protocol, ScenarioRecord, SizeKind};
use headway_language::Ratio;

/// One kind of traffic with the hosts it runs between.
#[derive(Debug, Clone)]
pub struct FlowsPlan {
    /// By which it is known.
    pub name: Arc<str>,
    /// Its place among all traffic.
    pub index: u16,
    pub(super) origin: Origin,
    /// The connections that its flows are messages on, if they have none of their own.
    pub(super) pool: Option<Pool>,
    /// When each flow should be complete, counted from its start.
    pub(super) deadline: Option<Span>,
    /// Who sends.
    pub sources: Hosts,
    /// Who receives.
    pub destinations: Hosts,
    /// The fewest interfaces that one of them has.
    pub fewest_interfaces: Option<usize>,
}

/// Where flows come from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// They are drawn.
    Drawn { traffic: Traffic, ends: Ends },
    /// They are listed.
    Listed(Replay),
}

impl FlowsPlan {
    /// Flows of `record`, which is number `index`, between the hosts of `network`; files it names are in `folder`.
    ///
    /// # Errors
    /// If it has no hosts, paths, sizes or arrivals like that.
    pub(super) fn build(
        name: &str,
        record: &FlowsRecord,
        index: usize,
        scenario: &ScenarioRecord,
        network: &Network,
        folder: &Path,
    ) -> Result<FlowsPlan, PlanError> {
        let number = index.to_string();
        let fault = |key: &str, message: String| PlanError::new(&["traffic", &number, key], message);
        let mut destinations: Hosts = network.group(&record.to).to_vec();
        let within = record.from.as_ref().is_some_and(|from| *from == record.to);
        let mut sources: Hosts = match &record.from {
            Some(from) => network.group(from).to_vec(),
            // "any host" is every host of the topology outside the group that receives
            None => network.built.hosts.iter().copied().filter(|host| !destinations.contains(host)).collect(),
        };
        if sources.is_empty() {
            let message = format!("traffic `{name}` has nobody to send: every host is in `{}`", record.to);
            return Err(fault("to", message).help("name the group that sends with `from`"));
        }
        if !within
            && let Some(host) =
                sources.iter().collect::<BTreeSet<_>>().intersection(&destinations.iter().collect()).next()
        {
            let message =
                format!("traffic `{name}` goes between hosts of which `{}` is on both sides", network.name(**host));
            return Err(
                fault("to", message).help("hosts of one group send to each other if it is in both `from` and `to`")
            );
        }
        for (key, count, hosts) in
            [("senders", record.senders, &mut sources), ("receivers", record.receivers, &mut destinations)]
        {
            let Some(count) = count else { continue };
            if within {
                let message = format!("`traffic.{name}.{key}` needs senders and receivers in groups of their own");
                return Err(fault(key, message));
            }
            // of groups that is checked before
            if record.groups().any(|group| group.contains('+') || scenario.views.get(group).is_some())
                && count as usize > hosts.len()
            {
                let message = format!("`traffic.{name}.{key}` is more than the {} hosts there", hosts.len());
                return Err(fault(key, message));
            }
            hosts.truncate(count as usize);
        }
        let size = record.size.0.size(folder).map_err(|message| fault("size", message))?;
        let arrival = match &record.arrival {
            ArrivalRecord::Load(own) => {
                load(own, record, size.as_ref(), &sources, network).map_err(|(message, help)| {
                    help.into_iter().fold(fault("arrival", message.to_owned()), PlanError::help)
                })?
            }
            other => arrival(other).expect("only a load depends on more"),
        };
        let pattern = match record.pairs {
            Pairs::Random => Pattern::Random,
            Pairs::EachDestination => Pattern::EachDestination,
            Pairs::AllToAll => Pattern::AllToAll,
            Pairs::Permutation => Pattern::Permutation,
            Pairs::Incast => Pattern::Incast,
        };
        let ends = if within {
            Ends::Within { hosts: destinations.len() }
        } else {
            Ends::Between { sources: sources.len(), destinations: destinations.len() }
        };
        let stop = record.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let (start, stop) = (Time::ZERO + record.start, Time::ZERO + stop);
        let share = |share: Option<Ratio>| share.map(Ratio::get);
        let shares = Shares { sources: share(record.from_share), destinations: share(record.to_share) };
        let shared = matches!(record.size.0, SizeKind::Shared(_));
        let traffic = Traffic { name: name.to_owned(), pattern, shares, size, shared, arrival, start, stop };
        check_paths(&sources, &destinations, network).map_err(|message| fault("to", message))?;
        if !sources.is_empty() {
            // What could be wrong with them is wrong for any seed.
            traffic
                .flows(ends, Streams::new(0))
                .map_err(|error| fault("pairs", format!("traffic `{name}`: {error}")))?;
        }
        let origin = Origin::Drawn { traffic, ends };
        Ok(FlowsPlan::new((name, index), origin, record.deadline, [sources, destinations], network))
    }

    pub(super) fn new(
        (name, index): (&str, usize),
        origin: Origin,
        deadline: Option<Span>,
        [sources, destinations]: [Hosts; 2],
        network: &Network,
    ) -> FlowsPlan {
        let fewest_interfaces = fewest_interfaces([&sources, &destinations], network);
        let (name, index) = (name.into(), index as u16);
        FlowsPlan { name, index, origin, pool: None, deadline, sources, destinations, fewest_interfaces }
    }

    /// An interface that is asked for must be there.
    pub(super) fn check_interface(
        &self,
        profile: &Profile,
        policy: &PolicyRecord,
        index: usize,
    ) -> Result<(), PlanError> {
        check_interface(&self.name, self.fewest_interfaces, profile, policy, index)
    }

    /// A time-out that is over before any acknowledgement can be there, however often it is doubled, sends all for ever.
    pub(super) fn check_timeouts(
        &self,
        profile: &Profile,
        network: &Network,
        policy: &PolicyRecord,
        index: usize,
    ) -> Result<(), PlanError> {
        let graph = &network.built.graph;
        let nearest = |hosts: &Hosts| {
            let links = hosts.iter().flat_map(|&host| graph.interfaces(host));
            links.map(|&link| graph.link(link).wire.delay.min(graph.link(link.reverse()).wire.delay)).min()
        };
        let (Some(ours), Some(theirs)) = (nearest(&self.sources), nearest(&self.destinations)) else { return Ok(()) };
        // hosts may be cabled to each other
        let least = ours.max(theirs).saturating_mul(2);
        let own = policy.traffic.get(&self.name);
        if profile.max_rto >= least || matches!(own.unwrap_or(&policy.transport).protocol, Protocol::Roce(_)) {
            return Ok(());
        }
        let message = format!(
            "policy `{}` has no time-out above {}, and a round trip of traffic `{}` takes {least} at least",
            policy.name, profile.max_rto, self.name
        );
        let index = index.to_string();
        let at: &[&str] = if own.is_some() { &["traffic", &self.name] } else { &["transport"] };
        let fault = PlanError::new(&[&["policy", &index], at, &["max-rto"]].concat(), message);
        Err(fault
            .help("everything would be sent again and again before it can be acknowledged: take a longer `max-rto`"))
    }

    /// Lanes need a subflow left for long flows.
    pub(super) fn check_lanes(&self, profile: &Profile, network: &Network, policy: &str) -> Result<(), PlanError> {
        check_lanes(&self.name, [&self.sources, &self.destinations], profile, network, policy)
    }

    /// What it is expected to send in a run; `round` is how long so many bytes take from a source to a destination.
    pub(super) fn offers(&self, round: &Round<'_>) -> Vec<Offered<'_>> {
        let (sources, destinations) = (&self.sources[..], &self.destinations[..]);
        let (index, waits) = (self.index, self.waits());
        let offered = |Expected { flows, at_once, bytes }: Expected, (start, stop): (Time, Time)| Offered {
            traffic: index,
            sources,
            destinations,
            flows,
            at_once,
            bytes,
            start,
            stop,
            waits,
        };
        let mut all = match &self.origin {
            Origin::Drawn { traffic, ends } => {
                let one = traffic.expected(*ends, Span::ZERO);
                let takes = if waits { round(sources, destinations, one.bytes.unwrap_or(0.0)) } else { Span::ZERO };
                vec![offered(traffic.expected(*ends, takes), (traffic.start, traffic.stop))]
            }
            Origin::Listed(replay) => replay.expected().map(|(expected, span)| offered(expected, span)).collect(),
        };
        if let (Some(pool), Some(first)) = (&self.pool, all.first()) {
            let connections = pool.connections(self.pairs_before(), first.flows);
            let expected = Expected { flows: connections, at_once: connections, bytes: Some(1.0) };
            all.push(offered(expected, (first.start, first.stop)));
        }
        all
    }

    /// Its flows in one run.
    pub(super) fn starts(&self, streams: Streams) -> Starts<'_> {
        let flows = match &self.origin {
            Origin::Drawn { .. } if self.sources.is_empty() => Source::Nobody,
            Origin::Drawn { traffic, ends } => {
                Source::Drawn(traffic.flows(*ends, streams).expect("checked when it was planned"))
            }
            Origin::Listed(replay) => Source::Listed { replay, next: 0 },
        };
        Starts { planned: self, flows }
    }

    /// Whether its flows are messages on connections that stay open.
    pub fn is_pooled(&self) -> bool {
        self.pool.is_some()
    }

    /// The most pairs of hosts between which its flows run.
    pub(super) fn pairs_before(&self) -> u64 {
        let all = self.sources.len() as u64 * self.destinations.len() as u64;
        match &self.origin {
            Origin::Drawn { traffic, .. } if traffic.pattern == Pattern::Permutation => self.sources.len() as u64,
            Origin::Drawn { .. } => all,
            Origin::Listed(replay) => replay.pairs().len() as u64,
        }
    }

    /// Whether some of its flows start because others have completed.
    pub fn waits(&self) -> bool {
        matches!(&self.origin, Origin::Drawn { traffic, .. } if traffic.arrival.waits())
    }

    /// The name of a flow, which is the same whatever else is in the scenario: its hash must not depend on that.
    pub(super) fn id(&self, generator: u32, number: u64) -> u64 {
        u64::from(self.index) << 52 | u64::from(generator) << 32 | number
    }
}

/// The flows of one traffic in one run.
pub(super) struct Starts<'a> {
    planned: &'a FlowsPlan,
    flows: Source<'a>,
}

/// The flows that have yet to start.
enum Source<'a> {
    Nobody,
    Drawn(Flows),
    Listed { replay: &'a Replay, next: usize },
}

impl Starts<'_> {
    /// The place of its traffic among all.
    pub fn index(&self) -> u16 {
        self.planned.index
    }

    pub fn waits(&self) -> bool {
        self.planned.waits()
    }

    /// All pairs of hosts between which its flows may run, in order.
    pub fn pairs(&self) -> BTreeSet<(NodeId, NodeId)> {
        let planned = self.planned;
        match &self.flows {
            Source::Nobody => BTreeSet::new(),
            Source::Drawn(flows) => {
                let hosts = |(from, to): (usize, usize)| (planned.sources[from], planned.destinations[to]);
                flows.pairs().into_iter().map(hosts).collect()
            }
            Source::Listed { replay, .. } => replay.pairs(),
        }
    }

    /// When it acts next; nothing if not before a flow completes.
    pub fn next_time(&mut self) -> Option<Time> {
        match &mut self.flows {
            Source::Drawn(flows) => flows.next_time(),
            Source::Listed { replay, next } => replay.time(*next),
            Source::Nobody => None,
        }
    }

    /// Acts, at `now`, if its time has come: a flow may start.
    pub fn start(&mut self, now: Time) -> Option<FlowStart> {
        let planned = self.planned;
        let (time, id, [source, destination], size) = match &mut self.flows {
            Source::Drawn(flows) => {
                let flow = flows.next()?;
                let ends = [planned.sources[flow.source], planned.destinations[flow.destination]];
                // what follows from a completion was due when that was known
                (flow.time.max(now), planned.id(flow.generator, flow.number), ends, flow.size)
            }
            Source::Listed { replay, next } => {
                let (time, ends, size) = replay.flow(*next)?;
                *next += 1;
                (time, planned.id(0, *next as u64 - 1), ends, size)
            }
            Source::Nobody => return None,
        };
        let (index, deadline) = (planned.index, planned.deadline);
        Some(FlowStart { time, id, traffic: index, source, destination, size, deadline, profile: index })
    }

    /// One of its flows has completed.
    pub fn completed(&mut self, at: Time, generator: u32) {
        if let Source::Drawn(flows) = &mut self.flows {
            flows.completed(at, generator);
        }
    }
}

/// One host for each kind, by the parts of the network that its interfaces are in.
fn alike(hosts: &[NodeId], network: &Network) -> BTreeMap<Vec<u32>, NodeId> {
    hosts.iter().map(|&host| (network.parts_of(host), host)).collect()
}

/// Every source must reach every destination over each pair of interfaces that a flow may use. Hosts that look alike
/// (their interfaces in the same parts of the network) are looked at once.
pub(super) fn check_paths(sources: &[NodeId], destinations: &[NodeId], network: &Network) -> Result<(), String> {
    let graph = &network.built.graph;
    let destinations = alike(destinations, network);
    for &source in alike(sources, network).values() {
        for &destination in destinations.values() {
            let (ours, theirs) = (graph.interfaces(source), graph.interfaces(destination));
            let pair = ours.iter().zip(theirs).position(|(&one, &other)| !network.connected(one, other));
            if let Some(nth) = pair {
                let (source, destination) = (network.name(source), network.name(destination));
                return Err(format!("no path from interface {nth} of `{source}` to that of `{destination}`"));
            }
        }
    }
    Ok(())
}

/// The fewest interfaces that one of two groups of hosts has; nothing if a group is empty.
pub(super) fn fewest_interfaces(ends: [&Hosts; 2], network: &Network) -> Option<usize> {
    let graph = &network.built.graph;
    let fewest = |hosts: &Hosts| hosts.iter().map(|&host| graph.interfaces(host).len()).min();
    fewest(ends[0]).zip(fewest(ends[1])).map(|(ours, theirs)| ours.min(theirs))
}

/// An interface that is asked for must be there on all hosts of the traffic `name`, which have at least `fewest`.
pub(super) fn check_interface(
    name: &str,
    fewest: Option<usize>,
    profile: &Profile,
    policy: &PolicyRecord,
    index: usize,
) -> Result<(), PlanError> {
    let (Some(wanted), Some(fewest)) = (profile.interface, fewest) else { return Ok(()) };
    if wanted < fewest {
        return Ok(());
    }
    let message =
        format!("policy `{}` wants interface {wanted} for traffic `{name}`, whose hosts have {fewest}", policy.name);
    let index = index.to_string();
    let own = policy.traffic.get(name).is_some();
    let at: &[&str] = if own { &["traffic", name] } else { &["transport"] };
    Err(PlanError::new(&[&["policy", &index], at, &["interface"]].concat(), message).help("interfaces count from 0"))
}

/// Lanes need a subflow left for long flows between two groups of hosts.
pub(super) fn check_lanes(
    name: &str,
    ends: [&Hosts; 2],
    profile: &Profile,
    network: &Network,
    policy: &str,
) -> Result<(), PlanError> {
    let Some(Multipath { lanes: Some(plan), subflows, pairs, .. }) = &profile.multipath else { return Ok(()) };
    let most = subflows.unwrap_or(MAX_SUBFLOWS).min(MAX_SUBFLOWS);
    let lanes = match pairs {
        AddressPairs::OneToOne => fewest_interfaces(ends, network).map(|fewest| most.min(fewest)),
        AddressPairs::FullMesh => {
            let [sources, destinations] = ends.map(|hosts| alike(hosts, network));
            let pairs = sources.values().flat_map(|&one| destinations.values().map(move |&other| (one, other)));
            pairs.map(|(one, other)| mesh_lanes([one, other], most, network)).min()
        }
    };
    let Some(lanes) = lanes else { return Ok(()) };
    if plan.short >= lanes {
        let message =
            format!("traffic `{name}` leaves no lane for long flows: {} of its {lanes} lanes are short", plan.short);
        let help =
            "a lane is an interface of the sender: take fewer short ones, more subflows, or hosts with more interfaces";
        return Err(PlanError::new(&["policy", policy], message).help(help));
    }
    Ok(())
}

/// How many of the sender's interfaces the first `most` subflows of a full mesh use: each in turn goes to all of the
/// receiver's, as far as there is a path.
fn mesh_lanes(hosts: [NodeId; 2], most: usize, network: &Network) -> usize {
    let [ours, theirs] = hosts.map(|host| network.built.graph.interfaces(host));
    let pairs = ours.iter().enumerate().flat_map(|(own, &from)| theirs.iter().map(move |&to| (own, from, to)));
    let paths = pairs.filter(|&(_, from, to)| network.connected(from, to));
    paths.take(most).last().map_or(0, |(own, ..)| own + 1)
}

/// The rate of all interfaces of `host` together, bit/s.
fn interface_rate(host: NodeId, network: &Network) -> u64 {
    let graph = &network.built.graph;
    graph.interfaces(host).iter().map(|&link| graph.link(link).wire.rate.bps()).fold(0, u64::saturating_add)
}

/// The arrivals of flows that make up a load on the interfaces of `sources`; otherwise the mistake, and a remedy.
fn load(
    own: &LoadRecord,
    record: &FlowsRecord,
    size: Option<&Size>,
    sources: &[NodeId],
    network: &Network,
) -> Result<Arrival, (&'static str, Option<&'static str>)> {
    if record.pairs != Pairs::Random && record.pairs != Pairs::Permutation {
        let help = "use pairs = \"random\" or \"permutation\"";
        return Err(("arrivals by `load` need one process for each source", Some(help)));
    }
    let size = size.ok_or(("a load cannot be had of flows without end", None))?;
    let rates: Vec<u64> = sources.iter().map(|&host| interface_rate(host, network)).collect();
    if rates.windows(2).any(|pair| pair[0] != pair[1]) {
        let help = "give the groups traffic of their own";
        return Err(("a load needs sources whose interfaces have the same rate", Some(help)));
    }
    Ok(Arrival::Poisson { mean: gap(own.fraction.get(), size, rates.first().copied().unwrap_or(1)) })
}

/// The mean gap that makes flows of `size` ask for `fraction` of `bps`.
fn gap(fraction: f64, size: &Size, bps: u64) -> Span {
    let seconds = size.mean().get() as f64 * 8.0 / (bps.max(1) as f64 * fraction);
    Span::from_secs_f64(seconds).max(Span::from_picos(1))
}

/// The arrivals of a record that says all; a load depends on sizes and links.
pub(super) fn arrival(record: &ArrivalRecord) -> Option<Arrival> {
    Some(match record {
        ArrivalRecord::Once(own) => Arrival::Once { count: own.count },
        ArrivalRecord::Poisson(own) => Arrival::Poisson { mean: own.mean },
        ArrivalRecord::Periodic(own) => Arrival::Periodic { period: own.period, jitter: own.jitter },
        ArrivalRecord::ClosedLoop(own) => Arrival::ClosedLoop { think: own.think },
        ArrivalRecord::Load(_) => return None,
    })
}
