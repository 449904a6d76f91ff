//! Paths of subflows when links fail and come back: routing learns of it, and hosts see their carrier.

use headway_fabric::{Choice, Endpoint, LinkId, flow_hash, pair_hash};
use headway_units::Time;

use super::Tcp;
use super::sender::Phase;
use crate::endpoint::{Side, endpoint, number, side};
use crate::environment::Environment;
use crate::paths::Leg;
use crate::ports::SERVICE;

impl Tcp {
    /// Gives every subflow the path that it has in what routing takes to be left of the network.
    pub fn reroute(&mut self, env: &mut Environment) {
        for place in self.open_subflows() {
            let interfaces = self.interfaces(place, env);
            self.resolve(place, interfaces, env);
        }
    }

    /// The interfaces of a subflow: its sender's and its receiver's.
    fn interfaces(&self, place: u32, env: &Environment) -> (LinkId, LinkId) {
        let first = |route| env.net.fabric.routes.ports(route).next().expect("a route has a link");
        (first(self.senders[place as usize].route), first(self.receivers[place as usize].route))
    }

    /// Finds the paths of a subflow anew, between these interfaces.
    fn resolve(&mut self, place: u32, (from, to): (LinkId, LinkId), env: &mut Environment) {
        let c = &self.connections[self.senders[place as usize].connection as usize];
        let start = &env.flows[c.flow].start;
        let nth = c.subflows.position(place);
        let port = self.ports.port(start.id, c.copy, nth);
        let leg = Leg::forth(start, c.copy, nth);
        let is_back = c.is_back();
        let profile = &self.profiles[usize::from(c.profile)];
        let lanes = profile.multipath.as_ref().is_some_and(|m| m.lanes.is_some());
        let (own, far) = if is_back { (SERVICE, port) } else { (port, SERVICE) };
        let ways = [(Side::Receiver, from, to, own, far), (Side::Sender, to, from, far, own)];
        for (half, from, to, sport, dport) in ways {
            let own = env.graph.interfaces(env.graph.link(from).from).iter().position(|&link| link == from);
            let choice = match own {
                Some(lane) if lanes => Choice::Lane { lane: lane as u32, pair: pair_hash(from, to) },
                _ => Choice::Ecmp(flow_hash(from, to, sport, dport)),
            };
            let mut path = std::mem::take(&mut env.scratch);
            let leg = leg.turned((half == Side::Sender) != is_back);
            if env.find_path(Some(leg), (from, to), choice, &mut path).is_ok() {
                let number = self.senders[place as usize].connection;
                self.move_to(self.route_end(number, endpoint(place, half)), &path, env);
            }
            env.scratch = path;
        }
    }

    /// Sends what follows to `end` by `path`. Its former route stays as long as frames for `end` may be on it.
    fn move_to(&mut self, end: Endpoint, path: &[LinkId], env: &mut Environment) {
        let (place, half) = side(Endpoint(number(end)));
        let place = place as usize;
        let route = match half {
            Side::Receiver => &mut self.senders[place].route,
            Side::Sender => &mut self.receivers[place].route,
        };
        let routes = &mut env.net.fabric.routes;
        if routes.ports(*route).eq(path.iter().copied()) {
            return;
        }
        let old = self.old_routes.entry(number(end)).or_default();
        let known = old.iter().position(|&known| routes.ports(known).eq(path.iter().copied()));
        let next = known.map_or_else(|| routes.insert(path, end), |at| old.swap_remove(at));
        old.push(std::mem::replace(route, next));
    }

    /// The subflow at `place` has closed and nothing is on its way to it.
    #[cold]
    pub(super) fn free_old_routes(&mut self, place: u32, env: &mut Environment) {
        for half in [Side::Sender, Side::Receiver] {
            for route in self.old_routes.remove(&endpoint(place, half).0).unwrap_or_default() {
                env.net.fabric.routes.remove(route);
            }
        }
    }

    // ---- carrier ---------------------------------------------------------------------------------------------

    /// How many pairs of interfaces a connection's subflows go round.
    fn pairs(&self, connection: u32, env: &Environment) -> usize {
        let start = &env.flows[self.connections[connection as usize].flow].start;
        let [ours, theirs] = [start.source, start.destination].map(|host| env.graph.interfaces(host).len());
        ours.min(theirs)
    }

    /// Lets a multipath connection that opens begin on an interface that has a carrier.
    pub(super) fn avoid_dark(&mut self, connection: u32, env: &Environment) {
        let pairs = self.pairs(connection, env);
        let c = &self.connections[connection as usize];
        if env.failures.is_none() || self.profiles[usize::from(c.profile)].multipath.is_none() || pairs == 0 {
            return;
        }
        let interfaces = env.graph.interfaces(env.flows[c.flow].start.source);
        let first = env.with_carrier(interfaces, usize::from(c.first), pairs);
        self.connections[connection as usize].first = first as u8;
    }

    /// An interface of a host has lost its carrier, or it is back. Plain TCP is not told, as in Linux.
    pub fn on_carrier(&mut self, now: Time, interface: LinkId, back: bool, env: &mut Environment) {
        for place in self.open_subflows() {
            let sender = &mut self.senders[place as usize];
            let number = sender.connection;
            let connection = &mut self.connections[number as usize];
            let profile = &self.profiles[usize::from(connection.profile)];
            let own = env.net.fabric.routes.ports(sender.route).next() == Some(interface);
            if profile.multipath.is_none() || !own || sender.phase == Phase::Closed {
                continue;
            }
            if back {
                sender.regain_carrier(now, profile, &mut env.net);
                if !self.senders[place as usize].failed {
                    connection.lane_back(now, place, &mut self.senders);
                    connection.rescue(place, &mut self.senders);
                }
            } else {
                sender.lose_carrier();
                if self.senders[place as usize].phase == Phase::Established {
                    connection.lose(now, place, &mut self.senders);
                } else if connection.subflows.as_slice().len() == 1 {
                    // the only subflow there is, not yet open: it begins anew elsewhere
                    self.begin_elsewhere(place, env);
                    let profile = &self.profiles[usize::from(self.connections[number as usize].profile)];
                    let sender = &mut self.senders[place as usize];
                    let dark = env.failures.as_ref().is_some_and(|failures| {
                        let first = env.net.fabric.routes.ports(sender.route).next();
                        first.is_some_and(|link| !failures.has_carrier(link))
                    });
                    if !dark {
                        sender.regain_carrier(now, profile, &mut env.net);
                    }
                }
            }
            self.pump(now, number, &mut env.net);
        }
    }

    /// A SYN was not answered in time: the next one may go by another interface.
    #[cold]
    pub(super) fn fall_back(&mut self, place: u32, env: &mut Environment) {
        let connection = &self.connections[self.senders[place as usize].connection as usize];
        let multipath = self.profiles[usize::from(connection.profile)].multipath.as_ref();
        if multipath.is_some_and(|m| m.syn_fallback) && connection.subflows.as_slice().len() == 1 {
            self.begin_elsewhere(place, env);
        }
    }

    /// Moves a connection's first subflow, which is not open yet, to the next interface with a carrier.
    fn begin_elsewhere(&mut self, place: u32, env: &mut Environment) {
        let number = self.senders[place as usize].connection;
        let pairs = self.pairs(number, env);
        let c = &self.connections[number as usize];
        let start = env.flows[c.flow].start;
        let (ours, theirs) = (env.graph.interfaces(start.source), env.graph.interfaces(start.destination));
        let next = env.with_carrier(ours, (usize::from(c.first) + 1) % pairs, pairs);
        let (from, to) = (ours[next], theirs[next]);
        let flow = c.flow;
        let c = &mut self.connections[number as usize];
        c.first = next as u8;
        c.numbers[0] = u16::from(c.first);
        if let Some(laned) = &mut c.lanes {
            laned.interface[0] = next as u8;
        }
        env.flows[flow].interfaces |= 1 << next.min(63);
        self.resolve(place, (from, to), env);
        if env.net.hosts.any() {
            let port = self.ports.port(start.id, self.connections[number as usize].copy, 0);
            env.net.hosts.set_hash(endpoint(place, Side::Receiver), flow_hash(from, to, port, SERVICE));
            env.net.hosts.set_hash(endpoint(place, Side::Sender), flow_hash(to, from, SERVICE, port));
        }
    }
}
