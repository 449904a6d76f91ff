//! Closed-loop HTTP clients, as ApacheBench is one: each has so many sessions, and a session asks for the next page when it
//! has the one before.
//!
//! A session opens a connection, sends a request, takes the answer in and, if the connection was for so many requests,
//! closes it. Each of these three steps is work of the client's one process, a third of the cost of a request, done in
//! the order in which it came up. So a client is limited by its processor or by what its sessions wait for, whichever
//! is less, as ApacheBench is, which is one thread. A request begins when SYN leaves, or on a kept connection when it is
//! sent, and ends when the last byte has come, with the end of the connection if that was to come, and the client has
//! taken it in.
//!
//! A request whose time is up, or whose connection is reset, is over: its connection is given up, and its session goes on
//! with the next request on a new one. (ApacheBench gives up as a whole, unless told otherwise.)
//!
//! # Random streams
//! Client number `n`, over all groups, has `{name}/{n}/page` and `{name}/{n}/think`. The `k`-th request of a client is for
//! the `k`-th page that is drawn, so what clients ask for does not depend on what becomes of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use headway_engine::{Stream, Streams};
use headway_units::{Bytes, Span, Time};
use thiserror::Error;

use crate::pairs::MAX_GENERATORS;
use crate::size::Size;

/// Clients that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientGroup {
    /// How many.
    pub clients: usize,
    /// Sessions of each.
    pub concurrency: u32,
    /// Requests of each; no limit if there is none.
    pub requests: Option<u64>,
    /// The work of a request.
    pub cost: Span,
    /// Further work of it for each session of its client.
    pub session_cost: Span,
}

/// Clients of web servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// Unique within a scenario; names the random streams.
    pub name: String,
    /// The clients.
    pub groups: Vec<ClientGroup>,
    /// Bytes of a request.
    pub request: Bytes,
    /// Bytes before the page in an answer.
    pub header: Bytes,
    /// The pages.
    pub page: Size,
    /// Requests of a connection: at least 1. After the last the server closes it.
    pub per_connection: u64,
    /// The mean of the time between a page and the next request of a session, which is exponential.
    pub think: Span,
    /// How long a request may take.
    pub timeout: Option<Span>,
    /// No request begins before.
    pub start: Time,
    /// The sessions of a client begin over this time, at equal distances.
    pub ramp: Span,
    /// No request begins then or later.
    pub stop: Time,
}

/// Why there are no such clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HttpError {
    /// Nobody asks.
    #[error("there are no clients, or one has no session")]
    None,
    /// More than requests have names for.
    #[error("{sessions} sessions are too many: at most {MAX_GENERATORS}")]
    TooMany {
        /// Sessions of all clients.
        sessions: usize,
    },
}

/// A session, by its place among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(pub u32);

/// Who carries out what sessions do.
pub trait Wire {
    /// Gives the process of a session's client work; [`Sessions::worked`] follows with this serial number. False if work takes
    /// no time.
    fn work(&mut self, session: SessionId, serial: u32, cost: Span) -> bool;
    /// Opens a connection, in place of the one that the session had.
    fn connect(&mut self, session: SessionId, serial: u32);
    /// Sends a request on the connection, of an answer of so many bytes, after which the server closes if it is the last.
    fn ask(&mut self, session: SessionId, request: Bytes, answer: Bytes, last: bool);
    /// Closes the connection.
    fn close(&mut self, session: SessionId);
    /// Gives the connection up.
    fn abort(&mut self, session: SessionId);
    /// Segments retransmitted and time-outs of the session's connection so far.
    fn troubles(&self, session: SessionId) -> (u32, u32);
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has not.
    Open,
    /// With its page.
    Done,
    /// Its connection was reset.
    Refused,
    /// Its time was up.
    TimedOut,
}

/// A request and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The client's group.
    pub group: usize,
    /// The client's place in it.
    pub client: usize,
    /// The session.
    pub session: SessionId,
    /// The request's number in its session, from 0.
    pub number: u32,
    /// When it began.
    pub start: Time,
    /// Whether it has a connection opened for it.
    pub opens: bool,
    /// When its connection was open; `None` if it was not, or had been before.
    pub connected: Option<Time>,
    /// When the first byte of the answer was there.
    pub first_byte: Option<Time>,
    /// When it was done.
    pub end: Option<Time>,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes of the answer.
    pub size: Bytes,
    /// Those of them that came.
    pub received: Bytes,
    /// Segments that its connection retransmitted, both ways.
    pub retransmissions: u32,
    /// Retransmission time-outs of its connection, both ways.
    pub timeouts: u32,
    /// SYNs sent again.
    pub syn_timeouts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between requests, or without any left.
    Idle,
    /// The client is opening a connection.
    Opening,
    /// Until the connection is open.
    Connecting,
    /// The client is sending the request.
    Sending,
    /// For the answer.
    Waiting,
    /// The client is taking the answer in.
    Taking,
}

#[derive(Debug)]
struct Session {
    client: u32,
    state: State,
    /// Requests begun, and things that may be late for others: tells events of former requests apart.
    serial: u32,
    requests: u32,
    /// The request under way.
    current: Option<PageRequest>,
    /// Requests of the connection so far, the current one included; 0 without a connection.
    on_connection: u64,
    /// The server has closed.
    ended: bool,
    /// Troubles of the connection before the current request.
    before: (u32, u32),
}

#[derive(Debug)]
struct Client {
    group: usize,
    nth: usize,
    /// Requests it has yet to begin; none if there is no limit.
    left: Option<u64>,
    page: Stream,
    think: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Begin,
    TimeOut,
}

/// The sessions of one run; see [`Http::sessions`].
#[derive(Debug)]
pub struct Sessions {
    http: Http,
    clients: Vec<Client>,
    all: Vec<Session>,
    /// Time, session, what, and its serial number.
    due: BinaryHeap<Reverse<(Time, u32, Due, u32)>>,
    done: Vec<PageRequest>,
}

impl Http {
    /// Its sessions in one run. `streams` are those of one repeat ([`Streams::part`]).
    ///
    /// # Errors
    /// [`HttpError`].
    pub fn sessions(&self, streams: Streams) -> Result<Sessions, HttpError> {
        let count = self
            .groups
            .iter()
            .fold(0_usize, |sum, group| sum.saturating_add(group.clients.saturating_mul(group.concurrency as usize)));
        if self.groups.is_empty() || self.groups.iter().any(|group| group.clients == 0 || group.concurrency == 0) {
            return Err(HttpError::None);
        }
        if count > MAX_GENERATORS {
            return Err(HttpError::TooMany { sessions: count });
        }
        let (mut clients, mut sessions, mut due) = (Vec::new(), Vec::new(), BinaryHeap::new());
        for (group, own) in self.groups.iter().enumerate() {
            for nth in 0..own.clients {
                let client = clients.len() as u32;
                for place in 0..own.concurrency {
                    let late = u128::from(self.ramp.picos()) * u128::from(place) / u128::from(own.concurrency);
                    let begin = self.start.saturating_add(Span::from_picos(late as u64));
                    due.push(Reverse((begin, sessions.len() as u32, Due::Begin, 0)));
                    sessions.push(Session {
                        client,
                        state: State::Idle,
                        serial: 0,
                        requests: 0,
                        current: None,
                        on_connection: 0,
                        ended: false,
                        before: (0, 0),
                    });
                }
                let stream = |what: &str| streams.stream(&format!("{}/{client}/{what}", self.name));
                clients.push(Client { group, nth, left: own.requests, page: stream("page"), think: stream("think") });
            }
        }
        Ok(Sessions { http: self.clone(), clients, all: sessions, due, done: Vec::new() })
    }
}

impl Sessions {
    /// When something is to be done next, if nothing happens before.
    pub fn next_time(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((time, ..))| *time)
    }

    /// By session its client: the group, and the place there.
    pub fn clients(&self) -> impl Iterator<Item = (usize, usize)> {
        self.all.iter().map(|session| {
            let client = &self.clients[session.client as usize];
            (client.group, client.nth)
        })
    }

    /// Does what is due at `now`.
    pub fn act(&mut self, now: Time, wire: &mut impl Wire) {
        while let Some(&Reverse((time, session, what, serial))) = self.due.peek()
            && time <= now
        {
            self.due.pop();
            if self.all[session as usize].serial != serial {
                continue;
            }
            match what {
                Due::Begin => self.begin(now, session, wire),
                Due::TimeOut => {
                    wire.abort(SessionId(session));
                    self.give_up(now, session, Outcome::TimedOut, wire);
                }
            }
        }
    }

    /// The client's work for a session is done.
    pub fn worked(&mut self, now: Time, session: SessionId, serial: u32, wire: &mut impl Wire) {
        let own = &mut self.all[session.0 as usize];
        if own.serial != serial {
            return;
        }
        match own.state {
            State::Opening => {
                own.state = State::Connecting;
                own.on_connection = 1;
                own.ended = false;
                own.before = (0, 0);
                self.set_off(now, session.0);
                let serial = self.all[session.0 as usize].serial;
                wire.connect(session, serial);
            }
            State::Sending => {
                own.state = State::Waiting;
                let last = own.on_connection >= self.http.per_connection;
                if let Some(current) = &own.current {
                    wire.ask(session, self.http.request, current.size, last);
                }
            }
            State::Taking => self.end(now, session.0, wire),
            // nobody works for it
            State::Idle | State::Connecting | State::Waiting => {}
        }
    }

    /// The connection is open.
    pub fn connected(&mut self, now: Time, session: SessionId, wire: &mut impl Wire) {
        let own = &mut self.all[session.0 as usize];
        let Some(current) = own.current.as_mut().filter(|_| own.state == State::Connecting) else { return };
        current.connected = Some(now);
        current.syn_timeouts = wire.troubles(session).1;
        own.state = State::Sending;
        self.work(now, session.0, wire);
    }

    /// So many bytes have come.
    pub fn received(&mut self, now: Time, session: SessionId, bytes: Bytes, wire: &mut impl Wire) {
        let own = &mut self.all[session.0 as usize];
        if let Some(current) = own.current.as_mut().filter(|_| own.state == State::Waiting) {
            current.first_byte.get_or_insert(now);
            current.received = Bytes::new(current.received.get().saturating_add(bytes.get()));
            self.consider(now, session.0, wire);
        }
    }

    /// The server has closed.
    pub fn ended(&mut self, now: Time, session: SessionId, wire: &mut impl Wire) {
        self.all[session.0 as usize].ended = true;
        self.consider(now, session.0, wire);
    }

    /// The server has reset the connection.
    pub fn reset(&mut self, now: Time, session: SessionId, wire: &mut impl Wire) {
        let own = &mut self.all[session.0 as usize];
        own.on_connection = 0;
        if own.current.is_some() {
            self.give_up(now, session.0, Outcome::Refused, wire);
        }
    }

    /// What became of all requests that began, in order of their ends, those that are open last.
    pub fn finish(mut self) -> Vec<PageRequest> {
        self.done.extend(self.all.iter().filter_map(|session| session.current));
        self.done
    }

    // ---- inside ----------------------------------------------------------------------------------------------

    /// Gives the client a third of the work of a request; what takes no time is done at once.
    fn work(&mut self, now: Time, session: u32, wire: &mut impl Wire) {
        let own = &self.all[session as usize];
        let group = &self.http.groups[self.clients[own.client as usize].group];
        let whole = group.cost + group.session_cost.saturating_mul(u64::from(group.concurrency));
        let serial = own.serial;
        let cost = Span::from_picos(whole.picos() / 3);
        if cost.is_zero() || !wire.work(SessionId(session), serial, cost) {
            self.worked(now, SessionId(session), serial, wire);
        }
    }

    /// A session begins its next request, if its client has one left.
    fn begin(&mut self, now: Time, session: u32, wire: &mut impl Wire) {
        let own = &mut self.all[session as usize];
        let client = &mut self.clients[own.client as usize];
        if now >= self.http.stop || client.left == Some(0) {
            if own.on_connection > 0 {
                own.on_connection = 0;
                wire.close(SessionId(session));
            }
            return;
        }
        client.left = client.left.map(|left| left - 1);
        own.serial = own.serial.wrapping_add(1);
        let page = self.http.page.draw(&mut client.page);
        own.current = Some(PageRequest {
            group: client.group,
            client: client.nth,
            session: SessionId(session),
            number: own.requests,
            start: now,
            opens: own.on_connection == 0,
            connected: None,
            first_byte: None,
            end: None,
            outcome: Outcome::Open,
            size: Bytes::new(page.get().saturating_add(self.http.header.get())),
            received: Bytes::ZERO,
            retransmissions: 0,
            timeouts: 0,
            syn_timeouts: 0,
        });
        own.requests += 1;
        if own.on_connection > 0 {
            own.on_connection += 1;
            own.state = State::Sending;
            self.set_off(now, session);
        } else {
            own.state = State::Opening;
        }
        self.work(now, session, wire);
    }

    /// The time of a request begins.
    fn set_off(&mut self, now: Time, session: u32) {
        let own = &mut self.all[session as usize];
        own.current.as_mut().expect("it has begun").start = now;
        if let Some(timeout) = self.http.timeout {
            self.due.push(Reverse((now.saturating_add(timeout), session, Due::TimeOut, own.serial)));
        }
    }

    /// Whether the answer is there.
    fn consider(&mut self, now: Time, session: u32, wire: &mut impl Wire) {
        let own = &mut self.all[session as usize];
        let Some(current) = own.current.as_ref().filter(|_| own.state == State::Waiting) else { return };
        let last = own.on_connection >= self.http.per_connection;
        if current.received >= current.size && (own.ended || !last) {
            own.state = State::Taking;
            self.work(now, session, wire);
        }
    }

    /// A request is done.
    fn end(&mut self, now: Time, session: u32, wire: &mut impl Wire) {
        let own = &mut self.all[session as usize];
        if own.on_connection >= self.http.per_connection {
            own.on_connection = 0;
        }
        let closes = own.on_connection == 0;
        self.note(now, session, Outcome::Done, wire);
        if closes {
            wire.close(SessionId(session));
        }
        self.go_on(now, session, wire);
    }

    /// A request is over, and so is its connection.
    fn give_up(&mut self, now: Time, session: u32, outcome: Outcome, wire: &mut impl Wire) {
        self.note(now, session, outcome, wire);
        self.all[session as usize].on_connection = 0;
        self.go_on(now, session, wire);
    }

    /// Writes down what became of the request under way.
    fn note(&mut self, now: Time, session: u32, outcome: Outcome, wire: &impl Wire) {
        let own = &mut self.all[session as usize];
        let mut current = own.current.take().expect("it is under way");
        let troubles = wire.troubles(SessionId(session));
        current.outcome = outcome;
        current.end = (outcome == Outcome::Done).then_some(now);
        current.retransmissions = troubles.0.saturating_sub(own.before.0);
        current.timeouts = troubles.1.saturating_sub(own.before.1);
        if own.state == State::Connecting {
            current.syn_timeouts = current.timeouts;
        }
        own.before = troubles;
        own.state = State::Idle;
        // what is still to come for it is late
        own.serial = own.serial.wrapping_add(1);
        self.done.push(current);
    }

    /// A session goes on, after a while if its client thinks.
    fn go_on(&mut self, now: Time, session: u32, wire: &mut impl Wire) {
        let own = &self.all[session as usize];
        if self.http.think.is_zero() {
            return self.begin(now, session, wire);
        }
        let mean = self.http.think.picos() as f64;
        let think = self.clients[own.client as usize].think.exponential(mean);
        let at = now.saturating_add(Span::from_picos(think as u64));
        self.due.push(Reverse((at, session, Due::Begin, own.serial)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::size::Fixed;

    /// What sessions ask for, in words, until it is looked at.
    #[derive(Debug, Default)]
    struct Fake {
        takes_time: bool,
        actions: Vec<String>,
        work: Vec<(SessionId, u32, Span)>,
        open: Vec<SessionId>,
    }

    impl Wire for Fake {
        fn work(&mut self, session: SessionId, serial: u32, cost: Span) -> bool {
            if self.takes_time {
                self.work.push((session, serial, cost));
            }
            self.takes_time
        }
        fn connect(&mut self, session: SessionId, _serial: u32) {
            assert!(!self.open.contains(&session), "one connection at a time");
            self.open.push(session);
            self.actions.push(format!("connect {}", session.0));
        }
        fn ask(&mut self, session: SessionId, request: Bytes, answer: Bytes, last: bool) {
            assert!(self.open.contains(&session));
            let last = if last { " last" } else { "" };
            self.actions.push(format!("ask {} {} {}{last}", session.0, request.get(), answer.get()));
        }
        fn close(&mut self, session: SessionId) {
            self.actions.push(format!("close {}", session.0));
            self.open.retain(|&open| open != session);
        }
        fn abort(&mut self, session: SessionId) {
            self.actions.push(format!("abort {}", session.0));
            self.open.retain(|&open| open != session);
        }
        fn troubles(&self, _session: SessionId) -> (u32, u32) {
            (0, 0)
        }
    }

    impl Fake {
        fn take(&mut self) -> String {
            std::mem::take(&mut self.actions).join(", ")
        }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn http(concurrency: u32) -> Http {
        let (requests, cost, session_cost) = (None, Span::ZERO, Span::ZERO);
        Http {
            name: "web".to_owned(),
            groups: vec![ClientGroup { clients: 1, concurrency, requests, cost, session_cost }],
            request: Bytes::new(80),
            header: Bytes::new(200),
            page: Size::Fixed(Fixed::new(Bytes::new(1000)).unwrap()),
            per_connection: 1,
            think: Span::ZERO,
            timeout: None,
            start: Time::ZERO,
            ramp: Span::ZERO,
            stop: at(1_000_000),
        }
    }

    /// Drives session 0 through a request on an open connection.
    fn answer(sessions: &mut Sessions, now: Time, closes: bool, wire: &mut Fake) {
        sessions.received(now, SessionId(0), Bytes::new(1200), wire);
        if closes {
            sessions.ended(now, SessionId(0), wire);
        }
    }

    #[test]
    fn each_request_has_a_connection_that_the_server_closes() {
        let (mut sessions, wire) = (http(1).sessions(Streams::new(1)).unwrap(), &mut Fake::default());
        sessions.act(at(0), wire);
        assert_eq!(wire.take(), "connect 0");
        sessions.connected(at(10), SessionId(0), wire);
        assert_eq!(wire.take(), "ask 0 80 1200 last");
        sessions.received(at(20), SessionId(0), Bytes::new(1200), wire);
        assert_eq!(wire.take(), "", "the server has yet to close");
        sessions.ended(at(30), SessionId(0), wire);
        assert_eq!(wire.take(), "close 0, connect 0");
        let done = sessions.finish();
        let times = (done[0].start, done[0].connected, done[0].first_byte, done[0].end);
        assert_eq!(times, (at(0), Some(at(10)), Some(at(20)), Some(at(30))));
        assert_eq!((done[0].outcome, done[1].outcome, done.len()), (Outcome::Done, Outcome::Open, 2));
    }

    #[test]
    fn a_kept_connection_is_for_so_many_requests() {
        let kept = Http { per_connection: 3, ..http(1) };
        let (mut sessions, wire) = (kept.sessions(Streams::new(1)).unwrap(), &mut Fake::default());
        sessions.act(at(0), wire);
        sessions.connected(at(1), SessionId(0), wire);
        assert_eq!(wire.take(), "connect 0, ask 0 80 1200");
        answer(&mut sessions, at(2), false, wire);
        assert_eq!(wire.take(), "ask 0 80 1200");
        answer(&mut sessions, at(3), false, wire);
        assert_eq!(wire.take(), "ask 0 80 1200 last");
        answer(&mut sessions, at(4), true, wire);
        assert_eq!(wire.take(), "close 0, connect 0");
        let opens: Vec<bool> = sessions.finish().iter().map(|request| request.opens).collect();
        assert_eq!(opens, [true, false, false, true]);
    }

    #[test]
    fn a_request_whose_time_is_up_or_that_is_refused_is_followed_by_the_next() {
        let hasty = Http { timeout: Some(Span::from_micros(100)), ..http(1) };
        let (mut sessions, wire) = (hasty.sessions(Streams::new(1)).unwrap(), &mut Fake::default());
        sessions.act(at(0), wire);
        sessions.connected(at(10), SessionId(0), wire);
        wire.take();
        assert_eq!(sessions.next_time(), Some(at(100)));
        sessions.act(at(100), wire);
        assert_eq!(wire.take(), "abort 0, connect 0");
        wire.open.clear(); // the reset takes it
        sessions.reset(at(150), SessionId(0), wire);
        assert_eq!(wire.take(), "connect 0");
        // its time is up 100 us after it began
        sessions.act(at(249), wire);
        assert_eq!(wire.take(), "");
        let outcomes: Vec<Outcome> = sessions.finish().iter().map(|request| request.outcome).collect();
        assert_eq!(outcomes, [Outcome::TimedOut, Outcome::Refused, Outcome::Open]);
    }

    #[test]
    fn work_is_a_third_of_a_request_for_each_step() {
        let mut costly = http(10);
        costly.groups[0].cost = Span::from_micros(25);
        costly.groups[0].session_cost = Span::from_nanos(500);
        let (mut sessions, wire) = (costly.sessions(Streams::new(1)).unwrap(), &mut Fake::default());
        wire.takes_time = true;
        sessions.act(at(0), wire);
        // 25 us and ten times 0.5 us
        assert_eq!(wire.work.len(), 10);
        assert!(wire.work.iter().all(|&(.., cost)| cost == Span::from_micros(10)));
        assert_eq!(wire.take(), "", "nothing happens before the work is done");
        let (session, serial, _) = wire.work[3];
        sessions.worked(at(10), session, serial, wire);
        assert_eq!(wire.take(), "connect 3");
    }

    #[test]
    fn sessions_begin_over_the_ramp_and_stop_when_there_are_no_requests_left() {
        let mut few = Http { ramp: Span::from_micros(100), ..http(4) };
        few.groups[0].requests = Some(2);
        let (mut sessions, wire) = (few.sessions(Streams::new(1)).unwrap(), &mut Fake::default());
        for (now, expected) in [(0, "connect 0"), (25, "connect 1"), (50, ""), (75, "")] {
            assert_eq!(sessions.next_time(), Some(at(now)));
            sessions.act(at(now), wire);
            assert_eq!(wire.take(), expected);
        }
        assert_eq!(sessions.next_time(), None);
    }

    #[test]
    fn clients_without_sessions_and_too_many_of_them_are_mistakes() {
        assert_eq!(http(0).sessions(Streams::new(1)).unwrap_err(), HttpError::None);
        let none = Http { groups: Vec::new(), ..http(1) };
        assert_eq!(none.sessions(Streams::new(1)).unwrap_err(), HttpError::None);
        let many = http(u32::MAX).sessions(Streams::new(1)).unwrap_err();
        assert_eq!(many, HttpError::TooMany { sessions: u32::MAX as usize });
    }

    proptest! {
        /// Whatever comes from outside, at whatever time: a session has one request at a time and one connection, and all that
        /// began are done, refused, timed out or open.
        #[test]
        fn requests_are_conserved(
            (concurrency, per_connection, limit) in (1u32..5, 1u64..4, prop::option::of(0u64..40)),
            (takes_time, think, timeout) in (any::<bool>(), 0u64..50, prop::option::of(1u64..200)),
            events in prop::collection::vec((0u64..30, 0u32..5, 0u8..6), 0..300),
        ) {
            let micros = Span::from_micros;
            let mut own = Http {
                per_connection, think: micros(think), timeout: timeout.map(micros), ..http(concurrency)
            };
            own.groups[0].requests = limit;
            own.groups[0].cost = micros(3);
            let (mut sessions, wire) = (own.sessions(Streams::new(3)).unwrap(), &mut Fake::default());
            wire.takes_time = takes_time;
            let mut now = Time::ZERO;
            for (gap, session, what) in events {
                now += micros(gap);
                sessions.act(now, wire);
                let session = SessionId(session % concurrency);
                let connected = wire.open.contains(&session);
                match what {
                    0 | 1 if !wire.work.is_empty() => {
                        let (session, serial, _) = wire.work.remove(0);
                        sessions.worked(now, session, serial, wire);
                    }
                    2 if connected => sessions.connected(now, session, wire),
                    3 if connected => sessions.received(now, session, Bytes::new(700), wire),
                    4 if connected => sessions.ended(now, session, wire),
                    5 if connected => {
                        wire.open.retain(|&open| open != session);
                        sessions.reset(now, session, wire);
                    }
                    _ => {}
                }
            }
            let begun: u32 = sessions.all.iter().map(|session| session.requests).sum();
            let requests = sessions.finish();
            prop_assert_eq!(requests.len(), begun as usize);
            prop_assert!(limit.is_none_or(|limit| u64::from(begun) <= limit));
            for request in &requests {
                let done = request.outcome == Outcome::Done;
                prop_assert_eq!(done, request.end.is_some());
                prop_assert!(!done || request.received >= request.size);
                prop_assert!(request.end.is_none_or(|end| end >= request.start));
            }
            let open = requests.iter().filter(|request| request.outcome == Outcome::Open).count();
            prop_assert!(open <= concurrency as usize);
        }
    }
}
