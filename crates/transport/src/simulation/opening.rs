//! Flows start, and their connections and subflows open.

use headway_fabric::{Choice, NoPath, flow_hash, pair_hash};
use headway_units::{Bytes, Time};

use super::{Flow, FlowStart, Simulation, failures, put};
use crate::connection::{Connection, MAX_SUBFLOWS, UNLIMITED};
use crate::network::{Side, Timer, endpoint};
use crate::ports::SERVICE;
use crate::profile::{AddressPairs, Multipath, Scheduler};
use crate::receiver::Receiver;
use crate::sender::Sender;

impl Simulation {
    pub(super) fn start_flow(&mut self, now: Time, start: FlowStart) -> Result<(), NoPath> {
        let place = self.flow_places.take();
        let profile = &self.profiles[usize::from(start.profile)];
        let copies = match (profile.replicate, start.size) {
            (Some((below, copies)), Some(size)) if size <= below => copies,
            _ => 1,
        };
        let sampled = self.measure.samples(start.traffic);
        self.deadlines |= start.deadline.is_some();
        let flow = Flow {
            start,
            ideal: None,
            end: None,
            delivered: 0,
            connections: Vec::with_capacity(copies as usize),
            open: copies,
            ended: None,
            interfaces: 0,
            sampled,
            sampled_bytes: 0,
            progress: now,
            stall: None,
        };
        put(&mut self.flows, place, flow);
        if sampled {
            self.sampled_flows.push(place);
        }
        for copy in 0..copies {
            self.open_connection(now, place, copy as u8)?;
        }
        Ok(())
    }

    fn open_connection(&mut self, now: Time, flow: u32, copy: u8) -> Result<(), NoPath> {
        let start = self.flows[flow as usize].start;
        let (first, lanes) = self.begin_lanes(now, &start, copy);
        let profile = &self.profiles[usize::from(start.profile)];
        let place = self.connection_places.take();
        let total = start.size.map_or(UNLIMITED, Bytes::get);
        let mut connection = Connection::new(flow, (start.profile, profile), copy, total, lanes).with_queues(profile);
        connection.first = first;
        put(&mut self.connections, place, connection);
        self.avoid_dark(place);
        self.flows[flow as usize].connections.push(place);
        self.open_subflow(now, place)
    }

    /// Opens the connection's next subflow.
    fn open_subflow(&mut self, now: Time, connection: u32) -> Result<(), NoPath> {
        let c = &self.connections[connection as usize];
        let (flow, copy, nth, profile_index) = (c.flow, c.copy, c.subflows.as_slice().len(), c.profile);
        let start = self.flows[flow as usize].start;
        let profile = &self.profiles[usize::from(profile_index)];
        let (ours, theirs) = (self.graph.interfaces(start.source), self.graph.interfaces(start.destination));
        if ours.is_empty() || theirs.is_empty() {
            return Err(NoPath::SameHost { host: start.source });
        }
        let pairs = ours.len().min(theirs.len());
        let port = self.ports.port(start.id, copy, nth);
        let (number, (own, far)) = if let Some(multipath) = &profile.multipath {
            multipath.pair(nth + usize::from(c.skipped), usize::from(c.first), ours.len(), theirs.len())
        } else {
            let pair = self.lit(ours, self.ports.pair(start.id, copy, pairs, profile.interface), pairs);
            (0, (pair, pair))
        };
        let (from, to) = (ours[own], theirs[far]);
        let lanes = profile.multipath.as_ref().is_some_and(|m| m.lanes.is_some());
        // a path follows from its source's address
        let choice = |from, to, lane: usize, sport, dport| {
            if lanes {
                Choice::Lane { lane: lane as u32, pair: pair_hash(from, to) }
            } else {
                Choice::Ecmp(flow_hash(from, to, sport, dport))
            }
        };
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        self.paths.path(from, to, choice(from, to, own, port, SERVICE), &mut path)?;
        failures::detour(&mut self.trouble, from, to, choice(from, to, own, port, SERVICE), &mut path);
        let place = self.subflow_places.take();
        let route = self.net.fabric.routes.insert(&path, endpoint(place, Side::Receiver));
        if nth == 0
            && copy == 0
            && let Some(size) = start.size
        {
            self.flows[flow as usize].ideal = Some(self.ideal(&path, size, profile));
        }
        path.clear();
        self.paths.path(to, from, choice(to, from, far, SERVICE, port), &mut path)?;
        failures::detour(&mut self.trouble, to, from, choice(to, from, far, SERVICE, port), &mut path);
        let back = self.net.fabric.routes.insert(&path, endpoint(place, Side::Sender));
        self.scratch = path;

        if self.net.hosts.any() {
            self.net.hosts.set_hash(endpoint(place, Side::Receiver), flow_hash(from, to, port, SERVICE));
            self.net.hosts.set_hash(endpoint(place, Side::Sender), flow_hash(to, from, SERVICE, port));
        }
        let join = nth > 0;
        let fresh = place as usize == self.senders.len();
        let (sender_timers, receiver_timer) = if fresh {
            self.net.inbound.extend([0, 0]);
            ((Timer::OFF, Timer::OFF), Timer::OFF)
        } else {
            (self.senders[place as usize].timers(), *self.receivers[place as usize].timer_mut())
        };
        put(&mut self.senders, place, Sender::new(place, connection, route, join, profile, sender_timers));
        // Linux' receiver announces its further addresses as soon as the handshake is over (ADD_ADDR, RFC 8684 §3.4.1).
        let announces = pairs > 1 && profile.multipath.as_ref().is_some_and(Multipath::announces);
        let answers = join || announces;
        put(&mut self.receivers, place, Receiver::new(place, connection, back, answers, profile, receiver_timer));
        self.flows[flow as usize].interfaces |= 1 << own.min(63);
        let c = &mut self.connections[connection as usize];
        if let Some(laned) = &mut c.lanes {
            laned.interface[nth] = own as u8;
        }
        c.numbers[nth] = number as u16;
        c.subflows.push(place);
        c.joined |= profile.multipath.is_none();
        if let Some(trace) = &mut self.net.trace {
            trace.open(place, start.source);
        }
        self.senders[place as usize].open(now, profile, &mut self.net);
        Ok(())
    }

    /// Opens the further subflows of a multipath connection once enough is acknowledged. An acknowledgement of nothing
    /// tells Linux that the other end knows MPTCP (`net/mptcp/options.c: check_fully_established`).
    pub(super) fn join(&mut self, now: Time, connection: u32) {
        let c = &self.connections[connection as usize];
        let profile = &self.profiles[usize::from(c.profile)];
        let Some(multipath) = &profile.multipath else { return };
        let at_once = multipath.scheduler == Scheduler::Linux && multipath.lanes.is_none();
        let least = u64::from(!at_once);
        if c.joined || c.una < multipath.join_after.get().max(least) || c.all_acknowledged() {
            return;
        }
        let late = multipath.lanes.as_ref().is_some_and(|plan| plan.late);
        if late && c.lanes.as_ref().is_some_and(|laned| !laned.lanes.wants_long()) {
            return;
        }
        let start = &self.flows[c.flow as usize].start;
        let interfaces = [start.source, start.destination].map(|host| self.graph.interfaces(host).len());
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
            if self.open_subflow(now, connection).is_err() {
                if pairing == AddressPairs::OneToOne {
                    break;
                }
                self.connections[connection as usize].skipped += 1;
            }
            pairs -= 1;
        }
    }
}
