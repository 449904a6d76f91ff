//! TCP, MPTCP and replication over the fabric: one tenant of the loop.
//!
//! [`Tcp`] owns profiles, senders, receivers and connections. The loop calls it when a flow opens ([`Tcp::open`]), a
//! frame reaches one of its endpoints ([`Tcp::on_segment`], [`Tcp::on_acknowledgement`]), a frame to one of them is gone
//! ([`Tcp::frame_gone`]), one of its timers fires ([`Tcp::on_sender_timer`], [`Tcp::on_receiver_timer`],
//! [`Tcp::on_wake`]), routing or carriers change ([`Tcp::reroute`], [`Tcp::on_carrier`]), samples are due
//! ([`Tcp::sample`]), and the run ends ([`Tcp::settle`]). Everything else that it uses, [`Environment`], is lent to it
//! for the call.

use std::collections::{BTreeMap, BTreeSet};

use headway_control::congestion::{FlowDeadline, Sibling};
use headway_control::lanes::HostLanes;
use headway_engine::Streams;
use headway_units::{Span, Time};

use crate::card::Estimate;
use crate::endpoint::{Side, endpoint};
use crate::environment::Environment;
use crate::flows::Flows;
use crate::network::Network;
use crate::ports::Ports;
use crate::segment::{Frame, flag, unwrap};
use crate::slots::SlotPool;
use crate::socket::SocketEvents;
use crate::timer::Fired;
use connection::{Connection, MAX_SUBFLOWS};
use profile::Profile;
use receiver::{Answer, Arrival, Receiver};
use sender::{Context, Phase, Sender};

pub(crate) mod connection;
mod lanes;
pub(crate) mod listen;
mod opening;

pub(crate) mod profile;
pub(crate) mod receiver;
mod relayed;
mod reset;
mod routing;
pub(crate) mod rtt;
mod sampling;
pub(crate) mod sender;
pub(crate) mod stack;
mod two_way;
pub(crate) mod writer;

const NO_SIBLING: Sibling = Sibling { cwnd: 0, srtt: Span::ZERO, min_rtt: Span::ZERO, between_losses: 0, own: false };

/// All connections of TCP and MPTCP.
#[derive(Debug)]
pub(crate) struct Tcp {
    profiles: Vec<Profile>,
    /// The two halves of each subflow.
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    connections: Vec<Connection>,
    subflow_slots: SlotPool,
    connection_slots: SlotPool,
    /// Connections that are done, of which frames may be on their way.
    draining: Vec<u32>,
    ports: Ports,
    /// What sending hosts remember, by node and rule, where a policy has them choose lanes.
    host_lanes: BTreeMap<(u32, u16), HostLanes>,
    /// By profile the rule, see [`lanes::rules`].
    lane_rules: Vec<u16>,
    /// Routes that subflows no longer use, by endpoint; frames may be on their way on them.
    old_routes: BTreeMap<u32, Vec<u32>>,
    /// What programs have not heard of.
    pub sockets: SocketEvents,
    /// Two-way connections that are done, of which programs have yet to hear.
    closing: Vec<u32>,
    /// Ends of two-way connections were reset, or lost in a crash.
    resets: bool,
    /// Hosts that listen.
    pub listening: listen::Listening,
}

/// What a connection has left to do by when, if its flow has a deadline.
#[inline]
fn flow_deadline(flows: &Flows, connection: &Connection) -> Option<FlowDeadline> {
    if !flows.deadlines {
        return None;
    }
    let start = &flows[connection.flow].start;
    start.deadline.map(|after| FlowDeadline {
        remaining: connection.total.saturating_sub(connection.una),
        deadline: start.time.saturating_add(after),
    })
}

impl Tcp {
    /// No connection yet. Flows name one of `profiles` by its index.
    pub fn new(profiles: Vec<Profile>, streams: Streams) -> Tcp {
        Tcp {
            lane_rules: lanes::rules(&profiles),
            profiles,
            senders: Vec::new(),
            receivers: Vec::new(),
            connections: Vec::new(),
            subflow_slots: SlotPool::default(),
            connection_slots: SlotPool::default(),
            draining: Vec::new(),
            ports: Ports::new(streams),
            host_lanes: BTreeMap::new(),
            old_routes: BTreeMap::new(),
            sockets: SocketEvents::default(),
            closing: Vec::new(),
            resets: false,
            listening: listen::Listening::default(),
        }
    }

    /// Whether no connection was ever opened.
    pub fn is_unused(&self) -> bool {
        self.senders.is_empty()
    }

    /// Places of subflows taken so far, at most at one time.
    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.senders.len()
    }

    /// What the sender of `subflow` says about its pace.
    pub fn estimate(&self, subflow: u32) -> Estimate {
        let sender = &self.senders[subflow as usize];
        let connection = &self.connections[sender.connection as usize];
        let Profile { mss, overhead, .. } = self.profiles[usize::from(connection.profile)];
        Estimate { window: sender.window.cwnd, srtt: sender.rtt.srtt(), least: sender.rtt.min(), mss, overhead }
    }

    /// How many connections a flow of that size is given.
    pub fn copies(&self, profile: u16, size: Option<headway_units::Bytes>) -> u32 {
        match (self.profiles[usize::from(profile)].replicate, size) {
            (Some((below, copies)), Some(size)) if size <= below => copies,
            _ => 1,
        }
    }

    /// The flow that a subflow carries data of. The subflow is open, or has frames on their way.
    pub fn flow_of_subflow(&self, subflow: u32) -> u32 {
        self.connections[self.receivers[subflow as usize].connection as usize].flow
    }

    /// The subflows that are open, or were and have frames on their way.
    fn open_subflows(&self) -> Vec<u32> {
        let free: BTreeSet<u32> = self.subflow_slots.free.iter().copied().collect();
        (0..self.senders.len() as u32).filter(|place| !free.contains(place)).collect()
    }

    /// Lets the subflows of a connection send what their windows allow.
    #[inline]
    fn pump(&mut self, now: Time, place: u32, net: &mut Network) {
        let connection = &mut self.connections[place as usize];
        if connection.stream.is_some() {
            return self.pump_two_way(now, place, net);
        }
        let profile = &self.profiles[usize::from(connection.profile)];
        connection.pump(now, &mut self.senders, profile, net);
    }

    // ---- frames ----------------------------------------------------------------------------------------------

    /// A segment has reached the receiver of `subflow`.
    #[inline]
    pub fn on_segment(&mut self, now: Time, subflow: u32, frame: &Frame, env: &mut Environment) {
        let (answer, done) = self.take_segment(now, subflow, frame, &mut env.net);
        self.answer_segment(now, subflow, answer, done, env);
    }

    /// Takes in a segment; says how to answer and whether more is now there in order.
    #[expect(
        clippy::inline_always,
        reason = "a second caller, for hosts with a model, must not cost the others a call"
    )]
    #[inline(always)]
    pub fn take_segment(&mut self, now: Time, subflow: u32, frame: &Frame, net: &mut Network) -> (Answer, bool) {
        let connection = &mut self.connections[self.receivers[subflow as usize].connection as usize];
        connection.lend_window(subflow, &mut self.receivers);
        let receiver = &mut self.receivers[subflow as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let (arrival, answer) = receiver.take(now, frame, connection.inflow(), profile, net);
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
    pub fn answer_segment(&mut self, now: Time, subflow: u32, answer: Answer, done: bool, env: &mut Environment) {
        let receiver = &mut self.receivers[subflow as usize];
        let connection = &mut self.connections[receiver.connection as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        receiver.answer(now, answer, connection.inflow(), profile, &mut env.net);
        connection.return_window(receiver);
        if done {
            let (flow, received) = (connection.flow, connection.received);
            if env.flows.deliver(now, flow, received, env.failures.as_deref()) {
                self.complete(now, flow, env);
            }
        }
    }

    /// The last byte of a flow has been delivered.
    fn complete(&self, now: Time, flow: u32, env: &mut Environment) {
        let switched = self.switched(&env.flows[flow].connections);
        env.complete(now, flow, switched);
    }

    /// When the first of these connections moved to its long lanes.
    pub fn switched(&self, connections: &[u32]) -> Option<Time> {
        connections.iter().find_map(|&connection| self.connections[connection as usize].switched())
    }

    /// An acknowledgement has reached the sender of `subflow`.
    #[expect(clippy::inline_always, reason = "see `take_segment`")]
    #[inline(always)]
    pub fn on_acknowledgement(&mut self, now: Time, subflow: u32, frame: &Frame, env: &mut Environment) {
        let blocks = env.net.extras.take(frame.body.extra);
        let sender = &mut self.senders[subflow as usize];
        let place = sender.connection;
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        if profile.timestamps {
            env.net.set_echo(endpoint(subflow, Side::Receiver), frame.tag & flag::SPIN);
        }
        let progress = if frame.tag & flag::SYN != 0 {
            connection.open_window(receiver::first_window(profile));
            sender.on_syn_ack(now, profile, &mut env.net)
        } else {
            let ack = unwrap(connection.una, frame.body.data_number);
            connection.acknowledge(ack, frame.body.amount);
            let deadline = flow_deadline(&env.flows, connection);
            let mut room;
            let siblings: &[Sibling] = if sender.is_coupled() {
                room = [NO_SIBLING; MAX_SUBFLOWS];
                let count = connection.siblings(subflow, &self.senders, &mut room);
                &room[..count]
            } else {
                &[]
            };
            let context = Context { siblings, deadline };
            let sender = &mut self.senders[subflow as usize];
            sender.on_ack(now, frame, blocks, &context, profile, &mut env.net)
        };
        if connection.lanes.is_some() {
            self.observe_lane(now, subflow, progress.established, progress.sampled, env);
        }
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        if progress.closed {
            self.close(place);
            return;
        }
        let late = progress.established && connection.is_finishing();
        connection.pump(now, &mut self.senders, profile, &mut env.net);
        if profile.multipath.is_some() {
            connection.finish(now, &mut self.senders, profile, &mut env.net);
            if late {
                // opened too late: there is nothing left to send but FIN
                let total = connection.total;
                self.senders[subflow as usize].send_new(now, total, 0, true, profile, &mut env.net);
            }
            if progress.revived {
                connection.rescue(subflow, &mut self.senders);
                connection.pump(now, &mut self.senders, profile, &mut env.net);
            }
            if !connection.joined && frame.tag & flag::SYN == 0 {
                self.join(now, place, env);
            }
        }
    }

    /// A frame for endpoint `number` has left the fabric, whatever became of it.
    #[inline]
    pub fn frame_gone(&mut self, number: u32, env: &mut Environment) {
        let count = &mut env.net.inbound[number as usize];
        *count -= 1;
        if *count == 0 && !self.draining.is_empty() {
            self.reclaim(env);
        }
    }

    // ---- timers ----------------------------------------------------------------------------------------------

    /// The retransmission timer of a sender.
    pub fn on_sender_timer(&mut self, now: Time, subflow: u32, sequence: u32, env: &mut Environment) {
        let sender = &mut self.senders[subflow as usize];
        if sender.timer_mut().fire(now, sequence, &mut env.net.queue) == Fired::Early {
            return;
        }
        let opening = sender.phase == Phase::Opening;
        let place = sender.connection;
        if sender.outstanding() == 0 && self.connections[place as usize].stream.is_some() {
            return self.on_persist(now, place, &mut env.net);
        }
        if opening {
            // before it moves: the lane that did not answer is the one it was on
            self.remember_failure(now, subflow, env);
            self.fall_back(subflow, env);
        }
        let sender = &self.senders[subflow as usize];
        let connection = &mut self.connections[place as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let coupled = sender.is_coupled();
        let deadline = flow_deadline(&env.flows, connection);
        let mut siblings = [NO_SIBLING; MAX_SUBFLOWS];
        let count = if coupled { connection.siblings(subflow, &self.senders, &mut siblings) } else { 0 };
        let context = Context { siblings: &siblings[..count], deadline };
        let sender = &mut self.senders[subflow as usize];
        let failed = sender.counters.timeouts;
        sender.on_timeout(now, &context, profile, &mut env.net);
        if sender.counters.timeouts == failed {
            // a probe, or the end of a reordering window
            return self.pump(now, place, &mut env.net);
        }
        // The lanes first: a failure may end a hold, and reinjection needs someone who may send.
        connection.lane_failed(now, subflow, &mut self.senders);
        if !opening && connection.lanes.is_some() {
            self.remember_failure(now, subflow, env);
        }
        self.connections[place as usize].reinject(subflow, &mut self.senders);
        self.pump(now, place, &mut env.net);
    }

    /// A sender that its card or its pace held back may go on.
    pub fn on_wake(&mut self, now: Time, subflow: u32, sequence: u32, env: &mut Environment) {
        let sender = &mut self.senders[subflow as usize];
        if sender.wake_mut().fire(now, sequence, &mut env.net.queue) == Fired::Due {
            let connection = sender.connection;
            self.pump(now, connection, &mut env.net);
        }
    }

    /// A delayed acknowledgement, or a SYN-ACK that was not answered.
    pub fn on_receiver_timer(&mut self, now: Time, subflow: u32, sequence: u32, env: &mut Environment) {
        let receiver = &mut self.receivers[subflow as usize];
        if receiver.timer_mut().fire(now, sequence, &mut env.net.queue) == Fired::Early {
            return;
        }
        let connection = &mut self.connections[receiver.connection as usize];
        connection.lend_window(subflow, &mut self.receivers);
        let receiver = &mut self.receivers[subflow as usize];
        let profile = &self.profiles[usize::from(connection.profile)];
        let repeats = !receiver.is_established();
        let inflow = match &mut connection.stream {
            Some(stream) => {
                if repeats {
                    stream.note_syn_ack(now);
                }
                connection.two_way_inflow()
            }
            None => connection.inflow(),
        };
        receiver.on_timeout(now, inflow, profile, &mut env.net);
        connection.return_window(receiver);
    }

    // ---- endings ---------------------------------------------------------------------------------------------

    /// Adds what a connection did, now that it is done or the run is, to the record of its flow.
    pub fn settle(&self, connection: u32, flows: &mut Flows) {
        let c = &self.connections[connection as usize];
        let Some(end) = flows.record(c.flow) else { return };
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

    /// Frees the places of closed connections that have no frame on its way.
    #[inline(never)]
    fn reclaim(&mut self, env: &mut Environment) {
        let mut at = 0;
        while at < self.draining.len() {
            let connection = self.draining[at];
            // both directions of a two-way connection go together
            let twin = self.connections[connection as usize].stream.as_ref().map(|stream| stream.twin);
            let is_idle = |&id: &u32| {
                [Side::Sender, Side::Receiver].iter().all(|&s| env.net.inbound[endpoint(id, s).0 as usize] == 0)
            };
            let mut both = std::iter::once(connection).chain(twin);
            if !both.all(|one| self.connections[one as usize].subflows.as_slice().iter().all(is_idle)) {
                at += 1;
                continue;
            }
            self.draining.swap_remove(at);
            self.free_connection(connection, env);
            if let Some(twin) = twin {
                self.free_connection(twin, env);
            }
        }
    }

    fn free_connection(&mut self, connection: u32, env: &mut Environment) {
        let c = &self.connections[connection as usize];
        let (flow, subflows) = (c.flow, c.subflows);
        self.settle(connection, &mut env.flows);
        for &id in subflows.as_slice() {
            debug_assert!(self.resets || self.receivers[id as usize].finished());
            self.free_subflow(id, env);
        }
        self.connection_slots.give(connection);
        env.flows.tear_down(flow, connection);
    }

    fn free_subflow(&mut self, id: u32, env: &mut Environment) {
        let (sender, receiver) = (&mut self.senders[id as usize], &mut self.receivers[id as usize]);
        sender.timer_mut().cancel();
        sender.wake_mut().cancel();
        receiver.timer_mut().cancel();
        env.net.fabric.routes.remove(sender.route);
        env.net.fabric.routes.remove(receiver.route);
        if env.net.cards.any() {
            env.net.cards.close(endpoint(id, Side::Receiver));
        }
        if !self.old_routes.is_empty() {
            self.free_old_routes(id, env);
        }
        self.subflow_slots.give(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flow;

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
