//! Relays crash: the host, whose cables go down with it and which comes back knowing nothing, or the process alone.
//!
//! A *host* that crashes is silent: its peers repeat what is not acknowledged, and are answered with resets once it is
//! back. A new connection's SYN is repeated, too, and then answered; one that the relay had not answered before the crash
//! is like a new one. When the *process* crashes its kernel resets all its connections at once, and refuses new ones until
//! the process is back. A connection whose SYN has not come is none of its own yet. A relay that comes back, from all
//! crashes that overlap, opens what its pool has lost of its warm connections.
//!
//! Cables are the fabric's: who makes a host crash lets them fail at the same time ([`Failure`](crate::Failure)).
//!
//! Leaves out: SYN-ACKs that were lost in the crash (SYN is then answered with a reset), and probes of idle connections, so
//! that who only listens to a host that crashed never hears of it.

use std::collections::BTreeMap;

use headway_engine::{EventClass, Source};
use headway_fabric::NodeId;
use headway_units::Time;

use super::session::Session;
use super::{Relays, Rest};
use crate::slots::put;
use crate::socket::{End, Owner, Socket};
use crate::tcp::sender::SenderCounters;

/// What of a relay crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrashKind {
    /// The host with its kernel and all connections.
    Host,
    /// The relay's process; the kernel lives on.
    Process,
}

/// A relay that crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crash {
    /// The relay.
    pub host: NodeId,
    /// What crashes.
    pub kind: CrashKind,
    /// When.
    pub at: Time,
    /// When it is back; `None`: not in this run. Later than `at`.
    pub until: Option<Time>,
}

/// The changes of a run.
#[derive(Debug, Default)]
pub(super) struct Crashes {
    /// In order of time: the relay, what of it, and whether it is lost or back.
    changes: Vec<(Time, bool, NodeId, CrashKind)>,
    next: usize,
    /// Crashes that are not over, of relays: of their hosts, and of their processes.
    down: BTreeMap<NodeId, [u32; 2]>,
}

/// The entity of crashes' events among changes: after those of links.
pub(crate) const ENTITY: u32 = 1;

impl Crashes {
    /// Whether new connections to `host` are refused.
    pub fn refuses(&self, host: NodeId) -> bool {
        self.down.get(&host).is_some_and(|count| count[CrashKind::Process as usize] > 0)
    }

    /// One more crash of `host`.
    fn begin(&mut self, host: NodeId, kind: CrashKind) {
        self.down.entry(host).or_default()[kind as usize] += 1;
    }

    /// One of them is over; says whether that was the last.
    fn end(&mut self, host: NodeId, kind: CrashKind) -> bool {
        let count = self.down.get_mut(&host).expect("it has crashed");
        count[kind as usize] -= 1;
        *count == [0; 2]
    }
}

impl Relays {
    /// Lets relays crash.
    pub fn set_crashes(&mut self, crashes: &[Crash], rest: &mut Rest<'_>) {
        for crash in crashes {
            assert!(crash.until.is_none_or(|until| until > crash.at), "a crash ends after it begins");
            self.crashes.changes.push((crash.at, false, crash.host, crash.kind));
            self.crashes.changes.extend(crash.until.map(|until| (until, true, crash.host, crash.kind)));
        }
        self.crashes.changes.sort_unstable();
        if let Some(&(first, ..)) = self.crashes.changes.first() {
            rest.env.net.queue.push(first, Source::new(EventClass::Change, ENTITY), 0);
        }
    }

    /// Makes the changes of this instant.
    pub fn on_crash(&mut self, rest: &mut Rest<'_>) {
        let due = |&(time, ..): &(Time, bool, NodeId, CrashKind)| time == rest.now;
        let mut made = Vec::new();
        while let Some(&change) = self.crashes.changes.get(self.crashes.next).filter(|change| due(change)) {
            self.crashes.next += 1;
            made.push(change);
        }
        match self.crashes.changes.get(self.crashes.next) {
            Some(&(time, ..)) => rest.env.net.queue.reschedule(time),
            None => rest.env.net.queue.pop(),
        }
        for (_, back, host, kind) in made {
            if back { self.restore(host, kind, rest) } else { self.crash(host, kind, rest) }
        }
    }

    fn crash(&mut self, host: NodeId, kind: CrashKind, rest: &mut Rest<'_>) {
        self.crashes.begin(host, kind);
        self.work.clear(host);
        // sessions that it cuts in two are added behind
        for place in 0..self.sessions.len() as u32 {
            let session = &self.sessions[place as usize];
            let stop = (1..session.count()).find(|&stop| session.chain.stops[stop] == host);
            if let Some(stop) = stop.filter(|_| session.segments.iter().any(Option::is_some)) {
                self.crash_in(place, stop, kind, rest);
            }
        }
        self.crash_pools(host, kind, rest);
    }

    /// The relay at `stop` of a session has crashed.
    fn crash_in(&mut self, place: u32, stop: usize, kind: CrashKind, rest: &mut Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        session.waiting[stop - 1] = [false; 2];
        let ends = [(stop - 1, End::Acceptor), (stop, End::Opener)];
        let sockets = ends.map(|(segment, end)| session.segments[segment].as_ref().map(|own| own.socket(end)));
        let fresh = session.segments[stop - 1].as_ref().filter(|own| own.records.is_none());
        let fresh = fresh.is_some_and(|own| rest.tcp.is_unaccepted(own.connection));
        if fresh && kind == CrashKind::Host {
            // it had not answered: the next SYN is the first that it knows of
            if let Some(before) = sockets[0] {
                rest.tcp.forget_asking(before.connection);
            }
            self.cut_off(place, stop, rest);
        } else if let Some(before) = sockets[0].filter(|&before| is_known(before, rest)) {
            lose(before, kind, rest);
        }
        if let Some(after) = sockets[1] {
            lose(after, kind, rest);
        }
    }

    /// Makes a session of its own, which no flow belongs to, of the segments from `from` on.
    fn cut_off(&mut self, place: u32, from: usize, rest: &mut Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        let mut segments = [None, None, None];
        for (segment, own) in session.segments.iter_mut().enumerate().skip(from) {
            segments[segment] = own.take();
        }
        if segments.iter().all(Option::is_none) {
            return;
        }
        let other = self.slots.take();
        self.serial = self.serial.wrapping_add(1);
        let mut waiting = [[false; 2]; 2];
        for stop in from + 1..session.count() {
            waiting[stop - 1] = std::mem::take(&mut session.waiting[stop - 1]);
            let (old, new) = ((place, session.serial), (other, self.serial));
            self.work.hand_over((session.chain.stops[stop], stop), old, new);
        }
        for own in segments.iter().flatten() {
            rest.tcp.set_owner(own.connection, Owner::Session(other));
        }
        let session = Session {
            plan: session.plan,
            serial: self.serial,
            flow: None,
            chain: session.chain,
            segments,
            unwritten: 0,
            delivered: 0,
            done: SenderCounters::default(),
            opened: 0,
            resets: 0,
            waiting,
        };
        put(&mut self.sessions, other, session);
    }

    /// The connections of the host that no session has.
    fn crash_pools(&mut self, host: NodeId, kind: CrashKind, rest: &mut Rest<'_>) {
        for place in 0..self.pools.all.len() as u32 {
            let pooled = self.pools.all[place as usize];
            let pool = &self.pools.each[pooled.pool as usize];
            let end = if pool.from == host {
                End::Opener
            } else if pool.to == host {
                End::Acceptor
            } else {
                continue;
            };
            if self.pools.slots.free.contains(&place) {
                continue;
            }
            if end == End::Opener {
                self.pools.withdraw(place);
            }
            let socket = Socket { connection: pooled.connection, end };
            if rest.tcp.owner(socket) == Owner::Pool(place) && is_known(socket, rest) {
                lose(socket, kind, rest);
            }
        }
    }

    fn restore(&mut self, host: NodeId, kind: CrashKind, rest: &mut Rest<'_>) {
        if !self.crashes.end(host, kind) {
            return;
        }
        for relay in 0..self.settings.len() as u16 {
            if self.settings[usize::from(relay)].hosts.contains(&host) {
                self.warm_up_from(host, relay, rest).expect("the pool was there before");
            }
        }
    }
}

/// Whether an end knows its connection: the acceptor not before SYN has come.
fn is_known(socket: Socket, rest: &Rest<'_>) -> bool {
    let connection = socket.connection;
    socket.end == End::Opener || !rest.tcp.is_unaccepted(connection) || rest.tcp.is_asked(connection)
}

/// One end of a connection is lost.
fn lose(socket: Socket, kind: CrashKind, rest: &mut Rest<'_>) {
    match kind {
        CrashKind::Host => rest.tcp.forget(rest.now, socket, rest.env),
        CrashKind::Process => rest.tcp.abort(rest.now, socket, rest.env),
    }
}
