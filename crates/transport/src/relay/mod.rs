//! Relays: hosts on the way of a flow that end TCP on both sides and forward what they read.
//!
//! A relayed flow is one flow for everybody else, and a chain of two-way connections inside ([`Session`]), each a
//! *segment*. What happens at their sockets comes here ([`Relays::on_event`]) and not to programs. At the ends of the
//! chain this module is the program, too: the source writes the flow's bytes, the destination reads them at once.
//!
//! A relay reads no more from one side than the send buffer of the other side takes, which is
//! [`Relay::buffer`](plan::Relay::buffer). So its receive window closes when the next hop is slow, and the sender before it
//! stops: it holds at most its receive window and its buffer of each direction.
//!
//! Parts: who is passed in which order ([`chain`]), what each segment is set up with ([`plan`]), how connections open and
//! end (here), data on its way ([`forward`]), connections that are kept ([`pool`]), what work takes ([`processor`]), and
//! crashes ([`crash`]).
//!
//! Leaves out: limits of the memory of all connections together, relays that look into the data or change it, addresses
//! (relays are transparent, and nothing is routed by them), and programs of two-way connections over relays. An ending by
//! reset of a session on a pooled connection resets that connection.

use std::sync::Arc;

use headway_fabric::NoPath;
use headway_units::Time;

use crate::environment::Environment;
use crate::flows::{Flow, FlowStart, Flows, NO_TRAFFIC};
use crate::measure::{Round, SampleKind, SampleOf};
use crate::slots::{SlotPool, put};
use crate::socket::{End, Owner, Socket, SocketEvent};
use crate::tcp::Tcp;
use crate::tcp::connection::UNLIMITED;
use crate::tcp::sender::SenderCounters;
use chain::Chains;
use plan::{Relay, RelayOpen, Relayed, direction};
use pool::Pools;
use processor::{Job, Task};
use session::{Segment, Session, Way, at};

mod chain;
mod crash;
mod forward;
pub(crate) mod plan;
mod pool;
mod pooled;
mod processor;
mod session;
mod work;

pub(crate) use crash::ENTITY as CRASHES;
pub use crash::{Crash, CrashKind};

/// The settings of one kind of relayed flows.
#[derive(Debug)]
struct Plan {
    relayed: Relayed,
    /// Which relay it is, over all plans.
    relay: u16,
    /// The first of TCP's profiles of its directions.
    profiles: u16,
}

/// All relays and relayed flows of a run.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    plans: Vec<Plan>,
    /// Those of each pair, or single one, of relays.
    settings: Vec<Arc<Relay>>,
    sessions: Vec<Session>,
    slots: SlotPool,
    /// Sessions so far.
    serial: u32,
    chains: Chains,
    pools: Pools,
    work: work::Work,
    crashes: crash::Crashes,
    /// Connections that are to be open from the start are.
    warmed: bool,
}

/// The rest of the simulation, lent for a call.
#[derive(Debug)]
pub(crate) struct Rest<'a> {
    pub now: Time,
    pub tcp: &'a mut Tcp,
    pub env: &'a mut Environment,
}

impl Relays {
    /// Takes up a kind of flows, of which TCP has the profiles of all directions from number `profiles` on.
    pub fn add(&mut self, relayed: Relayed, profiles: u16) {
        let count = relayed.relay.hosts.len();
        assert!((1..=plan::MOST_RELAYS).contains(&count), "a flow passes one relay or two");
        let known = self.settings.iter().position(|known| Arc::ptr_eq(known, &relayed.relay));
        let relay = known.unwrap_or_else(|| {
            self.settings.push(Arc::clone(&relayed.relay));
            self.settings.len() - 1
        });
        if relayed.relay.cost.any() {
            self.work.add(&relayed.relay);
        }
        self.plans.push(Plan { relayed, relay: relay as u16, profiles });
    }

    // ---- opening ---------------------------------------------------------------------------------------------

    /// Opens the first connection of a flow.
    pub fn open(&mut self, flow: u32, index: u16, rest: &mut Rest<'_>) -> Result<(), NoPath> {
        let start = rest.env.flows[flow].start;
        let plan = &self.plans[usize::from(index)];
        let ends = (start.source, start.destination);
        rest.env.flows[flow].ideal = rest.tcp.direct(&start, &plan.relayed.hosts, rest.env)?;
        let chain = self.chains.find(ends, (plan.relay, &plan.relayed.relay.hosts), rest.env)?;
        let place = self.slots.take();
        self.serial = self.serial.wrapping_add(1);
        let session = Session {
            plan: index,
            serial: self.serial,
            flow: Some(flow),
            chain,
            segments: [None, None, None],
            unwritten: start.size.map_or(UNLIMITED, headway_units::Bytes::get),
            delivered: 0,
            done: SenderCounters::default(),
            opened: 0,
            resets: 0,
            waiting: [[false; 2]; 2],
        };
        put(&mut self.sessions, place, session);
        rest.env.flows[flow].connections.push(place);
        self.open_segment(place, 0, rest);
        let first = self.sessions[place as usize].segments[0].as_ref().expect("it was opened").connection;
        rest.env.flows[flow].interfaces =
            rest.env.flows[rest.tcp.flow_of(Socket { connection: first, end: End::Opener })].interfaces;
        Ok(())
    }

    /// Opens segment `at` of a session.
    fn open_segment(&mut self, place: u32, at: usize, rest: &mut Rest<'_>) {
        let session = &self.sessions[place as usize];
        let (chain, index) = (session.chain, session.plan);
        let start = FlowStart {
            time: rest.now,
            id: session.flow.map_or(u64::from(session.serial), |flow| rest.env.flows[flow].start.id),
            traffic: session.flow.map_or(NO_TRAFFIC, |flow| rest.env.flows[flow].start.traffic),
            source: chain.stops[at],
            destination: chain.stops[at + 1],
            size: None,
            deadline: None,
            profile: index,
        };
        let flow = rest.env.flows.start_internal(rest.now, start);
        let (opener, acceptor) = chain.parties(at);
        let first = self.plans[usize::from(index)].profiles;
        let profiles = [first + direction(opener, acceptor), first + direction(acceptor, opener)];
        let owner = Owner::Session(place);
        let opened = rest.tcp.open_two_way(rest.now, flow, (profiles, at as u8), owner, rest.env);
        let socket = opened.expect("the chain was found when the flow began");
        if at + 1 < usize::from(chain.segments) {
            rest.tcp.ask_before_accepting(socket);
        }
        let session = &mut self.sessions[place as usize];
        session.opened += 1;
        session.segments[at] = Some(Segment::new(socket.connection));
    }

    /// The relay at `stop` goes on to the next one, or to the destination.
    fn go_on(&mut self, place: u32, stop: usize, rest: &mut Rest<'_>) {
        let session = &self.sessions[place as usize];
        if session.segments[stop].is_some() {
            return;
        }
        let between = stop > 0 && stop + 1 < session.count();
        if between && self.plans[usize::from(session.plan)].relayed.relay.warm > 0 {
            self.take_pooled(place, stop, rest);
        } else {
            self.open_segment(place, stop, rest);
        }
    }

    fn opens(&self, place: u32) -> RelayOpen {
        self.plans[usize::from(self.sessions[place as usize].plan)].relayed.relay.open
    }

    // ---- events ----------------------------------------------------------------------------------------------

    /// Something has happened at a socket of `owner`.
    pub fn on_event(&mut self, owner: Owner, socket: Socket, event: SocketEvent, rest: &mut Rest<'_>) {
        let place = match owner {
            Owner::Session(place) => place,
            Owner::Pool(pooled) => return self.on_pooled_event(pooled, socket, event, rest),
            Owner::Program => unreachable!("the caller knows"),
        };
        let Some(segment) = self.sessions[place as usize].find(socket.connection) else { return };
        let end = socket.end;
        match event {
            SocketEvent::Closed => return self.on_closed(place, segment, rest),
            SocketEvent::Reset => return self.on_reset(place, (segment, end), rest),
            _ if rest.tcp.is_gone(socket) => return,
            SocketEvent::Asked => return self.on_asked(place, segment, rest),
            SocketEvent::Connected => return self.on_connected(place, (segment, end), rest),
            SocketEvent::PeerClosed => {
                let own = self.sessions[place as usize].segments[segment].as_mut().expect("it was found");
                own.ended[at(end)] = true;
            }
            SocketEvent::Readable => {}
            SocketEvent::Writable => return self.on_room(place, (segment, end), rest),
        }
        self.on_data(place, (segment, end), rest);
    }

    /// There is something to read at an end, or all of it has come.
    #[inline]
    fn on_data(&mut self, place: u32, (segment, end): (usize, End), rest: &mut Rest<'_>) {
        match end {
            End::Acceptor if segment + 1 == self.sessions[place as usize].count() => self.deliver(place, rest),
            End::Acceptor => self.forward(place, segment + 1, Way::Forth, rest),
            End::Opener if segment == 0 => self.drain(place, rest),
            End::Opener => self.forward(place, segment, Way::Back, rest),
        }
    }

    /// An end may write again.
    fn on_room(&mut self, place: u32, (segment, end): (usize, End), rest: &mut Rest<'_>) {
        if !self.write_head(place, segment, end, rest) {
            return;
        }
        if self.sessions[place as usize].segments[segment]
            .as_ref()
            .is_some_and(|own| own.pooled.is_some() && own.shut[at(end)])
        {
            return self.write_tail(place, segment, end, rest);
        }
        match end {
            End::Opener if segment == 0 => self.feed(place, rest),
            End::Opener => self.forward(place, segment, Way::Forth, rest),
            End::Acceptor if segment + 1 == self.sessions[place as usize].count() => {}
            End::Acceptor => self.forward(place, segment + 1, Way::Back, rest),
        }
    }

    /// SYN has come to the relay behind `segment`.
    fn on_asked(&mut self, place: u32, segment: usize, rest: &mut Rest<'_>) {
        let session = &self.sessions[place as usize];
        let (stop, host) = (segment + 1, session.chain.stops[segment + 1]);
        let own = session.segments[segment].as_ref().expect("it was found");
        if self.crashes.refuses(host) {
            return rest.tcp.abort(rest.now, own.socket(End::Acceptor), rest.env);
        }
        if own.records.is_some() {
            return rest.tcp.accept(rest.now, own.connection, rest.env);
        }
        let job = Job { session: (place, session.serial), stop, task: Task::Admit };
        if self.work.takes(host) {
            self.work.add_job(host, job);
            self.start_work(host, rest);
        } else {
            self.admit(place, stop, rest);
        }
    }

    /// The relay at `stop` takes a connection in.
    fn admit(&mut self, place: u32, stop: usize, rest: &mut Rest<'_>) {
        let Some(own) = &self.sessions[place as usize].segments[stop - 1] else { return };
        let connection = own.connection;
        if rest.tcp.is_gone(own.socket(End::Acceptor)) || !rest.tcp.is_asked(connection) {
            return;
        }
        match self.opens(place) {
            RelayOpen::EndToEnd => self.go_on(place, stop, rest),
            RelayOpen::AtOnce => rest.tcp.accept(rest.now, connection, rest.env),
        }
    }

    /// The handshake of a segment is over at one end.
    fn on_connected(&mut self, place: u32, (segment, end): (usize, End), rest: &mut Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        let last = segment + 1 == session.count();
        let own = session.segments[segment].as_mut().expect("it was found");
        own.open[at(end)] = true;
        let pooled = own.pooled.is_some();
        match end {
            End::Opener if segment == 0 => self.feed(place, rest),
            End::Opener => {
                if pooled {
                    self.write_open(place, segment, End::Opener, rest);
                } else {
                    self.answer_before(place, segment, rest);
                }
                self.forward(place, segment, Way::Back, rest);
                self.forward(place, segment, Way::Forth, rest);
            }
            // of a pooled one the record before the data says where to go
            End::Acceptor if last || pooled => {}
            End::Acceptor => {
                self.go_on(place, segment + 1, rest);
                self.forward(place, segment + 1, Way::Back, rest);
            }
        }
    }

    /// The hop behind `segment` has answered: who waits for that before it is told.
    fn answer_before(&mut self, place: u32, segment: usize, rest: &mut Rest<'_>) {
        if self.opens(place) == RelayOpen::AtOnce {
            return;
        }
        let Some(before) = self.sessions[place as usize].segments[segment - 1].as_ref() else { return };
        let socket = before.socket(End::Acceptor);
        if rest.tcp.is_gone(socket) {
            return;
        }
        if before.records.is_some() {
            self.write_open(place, segment - 1, End::Acceptor, rest);
        } else if rest.tcp.is_asked(before.connection) {
            rest.tcp.accept(rest.now, before.connection, rest.env);
        }
    }

    // ---- endings ---------------------------------------------------------------------------------------------

    /// Both directions of a segment are closed, or both ends gone.
    fn on_closed(&mut self, place: u32, segment: usize, rest: &mut Rest<'_>) {
        self.leave(place, segment, rest);
        let own = self.sessions[place as usize].segments[segment].take().expect("it was found");
        if let Some(pooled) = own.pooled {
            self.pools.remove(pooled);
        }
        self.end_if_over(place, rest);
    }

    /// Adds what a segment did for the session to its sums.
    fn leave(&mut self, place: u32, segment: usize, rest: &Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        if let Some(own) = &session.segments[segment] {
            let now = rest.tcp.counters(own.connection);
            session.done.retransmissions += now.retransmissions - own.before.retransmissions;
            session.done.timeouts += now.timeouts - own.before.timeouts;
            session.done.marks += now.marks - own.before.marks;
        }
    }

    /// Frees the place of a session without segments.
    fn end_if_over(&mut self, place: u32, rest: &mut Rest<'_>) {
        let session = &self.sessions[place as usize];
        if session.segments.iter().any(Option::is_some) {
            return;
        }
        if let Some(flow) = session.flow {
            settle(session, flow, &mut rest.env.flows);
            rest.env.flows.tear_down(flow, place);
        }
        self.slots.give(place);
    }

    /// A segment was reset under the feet of one of its ends: a host's flow is over, a relay passes it on.
    fn on_reset(&mut self, place: u32, (segment, end): (usize, End), rest: &mut Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        session.resets += 1;
        let stop = segment + at(end);
        if stop == 0 || stop == session.count() {
            self.give_up(place, rest);
            return;
        }
        let other = if end == End::Opener { (segment - 1, End::Acceptor) } else { (segment + 1, End::Opener) };
        if let Some(other) = session.segments[other.0].as_ref().map(|own| own.socket(other.1)) {
            rest.tcp.abort(rest.now, other, rest.env);
        }
    }

    /// The user's flow is over without being complete.
    fn give_up(&mut self, place: u32, rest: &mut Rest<'_>) {
        let Some(flow) = self.sessions[place as usize].flow else { return };
        if rest.env.flows[flow].ended.is_none() {
            rest.env.complete(rest.now, flow, None);
        }
    }

    /// Adds what a session did, now that the run is over, to the record of its flow.
    pub fn settle(&mut self, place: u32, rest: &mut Rest<'_>) {
        for segment in 0..session::MOST {
            self.leave(place, segment, rest);
        }
        let session = &self.sessions[place as usize];
        if let Some(flow) = session.flow {
            settle(session, flow, &mut rest.env.flows);
        }
    }

    /// What the relay at `stop` of a session holds forth: read by nobody yet, and written and not acknowledged.
    #[cfg(test)]
    pub fn held(&self, place: u32, stop: usize, tcp: &Tcp) -> Option<(u64, u64)> {
        let segments = &self.sessions[place as usize].segments;
        let (before, after) = (segments[stop - 1].as_ref()?, segments[stop].as_ref()?);
        Some((tcp.unread(before.socket(End::Acceptor)), tcp.unacknowledged(after.socket(End::Opener))))
    }

    /// Places of sessions taken so far, at most at one time.
    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.sessions.len()
    }

    /// Sessions that are not over.
    #[cfg(test)]
    pub fn open_sessions(&self) -> usize {
        self.sessions.iter().filter(|session| session.segments.iter().any(Option::is_some)).count()
    }

    /// Gives `push` what `measure` wants of a flow: goodput at the destination, window and round trip of each segment.
    pub fn sample(
        &self,
        flow: &mut Flow,
        measure: &Round,
        tcp: &Tcp,
        push: &mut impl FnMut(SampleKind, SampleOf, f64),
    ) {
        let (id, traffic) = (flow.start.id, flow.start.traffic);
        let session = &self.sessions[flow.connections[0] as usize];
        let last = session.segments[session.count() - 1].as_ref();
        if measure.wants(SampleKind::Goodput) {
            let arrived = last.map_or(flow.sampled_bytes, |own| tcp.arrived(own.connection));
            let bits = (arrived - flow.sampled_bytes) as f64 * 8.0;
            flow.sampled_bytes = arrived;
            push(SampleKind::Goodput, SampleOf::Flow(id, traffic), bits / measure.interval.as_secs_f64());
        }
        for (nth, own) in session.segments.iter().enumerate() {
            let Some(own) = own else { continue };
            tcp.sample_window(own.connection, SampleOf::Subflow(id, traffic, nth as u16), measure, push);
        }
    }
}

/// Writes a session's sums into the record of its flow.
fn settle(session: &Session, flow: u32, flows: &mut Flows) {
    let Some(end) = flows.record(flow) else { return };
    end.retransmissions = session.done.retransmissions;
    end.timeouts = session.done.timeouts;
    end.marks = session.done.marks;
    end.subflows = session.opened;
    end.resets = session.resets;
}
