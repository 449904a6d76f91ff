//! A lossless fabric with frames that are offered at given times.

use headway_control::lossless::{Cable, whole_frame_headroom};
use headway_engine::{EventClass, EventQueue, Streams};
use headway_fabric::{
    Choice, ClassSpec, Endpoint, Fabric, Graph, LinkId, LosslessSpec, NodeId, PRIORITIES, Packet, Paths, PauseKind,
    QueueSpec, Step, Thresholds, Wire,
};
use headway_units::{Bytes, Rate, Span, Time};

/// Wire time of a frame beyond its bytes, on Ethernet.
pub const GAP: u64 = 20;
/// Endpoints of pause frames: this and the link.
const CONTROL: u32 = 1 << 20;

pub fn at(nanos: u64) -> Time {
    Time::ZERO + Span::from_nanos(nanos)
}

pub fn wire(rate: Rate, delay: Span) -> Wire {
    let queue = QueueSpec::DropTail { limit: None, mark: None };
    Wire { rate, delay, gap: Bytes::new(GAP), loss: 0.0, queue }
}

/// All links of `graph` with the same thresholds and with headroom that is enough for frames of up to `largest`.
pub fn enough(graph: &Graph, largest: u32, response: Span, (xoff, xon): (u64, u64)) -> Vec<Thresholds> {
    let links = 0..graph.links().len() as u32;
    let headroom = |link| whole_frame_headroom(&cable(graph, LinkId(link), largest, response)).get();
    links.map(|link| Thresholds { xoff, xon, headroom: headroom(link) }).collect()
}

pub fn cable(graph: &Graph, link: LinkId, largest: u32, response: Span) -> Cable {
    let (forth, back) = (graph.link(link), graph.link(link.reverse()));
    let largest = Bytes::new(u64::from(largest));
    Cable {
        rate: forth.wire.rate,
        back_rate: back.wire.rate,
        delay: forth.wire.delay + graph.node(forth.to).latency,
        back_delay: back.wire.delay + graph.node(back.to).latency,
        response,
        frame: largest,
        back_frame: largest,
        gap: forth.wire.gap,
    }
}

/// Priority flow control for the priorities of `lossless`, with a class for each.
pub fn spec(graph: &Graph, lossless: u8, largest: u32, thresholds: (u64, u64)) -> LosslessSpec {
    LosslessSpec {
        pause: PauseKind::Priority,
        lossless,
        classes: vec![ClassSpec { strict: false, share: 1, marks: None }; PRIORITIES],
        class_of: std::array::from_fn(|priority| priority as u8),
        quanta: u16::MAX,
        response: Span::ZERO,
        thresholds: enough(graph, largest, Span::ZERO, thresholds),
        buffer: None,
        watchdog: None,
        largest,
    }
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    OnItsWay,
    Arrived(Time),
    Dropped(Time),
}

/// A fabric under test.
#[derive(Debug)]
pub struct Bench {
    pub graph: Graph,
    pub fabric: Fabric<u32>,
    pub queue: EventQueue,
    paths: Paths,
    pub fates: Vec<Fate>,
    pub now: Time,
}

impl Bench {
    pub fn new(graph: Graph, spec: LosslessSpec) -> Bench {
        let mut fabric = Fabric::new(&graph, Streams::new(1));
        fabric.make_lossless(&graph, spec, Streams::new(1), u32::MAX, |link| Endpoint(CONTROL + link.0));
        let paths = Paths::new(&graph);
        Bench { graph, fabric, queue: EventQueue::new(), paths, fates: Vec::new(), now: Time::ZERO }
    }

    /// A route between the first interfaces of two hosts.
    pub fn route(&mut self, from: NodeId, to: NodeId) -> u32 {
        let [from, to] = [from, to].map(|host| self.graph.interfaces(host)[0]);
        let mut path = Vec::new();
        self.paths.path(from, to, Choice::Ecmp(0), &mut path).expect("hosts are connected");
        self.fabric.routes.insert(&path, Endpoint(1))
    }

    /// A route over these links.
    pub fn way(&mut self, path: &[LinkId]) -> u32 {
        self.fabric.routes.insert(path, Endpoint(1))
    }

    /// Offers a frame at `now`, which is not before what has happened.
    pub fn offer(&mut self, now: Time, hop: u32, priority: u8, size: u16) {
        self.until(now);
        let number = self.fates.len() as u32;
        self.fates.push(Fate::OnItsWay);
        let packet = Packet { hop, size, tos: priority << 5 | 0b10, tag: 0, body: number };
        if self.fabric.send(&mut self.queue, now, packet).is_err() {
            self.fates[number as usize] = Fate::Dropped(now);
        }
        self.gone(now);
    }

    fn gone(&mut self, now: Time) {
        while let Some((_, packet)) = self.fabric.evicted() {
            self.fates[packet.body as usize] = Fate::Dropped(now);
        }
    }

    /// Handles what happens before `end`.
    pub fn until(&mut self, end: Time) {
        while let Some((now, source, sequence)) = self.queue.peek().filter(|&(now, ..)| now < end) {
            self.now = now;
            if source.class() == EventClass::Departure {
                self.fabric.departure(&mut self.queue, now, source.entity(), sequence);
            } else {
                match self.fabric.arrival(&mut self.queue, now, source.entity()) {
                    Step::Forwarded => {}
                    Step::Delivered(Endpoint(end), packet) if end >= CONTROL => {
                        assert_eq!((packet.size, end - CONTROL), (64, source.entity()));
                        self.fabric.pause_arrived(&mut self.queue, now, LinkId(source.entity()), &packet);
                    }
                    Step::Discarded(Endpoint(end), _) if end >= CONTROL => self.fabric.pause_lost(),
                    Step::Delivered(_, packet) => self.fates[packet.body as usize] = Fate::Arrived(now),
                    Step::Discarded(_, packet) => self.fates[packet.body as usize] = Fate::Dropped(now),
                }
            }
            self.gone(now);
        }
        self.now = end;
    }

    /// When each frame arrived.
    pub fn arrivals(&self) -> Vec<Option<Time>> {
        let time = |fate: &Fate| if let Fate::Arrived(time) = fate { Some(*time) } else { None };
        self.fates.iter().map(time).collect()
    }

    pub fn dropped(&self) -> usize {
        self.fates.iter().filter(|fate| matches!(fate, Fate::Dropped(_))).count()
    }

    /// All frames are where they were to go, and nothing is kept for them.
    pub fn assert_all_arrived(&mut self) {
        self.fabric.assert_conserved();
        assert!(self.fates.iter().all(|fate| matches!(fate, Fate::Arrived(_))), "{:?}", self.fates);
        assert_eq!(self.fabric.in_flight(), self.fabric.pauses_in_flight());
    }

    /// Frames of all links that found no room where they came in.
    pub fn overflows(&self) -> u64 {
        (0..self.graph.links().len() as u32).map(|link| self.fabric.ingress(LinkId(link)).drops.frames).sum()
    }
}

/// A host before a switch and one behind it, with the links forth: `first` and `second`.
pub fn line(first: Wire, back: Wire, second: Wire) -> (Graph, [NodeId; 2], [LinkId; 2]) {
    let mut graph = Graph::new();
    let [a, b] = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
    let switch = graph.add_switch("s", Span::ZERO).unwrap();
    let (one, _) = graph.connect(a, switch, first, back).unwrap();
    let (two, _) = graph.connect(switch, b, second, second).unwrap();
    (graph, [a, b], [one, two])
}
