//! Nodes that are drawn as one: hosts with the same neighbours, and in large networks what is alike above them.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{NodeKind, Topology};

use super::DrawnLink;
use super::graph::{Graph, Node};

/// Hosts drawn next to each other: more are too narrow to be seen.
const MAX_HOSTS: usize = 160;

/// A network of which some nodes are drawn as one.
pub(super) struct Collapsed {
    /// The members of each drawn node.
    pub groups: Vec<Vec<usize>>,
    pub node_of: Vec<usize>,
    pub graph: Graph,
    pub links: Vec<DrawnLink>,
}

/// Joins nodes until at most `most` are left.
pub(super) fn collapse(topology: &Topology, most: usize) -> Collapsed {
    let neighbours = neighbours(topology);
    let mut group: Vec<usize> = (0..topology.nodes.len()).collect();
    join_hosts(topology, &neighbours, most, &mut group);
    let tiers = topology.nodes.iter().map(|node| node.tier).max().unwrap_or(0);
    // Racks of a pod, then what stands above them; from pods upwards, all that is alike below is one.
    for tier in 1..=tiers.min(MAX_TIERS) {
        if count(&group) <= most {
            break;
        }
        join_alike(topology, &neighbours, tier, &mut group);
        join_alike(topology, &neighbours, 0, &mut group);
    }
    if count(&group) > most {
        join_neighbours_in_order(topology, most, &mut group);
    }
    build(topology, &group)
}

/// Networks with more tiers are chains, of which nothing is alike.
const MAX_TIERS: u32 = 16;

fn neighbours(topology: &Topology) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); topology.nodes.len()];
    let mut seen = BTreeSet::new();
    for link in &topology.links {
        let (from, to) = (link.from as usize, link.to as usize);
        for (one, other) in [(from, to), (to, from)] {
            if one != other && seen.insert((one, other)) {
                neighbours[one].push(other);
            }
        }
    }
    neighbours
}

/// The number of different groups.
fn count(group: &[usize]) -> usize {
    group.iter().collect::<BTreeSet<_>>().len()
}

/// Joins hosts with the same neighbours: the largest groups first, and all of one size together.
fn join_hosts(topology: &Topology, neighbours: &[Vec<usize>], most: usize, group: &mut [usize]) {
    let mut alike: BTreeMap<(u32, Vec<usize>), Vec<usize>> = BTreeMap::new();
    let hosts = topology.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Host);
    let mut drawn_hosts = 0;
    for (host, node) in hosts {
        let mut own = neighbours[host].clone();
        own.sort_unstable();
        alike.entry((node.tier, own)).or_default().push(host);
        drawn_hosts += 1;
    }
    let mut drawn = topology.nodes.len();
    let mut sizes: Vec<usize> = alike.values().map(Vec::len).filter(|&size| size > 1).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes.into_iter().rev() {
        if drawn <= most && drawn_hosts <= MAX_HOSTS {
            return;
        }
        for members in alike.values().filter(|members| members.len() == size) {
            for &member in members {
                group[member] = members[0];
            }
            drawn -= size - 1;
            drawn_hosts -= size - 1;
        }
    }
}

/// Joins nodes of `tier` that have the same neighbours: switches above the first tier by those below them, all others by
/// those above, as racks have hosts of their own.
fn join_alike(topology: &Topology, neighbours: &[Vec<usize>], tier: u32, group: &mut [usize]) {
    let looks_down = tier > 1;
    let mut alike: BTreeMap<(bool, BTreeSet<usize>), usize> = BTreeMap::new();
    let mut joined: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, node) in topology.nodes.iter().enumerate().filter(|(_, node)| node.tier == tier) {
        let counts = |other: &&usize| {
            let other = topology.nodes[**other].tier;
            if looks_down { other < tier } else { other > tier }
        };
        let own: BTreeSet<usize> = neighbours[at].iter().filter(counts).map(|&other| group[other]).collect();
        let first = *alike.entry((node.kind == NodeKind::Host, own)).or_insert(group[at]);
        joined.insert(group[at], first);
    }
    for own in group {
        // a group that has members with different neighbours goes with the last of them
        if let Some(&first) = joined.get(own) {
            *own = first;
        }
    }
}

/// Joins nodes of the same kind and tier that follow each other, however they are connected.
fn join_neighbours_in_order(topology: &Topology, most: usize, group: &mut [usize]) {
    let kind = |group: usize| (topology.nodes[group].tier.min(MAX_TIERS), topology.nodes[group].kind);
    let left: BTreeSet<usize> = group.iter().copied().collect();
    let mut by_kind: BTreeMap<(u32, NodeKind), Vec<usize>> = BTreeMap::new();
    for own in &left {
        by_kind.entry(kind(*own)).or_default().push(*own);
    }
    // each kind is rounded up to one node more
    let room = most.saturating_sub(by_kind.len()).max(1);
    let run = left.len().div_ceil(room).max(1);
    let mut first_of: BTreeMap<usize, usize> = BTreeMap::new();
    for members in by_kind.values() {
        for part in members.chunks(run) {
            first_of.extend(part.iter().map(|&own| (own, part[0])));
        }
    }
    for own in group {
        *own = first_of[own];
    }
}

/// The drawn graph, with nodes in the order of their first members.
fn build(topology: &Topology, group: &[usize]) -> Collapsed {
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut node_of = Vec::with_capacity(group.len());
    for (node, own) in group.iter().enumerate() {
        let place = *places.entry(*own).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(node);
        node_of.push(place);
    }
    let node = |members: &Vec<usize>| {
        let first = &topology.nodes[members[0]];
        Node { kind: first.kind, tier: first.tier }
    };
    let mut graph = Graph { nodes: groups.iter().map(node).collect(), neighbours: vec![Vec::new(); groups.len()] };
    let mut links: Vec<DrawnLink> = Vec::new();
    let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (number, link) in (0u32..).zip(&topology.links) {
        let (from, to) = (node_of[link.from as usize], node_of[link.to as usize]);
        if from == to {
            continue;
        }
        let at = *known.entry((from, to)).or_insert_with(|| {
            links.push(DrawnLink { from, to, members: Vec::new() });
            links.len() - 1
        });
        links[at].members.push(number);
        for (one, other) in [(from, to), (to, from)] {
            if !graph.neighbours[one].contains(&other) {
                graph.neighbours[one].push(other);
            }
        }
    }
    Collapsed { groups, node_of, graph, links }
}
