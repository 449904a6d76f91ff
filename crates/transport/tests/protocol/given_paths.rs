//! Paths that are written down and given again: another seed takes the same links.

use std::collections::BTreeMap;
use std::sync::Arc;

use headway_engine::Streams;
use headway_fabric::topology::{Built, DualHomedPod, FatTree};
use headway_fabric::{Graph, LinkId, NoPath, NodeId, Waypoint};
use headway_transport::{
    Datagram, Failure, FlowStart, GivenPath, GivenPaths, Measure, PathOf, PathTaken, Profile, Roce, Simulation,
    Stopped, Transport,
};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{multipath, profile, wire};

const END: Time = Time::from_picos(50_000_000_000);

fn fat_tree() -> Built {
    let wire = wire(Rate::from_gbps(1), Span::from_micros(1));
    let (host_latency, switch_latency) = (Span::ZERO, Span::ZERO);
    let tree = FatTree {
        k: 4,
        hosts_per_edge: None,
        host_wire: wire,
        wire,
        aggregation_wire: wire,
        core_wire: wire,
        host_latency,
        switch_latency,
    };
    tree.build().unwrap()
}

/// Hosts with two interfaces, on switches of their own.
fn dual_homed() -> Built {
    let wire = wire(Rate::from_gbps(1), Span::from_micros(1));
    let (host_latency, switch_latency) = (Span::ZERO, Span::ZERO);
    let pod =
        DualHomedPod { k: 4, hosts: None, host_wire: wire, wire, aggregation_wire: wire, host_latency, switch_latency };
    pod.build().unwrap()
}

/// Each host sends to the one half of all hosts further on.
fn starts(hosts: &[NodeId]) -> Vec<FlowStart> {
    let half = hosts.len() / 2;
    let start = |at: usize| FlowStart {
        time: Time::ZERO + Span::from_micros(at as u64),
        id: at as u64,
        traffic: 3,
        source: hosts[at],
        destination: hosts[(at + half) % hosts.len()],
        size: Some(Bytes::new(300_000)),
        deadline: None,
        profile: 0,
    };
    (0..hosts.len()).map(start).collect()
}

/// The paths of a run, and how many of its flows were complete.
fn run(
    built: &Built,
    transport: &Transport,
    (seed, given, failures): (u64, Option<&GivenPaths>, &[Failure]),
) -> Result<(Vec<PathTaken>, usize), Stopped> {
    let transports = vec![transport.clone()];
    let mut simulation = Simulation::new(built.graph.clone(), transports, Measure::default(), Streams::new(seed));
    simulation.keep_paths();
    if let Some(given) = given {
        simulation.give_paths(Arc::new(given.clone()));
    }
    simulation.set_failures(failures);
    simulation.run(END, &mut starts(&built.hosts).into_iter())?;
    let paths = simulation.paths_taken().expect("they were kept");
    Ok((paths, simulation.finish().0.iter().filter(|flow| flow.end.is_some()).count()))
}

/// All nodes that a path passes.
fn over(graph: &Graph, path: &[LinkId]) -> Arc<[Waypoint]> {
    path.iter().map(|&link| Waypoint { node: graph.link(link).to, cable: Some(graph.cable(link).0) }).collect()
}

fn given(graph: &Graph, taken: &[PathTaken]) -> GivenPaths {
    let own = |path: &PathTaken| GivenPath { forth: over(graph, &path.forth), back: over(graph, &path.back) };
    GivenPaths { traffics: BTreeMap::new(), subflows: taken.iter().map(|path| (path.of, own(path))).collect() }
}

/// Without the times, which depend on handshakes.
fn links(taken: &[PathTaken]) -> Vec<(PathOf, [Vec<LinkId>; 2])> {
    taken.iter().map(|path| (path.of, [path.forth.to_vec(), path.back.to_vec()])).collect()
}

fn check(built: &Built, transport: &Transport, subflows: usize, goes_back: bool) {
    let flows = built.hosts.len();
    let (first, complete) = run(built, transport, (1, None, &[])).unwrap();
    assert_eq!((first.len(), complete), (flows * subflows, flows));
    for path in &first {
        let start = starts(&built.hosts)[path.of.flow as usize];
        let graph = &built.graph;
        assert_eq!(graph.link(path.forth[0]).from, start.source);
        assert_eq!(graph.link(path.forth[path.forth.len() - 1]).to, start.destination);
        assert_eq!(!path.back.is_empty(), goes_back);
    }
    let (other, _) = run(built, transport, (2, None, &[])).unwrap();
    assert_ne!(links(&other), links(&first), "another seed has other ports");
    let again = given(&built.graph, &first);
    let (same, complete) = run(built, transport, (2, Some(&again), &[])).unwrap();
    assert_eq!((links(&same), complete), (links(&first), flows));
}

#[test]
fn connections_of_another_seed_take_the_paths_that_they_are_given() {
    for built in [fat_tree(), dual_homed()] {
        check(&built, &profile().into(), 1, true);
        check(&built, &Profile { replicate: Some((Bytes::new(1_000_000), 2)), ..profile() }.into(), 2, true);
        check(&built, &Roce::default().into(), 1, true);
        check(&built, &Datagram { rate: Rate::from_mbps(200), payload: 1000, overhead: 42 }.into(), 1, false);
    }
    check(&fat_tree(), &multipath("lia", 3).into(), 3, true);
}

/// RFC 2992 leaves the rest to the hash: of the four cores the one that is given, of what is between nothing is.
#[test]
fn all_flows_of_a_traffic_pass_a_switch() {
    let built = fat_tree();
    let core = built.top[2];
    let all: Arc<[Waypoint]> = Arc::from([Waypoint { node: core, cable: None }]);
    let given = |number: u16| GivenPaths {
        traffics: BTreeMap::from([(number, GivenPath { forth: Arc::clone(&all), back: Arc::default() })]),
        subflows: BTreeMap::new(),
    };
    let passes = |path: &[LinkId]| path.iter().any(|&link| built.graph.link(link).to == core);
    let (taken, _) = run(&built, &profile().into(), (1, Some(&given(3)), &[])).unwrap();
    assert!(taken.iter().all(|path| passes(&path.forth)));
    assert!(!taken.iter().all(|path| passes(&path.back)), "the way back is the hash's");
    let (taken, _) = run(&built, &profile().into(), (1, Some(&given(2)), &[])).unwrap();
    assert!(!taken.iter().all(|path| passes(&path.forth)), "of another traffic");
}

#[test]
fn a_path_that_cannot_be_ends_the_run() {
    let built = fat_tree();
    let over: Arc<[Waypoint]> = Arc::from([Waypoint { node: built.hosts[1], cable: None }]);
    let path = GivenPath { forth: Arc::default(), back: over };
    let given = GivenPaths { traffics: BTreeMap::from([(3, path)]), ..GivenPaths::default() };
    let error = run(&built, &profile().into(), (1, Some(&given), &[])).unwrap_err();
    assert!(matches!(error, Stopped::NoPath(NoPath::NotOver { over, .. }) if over == built.hosts[1]), "{error}");
}

/// A path that is given is left while routing knows that a link of it is down, and taken again afterwards.
#[test]
fn failures_move_connections_and_the_moves_are_written_down() {
    let built = fat_tree();
    let (first, _) = run(&built, &profile().into(), (1, None, &[])).unwrap();
    let again = given(&built.graph, &first);
    let long = first.iter().find(|path| path.forth.len() == 6).expect("a flow between pods");
    let at = |micros: u64| Time::ZERO + Span::from_micros(micros);
    let cut = Failure {
        links: vec![long.forth[2]],
        at: at(500),
        until: Some(at(1500)),
        reroute: Some(Span::from_micros(100)),
        carrier: false,
    };
    let (taken, _) = run(&built, &profile().into(), (2, Some(&again), &[cut])).unwrap();
    let moves: Vec<&PathTaken> = taken.iter().filter(|path| path.of == long.of).collect();
    assert_eq!(moves.len(), 3, "{moves:?}");
    assert_eq!((moves[0].time, &moves[0].forth), (at(long.of.flow), &long.forth));
    assert_eq!(moves[1].time, at(600));
    assert!(!moves[1].forth.contains(&long.forth[2]));
    assert_eq!((moves[2].time, &moves[2].forth), (at(1600), &long.forth));
}
