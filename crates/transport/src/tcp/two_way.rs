//! Connections that carry data both ways, between programs that read and write as they like.
//!
//! TCP's two directions are two streams that share a handshake, a pair of ports and segments: an acknowledgement of one
//! rides on data of the other (RFC 9293 §3.8.6.3). So a two-way connection is two [`Connection`]s of one subflow each,
//! forth and back, and this file is what they share: who is whose twin ([`Stream`]), acknowledgements that ride,
//! windows that close because a program reads late and are probed (RFC 9293 §3.8.6.1), and the end, when both
//! directions are closed, acknowledged and read. Frames of such connections have a tenant of their own
//! ([`Tenant::TwoWayTcp`]), so that the others do not pay for them.
//!
//! Leaves out:
//! * data in SYN, SYNs of both ends at once, MPTCP, TIME-WAIT (ports are never reused here), and Nagle's algorithm (programs write as with `TCP_NODELAY`);
//! * riding where there are selective acknowledgements to be told: these leave at once, by themselves;
//! * an acknowledgement that rides releases data before the data it came with is taken in (Linux sends after that, so its
//!   data acknowledges more);
//! * hosts with a model answer each segment of a merged one by itself, and merge segments whose riding acknowledgements
//!   differ; records of segments ([`crate::Traced`]) miss what rides.

use headway_fabric::NoPath;
use headway_units::Time;

use super::connection::{Connection, Stream, SynAnswer};
use super::receiver::Arrival;
use super::sender::{Context, Phase};
use super::{Tcp, flow_deadline};
use crate::endpoint::{Side, endpoint, side};
use crate::environment::Environment;
use crate::network::Network;
use crate::sack_pool::Piggyback;
use crate::segment::{Frame, flag, unwrap};
use crate::slots::put;
use crate::socket::{End, Owner, Socket, SocketEvent};

impl Tcp {
    /// Whether a profile can carry data both ways.
    pub fn carries_both_ways(&self, profile: u16) -> bool {
        let profile = &self.profiles[usize::from(profile)];
        profile.multipath.is_none() && profile.replicate.is_none()
    }

    /// Whether a subflow is half of a two-way connection.
    pub fn is_two_way(&self, subflow: u32) -> bool {
        self.connections[self.senders[subflow as usize].connection as usize].stream.is_some()
    }

    // ---- opening and ending ----------------------------------------------------------------------------------

    /// Opens both directions of a flow's connection, of which each has a profile; gives the opener's end. Its ports are
    /// those of the flow's copy `copy`.
    pub fn open_two_way(
        &mut self,
        now: Time,
        flow: u32,
        (profiles, copy): ([u16; 2], u8),
        owner: Owner,
        env: &mut Environment,
    ) -> Result<Socket, NoPath> {
        let [forth, back] = [self.connection_slots.take(), self.connection_slots.take()];
        let directions = [(forth, back, End::Opener, profiles[0]), (back, forth, End::Acceptor, profiles[1])];
        for (place, twin, writer, profile) in directions {
            let own = &self.profiles[usize::from(profile)];
            let mut connection = Connection::new(flow, (profile, own), copy, 0, None);
            connection.make_two_way(Stream::new(twin, writer, owner));
            put(&mut self.connections, place, connection);
            env.flows[flow].connections.push(place);
        }
        if let Err(error) = self.open_pair(now, [forth, back], env) {
            self.connection_slots.give(back);
            self.connection_slots.give(forth);
            env.flows.cancel(flow);
            return Err(error);
        }
        Ok(Socket { connection: forth, end: End::Opener })
    }

    /// The connection that carries what `socket` writes.
    pub(super) fn outgoing(&self, socket: Socket) -> u32 {
        match socket.end {
            End::Opener => socket.connection,
            End::Acceptor => self.connections[socket.connection as usize].stream().twin,
        }
    }

    /// The connection that carries what `socket` reads.
    pub(super) fn incoming(&self, socket: Socket) -> u32 {
        self.outgoing(socket.peer())
    }

    /// The end that writes, or reads, what `connection` carries.
    pub(super) fn socket(&self, connection: u32, writes: bool) -> Socket {
        let stream = self.connections[connection as usize].stream();
        let opener = if stream.writer == End::Opener { connection } else { stream.twin };
        let socket = Socket { connection: opener, end: stream.writer };
        if writes { socket } else { socket.peer() }
    }

    /// The flow that a socket belongs to.
    pub fn flow_of(&self, socket: Socket) -> u32 {
        self.connections[socket.connection as usize].flow
    }

    pub(super) fn subflow_of(&self, connection: u32) -> u32 {
        self.connections[connection as usize].subflows.as_slice()[0]
    }

    /// Ends a connection of which both directions are closed and acknowledged, and everything is read.
    fn end_if_done(&mut self, now: Time, connection: u32, env: &mut Environment) {
        let twin = self.connections[connection as usize].stream().twin;
        let done = [connection, twin].into_iter().all(|one| {
            let c = &self.connections[one as usize];
            self.senders[self.subflow_of(one) as usize].phase == Phase::Closed && c.stream().read == c.received
        });
        let opener = self.socket(connection, true);
        let first = opener.connection;
        if !done || self.connections[first as usize].stream().gone != [false; 2] {
            return;
        }
        let flow = self.connections[first as usize].flow;
        env.flows[flow].end = Some(now);
        env.flows.report(now, flow, None, env.failures.as_deref());
        for end in [End::Opener, End::Acceptor] {
            self.sockets.note(now, Socket { connection: first, end }, SocketEvent::Closed, &mut env.net.queue);
        }
        self.closing.push(first);
    }

    /// Connections of which programs have yet to hear that they are closed.
    pub fn take_closing(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.closing)
    }

    /// Programs have heard that these are closed: their places may be reused once no frame is on its way.
    pub fn let_go(&mut self, closed: Vec<u32>, env: &mut Environment) {
        if !closed.is_empty() {
            self.draining.extend(closed);
            self.reclaim(env);
        }
    }

    // ---- frames ----------------------------------------------------------------------------------------------

    /// A frame has reached `end`, which is half of a direction.
    pub fn on_two_way_frame(&mut self, now: Time, number: u32, frame: &Frame, env: &mut Environment) {
        let (subflow, half) = side(headway_fabric::Endpoint(number));
        if self.resets && self.meets_reset(now, subflow, half, frame, env) {
            return;
        }
        match half {
            Side::Sender => {
                let blocks = env.net.extras.take(frame.body.extra);
                self.on_two_way_ack(now, subflow, (frame, blocks, false), env);
            }
            Side::Receiver => {
                if self.listening.any() && !self.admits(now, subflow, frame, env) {
                    return env.net.extras.discard(frame.body.extra);
                }
                if let Some(ack) = env.net.extras.take_riding(frame.body.extra) {
                    self.on_riding(now, subflow, &ack, env);
                }
                self.on_two_way_segment(now, subflow, frame, env);
            }
        }
    }

    /// Data of one direction, or a part of the handshake.
    fn on_two_way_segment(&mut self, now: Time, subflow: u32, frame: &Frame, env: &mut Environment) {
        let place = self.receivers[subflow as usize].connection;
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let receiver = &mut self.receivers[subflow as usize];
        let opened = !receiver.is_established();
        if frame.tag & flag::SYN != 0 {
            let stream = connection.stream_mut();
            if matches!(stream.answer, SynAnswer::Asks | SynAnswer::Asked) {
                return self.ask(now, place, env);
            }
            stream.note_syn_ack(now);
        }
        let before = connection.two_way_inflow();
        let (arrival, answer) = receiver.take(now, frame, before, profile, &mut env.net);
        if opened && receiver.is_established() {
            self.on_accepted(now, place, env);
        }
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let before = connection.received;
        if let Arrival::Data { contiguous, new } = arrival {
            connection.received = connection.received.max(contiguous);
            connection.arrived += new;
        }
        let after = connection.received;
        let receiver = &mut self.receivers[subflow as usize];
        receiver.answer(now, answer, connection.two_way_inflow(), profile, &mut env.net);
        if connection.stream().answer == SynAnswer::Cookie {
            // nobody remembers what would have to be sent again
            receiver.timer_mut().cancel();
        }
        let ended = receiver.finished();
        let stream = connection.stream_mut();
        let readable = after > before && !std::mem::replace(&mut stream.told, true);
        let ended = ended && !std::mem::replace(&mut stream.ended, true);
        let reader = self.socket(place, false);
        if readable {
            self.sockets.note(now, reader, SocketEvent::Readable, &mut env.net.queue);
        }
        if ended {
            self.sockets.note(now, reader, SocketEvent::PeerClosed, &mut env.net.queue);
        }
        if after > before {
            let flow = self.connections[place as usize].flow;
            let delivered = self.delivered(place);
            env.flows.deliver(now, flow, delivered, env.failures.as_deref());
        }
    }

    /// Bytes in order of both directions.
    fn delivered(&self, connection: u32) -> u64 {
        let c = &self.connections[connection as usize];
        c.received + self.connections[c.stream().twin as usize].received
    }

    /// The third part of the handshake has reached the acceptor, which may now send.
    fn on_accepted(&mut self, now: Time, forth: u32, env: &mut Environment) {
        let stream = self.connections[forth as usize].stream();
        let (back, round_trip) = (stream.twin, stream.handshake_round_trip(now));
        let subflow = self.subflow_of(back);
        let connection = &mut self.connections[back as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        connection.open_window(super::receiver::first_window(profile));
        self.senders[subflow as usize].accept(now, round_trip, profile, &env.net);
        self.sockets.note(now, self.socket(back, true), SocketEvent::Connected, &mut env.net.queue);
        self.pump(now, back, &mut env.net);
    }

    /// An acknowledgement that rode on data of the other direction, of subflow `subflow`.
    fn on_riding(&mut self, now: Time, subflow: u32, ack: &Piggyback, env: &mut Environment) {
        let place = self.receivers[subflow as usize].connection;
        let twin = self.connections[place as usize].stream().twin;
        let frame = Frame { hop: 0, size: 0, tos: 0, tag: ack.tag, body: ack.body };
        self.on_two_way_ack(now, self.subflow_of(twin), (&frame, None, true), env);
    }

    /// An acknowledgement of one direction; `rides` says whether data came with it.
    fn on_two_way_ack(
        &mut self,
        now: Time,
        subflow: u32,
        (frame, blocks, rides): (&Frame, Option<crate::sack_pool::SackBlocks>, bool),
        env: &mut Environment,
    ) {
        let sender = &mut self.senders[subflow as usize];
        let place = sender.connection;
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        if profile.timestamps {
            env.net.set_echo(endpoint(subflow, Side::Receiver), frame.tag & flag::SPIN);
        }
        let mut connected = false;
        if frame.tag & flag::SYN != 0 {
            connection.open_window(super::receiver::first_window(profile));
            connected = sender.on_syn_ack(now, profile, &mut env.net).established;
            if connected {
                self.on_connected(now, place, env);
            }
        } else {
            let ack = unwrap(connection.una, frame.body.data_number);
            let news = connection.acknowledge_two_way(ack, frame.body.amount);
            if news {
                sender.window_opened();
            }
            // RFC 5681 §2: what carries data or moves the window is no duplicate acknowledgement
            let advances = unwrap(sender.acknowledged(), frame.body.number) > sender.acknowledged();
            if advances || blocks.is_some() || !(rides || news) {
                let own = sender.sibling(true).filter(|_| sender.is_coupled());
                let deadline = flow_deadline(&env.flows, connection);
                let context = Context { siblings: own.as_slice(), deadline };
                let progress = sender.on_ack(now, frame, blocks, &context, profile, &mut env.net);
                if progress.closed {
                    return self.end_if_done(now, place, env);
                }
            }
        }
        self.pump(now, place, &mut env.net);
        if connected {
            // nothing to send: the third part of the handshake leaves by itself
            let profile = &self.profiles[usize::from(self.connections[place as usize].profile)];
            self.senders[subflow as usize].complete_handshake(now, profile, &mut env.net);
        }
        self.tell_of_room(now, place, env);
    }

    /// SYN-ACK has reached the opener.
    fn on_connected(&mut self, now: Time, forth: u32, env: &mut Environment) {
        let back = self.connections[forth as usize].stream().twin;
        let subflow = self.subflow_of(back);
        let connection = &mut self.connections[back as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let inflow = connection.two_way_inflow();
        self.receivers[subflow as usize].establish(now, inflow, profile);
        self.sockets.note(now, self.socket(forth, true), SocketEvent::Connected, &mut env.net.queue);
    }

    /// Tells the writer that its send buffer has room again: a third of it with Linux (`sk_stream_is_writeable`), else for
    /// a segment. Writers here take no time, so with Linux three writes of more than a third do not fit, and a buffer that
    /// is less than the path holds may give only two thirds of itself in a round trip (docs/models/tcp.md).
    fn tell_of_room(&mut self, now: Time, place: u32, env: &mut Environment) {
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let least = profile.send_buffer.map_or(0, |buffer| {
            let third = buffer.get() / 3;
            if profile.recovery.is_linux() { third } else { third.min(u64::from(profile.mss)) }
        });
        if connection.stream().waits && connection.space(profile) >= least {
            connection.stream_mut().waits = false;
            self.sockets.note(now, self.socket(place, true), SocketEvent::Writable, &mut env.net.queue);
        }
    }

    // ---- sending ---------------------------------------------------------------------------------------------

    /// Lets a direction send; what it sends carries the acknowledgement of the other one.
    pub(super) fn pump_two_way(&mut self, now: Time, place: u32, net: &mut Network) {
        let twin = self.connections[place as usize].stream().twin;
        let own = self.subflow_of(place);
        let receiver = self.subflow_of(twin);
        let sends = self.connections[place as usize].may_send(&self.senders[own as usize]);
        let profile = &self.profiles[usize::from(self.connections[place as usize].profile)];
        let other = &self.connections[twin as usize];
        let (inflow, theirs) = (other.two_way_inflow(), &self.profiles[usize::from(other.profile)]);
        let ack = if sends { self.receivers[receiver as usize].ride(now, inflow, theirs) } else { None };
        let slow_path = net.slow_path;
        if let Some(ride) = &ack {
            net.riding = Some((ride.ack, false));
            net.slow_path = true;
        }
        let connection = &mut self.connections[place as usize];
        connection.pump(now, &mut self.senders, profile, net);
        connection.end_two_way(now, &mut self.senders[own as usize], profile, net);
        net.slow_path = slow_path;
        let rode = net.riding.take().is_some_and(|(_, rode)| rode);
        if let Some(ride) = ack {
            self.receivers[receiver as usize].end_ride(ride, rode);
        }
        if self.connections[place as usize].is_shut_out() {
            self.senders[own as usize].await_window(now, profile, net);
        }
    }

    /// The timer of a sender with nothing outstanding: a window that stays closed is asked after.
    pub(super) fn on_persist(&mut self, now: Time, place: u32, net: &mut Network) {
        let own = self.subflow_of(place) as usize;
        let connection = &self.connections[place as usize];
        if connection.is_shut_out() && self.senders[own].phase == Phase::Established {
            let profile = &self.profiles[usize::from(connection.profile)];
            self.senders[own].probe_window(now, profile, net);
        } else {
            self.pump(now, place, net);
        }
    }

    // ---- programs --------------------------------------------------------------------------------------------

    /// `socket` writes; gives how many bytes the send buffer took.
    pub fn write(&mut self, now: Time, socket: Socket, bytes: u64, net: &mut Network) -> u64 {
        let place = self.outgoing(socket);
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        assert!(connection.is_open(), "a closed socket takes no data");
        let taken = bytes.min(connection.space(profile));
        connection.stream_mut().waits |= taken < bytes;
        if taken > 0 {
            connection.extend(taken);
            self.pump(now, place, net);
        }
        taken
    }

    /// `socket` writes no more: FIN follows the last byte.
    pub fn shut(&mut self, now: Time, socket: Socket, net: &mut Network) {
        let place = self.outgoing(socket);
        if self.connections[place as usize].end_of_writing() {
            self.pump(now, place, net);
        }
    }

    /// Bytes in order that `socket` has not read.
    pub fn unread(&self, socket: Socket) -> u64 {
        let connection = &self.connections[self.incoming(socket) as usize];
        connection.received - connection.stream().read
    }

    /// `socket` reads at most so many bytes; gives how many there were. The window opens by them, and the writer hears
    /// of it when that is worth a segment.
    pub fn read(&mut self, now: Time, socket: Socket, most: u64, env: &mut Environment) -> u64 {
        let bytes = self.unread(socket).min(most);
        let place = self.incoming(socket);
        let subflow = self.subflow_of(place);
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let stream = connection.stream_mut();
        stream.read += bytes;
        stream.told = false;
        let inflow = connection.two_way_inflow();
        self.receivers[subflow as usize].after_reading(now, inflow, profile, &mut env.net);
        if bytes > 0 {
            self.end_if_done(now, place, env);
        }
        bytes
    }
}
