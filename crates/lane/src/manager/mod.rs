//! What the daemon does, without doing it: events and polls of sockets come in, commands go out through [`Kernel`].
//!
//! There is no clock here and no I/O; time is an argument. The decisions are those of [`headway_control::lanes`], which the
//! simulator calls, too. This adds what a kernel needs around them: subflows are opened late (a short connection must not
//! pay for them), permits become backup flags, joins are the measurement of a lane, commands are tried again while a
//! connection is not ready, and whatever happens a subflow stays that carries the data.
//!
//! How permits become flags: what [`Permit::Normal`](headway_control::lanes::Permit::Normal) allows is no backup, all else
//! is one. The kernel's scheduler uses backups only while there is nothing else, and takes *either* end's word for it, so
//! one end marks only what its own direction of data asks for:
//! * short lanes, once its own data is judged long,
//! * long lanes, before that, only if it opened them itself for a probe, and the other end's data is not judged long: it
//!   has marked the short ones then, and would have nothing but backups.
//!
//! What is left out: windows (a `Sip` is a backup here), coupling, and several first lanes: a connection begins where its
//! application and the routing table put it.
//!
//! Sources: thesis §5.2; `Documentation/networking/mptcp.rst` and `net/mptcp/{pm_userspace,sched}.c` of Linux.

mod attempt;
mod connection;
mod event;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use headway_control::lanes::{Peer, Role};
use headway_linux::diag::{Mptcp, Tcp};
use headway_linux::mptcp::{self, Command};
use headway_linux::{FourTuple, Token};
use headway_units::{Span, Time};

use crate::settings::{self, Judging, Settings, Treatment};
use crate::snapshot::{Counters, LaneStatus, Snapshot};
use attempt::Announced;
use connection::{Arrival, Connection, Handling};
pub use event::Event;

/// What the manager asks of the kernel, one thing at a time; each answer is there when the call returns.
pub trait Kernel {
    /// Runs a command.
    ///
    /// # Errors
    /// The kernel refuses it, with this errno.
    fn command(&mut self, command: &Command) -> Result<(), i32>;

    /// The state of connections, as many and in the same order; `None`: there is none of this name.
    fn connections(&mut self, tokens: &[Token]) -> Vec<Answer<Mptcp>>;

    /// The state of subflows, as many and in the same order; `None`: there is none between these ends.
    fn subflows(&mut self, pairs: &[FourTuple]) -> Vec<Answer<Tcp>>;

    /// Listens at an address for joins, if nobody does.
    ///
    /// # Errors
    /// It cannot, with this errno.
    fn listen(&mut self, at: SocketAddr) -> Result<(), i32>;

    /// The path of a cgroup (v2) below the mount point, with `/` in front; `None` if there is none.
    fn cgroup(&mut self, id: u64) -> Option<PathBuf>;
}

/// A socket's state cannot be read now; whoever does the reading has told why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// What is known of a socket that was asked for.
pub type Answer<T> = Result<Option<T>, Unreadable>;

/// A lane as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneState {
    /// Its addresses that are usable.
    pub addresses: Vec<IpAddr>,
    /// Index of its interface; 0: none is known.
    pub interface: u32,
    /// Whether its interface is up and has a carrier.
    pub up: bool,
}

/// Connections that need polls, by how often they need them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Not polled yet, or nothing to send.
    Resting,
    /// Not judged yet.
    Judged,
    /// Judged long.
    Watched,
}

/// By so much the manager itself may hurry: intervals grow so that polls per second stay below.
const POLLS_PER_SECOND: [u64; 3] = [1_000, 4_000, 1_000];
/// Destinations whose lanes' last measurements are kept, besides the history.
const DESTINATIONS: usize = 10_000;
/// Connections in one [`Snapshot`].
const LISTED: usize = 1_000;

/// Everything that connections share.
struct Shared {
    settings: Settings,
    lanes: Vec<LaneState>,
    history: headway_control::lanes::History,
    /// The latest round trip by destination and lane.
    measured: BTreeMap<(u64, usize), (Time, Span)>,
    /// The queueing delay by lane, of the latest measurement.
    delay: Vec<Option<Span>>,
    /// Subflows of connections by lane.
    subflows: Vec<usize>,
    /// Where sockets listen for joins, and how many connections want it.
    listening: BTreeMap<SocketAddr, u32>,
    /// Sockets may listen that nobody wants any more.
    stale: bool,
    /// The earliest time of the next opening of a subflow.
    next_open: Time,
    classes: [u64; 3],
    counters: Counters,
    events: Vec<Event>,
}

/// What a connection acts in: the moment, everything that connections share, and the kernel.
struct Context<'a> {
    now: Time,
    shared: &'a mut Shared,
    kernel: &'a mut dyn Kernel,
}

/// What only events told of a connection, so that a change of settings must not forget it.
#[derive(Debug, Clone, Default)]
struct Before {
    /// `None`: of none.
    pair: Option<FourTuple>,
    began: Time,
    deny_join_initial: bool,
    announced: Vec<Announced>,
}

/// All managed connections of a network namespace.
pub struct Manager {
    shared: Shared,
    /// Boxed, because they are taken out and put back at every poll.
    connections: BTreeMap<Token, Box<Connection>>,
    due: BTreeSet<(Time, Token)>,
    /// What only events told of connections before a change of settings.
    before: BTreeMap<Token, Before>,
}

impl Manager {
    /// A manager without connections and with all lanes down; tell it of lanes by [`Manager::lane`] and of connections
    /// that are there already by [`Manager::resync`].
    pub fn new(settings: Settings) -> Manager {
        let lanes = vec![LaneState::default(); settings.lanes.len()];
        let delay = vec![None; settings.lanes.len()];
        let subflows = vec![0; settings.lanes.len()];
        let history = remember(&settings);
        let shared = Shared {
            settings,
            lanes,
            history,
            measured: BTreeMap::new(),
            delay,
            subflows,
            listening: BTreeMap::new(),
            stale: true,
            next_open: Time::ZERO,
            classes: [0; 3],
            counters: Counters::default(),
            events: Vec::new(),
        };
        Manager { shared, connections: BTreeMap::new(), due: BTreeSet::new(), before: BTreeMap::new() }
    }

    /// Goes on by other settings. All lanes are down and all connections forgotten, but for what only events told, until
    /// [`Manager::lane`] and [`Manager::resync`] tell of them again. Counters stay; what was learnt of lanes does not.
    pub fn reconfigure(&mut self, settings: Settings) {
        self.forget(settings);
        self.shared.counters.reloads += 1;
    }

    /// Goes on by another clock, on which it is `now` what was `then` before: as with other settings, connections keep their
    /// ages as far as the clock goes back.
    pub fn set_clock(&mut self, then: Time, now: Time) {
        self.forget(self.shared.settings.clone());
        for one in self.before.values_mut() {
            one.began = Time::from_picos(now.picos().saturating_sub(then.since(one.began).picos()));
        }
    }

    fn forget(&mut self, settings: Settings) {
        self.before = self.connections.iter().map(|(&token, connection)| (token, connection.before())).collect();
        self.connections.clear();
        self.due.clear();
        let counters = self.shared.counters;
        self.shared = Manager::new(settings).shared;
        self.shared.counters = counters;
    }

    /// The settings it goes by.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The lanes as they were told last, in the order of the settings.
    pub fn lanes(&self) -> &[LaneState] {
        &self.shared.lanes
    }

    /// Counts since the start; the caller adds what it counts itself.
    pub fn counters(&mut self) -> &mut Counters {
        &mut self.shared.counters
    }

    /// What happened since the last call, in order; at most some thousand, the others are lost.
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.shared.events)
    }

    /// Whether sockets may listen since the last call that nobody wants any more: [`Manager::listens`] tells which.
    pub fn stale_listeners(&mut self) -> bool {
        std::mem::take(&mut self.shared.stale)
    }

    /// Whether a connection wants joins to be accepted at an address.
    pub fn listens(&self, at: &SocketAddr) -> bool {
        self.shared.listening.contains_key(at)
    }

    /// When [`Manager::run`] has something to do; `None`: not before the next event.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|&(time, _)| time)
    }

    /// An event of the kernel.
    pub fn event(&mut self, now: Time, event: &mptcp::Event, kernel: &mut dyn Kernel) {
        match *event {
            mptcp::Event::Created(_) | mptcp::Event::ListenerCreated(_) | mptcp::Event::ListenerClosed(_) => {}
            mptcp::Event::Established(c) => {
                match self.connections.get(&c.token) {
                    // the event was on its way while everything was read anew
                    Some(known) if known.arrival.pair == c.pair => return,
                    // another connection of that name, whose end was not told
                    Some(_) => self.over(now, c.token),
                    None => {}
                }
                let arrival = Arrival {
                    token: c.token,
                    pair: c.pair,
                    server_side: c.server_side,
                    adopted: false,
                    deny_join_initial: c.deny_join_initial,
                };
                self.arrived(now, arrival, None, kernel);
            }
            mptcp::Event::Closed(token) => self.over(now, token),
            mptcp::Event::Announced { token, id, ip, port } => {
                self.with(now, token, kernel, |connection, cx| {
                    connection.announced(cx, id, ip, port);
                });
            }
            mptcp::Event::Removed { token, id } => {
                self.with(now, token, kernel, |connection, _| connection.withdrawn(id));
            }
            mptcp::Event::SubflowEstablished(s) => {
                self.with(now, s.token, kernel, |connection, cx| {
                    connection.joined(cx, s.pair, None);
                });
            }
            mptcp::Event::SubflowPriority(s) => {
                self.with(now, s.token, kernel, |connection, cx| {
                    connection.peer_priority_changed(cx, s.pair, s.backup);
                });
            }
            mptcp::Event::SubflowClosed(s) => {
                self.with(now, s.token, kernel, |connection, cx| {
                    connection.subflow_closed(cx, s.pair, s.error);
                });
            }
        }
    }

    /// Lane number `lane` of the settings is now in this state.
    pub fn lane(&mut self, now: Time, lane: usize, state: LaneState, kernel: &mut dyn Kernel) {
        let Some(before) = self.shared.lanes.get_mut(lane) else { return };
        if *before == state {
            return;
        }
        let changed = usable(before) != usable(&state);
        let up = usable(&state);
        let gone: Vec<IpAddr> = before.addresses.iter().filter(|ip| !state.addresses.contains(ip)).copied().collect();
        *before = state;
        if changed {
            let name = self.shared.settings.lanes[lane].name.clone();
            self.shared.publish(Event::Lane { lane: name, up });
            if up {
                self.shared.history.forgive(lane);
            }
            let tokens: Vec<Token> = self.connections.keys().copied().collect();
            for token in tokens {
                self.with(now, token, kernel, |connection, cx| {
                    connection.lane_changed(cx, lane, up);
                });
            }
        } else if !gone.is_empty() {
            let tokens: Vec<Token> = self.connections.keys().copied().collect();
            for token in tokens {
                self.with(now, token, kernel, |connection, cx| {
                    connection.addresses_gone(cx, &gone);
                });
            }
        }
    }

    /// All MPTCP connections and subflows that there are: what is new is taken over, what is gone is forgotten. For the
    /// start, after a reload, and after events were lost.
    pub fn resync(&mut self, now: Time, connections: &[Mptcp], subflows: &[Tcp], kernel: &mut dyn Kernel) {
        let mut of: BTreeMap<Token, Vec<&Tcp>> = BTreeMap::new();
        for tcp in subflows {
            if let Some(info) = &tcp.subflow {
                of.entry(info.token).or_default().push(tcp);
            }
        }
        let living: BTreeMap<Token, (u16, u16)> = connections.iter().map(|one| (one.token, ports(&one.pair))).collect();
        let lives = |token, known: &Connection| living.get(token).is_some_and(|ports| *ports == known.ports());
        let known = self.connections.iter();
        let gone: Vec<Token> = known.filter(|(token, known)| !lives(token, known)).map(|(&token, _)| token).collect();
        for token in gone {
            self.over(now, token);
        }
        for found in connections {
            let joined = of.remove(&found.token).unwrap_or_default();
            if self.connections.contains_key(&found.token) {
                self.with(now, found.token, kernel, |connection, cx| {
                    // both lists are of busy tables: one may tell of a connection twice, or leave its subflows out
                    if joined.is_empty() {
                        connection.poll_soon(cx.now);
                    } else {
                        connection.reconcile(cx, &joined);
                    }
                });
                continue;
            }
            // half open, closing, or plain TCP by now: nothing can be done for it
            let Some(first) = joined.iter().find(|tcp| tcp.subflow.is_some_and(|info| !info.join)) else { continue };
            if found.fallback || !is_open(first) {
                continue;
            }
            let server_side = first.subflow.is_some_and(|info| !info.initiator);
            let Before { deny_join_initial, .. } = self.before.get(&found.token).cloned().unwrap_or_default();
            let arrival =
                Arrival { token: found.token, pair: first.pair, server_side, adopted: true, deny_join_initial };
            self.arrived(now, arrival, Some((found, &joined)), kernel);
        }
        self.before.clear();
    }

    /// Does all that is due by `now`.
    pub fn run(&mut self, now: Time, kernel: &mut dyn Kernel) {
        // as many as fit into few messages to the kernel; the rest in the next round
        while self.due.first().is_some_and(|&(time, _)| time <= now) {
            let mut round = Vec::new();
            while let Some(&(time, token)) = self.due.first()
                && time <= now
                && round.len() < 128
            {
                self.due.pop_first();
                round.push(token);
            }
            self.round(now, &round, kernel);
        }
    }

    fn round(&mut self, now: Time, round: &[Token], kernel: &mut dyn Kernel) {
        let polled: Vec<Token> = round.iter().filter(|token| self.connections[token].poll_due(now)).copied().collect();
        let mut pairs = Vec::new();
        for token in &polled {
            pairs.extend(self.connections[token].pairs());
        }
        self.shared.counters.polls += (polled.len() + pairs.len()) as u64;
        let states = if polled.is_empty() { Vec::new() } else { kernel.connections(&polled) };
        let subflows = if pairs.is_empty() { Vec::new() } else { kernel.subflows(&pairs) };
        assert_eq!((states.len(), subflows.len()), (polled.len(), pairs.len()), "an answer each");
        let (mut states, mut subflows) = (states.into_iter(), subflows.into_iter());
        for &token in round {
            let Some(mut connection) = self.take(token) else { continue };
            let mut alive = true;
            if connection.poll_due(now) {
                let state = states.next().expect("as many as polled");
                let own: Vec<Answer<Tcp>> = subflows.by_ref().take(connection.pairs().count()).collect();
                let own: Result<Vec<Option<Tcp>>, Unreadable> = own.into_iter().collect();
                if let (Ok(state), Ok(own)) = (state, own) {
                    alive =
                        connection.poll(&mut Context { now, shared: &mut self.shared, kernel }, state.as_ref(), &own);
                } else {
                    // of the others this says nothing
                    self.shared.counters.unreadable += 1;
                    connection.unreadable(now, &mut self.shared);
                }
            }
            if alive {
                connection.act(&mut Context { now, shared: &mut self.shared, kernel });
            } else {
                self.shared.counters.vanished += 1;
                connection.end(now, &mut self.shared);
            }
            if alive && !self.give_up(now, &mut connection) {
                self.due.insert((connection.next(now), token));
                self.put(connection);
            }
        }
    }

    /// Takes a connection out; its subflows are counted again when it is put back.
    fn take(&mut self, token: Token) -> Option<Box<Connection>> {
        let connection = self.connections.remove(&token)?;
        connection.lanes_used().for_each(|lane| self.shared.subflows[lane] -= 1);
        Some(connection)
    }

    fn put(&mut self, connection: Box<Connection>) {
        connection.lanes_used().for_each(|lane| self.shared.subflows[lane] += 1);
        self.connections.insert(connection.token(), connection);
    }

    /// Whether a connection is not to be managed any more, because the kernel does not obey.
    fn give_up(&mut self, now: Time, connection: &mut Connection) -> bool {
        if connection.standing.unmanaged {
            self.shared.counters.left += 1;
            self.shared.publish(Event::Unmanaged { token: connection.token().to_string() });
            connection.end(now, &mut self.shared);
        }
        connection.standing.unmanaged
    }

    fn arrived(&mut self, now: Time, arrival: Arrival, found: Option<(&Mptcp, &[&Tcp])>, kernel: &mut dyn Kernel) {
        let side = if arrival.server_side { self.shared.settings.server } else { self.shared.settings.client };
        let Some(home) = self.shared.lane_of(arrival.pair.local.ip()).filter(|_| side) else {
            self.shared.counters.left += 1;
            return;
        };
        if self.connections.len() >= self.shared.settings.limits.connections {
            self.shared.counters.refused += 1;
            return;
        }
        // whose it is has to be asked for, so only where a rule wants to know
        let owner = if !self.shared.settings.rules.iter().any(|rule| !rule.users.is_empty() || !rule.cgroups.is_empty())
        {
            None
        } else if let Some((mptcp, _)) = found {
            Some((mptcp.uid, mptcp.cgroup))
        } else {
            let state = kernel.connections(&[arrival.token]).into_iter().flatten();
            state.flatten().next().map(|mptcp| (mptcp.uid, mptcp.cgroup))
        };
        let cgroup = owner.and_then(|(_, id)| kernel.cgroup(id?));
        let uid = owner.map(|(uid, _)| uid);
        let (rule, treatment) = self.shared.treatment(&arrival, uid, cgroup.as_deref());
        let (Judging { judge, open: opens, open_after }, long) = match treatment {
            Treatment::Leave => {
                self.shared.counters.left += 1;
                return;
            }
            Treatment::Judged(judging) => (judging, false),
            Treatment::Long => (self.shared.settings.judging(), true),
        };
        let handling = Handling { rule, judge, opens, open_after, long };
        self.shared.counters.managed += 1;
        self.shared.counters.adopted += u64::from(arrival.adopted);
        let token = arrival.token;
        let before = self.before.remove(&token).filter(|before| arrival.adopted && before.pair == Some(arrival.pair));
        let since = before.as_ref().map_or(now, |before| before.began);
        let mut connection = Box::new(Connection::new(since, arrival, home, handling, &mut self.shared, now));
        if let Some((mptcp, joined)) = found {
            connection.adopt(now, mptcp, joined, &mut self.shared);
        }
        connection.invite(before.map(|before| before.announced).unwrap_or_default());
        connection.act(&mut Context { now, shared: &mut self.shared, kernel });
        self.due.insert((connection.next(now), token));
        self.put(connection);
    }

    fn over(&mut self, now: Time, token: Token) {
        if let Some(mut connection) = self.take(token) {
            self.due.remove(&(connection.scheduled(), token));
            connection.end(now, &mut self.shared);
        }
    }

    fn with(
        &mut self,
        now: Time,
        token: Token,
        kernel: &mut dyn Kernel,
        does: impl FnOnce(&mut Connection, &mut Context<'_>),
    ) {
        if let Some(connection) = self.connections.get_mut(&token) {
            self.due.remove(&(connection.scheduled(), token));
            connection.lanes_used().for_each(|lane| self.shared.subflows[lane] -= 1);
            does(connection, &mut Context { now, shared: &mut self.shared, kernel });
            connection.lanes_used().for_each(|lane| self.shared.subflows[lane] += 1);
            self.due.insert((connection.next(now), token));
        }
    }

    /// The state at one moment without the connections, for metrics: it costs the same however many there are. The caller
    /// adds what it knows itself: the namespace, its uptime.
    pub fn summary(&self) -> Snapshot {
        let Shared { settings, lanes, delay, subflows, .. } = &self.shared;
        let lanes = settings.lanes.iter().zip(lanes).zip(delay).zip(subflows);
        let lanes = lanes.map(|(((lane, state), delay), subflows)| LaneStatus {
            name: lane.name.clone(),
            role: role(lane.role).to_owned(),
            interface: lane.interface.clone(),
            addresses: state.addresses.clone(),
            up: usable(state),
            subflows: *subflows,
            queueing_delay_us: delay.map(|delay| delay.as_secs_f64() * 1e6),
        });
        Snapshot {
            version: crate::IDENTITY.version.to_owned(),
            lanes: lanes.collect(),
            managed: self.connections.len(),
            counters: self.shared.counters,
            ..Snapshot::default()
        }
    }

    /// The state at one moment, with the connections, for people.
    pub fn snapshot(&self, now: Time) -> Snapshot {
        let mut listed: Vec<&Connection> = self.connections.values().map(Box::as_ref).collect();
        listed.sort_by_key(|connection| connection.began());
        let connections = listed.into_iter().take(LISTED).map(|one| one.status(now, &self.shared.settings));
        Snapshot { connections: connections.collect(), ..self.summary() }
    }
}

impl Shared {
    fn lane_of(&self, ip: IpAddr) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.addresses.contains(&ip))
    }

    fn role(&self, lane: usize) -> Role {
        self.settings.lanes[lane].role
    }

    fn usable(&self, lane: usize) -> bool {
        usable(&self.lanes[lane])
    }

    fn publish(&mut self, event: Event) {
        // whoever reads them has fallen behind; the counters still tell
        if self.events.len() < 4096 {
            self.events.push(event);
        }
    }

    /// The first rule that matches, and what it says.
    fn treatment(&self, arrival: &Arrival, uid: Option<u32>, cgroup: Option<&Path>) -> (Option<usize>, Treatment) {
        let port = if arrival.server_side { arrival.pair.local.port() } else { arrival.pair.remote.port() };
        let ip = arrival.pair.remote.ip();
        let matches = |rule: &settings::Rule| {
            (rule.destinations.is_empty() || rule.destinations.iter().any(|net| net.contains(&ip)))
                && (rule.ports.is_empty() || rule.ports.iter().any(|ports| ports.contains(&port)))
                && (rule.users.is_empty() || uid.is_some_and(|uid| rule.users.contains(&uid)))
                && (rule.cgroups.is_empty()
                    || cgroup.is_some_and(|path| rule.cgroups.iter().any(|above| path.starts_with(above))))
                && rule.server_side.is_none_or(|side| side == arrival.server_side)
        };
        match self.settings.rules.iter().position(matches) {
            Some(rule) => (Some(rule), self.settings.rules[rule].then.clone()),
            None => (None, Treatment::Judged(self.settings.judging())),
        }
    }

    /// A connection to `peer` turned out long or short; remembered only where it is asked for.
    fn ended(&mut self, now: Time, peer: Peer, long: bool) {
        if self.settings.history.as_ref().is_some_and(|history| history.long_share.is_some()) {
            self.history.ended(now, peer, long);
        }
    }

    /// A connection wants no more joins at an address.
    fn unlisten(&mut self, at: SocketAddr) {
        if let std::collections::btree_map::Entry::Occupied(mut wanted) = self.listening.entry(at) {
            *wanted.get_mut() -= 1;
            if *wanted.get() == 0 {
                wanted.remove();
                self.stale = true;
            }
        }
    }

    /// A poll's interval, grown with the number of those that need one.
    fn interval(&self, class: Class, least: Span) -> Span {
        let fair = Span::from_micros(
            self.classes[class as usize].saturating_mul(1_000_000) / POLLS_PER_SECOND[class as usize],
        );
        least.max(fair)
    }

    fn reclass(&mut self, from: Class, to: Class) {
        self.classes[from as usize] -= 1;
        self.classes[to as usize] += 1;
    }

    /// Takes in a round trip of a lane, whoever measured it, and tells the smallest one known.
    fn measured(&mut self, now: Time, host: u64, lane: usize, srtt: Span) -> Option<Span> {
        if self.measured.len() >= DESTINATIONS && !self.measured.contains_key(&(host, lane)) {
            self.measured.clear();
        }
        self.measured.insert((host, lane), (now, srtt));
        let base = self.history.measured(now, host, lane, srtt);
        self.delay[lane] = base.map(|base| srtt.saturating_sub(base));
        base
    }

    /// A round trip of a lane no older than the interval of probes.
    fn fresh(&self, now: Time, host: u64, lane: usize) -> Option<(Time, Span)> {
        let &(when, srtt) = self.measured.get(&(host, lane))?;
        (now.since(when) < self.settings.timing.probe_interval).then_some((when, srtt))
    }
}

fn usable(lane: &LaneState) -> bool {
    lane.up && !lane.addresses.is_empty()
}

/// What tells a connection from an earlier one of the same name.
fn ports(pair: &FourTuple) -> (u16, u16) {
    (pair.local.port(), pair.remote.port())
}

/// `TCP_ESTABLISHED`, `TCP_CLOSE_WAIT` of `include/net/tcp_states.h`.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

fn is_open(tcp: &Tcp) -> bool {
    matches!(tcp.state, ESTABLISHED | CLOSE_WAIT)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Short => "short",
        Role::Long => "long",
    }
}

fn remember(settings: &Settings) -> headway_control::lanes::History {
    settings.history.clone().unwrap_or_default().memory()
}

/// The number that stands for a host in histories.
fn host(ip: IpAddr) -> u64 {
    match ip {
        IpAddr::V4(ip) => u64::from(u32::from(ip)),
        // the prefix and the interface's identifier, folded: a collision shares what two hosts' lanes cost
        IpAddr::V6(ip) => {
            let bits = u128::from(ip);
            ((bits >> 64) as u64).rotate_left(32) ^ bits as u64
        }
    }
}

fn peer(arrival: &Arrival) -> Peer {
    let service = if arrival.server_side { arrival.pair.local.port() } else { arrival.pair.remote.port() };
    Peer { host: host(arrival.pair.remote.ip()), service }
}
