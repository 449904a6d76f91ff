//! Datagrams at a fixed rate: a sender that repairs nothing and listens to nobody (UDP, as `iperf3 --udp` sends it).
//!
//! Background traffic that does not give way, and the smallest sibling of TCP in the loop: `docs/adding/transport.md`
//! goes through this file.
//!
//! A flow's bytes leave in frames of `payload`, the first at once and each next one when the rate lets it. A flow is
//! complete when all its bytes have arrived; one of which something was lost never is. Leaves out: the work of hosts
//! with a model (datagrams cost their cores nothing), fragments, and a second path after a carrier is lost.

use std::collections::BTreeSet;

use headway_engine::{EventClass, Source, Streams};
use headway_fabric::{Choice, LinkId, NoPath, Packet, flow_hash};
use headway_units::{Bytes, Rate, Span, Time};

use crate::card::Taken;
use crate::endpoint::Tenant;
use crate::environment::Environment;
use crate::flows::Flow;
use crate::ideal::ideal;
use crate::measure::{Round, SampleKind, SampleOf};
use crate::paths::Leg;
use crate::ports::{Ports, SERVICE};
use crate::segment::{Frame, NO_EXTRA, Segment, frame_size};
use crate::slots::{SlotPool, put};

/// How a sender of datagrams sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Bits of frames per second, headers included; more than zero.
    pub rate: Rate,
    /// Bytes of data in a frame; at least 1, and with `overhead` at most 65,535.
    pub payload: u32,
    /// Bytes of headers and checksum in a frame.
    pub overhead: u32,
}

/// A flow under way.
#[derive(Debug)]
struct Stream {
    flow: u32,
    profile: u16,
    route: u32,
    /// Its priority, in the upper bits.
    tos: u8,
    /// Routes of before, on which frames may be.
    old_routes: Vec<u32>,
    /// Which pair of interfaces it takes.
    pair: usize,
    /// Bytes sent, delivered, and `None` or how many there are.
    sent: u64,
    delivered: u64,
    size: Option<u64>,
    /// Frames on their way.
    in_flight: u64,
}

impl Stream {
    fn all_sent(&self) -> bool {
        self.size.is_some_and(|size| self.sent >= size)
    }
}

/// All senders of datagrams.
#[derive(Debug)]
pub(crate) struct Datagrams {
    profiles: Vec<Datagram>,
    streams: Vec<Stream>,
    slots: SlotPool,
    ports: Ports,
}

impl Datagrams {
    /// None yet. Flows name one of `profiles` by its index.
    ///
    /// # Panics
    /// If one has no rate or no payload, or more than a frame holds.
    pub fn new(profiles: Vec<Datagram>, streams: Streams) -> Datagrams {
        for own in &profiles {
            assert!(own.rate.bps() > 0 && own.payload > 0, "datagrams have a rate and a payload: {own:?}");
            let size = u64::from(own.payload) + u64::from(own.overhead);
            assert!(u16::try_from(size).is_ok(), "a frame holds its datagram: {own:?}");
        }
        Datagrams { profiles, streams: Vec::new(), slots: SlotPool::default(), ports: Ports::new(streams) }
    }

    /// Places of streams taken so far, at most at one time.
    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.streams.len()
    }

    /// Frames on their way.
    pub fn in_flight(&self) -> u64 {
        self.streams.iter().map(|stream| stream.in_flight).sum()
    }

    /// Begins to send a flow.
    pub fn open(&mut self, now: Time, flow: u32, profile: u16, env: &mut Environment) -> Result<(), NoPath> {
        let start = env.flows[flow].start;
        let (ours, theirs) = (env.graph.interfaces(start.source), env.graph.interfaces(start.destination));
        let pairs = ours.len().min(theirs.len());
        if pairs == 0 {
            return Err(NoPath::SameHost { host: start.source });
        }
        let pair = env.with_carrier(ours, self.ports.pair(start.id, 0, pairs, None), pairs);
        let ends = [start.source, start.destination];
        let pair = env.pair_of_path(Leg::forth(&start, 0, 0), ends, pair, pairs);
        env.flows[flow].interfaces |= 1 << pair.min(63);
        let path = self.path(flow, pair, env)?;
        let place = self.slots.take();
        let route = env.net.fabric.routes.insert(&path, Tenant::Datagram.endpoint(place));
        let Datagram { payload, overhead, .. } = self.profiles[usize::from(profile)];
        env.flows[flow].ideal = start.size.map(|size| ideal(&env.graph, &path, size, (payload, overhead)));
        env.flows[flow].connections.push(place);
        let size = start.size.map(Bytes::get);
        let old_routes = Vec::new();
        let tos = env.net.priorities.bits(start.traffic);
        let stream = Stream { flow, profile, route, tos, old_routes, pair, sent: 0, delivered: 0, size, in_flight: 0 };
        put(&mut self.streams, place, stream);
        if env.net.cards.any() {
            env.net.cards.open(Tenant::Datagram.endpoint(place), start.traffic);
        }
        env.net.queue.push(now, Source::new(EventClass::Emission, place), 0);
        Ok(())
    }

    /// The path of a flow between its pair of interfaces: by hash, as a plain TCP connection's.
    fn path(&self, flow: u32, pair: usize, env: &mut Environment) -> Result<Vec<LinkId>, NoPath> {
        let start = env.flows[flow].start;
        let [from, to] = [start.source, start.destination].map(|host| env.graph.interfaces(host)[pair]);
        let choice = Choice::Ecmp(flow_hash(from, to, self.ports.port(start.id, 0, 0), SERVICE));
        let mut path = Vec::new();
        env.find_path(Some(Leg::forth(&start, 0, 0)), (from, to), choice, &mut path)?;
        Ok(path)
    }

    /// The next frame of a stream leaves; its event must be the earliest.
    pub fn on_emission(&mut self, now: Time, place: u32, env: &mut Environment) {
        let stream = &mut self.streams[place as usize];
        let Datagram { rate, payload, overhead } = self.profiles[usize::from(stream.profile)];
        let len = stream.size.map_or(u64::from(payload), |size| (size - stream.sent).min(u64::from(payload))) as u32;
        let size = frame_size(len, overhead);
        let body = Segment { number: stream.sent as u32, data_number: 0, amount: len, extra: NO_EXTRA };
        stream.sent += u64::from(len);
        if stream.all_sent() {
            env.net.queue.pop();
        } else {
            let gap: Span = rate.transmission(Bytes::new(u64::from(size)));
            env.net.queue.reschedule(now + gap);
        }
        stream.in_flight += 1;
        let frame = Packet { hop: stream.route, size, tos: stream.tos, tag: 0, body };
        if env.net.cards.any() {
            match env.net.offer_to_card(now, Tenant::Datagram.endpoint(place), frame) {
                Taken::Not => {}
                Taken::Queued => return,
                Taken::Dropped => return self.frame_gone(now, place, env),
            }
        }
        if env.net.put_in(now, frame).is_err() {
            self.frame_gone(now, place, env);
        }
    }

    /// The flow of a stream that has frames on their way.
    pub fn flow_of(&self, place: u32) -> u32 {
        self.streams[place as usize].flow
    }

    /// A frame has arrived.
    pub fn on_frame(&mut self, now: Time, place: u32, frame: &Frame, env: &mut Environment) {
        let stream = &mut self.streams[place as usize];
        stream.delivered += u64::from(frame.body.amount);
        if env.flows.deliver(now, stream.flow, stream.delivered, env.failures.as_deref()) {
            env.complete(now, stream.flow, None);
        }
        self.frame_gone(now, place, env);
    }

    /// A frame has left the fabric, whatever became of it.
    pub fn frame_gone(&mut self, now: Time, place: u32, env: &mut Environment) {
        let stream = &mut self.streams[place as usize];
        stream.in_flight -= 1;
        if stream.in_flight > 0 || !stream.all_sent() {
            return;
        }
        if env.flows[stream.flow].ended.is_none() {
            env.flows.report(now, stream.flow, None, env.failures.as_deref());
        }
        for route in std::mem::take(&mut stream.old_routes).into_iter().chain([stream.route]) {
            env.net.fabric.routes.remove(route);
        }
        if env.net.cards.any() {
            env.net.cards.close(Tenant::Datagram.endpoint(place));
        }
        env.flows.tear_down(stream.flow, place);
        self.slots.give(place);
    }

    /// Gives `note` the route of a stream that has frames on their way.
    pub(crate) fn routes_in_use(&self, place: u32, note: &mut impl FnMut(u32)) {
        let stream = &self.streams[place as usize];
        if stream.in_flight > 0 {
            note(stream.route);
        }
    }

    /// Gives `push` what `round` wants of a flow: its goodput.
    pub(crate) fn sample(&self, flow: &mut Flow, round: &Round, push: &mut impl FnMut(SampleKind, SampleOf, f64)) {
        if round.wants(SampleKind::Goodput) {
            let arrived: u64 = flow.connections.iter().map(|&place| self.streams[place as usize].delivered).sum();
            let bits = (arrived - flow.sampled_bytes) as f64 * 8.0;
            flow.sampled_bytes = arrived;
            let of = SampleOf::Flow(flow.start.id, flow.start.traffic);
            push(SampleKind::Goodput, of, bits / round.interval.as_secs_f64());
        }
    }

    /// Routing has learnt of a change: streams under way move. A former route stays while frames may be on it.
    pub fn reroute(&mut self, env: &mut Environment) {
        let free: BTreeSet<u32> = self.slots.free.iter().copied().collect();
        for place in (0..self.streams.len() as u32).filter(|place| !free.contains(place)) {
            let Stream { flow, pair, route, .. } = self.streams[place as usize];
            let Ok(path) = self.path(flow, pair, env) else { continue };
            let routes = &mut env.net.fabric.routes;
            if routes.ports(route).eq(path.iter().copied()) {
                continue;
            }
            let stream = &mut self.streams[place as usize];
            let old = stream.old_routes.iter().position(|&old| routes.ports(old).eq(path.iter().copied()));
            let next = match old {
                Some(at) => stream.old_routes.swap_remove(at),
                None => routes.insert(&path, Tenant::Datagram.endpoint(place)),
            };
            stream.old_routes.push(std::mem::replace(&mut stream.route, next));
        }
    }
}
