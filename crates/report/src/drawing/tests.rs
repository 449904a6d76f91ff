use std::collections::BTreeMap;

use headway_results::{TopologyLink, TopologyNode};
use headway_units::{Rate, Span};
use proptest::prelude::*;

use super::*;

/// A network that grows by names.
#[derive(Default)]
struct Net {
    topology: Topology,
    places: BTreeMap<String, u32>,
}

impl Net {
    fn node(&mut self, name: &str, kind: NodeKind, tier: u32) {
        self.places.insert(name.to_owned(), self.topology.nodes.len() as u32);
        self.topology.nodes.push(TopologyNode { name: name.to_owned(), kind, tier });
    }

    fn host(&mut self, name: &str) {
        self.node(name, NodeKind::Host, 0);
    }

    fn switch(&mut self, name: &str, tier: u32) {
        self.node(name, NodeKind::Switch, tier);
    }

    fn cable(&mut self, one: &str, other: &str) {
        let (one, other) = (self.places[one], self.places[other]);
        for (from, to) in [(one, other), (other, one)] {
            let link = TopologyLink { from, to, rate: Rate::from_gbps(1), delay: Span::ZERO, limit: None };
            self.topology.links.push(link);
        }
    }

    fn hosts_at(&mut self, switch: &str, count: u32) {
        for number in 0..count {
            let name = format!("{switch}-host{number}");
            self.host(&name);
            self.cable(&name, switch);
        }
    }

    fn draw(&self) -> Drawing {
        let drawing = draw(&self.topology);
        check(&self.topology, &drawing);
        drawing
    }
}

/// What holds for the drawing of any network.
fn check(topology: &Topology, drawing: &Drawing) {
    assert!(drawing.nodes.len() <= MAX_DRAWN, "{} nodes", drawing.nodes.len());
    assert_eq!(drawing.nodes.iter().map(|node| node.count).sum::<usize>(), topology.nodes.len());
    assert_eq!(drawing.node_of.len(), topology.nodes.len());
    for node in &drawing.nodes {
        assert!((0.0..=1.0).contains(&node.x) && (0.0..=1.0).contains(&node.y), "{node:?}");
    }
    for (node, &place) in topology.nodes.iter().zip(&drawing.node_of) {
        assert_eq!(drawing.nodes[place].kind, node.kind, "hosts and switches are not drawn as one");
    }
    let mut drawn = 0;
    for link in &drawing.links {
        assert_ne!(link.from, link.to);
        for &member in &link.members {
            let own = &topology.links[member as usize];
            let ends = (drawing.node_of[own.from as usize], drawing.node_of[own.to as usize]);
            assert_eq!(ends, (link.from, link.to));
            drawn += 1;
        }
    }
    let between = |link: &&TopologyLink| drawing.node_of[link.from as usize] != drawing.node_of[link.to as usize];
    assert_eq!(drawn, topology.links.iter().filter(between).count(), "each link between different nodes is drawn once");
}

fn at(drawing: &Drawing, name: &str) -> (f64, f64) {
    let node = drawing.nodes.iter().find(|node| node.name == name).unwrap_or_else(|| panic!("{name} is drawn"));
    (node.x, node.y)
}

/// Pairs of drawn cables that cross.
fn crossings(drawing: &Drawing) -> usize {
    let ends = |link: &DrawnLink| (&drawing.nodes[link.from], &drawing.nodes[link.to]);
    let cables: Vec<_> = drawing.links.iter().filter(|link| link.from < link.to).collect();
    let side = |a: &DrawnNode, b: &DrawnNode, c: &DrawnNode| (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    let cross = |one: &DrawnLink, other: &DrawnLink| {
        let ((a, b), (c, d)) = (ends(one), ends(other));
        side(a, b, c) * side(a, b, d) < -1e-12 && side(c, d, a) * side(c, d, b) < -1e-12
    };
    (0..cables.len())
        .flat_map(|one| (0..one).map(move |other| (one, other)))
        .filter(|&(a, b)| cross(cables[a], cables[b]))
        .count()
}

/// A FatTree of `k`-port switches (Al-Fares et al., SIGCOMM 2008), with so many hosts on each edge switch.
fn fat_tree(k: u32, hosts: u32) -> Net {
    let mut net = Net::default();
    let half = k / 2;
    for core in 0..half * half {
        net.switch(&format!("core{core}"), 3);
    }
    for pod in 0..k {
        for number in 0..half {
            let name = format!("pod{pod}-aggregation{number}");
            net.switch(&name, 2);
            for core in 0..half {
                net.cable(&name, &format!("core{}", number * half + core));
            }
        }
        for number in 0..half {
            let name = format!("pod{pod}-edge{number}");
            net.switch(&name, 1);
            for aggregation in 0..half {
                net.cable(&name, &format!("pod{pod}-aggregation{aggregation}"));
            }
            net.hosts_at(&name, hosts);
        }
    }
    net
}

#[test]
fn a_dumbbell_leads_from_left_to_right_without_crossings() {
    let mut net = Net::default();
    net.switch("left", 1);
    net.switch("right", 1);
    net.cable("left", "right");
    net.hosts_at("left", 5);
    net.hosts_at("right", 3);
    let drawing = net.draw();
    let column = |name: &str| at(&drawing, name).0;
    assert_eq!((column("left-host0"), column("right-host2")), (0.0, 1.0));
    assert!(column("left-host4") < column("left") && column("left") < column("right"));
    assert!(column("right") < column("right-host0"));
    assert!((at(&drawing, "left").1 - 0.5).abs() < 1e-9, "a switch stands at the middle of its hosts");
    assert_eq!(crossings(&drawing), 0);
}

#[test]
fn parallel_paths_do_not_cross() {
    let mut net = Net::default();
    for host in ["source", "sink", "other"] {
        net.host(host);
    }
    for path in 0..4 {
        let (left, right) = (format!("path{path}-left"), format!("path{path}-right"));
        net.switch(&left, 1);
        net.switch(&right, 1);
        net.cable(&left, &right);
        net.cable("source", &left);
        net.cable("sink", &right);
    }
    net.cable("other", "path2-left");
    let drawing = net.draw();
    assert_eq!((at(&drawing, "source").0, at(&drawing, "other").0, at(&drawing, "sink").0), (0.0, 0.0, 1.0));
    for path in 0..4 {
        let (left, right) = (at(&drawing, &format!("path{path}-left")), at(&drawing, &format!("path{path}-right")));
        assert!((left.1 - right.1).abs() < 0.15 && left.0 < right.0, "{left:?} {right:?}");
    }
    assert!(crossings(&drawing) <= 2, "{}", crossings(&drawing));
}

#[test]
fn a_fat_tree_has_its_tiers_as_rows_and_its_pods_together() {
    let net = fat_tree(4, 2);
    let drawing = net.draw();
    for node in &drawing.nodes {
        let row = 1.0 - f64::from(node.tier) / 3.0;
        assert!((node.y - row).abs() < 1e-9, "{node:?}");
    }
    let range = |pod: u32, tier: u32| {
        let own = drawing.nodes.iter().filter(|node| node.name.starts_with(&format!("pod{pod}-")) && node.tier == tier);
        own.fold((1.0f64, 0.0f64), |(low, high), node| (low.min(node.x), high.max(node.x)))
    };
    for tier in 0..3 {
        for pod in 1..4 {
            assert!(range(pod - 1, tier).1 < range(pod, tier).0, "pods {} and {pod} in tier {tier}", pod - 1);
        }
    }
    for edge in 0..2 {
        let name = format!("pod1-edge{edge}");
        let mean = f64::midpoint(at(&drawing, &format!("{name}-host0")).0, at(&drawing, &format!("{name}-host1")).0);
        assert!((at(&drawing, &name).0 - mean).abs() < 1e-9, "a switch stands above its hosts");
    }
}

/// As a graph of a scenario may have them: racks and switches in any order.
#[test]
fn racks_stand_together_however_hosts_are_numbered() {
    let mut net = Net::default();
    for leaf in ["leaf0", "leaf1", "leaf2"] {
        net.switch(leaf, 1);
    }
    net.switch("spine", 2);
    for leaf in ["leaf0", "leaf1", "leaf2"] {
        net.cable("spine", leaf);
    }
    for number in 0..12 {
        net.host(&format!("h{number}"));
        net.cable(&format!("h{number}"), &format!("leaf{}", number % 3));
    }
    let drawing = net.draw();
    assert_eq!(crossings(&drawing), 0);
}

#[test]
fn two_tiers_have_the_spines_above_the_middle_of_the_leaves() {
    let mut net = Net::default();
    for spine in 0..2 {
        net.switch(&format!("spine{spine}"), 2);
    }
    for leaf in 0..4 {
        let name = format!("leaf{leaf}");
        net.switch(&name, 1);
        net.hosts_at(&name, 8);
        for spine in 0..2 {
            net.cable(&name, &format!("spine{spine}"));
        }
    }
    let drawing = net.draw();
    let (one, other) = (at(&drawing, "spine0"), at(&drawing, "spine1"));
    assert!((one.0 + other.0 - 1.0).abs() < 1e-6 && one.0 < 0.4 && one.1 == 0.0, "{one:?} {other:?}");
    assert_eq!(at(&drawing, "leaf2").1, 0.5);
}

/// VL2 (Greenberg et al., SIGCOMM 2009): each rack on two aggregation switches, all of these on all intermediates.
#[test]
fn vl2_keeps_the_racks_in_their_order() {
    let mut net = Net::default();
    for number in 0..2 {
        net.switch(&format!("intermediate{number}"), 3);
    }
    for number in 0..4 {
        net.switch(&format!("aggregation{number}"), 2);
        for other in 0..2 {
            net.cable(&format!("aggregation{number}"), &format!("intermediate{other}"));
        }
    }
    for rack in 0..4 {
        let name = format!("tor{rack}");
        net.switch(&name, 1);
        for side in 0..2 {
            net.cable(&name, &format!("aggregation{}", rack / 2 * 2 + side));
        }
        net.hosts_at(&name, 5);
    }
    let drawing = net.draw();
    let racks: Vec<f64> = (0..4).map(|rack| at(&drawing, &format!("tor{rack}")).0).collect();
    assert!(racks.is_sorted(), "{racks:?}");
    // each of the two pairs of racks crosses once on its way up, and 4 × 2 complete cables cross (4·3/2)·(2·1/2) = 6 times
    assert_eq!(crossings(&drawing), 8);
}

#[test]
fn bcube_has_a_row_for_each_level() {
    let (mut net, n) = (Net::default(), 4);
    for host in 0..n * n {
        net.host(&format!("host{host}"));
    }
    for level in 0..2 {
        for number in 0..n {
            net.switch(&format!("level{level}-switch{number}"), 1);
        }
    }
    for host in 0..n * n {
        net.cable(&format!("host{host}"), &format!("level0-switch{}", host / n));
        net.cable(&format!("host{host}"), &format!("level1-switch{}", host % n));
    }
    let drawing = net.draw();
    let rows = ["host3", "level0-switch2", "level1-switch2"].map(|name| at(&drawing, name).1);
    assert_eq!(rows, [1.0, 0.5, 0.0]);
}

/// Hosts with an interface on each edge switch of their pod, and switches above: no levels, for these are tiers.
#[test]
fn multi_homed_hosts_below_several_tiers_leave_the_tiers_as_rows() {
    let mut net = Net::default();
    net.switch("core", 3);
    for pod in 0..2 {
        let aggregation = format!("pod{pod}-aggregation");
        net.switch(&aggregation, 2);
        net.cable(&aggregation, "core");
        for edge in 0..3 {
            net.switch(&format!("pod{pod}-edge{edge}"), 1);
            net.cable(&format!("pod{pod}-edge{edge}"), &aggregation);
        }
        for host in 0..4 {
            net.host(&format!("pod{pod}-host{host}"));
            for edge in (0..3).filter(|edge| *edge != host) {
                net.cable(&format!("pod{pod}-host{host}"), &format!("pod{pod}-edge{edge}"));
            }
        }
    }
    let drawing = net.draw();
    for node in &drawing.nodes {
        assert!((node.y - (1.0 - f64::from(node.tier) / 3.0)).abs() < 1e-9, "{node:?}");
    }
}

#[test]
fn planes_next_to_each_other_share_a_row() {
    let mut net = Net::default();
    net.switch("one", 1);
    net.switch("two", 1);
    for host in 0..6 {
        net.host(&format!("h{host}"));
        net.cable(&format!("h{host}"), "one");
        net.cable(&format!("h{host}"), "two");
    }
    let drawing = net.draw();
    assert_eq!((at(&drawing, "one").1, at(&drawing, "two").1, at(&drawing, "h3").1), (0.0, 0.0, 1.0));
}

#[test]
fn a_ring_of_routers_is_drawn_as_one() {
    let mut net = Net::default();
    let routers = 8;
    for router in 0..routers {
        net.switch(&format!("r{router}"), 1);
        net.hosts_at(&format!("r{router}"), 1);
    }
    for router in 0..routers {
        net.cable(&format!("r{router}"), &format!("r{}", (router + 1) % routers));
    }
    let drawing = net.draw();
    assert_eq!(crossings(&drawing), 0);
    let mut places: Vec<(f64, f64)> = drawing.nodes.iter().map(|node| (node.x, node.y)).collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0));
    for one in 0..places.len() {
        for other in 0..one {
            let (a, b) = (places[one], places[other]);
            assert!((a.0 - b.0).hypot(a.1 - b.1) > 0.04, "nodes do not cover each other: {a:?} {b:?}");
        }
    }
}

#[test]
fn many_hosts_of_a_switch_are_drawn_as_one() {
    let mut net = Net::default();
    net.switch("s", 1);
    net.hosts_at("s", 1000);
    let drawing = net.draw();
    let hosts = drawing.nodes.iter().find(|node| node.kind == NodeKind::Host).unwrap();
    assert_eq!((drawing.nodes.len(), hosts.count, hosts.name.as_str()), (2, 1000, "s-host0 … s-host999"));
    assert_eq!(drawing.links.len(), 2);
}

#[test]
fn large_racks_are_joined_before_small_ones() {
    let mut net = Net::default();
    for (switch, hosts) in [("a", 300), ("b", 20)] {
        net.switch(switch, 1);
        net.hosts_at(switch, hosts);
        net.switch("top", 2);
        net.cable(switch, "top");
    }
    let drawing = net.draw();
    let counts: Vec<usize> =
        drawing.nodes.iter().filter(|node| node.kind == NodeKind::Host).map(|node| node.count).collect();
    assert_eq!((counts.len(), counts.iter().max()), (21, Some(&300)));
}

#[test]
fn large_fat_trees_keep_their_pods() {
    let drawing = fat_tree(8, 4).draw();
    assert_eq!(drawing.nodes.len(), 208, "all of it");
    let drawing = fat_tree(16, 8).draw();
    // 448 nodes with racks as one are too many: the racks of a pod are one, below 128 aggregation and 64 core switches
    assert_eq!(drawing.nodes.len(), 64 + 128 + 16 + 16);
    let hosts = drawing.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    assert_eq!(hosts.map(|node| node.count).collect::<Vec<_>>(), [64; 16]);
}

#[test]
fn nothing_and_little_are_drawn() {
    let mut net = Net::default();
    assert!(net.draw().nodes.is_empty());
    net.host("a");
    assert_eq!(at(&net.draw(), "a"), (0.5, 0.5));
    net.host("b");
    net.cable("a", "b");
    net.cable("a", "b");
    let drawing = net.draw();
    assert_eq!(drawing.links.iter().map(|link| link.members.len()).collect::<Vec<_>>(), [2, 2]);
    let (a, b) = (at(&drawing, "a"), at(&drawing, "b"));
    assert!((a.0 - b.0).hypot(a.1 - b.1) > 0.5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_network_is_drawn(
        nodes in prop::collection::vec((any::<bool>(), 0..5u32), 1..700),
        cables in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..900),
    ) {
        let mut net = Net::default();
        for (at, (host, tier)) in nodes.iter().enumerate() {
            let kind = if *host { NodeKind::Host } else { NodeKind::Switch };
            net.node(&format!("n{at}"), kind, *tier);
        }
        for (one, other) in &cables {
            net.cable(&format!("n{}", one.index(nodes.len())), &format!("n{}", other.index(nodes.len())));
        }
        let drawing = net.draw();
        prop_assert_eq!(&net.draw(), &drawing, "always the same");
    }
}
