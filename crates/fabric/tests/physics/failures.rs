//! Links that go down and come back: nothing is created, nothing is forgotten, nothing passes meanwhile.

use headway_engine::{EventQueue, Streams};
use headway_fabric::{
    CodelLaw, CodelSpec, DrrSpec, Endpoint, Fabric, FqCodelSpec, Graph, Limit, LinkId, Packet, QueueSpec, RedSpec,
    SharedBufferSpec, Wire,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::open_loop::{Fate, advance, plain};

/// 1,500 bytes take 12 us.
const RATE: Rate = Rate::from_gbps(1);

fn us(n: u64) -> Time {
    Time::ZERO + Span::from_micros(n)
}

/// Links in a chain, offers and changes of their state by hand.
struct Bench {
    fabric: Fabric<u32>,
    queue: EventQueue,
    links: Vec<LinkId>,
    routes: Vec<u32>,
    fates: Vec<Option<Fate>>,
}

impl Bench {
    fn new(wires: &[Wire], buffer: Option<SharedBufferSpec>) -> Bench {
        let mut graph = Graph::new();
        let mut at = graph.add_host("source", Span::ZERO).unwrap();
        let mut links = Vec::new();
        for (i, &wire) in wires.iter().enumerate() {
            let next = if i + 1 == wires.len() {
                graph.add_host("sink", Span::ZERO).unwrap()
            } else {
                let switch = graph.add_switch(format!("switch{i}"), Span::from_nanos(300)).unwrap();
                if let Some(buffer) = buffer {
                    graph.share_buffer(switch, buffer);
                }
                switch
            };
            links.push(graph.connect(at, next, wire, wire).unwrap().0);
            at = next;
        }
        let mut fabric = Fabric::new(&graph, Streams::new(1));
        let routes = (0..3).map(|i| fabric.routes.insert(&links, Endpoint(i))).collect();
        Bench { fabric, queue: EventQueue::new(), links, routes, fates: Vec::new() }
    }

    fn advance(&mut self, until: Time) {
        advance(&mut self.fabric, &mut self.queue, until, &mut self.fates, &mut |_, _| {});
    }

    /// Offers frames of `size` at `at`.
    fn offer(&mut self, at: Time, frames: usize, size: u16) {
        self.advance(at);
        for _ in 0..frames {
            let number = self.fates.len();
            let hop = self.routes[number % self.routes.len()];
            self.fates.push(None);
            let frame = Packet { hop, size, tos: 0, tag: 0, body: number as u32 };
            if self.fabric.send(&mut self.queue, at, frame).is_err() {
                self.fates[number] = Some(Fate::Discarded);
            }
        }
    }

    fn change(&mut self, at: Time, link: usize, down: bool) {
        self.advance(at);
        if down {
            self.fabric.take_down(&mut self.queue, at, self.links[link]);
        } else {
            self.fabric.bring_up(&mut self.queue, at, self.links[link]);
        }
        while let Some((_, frame)) = self.fabric.evicted() {
            self.fates[frame.body as usize] = Some(Fate::Discarded);
        }
        self.fabric.assert_conserved();
    }

    fn end(&mut self) -> Vec<Fate> {
        self.advance(Time::NEVER);
        self.fabric.assert_conserved();
        assert_eq!(self.fabric.in_flight(), 0);
        self.fates.iter().map(|fate| fate.expect("every frame meets its fate")).collect()
    }
}

fn arrived(fates: &[Fate]) -> usize {
    fates.iter().filter(|fate| **fate != Fate::Discarded).count()
}

/// A wire of 100 us holds eight frames of 12 us when it is cut; one is being sent, the others wait.
#[test]
fn what_is_on_the_wire_being_sent_or_waiting_is_lost() {
    for queue in queues() {
        let mut bench = Bench::new(&[Wire { delay: Span::from_micros(100), queue, ..plain(RATE) }], None);
        bench.offer(Time::ZERO, 20, 1500);
        // 108 us: nine frames have left and the first is 4 us from its arrival
        bench.change(us(108), 0, true);
        assert_eq!(bench.fabric.occupancy(us(108), bench.links[0]), (Bytes::new(1500), 1), "{queue:?}");
        bench.offer(us(110), 2, 1500);
        // the line is free at 120 us
        bench.change(us(115), 0, false);
        bench.offer(us(116), 1, 1500);
        let fates = bench.end();
        assert_eq!(arrived(&fates), 1, "{queue:?}");
        assert_eq!(fates[22].time(), us(120 + 12 + 100), "{queue:?}");
        let counters = bench.fabric.counters(bench.links[0]);
        assert_eq!((counters.down.frames, counters.severed.frames), (22, 20), "{queue:?}");
        assert_eq!((counters.lost.frames, counters.dropped.frames, counters.delivered.frames), (0, 0, 1), "{queue:?}");
    }
}

#[test]
fn what_has_arrived_goes_on_and_other_links_do_not_care() {
    let mut bench = Bench::new(&[plain(RATE), plain(RATE)], None);
    bench.offer(Time::ZERO, 4, 1500);
    // two are over the first link
    bench.change(us(25), 0, true);
    assert!(bench.fabric.is_down(bench.links[0]) && !bench.fabric.is_down(bench.links[1]));
    assert_eq!(arrived(&bench.end()), 2);
}

/// The same frames, the same state: what failed before leaves no trace in how later ones are treated.
#[test]
fn a_port_that_is_back_is_as_before() {
    for queue in queues() {
        let mut bench = Bench::new(&[Wire { queue, ..plain(RATE) }], None);
        bench.change(us(1), 0, true);
        bench.change(us(1), 0, true);
        bench.change(us(2), 0, false);
        bench.change(us(2), 0, false);
        bench.offer(us(3), 200, 1500);
        let after = bench.end();
        let mut fresh = Bench::new(&[Wire { queue, ..plain(RATE) }], None);
        fresh.offer(us(3), 200, 1500);
        assert_eq!(after, fresh.end(), "{queue:?}");
    }
}

fn queues() -> Vec<QueueSpec> {
    let limit = Some(Limit::Packets(30));
    let law = CodelLaw { target: Span::from_micros(50), interval: Span::from_micros(400), ecn: false, mark: None };
    vec![
        QueueSpec::DropTail { limit, mark: None },
        QueueSpec::Red(RedSpec {
            limit,
            min: Limit::Packets(22),
            max: Limit::Packets(28),
            probability: 0.1,
            weight: 0.2,
            packet: Bytes::new(1500),
            gentle: true,
            ecn: false,
            hard_drop: false,
        }),
        QueueSpec::Codel(CodelSpec { limit, law }),
        QueueSpec::FqCodel(FqCodelSpec {
            limit,
            memory: Bytes::from_kb(1000),
            queues: 8,
            quantum: 1518,
            batch: 8,
            law,
        }),
        QueueSpec::Drr(DrrSpec { limit, queues: 8, quantum: 1518 }),
    ]
}

#[derive(Debug, Clone)]
enum Act {
    Offer(usize, u16),
    Change(usize, bool),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Random offers and failures over three links, with and without a shared buffer: every frame is accounted for
    /// once, at every moment (asserted at every change), and a port's sums tell what became of them.
    #[test]
    fn nothing_is_created_or_forgotten(
        which in 0usize..5,
        shared in any::<bool>(),
        loss in prop_oneof![Just(0.0), Just(0.2)],
        acts in prop::collection::vec((0u64..60, prop_oneof![
            (1usize..12, 64u16..1518).prop_map(|(n, size)| Act::Offer(n, size)),
            (0usize..3, any::<bool>()).prop_map(|(link, down)| Act::Change(link, down)),
        ]), 1..60),
    ) {
        let wire = Wire { delay: Span::from_micros(30), loss, queue: queues()[which], gap: Bytes::new(20), ..plain(RATE) };
        let buffer = shared.then_some(SharedBufferSpec { size: Bytes::from_kb(30), alpha: 1.0, reserve: Bytes::new(1518) });
        let mut bench = Bench::new(&[wire; 3], buffer);
        let mut now = 0;
        for (after, act) in acts {
            now += after;
            match act {
                Act::Offer(frames, size) => bench.offer(us(now), frames, size),
                Act::Change(link, down) => bench.change(us(now), link, down),
            }
        }
        let fates = bench.end();
        let totals = bench.fabric.totals();
        let last = bench.fabric.counters(bench.links[2]);
        prop_assert_eq!(last.delivered.frames, arrived(&fates) as u64);
        let gone = totals.dropped.frames + totals.lost.frames + totals.down.frames;
        prop_assert_eq!(gone as usize, fates.len() - arrived(&fates));
    }
}
