//! The size of a run before it runs: the flows that its traffic is expected to start, and what becomes of them, about.
//!
//! Flows are those that arrivals make on average. Their bytes get there as far as the links of their hosts, and a link
//! that most paths have in common, carry them. Paths are those of a few pairs of hosts. Leaves out: retransmissions,
//! unequal loads, congestion controls, the second thoughts of lanes; so it is right within a small factor, not more.

use headway_engine::splitmix64;
use headway_fabric::{Choice, Graph, LinkId, NodeId, Paths};
use headway_transport::SampleKind;
use headway_units::{Span, Time};

use super::models::ModelPlan;
use super::network::Network;
use super::traffics::TrafficPlan;

/// How long so many bytes take from one of the first hosts to one of the second on an idle network.
pub(super) type Round<'a> = dyn Fn(&[NodeId], &[NodeId], f64) -> Span + 'a;

/// Pairs of hosts whose paths are looked at.
const PAIRS: usize = 24;
/// A link that so many of the paths have in common is one that they share.
const COMMON: usize = PAIRS / 3;
/// Frames that open and close a connection.
const HANDSHAKE: f64 = 3.0;
/// Acknowledgements per data segment: every second one, and some at once.
const ACKNOWLEDGEMENTS: f64 = 0.6;

/// Flows of one sort that a run is expected to have, on average over the seeds.
#[derive(Debug, Clone, Copy)]
pub struct Offered<'a> {
    /// The place of its traffic among all.
    pub traffic: u16,
    /// Who sends.
    pub sources: &'a [NodeId],
    /// Who receives.
    pub destinations: &'a [NodeId],
    /// How many.
    pub flows: f64,
    /// How many of them start at one instant at most.
    pub at_once: f64,
    /// The mean of their bytes; `None`: without end.
    pub bytes: Option<f64>,
    /// None starts before.
    pub start: Time,
    /// None starts then or later.
    pub stop: Time,
    /// A closed loop: the next ones wait until those before are there, so there are fewer where links are full.
    pub waits: bool,
}

/// The size of a run, about.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunSize {
    /// Flows of modelled hosts that start.
    pub flows: f64,
    /// Connections that are open at a time, at most.
    pub open: f64,
    /// Those of them that start at one instant.
    pub together: f64,
    /// Frames that cross a link.
    pub hops: f64,
    /// Frames on their way at a time.
    pub in_flight: f64,
    /// Samples of series.
    pub samples: f64,
    /// Directed links of the network.
    pub links: f64,
    /// Hosts and switches.
    pub nodes: f64,
}

/// The paths between two groups of hosts.
#[derive(Debug, Clone, Copy)]
struct Between {
    /// Links of a path.
    links: f64,
    /// There and back on an idle network.
    rtt: f64,
    /// Bytes a second of one flow.
    rate: f64,
    /// Bytes a second of all flows, over one interface of each host and over all of them.
    capacity: f64,
    capacity_of_all: f64,
}

impl TrafficPlan {
    /// Who sends to whom: the place of the traffic among all, senders, receivers.
    pub(super) fn groups(&self) -> Vec<(u16, &[NodeId], &[NodeId])> {
        let at_once = |_: &[NodeId], _: &[NodeId], _: f64| Span::ZERO;
        let flows = self.flows.iter().flat_map(|one| one.offers(&at_once));
        let trees = self.trees.iter().flat_map(|one| one.offers(&at_once));
        let events = self.event_builders.iter().flat_map(|one| one.offers(&at_once));
        let webs = self.webs.iter().flat_map(|one| one.offers(&at_once));
        let all = flows.chain(trees).chain(events).chain(webs);
        all.map(|one| (one.traffic, one.sources, one.destinations)).collect()
    }

    /// What its traffic is expected to send on `network` in a run.
    fn offered(&self, network: &Network, paths: &mut Paths) -> Vec<(Offered<'_>, Between)> {
        let paths = std::cell::RefCell::new(paths);
        let between = |sources: &[NodeId], destinations: &[NodeId]| {
            Between::look((sources, destinations), &network.built.graph, &mut paths.borrow_mut())
        };
        let round = |sources: &[NodeId], destinations: &[NodeId], bytes: f64| {
            between(sources, destinations).map_or(Span::ZERO, |way| Span::from_secs_f64(way.takes(bytes)))
        };
        let flows = self.flows.iter().flat_map(|one| one.offers(&round));
        let trees = self.trees.iter().flat_map(|one| one.offers(&round));
        let events = self.event_builders.iter().flat_map(|one| one.offers(&round));
        let webs = self.webs.iter().flat_map(|one| one.offers(&round));
        let all = flows.chain(trees).chain(events).chain(webs);
        all.filter_map(|one| Some((one, between(one.sources, one.destinations)?))).collect()
    }

    /// The sizes of runs that end at `end` on `network`, one for each of `policies`: its models, and which traffic, by its
    /// place, kernel hosts send.
    pub fn sizes<'m>(
        &self,
        network: &Network,
        end: Time,
        policies: impl Iterator<Item = (&'m ModelPlan, &'m dyn Fn(u16) -> bool)>,
    ) -> Vec<RunSize> {
        let graph = &network.built.graph;
        let offered = self.offered(network, &mut Paths::new(graph));
        policies.map(|(models, kernels)| RunSize::of(&offered, graph, models, end, kernels)).collect()
    }
}

impl RunSize {
    fn of(
        offered: &[(Offered<'_>, Between)],
        graph: &Graph,
        models: &ModelPlan,
        end: Time,
        kernels: &dyn Fn(u16) -> bool,
    ) -> RunSize {
        let mut size =
            RunSize { links: graph.links().len() as f64, nodes: graph.nodes().len() as f64, ..RunSize::default() };
        // connections that are open on average, of each traffic
        let mut open = Vec::new();
        for (own, way) in offered.iter().filter(|(own, _)| !kernels(own.traffic)) {
            let place = usize::from(own.traffic);
            let profile = &models.profiles[place];
            let meshed = profile.multipath.is_some();
            let capacity = if meshed { way.capacity_of_all } else { way.capacity };
            // datagrams are sent at their own rate, and not acknowledged
            let datagram = models.datagrams.get(place).copied().flatten();
            let (payload, frames, capacity) = match datagram {
                Some(own_way) => {
                    let goodput = own_way.rate.bps() as f64 / 8.0 * f64::from(own_way.payload)
                        / f64::from(own_way.payload + own_way.overhead);
                    (f64::from(own_way.payload), 1.0, capacity.min(own.flows * goodput))
                }
                None => (f64::from(profile.mss), 1.0 + ACKNOWLEDGEMENTS, capacity),
            };
            let seconds = end.since(own.start).as_secs_f64();
            // servers whose work takes time answer no more
            let answered = [own.sources, own.destinations].map(|hosts| answers(models, hosts) * seconds + own.at_once);
            let asked = if own.waits { own.flows.min(answered[0]).min(answered[1]) } else { own.flows };
            let carried = capacity * seconds;
            let sent = own.bytes.map_or(carried, |bytes| (asked * bytes).min(carried));
            let done = own.bytes.map_or(0.0, |bytes| sent / bytes);
            // Little: those in a system are those that come in a second times the seconds that each is there
            let busy = asked / own.stop.since(own.start).as_secs_f64().max(1e-12);
            let alive = own.bytes.map_or(asked, |bytes| (busy * way.takes(bytes)).min(asked));
            // in a closed loop nothing is left behind, and what is not there yet keeps the next ones from starting
            let (flows, left) = if own.waits { (asked.min(done + alive), 0.0) } else { (asked, asked - done) };
            let mean = (alive + left).min(flows);
            let subflows = if meshed { 2.0 } else { 1.0 };
            size.flows += flows;
            size.together += own.at_once;
            size.open += subflows * mean.max(own.at_once).min(flows);
            let segments = (sent / payload).max(done);
            size.hops += way.links * (segments * frames + HANDSHAKE * flows);
            size.in_flight += capacity.min(sent / seconds.max(1e-12)) * way.rtt / payload;
            open.push((own.traffic, mean));
        }
        size.samples = samples(models, &open, end);
        size
    }
}

/// Requests a second that `hosts` answer, if all of them are servers whose work takes time; otherwise without end.
fn answers(models: &ModelPlan, hosts: &[NodeId]) -> f64 {
    let of = |host: &NodeId| {
        // work takes time where a host does
        models.hosts.iter().find(|(own, _)| own == host)?;
        let (_, server) = models.servers.iter().find(|(own, _)| own == host)?;
        Some(f64::from(server.workers) / server.cost.request.as_secs_f64())
    };
    hosts.iter().map(|host| of(host).unwrap_or(f64::INFINITY)).sum()
}

/// Samples of series that are taken until `end`, where so many flows of each traffic are open on average.
fn samples(models: &ModelPlan, open: &[(u16, f64)], end: Time) -> f64 {
    let measure = &models.measure;
    let flows: f64 = open.iter().filter(|(traffic, _)| measure.traffics.contains(traffic)).map(|(_, mean)| mean).sum();
    let each = |&kind: &SampleKind| {
        let interval = measure.interval_of(kind).as_secs_f64();
        let looked_at = match kind {
            kind if kind.is_of_flows() => flows,
            kind if kind.is_of_links() => measure.links.len() as f64,
            // of cores and of limits there are few
            _ => (models.hosts.len() + models.metering.iter().len()) as f64,
        };
        if interval > 0.0 { end.as_secs_f64() / interval * looked_at } else { 0.0 }
    };
    measure.kinds.iter().map(each).sum()
}

/// The paths of some pairs of the two groups, over their first interfaces.
pub(super) fn pairs_of(
    (sources, destinations): (&[NodeId], &[NodeId]),
    graph: &Graph,
    paths: &mut Paths,
) -> Vec<Vec<LinkId>> {
    let (mut path, mut found) = (Vec::new(), Vec::new());
    for nth in 0..PAIRS {
        let [one, other] = [(sources, 1), (destinations, 2)].map(|(hosts, salt)| {
            let drawn = if hosts.len() <= PAIRS { nth / salt } else { splitmix64((nth * 2 + salt) as u64) as usize };
            hosts.get(drawn % hosts.len().max(1)).copied()
        });
        let (Some(one), Some(other)) = (one, other) else { break };
        let (Some(&from), Some(&to)) = (graph.interfaces(one).first(), graph.interfaces(other).first()) else {
            continue;
        };
        if one != other && paths.path(from, to, Choice::Ecmp(splitmix64(nth as u64)), &mut path).is_ok() {
            found.push(path.clone());
        }
    }
    found
}

impl Between {
    /// Seconds that a flow of `bytes` takes if it is alone: a handshake and a round trip more for its first bytes.
    fn takes(&self, bytes: f64) -> f64 {
        2.0 * self.rtt + bytes / self.rate
    }

    /// Looks at the paths of some pairs of the two groups; `None` if they have none.
    fn look(groups: (&[NodeId], &[NodeId]), graph: &Graph, paths: &mut Paths) -> Option<Between> {
        let (sources, destinations) = groups;
        let found = pairs_of(groups, graph, paths);
        if found.is_empty() {
            return None;
        }
        let count = found.len() as f64;
        let rate = |link: LinkId| graph.link(link).wire.rate.bps() as f64 / 8.0;
        let mean = |of: &dyn Fn(&Vec<LinkId>) -> f64| found.iter().map(of).sum::<f64>() / count;
        let slowest = |path: &Vec<LinkId>| path.iter().map(|&link| rate(link)).fold(f64::INFINITY, f64::min);
        let there = |path: &Vec<LinkId>| {
            let link = |&link: &LinkId| {
                let latency = graph.node(graph.link(link).to).latency;
                (graph.link(link).wire.delay.saturating_add(latency)).as_secs_f64() + 1500.0 / rate(link)
            };
            path.iter().map(link).sum::<f64>()
        };
        let mut all: Vec<LinkId> = found.iter().flatten().copied().collect();
        all.sort_unstable();
        let common = all.chunk_by(|one, other| one == other).filter(|links| links.len() >= COMMON.min(found.len()));
        let shared = common.map(|links| rate(links[0]) * count / links.len() as f64).fold(f64::INFINITY, f64::min);
        let of = |hosts: &[NodeId], most: usize| -> f64 {
            hosts.iter().flat_map(|&host| graph.interfaces(host).iter().take(most)).map(|&link| rate(link)).sum()
        };
        // a group whose hosts are few has its links in common with most paths, and its sum says that better
        let narrow = |most: usize| of(sources, most).min(of(destinations, most));
        let capacity = narrow(1).min(shared.max(0.0));
        Some(Between {
            links: mean(&|path| path.len() as f64),
            rtt: 2.0 * mean(&there),
            rate: mean(&slowest),
            capacity,
            capacity_of_all: narrow(usize::MAX).max(capacity),
        })
    }
}
