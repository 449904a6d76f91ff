//! Films of links: of which runs they are made, and as results know them.

use std::collections::VecDeque;
use std::sync::Arc;

use headway_fabric::{Graph, Limit, NodeId, NodeKind};
use headway_results::{Film, FilmedLink, LinkStep, Topology, TopologyLink, TopologyNode};
use headway_scenario::ScenarioRecord;
use headway_scenario::plan::Network;
use headway_transport::LinkFilm;
use headway_units::Bytes;

/// How a run is filmed.
#[derive(Debug, Clone)]
pub(crate) struct FilmPlan {
    /// At most so many steps.
    pub steps: u32,
    /// The network, shared by all films of it.
    pub topology: Arc<Topology>,
}

impl FilmPlan {
    /// For repeat 0 of the policies at point number `point` of `points`, if they are filmed.
    pub fn new(scenario: &ScenarioRecord, network: &Network, point: usize, points: usize) -> Option<FilmPlan> {
        let record = &scenario.measure.film;
        let graph = &network.built.graph;
        if !record.is_of(point, points, graph.links().len()) {
            return None;
        }
        // A frame as queues count it: header and checksum of Ethernet are 18 B.
        let frame = Bytes::new(scenario.topology.mtu.get() + 18);
        Some(FilmPlan { steps: record.steps, topology: Arc::new(topology(graph, &network.built.hosts, frame)) })
    }

    /// The film as results know it.
    pub fn film(&self, film: LinkFilm) -> Film {
        let step = |step: headway_transport::LinkStep| LinkStep {
            sent: step.sent,
            queue: step.queue,
            drops: step.drops,
            flows: step.flows,
        };
        let links = film.links.into_iter();
        let links = links
            .map(|(link, steps)| FilmedLink { link: link.0, steps: steps.into_iter().map(step).collect() })
            .collect();
        Film { topology: Arc::clone(&self.topology), times: film.times, links }
    }
}

/// The network for drawing, where `hosts` are at the bottom. Queues that hold so many frames have room for as many of size
/// `frame`.
fn topology(graph: &Graph, hosts: &[NodeId], frame: Bytes) -> Topology {
    let node = |(node, tier): (&headway_fabric::Node, u32)| TopologyNode {
        name: node.name.clone(),
        kind: match node.kind {
            NodeKind::Host => headway_results::NodeKind::Host,
            NodeKind::Switch => headway_results::NodeKind::Switch,
        },
        tier,
    };
    let link = |link: &headway_fabric::Link| TopologyLink {
        from: link.from.0,
        to: link.to.0,
        rate: link.wire.rate,
        delay: link.wire.delay,
        limit: link.wire.queue.limit().map(|limit| match limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => Bytes::new(frame.get().saturating_mul(u64::from(packets))),
        }),
    };
    Topology {
        nodes: graph.nodes().iter().zip(tiers(graph, hosts)).map(node).collect(),
        links: graph.links().iter().map(link).collect(),
    }
}

/// Cables between each node and the next of `hosts`, so that a host that is attached to the top stands above it; of a node
/// that reaches none, 1.
fn tiers(graph: &Graph, hosts: &[NodeId]) -> Vec<u32> {
    let mut tiers: Vec<Option<u32>> = vec![None; graph.nodes().len()];
    let mut open: VecDeque<NodeId> = hosts.iter().copied().collect();
    for host in hosts {
        tiers[host.index()] = Some(0);
    }
    while let Some(node) = open.pop_front() {
        let next = tiers[node.index()].map(|tier| tier + 1);
        for link in graph.interfaces(node) {
            let to = graph.link(*link).to;
            if tiers[to.index()].is_none() {
                tiers[to.index()] = next;
                open.push_back(to);
            }
        }
    }
    tiers.into_iter().map(|tier| tier.unwrap_or(1)).collect()
}

#[cfg(test)]
mod tests {
    use headway_fabric::{QueueSpec, Wire};
    use headway_units::{Rate, Span};

    use super::*;

    #[test]
    fn tiers_count_the_cables_to_the_next_host() {
        let mut graph = Graph::new();
        let host = graph.add_host("h", Span::ZERO).unwrap();
        let other = graph.add_host("i", Span::ZERO).unwrap();
        let switches = ["leaf", "spine", "core", "alone"].map(|name| graph.add_switch(name, Span::ZERO).unwrap());
        let queue = QueueSpec::DropTail { limit: Some(Limit::Packets(100)), mark: None };
        let wire = Wire { rate: Rate::from_gbps(1), delay: Span::ZERO, gap: Bytes::ZERO, loss: 0.0, queue };
        for (a, b) in [(host, switches[0]), (switches[0], switches[1]), (switches[1], switches[2]), (host, other)] {
            graph.connect(a, b, wire, wire).unwrap();
        }
        let top = graph.add_host("top", Span::ZERO).unwrap();
        graph.connect(top, switches[2], wire, wire).unwrap();
        let topology = topology(&graph, &[host, other], Bytes::new(1518));
        let tiers: Vec<(&str, u32)> = topology.nodes.iter().map(|node| (node.name.as_str(), node.tier)).collect();
        assert_eq!(tiers, [("h", 0), ("i", 0), ("leaf", 1), ("spine", 2), ("core", 3), ("alone", 1), ("top", 4)]);
        assert!(topology.links.iter().all(|link| link.limit == Some(Bytes::new(151_800))));
    }
}
