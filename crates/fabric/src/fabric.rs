//! All ports of a network and the frames in them.

use std::ops::Add;

use headway_engine::{EventQueue, Source, Streams};
use headway_units::{Bytes, Time};

use crate::graph::{Graph, LinkId};
use crate::packet::Packet;
use crate::pool::{Loose, Pool};
use crate::port::{Offered, Port, PortCounters};
use crate::routes::{Endpoint, Hop, Routes};

/// The class of arrival events; the entity is the link. Lower than any class of the hosts: what has arrived by an
/// instant is there for the timers that fire at it.
pub const ARRIVALS: u8 = 0;

/// What an arrival led to.
#[derive(Debug)]
pub enum Step<B> {
    /// The frame was queued at its next port.
    Forwarded,
    /// The frame reached the end of its route.
    Delivered(Endpoint, Packet<B>),
    /// The frame, meant for this endpoint, was dropped by a queue or damaged on a wire.
    Discarded(Endpoint, Packet<B>),
}

/// The network in motion.
#[derive(Debug)]
pub struct Fabric<B> {
    ports: Vec<Port<B>>,
    pool: Pool<B>,
    /// Where packets go.
    pub routes: Routes,
    hops: u64,
}

impl<B: Copy> Fabric<B> {
    /// The network of `graph`, empty. Random loss on link `i` draws from the stream `link/i`.
    pub fn new(graph: &Graph, streams: Streams) -> Fabric<B> {
        let ports = graph.links().iter().enumerate().map(|(i, link)| {
            let latency = graph.nodes()[link.to.0 as usize].latency;
            Port::new(&link.wire, latency, streams.stream(&format!("link/{i}")))
        });
        Fabric { ports: ports.collect(), pool: Pool::new(), routes: Routes::default(), hops: 0 }
    }

    /// Queues a frame at the port its `hop` points to. Gives the frame back, with its endpoint, if it was dropped.
    ///
    /// # Errors
    /// If the queue has no room.
    ///
    /// # Panics
    /// If the frame is at its route's end.
    #[inline]
    pub fn send(&mut self, queue: &mut EventQueue, now: Time, packet: Packet<B>) -> Result<(), (Endpoint, Packet<B>)> {
        let Hop::Port(port) = self.routes.hop(packet.hop) else { panic!("a frame is sent from its route's start") };
        let frame = self.pool.insert(packet);
        self.forward(queue, now, port, frame)
    }

    /// Handles the arrival event of `link`, which must be the earliest in `queue`.
    ///
    /// # Panics
    /// If it is not.
    #[inline]
    pub fn arrival(&mut self, queue: &mut EventQueue, now: Time, link: u32) -> Step<B> {
        let (frame, intact, next) = self.ports[link as usize].arrive(&mut self.pool);
        match next {
            Some(time) => queue.reschedule(time),
            None => queue.pop(),
        }
        self.hops += 1;
        let at = self.pool.slot(&frame).packet.hop;
        match self.routes.hop(at) {
            _ if !intact => Step::Discarded(self.routes.end(at), self.pool.remove(frame)),
            Hop::End(endpoint) => Step::Delivered(endpoint, self.pool.remove(frame)),
            Hop::Port(port) => match self.forward(queue, now, port, frame) {
                Ok(()) => Step::Forwarded,
                Err((endpoint, packet)) => Step::Discarded(endpoint, packet),
            },
        }
    }

    /// Queues a frame at `port`, to which its `hop` points.
    #[inline]
    fn forward(
        &mut self,
        queue: &mut EventQueue,
        now: Time,
        port: u32,
        frame: Loose,
    ) -> Result<(), (Endpoint, Packet<B>)> {
        self.pool.slot(&frame).packet.hop += 1;
        match self.ports[port as usize].offer(now, frame, &mut self.pool) {
            Offered::First(arrival) => queue.push(arrival, Source::new(ARRIVALS, port), 0),
            Offered::Behind => {}
            Offered::Dropped(frame) => {
                let packet = self.pool.remove(frame);
                return Err((self.routes.end(packet.hop), packet));
            }
        }
        Ok(())
    }

    /// The frame that arrives next over `link`.
    ///
    /// # Panics
    /// If none is on its way.
    pub fn arriving(&self, link: LinkId) -> &Packet<B> {
        self.ports[link.0 as usize].arriving(&self.pool)
    }

    /// A time before which nothing arrives over `link`, whatever is sent from `now` on.
    pub fn earliest_arrival(&self, now: Time, link: LinkId) -> Time {
        self.ports[link.0 as usize].earliest_arrival(now, &self.pool)
    }

    /// When the last frame queued at the first port of the route at `hop` will have left it, if that is known: a
    /// first-in-first-out port knows.
    pub fn leaves(&self, hop: u32) -> Option<Time> {
        match self.routes.hop(hop) {
            Hop::Port(port) => Some(self.ports[port as usize].leaves()),
            Hop::End(_) => None,
        }
    }

    /// Bytes and frames waiting or being transmitted at `link`'s port.
    pub fn occupancy(&mut self, now: Time, link: LinkId) -> (Bytes, u32) {
        self.ports[link.0 as usize].occupancy(now, &self.pool)
    }

    /// What passed the port of `link` so far.
    pub fn counters(&self, link: LinkId) -> PortCounters {
        self.ports[link.0 as usize].counters()
    }

    /// The sum over all ports.
    pub fn totals(&self) -> PortCounters {
        self.ports.iter().map(Port::counters).fold(PortCounters::default(), Add::add)
    }

    /// Arrivals so far: one per frame and link.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Frames in queues and on wires.
    pub fn in_flight(&self) -> u64 {
        self.ports.iter().map(|port| port.in_flight(&self.pool).frames).sum()
    }

    /// Checks at every port that what came in was delivered, damaged or is still there.
    ///
    /// # Panics
    /// If it does not: a bug.
    pub fn assert_conserved(&self) {
        self.ports.iter().for_each(|port| port.assert_conserved(&self.pool));
    }
}
