//! Which relays a flow passes, in which order.
//!
//! Relays are taken in the order of their distance from the flow's source: the propagation delay of the path there, then
//! the number of its links, then their order in the settings. So flows of both directions between two places use the same
//! pair, each in its own order.

use std::collections::BTreeMap;

use headway_fabric::{Choice, NoPath, NodeId, flow_hash};
use headway_units::Span;

use super::plan::{MOST_RELAYS, Party};
use crate::environment::Environment;

/// The hosts of a flow's segments, and who each is to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    /// Source, relays and destination; the rest is the destination again.
    pub stops: [NodeId; MOST_RELAYS + 2],
    /// Segments.
    pub segments: u8,
    /// The long one.
    pub long: u8,
}

impl Chain {
    /// What the ends of segment `at` are to each other: its opener and its acceptor.
    pub fn parties(&self, at: usize) -> (Party, Party) {
        let relay = if at == usize::from(self.long) { Party::Long } else { Party::Access };
        let of = |stop: usize| if stop == 0 || stop == usize::from(self.segments) { Party::Host } else { relay };
        (of(at), of(at + 1))
    }
}

/// Chains found so far, by source, destination and number of the relays.
#[derive(Debug, Default)]
pub(super) struct Chains {
    known: BTreeMap<(NodeId, NodeId, u16), Chain>,
}

impl Chains {
    /// The chain from `source` to `destination` over `relays`, which are number `index` of the run.
    pub fn find(
        &mut self,
        (source, destination): (NodeId, NodeId),
        (index, relays): (u16, &[NodeId]),
        env: &mut Environment,
    ) -> Result<Chain, NoPath> {
        if let Some(&chain) = self.known.get(&(source, destination, index)) {
            return Ok(chain);
        }
        let mut order = Vec::with_capacity(relays.len());
        for (position, &relay) in relays.iter().enumerate() {
            order.push((distance(source, relay, env)?, position, relay));
        }
        order.sort_unstable();
        let mut stops = [destination; MOST_RELAYS + 2];
        stops[0] = source;
        for (stop, &(_, _, relay)) in stops[1..].iter_mut().zip(&order) {
            *stop = relay;
        }
        let segments = relays.len() + 1;
        let mut lengths = Vec::with_capacity(segments);
        for pair in stops[..=segments].windows(2) {
            lengths.push(distance(pair[0], pair[1], env)?);
        }
        // between two relays; of a single one, on the side that is further away
        let long = if segments == 3 { 1 } else { u8::from(lengths[1] >= lengths[0]) };
        let chain = Chain { stops, segments: segments as u8, long };
        self.known.insert((source, destination, index), chain);
        Ok(chain)
    }
}

/// Propagation delay and links of the path from one host's first interface to another's.
fn distance(from: NodeId, to: NodeId, env: &mut Environment) -> Result<(Span, usize), NoPath> {
    let first = |host: NodeId| env.graph.interfaces(host).first().copied().ok_or(NoPath::SameHost { host });
    let (from, to) = (first(from)?, first(to)?);
    let mut path = std::mem::take(&mut env.scratch);
    path.clear();
    let found = env.paths.path(from, to, Choice::Ecmp(flow_hash(from, to, 0, 0)), &mut path);
    let delay = path.iter().fold(Span::ZERO, |sum, &link| sum + env.graph.link(link).wire.delay);
    let links = path.len();
    env.scratch = path;
    found.map(|()| (delay, links))
}
