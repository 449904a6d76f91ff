//! RoCEv2: RDMA over UDP, whose senders are cards that rely on a network that loses nothing.
//!
//! A flow is one queue pair, and its bytes one RDMA write. Packets of the path MTU leave at the rate of their queue pair,
//! which is DCQCN's ([`dcqcn`](headway_control::dcqcn)) or the line's. There is neither a handshake nor a slow start, and
//! no window unless one is asked for. The receiver acknowledges what is in order, reports what is not, and answers marks
//! with congestion notification packets (CNP). Lost packets are repaired by go-back-N or selective repeat
//! ([`Retransmission`]).
//!
//! Queue pairs of an interface take turns ([`card`]). Cards of both ends do all the work: models of hosts cost nothing
//! here. Left out: queue pairs that several messages share, reads, sends and their credits, the exchange that sets a queue
//! pair up, packets that are out of order because paths differ (a go-back-N receiver sees a loss), the limit of retries
//! after which a queue pair fails, and the wrap of sequence numbers at 24 bits. Where TCP sends over the same interface its
//! frames and those of queue pairs stand in one queue, first in, first out.

use std::collections::BTreeSet;

use headway_control::dcqcn::ReactionPoint;
use headway_control::qcn;
use headway_engine::{EventClass, Source, Streams};
use headway_fabric::{Choice, LinkId, NoPath, Packet, ecn, flow_hash};
use headway_units::{Bytes, Rate, Time};

use crate::endpoint::{Tenant, number as endpoint_number};
use crate::environment::Environment;
use crate::flows::{Flow, Flows};
use crate::ideal::ideal;
use crate::measure::{Round, SampleKind, SampleOf};
use crate::paths::Leg;
use crate::ports::{Ports, SERVICE};
use crate::qcn::Told;
use crate::segment::{Frame, NO_EXTRA, Segment, frame_size, unwrap};
use crate::slots::{SlotPool, put};
use crate::timer::{Fired, Timer};
use card::Interface;
use profile::{ACK, CNP, FIRST, OVERHEAD, SELECTIVE_ACK};
use requester::Requester;
use responder::{Answer, Responder};

mod card;
mod profile;
mod requester;
mod responder;

pub use profile::{Retransmission, Roce};

/// What a frame is: its tag.
mod kind {
    pub const DATA: u8 = 0;
    pub const ACK: u8 = 1;
    pub const NAK: u8 = 2;
    pub const CNP: u8 = 3;
}

/// The two ends of a queue pair, as they number their endpoints and routes: frames *to* it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Requester = 0,
    Responder = 1,
}

/// A queue pair with both its ends.
#[derive(Debug)]
struct QueuePair {
    flow: u32,
    /// How many queue pairs have had its place before.
    generation: u32,
    profile: u16,
    /// Which pair of interfaces it takes.
    pair: usize,
    /// Its card's interface.
    interface: u32,
    /// The way to each [`End`].
    routes: [u32; 2],
    /// Ways of before, on which frames may be.
    old_routes: Vec<u32>,
    /// Bits of `tos` of its priority.
    priority: u8,
    /// Bytes of the message.
    size: Option<u64>,
    requester: Requester,
    responder: Responder,
    control: Option<ReactionPoint>,
    /// What switches with QCN have told it.
    told: Option<Box<qcn::ReactionPoint>>,
    /// The rate without, or beside, control.
    most: Rate,
    /// From when on its rate lets it send.
    allowed: Time,
    /// It is in line at its interface.
    in_line: bool,
    /// For what is not acknowledged. It survives its queue pair, since its event may.
    timer: Timer,
    /// Frames on their way.
    in_flight: u64,
}

impl QueuePair {
    /// Bytes of data in packet `psn`.
    fn payload(&self, psn: u64, profile: &Roce) -> u32 {
        let full = u64::from(profile.payload);
        self.size.map_or(full, |size| size.saturating_sub(psn.saturating_mul(full)).min(full)) as u32
    }

    /// Bytes that have arrived in order.
    fn delivered(&self, profile: &Roce) -> u64 {
        let bytes = self.responder.expected.saturating_mul(u64::from(profile.payload));
        self.size.map_or(bytes, |size| bytes.min(size))
    }

    /// The rate now.
    fn rate(&self) -> Rate {
        let control = self.control.as_ref().map_or(self.most, |control| control.rate().min(self.most));
        self.told.as_ref().map_or(control, |told| told.rate().min(control))
    }
}

/// All queue pairs.
#[derive(Debug)]
pub(crate) struct QueuePairs {
    profiles: Vec<Roce>,
    pairs: Vec<QueuePair>,
    slots: SlotPool,
    interfaces: Vec<Interface>,
    /// Queue pairs listen to QCN.
    reaction: Option<qcn::ReactionParameters>,
    /// How many queue pairs interfaces hold back.
    held: usize,
    /// By link that leaves a host: its interface, if a queue pair has sent over it.
    by_link: Vec<Option<u32>>,
    ports: Ports,
    /// Frames sent, and those that have left the fabric, whatever became of them.
    sent: u64,
    gone: u64,
}

/// Marks entities of [`EventClass::Rdma`] that are interfaces; others are time-outs of queue pairs. Interfaces come later
/// in an instant: a time-out may have them send in it.
const INTERFACE: u32 = Source::MAX_ENTITIES / 2;

/// Whose event a time-out is.
fn timeout_of(place: u32) -> Source {
    assert!(place < INTERFACE, "too many queue pairs");
    Source::new(EventClass::Rdma, place)
}

impl QueuePairs {
    /// None yet. Flows name one of `profiles` by its index.
    ///
    /// # Panics
    /// If a field of one is out of its range.
    pub fn new(profiles: Vec<Roce>, streams: Streams) -> QueuePairs {
        for own in &profiles {
            assert!(own.is_sound(), "a queue pair has fields in their ranges: {own:?}");
        }
        QueuePairs {
            profiles,
            pairs: Vec::new(),
            slots: SlotPool::default(),
            interfaces: Vec::new(),
            reaction: None,
            held: 0,
            by_link: Vec::new(),
            ports: Ports::new(streams),
            sent: 0,
            gone: 0,
        }
    }

    /// Places of queue pairs taken so far, at most at one time.
    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.pairs.len()
    }

    /// Frames on their way.
    ///
    /// # Panics
    /// If those of all queue pairs are not what was sent and has not gone: a bug.
    pub fn in_flight(&self) -> u64 {
        let each: u64 = self.pairs.iter().map(|pair| pair.in_flight).sum();
        assert_eq!(each, self.sent - self.gone, "frames of queue pairs are on their way or gone");
        each
    }

    /// Begins to send a flow.
    pub fn open(&mut self, now: Time, flow: u32, number: u16, env: &mut Environment) -> Result<(), NoPath> {
        let start = env.flows[flow].start;
        let (ours, theirs) = (env.graph.interfaces(start.source), env.graph.interfaces(start.destination));
        let pairs = ours.len().min(theirs.len());
        if pairs == 0 {
            return Err(NoPath::SameHost { host: start.source });
        }
        let pair = env.with_carrier(ours, self.ports.pair(start.id, 0, pairs, None), pairs);
        let ends = [start.source, start.destination];
        let pair = env.pair_of_path(Leg::forth(&start, 0, 0), ends, pair, pairs);
        let leaving = env.graph.interfaces(start.source)[pair];
        let profile = self.profiles[usize::from(number)];
        let there = self.path(flow, pair, End::Responder, env)?;
        let back = self.path(flow, pair, End::Requester, env)?;
        env.flows[flow].interfaces |= 1 << pair.min(63);
        env.flows[flow].ideal = start.size.map(|size| ideal(&env.graph, &there, size, (profile.payload, OVERHEAD)));
        let place = self.slots.take();
        let routes = &mut env.net.fabric.routes;
        let routes = [
            routes.insert(&back, endpoint(place, End::Requester)),
            routes.insert(&there, endpoint(place, End::Responder)),
        ];
        let line = env.graph.link(leaving).wire.rate;
        let size = start.size.map(Bytes::get);
        let packets = size.map(|size| size.div_ceil(u64::from(profile.payload)).max(1));
        let before = self.pairs.get(place as usize);
        let (timer, generation) =
            before.map_or((Timer::OFF, 0), |before| (before.timer, before.generation.wrapping_add(1)));
        let queue_pair = QueuePair {
            flow,
            generation,
            profile: number,
            pair,
            interface: self.interface(leaving),
            routes,
            old_routes: Vec::new(),
            priority: env.net.priorities.bits(start.traffic),
            size,
            requester: Requester::new(packets),
            responder: Responder::default(),
            control: profile.control.map(|control| ReactionPoint::new(control, line)),
            told: None,
            most: profile.rate.map_or(line, |rate| rate.min(line)),
            allowed: now,
            in_line: false,
            timer,
            in_flight: 0,
        };
        put(&mut self.pairs, place, queue_pair);
        env.flows[flow].connections.push(place);
        self.line_up(now, place, env);
        Ok(())
    }

    /// The interface of the card that sends over `link`.
    fn interface(&mut self, link: LinkId) -> u32 {
        let at = link.index();
        if self.by_link.len() <= at {
            self.by_link.resize(at + 1, None);
        }
        *self.by_link[at].get_or_insert_with(|| {
            let number = self.interfaces.len() as u32;
            self.interfaces.push(Interface::new(Source::new(EventClass::Rdma, INTERFACE | number)));
            number
        })
    }

    /// The way of a flow to one of its ends: by hash, and the same as a plain TCP connection's.
    fn path(&self, flow: u32, pair: usize, end: End, env: &mut Environment) -> Result<Vec<LinkId>, NoPath> {
        let start = env.flows[flow].start;
        let [ours, theirs] = [start.source, start.destination].map(|host| env.graph.interfaces(host)[pair]);
        let own = self.ports.port(start.id, 0, 0);
        let (from, to, hash) = match end {
            End::Responder => (ours, theirs, flow_hash(ours, theirs, own, SERVICE)),
            End::Requester => (theirs, ours, flow_hash(theirs, ours, SERVICE, own)),
        };
        let mut path = Vec::new();
        let leg = Leg::forth(&start, 0, 0).turned(matches!(end, End::Requester));
        env.find_path(Some(leg), (from, to), Choice::Ecmp(hash), &mut path)?;
        Ok(path)
    }

    // ---- events ----------------------------------------------------------------------------------------------

    /// Handles an event of this tenant's class, which must be the earliest.
    pub fn on_event(&mut self, now: Time, entity: u32, sequence: u32, env: &mut Environment) {
        let number = entity & !INTERFACE;
        if entity < INTERFACE {
            self.on_timer(now, entity, sequence, env);
        } else if self.interfaces[number as usize].fire(sequence, &mut env.net.queue) {
            self.emit(now, number, env);
        }
    }

    /// The line of an interface is free: the next queue pair sends.
    fn emit(&mut self, now: Time, number: u32, env: &mut Environment) {
        while let Some(place) = self.interfaces[number as usize].take(now) {
            let pair = &mut self.pairs[place as usize];
            let profile = &self.profiles[usize::from(pair.profile)];
            if let Some(psn) = pair.requester.next(profile) {
                let first = first_link(pair, env);
                let (_, gone) = env.net.fabric.passed(first, pair.priority >> 5);
                let interface = &mut self.interfaces[number as usize];
                if interface.waits(pair.priority >> 5, gone) {
                    interface.hold(place);
                    self.held += 1;
                    continue;
                }
                pair.in_line = false;
                self.send(now, place, psn, env);
                break;
            }
            pair.in_line = false;
            self.settle_down(now, place, env);
        }
        self.interfaces[number as usize].rearm(now, &mut env.net.queue);
    }

    /// Packet `psn` of a queue pair leaves.
    fn send(&mut self, now: Time, place: u32, psn: u64, env: &mut Environment) {
        let pair = &mut self.pairs[place as usize];
        let profile = &self.profiles[usize::from(pair.profile)];
        let payload = pair.payload(psn, profile);
        let overhead = if psn == 0 { OVERHEAD + FIRST } else { OVERHEAD };
        let size = frame_size(payload, overhead);
        let first = first_link(pair, env);
        let wire = &env.graph.link(first).wire;
        let bytes = Bytes::new(u64::from(size) + wire.gap.get());
        let body = Segment { number: psn as u32, data_number: 0, amount: payload, extra: NO_EXTRA };
        pair.requester.sent(psn, profile.retransmission);
        // the rate of now, until the next packet
        if let Some(control) = &mut pair.control {
            control.on_sent(now, bytes);
            control.advance(now);
        }
        if let Some(told) = &mut pair.told {
            told.on_sent(now, bytes);
        }
        pair.allowed = now.saturating_add(pair.rate().transmission(bytes));
        if pair.timer.deadline() == Time::NEVER {
            pair.timer.set(now.saturating_add(profile.timeout), &mut env.net.queue, timeout_of(place));
        }
        let free = now.saturating_add(wire.rate.transmission(bytes));
        let (interface, hop, priority) = (pair.interface, pair.routes[End::Responder as usize], pair.priority);
        let (before, _) = env.net.fabric.passed(first, priority >> 5);
        self.transmit(now, place, End::Responder, (size, priority, kind::DATA), body, env);
        let (after, _) = env.net.fabric.passed(first, priority >> 5);
        let left = env.net.fabric.leaves(hop).map_or(free, |left| left.max(free));
        let interface = &mut self.interfaces[interface as usize];
        interface.gave(priority >> 5, before, after);
        interface.free = left;
        self.line_up(now, place, env);
    }

    /// A frame with this size, bits of `tos` for its priority, and kind leaves for `end`.
    fn transmit(
        &mut self,
        now: Time,
        place: u32,
        end: End,
        (size, priority, kind): (u16, u8, u8),
        body: Segment,
        env: &mut Environment,
    ) {
        let pair = &mut self.pairs[place as usize];
        // with DCQCN everything is ECN-capable, so that no queue drops what it could mark
        let ecn = if pair.control.is_some() { ecn::CAPABLE } else { 0 };
        let frame = Packet { hop: pair.routes[end as usize], size, tos: priority | ecn, tag: kind, body };
        pair.in_flight += 1;
        self.sent += 1;
        if env.net.put_in(now, frame).is_err() {
            self.frame_gone(now, place << 1 | end as u32, env);
        }
    }

    /// Puts a queue pair in line at its interface, if it has something to send and is not.
    fn line_up(&mut self, now: Time, place: u32, env: &mut Environment) {
        let pair = &mut self.pairs[place as usize];
        if pair.in_line || pair.requester.next(&self.profiles[usize::from(pair.profile)]).is_none() {
            return;
        }
        pair.in_line = true;
        let interface = &mut self.interfaces[pair.interface as usize];
        interface.join(now, pair.allowed, place);
        interface.arm(now, &mut env.net.queue);
    }

    /// Whether some queue pair waits for a port.
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// A frame has left the port of `link`, or its queue has been emptied: queue pairs behind it may go on. `None`: of
    /// all ports.
    pub fn let_go(&mut self, now: Time, link: Option<LinkId>, env: &mut Environment) {
        let range = match link.map(|link| self.by_link.get(link.index()).copied().flatten()) {
            None => 0..self.interfaces.len(),
            Some(Some(own)) => own as usize..own as usize + 1,
            Some(None) => return,
        };
        for interface in &mut self.interfaces[range] {
            let held = interface.let_go();
            if held > 0 {
                self.held -= held;
                interface.arm(now, &mut env.net.queue);
            }
        }
    }

    fn on_timer(&mut self, now: Time, place: u32, sequence: u32, env: &mut Environment) {
        let pair = &mut self.pairs[place as usize];
        if pair.timer.fire(now, sequence, &mut env.net.queue) == Fired::Early {
            return;
        }
        if pair.requester.is_waiting() {
            pair.requester.on_timeout();
            let timeout = self.profiles[usize::from(pair.profile)].timeout;
            pair.timer.set(now.saturating_add(timeout), &mut env.net.queue, timeout_of(place));
            self.line_up(now, place, env);
        }
    }

    /// Queue pairs listen to QCN.
    pub fn set_reaction(&mut self, reaction: qcn::ReactionParameters) {
        self.reaction = Some(reaction);
    }

    /// Which queue pair has the end `number`: another number than of those that had its place before.
    pub fn generation(&self, number: u32) -> u32 {
        self.pairs.get((number >> 1) as usize).map_or(0, |pair| pair.generation)
    }

    /// A switch tells a sender of congestion, if that is still there. Nobody slows answers down.
    pub fn on_feedback(&mut self, now: Time, told: &Told, line: Rate) {
        let number = endpoint_number(told.flow);
        let Some(parameters) = self.reaction.filter(|_| number & 1 == End::Responder as u32) else { return };
        let pair = self.pairs.get_mut((number >> 1) as usize).filter(|pair| pair.generation == told.generation);
        let Some(pair) = pair else { return };
        let point = pair.told.get_or_insert_with(|| Box::new(qcn::ReactionPoint::new(parameters, line)));
        point.on_feedback(now, told.code);
    }

    // ---- frames ----------------------------------------------------------------------------------------------

    /// The flow whose data a frame to endpoint `number` carries, if it carries any.
    pub fn flow_of(&self, number: u32, frame: &Frame) -> Option<u32> {
        (frame.tag == kind::DATA).then(|| self.pairs[(number >> 1) as usize].flow)
    }

    /// A frame has arrived.
    pub fn on_frame(&mut self, now: Time, number: u32, frame: &Frame, env: &mut Environment) {
        let place = number >> 1;
        match frame.tag {
            kind::DATA => self.on_data(now, place, frame, env),
            answer => self.on_answer(now, place, answer, frame, env),
        }
        self.frame_gone(now, number, env);
    }

    /// Data has reached its responder.
    fn on_data(&mut self, now: Time, place: u32, frame: &Frame, env: &mut Environment) {
        let pair = &mut self.pairs[place as usize];
        let profile = &self.profiles[usize::from(pair.profile)];
        let responder = &mut pair.responder;
        let psn = unwrap(responder.expected, frame.body.number);
        let marked = frame.tos & ecn::MASK == ecn::CE;
        let notifies = marked && profile.control.is_some_and(|control| responder.point.on_marked(now, &control));
        let last = pair.requester.packets == Some(psn + 1);
        let answer = responder.on_packet(now, psn, last, profile);
        let (flow, delivered, priority) = (pair.flow, pair.delivered(profile), pair.priority);
        let cnp_priority = profile.cnp_priority << 5;
        let selective = profile.retransmission == Retransmission::SelectiveRepeat;
        if notifies {
            let body = Segment { number: 0, data_number: 0, amount: 0, extra: NO_EXTRA };
            self.transmit(now, place, End::Requester, (CNP, cnp_priority, kind::CNP), body, env);
        }
        let (size, kind, number, beyond) = match answer {
            Answer::Nothing => (0, kind::ACK, 0, 0),
            Answer::Ack(below) => (ACK, kind::ACK, below, 0),
            Answer::Nak(missing, beyond) if selective => (SELECTIVE_ACK, kind::NAK, missing, beyond),
            Answer::Nak(missing, beyond) => (ACK, kind::NAK, missing, beyond),
        };
        if answer != Answer::Nothing {
            let body = Segment { number: number as u32, data_number: beyond as u32, amount: 0, extra: NO_EXTRA };
            self.transmit(now, place, End::Requester, (size, priority, kind), body, env);
        }
        if env.flows.deliver(now, flow, delivered, env.failures.as_deref()) {
            env.complete(now, flow, None);
        }
    }

    /// An answer has reached its requester.
    fn on_answer(&mut self, now: Time, place: u32, answer: u8, frame: &Frame, env: &mut Environment) {
        let pair = &mut self.pairs[place as usize];
        let profile = &self.profiles[usize::from(pair.profile)];
        let requester = &mut pair.requester;
        let near = requester.unacknowledged();
        let cumulative = unwrap(near, frame.body.number);
        let news = match answer {
            kind::CNP => {
                requester.marks += 1;
                if let Some(control) = &mut pair.control {
                    control.on_cnp(now);
                }
                return;
            }
            kind::NAK => {
                let beyond = unwrap(cumulative, frame.body.data_number);
                requester.on_nak(cumulative, beyond, profile.retransmission)
            }
            _ => requester.on_ack(cumulative),
        };
        if news {
            if requester.is_waiting() {
                let deadline = now.saturating_add(profile.timeout);
                pair.timer.set(deadline, &mut env.net.queue, timeout_of(place));
            } else {
                pair.timer.cancel();
            }
        }
        self.line_up(now, place, env);
    }

    /// A frame to an endpoint has left the fabric, whatever became of it.
    pub fn frame_gone(&mut self, now: Time, number: u32, env: &mut Environment) {
        self.gone += 1;
        let place = number >> 1;
        self.pairs[place as usize].in_flight -= 1;
        self.settle_down(now, place, env);
    }

    /// Whether a place has a queue pair in use.
    fn is_live(&self, place: u32) -> bool {
        let pair = &self.pairs[place as usize];
        pair.in_flight > 0 || pair.in_line || !pair.requester.is_done()
    }

    /// Frees the place of a queue pair that has nothing to do any more and nothing on its way.
    fn settle_down(&mut self, now: Time, place: u32, env: &mut Environment) {
        if self.is_live(place) {
            return;
        }
        let pair = &mut self.pairs[place as usize];
        pair.timer.cancel();
        let flow = pair.flow;
        for route in std::mem::take(&mut pair.old_routes).into_iter().chain(pair.routes) {
            env.net.fabric.routes.remove(route);
        }
        if env.flows[flow].ended.is_none() {
            env.flows.report(now, flow, None, env.failures.as_deref());
        }
        self.settle(place, &mut env.flows);
        env.flows.tear_down(flow, place);
        self.slots.give(place);
    }

    /// Adds what a queue pair has counted to the record of its flow, which is complete or whose run ends.
    pub fn settle(&self, place: u32, flows: &mut Flows) {
        let pair = &self.pairs[place as usize];
        let Some(end) = flows.record(pair.flow) else { return };
        end.retransmissions += pair.requester.retransmissions;
        end.timeouts += pair.requester.timeouts;
        end.marks += pair.requester.marks;
        end.subflows += 1;
    }

    // ---- samples and failures --------------------------------------------------------------------------------

    /// Gives `note` the route to the responder of a queue pair that waits for acknowledgements.
    pub fn routes_in_use(&self, place: u32, note: &mut impl FnMut(u32)) {
        let pair = &self.pairs[place as usize];
        if pair.requester.is_waiting() {
            note(pair.routes[End::Responder as usize]);
        }
    }

    /// Gives `push` what `round` wants of a flow: its goodput.
    pub fn sample(&self, flow: &mut Flow, round: &Round, push: &mut impl FnMut(SampleKind, SampleOf, f64)) {
        if round.wants(SampleKind::Goodput) {
            let bytes = |&place: &u32| {
                let pair = &self.pairs[place as usize];
                let payload = u64::from(self.profiles[usize::from(pair.profile)].payload);
                let bytes = pair.responder.packets.saturating_mul(payload);
                pair.size.map_or(bytes, |size| bytes.min(size))
            };
            let arrived: u64 = flow.connections.iter().map(bytes).sum();
            let bits = (arrived - flow.sampled_bytes) as f64 * 8.0;
            flow.sampled_bytes = arrived;
            let of = SampleOf::Flow(flow.start.id, flow.start.traffic);
            push(SampleKind::Goodput, of, bits / round.interval.as_secs_f64());
        }
    }

    /// Routing has learnt of a change: queue pairs under way move. A former route stays while frames may be on it.
    pub fn reroute(&mut self, env: &mut Environment) {
        let free: BTreeSet<u32> = self.slots.free.iter().copied().collect();
        for place in (0..self.pairs.len() as u32).filter(|place| !free.contains(place)) {
            for end in [End::Requester, End::Responder] {
                let QueuePair { flow, pair, .. } = self.pairs[place as usize];
                let Ok(path) = self.path(flow, pair, end, env) else { continue };
                let own = &mut self.pairs[place as usize];
                let routes = &mut env.net.fabric.routes;
                let same = |route: u32| routes.ports(route).eq(path.iter().copied());
                if same(own.routes[end as usize]) {
                    continue;
                }
                let to = endpoint(place, end);
                let old = own.old_routes.iter().position(|&old| same(old) && routes.end(old) == to);
                let next = match old {
                    Some(at) => own.old_routes.swap_remove(at),
                    None => routes.insert(&path, to),
                };
                own.old_routes.push(std::mem::replace(&mut own.routes[end as usize], next));
            }
        }
    }
}

/// The link over which a queue pair sends data.
fn first_link(pair: &QueuePair, env: &Environment) -> LinkId {
    env.net.fabric.routes.ports(pair.routes[End::Responder as usize]).next().expect("a route has a link")
}

/// The endpoint of one end of a queue pair.
fn endpoint(place: u32, end: End) -> headway_fabric::Endpoint {
    Tenant::Roce.endpoint(place << 1 | end as u32)
}
