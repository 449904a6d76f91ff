//! Hosts that listen: places for connections whose handshake is under way, and for those that no program has taken yet.
//!
//! As Linux has it (6.12, `net/ipv4/tcp_input.c: tcp_conn_request`, `net/ipv4/tcp_minisocks.c: tcp_check_req`,
//! `net/ipv4/tcp_ipv4.c: tcp_v4_syn_recv_sock`, `include/net/sock.h: sk_acceptq_is_full`):
//!
//! * SYN takes a place in the SYN queue. If that is full, it is answered by a SYN cookie (`net.ipv4.tcp_syncookies` = 1, the
//!   default): the host keeps nothing of it, so SYN-ACK is not sent again. Without cookies SYN is dropped without an answer,
//!   and it always is if the accept queue is full; the client sends it again after its time-out.
//! * The third part of the handshake moves the connection to the accept queue. If that is full, it is dropped (the client
//!   believes in a connection that the server does not have yet; SYN-ACK and data are sent again), or answered by a reset
//!   with `net.ipv4.tcp_abort_on_overflow`.
//! * The accept queue is full when it holds one more than its backlog.
//!
//! Linux takes one number for both queues (`sk_max_ack_backlog`); here each has its own.
//!
//! **Left out:** the options that a cookie has no room for; the end of a half-open connection after so many SYN-ACKs
//! (`tcp_synack_retries`); without cookies the last quarter of `tcp_max_syn_backlog`, which is kept for peers that are known
//! from before; the rule that drops young SYNs from an accept queue of three quarters of old kernels.

use std::collections::BTreeMap;

use headway_fabric::NodeId;
use headway_units::Time;

use super::Tcp;
use super::connection::SynAnswer;
use crate::environment::Environment;
use crate::segment::{Frame, flag};
use crate::socket::Socket;

/// Places of a listening host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    /// Connections whose handshake is under way, at most.
    pub syn_queue: u32,
    /// Those that find no place there are answered by cookies.
    pub cookies: bool,
    /// The accept queue holds one more than this.
    pub backlog: u32,
    /// A connection that finds the accept queue full is reset and not left to try again.
    pub refuse: bool,
}

/// A listening host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    places: Places,
    half_open: u32,
    waiting: u32,
    pub counters: ListenCounters,
}

/// What became of connections at a listening host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListenCounters {
    /// SYNs that were dropped.
    pub syns_dropped: u64,
    /// SYNs that were answered by cookies.
    pub cookies: u64,
    /// Third parts of handshakes, or data in their place, that were dropped.
    pub overflows: u64,
    /// Connections that were reset.
    pub refused: u64,
    /// The most places taken in the SYN queue.
    pub most_half_open: u32,
    /// The most places taken in the accept queue.
    pub most_waiting: u32,
}

/// All listening hosts.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    by_host: BTreeMap<NodeId, Listener>,
}

impl Listening {
    /// Whether any host listens.
    #[inline]
    pub fn any(&self) -> bool {
        !self.by_host.is_empty()
    }

    /// `host` listens from now on.
    pub fn add(&mut self, host: NodeId, places: Places) {
        let counters = ListenCounters::default();
        self.by_host.insert(host, Listener { places, half_open: 0, waiting: 0, counters });
    }

    /// A listening host.
    pub fn get(&self, host: NodeId) -> Option<&Listener> {
        self.by_host.get(&host)
    }

    /// A program of `host` has taken a connection from the accept queue, or it is gone from there.
    pub fn take(&mut self, host: NodeId) {
        self.by_host.get_mut(&host).expect("it listens").waiting -= 1;
    }
}

impl Listener {
    fn is_full(&self) -> bool {
        self.waiting > self.places.backlog
    }

    /// Takes a place for a new connection, if there is one; says what its SYN is now.
    fn admit(&mut self) -> SynAnswer {
        let place = self.half_open < self.places.syn_queue;
        if self.is_full() || !place && !self.places.cookies {
            self.counters.syns_dropped += 1;
            return SynAnswer::Listens;
        }
        if !place {
            self.counters.cookies += 1;
            return SynAnswer::Cookie;
        }
        self.half_open += 1;
        self.counters.most_half_open = self.counters.most_half_open.max(self.half_open);
        SynAnswer::HalfOpen
    }
}

impl Tcp {
    /// The connection that `opener` opens, now, goes to a listening host.
    pub fn opens_to_listener(&mut self, opener: Socket) {
        self.connections[opener.connection as usize].stream_mut().answer = SynAnswer::Listens;
    }

    /// Whether a frame to the receiver of `subflow` finds a place at a host that listens, or needs none.
    pub(super) fn admits(&mut self, now: Time, subflow: u32, frame: &Frame, env: &mut Environment) -> bool {
        let place = self.receivers[subflow as usize].connection;
        let connection = &mut self.connections[place as usize];
        let host = env.flows[connection.flow].start.destination;
        let answer = &mut connection.stream_mut().answer;
        let syn = frame.tag & flag::SYN != 0;
        let listener = match (*answer, syn) {
            (SynAnswer::AtOnce | SynAnswer::Asks | SynAnswer::Asked, _) | (SynAnswer::HalfOpen, true) => return true,
            // a reset of a connection that it does not know
            (SynAnswer::Listens, false) => return false,
            _ => self.listening.by_host.get_mut(&host).expect("it listens"),
        };
        if syn {
            *answer = listener.admit();
            return *answer != SynAnswer::Listens;
        }
        let kept = *answer == SynAnswer::HalfOpen;
        if !listener.is_full() {
            *answer = SynAnswer::AtOnce;
            listener.half_open -= u32::from(kept);
            listener.waiting += 1;
            listener.counters.most_waiting = listener.counters.most_waiting.max(listener.waiting);
            return true;
        }
        if kept && listener.places.refuse {
            listener.counters.refused += 1;
            let acceptor = self.socket(place, false);
            self.abort(now, acceptor, env);
        } else {
            listener.counters.overflows += 1;
        }
        false
    }

    /// The acceptor of `connection` is gone: if its handshake was under way, it leaves its place.
    pub(super) fn end_half_open(&mut self, connection: u32, env: &Environment) {
        let own = &mut self.connections[connection as usize];
        let host = env.flows[own.flow].start.destination;
        let answer = &mut own.stream_mut().answer;
        if *answer == SynAnswer::HalfOpen {
            *answer = SynAnswer::Listens;
            self.listening.by_host.get_mut(&host).expect("it listens").half_open -= 1;
        }
    }
}
