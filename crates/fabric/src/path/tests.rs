use std::collections::BTreeSet;

use headway_units::{Bytes, Rate, Span};
use proptest::prelude::*;

use super::*;
use crate::queue::QueueSpec;
use crate::topology::tests::{bcube, dual_homed_fat_tree, dual_homed_pod, multi_homed};
use crate::topology::{FatTree, ParallelPaths};
use crate::wire::Wire;

pub(crate) fn wire() -> Wire {
    Wire {
        rate: Rate::from_gbps(1),
        delay: Span::from_micros(1),
        gap: Bytes::new(20),
        loss: 0.0,
        queue: QueueSpec::DropTail { limit: None, mark: None },
    }
}

/// Length in links and number of the shortest paths from host to host, found without [`Paths`]: one layer at a time,
/// counting the ways into each node. Hosts that do not forward are not passed through.
pub(crate) fn shortest(graph: &Graph, from: NodeId, to: NodeId) -> Option<(usize, u64)> {
    let mut ways = vec![0u64; graph.nodes().len()];
    let mut seen = vec![false; graph.nodes().len()];
    ways[from.index()] = 1;
    seen[from.index()] = true;
    let mut layer = vec![from];
    for length in 1.. {
        let mut next = Vec::new();
        for &node in &layer {
            if node != from && !graph.node(node).forwards {
                continue;
            }
            for &link in graph.interfaces(node) {
                let far = graph.link(link).to;
                if seen[far.index()] {
                    continue;
                }
                if ways[far.index()] == 0 {
                    next.push(far);
                }
                ways[far.index()] += ways[node.index()];
            }
        }
        if ways[to.index()] > 0 {
            return Some((length, ways[to.index()]));
        }
        if next.is_empty() {
            return None;
        }
        for node in &next {
            seen[node.index()] = true;
        }
        layer = next;
    }
    None
}

pub(crate) fn resolve(graph: &Graph, from: LinkId, to: LinkId, choice: Choice) -> Vec<LinkId> {
    let mut out = Vec::new();
    Paths::new(graph).path(from, to, choice, &mut out).unwrap();
    out
}

/// Pearson's statistic against equal shares.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|&n| (n as f64 - expected) * (n as f64 - expected) / expected).sum()
}

/// The path of lane `i` from interface `i` to interface `i`.
fn lane(graph: &Graph, from: NodeId, to: NodeId, i: usize) -> Vec<LinkId> {
    let (a, b) = (graph.interfaces(from)[i], graph.interfaces(to)[i]);
    resolve(graph, a, b, Choice::Lane { lane: i as u32, pair: pair_hash(a, b) })
}

fn assert_disjoint(paths: &[Vec<LinkId>]) {
    let cables = paths.iter().flatten().map(|link| link.0 / 2);
    let distinct: BTreeSet<u32> = cables.clone().collect();
    assert_eq!(distinct.len(), cables.count(), "{paths:?}");
}

fn fat_tree(k: u32) -> FatTree {
    FatTree {
        k,
        hosts_per_edge: None,
        host_wire: wire(),
        wire: wire(),
        aggregation_wire: wire(),
        core_wire: wire(),
        host_latency: Span::ZERO,
        switch_latency: Span::ZERO,
    }
}

#[test]
fn ecmp_spreads_flows_evenly_over_all_paths_of_a_fat_tree() {
    // k = 8: 16 paths between pods (Al-Fares et al., SIGCOMM 2008), 4 by the edge switch times 4 by the aggregation
    // switch; were their choices correlated, some of the 16 would be rare.
    let built = fat_tree(8).build().unwrap();
    let graph = &built.graph;
    let mut paths = Paths::new(graph);
    let mut out = Vec::new();
    let cores: Vec<NodeId> = built.top.clone();
    let (a, b) = (graph.interfaces(built.hosts[3])[0], graph.interfaces(built.hosts[127])[0]);
    let mut by_port = [0; 16];
    for source_port in 32_768..=48_767 {
        paths.path(a, b, Choice::Ecmp(flow_hash(a, b, source_port, 80)), &mut out).unwrap();
        let core = graph.link(out[2]).to;
        by_port[cores.iter().position(|&c| c == core).unwrap()] += 1;
    }
    // The same ports, other hosts: what spreads now is the address. 32 hosts of pods 0 and 1 to each of pods 6 and 7.
    let mut by_host = [0; 16];
    for source in &built.hosts[..32] {
        for destination in &built.hosts[96..] {
            let (a, b) = (graph.interfaces(*source)[0], graph.interfaces(*destination)[0]);
            paths.path(a, b, Choice::Ecmp(flow_hash(a, b, 1000, 80)), &mut out).unwrap();
            let core = graph.link(out[2]).to;
            by_host[cores.iter().position(|&c| c == core).unwrap()] += 1;
        }
    }
    // 15 degrees of freedom: 37.70 is exceeded by chance once in a thousand.
    for counts in [by_port, by_host] {
        assert!(chi_square(&counts) < 37.70, "{counts:?}");
    }
}

#[test]
fn sequential_hashes_spread_as_well() {
    for n in [2, 3, 7, 48] {
        let mut counts = vec![0; n as usize];
        for hash in 0..1_000 * u64::from(n) {
            counts[pick(hash, NodeId(5), n) as usize] += 1;
        }
        // Mean n - 1, variance 2 (n - 1): four standard deviations, and at least the 0.1 % point of one degree.
        let degrees = f64::from(n - 1);
        assert!(chi_square(&counts) < degrees + 4.0 * (2.0 * degrees).sqrt() + 5.0, "{n}: {counts:?}");
    }
}

#[test]
fn every_shortest_path_is_found_and_no_other() {
    let built = fat_tree(4).build().unwrap();
    let graph = &built.graph;
    for (to, count) in [(1, 1), (2, 2), (15, 4)] {
        let (a, b) = (graph.interfaces(built.hosts[0])[0], graph.interfaces(built.hosts[to])[0]);
        let found: BTreeSet<_> =
            (0..200).map(|port| resolve(graph, a, b, Choice::Ecmp(flow_hash(a, b, port, 1)))).collect();
        assert_eq!(found.len() as u64, count);
        assert_eq!(shortest(graph, built.hosts[0], built.hosts[to]).unwrap().1, count);
    }
}

#[test]
fn lanes_from_above_a_dual_homed_pod_go_aggregation_edge_host() {
    let mut built = dual_homed_pod(4, None).build().unwrap();
    let above = built.attach_top_host("generator", Span::ZERO, wire(), wire()).unwrap();
    let graph = &built.graph;
    for &host in &built.hosts {
        for (from, to) in [(above, host), (host, above)] {
            let lanes: Vec<_> = (0..2).map(|i| lane(graph, from, to, i)).collect();
            assert_disjoint(&lanes);
            for (i, path) in lanes.iter().enumerate() {
                let mut nodes: Vec<_> =
                    path[1..].iter().map(|&l| graph.node(graph.link(l).from).name.clone()).collect();
                if from == host {
                    nodes.reverse();
                }
                assert_eq!(nodes, [format!("pod0-aggregation{i}"), format!("pod0-edge{i}")]);
            }
        }
    }
}

#[test]
fn lanes_of_dual_homed_trees_are_link_disjoint() {
    for k in [4, 8] {
        let mut built = dual_homed_fat_tree(k, None).build().unwrap();
        let above = built.attach_top_host("generator", Span::ZERO, wire(), wire()).unwrap();
        let graph = &built.graph;
        let first = built.hosts[0];
        for &other in built.hosts[1..].iter().chain([&above]) {
            let lanes: Vec<_> = (0..k as usize / 2).map(|i| lane(graph, first, other, i)).collect();
            assert_disjoint(&lanes);
        }
    }
}

#[test]
fn lanes_of_a_multi_homed_tree_are_planes() {
    // Table 7.1: k/2 disjoint paths between hosts of different pods; here also within pods and racks, and from above.
    for k in [4, 6, 8] {
        let mut built = multi_homed(k, None).build().unwrap();
        let above = built.attach_top_host("generator", Span::ZERO, wire(), wire()).unwrap();
        let graph = &built.graph;
        let first = built.hosts[0];
        for &other in built.hosts[1..].iter().chain([&above]) {
            let lanes: Vec<_> = (0..k as usize / 2).map(|i| lane(graph, first, other, i)).collect();
            assert_disjoint(&lanes);
            assert_nodes_disjoint(graph, &lanes);
        }
        let (a, b) = (graph.interfaces(first)[0], graph.interfaces(built.hosts[1])[1]);
        let crossed = Paths::new(graph).path(a, b, Choice::Ecmp(1), &mut Vec::new());
        assert_eq!(crossed, Err(NoPath::Unreachable { from: first, to: built.hosts[1] }));
    }
}

/// Switches, and hosts between the ends, are in one path each.
fn assert_nodes_disjoint(graph: &Graph, paths: &[Vec<LinkId>]) {
    let between = |path: &Vec<LinkId>| path[1..].iter().map(|&link| graph.link(link).from).collect::<Vec<_>>();
    let all: Vec<NodeId> = paths.iter().flat_map(between).collect();
    let distinct: BTreeSet<NodeId> = all.iter().copied().collect();
    assert_eq!(distinct.len(), all.len(), "{paths:?}");
}

#[test]
fn subflows_of_bcube_share_neither_servers_nor_switches() {
    // BCube_1 and BCube_2 of 4 and 3 ports: address i to address i, for every two servers, under any choice.
    for (n, levels) in [(4, 2), (3, 3)] {
        let built = bcube(n, levels).build().unwrap();
        let graph = &built.graph;
        let mut paths = Paths::new(graph);
        let mut out = Vec::new();
        for (a, &from) in (0u32..).zip(&built.hosts) {
            for (b, &to) in (0u32..).zip(&built.hosts) {
                if a == b {
                    continue;
                }
                let digit = |number: u32, i: u32| number / n.pow(i) % n;
                for hash in 0..4 {
                    let mut found = Vec::new();
                    for i in 0..levels {
                        let [one, other] = [from, to].map(|host| graph.interfaces(host)[i as usize]);
                        let choice = match hash {
                            0 => Choice::Lane { lane: i, pair: pair_hash(one, other) },
                            port => Choice::Ecmp(flow_hash(one, other, port, 80)),
                        };
                        paths.path(one, other, choice, &mut out).unwrap();
                        assert_eq!((out[0], *out.last().unwrap()), (one, other.reverse()));
                        let others = (0..levels).filter(|&j| j != i && digit(a, j) != digit(b, j)).count();
                        assert_eq!(out.len(), if others == 0 { 2 } else { 2 * (others + 2) }, "{a} to {b} from {i}");
                        found.push(out.clone());
                    }
                    assert_disjoint(&found);
                    assert_nodes_disjoint(graph, &found);
                }
            }
        }
    }
}

#[test]
fn lanes_depend_on_addresses_only_and_wrap_around() {
    let built = fat_tree(4).build().unwrap();
    let graph = &built.graph;
    let (a, b) = (graph.interfaces(built.hosts[0])[0], graph.interfaces(built.hosts[15])[0]);
    let by = |lane| resolve(graph, a, b, Choice::Lane { lane, pair: pair_hash(a, b) });
    assert_eq!(by(0), by(2));
    assert_eq!(by(1), by(u32::MAX));
    let aggregation = |path: &[LinkId]| graph.node(graph.link(path[1]).to).name.clone();
    assert_eq!(
        (aggregation(&by(0)).as_str(), aggregation(&by(1)).as_str()),
        ("pod0-aggregation0", "pod0-aggregation1")
    );
}

#[test]
fn parallel_paths_stay_apart() {
    let parallel = ParallelPaths {
        left: 2,
        right: 2,
        paths: vec![wire(); 3],
        host_wire: wire(),
        wire: wire(),
        host_latency: Span::ZERO,
        switch_latency: Span::ZERO,
    };
    let built = parallel.build().unwrap();
    let lanes: Vec<_> = (0..3).map(|i| lane(&built.graph, built.hosts[0], built.hosts[2], i)).collect();
    assert_disjoint(&lanes);
    let (a, b) = (built.graph.interfaces(built.hosts[0])[0], built.graph.interfaces(built.hosts[2])[1]);
    let mut out = vec![a];
    let result = Paths::new(&built.graph).path(a, b, Choice::Ecmp(1), &mut out);
    assert_eq!(result, Err(NoPath::Unreachable { from: built.hosts[0], to: built.hosts[2] }));
    assert!(out.is_empty(), "no path leaves nothing behind");
}

#[test]
fn hosts_do_not_forward_and_direct_cables_work() {
    let mut graph = Graph::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
    let (ab, ba) = graph.connect(a, b, wire(), wire()).unwrap();
    let (bc, cb) = graph.connect(b, c, wire(), wire()).unwrap();
    let (second, back) = graph.connect(a, b, wire(), wire()).unwrap();
    assert_eq!(resolve(&graph, ab, ba, Choice::Ecmp(7)), [ab]);
    assert_eq!(resolve(&graph, back, second, Choice::Ecmp(7)), [back]);
    let mut paths = Paths::new(&graph);
    let mut out = Vec::new();
    assert_eq!(paths.path(ab, cb, Choice::Ecmp(7), &mut out), Err(NoPath::Unreachable { from: a, to: c }));
    assert_eq!(paths.path(ab, back, Choice::Ecmp(7), &mut out), Err(NoPath::Unreachable { from: a, to: b }));
    assert_eq!(paths.path(bc, ba, Choice::Ecmp(7), &mut out), Err(NoPath::SameHost { host: b }));
}

/// What is avoided in either direction is not used in any; what is left is used as shortest paths are; two cuts at an
/// edge switch of k = 4 leave no way.
#[test]
fn paths_avoid_what_they_are_told_to() {
    let built = fat_tree(4).build().unwrap();
    let graph = &built.graph;
    let edge = graph.find("pod0-edge0").unwrap();
    let ups: Vec<LinkId> = graph
        .interfaces(edge)
        .iter()
        .copied()
        .filter(|&l| graph.node(graph.link(l).to).kind == NodeKind::Switch)
        .collect();
    let (from, to) = (graph.interfaces(built.hosts[0])[0], graph.interfaces(built.hosts[15])[0]);
    let mut path = Vec::new();
    for avoided in [ups[0], ups[0].reverse()] {
        let mut left = Paths::avoiding(graph, |link| link == avoided);
        for hash in 0..50 {
            for (a, b) in [(from, to), (to, from)] {
                left.path(a, b, Choice::Ecmp(hash), &mut path).unwrap();
                assert_eq!(path.len(), 6);
                assert!(!path.contains(&ups[0]) && !path.contains(&ups[0].reverse()));
            }
        }
    }
    let mut none = Paths::avoiding(graph, |link| ups.contains(&link));
    assert!(matches!(none.path(from, to, Choice::Ecmp(1), &mut path), Err(NoPath::Unreachable { .. })));
}

#[test]
fn hosts_that_may_forward_do_but_never_the_ends() {
    let mut graph = Graph::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
    let (ab, ba) = graph.connect(a, b, wire(), wire()).unwrap();
    let (bc, cb) = graph.connect(b, c, wire(), wire()).unwrap();
    let (second, back) = graph.connect(a, b, wire(), wire()).unwrap();
    graph.let_forward(b);
    assert_eq!(resolve(&graph, ab, cb, Choice::Ecmp(7)), [ab, bc]);
    assert_eq!(resolve(&graph, second, cb, Choice::Ecmp(7)), [second, bc]);
    assert_eq!(resolve(&graph, cb, ab, Choice::Ecmp(7)), [cb, ba], "and back");
    // From one cable of b to its other: only b itself joins them.
    let result = Paths::new(&graph).path(ab, back, Choice::Ecmp(7), &mut Vec::new());
    assert_eq!(result, Err(NoPath::Unreachable { from: a, to: b }));
    let result = Paths::new(&graph).path(bc, ba, Choice::Ecmp(7), &mut Vec::new());
    assert_eq!(result, Err(NoPath::SameHost { host: b }));
}

#[test]
fn a_full_table_of_distances_changes_no_path() {
    let built = fat_tree(4).build().unwrap();
    let mut roomy = Paths::new(&built.graph);
    let mut tight = Paths { capacity: 1, ..roomy.clone() };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for &from in &built.hosts {
        for &to in built.hosts.iter().filter(|&&to| to != from) {
            let (a, b) = (built.graph.interfaces(from)[0], built.graph.interfaces(to)[0]);
            roomy.path(a, b, Choice::Ecmp(flow_hash(a, b, 1, 2)), &mut one).unwrap();
            tight.path(a, b, Choice::Ecmp(flow_hash(a, b, 1, 2)), &mut two).unwrap();
            assert_eq!(one, two);
        }
    }
    assert_eq!((roomy.filled, tight.filled), (8, 1), "one table per edge switch against one at all");
}

/// A connected network of `switches` switches (a random tree and extra cables) with hosts on random switches.
fn networks() -> impl Strategy<Value = Graph> {
    (1usize..14).prop_flat_map(|switches| {
        let parents = prop::collection::vec(any::<prop::sample::Index>(), switches - 1);
        let extra = prop::collection::vec((0..switches, 0..switches), 0..12);
        let hosts = prop::collection::vec(0..switches, 2..6);
        (parents, extra, hosts).prop_map(|(parents, extra, hosts)| {
            let mut graph = Graph::new();
            let mut switches = vec![graph.add_switch("s0", Span::ZERO).unwrap()];
            for (i, parent) in parents.iter().enumerate() {
                let switch = graph.add_switch(format!("s{}", i + 1), Span::ZERO).unwrap();
                graph.connect(switches[parent.index(switches.len())], switch, wire(), wire()).unwrap();
                switches.push(switch);
            }
            for (a, b) in extra.into_iter().filter(|(a, b)| a != b) {
                graph.connect(switches[a], switches[b], wire(), wire()).unwrap();
            }
            for (i, at) in hosts.into_iter().enumerate() {
                let host = graph.add_host(format!("h{i}"), Span::ZERO).unwrap();
                graph.connect(host, switches[at], wire(), wire()).unwrap();
            }
            graph
        })
    })
}

proptest! {
    #[test]
    fn paths_are_shortest_connected_and_loop_free(graph in networks(), hash: u64, lane: u32) {
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let mut paths = Paths::new(&graph);
        let mut out = Vec::new();
        for &from in &hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                let (a, b) = (graph.interfaces(from)[0], graph.interfaces(to)[0]);
                for choice in [Choice::Ecmp(hash), Choice::Lane { lane, pair: hash }] {
                    paths.path(a, b, choice, &mut out).unwrap();
                    prop_assert_eq!(out.len(), shortest(&graph, from, to).unwrap().0);
                    prop_assert_eq!((out[0], out[out.len() - 1]), (a, b.reverse()));
                    let mut visited = BTreeSet::from([from]);
                    let mut at = from;
                    for &link in &out {
                        prop_assert_eq!(graph.link(link).from, at);
                        at = graph.link(link).to;
                        prop_assert!(visited.insert(at), "a node twice");
                    }
                    prop_assert_eq!(at, to);
                }
            }
        }
    }
}

/// Nodes of which any may be a host and any host may forward, cabled at random.
fn mixed_networks() -> impl Strategy<Value = Graph> {
    (prop::collection::vec(0u8..3, 3..12), prop::collection::vec(any::<[prop::sample::Index; 2]>(), 3..30)).prop_map(
        |(kinds, cables)| {
            let mut graph = Graph::new();
            for (i, kind) in kinds.iter().enumerate() {
                match kind {
                    0 => graph.add_switch(format!("s{i}"), Span::ZERO).unwrap(),
                    _ => graph.add_host(format!("h{i}"), Span::ZERO).unwrap(),
                };
                if *kind == 1 {
                    graph.let_forward(NodeId(i as u32));
                }
            }
            for [a, b] in cables {
                let [a, b] = [a, b].map(|end| NodeId(end.index(kinds.len()) as u32));
                if a != b {
                    graph.connect(a, b, wire(), wire()).unwrap();
                }
            }
            graph
        },
    )
}

/// `graph` with only these interfaces of the two hosts they belong to.
fn with_only(graph: &Graph, interfaces: [LinkId; 2]) -> Graph {
    let ends = interfaces.map(|link| graph.link(link).from);
    let mut left = Graph::new();
    for (id, node) in (0..).map(NodeId).zip(graph.nodes()) {
        match node.kind {
            NodeKind::Switch => left.add_switch(&node.name, Span::ZERO).unwrap(),
            NodeKind::Host => left.add_host(&node.name, Span::ZERO).unwrap(),
        };
        if node.kind == NodeKind::Host && node.forwards {
            left.let_forward(id);
        }
    }
    for cable in (0..graph.links().len() as u32).step_by(2).map(LinkId) {
        let kept = |link: LinkId| !ends.contains(&graph.link(link).from) || interfaces.contains(&link);
        if kept(cable) && kept(cable.reverse()) {
            let link = graph.link(cable);
            left.connect(link.from, link.to, wire(), wire()).unwrap();
        }
    }
    left
}

proptest! {
    #[test]
    fn paths_through_hosts_are_the_shortest_that_meet_the_ends_once(graph in mixed_networks(), hash: u64) {
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let mut paths = Paths::new(&graph);
        let mut out = Vec::new();
        for &from in &hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                for &a in graph.interfaces(from) {
                    for &b in graph.interfaces(to) {
                        let expected = shortest(&with_only(&graph, [a, b]), from, to).map(|(length, _)| length);
                        let found = paths.path(a, b, Choice::Ecmp(hash), &mut out).ok().map(|()| out.len());
                        prop_assert_eq!(found, expected);
                        if found.is_none() {
                            continue;
                        }
                        prop_assert_eq!((out[0], out[out.len() - 1]), (a, b.reverse()));
                        let mut visited = BTreeSet::from([from]);
                        let mut at = from;
                        for &link in &out {
                            prop_assert_eq!(graph.link(link).from, at);
                            prop_assert!(at == from || graph.node(at).forwards);
                            at = graph.link(link).to;
                            prop_assert!(visited.insert(at), "a node twice");
                        }
                        prop_assert_eq!(at, to);
                    }
                }
            }
        }
    }
}

/// Every path that a hash chooses goes by next hops, and every next hop is on the way of some hash.
#[test]
fn next_hops_are_those_of_all_paths() {
    let graph = fat_tree(4).build().unwrap().graph;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let (from, to) = (graph.interfaces(hosts[0])[0], graph.interfaces(hosts[15])[0]);
    let mut paths = Paths::new(&graph);
    let mut taken = BTreeSet::new();
    let mut out = Vec::new();
    for hash in 0..200 {
        paths.path(from, to, Choice::Ecmp(hash), &mut out).unwrap();
        taken.extend(out[1..].iter().copied());
    }
    let switches: BTreeSet<NodeId> = taken.iter().map(|&link| graph.link(link).from).collect();
    let hops: BTreeSet<LinkId> = switches.iter().flat_map(|&at| paths.next_hops(at, to)).collect();
    assert_eq!(hops, taken);
    let edge = graph.link(from).to;
    assert_eq!(paths.next_hops(edge, to).len(), 2, "both aggregation switches");
    assert_eq!(paths.next_hops(edge, from), [from.reverse()], "its own host");
}

/// The nodes behind a path's links, each with the number of the cable to it.
fn waypoints(graph: &Graph, path: &[LinkId]) -> Vec<Waypoint> {
    path.iter().map(|&link| Waypoint { node: graph.link(link).to, cable: Some(graph.cable(link).0) }).collect()
}

proptest! {
    /// All nodes of a path give that path, whatever the hash; some of them give one that passes them.
    #[test]
    fn paths_pass_the_nodes_that_are_given(graph in mixed_networks(), hashes: [u64; 2], kept: u16) {
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let mut paths = Paths::new(&graph);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for &from in &hosts {
            for &to in hosts.iter().filter(|&&to| to != from) {
                for ends in graph.interfaces(from).iter().flat_map(|&a| graph.interfaces(to).iter().map(move |&b| (a, b))) {
                    if paths.path(ends.0, ends.1, Choice::Ecmp(hashes[0]), &mut one).is_err() {
                        continue;
                    }
                    let all = waypoints(&graph, &one);
                    paths.path_over(&graph, ends, hashes[1], &all, &mut other).unwrap();
                    prop_assert_eq!(&other, &one);
                    let kept = |at: usize| kept >> (at % 16) & 1 == 1;
                    let some = all.iter().enumerate().filter(|(at, _)| kept(*at));
                    let some: Vec<_> = some.map(|(_, stop)| Waypoint { cable: None, ..*stop }).collect();
                    paths.path_over(&graph, ends, hashes[1], &some, &mut other).unwrap();
                    prop_assert_eq!(other.len(), one.len());
                    let passed = waypoints(&graph, &other);
                    prop_assert!(some.iter().all(|stop| passed.iter().any(|own| own.node == stop.node)));
                    paths.path_over(&graph, ends, hashes[1], &[], &mut other).unwrap();
                    paths.path(ends.0, ends.1, Choice::Ecmp(hashes[1]), &mut one).unwrap();
                    prop_assert_eq!(&other, &one, "without nodes it is the hash's");
                }
            }
        }
    }
}

#[test]
fn nodes_that_no_shortest_path_passes_in_that_order_are_mistakes() {
    let graph = fat_tree(4).build().unwrap().graph;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let ends = (graph.interfaces(hosts[0])[0], graph.interfaces(hosts[15])[0]);
    let mut paths = Paths::new(&graph);
    let mut out = Vec::new();
    paths.path(ends.0, ends.1, Choice::Ecmp(1), &mut out).unwrap();
    let all = waypoints(&graph, &out);
    let plain: Vec<Waypoint> = all.iter().map(|stop| Waypoint { cable: None, ..*stop }).collect();
    let other_host = Waypoint { node: hosts[1], cable: None };
    let second_cable = Waypoint { cable: Some(2), ..plain[1] };
    let backwards: Vec<Waypoint> = plain[..5].iter().rev().copied().collect();
    for (over, missed) in [
        (vec![other_host], hosts[1]),
        (vec![second_cable], second_cable.node),
        (vec![plain[2], plain[1]], plain[1].node),
        (vec![plain[2], plain[2]], plain[2].node),
        (backwards, plain[0].node),
        (vec![plain[5], plain[2]], hosts[15]),
    ] {
        let error = paths.path_over(&graph, ends, 7, &over, &mut out).unwrap_err();
        assert_eq!(error, NoPath::NotOver { from: hosts[0], to: hosts[15], over: missed }, "{over:?}");
        assert!(out.is_empty());
    }
}
