//! Web clients and the servers that they ask.

use std::path::Path;

use headway_engine::Streams;
use headway_traffic::app::http::{ClientGroup, Http, Outcome, PageRequest, SessionId, Sessions, Wire};
use headway_transport::{Exchange, FlowEnd, FlowStart, Profile, Socket, SocketEvent, Sockets};
use headway_units::{Bytes, Span, Time};

use super::error::PlanError;
use super::network::{Hosts, Network};
use super::offered::{Offered, Round};
use super::traffic::{check_interface, check_paths, fewest_interfaces};
use crate::schema::{HttpRecord, PolicyRecord, Protocol, ScenarioRecord};

/// Web clients with their hosts.
#[derive(Debug, Clone)]
pub(super) struct Web {
    /// Its place among all traffic.
    pub index: u16,
    name: String,
    /// The place of its first name among those by which flows are reported; see
    /// [`TrafficRecord::reported`](crate::schema::TrafficRecord::reported).
    first: u16,
    http: Http,
    phases: bool,
    /// By group.
    clients: Vec<Hosts>,
    servers: Hosts,
}

impl Web {
    pub fn build(
        name: &str,
        record: &HttpRecord,
        (index, first): (usize, usize),
        scenario: &ScenarioRecord,
        network: &Network,
        folder: &Path,
    ) -> Result<Web, PlanError> {
        let number = index.to_string();
        let fault = |key: &str, message: String| PlanError::new(&["traffic", &number, key], message);
        let servers: Hosts = network.group(&record.to).to_vec();
        let clients: Vec<Hosts> = record.clients.iter().map(|own| network.group(&own.on).to_vec()).collect();
        for (place, hosts) in clients.iter().enumerate() {
            check_paths(hosts, &servers, network).and_then(|()| check_paths(&servers, hosts, network)).map_err(
                |message| PlanError::new(&["traffic", &number, "clients", &place.to_string(), "on"], message),
            )?;
        }
        let groups = record.clients.iter().zip(&clients).map(|(own, hosts)| ClientGroup {
            clients: hosts.len(),
            concurrency: own.concurrency,
            requests: own.requests,
            cost: own.cpu_per_request,
            session_cost: own.cpu_per_session,
        });
        let page = record.page.0.size(folder).map_err(|message| fault("page", message))?;
        let stop = record.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let http = Http {
            name: name.to_owned(),
            groups: groups.collect(),
            request: record.request,
            header: record.header,
            page: page.ok_or_else(|| fault("page", "a page without end is none".to_owned()))?,
            per_connection: record.requests_per_connection,
            think: record.think,
            timeout: record.timeout,
            start: Time::ZERO + record.start,
            ramp: record.ramp,
            stop: Time::ZERO + stop,
        };
        // What could be wrong with it is wrong for any seed.
        http.sessions(Streams::new(0)).map_err(|error| fault("clients", format!("traffic `{name}`: {error}")))?;
        let phases = record.phases;
        Ok(Web { index: index as u16, name: name.to_owned(), first: first as u16, http, phases, clients, servers })
    }

    /// Connections between clients and servers are plain TCP, over interfaces that are there.
    pub fn check(
        &self,
        profile: &Profile,
        network: &Network,
        policy: &PolicyRecord,
        index: usize,
    ) -> Result<(), PlanError> {
        let name = &self.name;
        let number = index.to_string();
        let own: &[&str] = if policy.traffic.get(name).is_some() { &["traffic", name] } else { &["transport"] };
        if profile.multipath.is_some() {
            let at = [&["policy", &number], own].concat();
            let message = format!("policy `{}` has MPTCP for traffic `{name}`, which is of web clients", policy.name);
            let help = format!("they have connections of plain TCP: [policy.traffic] {name} = \"tcp\"");
            return Err(PlanError::new(&at, message).help(help));
        }
        let transport = policy.traffic.get(name).unwrap_or(&policy.transport);
        if matches!(transport.protocol, Protocol::Roce(_)) {
            let at = [&["policy", &number], own].concat();
            let message = format!("policy `{}` has RoCE for traffic `{name}`, which is of web clients", policy.name);
            let help = format!("they have connections of plain TCP: [policy.traffic] {name} = \"tcp\"");
            return Err(PlanError::new(&at, message).help(help));
        }
        if policy.replicate.is_some() {
            let message =
                format!("policy `{}` sends copies of flows, and traffic `{name}` is of web clients", policy.name);
            return Err(PlanError::new(&["policy", &number, "replicate"], message)
                .help("requests and answers are no flows that could be sent twice"));
        }
        let fewest = self.clients.iter().filter_map(|own| fewest_interfaces([own, &self.servers], network)).min();
        check_interface(name, fewest, profile, policy, index)
    }

    /// What it is expected to send in a run: each session asks for a page, gets it, and thinks.
    pub fn offers(&self, round: &Round<'_>) -> Vec<Offered<'_>> {
        let (start, stop) = (self.http.start, self.http.stop);
        let page = (self.http.page.mean().get() + self.http.header.get()) as f64;
        let groups = self.http.groups.iter().zip(&self.clients).flat_map(|(group, clients)| {
            let sessions = group.clients as f64 * f64::from(group.concurrency);
            let takes = round(&self.servers, clients, page).saturating_add(group.cost).saturating_add(self.http.think);
            let each = stop.since(start).picos() as f64 / takes.picos().max(1) as f64;
            let most = group.requests.map_or(f64::INFINITY, |most| most as f64 * group.clients as f64);
            // a client is one program: its own work on a request is one after the other
            let own = stop.since(start).picos() as f64 / group.cost.picos() as f64 * group.clients as f64;
            let flows = (sessions * each.max(1.0)).min(most).min(own.max(sessions));
            let (clients, servers) = (&clients[..], &self.servers[..]);
            let request = self.http.request.get() as f64;
            [(clients, servers, request), (servers, clients, page)].map(|(sources, destinations, bytes)| Offered {
                traffic: self.index,
                sources,
                destinations,
                flows,
                at_once: sessions.min(flows),
                bytes: Some(bytes),
                start,
                stop,
                waits: true,
            })
        });
        groups.collect()
    }

    /// Names of a group of clients.
    fn parts(&self) -> u16 {
        if self.phases { 3 } else { 1 }
    }

    /// The numbers that its requests have: all together, which nothing has, then those of each group.
    pub fn numbers(&self) -> std::ops::Range<u16> {
        self.first..self.first + 1 + self.parts() * self.clients.len() as u16
    }

    fn number(&self, group: usize) -> u16 {
        self.first + 1 + self.parts() * group as u16
    }

    /// Its requests in one run.
    pub fn starts(&self, streams: Streams) -> WebStarts<'_> {
        let sessions = self.http.sessions(streams).expect("checked when it was planned");
        let clients: Vec<(usize, usize)> = sessions.clients().collect();
        let sockets = vec![None; clients.len()];
        WebStarts { sessions, ends: Ends { web: self, clients, sockets } }
    }

    fn id(&self, session: SessionId, number: u32) -> u64 {
        u64::from(self.index) << 52 | u64::from(session.0) << 32 | u64::from(number)
    }
}

/// The requests of web clients in one run.
pub(super) struct WebStarts<'a> {
    sessions: Sessions,
    ends: Ends<'a>,
}

/// The clients' ends of connections.
struct Ends<'a> {
    web: &'a Web,
    /// By session the group and the place of its client.
    clients: Vec<(usize, usize)>,
    /// By session its socket, with the name of the connection.
    sockets: Vec<Option<(Socket, u64)>>,
}

/// The clients' ends while something may be done with them.
struct Plugged<'a, 'b, 'c> {
    ends: &'a mut Ends<'b>,
    sockets: &'a mut Sockets<'c>,
}

impl Plugged<'_, '_, '_> {
    fn socket(&self, session: SessionId) -> Option<Socket> {
        self.ends.sockets[session.0 as usize].map(|(socket, _)| socket)
    }
}

impl Wire for Plugged<'_, '_, '_> {
    fn work(&mut self, session: SessionId, serial: u32, cost: Span) -> bool {
        let (group, nth) = self.ends.clients[session.0 as usize];
        let host = self.ends.web.clients[group][nth];
        // each traffic is a program of its own
        let process = u32::from(self.ends.web.index);
        self.sockets.work(host, process, cost, self.ends.web.id(session, serial))
    }

    fn connect(&mut self, session: SessionId, serial: u32) {
        let web = self.ends.web;
        let (group, nth) = self.ends.clients[session.0 as usize];
        let before: usize = web.clients[..group].iter().map(Vec::len).sum();
        let id = web.id(session, serial);
        let start = FlowStart {
            time: self.sockets.now(),
            id,
            traffic: web.number(group),
            source: web.clients[group][nth],
            destination: web.servers[(before + nth) % web.servers.len()],
            size: None,
            deadline: None,
            profile: web.index,
        };
        let socket = self.sockets.connect(start).expect("paths were checked when it was planned");
        self.ends.sockets[session.0 as usize] = Some((socket, id));
    }

    fn ask(&mut self, session: SessionId, request: Bytes, answer: Bytes, last: bool) {
        if let Some(socket) = self.socket(session) {
            self.sockets.ask(socket, Exchange { request, answer, last });
        }
    }

    fn close(&mut self, session: SessionId) {
        if let Some((socket, _)) = self.ends.sockets[session.0 as usize].take() {
            self.sockets.close(socket);
        }
    }

    fn abort(&mut self, session: SessionId) {
        if let Some(socket) = self.socket(session) {
            self.sockets.abort(socket);
        }
    }

    fn troubles(&self, session: SessionId) -> (u32, u32) {
        let Some(socket) = self.socket(session) else { return (0, 0) };
        let own = self.sockets.troubles(socket);
        (own.retransmissions, own.timeouts)
    }
}

impl WebStarts<'_> {
    pub fn index(&self) -> u16 {
        self.ends.web.index
    }

    pub fn next_time(&self) -> Option<Time> {
        self.sessions.next_time()
    }

    pub fn act(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.sessions.act(now, &mut Plugged { ends: &mut self.ends, sockets });
    }

    /// Work for the session of connection `id` is done.
    pub fn worked(&mut self, now: Time, id: u64, sockets: &mut Sockets<'_>) {
        let (session, serial) = session(id);
        self.sessions.worked(now, session, serial, &mut Plugged { ends: &mut self.ends, sockets });
    }

    /// Something has happened at a client's end of connection `id`.
    pub fn on_socket(&mut self, now: Time, (socket, id): (Socket, u64), event: SocketEvent, sockets: &mut Sockets<'_>) {
        let (session, _) = session(id);
        let own = self.ends.sockets[session.0 as usize] == Some((socket, id));
        let bytes =
            if event == SocketEvent::Readable { sockets.read(socket, Bytes::new(u64::MAX)) } else { Bytes::ZERO };
        // of a connection that the session has left nothing matters
        if !own {
            return;
        }
        let wire = &mut Plugged { ends: &mut self.ends, sockets };
        match event {
            SocketEvent::Connected => self.sessions.connected(now, session, wire),
            SocketEvent::Readable => self.sessions.received(now, session, bytes, wire),
            SocketEvent::PeerClosed => self.sessions.ended(now, session, wire),
            SocketEvent::Reset => self.sessions.reset(now, session, wire),
            SocketEvent::Asked | SocketEvent::Writable | SocketEvent::Closed => {}
        }
    }

    /// Its requests as flows from a server to a client.
    pub fn finish(self) -> Vec<FlowEnd> {
        let web = self.ends.web;
        let requests = self.sessions.finish();
        let mut ends = Vec::with_capacity(requests.len() * usize::from(web.parts()));
        for request in &requests {
            ends.push(web.end(request));
            if web.phases {
                ends.extend(web.phases_of(request));
            }
        }
        ends
    }
}

/// Session and serial number in the name of a connection.
fn session(id: u64) -> (SessionId, u32) {
    (SessionId((id >> 32) as u32 & 0xf_ffff), id as u32)
}

impl Web {
    /// A request, for the record.
    fn end(&self, request: &PageRequest) -> FlowEnd {
        let before: usize = self.clients[..request.group].iter().map(Vec::len).sum();
        let start = FlowStart {
            time: request.start,
            id: self.id(request.session, request.number),
            traffic: self.number(request.group),
            source: self.servers[(before + request.client) % self.servers.len()],
            destination: self.clients[request.group][request.client],
            size: Some(request.size),
            deadline: self.http.timeout,
            profile: self.index,
        };
        FlowEnd {
            retransmissions: request.retransmissions,
            timeouts: request.timeouts,
            resets: u32::from(request.outcome == Outcome::Refused),
            subflows: 1,
            ..FlowEnd::new(start, request.end, request.received.get())
        }
    }

    /// The opening of its connection, if it had one, and what came until the first byte.
    fn phases_of(&self, request: &PageRequest) -> impl Iterator<Item = FlowEnd> {
        let whole = self.end(request);
        let part = |nth: u16, end: Option<Time>, timeouts: u32| FlowEnd {
            start: FlowStart { traffic: whole.start.traffic + nth, size: Some(Bytes::new(1)), ..whole.start },
            end,
            delivered: u64::from(end.is_some()),
            retransmissions: 0,
            timeouts,
            ..whole.clone()
        };
        let opened = request.opens.then(|| part(1, request.connected, request.syn_timeouts));
        [opened, Some(part(2, request.first_byte, request.timeouts))].into_iter().flatten()
    }
}
