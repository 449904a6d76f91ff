use headway_units::Rate;

use super::*;
use crate::graph::NodeKind;
use crate::path::tests::{shortest, wire};

fn mbps(n: u64) -> Wire {
    Wire { rate: Rate::from_mbps(n), ..wire() }
}

/// Hosts, switches and cables.
fn counts(built: &Built) -> (usize, usize, usize) {
    let graph = &built.graph;
    (graph.hosts().count(), graph.switches().count(), graph.links().len() / 2)
}

fn degrees(graph: &Graph, kind: NodeKind) -> Vec<usize> {
    let mut all: Vec<usize> = (0..)
        .map(NodeId)
        .zip(graph.nodes())
        .filter(|(_, n)| n.kind == kind)
        .map(|(id, _)| graph.interfaces(id).len())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn between(built: &Built, a: usize, b: usize) -> (usize, u64) {
    shortest(&built.graph, built.hosts[a], built.hosts[b]).unwrap()
}

/// The largest distance from the first host in links.
fn farthest(built: &Built) -> usize {
    (1..built.hosts.len()).map(|i| between(built, 0, i).0).max().unwrap()
}

fn fat_tree(k: u32, hosts_per_edge: Option<u32>) -> FatTree {
    FatTree {
        k,
        hosts_per_edge,
        host_wire: mbps(1),
        wire: mbps(2),
        aggregation_wire: mbps(3),
        core_wire: mbps(4),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

pub(crate) fn dual_homed_pod(k: u32, hosts: Option<u32>) -> DualHomedPod {
    DualHomedPod {
        k,
        hosts,
        host_wire: mbps(1),
        wire: mbps(2),
        aggregation_wire: mbps(3),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

pub(crate) fn dual_homed_fat_tree(k: u32, hosts_per_pod: Option<u32>) -> DualHomedFatTree {
    DualHomedFatTree {
        k,
        hosts_per_pod,
        host_wire: mbps(1),
        wire: mbps(2),
        aggregation_wire: mbps(3),
        core_wire: mbps(4),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

fn two_tier(leaves: u32, spines: u32, hosts_per_leaf: u32) -> TwoTier {
    TwoTier {
        leaves,
        spines,
        hosts_per_leaf,
        host_wire: mbps(1),
        wire: mbps(2),
        spine_wire: mbps(3),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

fn dumbbell(left: u32, right: u32) -> Dumbbell {
    Dumbbell {
        left,
        right,
        host_wire: mbps(1),
        wire: mbps(2),
        bottleneck: mbps(3),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

fn parallel(left: u32, right: u32, paths: usize) -> ParallelPaths {
    ParallelPaths {
        left,
        right,
        paths: vec![mbps(3); paths],
        host_wire: mbps(1),
        wire: mbps(2),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

#[test]
fn a_fat_tree_has_the_counts_of_al_fares() {
    // k³/4 hosts, (k/2)² cores, k switches in each of k pods; every switch has k ports.
    for k in [2, 4, 8, 16, 48] {
        let built = fat_tree(k, None).build().unwrap();
        let n = k as usize;
        assert_eq!(counts(&built), (n * n * n / 4, 5 * n * n / 4, 3 * n * n * n / 4), "k = {k}");
        assert_eq!(degrees(&built.graph, NodeKind::Switch), [n]);
        assert_eq!(degrees(&built.graph, NodeKind::Host), [1]);
        assert_eq!(built.top.len(), n * n / 4);
    }
    // The paper's own example: 27,648 hosts with 48-port switches.
    assert_eq!(fat_tree(48, None).build().unwrap().hosts.len(), 27_648);
}

#[test]
fn a_fat_tree_has_the_paths_of_al_fares() {
    for k in [4, 6, 8] {
        let built = fat_tree(k, None).build().unwrap();
        let half = k as usize / 2;
        assert_eq!(between(&built, 0, half - 1), (2, 1), "same edge switch");
        assert_eq!(between(&built, 0, half), (4, half as u64), "same pod");
        assert_eq!(between(&built, 0, half * half), (6, (half * half) as u64), "other pod");
        assert_eq!(farthest(&built), 6);
        for &core in &built.top {
            assert_eq!(shortest(&built.graph, core, built.hosts[0]), Some((3, 1)), "one path down from a core");
        }
    }
}

#[test]
fn tiers_have_their_wires_and_latencies() {
    let built = fat_tree(4, Some(3)).build().unwrap();
    assert_eq!(counts(&built), (24, 20, 24 + 16 + 16));
    let tier =
        |name: &str| name.trim_start_matches("pod").trim_matches(|c: char| c.is_ascii_digit() || c == '-').to_owned();
    for link in built.graph.links() {
        let [from, to] = [link.from, link.to].map(|id| tier(&built.graph.node(id).name));
        let expected = match (from.as_str(), to.as_str()) {
            ("host", "edge") => 1,
            ("edge", "host") => 2,
            ("edge", "aggregation") | ("aggregation", "edge") => 3,
            ("aggregation", "core") | ("core", "aggregation") => 4,
            other => panic!("{other:?}"),
        };
        assert_eq!(link.wire, mbps(expected));
    }
    for node in built.graph.nodes() {
        let expected = if node.kind == NodeKind::Host { 5 } else { 25 };
        assert_eq!(node.latency, Span::from_micros(expected));
    }
    assert_eq!(built.graph.node(built.hosts[6 + 3]).name, "pod1-host3");
    let edge = built.graph.link(built.graph.interfaces(built.hosts[6 + 3])[0]).to;
    assert_eq!(built.graph.node(edge).name, "pod1-edge1");
}

#[test]
fn aggregation_switches_reach_their_group_of_cores() {
    for graph in [fat_tree(4, None).build().unwrap().graph, dual_homed_fat_tree(4, None).build().unwrap().graph] {
        for (name, expected) in [("pod0-aggregation0", ["core0", "core1"]), ("pod3-aggregation1", ["core2", "core3"])] {
            let ports = graph.interfaces(graph.find(name).unwrap());
            let far: Vec<&str> = ports.iter().map(|&link| graph.node(graph.link(link).to).name.as_str()).collect();
            assert!(expected.iter().all(|core| far.contains(core)), "{name}: {far:?}");
            assert_eq!(far.iter().filter(|n| n.starts_with("core")).count(), 2);
        }
    }
}

#[test]
fn leaf_spine_has_a_path_per_spine() {
    // pFabric: 144 hosts, 9 leaves, 4 spines.
    let built = two_tier(9, 4, 16).build().unwrap();
    assert_eq!(counts(&built), (144, 13, 144 + 36));
    assert_eq!(between(&built, 0, 15), (2, 1));
    assert_eq!(between(&built, 0, 16), (4, 4));
    assert_eq!(farthest(&built), 4);
    assert_eq!(built.graph.node(built.hosts[17]).name, "leaf1-host1");
    assert_eq!(built.top.len(), 4);
}

#[test]
fn a_dumbbell_has_one_path_across() {
    let mut built = dumbbell(2, 3).build().unwrap();
    assert_eq!(counts(&built), (5, 2, 6));
    assert_eq!(between(&built, 0, 1), (2, 1));
    assert_eq!(between(&built, 0, 4), (3, 1));
    let names: Vec<&str> = built.hosts.iter().map(|&id| built.graph.node(id).name.as_str()).collect();
    assert_eq!(names, ["left-host0", "left-host1", "right-host0", "right-host1", "right-host2"]);
    let refused = built.attach_top_host("extra", Span::ZERO, mbps(1), mbps(1));
    assert_eq!(refused, Err(TopologyError::NoTop { name: "extra".into() }));
}

#[test]
fn parallel_paths_are_as_many_as_asked_for() {
    let built = parallel(1, 1, 3).build().unwrap();
    assert_eq!(counts(&built), (2, 6, 9));
    assert_eq!(between(&built, 0, 1), (3, 3));
    assert_eq!(built.graph.interfaces(built.hosts[1]).len(), 3);
    assert_eq!(built.graph.find("path2-left"), Some(built.top[2]));
}

#[test]
fn a_dual_homed_pod_is_that_of_figure_6_4() {
    let built = dual_homed_pod(4, None).build().unwrap();
    assert_eq!(counts(&built), (8, 4, 16 + 4));
    assert_eq!(degrees(&built.graph, NodeKind::Host), [2]);
    // Two disjoint paths, one by each edge switch.
    assert_eq!(between(&built, 0, 7), (2, 2));
    assert_eq!(dual_homed_pod(4, Some(3)).build().unwrap().hosts.len(), 3);
}

#[test]
fn a_dual_homed_fat_tree_has_the_hosts_of_a_fat_tree() {
    // Thesis §6.4: 16 hosts with k = 4.
    let built = dual_homed_fat_tree(4, None).build().unwrap();
    assert_eq!(counts(&built), (16, 20, 32 + 16 + 16));
    assert_eq!(built.graph.node(built.hosts[7]).name, "pod1-host3");
    assert_eq!(between(&built, 0, 1), (2, 2));
    // Any edge switch up, any aggregation switch, any of its cores, the aggregation switch below, any edge switch down.
    assert_eq!(between(&built, 0, 15), (6, 2 * 2 * 2 * 2));
    assert_eq!(built.top, [built.graph.find("core0").unwrap(), built.graph.find("core2").unwrap()]);
    let wide = dual_homed_fat_tree(8, Some(5)).build().unwrap();
    assert_eq!(counts(&wide), (40, 80, 40 * 4 + 128 + 128));
}

#[test]
fn top_hosts_have_an_interface_per_plane() {
    let mut built = dual_homed_pod(4, None).build().unwrap();
    let host = built.attach_top_host("generator", Span::ZERO, mbps(8), mbps(9)).unwrap();
    let ports = built.graph.interfaces(host);
    assert_eq!(ports.iter().map(|&l| built.graph.link(l).to).collect::<Vec<_>>(), built.top);
    assert_eq!(built.graph.link(ports[1]).wire, mbps(9), "down from the host");
    assert_eq!(built.graph.link(ports[1].reverse()).wire, mbps(8), "up to the host");
    assert_eq!(built.hosts.len(), 8, "an extra host is none of the topology's own");
    let before = built.clone();
    let twice = built.attach_top_host("generator", Span::ZERO, mbps(1), mbps(1));
    assert_eq!(twice, Err(GraphError::DuplicateName { name: "generator".into() }.into()));
    assert_eq!(built, before);
    assert!(built.attach_top_host("other", Span::ZERO, mbps(1), mbps(0)).is_err());
}

#[test]
fn impossible_parameters_are_named() {
    let odd = fat_tree(5, None).build().unwrap_err();
    assert_eq!(odd.to_string(), "`k` is 5; it must be even and at least 2");
    assert!(dual_homed_pod(0, None).build().is_err());
    assert!(dual_homed_fat_tree(4, Some(0)).build().is_err());
    assert!(fat_tree(4, Some(0)).build().is_err());
    assert!(dumbbell(0, 1).build().is_err());
    assert!(parallel(1, 1, 0).build().is_err());
    assert!(two_tier(1, 0, 1).build().is_err());
}

#[test]
fn huge_parameters_are_errors_before_they_are_memory() {
    let most = u32::MAX - 1;
    let results = [
        fat_tree(most, None).build(),
        fat_tree(4, Some(u32::MAX)).build(),
        fat_tree(1000, None).build(),
        dual_homed_pod(most, None).build(),
        dual_homed_pod(most, Some(u32::MAX)).build(),
        dual_homed_fat_tree(most, None).build(),
        dual_homed_fat_tree(most, Some(u32::MAX)).build(),
        two_tier(u32::MAX, u32::MAX, u32::MAX).build(),
        dumbbell(u32::MAX, u32::MAX).build(),
        parallel(u32::MAX, u32::MAX, 100_000).build(),
    ];
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(error, TopologyError::TooLarge { .. }), "{error}");
    }
    // k³ · 3/4 cables, both directions: 140 is the last that fits 4 million.
    assert!(matches!(fat_tree(140, Some(1)).build().map(|b| b.hosts.len()), Ok(9_800)));
    assert_eq!(fat_tree(140, None).build().unwrap_err(), TopologyError::TooLarge { links: 4_116_000 });
}

#[test]
fn sixty_five_thousand_hosts_are_no_burden() {
    use crate::path::{Choice, Paths, flow_hash};
    let built = fat_tree(64, None).build().unwrap();
    assert_eq!(built.hosts.len(), 65_536);
    let mut paths = Paths::new(&built.graph);
    let mut out = Vec::new();
    for i in 0..1000 {
        let [a, b] = [built.hosts[i], built.hosts[65_535 - 32 * i]].map(|host| built.graph.interfaces(host)[0]);
        paths.path(a, b, Choice::Ecmp(flow_hash(a, b, i as u16, 80)), &mut out).unwrap();
        assert_eq!(out.len(), 6);
    }
}
