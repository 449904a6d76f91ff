//! The loop: flows start, frames arrive, timers fire, samples are taken.
//!
//! The loop owns time and order. What endpoints do with a frame or a timer belongs to its tenants: TCP ([`Tcp`]),
//! datagrams ([`Datagrams`]), RoCE ([`QueuePairs`]), and hosts outside ([`ExternalHosts`]). A tenant gets the frames of its endpoints
//! ([`Tenant`]) and the events of its classes ([`EventClass`]), with everything else lent to it ([`Environment`]).

use headway_engine::{EventClass, Source, Streams};
use headway_fabric::{Endpoint, Fabric, Graph, LinkId, NoPath, Paths, Step};
use headway_units::{Bytes, Span, Time};

use crate::application::{Application, Listed};
use crate::datagram::Datagrams;
use crate::endpoint::{Side, Tenant, interface, number, side};
use crate::environment::{Environment, Totals};
use crate::external::{ExternalError, ExternalHosts};
use crate::film::Filming;
use crate::flows::{FlowEnd, FlowStart, Flows};
use crate::ideal::ideal;
use crate::measure::{Measure, Round, Sample, SampleKind};
use crate::metering::MeteringState;
use crate::network::Network;
use crate::own::Watch;
use crate::qcn::Qcn;
use crate::relay::{CRASHES, Relays, Rest};
use crate::roce::QueuePairs;
use crate::segment::Frame;
use crate::server::Servers;
use crate::socket::{Owner, Socket, SocketEvent};
use crate::sockets::Sockets;
use crate::starting::Starting;
use crate::tap::TapPlace;
use crate::tcp::Tcp;
use crate::tcp::profile::Profile;
use crate::trace::Traced;
use crate::transport::{Carrier, Transport};

mod cards;
mod external;
mod failures;
mod filming;
mod hosts;
mod lossless;
mod metering;
mod observing;
mod own;
mod passing;
mod paths;
mod qcn;
mod relays;
mod sampling;
mod servers;
mod starting;
mod tapping;

use observing::Observer;
pub use observing::{Observe, Progress};

/// One run: a network, its hosts' connections, and the time.
#[derive(Debug)]
pub struct Simulation {
    env: Environment,
    tcp: Tcp,
    datagrams: Datagrams,
    roce: QueuePairs,
    qcn: Option<Box<Qcn>>,
    relays: Relays,
    servers: Servers,
    external: Option<ExternalHosts>,
    metering: Option<Box<MeteringState>>,
    /// Who carries the flows of each profile.
    carriers: Vec<Carrier>,
    measure: Measure,
    /// What is sampled together; the place of each is the entity of its event.
    rounds: Vec<Round>,
    /// Bytes on the wire that had been offered to each of the measured links at the last sample.
    offered: Vec<u64>,
    /// Frames that each of them had marked at the last sample.
    marked: Vec<u64>,
    samples: Vec<Sample>,
    /// The next samples have their events.
    sampling: bool,
    /// Kept for its memory.
    heard: Vec<(Socket, SocketEvent)>,
    /// The film that is being made.
    filming: Option<Box<Filming>>,
    /// Who is told how far it is.
    observer: Option<Box<Observer>>,
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
    /// A simulation of `graph` at time zero. Flows name one of `profiles` by its index; what is sampled is in `measure`;
    /// ECMP hashes and random loss come from `streams`.
    pub fn new<T: Into<Transport>>(graph: Graph, profiles: Vec<T>, measure: Measure, streams: Streams) -> Simulation {
        let (mut tcp, mut datagrams, mut roce, mut relays) = (Vec::new(), Vec::new(), Vec::new(), Relays::default());
        let mut relayed = 0;
        let carriers = profiles.into_iter().map(|profile| match profile.into() {
            Transport::Tcp(profile) => {
                tcp.push(*profile);
                Carrier::Tcp((tcp.len() - 1) as u16)
            }
            Transport::Datagram(profile) => {
                datagrams.push(profile);
                Carrier::Datagram((datagrams.len() - 1) as u16)
            }
            Transport::Roce(profile) => {
                roce.push(profile);
                Carrier::Roce((roce.len() - 1) as u16)
            }
            Transport::Relayed(own) => {
                let first = tcp.len() as u16;
                tcp.extend(own.directions());
                relays.add(*own, first);
                relayed += 1;
                Carrier::Relayed(relayed - 1)
            }
        });
        let carriers: Vec<Carrier> = carriers.collect();
        let net = Network::new(Fabric::new(&graph, streams), streams.stream("controls").next_u64());
        let watch = Watch::over(&mut tcp);
        let mut simulation = Simulation {
            env: Environment {
                net,
                paths: Paths::new(&graph),
                graph,
                flows: Flows::default(),
                starting: Starting::default(),
                failures: None,
                now: Time::ZERO,
                scratch: Vec::new(),
                book: None,
            },
            tcp: Tcp::new(tcp, streams),
            datagrams: Datagrams::new(datagrams, streams),
            roce: QueuePairs::new(roce, streams),
            qcn: None,
            relays,
            servers: Servers::default(),
            external: None,
            metering: None,
            carriers,
            rounds: measure.rounds(),
            offered: vec![0; measure.links.len()],
            marked: vec![0; measure.links.len()],
            measure,
            samples: Vec::new(),
            sampling: false,
            heard: Vec::new(),
            filming: None,
            observer: None,
        };
        let goodput = simulation.rounds.iter().any(|round| round.wants(SampleKind::Goodput));
        simulation.env.flows.keeps_last_bytes = goodput;
        if let Some(watch) = watch {
            simulation.attach(watch);
        }
        simulation
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
        let now = self.env.now;
        self.relays.warm_up(&mut Rest { now, tcp: &mut self.tcp, env: &mut self.env })?;
        if !std::mem::replace(&mut self.sampling, true) {
            for (number, round) in (0..).zip(&self.rounds) {
                self.env.net.queue.push(self.env.now + round.interval, Source::new(EventClass::Sample, number), 0);
            }
        }
        while let Some(look) = self.filming.as_ref().and_then(|filming| filming.due(end)) {
            self.advance(look, application)?;
            self.look(look);
        }
        self.advance(end, application)?;
        self.look(end);
        Ok(())
    }

    /// Handles all events until `end`, those at `end` included.
    fn handle_events(&mut self, end: Time, application: &mut dyn Application) -> Result<(), Stopped> {
        loop {
            let event = self.env.net.queue.peek();
            if let Some(external) = &self.external {
                let next = external.hosts.next();
                let first = event.is_none_or(|(now, source, _)| (next, EventClass::External) <= (now, source.class()));
                if first && next <= end && next != Time::NEVER {
                    self.advance_external(next)?;
                    continue;
                }
            }
            let Some((now, source, sequence)) = event.filter(|&(now, _, _)| now <= end) else { break };
            self.env.now = now;
            let entity = source.entity();
            match source.class() {
                EventClass::Arrival => self.on_arrival(now, entity),
                EventClass::SenderTimer => self.tcp.on_sender_timer(now, entity, sequence, &mut self.env),
                EventClass::ReceiverTimer => self.tcp.on_receiver_timer(now, entity, sequence, &mut self.env),
                EventClass::FlowStart => {
                    self.env.net.queue.pop();
                    self.attend(now, application)?;
                }
                EventClass::Sample => {
                    let interval = self.take_samples(now, entity);
                    self.env.net.queue.reschedule(now + interval);
                }
                EventClass::External => self.on_departure(now, LinkId(entity)),
                EventClass::Departure => {
                    self.env.net.fabric.departure(&mut self.env.net.queue, now, entity, sequence);
                    self.discard_evicted();
                    if self.roce.holds() {
                        self.roce.let_go(now, Some(LinkId(entity)), &mut self.env);
                    }
                }
                EventClass::Wake => self.tcp.on_wake(now, entity, sequence, &mut self.env),
                EventClass::Host => self.on_host(now, entity, sequence, application),
                EventClass::Change if entity == CRASHES => self.on_crash(now),
                EventClass::Change => self.on_change(now),
                EventClass::Emission => self.datagrams.on_emission(now, entity, &mut self.env),
                EventClass::Program => self.on_program(now, application),
                EventClass::Relay => {
                    let rest = &mut Rest { now, tcp: &mut self.tcp, env: &mut self.env };
                    self.relays.on_work(entity, sequence, rest);
                }
                EventClass::Notice => self.on_notice(),
                EventClass::Rdma => self.roce.on_event(now, entity, sequence, &mut self.env),
                EventClass::Card => self.on_pace(now, entity, sequence),
                EventClass::Control => self.on_control(now, entity),
            }
        }
        self.env.now = end;
        Ok(())
    }

    /// Tells programs what has happened at their sockets.
    fn on_program(&mut self, now: Time, application: &mut dyn Application) {
        self.env.net.queue.pop();
        let closing = self.tcp.take_closing();
        let mut heard = self.tcp.sockets.take(std::mem::take(&mut self.heard));
        let mut programs = false;
        for (socket, event) in heard.drain(..) {
            match self.tcp.owner(socket) {
                Owner::Program if self.servers.serves(socket) => {
                    self.servers.on_event(now, socket, event, &mut self.tcp, &mut self.env);
                }
                // of what is gone a program hears no more than that
                Owner::Program
                    if self.tcp.is_gone(socket) && !matches!(event, SocketEvent::Reset | SocketEvent::Closed) => {}
                Owner::Program => {
                    programs = true;
                    application.on_socket(now, socket, event, &mut self.sockets());
                }
                owner => {
                    let rest = &mut Rest { now, tcp: &mut self.tcp, env: &mut self.env };
                    self.relays.on_event(owner, socket, event, rest);
                }
            }
        }
        self.heard = heard;
        self.tcp.let_go(closing, &mut self.env);
        if programs {
            self.attend_later(now, application);
        }
    }

    /// Sets the event for what the application does next: what it plans for this instant comes at the next one.
    fn attend_later(&mut self, now: Time, application: &mut dyn Application) {
        let next = application.next().max(now.saturating_add(Span::from_picos(1)));
        self.env.starting.attend_at(next, &mut self.env.net.queue);
    }

    fn sockets(&mut self) -> Sockets<'_> {
        Sockets {
            tcp: &mut self.tcp,
            env: &mut self.env,
            servers: &mut self.servers,
            carriers: &self.carriers,
            measure: &self.measure,
        }
    }

    fn start_flow(&mut self, now: Time, start: FlowStart) -> Result<(), NoPath> {
        let carrier = self.carriers[usize::from(start.profile)];
        let sampled = self.measure.samples(start.traffic);
        let connections = match carrier {
            Carrier::Tcp(profile) => self.tcp.copies(profile, start.size),
            Carrier::Datagram(_) | Carrier::Roce(_) | Carrier::Relayed(_) => 1,
        };
        let flow = self.env.flows.start(now, start, connections, sampled);
        match carrier {
            Carrier::Tcp(profile) => self.tcp.open(now, flow, profile, &mut self.env),
            Carrier::Datagram(profile) => self.datagrams.open(now, flow, profile, &mut self.env),
            Carrier::Roce(profile) => self.roce.open(now, flow, profile, &mut self.env),
            Carrier::Relayed(profile) => {
                let rest = &mut Rest { now, tcp: &mut self.tcp, env: &mut self.env };
                self.relays.open(flow, profile, rest)
            }
        }
    }

    /// Gives the flows of `traffic` a priority, 0 to 7, instead of 0: all frames of them, both ways. What external hosts
    /// send has the priority that they give it.
    ///
    /// # Panics
    /// If a flow has started, or there is no such priority.
    pub fn set_priority(&mut self, traffic: u16, priority: u8) {
        assert!(self.env.net.sent == 0 && self.env.now == Time::ZERO, "priorities are set before flows start");
        self.env.net.priorities.set(traffic, priority);
        self.env.net.slow_path = true;
    }

    // ---- frames ----------------------------------------------------------------------------------------------

    #[inline]
    fn on_arrival(&mut self, now: Time, link: u32) {
        if let Some(external) = &self.external
            && external.watched[link as usize]
        {
            self.on_pass(now, LinkId(link));
        }
        match self.env.net.fabric.arrival(&mut self.env.net.queue, now, link) {
            Step::Forwarded => {}
            Step::Discarded(end, frame) => self.on_discard(end, &frame),
            Step::Delivered(end, frame) => {
                if !Tenant::is_tcp(end) {
                    return self.deliver(now, link, end, &frame);
                }
                if self.env.net.slow_path {
                    if self.env.net.waits.is_some() {
                        self.note_wait(end, &frame);
                    }
                    if self.env.net.taps.is_some() {
                        self.env.net.tap(now, TapPlace::Received(LinkId(link).reverse()), end, &frame);
                    }
                    if let Some(interface) = self.env.net.hosts.interface(link) {
                        self.on_card(now, interface, end, frame);
                        return;
                    }
                    self.env.net.note(now, end, false, &frame);
                }
                self.env.net.delivered += 1;
                let (subflow, half) = side(end);
                match half {
                    Side::Receiver => self.tcp.on_segment(now, subflow, &frame, &mut self.env),
                    Side::Sender => self.tcp.on_acknowledgement(now, subflow, &frame, &mut self.env),
                }
                self.tcp.frame_gone(end.0, &mut self.env);
            }
        }
    }

    /// A frame has arrived at an endpoint of another tenant than TCP.
    #[inline(never)]
    fn deliver(&mut self, now: Time, link: u32, end: Endpoint, frame: &Frame) {
        if self.env.net.waits.is_some() {
            self.note_wait(end, frame);
        }
        match Tenant::of(end) {
            Tenant::Tcp => unreachable!("the caller knows"),
            Tenant::TwoWayTcp => self.deliver_two_way(now, link, number(end), frame),
            Tenant::External => self.deliver_external(now, interface(end), frame),
            Tenant::Datagram => self.datagrams.on_frame(now, number(end), frame, &mut self.env),
            Tenant::Roce => self.roce.on_frame(now, number(end), frame, &mut self.env),
            Tenant::Gap => self.env.net.cards.gap_gone(number(end)),
            Tenant::MacControl => self.on_pause_frame(now, LinkId(link), frame),
            Tenant::Qcn => self.on_feedback(now, frame),
        }
    }

    /// A frame of a two-way connection has arrived.
    fn deliver_two_way(&mut self, now: Time, link: u32, number: u32, frame: &Frame) {
        let end = Endpoint(number);
        if self.env.net.taps.is_some() {
            self.env.net.tap(now, TapPlace::Received(LinkId(link).reverse()), end, frame);
        }
        if let Some(interface) = self.env.net.hosts.interface(link) {
            return self.on_card(now, interface, end, *frame);
        }
        self.env.net.note(now, end, false, frame);
        self.env.net.delivered += 1;
        self.tcp.on_two_way_frame(now, number, frame, &mut self.env);
        self.tcp.frame_gone(number, &mut self.env);
    }

    /// Tells those of frames that queues have dropped after they had accepted them.
    fn discard_evicted(&mut self) {
        while let Some((end, frame)) = self.env.net.fabric.evicted() {
            self.on_discard(end, &frame);
        }
    }

    /// A frame for `end` was dropped or damaged.
    fn on_discard(&mut self, end: Endpoint, frame: &Frame) {
        match Tenant::of(end) {
            Tenant::Tcp | Tenant::TwoWayTcp => {
                self.env.net.discarded += 1;
                self.env.net.extras.discard(frame.body.extra);
                self.tcp.frame_gone(number(end), &mut self.env);
            }
            Tenant::External => self.external_lost(frame),
            Tenant::Datagram => self.datagrams.frame_gone(self.env.now, number(end), &mut self.env),
            Tenant::Roce => self.roce.frame_gone(self.env.now, number(end), &mut self.env),
            Tenant::Gap => self.env.net.cards.gap_gone(number(end)),
            Tenant::MacControl => self.env.net.fabric.pause_lost(),
            Tenant::Qcn => self.feedback_gone(frame),
        }
    }

    // ---- the end ---------------------------------------------------------------------------------------------

    /// Ends the run: checks that nothing was created or lost on the way, and returns what became of every flow, in
    /// order of their ids, with the samples and sums.
    ///
    /// # Panics
    /// If frames or bytes are not conserved: a bug.
    pub fn finish(mut self) -> (Vec<FlowEnd>, Vec<Sample>, Totals) {
        self.take_last_samples();
        let net = &self.env.net;
        net.fabric.assert_conserved();
        let inbound: u64 = net.inbound.iter().map(|&n| u64::from(n)).sum();
        let external = self.external.as_ref().map_or(0, |external| external.sent - external.gone);
        let others = external
            + self.datagrams.in_flight()
            + self.roce.in_flight()
            + net.cards.gaps_in_flight()
            + net.fabric.pauses_in_flight()
            + self.qcn.as_ref().map_or(0, |qcn| qcn.in_flight());
        assert_eq!(
            inbound + others,
            net.fabric.in_flight() + net.hosts.waiting() + net.cards.waiting(),
            "frames on their way are in the fabric, in hosts or in cards"
        );
        assert_eq!(
            net.sent,
            net.delivered + net.discarded + inbound,
            "frames sent are delivered, discarded or on their way"
        );
        assert!(net.extras.in_use() as u64 <= inbound, "side storage belongs to frames on their way");
        for flow in self.env.flows.unfinished() {
            self.settle(flow);
        }
        self.env.net.fabric.deadlocks(self.env.now);
        let mut ended = std::mem::take(&mut self.env.flows.ended);
        ended.sort_by_key(|flow| flow.start.id);
        let servers = self.servers.totals(&self.tcp);
        (ended, self.samples, self.env.totals(inbound + others, servers))
    }

    /// Writes down what became of a flow that still has connections.
    fn settle(&mut self, flow: u32) {
        let flows = &mut self.env.flows;
        if flows[flow].is_internal() {
            return;
        }
        let carrier = self.carriers[usize::from(flows[flow].start.profile)];
        let tcp = matches!(carrier, Carrier::Tcp(_));
        let connections = std::mem::take(&mut flows[flow].connections);
        if flows[flow].ended.is_none() {
            let switched = if tcp { self.tcp.switched(&connections) } else { None };
            flows.report(self.env.now, flow, switched, self.env.failures.as_deref());
        }
        for connection in connections {
            match carrier {
                Carrier::Tcp(_) => self.tcp.settle(connection, &mut self.env.flows),
                Carrier::Datagram(_) => {}
                Carrier::Roce(_) => self.roce.settle(connection, &mut self.env.flows),
                Carrier::Relayed(_) => {
                    let rest = &mut Rest { now: self.env.now, tcp: &mut self.tcp, env: &mut self.env };
                    self.relays.settle(connection, rest);
                }
            }
        }
    }

    // ---- what callers look at --------------------------------------------------------------------------------

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.env.graph
    }

    /// What has passed the port of `link`, and the bytes waiting there now.
    pub fn port(&mut self, link: LinkId) -> (headway_fabric::PortCounters, Bytes) {
        let fabric = &mut self.env.net.fabric;
        (fabric.counters(link), fabric.occupancy(self.env.now, link).0)
    }

    /// How long `size` bytes take over the links of an idle path, without a handshake and with windows that never
    /// limit: the first full frame is stored and forwarded hop by hop, the others follow it at the slowest link's
    /// rate, and the last (usually shorter) one ends it. A lower bound for one path; several paths together may be
    /// faster.
    pub fn ideal(&self, path: &[LinkId], size: Bytes, profile: &Profile) -> Span {
        ideal(&self.env.graph, path, size, (profile.mss, profile.overhead))
    }

    /// Notes from now on what passes senders, see [`Simulation::traced`].
    pub fn trace(&mut self) {
        self.env.net.trace = Some(Box::default());
        self.env.net.slow_path = true;
    }

    /// What has passed senders since [`Simulation::trace`], in order of time.
    pub fn traced(&mut self) -> Vec<Traced> {
        self.env.net.trace.take().map_or_else(Vec::new, |trace| trace.rows)
    }
}

#[cfg(test)]
mod tests {
    use headway_fabric::{QueueSpec, Wire};
    use headway_units::Rate;

    use super::*;
    use crate::Datagram;
    use crate::socket::{Socket, SocketEvent};

    /// Opens, at the end of each connection, the next one; each end closes at once.
    #[derive(Debug)]
    struct OneByOne {
        starts: Vec<FlowStart>,
        closed: usize,
    }

    impl Application for OneByOne {
        fn next(&mut self) -> Time {
            self.starts.last().map_or(Time::NEVER, |start| start.time)
        }
        fn act(&mut self, _now: Time) -> Option<FlowStart> {
            None
        }
        fn act_on_sockets(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
            let socket = sockets.open(self.starts.pop().unwrap()).unwrap();
            sockets.write(socket, Bytes::new(2000));
            sockets.close(socket);
        }
        fn on_socket(&mut self, _now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
            match event {
                SocketEvent::Connected if socket.end == crate::End::Acceptor => sockets.close(socket),
                SocketEvent::Readable => {
                    sockets.read(socket, Bytes::new(u64::MAX));
                }
                SocketEvent::Closed => self.closed += 1,
                _ => {}
            }
        }
    }

    fn pair() -> (Graph, Vec<headway_fabric::NodeId>) {
        let mut graph = Graph::new();
        let hosts = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
        let queue = QueueSpec::DropTail { limit: None, mark: None };
        let wire = Wire { rate: Rate::from_gbps(1), delay: Span::from_micros(5), gap: Bytes::ZERO, loss: 0.0, queue };
        graph.connect(hosts[0], hosts[1], wire, wire).unwrap();
        (graph, hosts.to_vec())
    }

    fn starts(hosts: &[headway_fabric::NodeId], size: Option<Bytes>) -> Vec<FlowStart> {
        let start = |id: u64| FlowStart {
            time: Time::ZERO + Span::from_millis(id),
            id,
            traffic: 0,
            source: hosts[0],
            destination: hosts[1],
            size,
            deadline: None,
            profile: 0,
        };
        (0..100).map(start).collect()
    }

    /// The priorities of the frames that arrive over each of the two links, until `end`.
    fn priorities(simulation: &mut Simulation, application: &mut dyn Application, end: Time) -> [Vec<u32>; 2] {
        let mut seen = [Vec::new(), Vec::new()];
        simulation.run_application(Time::ZERO, application).unwrap();
        while let Some((now, source, _)) = simulation.env.net.queue.peek().filter(|&(now, ..)| now <= end) {
            if source.class() == EventClass::Arrival {
                let packet = simulation.env.net.fabric.arriving(LinkId(source.entity()));
                seen[source.entity() as usize].push(u32::from(packet.tos >> 5));
            }
            simulation.run_application(now, application).unwrap();
        }
        seen
    }

    /// Data, acknowledgements, handshakes and what the other end writes have the priority of the traffic, also at places
    /// that flows of another one have had before; traffic without a priority has 0.
    #[test]
    fn all_frames_of_a_flow_have_its_priority() {
        for (priority, traffic) in [(0, 0), (5, 1), (7, 2)] {
            let (graph, hosts) = pair();
            let starts = starts(&hosts, None).into_iter().take(2).rev();
            let starts = starts.map(|start| FlowStart { traffic, ..start }).collect();
            let mut talk = OneByOne { starts, closed: 0 };
            let mut simulation = Simulation::new(graph, vec![Profile::default()], Measure::default(), Streams::new(1));
            simulation.set_priority(1, 5);
            simulation.set_priority(2, 7);
            let seen = priorities(&mut simulation, &mut talk, Time::ZERO + Span::from_secs(1));
            for own in seen {
                assert!(own.len() > 4 && own.iter().all(|&seen| seen == priority), "{priority}: {own:?}");
            }
        }
    }

    #[test]
    fn flows_of_both_priorities_keep_their_own() {
        let (graph, hosts) = pair();
        let own = Datagram { rate: Rate::from_mbps(100), payload: 958, overhead: 42 };
        let transports = vec![Transport::from(Profile::default()), own.into()];
        let mut simulation = Simulation::new(graph, transports, Measure::default(), Streams::new(1));
        simulation.set_priority(1, 3);
        simulation.set_priority(2, 6);
        let flow = |at: u16, profile| FlowStart {
            id: u64::from(at),
            time: Time::ZERO,
            traffic: at,
            profile,
            ..starts(&hosts, Some(Bytes::new(3000)))[0]
        };
        let starts = [flow(0, 0), flow(1, 0), flow(2, 1)].into_iter();
        let seen = priorities(&mut simulation, &mut Listed(starts.peekable()), Time::ZERO + Span::from_secs(1));
        let count = |link: usize, priority| seen[link].iter().filter(|&&seen| seen == priority).count();
        assert_eq!((count(0, 6), count(1, 6)), (4, 0), "3,000 B are 4 datagrams");
        assert!(
            count(0, 0) >= 4 && count(0, 0) == count(0, 3) && count(1, 0) == count(1, 3) && count(1, 3) >= 2,
            "{seen:?}"
        );
        assert_eq!(seen.map(|own| own.iter().all(|priority| [0, 3, 6].contains(priority))), [true; 2]);
    }

    #[test]
    fn two_way_connections_leave_their_places_to_the_next() {
        let (graph, hosts) = pair();
        let starts = starts(&hosts, None).into_iter().rev().collect();
        let mut talk = OneByOne { starts, closed: 0 };
        let mut simulation = Simulation::new(graph, vec![Profile::default()], Measure::default(), Streams::new(1));
        simulation.run_application(Time::ZERO + Span::from_secs(1), &mut talk).unwrap();
        assert_eq!((talk.closed, simulation.tcp.places()), (200, 2), "two ends, two directions");
        assert_eq!(simulation.finish().0.iter().filter(|end| end.end.is_some()).count(), 100);
    }

    #[test]
    fn streams_of_datagrams_leave_their_places_to_the_next() {
        let (graph, hosts) = pair();
        let own = Datagram { rate: Rate::from_mbps(100), payload: 958, overhead: 42 };
        let mut simulation = Simulation::new(graph, vec![own], Measure::default(), Streams::new(1));
        let mut starts = starts(&hosts, Some(Bytes::new(3000))).into_iter();
        simulation.run(Time::ZERO + Span::from_secs(1), &mut starts).unwrap();
        assert_eq!(simulation.datagrams.places(), 1);
        assert_eq!(simulation.finish().0.iter().filter(|end| end.end.is_some()).count(), 100);
    }

    #[test]
    fn queue_pairs_leave_their_places_to_the_next() {
        let (graph, hosts) = pair();
        let mut simulation = Simulation::new(graph, vec![crate::Roce::default()], Measure::default(), Streams::new(1));
        let mut starts = starts(&hosts, Some(Bytes::new(3000))).into_iter();
        simulation.run(Time::ZERO + Span::from_secs(1), &mut starts).unwrap();
        assert_eq!(simulation.roce.places(), 1);
        assert_eq!(simulation.finish().0.iter().filter(|end| end.end.is_some()).count(), 100);
    }
}
