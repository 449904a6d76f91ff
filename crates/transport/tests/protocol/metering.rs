//! Limits on ports: who gets how much, and that nothing is lost that is not counted.

use headway_control::metering::{Bounds, Controller, Headway, Objective, PortSpec, Reading, Settings};
use headway_engine::Streams;
use headway_fabric::{Excess, Graph, LimitedSpec, LinkId, NodeId, QueueSpec, Wire};
use headway_transport::{Control, FlowStart, LimitChange, Measure, Metered, MeteredPort, Metering, Simulation};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{profile, wire};

const LINE: Rate = Rate::from_mbps(100);
const BURST: Bytes = Bytes::new(15_180);

/// A switch with two hosts at 100 Mb/s and a third at 1 Gb/s, which both flows have in common.
struct Star {
    graph: Graph,
    hosts: Vec<NodeId>,
    /// The links out of the switch to the hosts.
    out: Vec<LinkId>,
}

fn queue() -> QueueSpec {
    QueueSpec::DropTail { limit: Some(headway_fabric::Limit::Bytes(Bytes::new(60_000))), mark: None }
}

impl Star {
    fn new(metered: Metered) -> Star {
        let mut graph = Graph::new();
        let switch = graph.add_switch("switch", Span::ZERO).unwrap();
        let (mut hosts, mut out) = (Vec::new(), Vec::new());
        for name in ["one", "other", "sink"] {
            let host = graph.add_host(name, Span::ZERO).unwrap();
            let rate = if name == "sink" { Rate::from_gbps(1) } else { LINE };
            let cable = Wire { queue: queue(), ..wire(rate, Span::from_micros(100)) };
            out.push(graph.connect(switch, host, cable, cable).unwrap().0);
            hosts.push(host);
        }
        let port = MeteredPort { out: out[0], metered };
        if let Some((link, excess)) = port.queue() {
            let (limit, mark) = (queue().limit(), None);
            graph.set_queue(link, QueueSpec::Limited(LimitedSpec { limit, mark, excess, burst: BURST }));
        }
        Star { graph, hosts, out }
    }

    /// Flows without end from both senders to the sink, or from the sink to both; bits per second of each from `from` on
    /// until 4 s.
    fn run(self, metering: Metering, back: bool) -> [f64; 2] {
        let mut simulation = Simulation::new(self.graph, vec![profile()], Measure::default(), Streams::new(1));
        simulation.set_metering(metering);
        let flow = |id: u64| {
            let (one, other) = (self.hosts[id as usize], self.hosts[2]);
            let (source, destination) = if back { (other, one) } else { (one, other) };
            let (time, size, deadline) = (Time::ZERO, None, None);
            FlowStart { time, id, traffic: 0, source, destination, size, deadline, profile: 0 }
        };
        let end = Time::ZERO + Span::from_secs(4);
        simulation.run(end, &mut [flow(0), flow(1)].into_iter()).unwrap();
        let (ends, ..) = simulation.finish();
        [0, 1].map(|flow: usize| ends[flow].delivered as f64 * 8.0 / 4.0)
    }
}

fn limits(star: &Star, metered: Metered, changes: Vec<LimitChange>) -> Metering {
    let ports = vec![MeteredPort { out: star.out[0], metered }];
    Metering { ports, burst: BURST, changes, control: None }
}

fn set(at: u64, mbps: Option<u64>) -> LimitChange {
    LimitChange { at: Time::ZERO + Span::from_secs(at), port: 0, limit: mbps.map(Rate::from_mbps) }
}

/// The flows do not contend. Frames of 1,518 B carry 1,460 B: 20 Mb/s of frames are 19.2 Mb/s of data. Shaped, TCP gets all of them; policed with
/// a burst of ten frames, it loses most of each window that its line takes at once, and gets far less.
#[test]
fn a_limit_holds_wherever_it_is_kept_and_the_other_flow_goes_on() {
    for (metered, least) in [
        (Metered::Into(Excess::Waits), 0.97),
        (Metered::Out(Excess::Waits), 0.97),
        (Metered::Into(Excess::Drops), 0.03),
        (Metered::Out(Excess::Drops), 0.03),
    ] {
        let star = Star::new(metered);
        let metering = limits(&star, metered, vec![set(0, Some(20))]);
        let back = matches!(metered, Metered::Out(_));
        let [own, other] = star.run(metering, back);
        let most = 20e6 * 1_460.0 / 1_518.0 + BURST.get() as f64 * 8.0 / 4.0;
        assert!(own <= most && own >= least * most, "{metered:?}: {own}");
        assert!(other > 70e6, "{metered:?}: {other}");
    }
}

#[test]
fn limits_that_are_set_and_lifted_during_the_run_hold_for_their_time() {
    let metered = Metered::Into(Excess::Waits);
    let star = Star::new(metered);
    // two seconds at 10 Mb/s of frames, and two at the line's 94.9 Mb/s of data
    let metering = limits(&star, metered, vec![set(0, Some(10)), set(2, None)]);
    let [own, _] = star.run(metering, false);
    let expected = (2.0 * 10e6 * 1_460.0 / 1_518.0 + 2.0 * 94.9e6) / 4.0;
    assert!((own / expected - 1.0).abs() < 0.25, "{own} of {expected}");
}

/// Linux' small queues look at the host's port: with three flows of different sizes at each of two hosts whose cables are
/// the bottlenecks, everything ends as it does without `metering`.
#[test]
fn a_port_that_may_be_limited_and_is_not_changes_no_run() {
    let run = |metered: Metered| {
        let mut star = Star::new(metered);
        for &out in &star.out[..2] {
            // room for more than small queues let in
            let roomy = match star.graph.link(out.reverse()).wire.queue {
                QueueSpec::Limited(own) => QueueSpec::Limited(LimitedSpec { limit: None, ..own }),
                _ => QueueSpec::DropTail { limit: None, mark: None },
            };
            star.graph.set_queue(out.reverse(), roomy);
        }
        let metering = (metered != Metered::Nothing).then(|| limits(&star, metered, Vec::new()));
        let profile = headway_transport::Profile::linux();
        let mut simulation = Simulation::new(star.graph, vec![profile], Measure::default(), Streams::new(1));
        if let Some(metering) = metering {
            simulation.set_metering(metering);
        }
        let flow = |id: u64| FlowStart {
            time: Time::ZERO + Span::from_micros(300 * id),
            id,
            traffic: 0,
            source: star.hosts[(id % 2) as usize],
            destination: star.hosts[2],
            size: Some(Bytes::new(2_000_000 + 300_000 * id)),
            deadline: None,
            profile: 0,
        };
        simulation.run(Time::ZERO + Span::from_secs(4), &mut (0..6).map(flow)).unwrap();
        let (ends, ..) = simulation.finish();
        assert!(ends.len() == 6 && ends.iter().all(|flow| flow.end.is_some()));
        ends
    };
    assert_eq!(run(Metered::Into(Excess::Waits)), run(Metered::Nothing));
}

/// Sets the limit of port 0 to what it is told, by readings that a switch would have.
#[derive(Debug)]
struct Told {
    limits: Vec<Option<Rate>>,
    seen: Vec<Vec<Reading>>,
}

impl Controller for Told {
    fn observe(&mut self, _now: Time, readings: &[Reading]) -> &[Option<Rate>] {
        if let Some(last) = self.seen.last() {
            for (old, new) in last.iter().zip(readings) {
                assert!(new.into.bytes >= old.into.bytes && new.out.packets >= old.out.packets);
            }
            let came = readings[0].into.bytes - last[0].into.bytes;
            // 100 ms at the limit of 20 Mb/s are 250,000 bytes; a frame may be on the line at either end
            assert!(came <= 250_000 + BURST.get() + 2 * 1_518, "{came}");
        }
        self.seen.push(readings.to_vec());
        &self.limits
    }
    fn limits(&self) -> &[Option<Rate>] {
        &self.limits
    }
}

#[test]
fn a_controller_reads_what_passes_and_sets_limits() {
    let metered = Metered::Into(Excess::Waits);
    let star = Star::new(metered);
    let mut metering = limits(&star, metered, Vec::new());
    let told = Told { limits: vec![Some(Rate::from_mbps(20))], seen: Vec::new() };
    metering.control = Some(Control { interval: Span::from_millis(100), controller: Box::new(told) });
    let [own, other] = star.run(metering, false);
    assert!(own < 22e6 && other > 70e6, "{own} {other}");
}

/// Alone on its path, a port gains nothing by a limit: the controller leaves it alone, and the run is as without.
#[test]
fn headway_leaves_a_flow_without_contention_alone() {
    let metered = Metered::Into(Excess::Waits);
    let star = Star::new(metered);
    let mut metering = limits(&star, metered, Vec::new());
    let bounds = Bounds { least: Rate::from_mbps(1), most: LINE };
    let spec = PortSpec { line: LINE, limitable: true, counted: true, protected: false, edge: true };
    let settings = Settings::new(Objective::Total, bounds);
    let direction = headway_control::metering::Direction::Into;
    let controller = Headway::new(settings, vec![spec], direction).unwrap();
    metering.control = Some(Control { interval: Span::from_millis(50), controller: Box::new(controller) });
    let plain = Star::new(metered);
    let without = limits(&plain, metered, Vec::new());
    assert_eq!(star.run(metering, false), plain.run(without, false));
}
