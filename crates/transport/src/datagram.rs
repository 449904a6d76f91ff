//! Datagrams at a fixed rate: a sender that repairs nothing and listens to nobody (UDP, as `iperf3 --udp` sends it).
//!
//! Background traffic that does not give way, and the smallest sibling of TCP in the loop: `docs/adding/transport.md`
//! goes through this file.
//!
//! A flow's bytes leave in frames of `payload`, the first at once and each next one when the rate lets it. A flow is
//! complete when all its bytes have arrived; one of which something was lost never is. Leaves out: the work of hosts
//! with a model (datagrams cost their cores nothing), fragments, and a second path after a carrier is lost.

use headway_engine::{EventClass, Source, Streams};
use headway_fabric::{Choice, NoPath, Packet, flow_hash};
use headway_units::{Bytes, Rate, Span, Time};

use crate::endpoint::Tenant;
use crate::environment::Environment;
use crate::flows::Flow;
use crate::ideal::ideal;
use crate::measure::{Measure, SampleKind, SampleOf};
use crate::ports::{Ports, SERVICE};
use crate::segment::{Frame, NO_EXTRA, Segment, frame_size};
use crate::slots::{SlotPool, put};

/// How a sender of datagrams sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Bits of frames per second, headers included; more than zero.
    pub rate: Rate,
    /// Bytes of data in a frame; at least 1.
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
    /// If one has no rate or no payload.
    pub fn new(profiles: Vec<Datagram>, streams: Streams) -> Datagrams {
        assert!(
            profiles.iter().all(|own| own.rate.bps() > 0 && own.payload > 0),
            "datagrams have a rate and a payload"
        );
        Datagrams { profiles, streams: Vec::new(), slots: SlotPool::default(), ports: Ports::new(streams) }
    }

    /// Frames on their way.
    pub fn in_flight(&self) -> u64 {
        self.streams.iter().map(|stream| stream.in_flight).sum()
    }

    /// Begins to send a flow.
    pub fn open(&mut self, now: Time, flow: u32, profile: u16, env: &mut Environment) -> Result<(), NoPath> {
        let place = self.slots.take();
        let start = env.flows[flow].start;
        let route = self.route(place, flow, env)?;
        let path: Vec<_> = env.net.fabric.routes.ports(route).collect();
        let Datagram { payload, overhead, .. } = self.profiles[usize::from(profile)];
        env.flows[flow].ideal = start.size.map(|size| ideal(&env.graph, &path, size, (payload, overhead)));
        env.flows[flow].connections.push(place);
        let size = start.size.map(Bytes::get);
        put(&mut self.streams, place, Stream { flow, profile, route, sent: 0, delivered: 0, size, in_flight: 0 });
        env.net.queue.push(now, Source::new(EventClass::Emission, place), 0);
        Ok(())
    }

    /// Resolves the path of a flow: by hash, as a plain TCP connection's.
    fn route(&self, place: u32, flow: u32, env: &mut Environment) -> Result<u32, NoPath> {
        let start = env.flows[flow].start;
        let (ours, theirs) = (env.graph.interfaces(start.source), env.graph.interfaces(start.destination));
        let pairs = ours.len().min(theirs.len());
        if pairs == 0 {
            return Err(NoPath::SameHost { host: start.source });
        }
        let pair = env.with_carrier(ours, self.ports.pair(start.id, 0, pairs, None), pairs);
        let (from, to) = (ours[pair], theirs[pair]);
        env.flows[flow].interfaces |= 1 << pair.min(63);
        let choice = Choice::Ecmp(flow_hash(from, to, self.ports.port(start.id, 0, 0), SERVICE));
        let mut path = std::mem::take(&mut env.scratch);
        let found = env.find_path(from, to, choice, &mut path);
        let route = found.map(|()| env.net.fabric.routes.insert(&path, Tenant::Datagram.endpoint(place)));
        env.scratch = path;
        route
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
        let frame = Packet { hop: stream.route, size, tos: 0, tag: 0, body };
        if env.net.fabric.send(&mut env.net.queue, now, frame).is_err() {
            self.frame_gone(now, place, env);
        }
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
        env.net.fabric.routes.remove(stream.route);
        env.flows.tear_down(stream.flow, place);
        self.slots.give(place);
    }

    /// Gives `push` what `measure` wants of a flow: its goodput.
    pub fn sample(&self, flow: &mut Flow, measure: &Measure, push: &mut impl FnMut(SampleKind, SampleOf, f64)) {
        if measure.wants(SampleKind::Goodput) {
            let arrived: u64 = flow.connections.iter().map(|&place| self.streams[place as usize].delivered).sum();
            let bits = (arrived - flow.sampled_bytes) as f64 * 8.0;
            flow.sampled_bytes = arrived;
            let of = SampleOf::Flow(flow.start.id, flow.start.traffic);
            push(SampleKind::Goodput, of, bits / measure.interval.as_secs_f64());
        }
    }

    /// Routing has learnt of a change: streams under way move. Frames on their way keep the old route, which stays.
    pub fn reroute(&mut self, env: &mut Environment) {
        for place in (0..self.streams.len() as u32).filter(|place| !self.slots.free.contains(place)) {
            if let Ok(route) = self.route(place, self.streams[place as usize].flow, env) {
                self.streams[place as usize].route = route;
            }
        }
    }
}
