//! Networks as the player draws them.

use std::collections::BTreeMap;

use headway_results::{NodeKind, Topology};
use headway_units::Bytes;

use super::model;
use super::number::Number;
use crate::drawing::draw;

/// A network, drawn.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) topology: model::Topology,
    /// Of each link of the network the drawn one that it is part of; none between hosts that are drawn as one.
    pub(super) link: Vec<Option<usize>>,
    /// The links of the network by their names.
    pub(super) by_name: BTreeMap<String, usize>,
    /// The drawn nodes of the network's hosts and switches by their names.
    pub(super) node: BTreeMap<String, usize>,
}

impl Drawn {
    pub(super) fn new(network: &Topology) -> Drawn {
        let drawing = draw(network);
        let mut link = vec![None; network.links.len()];
        let mut links = Vec::new();
        for (place, drawn) in drawing.links.iter().enumerate() {
            let members = || drawn.members.iter().map(|member| &network.links[*member as usize]);
            for member in &drawn.members {
                link[*member as usize] = Some(place);
            }
            links.push(model::Link {
                from: drawn.from,
                to: drawn.to,
                // together, since what they send is counted together
                rate_bps: members().fold(0, |rate: u64, own| rate.saturating_add(own.rate.bps())),
                delay_ns: members().map(|own| own.delay.picos() / 1000).max().unwrap_or(0),
                // a queue is that of the fullest of them
                limit_bytes: members().filter_map(|own| own.limit).map(Bytes::get).max(),
            });
        }
        let names = network.nodes.iter().map(|node| node.name.clone());
        let node = names.zip(drawing.node_of.iter().copied()).collect();
        let nodes = drawing.nodes.into_iter().map(|node| model::Node {
            name: node.name,
            kind: if node.kind == NodeKind::Host { "host" } else { "switch" },
            tier: node.tier,
            x: Number::with_digits(node.x, 4),
            y: Number::with_digits(node.y, 4),
            count: node.count as u32,
        });
        let topology = model::Topology { nodes: nodes.collect(), links };
        let by_name = network.link_names().into_iter().enumerate().map(|(place, name)| (name, place)).collect();
        Drawn { topology, link, by_name, node }
    }
}

#[cfg(test)]
mod tests {
    use headway_results::{TopologyLink, TopologyNode};
    use headway_units::{Rate, Span};

    use super::*;

    /// Links that are drawn as one have their rates together, and every link of the network is found by its name.
    #[test]
    fn parallel_links_are_one_with_their_rates_together() {
        let node = |name: &str| TopologyNode { name: name.to_owned(), kind: NodeKind::Host, tier: 0 };
        let link = |from, to, limit: u64| {
            let (rate, delay) = (Rate::from_bps(1_000_000_000), Span::from_nanos(500));
            TopologyLink { from, to, rate, delay, limit: Some(Bytes::new(limit)) }
        };
        let links = vec![link(0, 1, 1000), link(0, 1, 3000), link(1, 0, 2000)];
        let drawn = Drawn::new(&Topology { nodes: vec![node("a"), node("b")], links });
        let own: Vec<usize> =
            ["a>b", "a>b#2", "b>a"].iter().map(|name| drawn.link[drawn.by_name[*name]].unwrap()).collect();
        assert!(own[0] == own[1] && own[1] != own[2], "{own:?}");
        let of = |place: usize| &drawn.topology.links[place];
        assert_eq!((of(own[0]).rate_bps, of(own[2]).rate_bps), (2_000_000_000, 1_000_000_000));
        assert_eq!((of(own[0]).limit_bytes, of(own[0]).delay_ns), (Some(3000), 500));
    }
}
