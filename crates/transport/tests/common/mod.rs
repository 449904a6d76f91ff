//! Networks, profiles and runs for integration tests.
//!
//! Networks here have what a test's theory assumes: a cable's way back has the same rate and delay as the way
//! forth, but no loss and an unlimited queue, so that acknowledgements always arrive ([`clean`]). A test that wants
//! otherwise lays the cable itself ([`Net::lay`]).
#![allow(dead_code, reason = "every test binary uses its own part of this")]

use headway_control::congestion::AnyController;
use headway_control::pacing::{Burst, Limit as PaceLimit};
use headway_engine::Streams;
use headway_fabric::{Graph, Limit, LinkId, NodeId, PortCounters, QueueSpec, Wire};
use headway_transport::{
    CardClass, CardCounters, CardModel, DelayedAck, Failure, FlowEnd, FlowRate, FlowStart, HostCounters, HostModel,
    LinkFilm, Measure, Multipath, Profile, Recovery, Release, RoundTrip, Sample, SampleKind, SampleOf, Simulation,
    Totals, Traced,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// Preamble and start delimiter (8 B) and inter-frame gap (12 B) of Ethernet (IEEE 802.3).
pub const GAP: u64 = 20;
/// Payload of a full segment without TCP options: 1500 - 20 (IP) - 20 (TCP).
pub const MSS: u32 = 1460;
/// The rest of a frame: 14 + 4 (Ethernet) + 20 (IP) + 20 (TCP).
pub const OVERHEAD: u32 = 58;
/// What a full segment takes on the wire.
pub const FULL: u64 = MSS as u64 + OVERHEAD as u64 + GAP;
/// What a segment without payload takes on the wire: Ethernet's minimum of 64 B.
pub const EMPTY: u64 = 64 + GAP;

// ---- networks ----------------------------------------------------------------------------------------------------

/// A wire with an unlimited queue and no loss.
pub fn wire(rate: Rate, delay: Span) -> Wire {
    Wire { rate, delay, gap: Bytes::new(GAP), loss: 0.0, queue: QueueSpec::DropTail { limit: None, mark: None } }
}

/// The wire with a queue of at most `limit`.
pub fn limited(mut wire: Wire, limit: Limit) -> Wire {
    if let QueueSpec::DropTail { limit: own, .. } = &mut wire.queue {
        *own = Some(limit);
    }
    wire
}

/// The wire with random loss.
pub fn lossy(wire: Wire, loss: f64) -> Wire {
    Wire { loss, ..wire }
}

/// The wire with a marking threshold.
pub fn marking(mut wire: Wire, mark: Limit) -> Wire {
    if let QueueSpec::DropTail { mark: own, .. } = &mut wire.queue {
        *own = Some(mark);
    }
    wire
}

/// The wire's rate and delay without its loss, limit and marks.
pub fn clean(wire: Wire) -> Wire {
    Wire { loss: 0.0, queue: QueueSpec::DropTail { limit: None, mark: None }, ..wire }
}

/// A network under construction, with names given in passing.
#[derive(Debug, Clone, Default)]
pub struct Net {
    /// Nodes and cables.
    pub graph: Graph,
}

impl Net {
    /// A host that takes no time.
    pub fn host(&mut self) -> NodeId {
        let name = format!("host{}", self.graph.nodes().len());
        self.graph.add_host(name, Span::ZERO).expect("a fresh name")
    }

    /// A switch that takes no time.
    pub fn switch(&mut self) -> NodeId {
        self.slow_switch(Span::ZERO)
    }

    /// A switch with a latency.
    pub fn slow_switch(&mut self, latency: Span) -> NodeId {
        let name = format!("switch{}", self.graph.nodes().len());
        self.graph.add_switch(name, latency).expect("a fresh name")
    }

    /// A cable; returns the direction from `a` to `b`.
    pub fn lay(&mut self, a: NodeId, b: NodeId, forth: Wire, back: Wire) -> LinkId {
        self.graph.connect(a, b, forth, back).expect("two nodes and a wire that delivers").0
    }

    /// A cable whose way back is clean.
    pub fn cable(&mut self, a: NodeId, b: NodeId, forth: Wire) -> LinkId {
        self.lay(a, b, forth, clean(forth))
    }
}

/// Two hosts with `wires.len() - 1` switches between them.
#[derive(Debug, Clone)]
pub struct Line {
    /// The network.
    pub net: Net,
    /// The first host.
    pub source: NodeId,
    /// The last host.
    pub sink: NodeId,
    /// The links from source to sink.
    pub links: Vec<LinkId>,
}

/// Lays the wires end to end.
pub fn line(wires: &[Wire]) -> Line {
    let mut net = Net::default();
    let source = net.host();
    let mut at = source;
    let mut links = Vec::new();
    for (i, &wire) in wires.iter().enumerate() {
        let next = if i + 1 == wires.len() { net.host() } else { net.switch() };
        links.push(net.cable(at, next, wire));
        at = next;
    }
    Line { net, source, sink: at, links }
}

/// Pairs of hosts on either side of one link.
#[derive(Debug, Clone)]
pub struct Dumbbell {
    /// The network.
    pub net: Net,
    /// Source and sink of pair `i`.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// The link they share.
    pub bottleneck: LinkId,
}

/// One pair per entry of `access`, which is the wire between its source and the left switch; sinks hang on the right
/// switch by a wire of the same rate without delay.
pub fn dumbbell(access: &[Wire], bottleneck: Wire) -> Dumbbell {
    let mut net = Net::default();
    let (left, right) = (net.switch(), net.switch());
    let bottleneck = net.cable(left, right, bottleneck);
    let pairs = access
        .iter()
        .map(|&wire| {
            let (source, sink) = (net.host(), net.host());
            net.cable(source, left, wire);
            net.cable(right, sink, Wire { delay: Span::ZERO, ..clean(wire) });
            (source, sink)
        })
        .collect();
    Dumbbell { net, pairs, bottleneck }
}

/// Several links that share nothing, a pair of hosts with an interface on each, and single-homed pairs beside it.
#[derive(Debug, Clone)]
pub struct Parallel {
    /// The network.
    pub net: Net,
    /// The pair that has interface `i` on path `i`.
    pub multi: (NodeId, NodeId),
    /// Per path its own pairs.
    pub single: Vec<Vec<(NodeId, NodeId)>>,
    /// Per path its link.
    pub bottlenecks: Vec<LinkId>,
}

/// A path per entry: the wire of its link, and how many pairs it has to itself. All hosts attach by `access` at the
/// left and by the same without delay at the right.
pub fn parallel(access: Wire, paths: &[(Wire, usize)]) -> Parallel {
    let mut net = Net::default();
    let multi = (net.host(), net.host());
    let (mut single, mut bottlenecks) = (Vec::new(), Vec::new());
    for &(wire, pairs) in paths {
        let (left, right) = (net.switch(), net.switch());
        bottlenecks.push(net.cable(left, right, wire));
        let attach = |net: &mut Net, (source, sink)| {
            net.cable(source, left, access);
            net.cable(right, sink, Wire { delay: Span::ZERO, ..clean(access) });
        };
        attach(&mut net, multi);
        let own: Vec<_> = (0..pairs).map(|_| (net.host(), net.host())).collect();
        for &pair in &own {
            attach(&mut net, pair);
        }
        single.push(own);
    }
    Parallel { net, multi, single, bottlenecks }
}

// ---- profiles ----------------------------------------------------------------------------------------------------

/// TCP whose window is never limited by the receiver and that acknowledges every segment: what the formulae assume.
/// Override fields as needed: `Profile { initial_window: 2, ..profile() }`.
pub fn profile() -> Profile {
    Profile {
        control: AnyController::by_name("new-reno").expect("a known control"),
        recovery: Recovery::Sack,
        limited_transmit: true,
        mss: MSS,
        overhead: OVERHEAD,
        sack_blocks: 4,
        initial_window: 10,
        initial_ssthresh: None,
        min_rto: Span::from_millis(200),
        initial_rto: Span::from_secs(1),
        max_rto: Span::from_secs(120),
        delayed_ack: DelayedAck {
            packets: 1,
            timeout: Span::from_millis(40),
            quick: 0,
            adaptive: false,
            compression: false,
        },
        receive_window: Bytes::new(1 << 30),
        ecn: false,
        multipath: None,
        replicate: None,
        ..Profile::default()
    }
}

/// An acknowledgement for every other segment.
pub fn delayed() -> DelayedAck {
    DelayedAck { packets: 2, timeout: Span::from_millis(40), quick: 0, adaptive: false, compression: false }
}

/// MPTCP of `subflows` under the control called `control`, joined as soon as anything is acknowledged.
pub fn multipath(control: &str, subflows: usize) -> Profile {
    Profile {
        control: AnyController::by_name(control).expect("a known control"),
        multipath: Some(Multipath { subflows: Some(subflows), ..Multipath::default() }),
        ..profile()
    }
}

// ---- runs --------------------------------------------------------------------------------------------------------

/// A run to be made.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The network.
    pub graph: Graph,
    /// What flows choose from, by index.
    pub profiles: Vec<Profile>,
    /// The flows, in order of time; their traffic is 0.
    pub flows: Vec<FlowStart>,
    /// What is sampled.
    pub measure: Measure,
    /// The seed.
    pub seed: u64,
    /// Hosts whose cards and cores take time.
    pub models: Vec<(NodeId, HostModel)>,
    /// Hosts with cards that pace.
    pub cards: Vec<(NodeId, CardModel)>,
    /// Segments at senders are recorded.
    pub traced: bool,
    /// Links that go down.
    pub failures: Vec<Failure>,
    /// Links are filmed, in so many steps at most.
    pub film: Option<u32>,
    /// Hosts that process what they send for a random time, up to this.
    pub processing: Vec<(NodeId, Span)>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The flows, in order of their ids.
    pub ends: Vec<FlowEnd>,
    /// The samples taken.
    pub samples: Vec<Sample>,
    /// Sums.
    pub totals: Totals,
    /// What passed each link.
    pub ports: Vec<PortCounters>,
    /// What hosts with a model did, in the order in which they got it.
    pub hosts: Vec<HostCounters>,
    /// What cards that pace did, in the order in which hosts got them.
    pub cards: Vec<CardCounters>,
    /// Segments at senders, if they were recorded.
    pub trace: Vec<Traced>,
    /// What links did, if they were filmed.
    pub film: Option<LinkFilm>,
    /// How long it took, in virtual time.
    pub span: Span,
}

impl Setup {
    /// No flows yet; `profile` has index 0.
    pub fn new(net: &Net, profile: Profile) -> Setup {
        Setup {
            graph: net.graph.clone(),
            profiles: vec![profile],
            flows: Vec::new(),
            measure: Measure::default(),
            seed: 1,
            models: Vec::new(),
            cards: Vec::new(),
            traced: false,
            failures: Vec::new(),
            film: None,
            processing: Vec::new(),
        }
    }

    /// Lets a host process each frame that it sends for a random time up to `most`.
    pub fn processing(mut self, host: NodeId, most: Span) -> Setup {
        self.processing.push((host, most));
        self
    }

    /// Films the links.
    pub fn filmed(self, steps: u32) -> Setup {
        Setup { film: Some(steps), ..self }
    }

    /// Gives a host a model.
    pub fn host(mut self, host: NodeId, model: HostModel) -> Setup {
        self.models.push((host, model));
        self
    }

    /// Gives a host a card that paces.
    pub fn card(mut self, host: NodeId, model: CardModel) -> Setup {
        self.cards.push((host, model));
        self
    }

    /// Records the segments at senders.
    pub fn traced(self) -> Setup {
        Setup { traced: true, ..self }
    }

    /// Both directions of a cable are down from `at` on, until `until` if that comes; hosts see it if it is theirs.
    pub fn cut(mut self, link: LinkId, at: Span, until: Option<Span>) -> Setup {
        self.failures.push(Failure {
            links: vec![link, link.reverse()],
            at: Time::ZERO + at,
            until: until.map(|until| Time::ZERO + until),
            reroute: None,
            carrier: true,
        });
        self
    }

    /// Another profile; indices count up.
    pub fn profile(mut self, profile: Profile) -> Setup {
        self.profiles.push(profile);
        self
    }

    /// A flow of `size` bytes (`None`: without end) of profile 0 that starts at `at`. Ids count up.
    pub fn flow(self, pair: (NodeId, NodeId), size: Option<u64>, at: Span) -> Setup {
        self.flow_of(0, pair, size, at)
    }

    /// A flow of another profile.
    pub fn flow_of(mut self, profile: u16, pair: (NodeId, NodeId), size: Option<u64>, at: Span) -> Setup {
        self.flows.push(FlowStart {
            time: Time::ZERO + at,
            id: self.flows.len() as u64,
            traffic: 0,
            source: pair.0,
            destination: pair.1,
            size: size.map(Bytes::new),
            deadline: None,
            profile,
        });
        self
    }

    /// Another seed.
    pub fn seed(self, seed: u64) -> Setup {
        Setup { seed, ..self }
    }

    /// Samples `kinds` of all flows every `interval`.
    pub fn sample(mut self, interval: Span, kinds: &[SampleKind]) -> Setup {
        self.measure.interval = interval;
        self.measure.kinds = kinds.to_vec();
        self.measure.traffics = vec![0];
        self
    }

    /// Makes the run. Conservation is checked at its end.
    pub fn run(self, span: Span) -> Outcome {
        self.run_in_parts(&[span])
    }

    /// Makes the run with a stop at each of `ends`, which rise; the last is the end.
    pub fn run_in_parts(self, ends: &[Span]) -> Outcome {
        let links = self.graph.links().len() as u32;
        let mut simulation = Simulation::new(self.graph, self.profiles, self.measure, Streams::new(self.seed));
        for &(host, model) in &self.models {
            simulation.model_host(host, model);
        }
        for (host, model) in &self.cards {
            simulation.pace_host(*host, model);
        }
        for &(host, most) in &self.processing {
            simulation.process_randomly(host, most, Streams::new(self.seed));
        }
        if self.traced {
            simulation.trace();
        }
        simulation.set_failures(&self.failures);
        if let Some(steps) = self.film {
            simulation.film(steps, Time::ZERO + *ends.last().expect("a run has an end"));
        }
        let mut started = 0;
        for &end in ends {
            let end = Time::ZERO + end;
            simulation.run(end, &mut self.flows[started..].iter().copied()).expect("the hosts are connected");
            started = self.flows.partition_point(|flow| flow.time <= end);
        }
        let ports = (0..links).map(|link| simulation.port(LinkId(link)).0).collect();
        let hosts =
            self.models.iter().map(|&(host, _)| simulation.host(host).expect("it has a model").clone()).collect();
        let cards = self.cards.iter().map(|&(host, _)| simulation.card(host)).collect();
        let trace = simulation.traced();
        let film = simulation.filmed();
        let span = *ends.last().expect("a run has an end");
        let (ends, samples, totals) = simulation.finish();
        Outcome { ends, samples, totals, ports, hosts, cards, trace, film, span }
    }
}

impl Outcome {
    /// From the start of flow `id` until its last byte was there.
    ///
    /// # Panics
    /// If it did not end.
    pub fn fct(&self, id: u64) -> Span {
        let flow = &self.ends[id as usize];
        flow.end.expect("the flow ended within the run") - flow.start.time
    }

    /// What passed `link`.
    pub fn port(&self, link: LinkId) -> PortCounters {
        self.ports[link.index()]
    }

    /// The values of one kind for one owner from `from` on, with their times in seconds.
    pub fn series(&self, kind: SampleKind, of: SampleOf, from: Span) -> Vec<(f64, f64)> {
        self.samples
            .iter()
            .filter(|s| s.kind == kind && s.of == of && s.time > Time::ZERO + from)
            .map(|s| (s.time.as_secs_f64(), s.value))
            .collect()
    }

    /// Mean goodput of flow `id` from `from` to the end of the run, bit/s. Needs samples of goodput, `from` being a
    /// multiple of their interval.
    pub fn goodput(&self, id: u64, from: Span) -> f64 {
        let series = self.series(SampleKind::Goodput, SampleOf::Flow(id, 0), from);
        assert!(!series.is_empty(), "goodput is sampled");
        series.iter().map(|&(_, value)| value).sum::<f64>() / series.len() as f64
    }
}

/// How long `bytes` take at `rate`.
pub fn transmission(rate: Rate, bytes: u64) -> Span {
    rate.transmission(Bytes::new(bytes))
}

/// Whether `value` is within `tolerance` (relative) of `expected`, with a message that shows both.
#[track_caller]
pub fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance * expected.abs(),
        "{what}: {value} is {:+.2} % off {expected}; ±{:.2} % are allowed",
        (value / expected - 1.0) * 100.0,
        tolerance * 100.0
    );
}

/// Jain's fairness index, (Σx)² / (n·Σx²): 1 if all are equal, 1/n if one has all (Jain, Chiu, Hawe 1984).
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|x| x * x).sum::<f64>())
}

/// Any card that sends: at 2 Mb/s or more, with room for 20 frames or more; of two kinds of traffic one may have a class.
pub fn any_card() -> impl Strategy<Value = CardModel> {
    let rate = || (2_000_000u64..2_000_000_000).prop_map(Rate::from_bps);
    let flow_rate = move || {
        prop_oneof![
            Just(FlowRate::Unpaced),
            rate().prop_map(FlowRate::Static),
            prop::option::of(rate()).prop_map(|limit| FlowRate::Dynamic { limit, round_trip: RoundTrip::Smoothed }),
        ]
    };
    let limit = move || prop::option::of((rate(), 1u32..5).prop_map(|(rate, burst)| PaceLimit { rate, burst }));
    let release = prop_oneof![
        Just(Release::Gap),
        Just(Release::GapFrames),
        (1_000u64..2_000_000).prop_map(|ns| Release::Timer(Span::from_nanos(ns))),
    ];
    let burst = prop_oneof![(1u32..20).prop_map(Burst::Packets), (1u32..10).prop_map(Burst::Clusters)];
    let class = (limit(), 1u32..5, prop::option::of(flow_rate())).prop_map(|(limit, share, rate)| CardClass {
        traffics: vec![0],
        limit,
        share,
        rate,
    });
    (release, flow_rate(), burst, limit(), prop::option::of(class), 20u32..200).prop_map(
        |(release, rate, burst, limit, class, queue)| CardModel {
            release,
            rate,
            burst,
            limit,
            classes: class.into_iter().collect(),
            queue,
            mtu: 1500,
        },
    )
}
