//! Flows as messages on connections that stay open.
//!
//! Two hosts have a pool of connections, each of which carries one message at a time: a flow takes one that is idle, or
//! waits for one, first come, first served (HTTP/1.1 and most RPC libraries use their pools like that). Where flows are
//! asked for, the destination opens the connection and asks, and the source answers with the flow.

use std::collections::{BTreeMap, VecDeque};

use headway_fabric::NodeId;
use headway_traffic::MAX_GENERATORS;
use headway_transport::{End, FlowEnd, FlowStart, Profile, Socket, SocketEvent, Sockets, Troubles};
use headway_units::{Bytes, Span, Time};

use super::error::PlanError;
use super::traffic::{FlowsPlan, Starts};
use crate::schema::{OpenAt, PolicyRecord, PoolRecord, Protocol};

/// The longest time between two connections that open before the flows: a thousand handshakes must not meet in a queue.
const BETWEEN: Span = Span::from_micros(10);

/// More connections than this before the flows are a mistake in the numbers of hosts.
const MOST_BEFORE: u64 = 100_000;

/// An application learns of a completion in the next instant, as it does where flows have connections of their own.
const NOTICE: Span = Span::from_picos(1);

/// The pools of a traffic.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    per_pair: u32,
    open: OpenAt,
    /// What it takes to ask for a flow, if they are asked for.
    request: Option<Bytes>,
    /// The number by which connections are reported.
    pub number: u16,
    /// Pools begin to open at the start of the run, and have this long.
    before: Span,
}

impl Pool {
    /// The connections that so many messages between so many pairs of hosts have, at most.
    pub fn connections(&self, pairs: u64, messages: f64) -> f64 {
        let all = pairs as f64 * f64::from(self.per_pair);
        if self.open == OpenAt::Start { all } else { all.min(messages) }
    }
}

impl FlowsPlan {
    /// Its flows as messages on connections as `record` says, which are reported by `number`.
    ///
    /// # Errors
    /// If there is no time to open connections, or there are too many of them.
    pub(super) fn pooled(mut self, record: Option<&PoolRecord>, number: usize, start: Span) -> Result<Self, PlanError> {
        let Some(record) = record else { return Ok(self) };
        let (index, name) = (self.index.to_string(), &self.name);
        let fault = |key: &str, message: String| PlanError::new(&["traffic", &index, "connections", key], message);
        let pairs = self.sources.len() as u64 * self.destinations.len() as u64;
        let all = pairs.saturating_mul(u64::from(record.per_pair));
        let before = if record.open == OpenAt::Start { self.pairs_before() } else { 0 };
        let before = before.saturating_mul(u64::from(record.per_pair));
        if before > MOST_BEFORE || all > u64::from(u32::MAX) {
            let message = format!("`traffic.{name}` has {} connections, more than {MOST_BEFORE}", before.max(all));
            return Err(fault("per-pair", message).help("take fewer hosts, or open = \"first-use\""));
        }
        if record.open == OpenAt::Start && start.is_zero() {
            let message = format!("the connections of `traffic.{name}` have no time to open before its flows start");
            let help = "give it time with `start`, for example start = \"10ms\"; or open = \"first-use\"";
            return Err(fault("open", message).help(help));
        }
        let (per_pair, open, request) = (record.per_pair, record.open, record.request);
        self.pool = Some(Pool { per_pair, open, request, number: number as u16, before: start });
        Ok(self)
    }

    /// Connections that stay are plain TCP, of modelled hosts.
    pub(super) fn check_pool(&self, profile: &Profile, policy: &PolicyRecord, index: usize) -> Result<(), PlanError> {
        if self.pool.is_none() {
            return Ok(());
        }
        let (name, number) = (&*self.name, index.to_string());
        let own: &[&str] = if policy.traffic.get(name).is_some() { &["traffic", name] } else { &["transport"] };
        let transport = policy.traffic.get(name).unwrap_or(&policy.transport);
        let other = match transport.protocol {
            Protocol::Roce(_) => Some("RoCE"),
            _ if profile.multipath.is_some() => Some("MPTCP"),
            _ => None,
        };
        if let Some(other) = other {
            let message =
                format!("policy `{}` has {other} for traffic `{name}`, whose connections stay open", policy.name);
            let help = format!("they are plain TCP: [policy.traffic] {name} = \"tcp\"");
            return Err(PlanError::new(&[&["policy", &number], own].concat(), message).help(help));
        }
        if policy.replicate.is_some() {
            let message =
                format!("policy `{}` sends copies of flows, and those of traffic `{name}` are messages", policy.name);
            let help = "a message on a connection that stays open has no copy: leave `replicate` or `connections` out";
            return Err(PlanError::new(&["policy", &number, "replicate"], message).help(help));
        }
        Ok(())
    }
}

/// A connection of a pool.
#[derive(Debug)]
struct Connection {
    pool: (NodeId, NodeId),
    /// The opener's end.
    socket: Socket,
    /// The message that it carries.
    message: Option<usize>,
    /// Its request is under way.
    asks: bool,
    /// Bytes of what is under way that the send buffer has not taken, and that are not there.
    unwritten: u64,
    missing: u64,
    /// What it had to repair before this message, which is charged with a handshake that it waited for.
    before: Troubles,
}

/// The connections between two hosts.
#[derive(Debug, Default)]
struct Pair {
    opened: u32,
    connecting: u32,
    /// Those without a message; the one that was used last is taken first.
    idle: Vec<usize>,
    /// Messages without a connection.
    waiting: VecDeque<usize>,
}

/// The messages of one run, and what carries them.
pub(super) struct MessageStarts<'a> {
    starts: Starts<'a>,
    pool: &'a Pool,
    plan: &'a FlowsPlan,
    pairs: BTreeMap<(NodeId, NodeId), Pair>,
    connections: Vec<Connection>,
    /// Places of connections by the names of the flows that stand for them.
    places: BTreeMap<u64, usize>,
    messages: Vec<FlowEnd>,
    /// Connections that open before flows start, last first.
    unopened: Vec<(NodeId, NodeId)>,
    next: Time,
    between: Span,
}

impl<'a> MessageStarts<'a> {
    pub fn new(starts: Starts<'a>, plan: &'a FlowsPlan, pool: &'a Pool) -> MessageStarts<'a> {
        let mut unopened = Vec::new();
        if pool.open == OpenAt::Start {
            // one of each pool, then the second of each
            let pairs = starts.pairs();
            unopened = (0..pool.per_pair).flat_map(|_| pairs.iter().copied()).collect();
            unopened.reverse();
        }
        // half of the time there is, so that handshakes are over before the first flow
        let between = pool.before.picos() / (2 * unopened.len().max(1) as u64);
        let between = BETWEEN.min(Span::from_picos(between));
        MessageStarts {
            starts,
            pool,
            plan,
            pairs: BTreeMap::new(),
            connections: Vec::new(),
            places: BTreeMap::new(),
            messages: Vec::new(),
            unopened,
            next: Time::ZERO,
            between,
        }
    }

    pub fn index(&self) -> u16 {
        self.starts.index()
    }

    /// When it acts next; nothing if not before a message is there.
    pub fn next_time(&mut self) -> Option<Time> {
        let opens = (!self.unopened.is_empty()).then_some(self.next);
        match (self.starts.next_time(), opens) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Opens the connections whose time has come, and starts flows.
    pub fn act(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        while self.next <= now
            && let Some(pair) = self.unopened.pop()
        {
            self.open(now, pair, sockets);
            self.next = self.next.saturating_add(self.between);
        }
        while self.starts.next_time().is_some_and(|time| time <= now)
            && let Some(start) = self.starts.start(now)
        {
            let message = self.messages.len();
            self.messages.push(FlowEnd { subflows: 1, ..FlowEnd::new(start, None, 0) });
            let ends = (start.source, start.destination);
            let pair = self.pairs.entry(ends).or_default();
            if let Some(place) = pair.idle.pop() {
                let connection = &mut self.connections[place];
                connection.before = sockets.troubles(connection.socket);
                self.carry(place, message, sockets);
                continue;
            }
            pair.waiting.push_back(message);
            let all_for_others = pair.waiting.len() > pair.connecting as usize;
            if self.pool.open == OpenAt::FirstUse && pair.opened < self.pool.per_pair && all_for_others {
                self.open(now, ends, sockets);
            }
        }
    }

    /// Opens another connection of a pool.
    fn open(&mut self, now: Time, (source, destination): (NodeId, NodeId), sockets: &mut Sockets<'_>) {
        let pair = self.pairs.entry((source, destination)).or_default();
        let plan = self.plan;
        let place = |hosts: &[NodeId], host: NodeId| hosts.iter().position(|&own| own == host).unwrap_or(0) as u64;
        let ends =
            place(&plan.sources, source) * plan.destinations.len() as u64 + place(&plan.destinations, destination);
        // the same whatever opens before it: its path must not depend on that
        let number = ends * u64::from(self.pool.per_pair) + u64::from(pair.opened);
        pair.opened += 1;
        pair.connecting += 1;
        let [from, to] = if self.pool.request.is_some() { [destination, source] } else { [source, destination] };
        let start = FlowStart {
            time: now,
            id: plan.id(MAX_GENERATORS as u32 - 1, number),
            traffic: self.pool.number,
            source: from,
            destination: to,
            size: None,
            deadline: None,
            profile: plan.index,
        };
        let socket = sockets.open(start).expect("paths were checked when it was planned");
        self.places.insert(start.id, self.connections.len());
        let (pool, before) = ((source, destination), Troubles::default());
        let idle = Connection { pool, socket, message: None, asks: false, unwritten: 0, missing: 0, before };
        self.connections.push(idle);
    }

    /// The idle connection at `place` takes a message.
    fn carry(&mut self, place: usize, message: usize, sockets: &mut Sockets<'_>) {
        let connection = &mut self.connections[place];
        let size = self.messages[message].start.size.unwrap_or(Bytes::ZERO);
        let (socket, request) = (connection.socket, self.pool.request);
        let asked = request.map_or(Span::ZERO, |request| sockets.ideal(socket, request));
        let source = if request.is_some() { socket.peer() } else { socket };
        self.messages[message].ideal = sockets.ideal(source, size).checked_add(asked);
        let bytes = request.unwrap_or(size).get();
        connection.message = Some(message);
        connection.asks = request.is_some();
        (connection.unwritten, connection.missing) = (bytes, bytes);
        self.write(place, sockets);
    }

    /// Writes what the send buffer takes.
    fn write(&mut self, place: usize, sockets: &mut Sockets<'_>) {
        let answers = self.pool.request.is_some();
        let connection = &mut self.connections[place];
        if connection.unwritten > 0 {
            let opener = connection.socket;
            let writer = if answers && !connection.asks { opener.peer() } else { opener };
            connection.unwritten -= sockets.write(writer, Bytes::new(connection.unwritten)).get();
        }
    }

    /// The connection at `place` has nothing to do: it takes the message that has waited longest.
    fn rest(&mut self, place: usize, sockets: &mut Sockets<'_>) {
        let pair = self.pairs.entry(self.connections[place].pool).or_default();
        match pair.waiting.pop_front() {
            Some(message) => self.carry(place, message, sockets),
            None => pair.idle.push(place),
        }
    }

    /// Something has happened at an end of connection `id`.
    pub fn on_socket(&mut self, now: Time, (socket, id): (Socket, u64), event: SocketEvent, sockets: &mut Sockets<'_>) {
        let Some(&place) = self.places.get(&id) else { return };
        match event {
            SocketEvent::Connected if socket.end == End::Opener => {
                let pool = self.connections[place].pool;
                self.pairs.entry(pool).or_default().connecting -= 1;
                self.rest(place, sockets);
            }
            SocketEvent::Writable => self.write(place, sockets),
            SocketEvent::Readable => {
                let bytes = sockets.read(socket, Bytes::new(u64::MAX));
                self.received(now, place, bytes.get(), sockets);
            }
            SocketEvent::Connected
            | SocketEvent::Asked
            | SocketEvent::PeerClosed
            | SocketEvent::Closed
            | SocketEvent::Reset => {}
        }
    }

    /// So many bytes of what is under way are there.
    fn received(&mut self, now: Time, place: usize, bytes: u64, sockets: &mut Sockets<'_>) {
        let connection = &mut self.connections[place];
        let Some(message) = connection.message else { return };
        connection.missing -= bytes;
        let end = &mut self.messages[message];
        if connection.asks {
            if connection.missing == 0 {
                connection.asks = false;
                let size = end.start.size.map_or(0, Bytes::get);
                (connection.unwritten, connection.missing) = (size, size);
                self.write(place, sockets);
            }
            return;
        }
        end.delivered += bytes;
        let (after, before) = (sockets.troubles(connection.socket), connection.before);
        end.retransmissions = after.retransmissions - before.retransmissions;
        end.timeouts = after.timeouts - before.timeouts;
        end.marks = after.marks - before.marks;
        end.waits = after.waits.map(|waits| waits.since(before.waits.unwrap_or_default()));
        if connection.missing == 0 {
            end.end = Some(now);
            connection.message = None;
            connection.before = after;
            let generator = (end.start.id >> 32) as u32 & (MAX_GENERATORS as u32 - 1);
            self.starts.completed(now.saturating_add(NOTICE), generator);
            self.rest(place, sockets);
        }
    }

    /// Its flows.
    pub fn finish(self) -> impl Iterator<Item = FlowEnd> + 'a {
        self.messages.into_iter()
    }
}
