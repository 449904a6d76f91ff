//! Frames offered at given times to one end of a chain of links.

use headway_engine::{EventClass, EventQueue, Streams};
use headway_fabric::{
    Endpoint, Fabric, Graph, LinkId, Packet, PortCounters, QueueSpec, SharedBufferSpec, Step, Wire, ecn,
};
use headway_units::{Bytes, Rate, Span, Time};

/// A wire without gap, delay, loss and limits.
pub fn plain(rate: Rate) -> Wire {
    Wire {
        rate,
        delay: Span::ZERO,
        gap: Bytes::ZERO,
        loss: 0.0,
        queue: QueueSpec::DropTail { limit: None, mark: None },
    }
}

/// A frame to be offered.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    pub at: Time,
    pub size: u16,
    pub tos: u8,
    /// Frames of one flow share a route.
    pub flow: u32,
}

impl Offer {
    pub fn at(at: Time, size: u16) -> Offer {
        Offer { at, size, tos: 0, flow: 0 }
    }
}

/// What became of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// At the end of the chain at this time, with these ECN bits.
    Arrived(Time, u8),
    Discarded,
}

impl Fate {
    /// The time of arrival.
    pub fn time(self) -> Time {
        match self {
            Fate::Arrived(time, _) => time,
            Fate::Discarded => panic!("the frame was discarded"),
        }
    }
}

impl Offer {
    /// The same as a frame of flow `flow`.
    pub fn of(self, flow: u32) -> Offer {
        Offer { flow, ..self }
    }

    /// The same from a sender that understands ECN.
    pub fn capable(self) -> Offer {
        Offer { tos: ecn::CAPABLE, ..self }
    }
}

/// A chain of links with the latency of the node behind each, seen after a run.
pub struct Chain {
    pub fates: Vec<Fate>,
    pub ports: Vec<PortCounters>,
    pub totals: PortCounters,
}

/// Offers the frames, which must come in order of time, to the first link and runs until nothing moves.
/// `watch` is called after every event with what the fabric then is.
pub fn run(
    links: &[(Wire, Span)],
    seed: u64,
    offers: impl IntoIterator<Item = Offer>,
    watch: impl FnMut(Time, &Fabric<u32>),
) -> Chain {
    run_with(links, None, seed, offers, watch)
}

/// The same where the ports of each switch share a buffer.
pub fn run_with(
    links: &[(Wire, Span)],
    buffer: Option<SharedBufferSpec>,
    seed: u64,
    offers: impl IntoIterator<Item = Offer>,
    watch: impl FnMut(Time, &Fabric<u32>),
) -> Chain {
    let (mut graph, route) = chain(links);
    if let Some(buffer) = buffer {
        for switch in graph.switches().collect::<Vec<_>>() {
            graph.share_buffer(switch, buffer);
        }
    }
    run_on(&graph, &route, seed, offers, watch)
}

/// The chain of `links` and its route.
pub fn chain(links: &[(Wire, Span)]) -> (Graph, Vec<LinkId>) {
    let mut graph = Graph::new();
    let mut at = graph.add_host("source", Span::ZERO).unwrap();
    let mut route = Vec::new();
    for (i, &(wire, latency)) in links.iter().enumerate() {
        let name = format!("node{i}");
        let last = i + 1 == links.len();
        let next = if last { graph.add_host(name, latency) } else { graph.add_switch(name, latency) }.unwrap();
        route.push(graph.connect(at, next, wire, wire).unwrap().0);
        at = next;
    }
    (graph, route)
}

/// The same on a `graph`, along `route`.
pub fn run_on(
    graph: &Graph,
    route: &[LinkId],
    seed: u64,
    offers: impl IntoIterator<Item = Offer>,
    mut watch: impl FnMut(Time, &Fabric<u32>),
) -> Chain {
    let mut fabric: Fabric<u32> = Fabric::new(graph, Streams::new(seed));
    let mut starts: Vec<u32> = Vec::new();
    let mut queue = EventQueue::new();
    let mut fates = Vec::new();
    for offer in offers {
        advance(&mut fabric, &mut queue, offer.at, &mut fates, &mut watch);
        while starts.len() <= offer.flow as usize {
            starts.push(fabric.routes.insert(route, Endpoint(starts.len() as u32)));
        }
        let hop = starts[offer.flow as usize];
        let frame = Packet { hop, size: offer.size, tos: offer.tos, tag: 0, body: fates.len() as u32 };
        fates.push(None);
        if let Err((_, frame)) = fabric.send(&mut queue, offer.at, frame) {
            fates[frame.body as usize] = Some(Fate::Discarded);
        }
    }
    advance(&mut fabric, &mut queue, Time::NEVER, &mut fates, &mut watch);
    fabric.assert_conserved();
    assert_eq!(fabric.in_flight(), 0);
    Chain {
        fates: fates.into_iter().map(|fate| fate.expect("every frame meets its fate")).collect(),
        ports: route.iter().map(|&LinkId(link)| fabric.counters(LinkId(link))).collect(),
        totals: fabric.totals(),
    }
}

/// Handles all events up to `until`, itself included.
pub fn advance(
    fabric: &mut Fabric<u32>,
    queue: &mut EventQueue,
    until: Time,
    fates: &mut [Option<Fate>],
    watch: &mut impl FnMut(Time, &Fabric<u32>),
) {
    while let Some((now, source, sequence)) = queue.peek() {
        if now > until {
            return;
        }
        if source.class() == EventClass::Departure {
            fabric.departure(queue, now, source.entity(), sequence);
            while let Some((_, frame)) = fabric.evicted() {
                fates[frame.body as usize] = Some(Fate::Discarded);
            }
            watch(now, fabric);
            continue;
        }
        match fabric.arrival(queue, now, source.entity()) {
            Step::Forwarded => {}
            Step::Delivered(_, frame) => fates[frame.body as usize] = Some(Fate::Arrived(now, frame.tos)),
            Step::Discarded(_, frame) => fates[frame.body as usize] = Some(Fate::Discarded),
        }
        watch(now, fabric);
    }
}
