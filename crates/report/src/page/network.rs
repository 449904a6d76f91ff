//! Networks as the player draws them: a place for each node, and hosts that are alike drawn as one.

use std::collections::BTreeMap;

use headway_results::{NodeKind, Topology};
use headway_units::Bytes;

use super::model;
use super::number::Number;

/// Of more hosts, those that have the same neighbours are drawn as one.
const SINGLE_HOSTS: usize = 24;

/// Passes that put nodes near their neighbours; more change little.
const PASSES: usize = 4;

/// A network, drawn.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) topology: model::Topology,
    /// Of each link of the network the drawn one that it is part of.
    pub(super) link: Vec<usize>,
    /// The links of the network by their names.
    pub(super) by_name: BTreeMap<String, usize>,
}

impl Drawn {
    pub(super) fn new(network: &Topology) -> Drawn {
        let (nodes, of_node) = merged(network);
        let mut links: Vec<model::Link> = Vec::new();
        let mut places: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
        let (mut parallel, mut link) = (BTreeMap::new(), Vec::new());
        for own in &network.links {
            let (from, to) = (of_node[own.from as usize], of_node[own.to as usize]);
            // parallel cables between the same two nodes stay apart; cables of hosts drawn as one do not
            let nth: &mut usize = parallel.entry((own.from, own.to)).or_default();
            let place = *places.entry((from, to, *nth)).or_insert_with(|| {
                let (delay_ns, limit_bytes) = (own.delay.picos() / 1000, own.limit.map(Bytes::get));
                links.push(model::Link { from, to, rate_bps: 0, delay_ns, limit_bytes });
                links.len() - 1
            });
            *nth += 1;
            links[place].rate_bps = links[place].rate_bps.saturating_add(own.rate.bps());
            link.push(place);
        }
        let nodes = placed(nodes, &links);
        let by_name = network.link_names().into_iter().enumerate().map(|(place, name)| (name, place)).collect();
        Drawn { topology: model::Topology { nodes, links }, link, by_name }
    }
}

/// The drawn nodes, and the one of each node.
fn merged(network: &Topology) -> (Vec<model::Node>, Vec<usize>) {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); network.nodes.len()];
    for link in &network.links {
        neighbours[link.from as usize].push(link.to);
        neighbours[link.to as usize].push(link.from);
    }
    for of in &mut neighbours {
        of.sort_unstable();
    }
    let hosts = network.nodes.iter().filter(|node| node.kind == NodeKind::Host).count();
    let mut nodes: Vec<model::Node> = Vec::new();
    let (mut alike, mut of_node) = (BTreeMap::new(), Vec::new());
    for (place, node) in network.nodes.iter().enumerate() {
        let is_host = node.kind == NodeKind::Host;
        if is_host && hosts > SINGLE_HOSTS {
            let drawn = *alike.entry(&neighbours[place]).or_insert(nodes.len());
            if let Some(first) = nodes.get_mut(drawn) {
                first.count += 1;
                of_node.push(drawn);
                continue;
            }
        }
        of_node.push(nodes.len());
        let kind = if is_host { "host" } else { "switch" };
        let (x, y) = (Number::new(0.0), Number::new(0.0));
        nodes.push(model::Node { name: node.name.clone(), kind, tier: node.tier, x, y, count: 1 });
    }
    (nodes, of_node)
}

/// The nodes with their places: tiers from below, and in each tier nodes beside those that have neighbours near theirs
/// (the barycentre method: K. Sugiyama, S. Tagawa, M. Toda, IEEE Trans. SMC 11(2), 1981).
fn placed(mut nodes: Vec<model::Node>, links: &[model::Link]) -> Vec<model::Node> {
    let mut tiers: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        tiers.entry(node.tier).or_default().push(place);
    }
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for link in links {
        neighbours[link.from].push(link.to);
        neighbours[link.to].push(link.from);
    }
    let mut x = vec![0.0; nodes.len()];
    let spread = |tier: &[usize], x: &mut Vec<f64>| {
        for (nth, place) in tier.iter().enumerate() {
            x[*place] = (nth as f64 + 0.5) / tier.len() as f64;
        }
    };
    for tier in tiers.values() {
        spread(tier, &mut x);
    }
    for _ in 0..PASSES {
        // from the top down, so that hosts stand below their switches
        for tier in tiers.values_mut().rev() {
            let centre = |place: usize, x: &[f64]| {
                let of = &neighbours[place];
                if of.is_empty() { x[place] } else { of.iter().map(|other| x[*other]).sum::<f64>() / of.len() as f64 }
            };
            let mut by_centre: Vec<(f64, usize)> = tier.iter().map(|place| (centre(*place, &x), *place)).collect();
            // stable, so that equals stay in the order of the network
            by_centre.sort_by(|a, b| a.0.total_cmp(&b.0));
            *tier = by_centre.into_iter().map(|(_, place)| place).collect();
            spread(tier, &mut x);
        }
    }
    let rows = tiers.len();
    for (row, tier) in tiers.values().enumerate() {
        for place in tier {
            nodes[*place].x = Number::with_digits(x[*place], 4);
            nodes[*place].y = Number::with_digits(1.0 - (row as f64 + 0.5) / rows as f64, 4);
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use headway_results::{TopologyLink, TopologyNode};
    use headway_units::{Rate, Span};

    use super::*;

    /// `leaves` switches with `hosts` hosts each, all below one switch.
    fn network(leaves: u32, hosts: u32) -> Topology {
        let node = |name: String, kind, tier| TopologyNode { name, kind, tier };
        let mut nodes = vec![node("spine".into(), NodeKind::Switch, 2)];
        let mut links = Vec::new();
        let mut cable = |a: u32, b: u32| {
            for (from, to) in [(a, b), (b, a)] {
                let (rate, delay) = (Rate::from_bps(1_000_000_000), Span::from_nanos(500));
                links.push(TopologyLink { from, to, rate, delay, limit: None });
            }
        };
        for leaf in 0..leaves {
            let at = nodes.len() as u32;
            nodes.push(node(format!("leaf{leaf}"), NodeKind::Switch, 1));
            cable(0, at);
            for host in 0..hosts {
                cable(at, nodes.len() as u32);
                nodes.push(node(format!("h{leaf}-{host}"), NodeKind::Host, 0));
            }
        }
        Topology { nodes, links }
    }

    #[test]
    fn few_hosts_are_drawn_one_by_one_below_their_switches() {
        let drawn = Drawn::new(&network(2, 3));
        let nodes = &drawn.topology.nodes;
        assert_eq!((nodes.len(), drawn.topology.links.len()), (9, 16));
        assert!(nodes.iter().all(|node| node.count == 1));
        assert!(nodes[0].y < nodes[1].y && nodes[1].y < nodes[2].y, "the spine is at the top");
        let of =
            |leaf: &'static str| nodes.iter().filter(move |node| node.name.starts_with(leaf)).map(|node| node.x.get());
        let rightmost = of("h0").fold(0.0, f64::max);
        assert!(of("h1").all(|x| x > rightmost), "hosts of one switch stand together");
        assert_eq!(drawn.link, (0..16).collect::<Vec<_>>());
        assert_eq!(drawn.by_name["spine>leaf0"], 0);
    }

    #[test]
    fn many_hosts_of_one_switch_are_drawn_as_one_with_their_rates_together() {
        let network = network(2, 20);
        let drawn = Drawn::new(&network);
        assert_eq!(drawn.topology.nodes.len(), 5);
        assert_eq!(drawn.topology.nodes.iter().map(|node| node.count).collect::<Vec<_>>(), [1, 1, 20, 1, 20]);
        assert_eq!(drawn.topology.links.len(), 8);
        let rates: Vec<u64> = drawn.topology.links.iter().map(|link| link.rate_bps / 1_000_000_000).collect();
        assert_eq!(rates, [1, 1, 20, 20, 1, 1, 20, 20]);
        assert_eq!(drawn.link.len(), network.links.len());
    }
}
