//! Connections and subflows open.

use headway_fabric::{Choice, Endpoint, NoPath, flow_hash, pair_hash};
use headway_units::{Bytes, Time};

use super::Tcp;
use super::connection::{Connection, MAX_SUBFLOWS, UNLIMITED};
use super::profile::{AddressPairs, Multipath, Scheduler};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::endpoint::{Side, Tenant, endpoint};
use crate::environment::Environment;
use crate::ideal::ideal;
use crate::own::own_flow;
use crate::paths::Leg;
use crate::ports::SERVICE;
use crate::slots::put;
use crate::tap::Opened;
use crate::timer::Timer;

impl Tcp {
    /// Opens the connections of a flow: one for each copy.
    pub fn open(&mut self, now: Time, flow: u32, profile: u16, env: &mut Environment) -> Result<(), NoPath> {
        for copy in 0..env.flows[flow].open {
            self.open_connection(now, flow, profile, copy as u8, env)?;
        }
        Ok(())
    }

    fn open_connection(
        &mut self,
        now: Time,
        flow: u32,
        index: u16,
        copy: u8,
        env: &mut Environment,
    ) -> Result<(), NoPath> {
        let start = env.flows[flow].start;
        let (first, lanes) = self.begin_lanes(now, (&start, index), copy, env);
        let profile = &self.profiles[usize::from(index)];
        let place = self.connection_slots.take();
        let total = start.size.map_or(UNLIMITED, Bytes::get);
        let mut connection = Connection::new(flow, (index, profile), copy, total, lanes).with_queues(profile);
        connection.first = first;
        put(&mut self.connections, place, connection);
        self.avoid_dark(place, env);
        env.flows[flow].connections.push(place);
        self.open_subflow(now, place, env)
    }

    /// Opens the connection's next subflow.
    fn open_subflow(&mut self, now: Time, connection: u32, env: &mut Environment) -> Result<(), NoPath> {
        let c = &self.connections[connection as usize];
        let (flow, copy, nth, profile_index) = (c.flow, c.copy, c.subflows.as_slice().len(), c.profile);
        let start = env.flows[flow].start;
        let profile = &self.profiles[usize::from(profile_index)];
        let leg = Leg::forth(&start, copy, nth);
        let (ours, theirs) = (env.graph.interfaces(start.source), env.graph.interfaces(start.destination));
        if ours.is_empty() || theirs.is_empty() {
            return Err(NoPath::SameHost { host: start.source });
        }
        let (mine, yours) = (ours.len(), theirs.len());
        let pairs = mine.min(yours);
        let port = self.ports.port(start.id, copy, nth);
        let (number, (own, far)) = if let Some(multipath) = &profile.multipath {
            multipath.pair(nth + usize::from(c.skipped), usize::from(c.first), mine, yours)
        } else {
            let copy = if profile.interface.is_some() && c.stream.is_some() { 0 } else { copy };
            let pair = env.with_carrier(ours, self.ports.pair(start.id, copy, pairs, profile.interface), pairs);
            let pair = env.pair_of_path(leg, [start.source, start.destination], pair, pairs);
            (0, (pair, pair))
        };
        let (from, to) = (env.graph.interfaces(start.source)[own], env.graph.interfaces(start.destination)[far]);
        let lanes = profile.multipath.as_ref().is_some_and(|m| m.lanes.is_some());
        // a path follows from its source's address
        let choice = |from, to, lane: usize, sport, dport| {
            if lanes {
                Choice::Lane { lane: lane as u32, pair: pair_hash(from, to) }
            } else {
                Choice::Ecmp(flow_hash(from, to, sport, dport))
            }
        };
        let mut path = std::mem::take(&mut env.scratch);
        env.find_path(Some(leg), (from, to), choice(from, to, own, port, SERVICE), &mut path)?;
        let place = self.subflow_slots.take();
        let route = env.net.fabric.routes.insert(&path, self.route_end(connection, endpoint(place, Side::Receiver)));
        if nth == 0
            && copy == 0
            && let Some(size) = start.size
        {
            env.flows[flow].ideal = Some(ideal(&env.graph, &path, size, (profile.mss, profile.overhead)));
        }
        env.find_path(Some(leg.turned(true)), (to, from), choice(to, from, far, SERVICE, port), &mut path)?;
        let back = env.net.fabric.routes.insert(&path, self.route_end(connection, endpoint(place, Side::Sender)));
        env.scratch = path;

        if env.net.hosts.any() {
            env.net.hosts.set_hash(endpoint(place, Side::Receiver), flow_hash(from, to, port, SERVICE));
            env.net.hosts.set_hash(endpoint(place, Side::Sender), flow_hash(to, from, SERVICE, port));
        }
        // Linux' receiver announces its further addresses as soon as the handshake is over (ADD_ADDR, RFC 8684 §3.4.1).
        let announces = pairs > 1 && profile.multipath.as_ref().is_some_and(Multipath::announces);
        let join = nth > 0;
        self.put_subflow(place, connection, (route, back), (join, join || announces), env);
        env.flows[flow].interfaces |= 1 << own.min(63);
        let c = &mut self.connections[connection as usize];
        if let Some(laned) = &mut c.lanes {
            laned.interface[nth] = own as u8;
        }
        c.numbers[nth] = number as u16;
        c.subflows.push(place);
        let profile = &self.profiles[usize::from(profile_index)];
        c.joined |= profile.multipath.is_none();
        if let Some(trace) = &mut env.net.trace {
            trace.open(place, start.source);
        }
        if let Some(taps) = &mut env.net.taps {
            let first = self.connections[connection as usize].subflows.as_slice()[0];
            taps.open(Opened { place, first, nth, ends: (from, to) }, profile);
        }
        self.senders[place as usize].open(now, profile, &mut env.net);
        Ok(())
    }

    /// Where frames for one half of a subflow of `connection` end.
    pub(super) fn route_end(&self, connection: u32, half: Endpoint) -> Endpoint {
        if self.connections[connection as usize].stream.is_some() { Tenant::TwoWayTcp.endpoint(half.0) } else { half }
    }

    /// Puts the two halves of a subflow in their place.
    fn put_subflow(
        &mut self,
        place: u32,
        connection: u32,
        (route, back): (u32, u32),
        (join, answers): (bool, bool),
        env: &mut Environment,
    ) {
        let fresh = place as usize == self.senders.len();
        let (sender_timers, receiver_timer) = if fresh {
            env.net.inbound.extend([0, 0]);
            ((Timer::OFF, Timer::OFF), Timer::OFF)
        } else {
            (self.senders[place as usize].timers(), *self.receivers[place as usize].timer_mut())
        };
        let c = &self.connections[connection as usize];
        let profile = &self.profiles[usize::from(c.profile)];
        let mut receiver = Receiver::new(place, connection, back, answers, profile, receiver_timer);
        if c.stream.is_some() {
            receiver.make_two_way();
        }
        let traffic = env.flows[c.flow].start.traffic;
        if env.net.cards.any() {
            env.net.cards.open(endpoint(place, Side::Receiver), traffic);
        }
        for half in [Side::Receiver, Side::Sender] {
            env.net.priorities.open(endpoint(place, half), traffic);
        }
        let mut sender = Sender::new(place, connection, route, join, profile, sender_timers);
        if let Some(own) = sender.own_control() {
            let id = env.flows[c.flow].start.id;
            let place = (c.copy, c.subflows.as_slice().len());
            own.open(own_flow(env.net.seed, id, place, profile.mss), env.now);
        }
        put(&mut self.senders, place, sender);
        put(&mut self.receivers, place, receiver);
    }

    /// Opens both directions of a two-way connection: the second has no handshake of its own, and the first one's paths.
    pub(super) fn open_pair(
        &mut self,
        now: Time,
        [forth, back]: [u32; 2],
        env: &mut Environment,
    ) -> Result<(), NoPath> {
        self.open_subflow(now, forth, env)?;
        let first = self.connections[forth as usize].subflows.as_slice()[0];
        let place = self.subflow_slots.take();
        let routes = &mut env.net.fabric.routes;
        let paths = [self.receivers[first as usize].route, self.senders[first as usize].route]
            .map(|route| routes.ports(route).collect::<Vec<_>>());
        let [route, answers] = [(Side::Receiver, &paths[0]), (Side::Sender, &paths[1])]
            .map(|(half, path)| routes.insert(path, self.route_end(back, endpoint(place, half))));
        self.put_subflow(place, back, (route, answers), (false, false), env);
        let c = &mut self.connections[back as usize];
        c.subflows.push(place);
        let start = &env.flows[c.flow].start;
        if let Some(trace) = &mut env.net.trace {
            trace.open(place, start.destination);
        }
        if let Some(taps) = &mut env.net.taps {
            taps.open_back(place, first);
        }
        if env.net.hosts.any() {
            let (from, to) = (paths[1][0], paths[0][0]);
            let port = self.ports.port(start.id, self.connections[back as usize].copy, 0);
            env.net.hosts.set_hash(endpoint(place, Side::Receiver), flow_hash(to, from, SERVICE, port));
            env.net.hosts.set_hash(endpoint(place, Side::Sender), flow_hash(from, to, port, SERVICE));
        }
        Ok(())
    }

    /// Opens the further subflows of a multipath connection once enough is acknowledged. An acknowledgement of nothing
    /// tells Linux that the other end knows MPTCP (`net/mptcp/options.c: check_fully_established`).
    pub(super) fn join(&mut self, now: Time, connection: u32, env: &mut Environment) {
        let c = &self.connections[connection as usize];
        let profile = &self.profiles[usize::from(c.profile)];
        let Some(multipath) = &profile.multipath else { return };
        let at_once = multipath.scheduler == Scheduler::Linux && multipath.lanes.is_none();
        let least = u64::from(!at_once);
        if c.joined || c.una < multipath.join_after.get().max(least) || c.all_acknowledged() {
            return;
        }
        // A program that has written everything closes, and a kernel opens no subflow of a connection that is closing
        // (`net/mptcp/subflow.c: __mptcp_subflow_connect` asks for `mptcp_is_fully_established`).
        if at_once && c.is_written() {
            return;
        }
        let late = multipath.lanes.as_ref().is_some_and(|plan| plan.late);
        if late && c.lanes.as_ref().is_some_and(|laned| !laned.lanes.wants_long()) {
            return;
        }
        let start = &env.flows[c.flow].start;
        let interfaces = [start.source, start.destination].map(|host| env.graph.interfaces(host).len());
        let wanted = multipath.subflows.unwrap_or_else(|| multipath.pairs.count(interfaces)).min(MAX_SUBFLOWS);
        self.connections[connection as usize].joined = true;
        // One to one, more subflows than pairs go round again; in a full mesh each pair is tried once.
        let pairing = multipath.pairs;
        let mut pairs = match pairing {
            AddressPairs::OneToOne => MAX_SUBFLOWS,
            AddressPairs::FullMesh => pairing.count(interfaces).saturating_sub(1).min(4096),
        };
        while self.connections[connection as usize].subflows.as_slice().len() < wanted && pairs > 0 {
            // The first subflow found a path between these hosts, so the others fail only where interfaces are not
            // connected; the connection then goes on with what it has.
            if self.open_subflow(now, connection, env).is_err() {
                if pairing == AddressPairs::OneToOne {
                    break;
                }
                self.connections[connection as usize].skipped += 1;
            }
            pairs -= 1;
        }
    }
}
