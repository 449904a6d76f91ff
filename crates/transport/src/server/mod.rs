//! Servers: programs that accept connections, read requests and answer them, with workers that take time.
//!
//! A server has so many single-threaded workers (nginx' `worker_processes`), of which number `w` runs on core
//! `w mod cores` of its host. A connection waits in the accept queue of its host ([`crate::tcp::listen`]) until a worker
//! that has nothing else to do takes it, or one that has just ended a piece of work: new connections go before requests
//! of old ones, as in nginx' event loop (`ngx_process_events_and_timers`). A worker stops accepting when it has
//! `connections` open. A connection stays with its worker. Work is accepting a connection and answering a request; it is
//! a task of the core, behind all frames there, so a server under enough frames stands still.
//!
//! A request that has come whole is answered when its work is done: by as many bytes as the client said ([`Exchange`]
//! stands for the address of a page and for what is in the request), and by the end of the connection, if it is the last.
//! Clients that close are followed.
//!
//! **Left out:** disks and caches, back ends, TLS; a worker's batches of events (`epoll_wait` gives up to 512 at a time
//! and a batch of accepted connections goes first); timers of idle connections; contention for locks.

use std::collections::{BTreeMap, VecDeque};

use headway_fabric::NodeId;
use headway_units::{Bytes, Span, Time};

use crate::environment::Environment;
use crate::host::{Task, Whose};
use crate::socket::{End, Socket, SocketEvent};
use crate::tcp::Tcp;
use crate::tcp::listen::Places;

/// The time that a server's work takes of its workers' cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCost {
    /// Accepting a connection.
    pub connection: Span,
    /// Answering a request.
    pub request: Span,
    /// Further time of a request for each connection that its worker has open.
    pub open: Span,
}

/// How a host serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerModel {
    /// Workers: at least 1.
    pub workers: u32,
    /// Connections that a worker has open at most: at least 1.
    pub connections: u32,
    /// The accept queue holds one connection more than this.
    pub backlog: u32,
    /// Connections whose handshake is under way, at most: at least 1.
    pub syn_queue: u32,
    /// Connections that find no place there are answered by SYN cookies (`tcp_syncookies`).
    pub syn_cookies: bool,
    /// A connection that finds the accept queue full is reset (`tcp_abort_on_overflow`).
    pub refuse: bool,
    /// What it costs; nothing counts at hosts without a [`HostModel`](crate::HostModel).
    pub cost: ServerCost,
}

impl Default for ServerModel {
    /// Work takes no time, and there is always a place.
    fn default() -> ServerModel {
        ServerModel {
            workers: 1,
            connections: u32::MAX,
            backlog: u32::MAX,
            syn_queue: u32::MAX,
            syn_cookies: true,
            refuse: false,
            cost: ServerCost::default(),
        }
    }
}

/// What a server has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCounters {
    /// Connections taken from the accept queue.
    pub accepted: u64,
    /// Requests answered.
    pub answered: u64,
    /// SYNs dropped for want of a place.
    pub syns_dropped: u64,
    /// SYNs answered by cookies, since the SYN queue was full.
    pub cookies: u64,
    /// Ends of handshakes dropped because the accept queue was full.
    pub overflows: u64,
    /// Connections reset because of that.
    pub refused: u64,
    /// The most connections at a time whose handshake was under way.
    pub most_half_open: u32,
    /// The most connections at a time that waited to be accepted.
    pub most_waiting: u32,
    /// The most connections at a time that workers had open.
    pub most_open: u32,
}

/// A request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Bytes of the request: at least 1.
    pub request: Bytes,
    /// Bytes of the answer, headers and all.
    pub answer: Bytes,
    /// The server closes behind the answer (HTTP/1.0, or `Connection: close`).
    pub last: bool,
}

/// A worker.
#[derive(Debug, Default)]
struct Worker {
    open: u32,
    /// The connection it works on, and whether it accepts it.
    current: Option<(u32, u32, bool)>,
    /// Connections with a request that has come whole.
    ready: VecDeque<(u32, u32)>,
}

#[derive(Debug)]
struct Server {
    node: NodeId,
    model: ServerModel,
    workers: Vec<Worker>,
    /// Connections that wait, with their serial numbers.
    accept: VecDeque<(u32, u32)>,
    open: u32,
    counters: ServerCounters,
}

/// A connection at a server.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all may be true")]
struct Session {
    serial: u32,
    server: u32,
    /// Who has accepted it; nobody yet if it waits.
    worker: Option<u32>,
    waits: bool,
    /// Bytes of requests that have come and are not of those answered.
    read: u64,
    asked: VecDeque<Exchange>,
    /// It is among its worker's connections that are ready, or worked on.
    busy: bool,
    /// Bytes of answers that the send buffer had no room for, and whether the end follows.
    unwritten: u64,
    closes: bool,
    /// The client has closed.
    ended: bool,
    /// It was reset; the last event of its socket is yet to come.
    over: bool,
}

/// All servers of a run.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    all: Vec<Server>,
    by_host: BTreeMap<NodeId, u32>,
    /// By the place of the opener's connection.
    sessions: Vec<Option<Session>>,
    serial: u32,
}

/// The acceptor's end of a connection.
fn acceptor(place: u32) -> Socket {
    Socket { connection: place, end: End::Acceptor }
}

impl Servers {
    /// Makes `host` a server.
    pub fn add(&mut self, host: NodeId, model: ServerModel, tcp: &mut Tcp) {
        assert!(model.workers > 0 && model.connections > 0 && model.syn_queue > 0, "{model:?}");
        let number = self.all.len() as u32;
        assert!(self.by_host.insert(host, number).is_none(), "a host has one server");
        tcp.listening.add(
            host,
            Places {
                syn_queue: model.syn_queue,
                cookies: model.syn_cookies,
                backlog: model.backlog,
                refuse: model.refuse,
            },
        );
        self.all.push(Server {
            node: host,
            model,
            workers: (0..model.workers).map(|_| Worker::default()).collect(),
            accept: VecDeque::new(),
            open: 0,
            counters: ServerCounters::default(),
        });
    }

    /// What the server of `host` has done.
    pub fn counters(&self, host: NodeId, tcp: &Tcp) -> Option<ServerCounters> {
        let own = &self.all[*self.by_host.get(&host)? as usize];
        let listener = tcp.listening.get(host)?.counters;
        Some(ServerCounters {
            syns_dropped: listener.syns_dropped,
            cookies: listener.cookies,
            overflows: listener.overflows,
            refused: listener.refused,
            most_half_open: listener.most_half_open,
            most_waiting: listener.most_waiting,
            ..own.counters
        })
    }

    /// What all servers have done together; the greatest of their greatest.
    pub fn totals(&self, tcp: &Tcp) -> ServerCounters {
        let all = self.by_host.keys().filter_map(|&host| self.counters(host, tcp));
        all.fold(ServerCounters::default(), |sum, own| ServerCounters {
            accepted: sum.accepted + own.accepted,
            answered: sum.answered + own.answered,
            syns_dropped: sum.syns_dropped + own.syns_dropped,
            cookies: sum.cookies + own.cookies,
            overflows: sum.overflows + own.overflows,
            refused: sum.refused + own.refused,
            most_half_open: sum.most_half_open.max(own.most_half_open),
            most_waiting: sum.most_waiting.max(own.most_waiting),
            most_open: sum.most_open.max(own.most_open),
        })
    }

    /// A connection is being opened to `host`.
    pub fn expect(&mut self, opener: Socket, host: NodeId, tcp: &mut Tcp) {
        if !self.by_host.contains_key(&host) {
            self.add(host, ServerModel::default(), tcp);
        }
        tcp.opens_to_listener(opener);
        self.serial = self.serial.wrapping_add(1);
        let session = Session {
            serial: self.serial,
            server: self.by_host[&host],
            worker: None,
            waits: false,
            read: 0,
            asked: VecDeque::new(),
            busy: false,
            unwritten: 0,
            closes: false,
            ended: false,
            over: false,
        };
        let at = opener.connection as usize;
        if at >= self.sessions.len() {
            self.sessions.resize_with(at + 1, || None);
        }
        self.sessions[at] = Some(session);
    }

    /// Whether what happens at a socket is a server's.
    #[inline]
    pub fn serves(&self, socket: Socket) -> bool {
        socket.end == End::Acceptor && self.sessions.get(socket.connection as usize).is_some_and(Option::is_some)
    }

    /// A client asks for something.
    pub fn ask(&mut self, opener: Socket, exchange: Exchange) {
        assert!(exchange.request > Bytes::ZERO, "a request has bytes");
        let session = self.sessions.get_mut(opener.connection as usize).and_then(Option::as_mut);
        // the server may have reset it, which the client has yet to hear of
        if let Some(session) = session {
            session.asked.push_back(exchange);
        }
    }

    /// The session at `place`, if it is still the one with this serial number and not over.
    fn session(&mut self, (place, serial): (u32, u32)) -> Option<&mut Session> {
        self.sessions[place as usize].as_mut().filter(|own| own.serial == serial && !own.over)
    }

    /// Something has happened at a server's end of a connection.
    pub fn on_event(&mut self, now: Time, socket: Socket, event: SocketEvent, tcp: &mut Tcp, env: &mut Environment) {
        let place = socket.connection;
        let session = self.sessions[place as usize].as_mut().expect("the caller looked");
        let (serial, server, worker) = (session.serial, session.server, session.worker);
        match event {
            SocketEvent::Closed | SocketEvent::Reset => {
                self.leave(place, tcp);
                if event == SocketEvent::Closed {
                    self.sessions[place as usize] = None;
                }
                self.start_idle(now, server, tcp, env);
            }
            _ if tcp.is_gone(socket) => {}
            SocketEvent::Asked => unreachable!("a listening host answers SYN"),
            SocketEvent::Connected => {
                session.waits = true;
                self.all[server as usize].accept.push_back((place, serial));
                self.start_idle(now, server, tcp, env);
            }
            SocketEvent::Readable => {
                session.read += tcp.read(now, socket, u64::MAX, env);
                self.consider(now, (place, serial), tcp, env);
                self.resume(now, (server, worker), tcp, env);
            }
            SocketEvent::PeerClosed => {
                session.ended = true;
                self.consider(now, (place, serial), tcp, env);
                self.resume(now, (server, worker), tcp, env);
            }
            SocketEvent::Writable => {
                self.write(now, (place, serial), tcp, env);
                self.resume(now, (server, worker), tcp, env);
            }
        }
    }

    /// Lets the worker of a connection, if it has one, go on.
    fn resume(&mut self, now: Time, (server, worker): (u32, Option<u32>), tcp: &mut Tcp, env: &mut Environment) {
        if let Some(worker) = worker {
            self.go_on(now, server, worker, tcp, env);
        }
    }

    /// The connection at `place` is over for its server and leaves its places. It is the server's until it is closed.
    fn leave(&mut self, place: u32, tcp: &mut Tcp) {
        let Some(session) = self.sessions[place as usize].as_mut() else { return };
        session.over = true;
        let server = &mut self.all[session.server as usize];
        if std::mem::take(&mut session.waits) {
            server.accept.retain(|&(waiting, _)| waiting != place);
            tcp.listening.take(server.node);
        }
        if let Some(worker) = session.worker.take() {
            server.workers[worker as usize].open -= 1;
            server.open -= 1;
        }
    }

    /// The server closes its end: its worker has one connection less.
    fn close(&mut self, now: Time, key: (u32, u32), tcp: &mut Tcp, env: &mut Environment) {
        let Some(session) = self.session(key) else { return };
        let (server, worker) = (session.server, session.worker.take());
        let server = &mut self.all[server as usize];
        if let Some(worker) = worker {
            server.workers[worker as usize].open -= 1;
            server.open -= 1;
        }
        tcp.shut(now, acceptor(key.0), &mut env.net);
    }

    /// Looks at an accepted connection: it has a request that has come whole, which its worker is to answer, or is over, or
    /// neither.
    fn consider(&mut self, now: Time, key: (u32, u32), tcp: &mut Tcp, env: &mut Environment) {
        let Some(session) = self.session(key) else { return };
        let Some(worker) = session.worker.filter(|_| !session.busy && session.unwritten == 0) else { return };
        let whole = session.asked.front().is_some_and(|next| session.read >= next.request.get());
        if whole {
            session.busy = true;
            let server = session.server;
            self.all[server as usize].workers[worker as usize].ready.push_back(key);
        } else if session.ended {
            self.close(now, key, tcp, env);
        }
    }

    /// Lets the idle worker with the fewest connections, the first of several, go on.
    fn start_idle(&mut self, now: Time, server: u32, tcp: &mut Tcp, env: &mut Environment) {
        let workers = &self.all[server as usize].workers;
        let idle = (0..).zip(workers).filter(|(_, worker)| worker.current.is_none());
        if let Some((worker, _)) = idle.min_by_key(|(_, worker)| worker.open) {
            self.go_on(now, server, worker, tcp, env);
        }
    }

    /// Lets a worker that has ended its work begin the next. What takes no time is done at once.
    fn go_on(&mut self, now: Time, number: u32, worker: u32, tcp: &mut Tcp, env: &mut Environment) {
        loop {
            let server = &mut self.all[number as usize];
            let own = &mut server.workers[worker as usize];
            if own.current.is_some() {
                return;
            }
            let cost = server.model.cost;
            let may_accept = own.open < server.model.connections;
            let (key, accepts, span) = if let Some(key) = may_accept.then(|| server.accept.pop_front()).flatten() {
                own.open += 1;
                server.open += 1;
                server.counters.accepted += 1;
                server.counters.most_open = server.counters.most_open.max(server.open);
                tcp.listening.take(server.node);
                (key, true, cost.connection)
            } else if let Some(key) = own.ready.pop_front() {
                (key, false, cost.request + cost.open.saturating_mul(u64::from(own.open)))
            } else {
                return;
            };
            own.current = Some((key.0, key.1, accepts));
            if accepts && let Some(session) = self.session(key) {
                session.waits = false;
                session.worker = Some(worker);
            }
            let node = self.all[number as usize].node;
            let tag = u64::from(number) << 32 | u64::from(worker);
            let task = Task { cost: span, whose: Whose::Server, tag };
            let takes = !span.is_zero() && env.net.hosts.add_task(now, (node, worker), task, &mut env.net.queue);
            if takes {
                return;
            }
            self.finish(now, number, worker, tcp, env);
        }
    }

    /// A worker's work is done.
    pub fn worked(&mut self, now: Time, tag: u64, tcp: &mut Tcp, env: &mut Environment) {
        let (server, worker) = ((tag >> 32) as u32, tag as u32);
        self.finish(now, server, worker, tcp, env);
        self.go_on(now, server, worker, tcp, env);
    }

    /// Does what a worker's work is about.
    fn finish(&mut self, now: Time, number: u32, worker: u32, tcp: &mut Tcp, env: &mut Environment) {
        let current = self.all[number as usize].workers[worker as usize].current.take();
        let (place, serial, accepts) = current.expect("it was at work");
        let key = (place, serial);
        let Some(session) = self.session(key) else { return };
        if accepts {
            return self.consider(now, key, tcp, env);
        }
        let exchange = session.asked.pop_front().expect("it was ready");
        session.busy = false;
        session.read -= exchange.request.get();
        session.unwritten += exchange.answer.get();
        session.closes |= exchange.last;
        self.all[number as usize].counters.answered += 1;
        self.write(now, key, tcp, env);
    }

    /// Writes what is left of answers.
    fn write(&mut self, now: Time, key: (u32, u32), tcp: &mut Tcp, env: &mut Environment) {
        let Some(session) = self.session(key) else { return };
        let socket = acceptor(key.0);
        if tcp.is_gone(socket) {
            return;
        }
        if session.unwritten > 0 {
            session.unwritten -= tcp.write(now, socket, session.unwritten, &mut env.net);
        }
        if session.unwritten > 0 {
            return;
        }
        if session.closes && session.worker.is_some() {
            self.close(now, key, tcp, env);
        } else {
            self.consider(now, key, tcp, env);
        }
    }
}
