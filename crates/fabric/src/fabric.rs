//! All ports of a network and the frames in them.

use std::ops::Add;

use headway_engine::{EventClass, EventQueue, Source, Streams};
use headway_units::{Bytes, Rate, Span, Time};

use crate::counters::PortCounters;
use crate::graph::{Graph, LinkId};
use crate::ingress::Lossless;
use crate::packet::Packet;
use crate::pool::{FrameHandle, Pool};
use crate::port::{Offered, Port};
use crate::queue::{BufferSlot, SharedBuffer};
use crate::routes::{Endpoint, Hop, Routes};
use crate::sampled::Sampler;
use crate::scheduled_port::{Due, Queued};
use crate::shared::Shared;
use crate::slow_path::Processing;

/// What an arrival led to.
#[derive(Debug)]
pub enum Step<B> {
    /// The frame was queued at its next port.
    Forwarded,
    /// The frame reached the end of its route.
    Delivered(Endpoint, Packet<B>),
    /// The frame, meant for this endpoint, was refused by a queue or damaged on a wire.
    Discarded(Endpoint, Packet<B>),
}

/// The network in motion.
#[derive(Debug)]
pub struct Fabric<B> {
    pub(crate) ports: Vec<Port<B>>,
    pub(crate) shared: Shared<B>,
    /// Where packets go.
    pub routes: Routes,
    pub(crate) hops: u64,
    /// If queues are sampled.
    pub(crate) sampler: Option<Box<Sampler>>,
    /// If its ports are lossless.
    pub(crate) lossless: Option<Box<Lossless>>,
}

impl<B: Copy> Fabric<B> {
    /// The network of `graph`, empty. Random loss on link `i` draws from the stream `link/i`, its queue from `queue/i`.
    ///
    /// # Panics
    /// If a switch's buffer is smaller than its ports' reserves.
    pub fn new(graph: &Graph, streams: Streams) -> Fabric<B> {
        let mut buffers = Vec::new();
        let mut slots = vec![None; graph.links().len()];
        for node in graph.switches() {
            let Some(spec) = &graph.node(node).buffer else { continue };
            let ports = graph.interfaces(node);
            for (port, link) in (0..).zip(ports) {
                slots[link.index()] = Some(BufferSlot { buffer: buffers.len() as u32, port });
            }
            buffers.push(SharedBuffer::new(spec, ports.len()));
        }
        let ports = graph.links().iter().zip(slots).enumerate().map(|(i, (link, slot))| {
            let latency = graph.nodes()[link.to.0 as usize].latency;
            let mut port = Port::new(&link.wire, latency, slot, streams, i);
            if let Some(loss) = link.periodic_loss {
                port.lose_every(loss);
            }
            port
        });
        let ports = ports.collect();
        let shared = Shared { pool: Pool::new(), buffers, evicted: Vec::new(), pause_body: None, pauses_sent: 0 };
        Fabric { ports, shared, routes: Routes::default(), hops: 0, sampler: None, lossless: None }
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
        let frame = self.shared.pool.insert(packet);
        self.forward(queue, now, port, frame)
    }

    /// Handles the arrival event of `link`, which must be the earliest in `queue`.
    ///
    /// # Panics
    /// If it is not.
    #[inline]
    pub fn arrival(&mut self, queue: &mut EventQueue, now: Time, link: u32) -> Step<B> {
        let (frame, intact, next) = self.ports[link as usize].arrive(&mut self.shared.pool);
        match next {
            Some(time) => queue.reschedule(time),
            None => queue.pop(),
        }
        self.hops += 1;
        let at = self.shared.pool.slot(&frame).packet.hop;
        match self.routes.hop(at) {
            _ if !intact => Step::Discarded(self.routes.end(at), self.shared.pool.remove(frame)),
            Hop::End(endpoint) => Step::Delivered(endpoint, self.shared.pool.remove(frame)),
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
        frame: FrameHandle,
    ) -> Result<(), (Endpoint, Packet<B>)> {
        self.shared.pool.slot(&frame).packet.hop += 1;
        match self.ports[port as usize].offer(now, frame, &mut self.shared.pool) {
            Offered::First(arrival) => queue.push(arrival, Source::new(EventClass::Arrival, port), 0),
            Offered::Behind => {}
            Offered::Dropped(frame) => return Err(self.remove(frame)),
            Offered::Undecided(frame) => return self.forward_slow(queue, now, port, frame),
        }
        Ok(())
    }

    /// [`forward`](Self::forward) where more than a drop-tail queue decides.
    #[inline(never)]
    fn forward_slow(
        &mut self,
        queue: &mut EventQueue,
        now: Time,
        port: u32,
        frame: FrameHandle,
    ) -> Result<(), (Endpoint, Packet<B>)> {
        if self.lossless.is_some() {
            return self.forward_lossless(queue, now, port, frame);
        }
        match self.ports[port as usize].offer_slow(now, frame, &mut self.shared) {
            Queued::Arrives(arrival) => queue.push(arrival, Source::new(EventClass::Arrival, port), 0),
            Queued::Waits(due) => set(queue, port, due),
            Queued::Behind => {}
            Queued::Dropped(frame) => return Err(self.remove(frame)),
        }
        Ok(())
    }

    /// Takes a frame out that has been dropped.
    pub(crate) fn remove(&mut self, frame: FrameHandle) -> (Endpoint, Packet<B>) {
        let packet = self.shared.pool.remove(frame);
        (self.routes.end(packet.hop), packet)
    }

    /// Handles the departure event `sequence` of `link`'s port, which must be the earliest in `queue`. Frames may have been
    /// dropped then or since the last departure: [`evicted`](Self::evicted) has to be asked until it is `None`.
    ///
    /// # Panics
    /// If it is not.
    pub fn departure(&mut self, queue: &mut EventQueue, now: Time, link: u32, sequence: u32) {
        if self.lossless.is_some() {
            self.departure_lossless(queue, now, link, sequence);
        } else {
            self.depart(queue, now, link, sequence);
        }
    }

    /// The port of `link` sends its next frame, if one may leave.
    pub(crate) fn depart(&mut self, queue: &mut EventQueue, now: Time, link: u32, sequence: u32) {
        let (next, arrival) = self.ports[link as usize].depart(now, sequence, &mut self.shared);
        match next {
            Some(time) => queue.reschedule(time),
            None => queue.pop(),
        }
        if let Some(arrival) = arrival {
            queue.push(arrival, Source::new(EventClass::Arrival, link), 0);
        }
    }

    /// Looks anew at what may leave the port of `link`: something has changed that its queue goes by. Frames may be dropped:
    /// [`evicted`](Self::evicted) has to be asked until it is `None`. Does nothing at a port that lets no frame wait.
    ///
    /// # Panics
    /// If the link is not in the graph.
    pub fn wake(&mut self, queue: &mut EventQueue, now: Time, link: LinkId) {
        let due = self.ports[link.index()].wake(now, &mut self.shared);
        set(queue, link.0, due);
        if self.lossless.is_some() {
            self.note_came(link.0);
        }
    }

    /// Sets, changes or lifts the limit of the port of `link`, whose queue is [`QueueSpec::Limited`](crate::QueueSpec).
    ///
    /// # Panics
    /// If the link is not in the graph, its port has another queue, or the rate is zero.
    pub fn limit(&mut self, queue: &mut EventQueue, now: Time, link: LinkId, rate: Option<Rate>) {
        let due = self.ports[link.index()].limit(now, rate, &mut self.shared);
        set(queue, link.0, due);
    }

    /// Every frame that `link`'s port takes is processed for a random time up to `most` before it is transmitted, one after
    /// the other. What waits for a scheduler ([`QueueSpec::is_fifo`](crate::QueueSpec::is_fifo)) is not.
    ///
    /// # Panics
    /// If the link is not in the graph.
    pub fn process_randomly(&mut self, link: LinkId, most: Span, streams: Streams) {
        let stream = streams.stream(&format!("processing/{}", link.0));
        self.ports[link.index()].process_randomly(Processing { most, stream });
    }

    /// Says that what comes in over `link` may be limited, at its far end, with bursts of `burst`.
    ///
    /// # Panics
    /// If the link is not in the graph.
    pub fn allow_policing(&mut self, link: LinkId, burst: Bytes) {
        self.ports[link.index()].allow_policing(burst);
    }

    /// Sets, changes or lifts the limit on what comes in over `link`: frames beyond it are dropped when they arrive.
    ///
    /// # Panics
    /// If the link is not in the graph, no limit on it was [allowed](Self::allow_policing), or the rate is zero.
    pub fn police(&mut self, now: Time, link: LinkId, rate: Option<Rate>) {
        self.ports[link.index()].police(now, rate);
    }

    /// Takes out a frame that was dropped after a queue had accepted it, with its endpoint. Until it is taken it counts
    /// as in flight; whoever handles departures takes all.
    pub fn evicted(&mut self) -> Option<(Endpoint, Packet<B>)> {
        let frame = self.shared.evicted.pop()?;
        Some(self.remove(frame))
    }

    /// Takes `link` down at `now`, if it is up. What is on the wire or being transmitted is lost, what waits at its port
    /// is dropped, and until [`bring_up`](Self::bring_up) so is what comes. The port itself is not reset: a frame whose
    /// transmission had begun keeps the line for its time. [`evicted`](Self::evicted) has to be asked until it is `None`.
    ///
    /// # Panics
    /// If the link is not in the graph.
    pub fn take_down(&mut self, queue: &mut EventQueue, now: Time, link: LinkId) {
        let already = self.shared.evicted.len();
        self.ports[link.index()].take_down(now, &mut self.shared);
        self.settle_lossless(queue, now, already);
    }

    /// Brings `link` up again at `now`, if it is down; its queue is empty.
    ///
    /// # Panics
    /// If the link is not in the graph.
    pub fn bring_up(&mut self, queue: &mut EventQueue, now: Time, link: LinkId) {
        self.ports[link.index()].bring_up();
        // a port that was down has forgotten both what it asked and what it was asked
        self.tell_again(queue, now, link);
        self.tell_again(queue, now, link.reverse());
    }

    /// Whether `link` is down.
    ///
    /// # Panics
    /// If the link is not in the graph.
    pub fn is_down(&self, link: LinkId) -> bool {
        self.ports[link.index()].is_down()
    }

    /// The frame that arrives next over `link`.
    ///
    /// # Panics
    /// If none is on its way.
    pub fn arriving(&self, link: LinkId) -> &Packet<B> {
        self.ports[link.0 as usize].arriving(&self.shared.pool)
    }

    /// A number of the frame that arrives next over `link`: no other frame in the network has it, and it keeps it until it
    /// leaves the network.
    ///
    /// # Panics
    /// If none is on its way.
    pub fn arriving_place(&self, link: LinkId) -> u32 {
        self.ports[link.0 as usize].arriving_place()
    }

    /// The number, as of [`arriving_place`](Self::arriving_place), that the next frame [sent](Self::send) gets.
    pub fn next_place(&self) -> u32 {
        self.shared.pool.next_place()
    }

    /// A time before which nothing arrives over `link`, whatever is sent from `now` on.
    pub fn earliest_arrival(&self, now: Time, link: LinkId) -> Time {
        self.ports[link.0 as usize].earliest_arrival(now, &self.shared.pool)
    }

    /// When the last frame queued at the first port of the route at `hop` will have left it, as things are: ports know that
    /// send first in, first out, also behind a limit. Other ports with a scheduler, and lossless ones, say when the frame
    /// that is being transmitted has.
    pub fn leaves(&self, hop: u32) -> Option<Time> {
        match self.routes.hop(hop) {
            Hop::Port(port) => Some(self.ports[port as usize].leaves()),
            Hop::End(_) => None,
        }
    }

    /// Bytes and frames waiting or being transmitted at `link`'s port.
    pub fn occupancy(&mut self, now: Time, link: LinkId) -> (Bytes, u32) {
        self.ports[link.0 as usize].occupancy(now, &self.shared.pool)
    }

    /// The scheduler of the port of `link`, which has one.
    #[cfg(test)]
    pub(crate) fn scheduler(&mut self, link: LinkId) -> &mut crate::queue::AnyScheduler {
        self.ports[link.index()].scheduler()
    }

    /// Bytes of `priority` that wait at the port of `link`, without the frame that is being transmitted, if it has a queue for
    /// each priority; nothing at other ports.
    pub fn waiting(&self, link: LinkId, priority: u8) -> Bytes {
        Bytes::new(self.ports[link.0 as usize].waiting(priority))
    }

    /// Bytes that have joined the queue of the port of `link` so far, and those of them that wait no more: of `priority`, if
    /// it has a queue of its own there, else of all. A frame after which the first was `n` waits until the second is, if
    /// the queue is first in, first out. Nothing at ports whose frames [leave](Self::leaves) at a time that is known.
    pub fn passed(&self, link: LinkId, priority: u8) -> (Bytes, Bytes) {
        let (joined, gone) = self.ports[link.0 as usize].passed(priority);
        (Bytes::new(joined), Bytes::new(gone))
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
        let frames: u64 = self.ports.iter().map(|port| port.in_flight(&self.shared.pool).frames).sum();
        frames + self.shared.evicted.len() as u64
    }

    /// Frames in queues and on wires, in no order that means something.
    pub fn frames(&self) -> impl Iterator<Item = &Packet<B>> + '_ {
        self.shared.pool.in_use()
    }

    /// Checks at every port that what came in was delivered, damaged, dropped or is still there, and at every shared
    /// buffer that it holds what its ports do.
    ///
    /// # Panics
    /// If it does not: a bug.
    pub fn assert_conserved(&self) {
        self.ports.iter().for_each(|port| port.assert_conserved(&self.shared.pool));
        let mut waiting: Vec<Vec<u64>> = self.shared.buffers.iter().map(|buffer| vec![0; buffer.ports()]).collect();
        for (backlog, slot) in self.ports.iter().map(Port::backlog) {
            if let Some(slot) = slot {
                waiting[slot.buffer as usize][slot.port as usize] = backlog.bytes;
            }
        }
        self.assert_accounts();
        self.shared.buffers.iter().zip(&waiting).for_each(|(buffer, waiting)| buffer.assert_conserved(waiting));
    }
}

/// Sets the events of the port of link `port`.
pub(crate) fn set(queue: &mut EventQueue, port: u32, due: Due) {
    if let Some((time, sequence)) = due.departure {
        queue.push(time, Source::new(EventClass::Departure, port), sequence);
    }
    if let Some(arrival) = due.arrival {
        queue.push(arrival, Source::new(EventClass::Arrival, port), 0);
    }
}
