//! Which links a subflow's packets take, resolved once when the subflow opens.
//!
//! A path goes from an interface of the source host to an interface of the destination host: the
//! source's own link, then from switch to switch along a shortest path (fewest links), last the link to
//! the destination interface. Where several next hops are equally short, a [`Choice`] decides. Hosts forward only where
//! the graph lets them, and never what they sent or what is for them: such a path is the shortest of those that meet
//! its two ends nowhere else.
//!
//! [`Paths::avoiding`] finds the paths of what is left when links are down; when routing has learnt of it is the
//! caller's to say.
//!
//! Left out: weights and costs of links, routing protocols and the way to their convergence; and decisions per packet,
//! which are a matter of the switch.

use headway_engine::splitmix64;
use thiserror::Error;

use crate::graph::{Graph, LinkId, NodeId, NodeKind};

mod over;

pub use over::Waypoint;

/// How a switch chooses among equally short next hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Equal-cost multipath (RFC 2992): a hash of the flow, usually [`flow_hash`], and of the switch chooses
    /// uniformly. Switches choose independently of each other, so the choice of one tier does not pin that of the
    /// next (polarisation).
    Ecmp(u64),
    /// A path that follows from the two addresses alone, as lanes need it (thesis §5.2). The first switch with several
    /// next hops takes number `lane` modulo how many there are, in order of connection; later ones hash `pair`, usually
    /// [`pair_hash`].
    Lane {
        /// Which lane, usually the index of the source's interface.
        lane: u32,
        /// What decides past the first branching.
        pair: u64,
    },
}

/// Why there is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoPath {
    /// Both interfaces belong to one host, whose packets to itself never reach the network.
    #[error("source and destination are the same host (node {})", .host.0)]
    SameHost {
        /// The host in question.
        host: NodeId,
    },
    /// The interfaces are in parts of the network that nothing between connects.
    #[error("no chain of switches leads from this interface of node {} to this interface of node {}", .from.0, .to.0)]
    Unreachable {
        /// Source host.
        from: NodeId,
        /// Destination host.
        to: NodeId,
    },
    /// No shortest path passes the nodes that are given, in their order.
    #[error(
        "no shortest path from this interface of node {} to this interface of node {} passes node {} as it is given",
        .from.0, .to.0, .over.0
    )]
    NotOver {
        /// Source host.
        from: NodeId,
        /// Destination host.
        to: NodeId,
        /// The first of the nodes given that it does not pass.
        over: NodeId,
    },
}

/// Not reached by the search. Also the limit on a path's length.
const FAR: u16 = u16::MAX;

/// Distances kept at most, in entries of two bytes. Every distance of a FatTree with 65,536 hosts takes a tenth of it;
/// the rare larger network starts its table anew when it is full, which costs time and changes no path.
const CACHE_ENTRIES: usize = 1 << 28;

/// A forwarder as next hop.
#[derive(Debug, Clone, Copy)]
struct Hop {
    link: LinkId,
    /// Index among the forwarders.
    to: u32,
}

/// Resolves paths in one graph.
///
/// Takes a copy of the graph's shape; distances are between forwarders only (switches, and hosts that forward) and
/// computed at the first path towards one, so many hosts cost nothing. Where hosts forward, distances depend on the two
/// ends that must not, so every path is a search of its own that looks at each link at most once and ends when the
/// source is found.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Per directed link the nodes it goes from and to.
    ends: Vec<(NodeId, NodeId)>,
    /// Per node its index among the forwarders, `None` for others.
    forwarder: Vec<Option<u32>>,
    /// Per forwarder its node.
    node: Vec<NodeId>,
    /// Per forwarder whether it is a host. Empty if none is.
    host: Vec<bool>,
    /// Per forwarder where its next hops begin in `hops`, and an end.
    first: Vec<u32>,
    /// Next hops that are forwarders, by forwarder, in order of connection.
    hops: Vec<Hop>,
    /// Per destination switch the distance from every forwarder, once asked for. Unused where hosts forward.
    distances: Vec<Option<Box<[u16]>>>,
    /// How many of `distances` may be filled at a time.
    capacity: usize,
    /// How many of `distances` are filled.
    filled: usize,
    /// The last search where hosts forward.
    own: OwnSearch,
}

/// Distances for one path.
#[derive(Debug, Clone, Default)]
struct OwnSearch {
    /// Per forwarder; [`FAR`] for all but those in `seen`.
    distance: Vec<u16>,
    /// Whom the search has come to, in order of distance.
    seen: Vec<u32>,
}

impl Paths {
    /// Prepares for the paths of `graph`, which must not change afterwards.
    pub fn new(graph: &Graph) -> Paths {
        Paths::avoiding(graph, |_| false)
    }

    /// As [`new`](Self::new), where no path goes from switch to switch over a cable of which `avoided` says so of either
    /// direction: routing protocols need both. An avoided link at a host is not looked at; the caller knows the
    /// interfaces it asks for.
    pub fn avoiding(graph: &Graph, avoided: impl Fn(LinkId) -> bool) -> Paths {
        let usable = |link: LinkId| !avoided(link) && !avoided(link.reverse());
        let all = (0..).map(NodeId).zip(graph.nodes());
        let node: Vec<NodeId> = all.filter(|(_, node)| node.forwards).map(|(id, _)| id).collect();
        let mut forwarder = vec![None; graph.nodes().len()];
        for (index, id) in (0..).zip(&node) {
            forwarder[id.index()] = Some(index);
        }
        let mut host: Vec<bool> = node.iter().map(|&id| graph.node(id).kind == NodeKind::Host).collect();
        if !host.contains(&true) {
            host.clear();
        }
        let mut first = vec![0];
        let mut hops = Vec::new();
        for &id in &node {
            let ports = graph.interfaces(id).iter().filter(|&&link| usable(link));
            hops.extend(ports.filter_map(|&link| Some(Hop { link, to: forwarder[graph.link(link).to.index()]? })));
            first.push(hops.len() as u32);
        }
        Paths {
            ends: graph.links().iter().map(|link| (link.from, link.to)).collect(),
            distances: vec![None; if host.is_empty() { node.len() } else { 0 }],
            capacity: (CACHE_ENTRIES / node.len().max(1)).max(1),
            filled: 0,
            own: OwnSearch { distance: vec![FAR; host.len()], seen: Vec::new() },
            forwarder,
            node,
            host,
            first,
            hops,
        }
    }

    /// Writes into `out` the links from `source_interface` (an outgoing link of the source host) to
    /// `destination_interface` (an outgoing link of the destination host, which the path enters by its reverse).
    ///
    /// # Errors
    /// [`NoPath`], with `out` empty.
    ///
    /// # Panics
    /// If either link is not in the graph or does not leave a host.
    pub fn path(
        &mut self,
        source_interface: LinkId,
        destination_interface: LinkId,
        choice: Choice,
        out: &mut Vec<LinkId>,
    ) -> Result<(), NoPath> {
        out.clear();
        let (from, entry) = self.ends[source_interface.index()];
        let (to, exit) = self.ends[destination_interface.index()];
        for end in [from, to] {
            assert!(self.is_host(end), "an interface belongs to a host, node {} is a switch", end.0);
        }
        if from == to {
            return Err(NoPath::SameHost { host: from });
        }
        if source_interface == destination_interface.reverse() {
            out.push(source_interface);
            return Ok(());
        }
        let unreachable = NoPath::Unreachable { from, to };
        let (Some(mut at), Some(goal)) = (self.forwarder[entry.index()], self.forwarder[exit.index()]) else {
            return Err(unreachable);
        };
        let distance = if self.host.is_empty() {
            self.search(goal);
            self.distances[goal as usize].as_deref().expect("just searched")
        } else {
            self.search_between(goal, at, [from, to]);
            &self.own.distance
        };
        if distance[at as usize] == FAR {
            return Err(unreachable);
        }
        out.push(source_interface);
        let mut branched = false;
        while at != goal {
            let nearer = distance[at as usize] - 1;
            let candidates = || self.hops(at).iter().filter(|hop| distance[hop.to as usize] == nearer);
            let count = candidates().count() as u32;
            let number = match choice {
                _ if count == 1 => 0,
                Choice::Lane { lane, .. } if !branched => lane % count,
                Choice::Ecmp(hash) | Choice::Lane { pair: hash, .. } => pick(hash, self.node[at as usize], count),
            };
            branched |= count > 1;
            let hop = candidates().nth(number as usize).expect("a switch at distance d has a neighbour at d - 1");
            out.push(hop.link);
            at = hop.to;
        }
        out.push(destination_interface.reverse());
        Ok(())
    }

    /// The links by which the switch `at` may send what goes to `destination_interface` (an outgoing link of the
    /// destination host), in order of connection: the next hops of all shortest paths. None if no path leads there.
    ///
    /// # Panics
    /// If `at` is not a switch, or where hosts forward: there, next hops depend on the source, too.
    pub fn next_hops(&mut self, at: NodeId, destination_interface: LinkId) -> Vec<LinkId> {
        assert!(self.host.is_empty(), "next hops are those of switches alone");
        let from = self.forwarder[at.index()].expect("a switch forwards");
        let (_, exit) = self.ends[destination_interface.index()];
        let Some(goal) = self.forwarder[exit.index()] else { return Vec::new() };
        if from == goal {
            return vec![destination_interface.reverse()];
        }
        self.search(goal);
        let distance = self.distances[goal as usize].as_deref().expect("just searched");
        if distance[from as usize] == FAR {
            return Vec::new();
        }
        let nearer = distance[from as usize] - 1;
        self.hops(from).iter().filter(|hop| distance[hop.to as usize] == nearer).map(|hop| hop.link).collect()
    }

    fn is_host(&self, node: NodeId) -> bool {
        self.forwarder[node.index()].is_none_or(|index| self.host.get(index as usize) == Some(&true))
    }

    fn hops(&self, forwarder: u32) -> &[Hop] {
        &self.hops[self.first[forwarder as usize] as usize..self.first[forwarder as usize + 1] as usize]
    }

    /// Breadth first from `goal`, unless done before. Cables go both ways, so distances to and from it are the same.
    fn search(&mut self, goal: u32) {
        if self.distances[goal as usize].is_some() {
            return;
        }
        if self.filled == self.capacity {
            self.distances.fill(None);
            self.filled = 0;
        }
        let mut distance = vec![FAR; self.node.len()].into_boxed_slice();
        distance[goal as usize] = 0;
        let mut queue = vec![goal];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            let further = distance[at as usize] + 1;
            if further == FAR {
                break;
            }
            for hop in self.hops(at) {
                if distance[hop.to as usize] == FAR {
                    distance[hop.to as usize] = further;
                    queue.push(hop.to);
                }
            }
        }
        self.distances[goal as usize] = Some(distance);
        self.filled += 1;
    }

    /// Breadth first from `goal` until `start` is found, around the nodes `except`. All that is nearer to `goal` than
    /// `start` then has its distance; the rest may not.
    fn search_between(&mut self, goal: u32, start: u32, except: [NodeId; 2]) {
        let OwnSearch { mut distance, mut seen } = std::mem::take(&mut self.own);
        for &one in &seen {
            distance[one as usize] = FAR;
        }
        seen.clear();
        let barred = except.map(|end| self.forwarder[end.index()]);
        if !barred.contains(&Some(goal)) {
            distance[goal as usize] = 0;
            seen.push(goal);
        }
        let mut next = 0;
        while let Some(&at) = seen.get(next) {
            next += 1;
            let further = distance[at as usize] + 1;
            if at == start || further == FAR {
                break;
            }
            for hop in self.hops(at) {
                if distance[hop.to as usize] == FAR && !barred.contains(&Some(hop.to)) {
                    distance[hop.to as usize] = further;
                    seen.push(hop.to);
                }
            }
        }
        self.own = OwnSearch { distance, seen };
    }
}

/// One of `count` next hops of `at`, uniformly over hashes and independently over nodes.
fn pick(hash: u64, at: NodeId, count: u32) -> u32 {
    let mixed = splitmix64(hash ^ splitmix64(u64::from(at.0)));
    ((u128::from(mixed) * u128::from(count)) >> 64) as u32
}

/// The hash of a flow by its addresses (interfaces stand for addresses) and ports, for [`Choice::Ecmp`].
///
/// Two directions of a connection hash differently, as with switches that hash the five-tuple as it stands.
pub const fn flow_hash(
    source_interface: LinkId,
    destination_interface: LinkId,
    source_port: u16,
    destination_port: u16,
) -> u64 {
    let ports = (source_port as u64) << 16 | destination_port as u64;
    splitmix64(pair_hash(source_interface, destination_interface) ^ ports)
}

/// The hash of a flow by its addresses alone, for [`Choice::Lane`].
pub const fn pair_hash(source_interface: LinkId, destination_interface: LinkId) -> u64 {
    splitmix64((source_interface.0 as u64) << 32 | destination_interface.0 as u64)
}

#[cfg(test)]
pub(crate) mod tests;
