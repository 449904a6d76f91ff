//! The loop: flows start, frames arrive, timers fire, samples are taken.

use headway_control::congestion::{FlowDeadline, Sibling};
use headway_control::lanes::HostLanes;
use headway_engine::{EventQueue, Source, Streams};
use headway_fabric::{
    ARRIVALS, Choice, DEPARTURES, Endpoint, Fabric, Graph, LinkId, NoPath, NodeId, Packet, Paths, Step,
};
use headway_units::{Bytes, Span, Time};

use crate::application::{Application, Listed};
use crate::connection::{Connection, MAX_SUBFLOWS};
use crate::external::{self, Departure, External, ExternalError, ExternalHosts};
use crate::network::{Fired, Network, SackPool, Side, class, endpoint, side};
use crate::ports::Ports;
use crate::profile::Profile;
use crate::receiver::{self, Answer, Arrival, Receiver};
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size, unwrap};
use crate::sender::{Context, Phase, Sender};
use crate::trace::Traced;
use starting::Starting;

mod failures;
mod hosts;
mod lanes;
mod opening;
mod sampling;
mod starting;

pub use failures::Failure;
pub use sampling::{Measure, Sample, SampleKind, SampleOf};

/// A flow to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStart {
    /// When.
    pub time: Time,
    /// The caller's name for it; unique within the run.
    pub id: u64,
    /// The caller's name for the kind of traffic.
    pub traffic: u16,
    /// Sending host.
    pub source: NodeId,
    /// Receiving host.
    pub destination: NodeId,
    /// Bytes to send; `None` never ends.
    pub size: Option<Bytes>,
    /// When it should be complete, counted from its start; for controls that know deadlines.
    pub deadline: Option<Span>,
    /// Index of the [`Profile`] its connections use.
    pub profile: u16,
}

/// What became of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowEnd {
    /// How it started.
    pub start: FlowStart,
    /// When its last byte had been delivered in order; `None` if it had not by the end of the run.
    pub end: Option<Time>,
    /// Bytes delivered in order (of the copy that is furthest).
    pub delivered: u64,
    /// Completion time on the idle network; see [`Simulation::ideal`].
    pub ideal: Option<Span>,
    /// Segments sent again, until its connections were closed: also after its last byte had been delivered.
    pub retransmissions: u32,
    /// Retransmission time-outs, of SYN included.
    pub timeouts: u32,
    /// ECN echoes received.
    pub marks: u32,
    /// Subflows opened, over all copies.
    pub subflows: u32,
    /// The interfaces (of the source host) that its subflows used, as a bit mask.
    pub interfaces: u64,
    /// When it moved to its long lanes.
    pub switched: Option<Time>,
    /// The longest time without anything delivered in order, of those times in which a link was down; `None` if none was
    /// while the flow lived.
    pub stall: Option<Span>,
}

/// Sums of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Events handled.
    pub events: u64,
    /// Frames times links.
    pub hops: u64,
    /// Frames dropped by queues.
    pub drops: u64,
    /// Frames damaged on wires.
    pub lost: u64,
    /// Frames lost because a link was down.
    pub down: u64,
    /// Frames marked by queues.
    pub marks: u64,
    /// Frames dropped by receive rings of hosts with a model.
    pub ring_drops: u64,
    /// Frames dropped by backlogs of their cores.
    pub backlog_drops: u64,
    /// Frames in queues, on wires and waiting for cores at the end.
    pub in_flight: u64,
    /// A hash of the event stream.
    pub digest: u64,
}

#[derive(Debug)]
struct Flow {
    start: FlowStart,
    ideal: Option<Span>,
    end: Option<Time>,
    /// Bytes delivered in order by the furthest copy.
    delivered: u64,
    connections: Vec<u32>,
    /// Connections not yet torn down.
    open: u32,
    /// Where in [`Simulation::ended`] it is, once it is.
    ended: Option<u32>,
    interfaces: u64,
    sampled: bool,
    /// Bytes that had arrived at the last sample, over all copies.
    sampled_bytes: u64,
    /// When something was last delivered in order, and the longest time without; kept if there are failures.
    progress: Time,
    stall: Option<Span>,
}

/// Indices of a growing vector whose places are reused.
#[derive(Debug, Default)]
struct SlotPool {
    free: Vec<u32>,
    len: u32,
}

impl SlotPool {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.len += 1;
            self.len - 1
        })
    }

    fn give(&mut self, place: u32) {
        self.free.push(place);
    }
}

fn put<T>(items: &mut Vec<T>, place: u32, item: T) {
    if place as usize == items.len() {
        items.push(item);
    } else {
        items[place as usize] = item;
    }
}

const NO_SIBLING: Sibling = Sibling { cwnd: 0, srtt: Span::ZERO, min_rtt: Span::ZERO, between_losses: 0, own: false };

/// What a connection has left to do by when, if its flow has a deadline; `any` flow, that is.
#[inline]
fn goal(any: bool, flows: &[Flow], connection: &Connection) -> Option<FlowDeadline> {
    if !any {
        return None;
    }
    let start = &flows[connection.flow as usize].start;
    start.deadline.map(|after| FlowDeadline {
        remaining: connection.total.saturating_sub(connection.una),
        deadline: start.time.saturating_add(after),
    })
}

/// One run: a network, its hosts' connections, and the time.
#[derive(Debug)]
pub struct Simulation {
    net: Network,
    graph: Graph,
    paths: Paths,
    profiles: Vec<Profile>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    connections: Vec<Connection>,
    flows: Vec<Flow>,
    subflow_places: SlotPool,
    connection_places: SlotPool,
    flow_places: SlotPool,
    /// Subflows whose connection is done but which have frames on their way.
    draining: Vec<u32>,
    ended: Vec<FlowEnd>,
    measure: Measure,
    samples: Vec<Sample>,
    sampled_flows: Vec<u32>,
    /// The next sample has its event.
    sampling: bool,
    /// A flow with a deadline has started.
    deadlines: bool,
    starting: Starting,
    ports: Ports,
    /// What sending hosts remember, by node and rule, where a policy has them choose lanes.
    host_lanes: std::collections::BTreeMap<(u32, u16), HostLanes>,
    /// By profile the rule, see [`lanes::rules`].
    lane_rules: Vec<u16>,
    now: Time,
    scratch: Vec<LinkId>,
    outside: Option<ExternalHosts>,
    /// What is or will be down, if anything.
    trouble: Option<Box<failures::FailureState>>,
    /// Routes that subflows have left, by endpoint; frames may be on their way on them.
    left_routes: std::collections::BTreeMap<u32, Vec<u32>>,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// Two hosts of a flow have no path between them.
    #[error(transparent)]
    NoPath(#[from] NoPath),
    /// External hosts cannot go on.
    #[error("{0}")]
    External(ExternalError),
}

impl Simulation {
    /// A simulation of `graph` at time zero. Connections are set up by one of `profiles`; what is sampled is in
    /// `measure`; ECMP hashes and random loss come from `streams`.
    pub fn new(graph: Graph, profiles: Vec<Profile>, measure: Measure, streams: Streams) -> Simulation {
        let fabric = Fabric::new(&graph, streams);
        let net = Network {
            fabric,
            queue: EventQueue::new(),
            extras: SackPool::default(),
            hosts: crate::host::Hosts::default(),
            inbound: Vec::new(),
            seed: streams.stream("controls").next_u64(),
            sent: 0,
            delivered: 0,
            discarded: 0,
            trace: None,
            special: false,
        };
        Simulation {
            net,
            paths: Paths::new(&graph),
            graph,
            lane_rules: lanes::rules(&profiles),
            profiles,
            senders: Vec::new(),
            receivers: Vec::new(),
            connections: Vec::new(),
            flows: Vec::new(),
            subflow_places: SlotPool::default(),
            connection_places: SlotPool::default(),
            flow_places: SlotPool::default(),
            draining: Vec::new(),
            ended: Vec::new(),
            measure,
            samples: Vec::new(),
            sampled_flows: Vec::new(),
            sampling: false,
            deadlines: false,
            starting: Starting::default(),
            ports: Ports::new(streams),
            host_lanes: std::collections::BTreeMap::new(),
            now: Time::ZERO,
            scratch: Vec::new(),
            outside: None,
            trouble: None,
            left_routes: std::collections::BTreeMap::new(),
        }
    }

    /// Runs until `end` (events at `end` itself included), starting the flows of `starts`, which must come in order
    /// of time. May be called again with a later `end`; flows not yet started must then be given again.
    ///
    /// # Errors
    /// If two hosts of a flow have no path between them, or external hosts fail.
    ///
    /// # Panics
    /// If `starts` goes backwards, or an invariant of the simulator is broken.
    pub fn run(&mut self, end: Time, starts: &mut dyn Iterator<Item = FlowStart>) -> Result<(), Stopped> {
        self.run_application(end, &mut Listed(starts.peekable()))
    }

    /// As [`Simulation::run`]; flows start when `application` says so. When called again, it must be with the same
    /// application or one that gives all flows not yet started.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    ///
    /// # Panics
    /// If a flow's start is not the time at which it is given, or an invariant of the simulator is broken.
    pub fn run_application(&mut self, end: Time, application: &mut dyn Application) -> Result<(), Stopped> {
        self.begin(application);
        if let Some(first) = self.measure.first(self.now).filter(|_| !self.sampling) {
            self.sampling = true;
            self.net.queue.push(first, Source::new(class::SAMPLE, 0), 0);
        }
        loop {
            let event = self.net.queue.peek();
            if let Some(outside) = &self.outside {
                // External hosts act after the network, the timers and the samples of an instant, and all of them
                // before a frame that one of them sends at it leaves.
                let next = outside.hosts.next();
                let first = event.is_none_or(|(now, source, _)| (next, class::EXTERNAL) <= (now, source.class()));
                if first && next <= end && next != Time::NEVER {
                    self.advance_outside(next)?;
                    continue;
                }
            }
            let Some((now, source, sequence)) = event.filter(|&(now, _, _)| now <= end) else { break };
            self.now = now;
            // almost all are
            if source.class() == ARRIVALS {
                self.on_arrival(now, source.entity());
                continue;
            }
            match source.class() {
                class::SENDER_TIMER => self.on_sender_timer(now, source.entity(), sequence),
                class::RECEIVER_TIMER => self.on_receiver_timer(now, source.entity(), sequence),
                class::FLOW_START => {
                    self.net.queue.pop();
                    self.attend(now, application)?;
                }
                class::EXTERNAL => self.on_departure(now, LinkId(source.entity())),
                class::WAKE => self.on_wake(now, source.entity(), sequence),
                DEPARTURES => {
                    self.net.fabric.departure(&mut self.net.queue, now, source.entity());
                    while let Some((end, frame)) = self.net.fabric.evicted() {
                        self.on_discard(end, &frame);
                    }
                }
                class::HOST => self.on_host(now, source.entity(), sequence),
                class::CHANGE => self.on_change(now),
                _ => {
                    self.take_samples(now);
                    let next = now + self.measure.interval;
                    self.net.queue.reschedule(next);
                }
            }
        }
        self.now = end;
        Ok(())
    }

    /// Ends the run: checks that nothing was created or lost on the way, and returns what became of every flow, in
    /// order of their ids, with the samples and sums.
    ///
    /// # Panics
    /// If frames or bytes are not conserved: a bug.
    pub fn finish(mut self) -> (Vec<FlowEnd>, Vec<Sample>, Totals) {
        self.net.fabric.assert_conserved();
        let inbound: u64 = self.net.inbound.iter().map(|&n| u64::from(n)).sum();
        let outside = self.outside.as_ref().map_or(0, |outside| outside.sent - outside.gone);
        assert_eq!(
            inbound + outside,
            self.net.fabric.in_flight() + self.net.hosts.waiting(),
            "frames on their way are in the fabric or in hosts"
        );
        assert_eq!(
            self.net.sent,
            self.net.delivered + self.net.discarded + inbound,
            "frames sent are delivered, discarded or on their way"
        );
        assert!(self.net.extras.in_use() as u64 <= inbound, "side storage belongs to frames on their way");
        for flow in 0..self.flows.len() as u32 {
            let f = &self.flows[flow as usize];
            if f.ended.is_none() && !f.connections.is_empty() {
                self.report(flow);
            }
            for connection in std::mem::take(&mut self.flows[flow as usize].connections) {
                self.settle(connection);
            }
        }
        self.ended.sort_by_key(|flow| flow.start.id);
        let ports = self.net.fabric.totals();
        let (ring_drops, backlog_drops) = self.net.hosts.drops();
        let totals = Totals {
            events: self.net.queue.taken(),
            hops: self.net.fabric.hops(),
            drops: ports.dropped.frames,
            lost: ports.lost.frames,
            down: ports.down.frames,
            marks: ports.marked,
            ring_drops,
            backlog_drops,
            in_flight: inbound + outside,
            digest: self.net.queue.digest(),
        };
        (self.ended, self.samples, totals)
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What has passed the port of `link`, and the bytes waiting there now.
    pub fn port(&mut self, link: LinkId) -> (headway_fabric::PortCounters, Bytes) {
        (self.net.fabric.counters(link), self.net.fabric.occupancy(self.now, link).0)
    }

    /// How long `size` bytes take over the links of an idle path, without a handshake and with windows that never
    /// limit: the first full frame is stored and forwarded hop by hop, the others follow it at the slowest link's
    /// rate, and the last (usually shorter) one ends it. A lower bound for one path; several paths together may be
    /// faster.
    pub fn ideal(&self, path: &[LinkId], size: Bytes, profile: &Profile) -> Span {
        // Sizes that take longer than the range of time have no finite ideal.
        let add = |a: Span, b: Span| a.checked_add(b).unwrap_or(Span::MAX);
        let mss = u64::from(profile.mss);
        let full = size.get() / mss;
        let rest = (size.get() % mss) as u32;
        let wire = |payload: u32, link: &headway_fabric::Link| {
            link.wire
                .rate
                .transmission(Bytes::new(u64::from(frame_size(payload, profile.overhead)) + link.wire.gap.get()))
        };
        let links = || path.iter().map(|&l| self.graph.link(l));
        let latency = links().fold(Span::ZERO, |sum, l| add(sum, add(l.wire.delay, self.graph.node(l.to).latency)));
        if full == 0 {
            return links().fold(latency, |sum, l| add(sum, wire(rest, l)));
        }
        // On an idle path the last full frame reaches the far end of each link one transmission after the later of:
        // its own arrival at that link, and its predecessor's departure; the pace is that of the slowest link so far.
        let (mut last_full, mut pace, mut last) = (Span::ZERO, Span::ZERO, Span::ZERO);
        for link in links() {
            let own = wire(profile.mss, link);
            last_full = add(last_full, add(own, own.saturating_sub(pace).saturating_mul(full - 1)));
            pace = pace.max(own);
            last = if rest == 0 { last_full } else { add(last.max(last_full), wire(rest, link)) };
        }
        add(latency, last)
    }

    // ---- events ----------------------------------------------------------------------------------------------

    #[inline]
    fn on_arrival(&mut self, now: Time, link: u32) {
        if let Some(outside) = &mut self.outside
            && outside.watched[link as usize]
        {
            let packet = self.net.fabric.arriving(LinkId(link));
            if external::interface(self.net.fabric.routes.end(packet.hop)).is_some() {
                outside.hosts.passes(now, LinkId(link), packet.body.number, packet.tos);
            }
        }
        match self.net.fabric.arrival(&mut self.net.queue, now, link) {
            Step::Forwarded => {}
            Step::Discarded(end, frame) => self.on_discard(end, &frame),
            Step::Delivered(end, frame) => {
                if let Some(to) = external::interface(end) {
                    let outside = self.outside.as_mut().expect("an external host's frame means external hosts");
                    outside.gone += 1;
                    outside.hosts.deliver(now, to, frame.body.number, frame.tos);
                    return;
                }
                if self.net.special {
                    if let Some(interface) = self.net.hosts.interface(link) {
                        self.on_card(now, interface, end, frame);
                        return;
                    }
                    self.net.note(now, end, false, &frame);
                }
                self.net.delivered += 1;
                let (subflow, half) = side(end);
                match half {
                    Side::Receiver => self.on_segment(now, subflow, &frame),
                    Side::Sender => self.on_acknowledgement(now, subflow, &frame),
                }
                self.left(end.0);
            }
        }
    }

    /// A frame for `end` was dropped or damaged.
    fn on_discard(&mut self, end: Endpoint, frame: &Frame) {
        if external::interface(end).is_some() {
            return self.outside_lost(frame);
        }
        self.net.discarded += 1;
        self.net.extras.take(frame.body.extra);
        self.left(end.0);
    }

    // ---- external hosts --------------------------------------------------------------------------------------

    /// Notes from now on what passes senders, see [`Simulation::traced`].
    pub fn trace(&mut self) {
        self.net.trace = Some(Box::default());
        self.net.special = true;
    }

    /// What has passed senders since [`Simulation::trace`], in order of time.
    pub fn traced(&mut self) -> Vec<Traced> {
        self.net.trace.take().map_or_else(Vec::new, |trace| trace.rows)
    }

    /// Lets `hosts`, which have interfaces in the graph, take part from now on.
    pub fn attach(&mut self, hosts: Box<dyn External>) {
        self.outside = Some(ExternalHosts {
            hosts,
            leaving: std::collections::BTreeMap::new(),
            routes: std::collections::BTreeMap::new(),
            watched: vec![false; self.graph.links().len()],
            sent: 0,
            gone: 0,
            scratch: Vec::new(),
        });
    }

    /// Ends the part of the external hosts and gives them back. Their frames on the way are discarded.
    ///
    /// # Panics
    /// If there are none, or they are not of this type.
    pub fn detach<H: External>(&mut self) -> Box<H> {
        let outside = self.outside.as_mut().expect("external hosts are attached");
        let hosts = std::mem::replace(&mut outside.hosts, Box::new(external::NullHost));
        (hosts as Box<dyn std::any::Any>).downcast().expect("the caller knows what was attached")
    }

    /// Shows the external hosts their frames at the far end of `link`.
    ///
    /// # Panics
    /// If there are no external hosts, or the link is not in the graph.
    pub fn watch(&mut self, link: LinkId) {
        self.outside.as_mut().expect("external hosts are attached").watched[link.index()] = true;
    }

    fn advance_outside(&mut self, now: Time) -> Result<(), Stopped> {
        let outside = self.outside.as_mut().expect("they asked for it");
        self.now = now;
        let fabric = &self.net.fabric;
        let horizon = |from: LinkId| fabric.earliest_arrival(now, from.reverse());
        let mut sent = std::mem::take(&mut outside.scratch);
        outside.hosts.advance(now, &horizon, &mut sent).map_err(Stopped::External)?;
        for departure in sent.drain(..) {
            debug_assert!(departure.time >= now);
            let leaving = outside.leaving.entry(departure.from.0).or_default();
            if leaving.is_empty() {
                self.net.queue.push(departure.time, Source::new(class::EXTERNAL, departure.from.0), 0);
            }
            leaving.push_back(departure);
        }
        outside.scratch = sent;
        Ok(())
    }

    /// The first frame that waits at the external interface `from` leaves.
    fn on_departure(&mut self, now: Time, from: LinkId) {
        let outside = self.outside.as_mut().expect("a departure means external hosts");
        let leaving = outside.leaving.get_mut(&from.0).expect("a departure was announced");
        let Departure { to, hash, size, tos, frame, .. } = leaving.pop_front().expect("a departure was announced");
        match leaving.front() {
            Some(next) => self.net.queue.reschedule(next.time),
            None => self.net.queue.pop(),
        }
        outside.hosts.departs(now, from, frame);
        let route = *outside.routes.entry((from.0, to.0, hash)).or_insert_with(|| {
            self.paths.path(from, to, Choice::Ecmp(hash), &mut self.scratch).ok()?;
            failures::detour(&mut self.trouble, from, to, Choice::Ecmp(hash), &mut self.scratch);
            Some(self.net.fabric.routes.insert(&self.scratch, external::endpoint(to)))
        });
        let Some(hop) = route else {
            outside.hosts.discard(frame);
            return;
        };
        let body = Segment { number: frame, data_number: 0, amount: 0, extra: NO_EXTRA };
        outside.sent += 1;
        if let Err((_, packet)) =
            self.net.fabric.send(&mut self.net.queue, now, Packet { hop, size, tos, tag: 0, body })
        {
            self.outside_lost(&packet);
        }
    }

    #[cold]
    fn outside_lost(&mut self, frame: &Frame) {
        let outside = self.outside.as_mut().expect("an external host's frame means external hosts");
        outside.gone += 1;
        outside.hosts.discard(frame.body.number);
    }

    /// A frame for `end` has left the fabric.
    #[inline]
    fn left(&mut self, end: u32) {
        let count = &mut self.net.inbound[end as usize];
        *count -= 1;
        if *count == 0 && !self.draining.is_empty() {
            self.reclaim();
        }
    }

    #[inline]
    fn on_segment(&mut self, now: Time, subflow: u32, frame: &Frame) {
        let (answer, done) = self.take_segment(now, subflow, frame);
        self.answer_segment(now, subflow, answer, done);
    }

    /// Takes in a segment; says how to answer and whether more is now there in order.
    #[expect(
        clippy::inline_always,
        reason = "a second caller, for hosts with a model, must not cost the others a call"
    )]
    #[inline(always)]
    fn take_segment(&mut self, now: Time, subflow: u32, frame: &Frame) -> (Answer, bool) {
        let connection = &mut self.connections[self.receivers[subflow as usize].connection as usize];
        connection.lend_window(subflow, &mut self.receivers);
        let receiver = &mut self.receivers[subflow as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let (arrival, answer) = receiver.take(now, frame, connection.inflow(), profile, &mut self.net);
        let mut done = false;
        if let Arrival::Data { contiguous, new } = arrival {
            let before = connection.received;
            if profile.multipath.is_some() {
                let position = unwrap(connection.received, frame.body.data_number);
                connection.receive(position, frame.body.amount);
                connection.deliver(subflow, contiguous);
            } else {
                connection.received = connection.received.max(contiguous);
                connection.arrived += new;
            }
            done = connection.received > before || connection.total == 0;
        }
        (answer, done)
    }

    /// Answers what was taken in.
    #[expect(clippy::inline_always, reason = "see `take_segment`")]
    #[inline(always)]
    fn answer_segment(&mut self, now: Time, subflow: u32, answer: Answer, done: bool) {
        let receiver = &mut self.receivers[subflow as usize];
        let connection = &mut self.connections[receiver.connection as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        receiver.answer(now, answer, connection.inflow(), profile, &mut self.net);
        connection.return_window(receiver);
        if done {
            let (flow, received) = (connection.flow, connection.received);
            self.on_delivery(now, flow, received);
        }
    }

    /// The receiver of a flow has `received` bytes in order.
    #[inline]
    fn on_delivery(&mut self, now: Time, flow: u32, received: u64) {
        let f = &mut self.flows[flow as usize];
        if f.ended.is_some() {
            return;
        }
        if let Some(trouble) = &self.trouble
            && received > f.delivered
        {
            f.note_progress(now, trouble);
        }
        f.delivered = f.delivered.max(received);
        if f.start.size.is_some_and(|size| received >= size.get()) {
            f.end = Some(now);
            self.report(flow);
            if self.starting.listens {
                self.note_completed(now, flow);
            }
        }
    }

    #[expect(clippy::inline_always, reason = "see `take_segment`")]
    #[inline(always)]
    fn on_acknowledgement(&mut self, now: Time, subflow: u32, frame: &Frame) {
        let blocks = self.net.extras.take(frame.body.extra);
        let sender = &mut self.senders[subflow as usize];
        let place = sender.connection;
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        if profile.timestamps {
            self.net.set_echo(endpoint(subflow, Side::Receiver), frame.tag & flag::SPIN);
        }
        let progress = if frame.tag & flag::SYN != 0 {
            connection.open_window(receiver::first_window(profile));
            sender.on_syn_ack(now, profile, &mut self.net)
        } else {
            let ack = unwrap(connection.una, frame.body.data_number);
            connection.acknowledge(ack, frame.body.amount);
            let goal = goal(self.deadlines, &self.flows, connection);
            let mut room;
            let siblings: &[Sibling] = if sender.is_coupled() {
                room = [NO_SIBLING; MAX_SUBFLOWS];
                let count = connection.siblings(subflow, &self.senders, &mut room);
                &room[..count]
            } else {
                &[]
            };
            let context = Context { siblings, goal };
            let sender = &mut self.senders[subflow as usize];
            sender.on_ack(now, frame, blocks, &context, profile, &mut self.net)
        };
        if connection.lanes.is_some() {
            self.observe_lane(now, subflow, progress.established, progress.sampled);
        }
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        if progress.closed {
            self.close(place);
            return;
        }
        let late = progress.established && connection.is_finishing();
        connection.pump(now, &mut self.senders, profile, &mut self.net);
        if profile.multipath.is_some() {
            connection.finish(now, &mut self.senders, profile, &mut self.net);
            if late {
                // opened too late: there is nothing left to send but FIN
                let total = connection.total;
                self.senders[subflow as usize].send_new(now, total, 0, true, profile, &mut self.net);
            }
            if progress.revived {
                connection.rescue(subflow, &mut self.senders);
                connection.pump(now, &mut self.senders, profile, &mut self.net);
            }
            if !connection.joined && frame.tag & flag::SYN == 0 {
                self.join(now, place);
            }
        }
    }

    fn on_sender_timer(&mut self, now: Time, subflow: u32, sequence: u32) {
        let sender = &mut self.senders[subflow as usize];
        if sender.timer_mut().fire(now, sequence, &mut self.net.queue) == Fired::Early {
            return;
        }
        let opening = sender.phase == Phase::Opening;
        if opening {
            // before it moves: the lane that did not answer is the one it was on
            self.remember_failure(now, subflow);
            self.fall_back(subflow);
        }
        let sender = &self.senders[subflow as usize];
        let connection = &mut self.connections[sender.connection as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let coupled = sender.is_coupled();
        let goal = goal(self.deadlines, &self.flows, connection);
        let mut siblings = [NO_SIBLING; MAX_SUBFLOWS];
        let count = if coupled { connection.siblings(subflow, &self.senders, &mut siblings) } else { 0 };
        let context = Context { siblings: &siblings[..count], goal };
        let sender = &mut self.senders[subflow as usize];
        let failed = sender.counters.timeouts;
        sender.on_timeout(now, &context, profile, &mut self.net);
        if sender.counters.timeouts == failed {
            // a probe, or the end of a reordering window
            connection.pump(now, &mut self.senders, profile, &mut self.net);
            return;
        }
        // The lanes first: a failure may end a hold, and reinjection needs someone who may send.
        connection.lane_failed(now, subflow, &mut self.senders);
        if !opening && connection.lanes.is_some() {
            self.remember_failure(now, subflow);
        }
        let connection = &mut self.connections[self.senders[subflow as usize].connection as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        connection.reinject(subflow, &mut self.senders);
        connection.pump(now, &mut self.senders, profile, &mut self.net);
    }

    /// A sender that its card or its pace held back may go on.
    fn on_wake(&mut self, now: Time, subflow: u32, sequence: u32) {
        let sender = &mut self.senders[subflow as usize];
        if sender.wake_mut().fire(now, sequence, &mut self.net.queue) == Fired::Early {
            return;
        }
        let connection = &mut self.connections[sender.connection as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        connection.pump(now, &mut self.senders, profile, &mut self.net);
    }

    fn on_receiver_timer(&mut self, now: Time, subflow: u32, sequence: u32) {
        let receiver = &mut self.receivers[subflow as usize];
        if receiver.timer_mut().fire(now, sequence, &mut self.net.queue) == Fired::Early {
            return;
        }
        let connection = &mut self.connections[receiver.connection as usize];
        connection.lend_window(subflow, &mut self.receivers);
        let receiver = &mut self.receivers[subflow as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        receiver.on_timeout(now, connection.inflow(), profile, &mut self.net);
        connection.return_window(receiver);
    }

    // ---- endings ---------------------------------------------------------------------------------------------

    /// Writes down what became of a flow.
    fn report(&mut self, flow: u32) {
        let f = &mut self.flows[flow as usize];
        if let Some(trouble) = self.trouble.as_ref().filter(|_| f.end.is_none()) {
            f.note_progress(self.now, trouble);
        }
        f.ended = Some(self.ended.len() as u32);
        let mut end = FlowEnd {
            start: f.start,
            end: f.end,
            delivered: f.delivered,
            ideal: f.ideal,
            retransmissions: 0,
            timeouts: 0,
            marks: 0,
            subflows: 0,
            interfaces: f.interfaces,
            switched: None,
            stall: f.stall,
        };
        for &connection in &f.connections {
            end.switched = end.switched.or(self.connections[connection as usize].switched());
        }
        if f.sampled {
            let at = self.sampled_flows.iter().position(|&s| s == flow).expect("a sampled flow is listed");
            self.sampled_flows.remove(at);
        }
        self.ended.push(end);
    }

    /// Adds what a connection did, now that it is done or the run is, to the record of its flow.
    fn settle(&mut self, connection: u32) {
        let c = &self.connections[connection as usize];
        let Some(ended) = self.flows[c.flow as usize].ended else { return };
        let end = &mut self.ended[ended as usize];
        for &id in c.subflows.as_slice() {
            let counters = self.senders[id as usize].counters;
            end.retransmissions += counters.retransmissions;
            end.timeouts += counters.timeouts;
            end.marks += counters.marks;
            end.subflows += 1;
        }
    }

    /// A subflow has closed; when all of its connection's have, their places can be reused.
    fn close(&mut self, connection: u32) {
        let c = &self.connections[connection as usize];
        if c.subflows.as_slice().iter().all(|&id| self.senders[id as usize].phase == Phase::Closed) {
            self.draining.push(connection);
        }
    }

    /// Frees the places of closed connections that have no frame on its way. All of a flow's connections go together.
    #[inline(never)]
    fn reclaim(&mut self) {
        let mut at = 0;
        while at < self.draining.len() {
            let connection = self.draining[at];
            let c = &self.connections[connection as usize];
            let quiet = |&id: &u32| {
                [Side::Sender, Side::Receiver].iter().all(|&s| self.net.inbound[endpoint(id, s).0 as usize] == 0)
            };
            if !c.subflows.as_slice().iter().all(quiet) {
                at += 1;
                continue;
            }
            self.draining.swap_remove(at);
            let (flow, subflows) = (c.flow, c.subflows);
            self.settle(connection);
            for &id in subflows.as_slice() {
                debug_assert!(self.receivers[id as usize].finished());
                self.senders[id as usize].timer_mut().cancel();
                self.senders[id as usize].wake_mut().cancel();
                self.receivers[id as usize].timer_mut().cancel();
                self.net.fabric.routes.remove(self.senders[id as usize].route);
                self.net.fabric.routes.remove(self.receivers[id as usize].route);
                if !self.left_routes.is_empty() {
                    self.free_left_routes(id);
                }
                self.subflow_places.give(id);
            }
            self.connection_places.give(connection);
            let f = &mut self.flows[flow as usize];
            f.open -= 1;
            f.connections.retain(|&c| c != connection);
            if f.open == 0 {
                f.connections = Vec::new();
                self.flow_places.give(flow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a connection costs however little it sends, without the segments it has outstanding and the frames it has
    /// on the way. Heap blocks of a flow: one list of connections. The bound is 4 KB for a plain connection.
    #[test]
    fn a_connection_is_small() {
        let subflow = size_of::<Sender>() + size_of::<Receiver>() + 2 * size_of::<u32>();
        let connection = size_of::<Connection>() + size_of::<Flow>() + size_of::<u32>();
        let routes = 2 * 8 * size_of::<u32>();
        let total = subflow + connection + routes;
        println!("subflow {subflow}, connection {connection}, routes {routes}: {total} bytes");
        assert!(total < 4096, "{total} bytes");
    }
}
