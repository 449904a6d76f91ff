//! Links that fail and come back: the fabric loses frames, routing learns of it later, hosts see their own carrier.
//!
//! Three things happen, each at its time. From the failure on, frames are lost ([`Fabric::take_down`]). Hosts at an end of
//! a cable that is down see that at once, if its failure says so. And after a time that stands for the routing
//! protocol's, switches avoid the cable: a flow whose path uses it gets the path that the same choice gives in what is
//! left; all others keep theirs, as with resilient hashing (RFC 2992's hash-threshold would move some of them). When
//! routing learns that the cable is back, paths are again what they were.
//!
//! [`Fabric::take_down`]: headway_fabric::Fabric::take_down

use std::collections::BTreeSet;

use headway_engine::Source;
use headway_fabric::{Choice, Endpoint, Graph, LinkId, Paths, flow_hash, pair_hash};
use headway_units::{Span, Time};

use super::{Flow, Simulation};
use crate::network::{Side, class, endpoint};
use crate::ports::SERVICE;
use crate::sender::Phase;

/// Links that go down together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One direction each.
    pub links: Vec<LinkId>,
    /// From when on. What happens at this instant still happens.
    pub at: Time,
    /// Until when; `None`: to the end of the run. Later than `at`.
    pub until: Option<Time>,
    /// After so long routing avoids the cables, and after so long uses them again; `None`: it never learns of it.
    pub reroute: Option<Span>,
    /// Hosts at an end of a cable of which both directions are in `links` see that at once.
    pub carrier: bool,
}

/// What changes about a link. At one time, what goes down does so before anything comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Down(LinkId),
    Avoid(LinkId),
    CarrierDown(LinkId),
    Up(LinkId),
    Use(LinkId),
    CarrierUp(LinkId),
}

/// What is down, and what will be.
#[derive(Debug)]
pub(super) struct FailureState {
    /// In order of time; the next one's event is pending.
    changes: Vec<(Time, Change)>,
    next: usize,
    /// Per link how many failures have it down, and how many routing knows of; per interface how many took its carrier.
    down: Vec<u32>,
    avoided: Vec<u32>,
    dark: Vec<u32>,
    /// Links that are down.
    broken: usize,
    /// When the last link came back.
    restored: Option<Time>,
    /// Paths in what routing takes to be left; `None` while that is everything.
    left: Option<Paths>,
}

impl FailureState {
    fn avoids(&self, path: &[LinkId]) -> bool {
        let known = |link: LinkId| self.avoided[link.index()] + self.avoided[link.reverse().index()] > 0;
        path.iter().any(|&link| known(link))
    }

    /// Counts a change up or down in one of the tables; says whether the link's state is another now.
    fn count(table: &mut [u32], link: LinkId, more: bool) -> bool {
        let count = &mut table[link.index()];
        if more {
            *count += 1;
            *count == 1
        } else {
            *count -= 1;
            *count == 0
        }
    }

    /// Routing has learnt something.
    fn converge(&mut self, graph: &Graph) {
        let any = self.avoided.iter().any(|&count| count > 0);
        self.left = any.then(|| Paths::avoiding(graph, |link| self.avoided[link.index()] > 0));
    }
}

/// Replaces `path`, on which routing knows that a link is down, by one in what is left, if there is one.
#[inline]
pub(super) fn detour(
    trouble: &mut Option<Box<FailureState>>,
    from: LinkId,
    to: LinkId,
    choice: Choice,
    path: &mut Vec<LinkId>,
) {
    let Some(trouble) = trouble.as_mut().filter(|trouble| trouble.left.is_some()) else { return };
    if !trouble.avoids(path) {
        return;
    }
    let mut other = Vec::new();
    let found = trouble.left.as_mut().is_some_and(|left| left.path(from, to, choice, &mut other).is_ok());
    // An interface whose own cable is down has no way round.
    if found && !trouble.avoids(&other) {
        *path = other;
    }
}

impl Flow {
    /// Something is delivered in order now, or the run ends.
    pub(super) fn note_progress(&mut self, now: Time, trouble: &FailureState) {
        if trouble.broken > 0 || trouble.restored.is_some_and(|restored| self.progress <= restored) {
            self.stall = self.stall.max(Some(now.since(self.progress)));
        }
        self.progress = now;
    }
}

impl Simulation {
    /// Lets links fail. To be called once, before the first run.
    ///
    /// # Panics
    /// If something has happened already, a failure ends before it begins, or a link is not in the graph.
    pub fn set_failures(&mut self, failures: &[Failure]) {
        assert!(self.trouble.is_none() && self.now == Time::ZERO && self.net.sent == 0, "failures are set once, first");
        let mut changes = Vec::new();
        for failure in failures {
            assert!(failure.until.is_none_or(|until| until > failure.at), "a failure ends after it begins");
            let links: BTreeSet<LinkId> = failure.links.iter().copied().collect();
            let mut both = |at: Option<Time>, after: Option<Span>, change: &dyn Fn(LinkId) -> Change| {
                let Some(time) = at.zip(after).map(|(at, after)| at.saturating_add(after)) else { return };
                changes.extend(links.iter().map(|&link| (time, change(link))));
            };
            both(Some(failure.at), Some(Span::ZERO), &Change::Down);
            both(failure.until, Some(Span::ZERO), &Change::Up);
            // what is over before routing has learnt of it passes unnoticed
            let lasts = failure.until.map_or(Span::MAX, |until| until - failure.at);
            let reroute = failure.reroute.filter(|&after| after < lasts);
            both(Some(failure.at), reroute, &Change::Avoid);
            both(failure.until, reroute, &Change::Use);
            let host = |link: LinkId| {
                self.graph.interfaces(self.graph.link(link).from).contains(&link)
                    && self.graph.node(self.graph.link(link).from).kind == headway_fabric::NodeKind::Host
            };
            for &link in links.iter().filter(|link| failure.carrier && links.contains(&link.reverse()) && host(**link))
            {
                changes.push((failure.at, Change::CarrierDown(link)));
                changes.extend(failure.until.map(|until| (until, Change::CarrierUp(link))));
            }
        }
        changes.sort_unstable();
        let Some(&(first, _)) = changes.first() else { return };
        self.net.queue.push(first, Source::new(class::CHANGE, 0), 0);
        let links = self.graph.links().len();
        self.trouble = Some(Box::new(FailureState {
            changes,
            next: 0,
            down: vec![0; links],
            avoided: vec![0; links],
            dark: vec![0; links],
            broken: 0,
            restored: None,
            left: None,
        }));
    }

    /// Makes the changes of this instant.
    pub(super) fn on_change(&mut self, now: Time) {
        let Some(mut trouble) = self.trouble.take() else { unreachable!("a change means trouble") };
        let (mut learnt, mut lost, mut back) = (false, Vec::new(), Vec::new());
        while let Some(&(_, change)) = trouble.changes.get(trouble.next).filter(|(time, _)| *time == now) {
            trouble.next += 1;
            match change {
                Change::Down(link) => {
                    if FailureState::count(&mut trouble.down, link, true) {
                        trouble.broken += 1;
                        self.net.fabric.take_down(now, link);
                    }
                }
                Change::Up(link) => {
                    if FailureState::count(&mut trouble.down, link, false) {
                        trouble.broken -= 1;
                        trouble.restored = Some(now);
                        self.net.fabric.bring_up(link);
                    }
                }
                Change::Avoid(link) => learnt |= FailureState::count(&mut trouble.avoided, link, true),
                Change::Use(link) => learnt |= FailureState::count(&mut trouble.avoided, link, false),
                Change::CarrierDown(link) => {
                    if FailureState::count(&mut trouble.dark, link, true) {
                        lost.push(link);
                    }
                }
                Change::CarrierUp(link) => {
                    if FailureState::count(&mut trouble.dark, link, false) {
                        back.push(link);
                    }
                }
            }
        }
        match trouble.changes.get(trouble.next) {
            Some(&(time, _)) => self.net.queue.reschedule(time),
            None => self.net.queue.pop(),
        }
        if learnt {
            trouble.converge(&self.graph);
        }
        self.trouble = Some(trouble);
        while let Some((end, frame)) = self.net.fabric.evicted() {
            self.on_discard(end, &frame);
        }
        if learnt {
            self.reroute();
        }
        for link in lost {
            self.on_carrier(now, link, false);
        }
        for link in back {
            self.on_carrier(now, link, true);
        }
    }

    /// The places of subflows that are open, or were and have frames on their way.
    fn open_subflows(&self) -> Vec<u32> {
        let free: BTreeSet<u32> = self.subflow_places.free.iter().copied().collect();
        (0..self.senders.len() as u32).filter(|place| !free.contains(place)).collect()
    }

    // ---- routing ---------------------------------------------------------------------------------------------

    /// Gives every subflow the path that it has in what routing takes to be left of the network.
    fn reroute(&mut self) {
        for place in self.open_subflows() {
            let interfaces = self.interfaces(place);
            self.resolve(place, interfaces);
        }
        // What was resolved stays in the routes: frames may be on their way on them.
        if let Some(outside) = &mut self.outside {
            outside.routes.clear();
        }
    }

    /// The interfaces of a subflow: its sender's and its receiver's.
    fn interfaces(&self, place: u32) -> (LinkId, LinkId) {
        let first = |route| self.net.fabric.routes.ports(route).next().expect("a route has a link");
        (first(self.senders[place as usize].route), first(self.receivers[place as usize].route))
    }

    /// Finds the paths of a subflow anew, between these interfaces.
    fn resolve(&mut self, place: u32, (from, to): (LinkId, LinkId)) {
        let c = &self.connections[self.senders[place as usize].connection as usize];
        let start = &self.flows[c.flow as usize].start;
        let port = self.ports.port(start.id, c.copy, c.subflows.position(place));
        let profile = &self.profiles[usize::from(c.profile)];
        let lanes = profile.multipath.as_ref().is_some_and(|m| m.lanes.is_some());
        let ways = [(Side::Receiver, from, to, port, SERVICE), (Side::Sender, to, from, SERVICE, port)];
        for (half, from, to, sport, dport) in ways {
            let own = self.graph.interfaces(self.graph.link(from).from).iter().position(|&link| link == from);
            let choice = match own {
                Some(lane) if lanes => Choice::Lane { lane: lane as u32, pair: pair_hash(from, to) },
                _ => Choice::Ecmp(flow_hash(from, to, sport, dport)),
            };
            let mut path = std::mem::take(&mut self.scratch);
            if self.paths.path(from, to, choice, &mut path).is_ok() {
                detour(&mut self.trouble, from, to, choice, &mut path);
                self.move_to(endpoint(place, half), &path);
            }
            self.scratch = path;
        }
    }

    /// Sends what follows to `end` by `path`. Its former route stays as long as frames for `end` may be on it.
    fn move_to(&mut self, end: Endpoint, path: &[LinkId]) {
        let place = (end.0 / 2) as usize;
        let route = match crate::network::side(end).1 {
            Side::Receiver => &mut self.senders[place].route,
            Side::Sender => &mut self.receivers[place].route,
        };
        let routes = &mut self.net.fabric.routes;
        if routes.ports(*route).eq(path.iter().copied()) {
            return;
        }
        let left = self.left_routes.entry(end.0).or_default();
        let known = left.iter().position(|&known| routes.ports(known).eq(path.iter().copied()));
        let next = known.map_or_else(|| routes.insert(path, end), |at| left.swap_remove(at));
        left.push(std::mem::replace(route, next));
    }

    /// The subflow at `place` has closed and nothing is on its way to it.
    #[cold]
    pub(super) fn free_left_routes(&mut self, place: u32) {
        for half in [Side::Sender, Side::Receiver] {
            for route in self.left_routes.remove(&endpoint(place, half).0).unwrap_or_default() {
                self.net.fabric.routes.remove(route);
            }
        }
    }

    // ---- carrier ---------------------------------------------------------------------------------------------

    /// The one of the first `count` of `interfaces` with a carrier that comes first from `wanted` on, or `wanted`.
    pub(super) fn lit(&self, interfaces: &[LinkId], wanted: usize, count: usize) -> usize {
        let Some(trouble) = &self.trouble else { return wanted };
        let mut order = (wanted..count).chain(0..wanted);
        order.find(|&at| trouble.dark[interfaces[at].index()] == 0).unwrap_or(wanted)
    }

    /// How many pairs of interfaces a connection's subflows go round.
    fn pairs(&self, connection: u32) -> usize {
        let start = &self.flows[self.connections[connection as usize].flow as usize].start;
        let [ours, theirs] = [start.source, start.destination].map(|host| self.graph.interfaces(host).len());
        ours.min(theirs)
    }

    /// Lets a multipath connection that opens begin on an interface that has a carrier.
    pub(super) fn avoid_dark(&mut self, connection: u32) {
        let pairs = self.pairs(connection);
        let c = &self.connections[connection as usize];
        if self.trouble.is_none() || self.profiles[usize::from(c.profile)].multipath.is_none() || pairs == 0 {
            return;
        }
        let interfaces = self.graph.interfaces(self.flows[c.flow as usize].start.source);
        let first = self.lit(interfaces, usize::from(c.first), pairs);
        self.connections[connection as usize].first = first as u8;
    }

    /// An interface of a host has lost its carrier, or it is back. Plain TCP is not told, as in Linux.
    fn on_carrier(&mut self, now: Time, interface: LinkId, back: bool) {
        for place in self.open_subflows() {
            let sender = &mut self.senders[place as usize];
            let number = sender.connection;
            let connection = &mut self.connections[number as usize];
            let profile = &self.profiles[usize::from(connection.profile)];
            let own = self.net.fabric.routes.ports(sender.route).next() == Some(interface);
            if profile.multipath.is_none() || !own || sender.phase == Phase::Closed {
                continue;
            }
            if back {
                sender.regain_carrier(now, profile, &mut self.net);
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
                    self.begin_elsewhere(place);
                    let profile = &self.profiles[usize::from(self.connections[number as usize].profile)];
                    let sender = &mut self.senders[place as usize];
                    let dark = self.trouble.as_ref().is_some_and(|trouble| {
                        let first = self.net.fabric.routes.ports(sender.route).next();
                        first.is_some_and(|link| trouble.dark[link.index()] > 0)
                    });
                    if !dark {
                        sender.regain_carrier(now, profile, &mut self.net);
                    }
                }
            }
            let connection = &mut self.connections[number as usize];
            let profile = &self.profiles[usize::from(connection.profile)];
            connection.pump(now, &mut self.senders, profile, &mut self.net);
        }
    }

    /// A SYN was not answered in time: the next one may go by another interface.
    #[cold]
    pub(super) fn fall_back(&mut self, place: u32) {
        let connection = &self.connections[self.senders[place as usize].connection as usize];
        let multipath = self.profiles[usize::from(connection.profile)].multipath.as_ref();
        if multipath.is_some_and(|m| m.syn_fallback) && connection.subflows.as_slice().len() == 1 {
            self.begin_elsewhere(place);
        }
    }

    /// Moves a connection's first subflow, which is not open yet, to the next interface with a carrier.
    fn begin_elsewhere(&mut self, place: u32) {
        let number = self.senders[place as usize].connection;
        let pairs = self.pairs(number);
        let c = &self.connections[number as usize];
        let start = self.flows[c.flow as usize].start;
        let (ours, theirs) = (self.graph.interfaces(start.source), self.graph.interfaces(start.destination));
        let next = self.lit(ours, (usize::from(c.first) + 1) % pairs, pairs);
        let (from, to) = (ours[next], theirs[next]);
        let flow = c.flow;
        let c = &mut self.connections[number as usize];
        c.first = next as u8;
        c.numbers[0] = u16::from(c.first);
        if let Some(laned) = &mut c.lanes {
            laned.interface[0] = next as u8;
        }
        self.flows[flow as usize].interfaces |= 1 << next.min(63);
        self.resolve(place, (from, to));
        if self.net.hosts.any() {
            let port = self.ports.port(start.id, self.connections[number as usize].copy, 0);
            self.net.hosts.set_hash(endpoint(place, Side::Receiver), flow_hash(from, to, port, SERVICE));
            self.net.hosts.set_hash(endpoint(place, Side::Sender), flow_hash(to, from, SERVICE, port));
        }
    }
}
