use headway_units::{Rate, Span};

use super::*;
use crate::graph::{Graph, GraphError, NodeId, NodeKind};
use crate::path::tests::{shortest, wire};
use crate::wire::Wire;

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

pub(crate) fn multi_homed(k: u32, hosts_per_edge: Option<u32>) -> MultiHomedFatTree {
    MultiHomedFatTree {
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

pub(crate) fn bcube(n: u32, levels: u32) -> Bcube {
    Bcube {
        n,
        levels,
        host_wire: mbps(1),
        wire: mbps(2),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

fn tree(aggregations: u32, edges_per_aggregation: u32, hosts_per_edge: u32) -> Tree {
    Tree {
        aggregations,
        edges_per_aggregation,
        hosts_per_edge,
        host_wire: mbps(1),
        wire: mbps(2),
        aggregation_wire: mbps(3),
        core_wire: mbps(4),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

fn vl2(aggregation_ports: u32, intermediate_ports: u32, hosts_per_tor: u32) -> Vl2 {
    Vl2 {
        aggregation_ports,
        intermediate_ports,
        hosts_per_tor,
        host_wire: mbps(1),
        wire: mbps(2),
        aggregation_wire: mbps(3),
        intermediate_wire: mbps(4),
        host_latency: Span::from_micros(5),
        switch_latency: Span::from_micros(25),
    }
}

/// How many nodes have `tier` in their names, and how many ports they have.
fn tier(built: &Built, tier: &str) -> (usize, Vec<usize>) {
    let graph = &built.graph;
    let of_tier =
        |name: &str| name.rsplit('-').next().is_some_and(|last| last.trim_end_matches(char::is_numeric) == tier);
    let nodes = (0..).map(NodeId).zip(graph.nodes()).filter(|(_, node)| of_tier(&node.name));
    let mut ports: Vec<usize> = nodes.map(|(id, _)| graph.interfaces(id).len()).collect();
    let count = ports.len();
    ports.sort_unstable();
    ports.dedup();
    (count, ports)
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
fn a_multi_homed_fat_tree_is_that_of_table_7_1() {
    for k in [2, 4, 6, 8] {
        let built = multi_homed(k, None).build().unwrap();
        let n = k as usize;
        assert_eq!(tier(&built, "host"), (n * n * n / 4, vec![n / 2]), "k = {k}");
        assert_eq!(tier(&built, "edge"), (n * n * n / 4, vec![n / 2 + 1]));
        assert_eq!(tier(&built, "aggregation"), (n * n / 2, vec![n / 2 + 1]));
        // The table says k/2 ports; k pods with an uplink each need k.
        assert_eq!(tier(&built, "core"), (n / 2, vec![n]));
        // One path in each plane: k/2 between pods, within a pod, within a rack.
        let planes = (n / 2) as u64;
        assert_eq!(between(&built, 0, built.hosts.len() - 1), (6, planes), "other pod");
        if k > 2 {
            assert_eq!(between(&built, 0, n / 2), (4, planes), "other rack of the pod");
            assert_eq!(between(&built, 0, 1), (2, planes), "same rack");
        }
        assert_eq!(built.top.len(), n / 2);
    }
    let wide = multi_homed(4, Some(3)).build().unwrap();
    assert_eq!((tier(&wide, "host").0, tier(&wide, "edge")), (24, (16, vec![4])));
    assert_eq!(wide.graph.node(wide.hosts[6 + 3]).name, "pod1-host3");
    let edges = wide.graph.interfaces(wide.hosts[6 + 3]).iter().map(|&link| wide.graph.link(link).to);
    assert_eq!(edges.map(|id| wide.graph.node(id).name.clone()).collect::<Vec<_>>(), ["pod1-edge2", "pod1-edge3"]);
}

#[test]
fn bcube_has_the_counts_of_guo() {
    // n^(k+1) servers with k + 1 ports, k + 1 levels of n^k switches with n ports; fig. 1 is BCube_1 with n = 4.
    for (n, levels) in [(4, 1), (4, 2), (3, 3), (8, 2), (4, 4)] {
        let built = bcube(n, levels).build().unwrap();
        let servers = (n as usize).pow(levels);
        let switches = levels as usize * servers / n as usize;
        assert_eq!(counts(&built), (servers, switches, servers * levels as usize), "BCube of {n} and {levels}");
        assert_eq!(degrees(&built.graph, NodeKind::Host), [levels as usize]);
        assert_eq!(degrees(&built.graph, NodeKind::Switch), [n as usize]);
        // The diameter: a digit corrected by each of k + 1 switches (theorem 1).
        assert_eq!(farthest(&built), 2 * levels as usize);
    }
    let built = bcube(4, 2).build().unwrap();
    let names = |host: usize| -> Vec<String> {
        let ports = built.graph.interfaces(built.hosts[host]).iter();
        ports.map(|&link| built.graph.node(built.graph.link(link).to).name.clone()).collect()
    };
    // Fig. 1: server 13 is in BCube_0 number 1 and on the level-1 switch number 3.
    assert_eq!(names(4 + 3), ["level0-switch1", "level1-switch3"]);
}

#[test]
fn servers_of_bcube_that_share_a_switch_differ_in_its_digit_alone() {
    let built = bcube(3, 3).build().unwrap();
    for level in 0..3u32 {
        for switch in 0..9 {
            let node = built.graph.find(&format!("level{level}-switch{switch}")).unwrap();
            let servers = built.graph.interfaces(node).iter().map(|&link| built.graph.link(link).to.0);
            let servers: Vec<u32> = servers.collect();
            let step = 3u32.pow(level);
            assert_eq!(servers[0] / step % 3, 0, "the digit starts at 0");
            assert_eq!(servers, [servers[0], servers[0] + step, servers[0] + 2 * step]);
        }
    }
}

#[test]
fn a_tree_has_one_path_between_any_two_hosts() {
    let built = tree(3, 2, 4).build().unwrap();
    assert_eq!(counts(&built), (24, 1 + 3 + 6, 24 + 6 + 3));
    assert_eq!(
        (tier(&built, "edge").1, tier(&built, "aggregation").1, tier(&built, "core").1),
        (vec![5], vec![3], vec![3])
    );
    assert_eq!(between(&built, 0, 3), (2, 1), "same edge switch");
    assert_eq!(between(&built, 0, 4), (4, 1), "same aggregation switch");
    assert_eq!(between(&built, 0, 8), (6, 1), "over the core");
    assert_eq!(farthest(&built), 6);
    assert_eq!(built.graph.node(built.hosts[9]).name, "edge2-host1");
    let rates = |from: &str, to: &str| {
        let to = built.graph.find(to).unwrap();
        let mut links = built.graph.interfaces(built.graph.find(from).unwrap()).iter().map(|&l| built.graph.link(l));
        links.find(|link| link.to == to).unwrap().wire
    };
    assert_eq!(rates("edge0-host0", "edge0"), mbps(1));
    assert_eq!(rates("edge0", "edge0-host0"), mbps(2));
    assert_eq!([rates("edge2", "aggregation1"), rates("aggregation1", "edge2")], [mbps(3); 2]);
    assert_eq!([rates("aggregation1", "core"), rates("core", "aggregation1")], [mbps(4); 2]);
}

#[test]
fn vl2_has_the_counts_and_paths_of_greenberg() {
    // D_A·D_I/4 racks of 20 servers, D_I aggregation switches, D_A/2 intermediate switches; every port is in use.
    for (d_a, d_i) in [(2, 2), (4, 4), (6, 4), (4, 8)] {
        let built = vl2(d_a, d_i, 20).build().unwrap();
        let (a, i) = (d_a as usize, d_i as usize);
        assert_eq!(tier(&built, "tor"), (a * i / 4, vec![22]), "D_A = {a}, D_I = {i}");
        assert_eq!(tier(&built, "aggregation"), (i, vec![a]));
        assert_eq!(tier(&built, "intermediate"), (a / 2, vec![i]));
        assert_eq!(built.hosts.len(), 20 * a * i / 4);
        assert_eq!(between(&built, 0, 19), (2, 1), "same rack");
        if a > 2 {
            assert_eq!(between(&built, 0, 20), (4, 2), "racks below the same aggregation switches");
        }
        if i > 2 {
            assert_eq!(between(&built, 0, 20 * a / 2), (6, 2 * (a / 2) as u64 * 2), "over any intermediate switch");
        }
        for &intermediate in &built.top {
            assert_eq!(shortest(&built.graph, intermediate, built.hosts[0]), Some((3, 2)));
        }
    }
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
    assert!(multi_homed(7, None).build().is_err());
    assert!(multi_homed(4, Some(0)).build().is_err());
    let hypercube = bcube(2, 3).build().unwrap_err();
    assert_eq!(hypercube.to_string(), "`n` is 2; it must be at least 3");
    assert!(bcube(4, 0).build().is_err());
    assert!(tree(1, 0, 1).build().is_err());
    assert!(vl2(4, 3, 20).build().is_err());
    assert!(vl2(0, 4, 20).build().is_err());
    assert!(vl2(4, 4, 0).build().is_err());
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
        multi_homed(most, None).build(),
        multi_homed(4, Some(u32::MAX)).build(),
        multi_homed(90, None).build(),
        bcube(u32::MAX, u32::MAX).build(),
        bcube(3, u32::MAX).build(),
        tree(u32::MAX, u32::MAX, u32::MAX).build(),
        vl2(most, most, u32::MAX).build(),
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
fn what_is_counted_is_what_is_built() {
    let k = [2u32, 4, 6, 8].into_iter();
    let designs = k
        .clone()
        .map(|k| (Design::FatTree { k }, fat_tree(k, None).build()))
        .chain(k.clone().map(|k| (Design::DualHomedFatTree { k }, dual_homed_fat_tree(k, None).build())))
        .chain(k.map(|k| (Design::MultiHomedFatTree { k }, multi_homed(k, None).build())))
        .chain(
            [(3, 1), (4, 2), (3, 3), (5, 2)].map(|(n, levels)| (Design::Bcube { n, levels }, bcube(n, levels).build())),
        )
        .chain([(1, 1, 1), (9, 4, 16), (3, 5, 2)].map(|(leaves, spines, hosts_per_leaf)| {
            (Design::TwoTier { leaves, spines, hosts_per_leaf }, two_tier(leaves, spines, hosts_per_leaf).build())
        }));
    for (design, built) in designs {
        let (inventory, built) = (design.inventory().unwrap(), built.unwrap());
        let (hosts, switches, cables) = counts(&built);
        let counted = (inventory.hosts, inventory.switches(), inventory.cables);
        assert_eq!(counted, (hosts as u64, switches as u64, cables as u64), "{design:?}");
        assert_eq!(degrees(&built.graph, NodeKind::Host), [inventory.interfaces as usize], "{design:?}");
        for one in &inventory.tiers {
            assert_eq!(tier(&built, one.name), (one.switches as usize, vec![one.ports as usize]), "{design:?}");
        }
    }
}

#[test]
fn counting_has_limits() {
    // Figure 7.6 at k = 48.
    let tiers = |design: Design| -> Vec<u64> { design.inventory().unwrap().tiers.iter().map(|t| t.switches).collect() };
    assert_eq!(tiers(Design::FatTree { k: 48 }), [1152, 1152, 576]);
    assert_eq!(tiers(Design::MultiHomedFatTree { k: 48 }), [27_648, 1152, 24]);
    assert!(Design::FatTree { k: 1586 }.inventory().is_ok());
    for design in [
        Design::FatTree { k: u32::MAX - 1 },
        Design::MultiHomedFatTree { k: 1590 },
        Design::Bcube { n: u32::MAX, levels: u32::MAX },
        Design::TwoTier { leaves: u32::MAX, spines: 1, hosts_per_leaf: u32::MAX },
    ] {
        let error = design.inventory().unwrap_err();
        assert!(matches!(error, TopologyError::TooManyHosts { .. }), "{error}");
    }
    for design in [
        Design::FatTree { k: 5 },
        Design::Bcube { n: 2, levels: 2 },
        Design::Bcube { n: 4, levels: 0 },
        Design::TwoTier { leaves: 1, spines: 0, hosts_per_leaf: 1 },
    ] {
        assert!(matches!(design.inventory(), Err(TopologyError::Parameter { .. })), "{design:?}");
    }
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
