//! Servers: hosts that listen, and programs that accept and answer.

use std::collections::BTreeMap;

use headway_engine::Streams;
use headway_fabric::NodeId;
use headway_transport::{
    Application, End, Exchange, FlowStart, HostModel, Measure, ServerCost, ServerCounters, ServerModel, Simulation,
    Socket, SocketEvent, Sockets, Totals,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::common::{EMPTY, GAP, Net, OVERHEAD, lossy, profile, wire};

const REQUEST: u64 = 100;
const DELAY: Span = Span::from_micros(3);

fn ns(n: u64) -> Span {
    Span::from_nanos(n)
}

/// What a client's connection came to.
#[derive(Debug, Clone, Default, PartialEq)]
struct Visit {
    begun: Time,
    connected: Option<Time>,
    /// When the last byte was there, and the server's end.
    answered: Option<Time>,
    ended: Option<Time>,
    refused: Option<Time>,
    gave_up: bool,
    read: u64,
}

/// Clients with one connection at a time each, opened anew when one is over.
#[derive(Debug)]
struct Clients {
    /// Source, server, first time.
    all: Vec<(NodeId, NodeId, Time)>,
    answer: u64,
    /// Connections of each.
    rounds: u32,
    timeout: Option<Span>,
    visits: Vec<Visit>,
    /// Of each client the visit under way.
    current: BTreeMap<usize, (usize, Socket)>,
    due: BTreeMap<(Time, usize), bool>,
    left: Vec<u32>,
    /// Connections of which they have heard that both ends are over.
    closed: usize,
}

impl Clients {
    fn new(all: Vec<(NodeId, NodeId, Time)>, answer: u64, rounds: u32) -> Clients {
        let due = all.iter().enumerate().map(|(client, &(.., at))| ((at, client), true)).collect();
        let left = vec![rounds; all.len()];
        let (visits, current) = (Vec::new(), BTreeMap::new());
        Clients { all, answer, rounds, timeout: None, visits, current, due, left, closed: 0 }
    }

    fn over(&mut self, now: Time, client: usize) {
        self.current.remove(&client);
        self.due.retain(|&(_, whose), &mut opens| whose != client || opens);
        self.left[client] -= 1;
        if self.left[client] > 0 {
            self.due.insert((now + Span::from_picos(1), client), true);
        }
    }
}

impl Application for Clients {
    fn next(&mut self) -> Time {
        self.due.keys().next().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn act(&mut self, _now: Time) -> Option<FlowStart> {
        None
    }

    fn act_on_sockets(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        while let Some((&(at, client), &opens)) = self.due.first_key_value()
            && at <= now
        {
            self.due.remove(&(at, client));
            if opens {
                let (source, destination, _) = self.all[client];
                let start = FlowStart {
                    time: now,
                    id: (client as u64) << 32 | self.visits.len() as u64,
                    traffic: 0,
                    source,
                    destination,
                    size: None,
                    deadline: None,
                    profile: 0,
                };
                let socket = sockets.connect(start).expect("hosts are connected");
                self.current.insert(client, (self.visits.len(), socket));
                self.visits.push(Visit { begun: now, ..Visit::default() });
                if let Some(timeout) = self.timeout {
                    self.due.insert((now + timeout, client), false);
                }
            } else {
                let (visit, socket) = self.current[&client];
                sockets.abort(socket);
                self.visits[visit].gave_up = true;
                self.over(now, client);
            }
        }
    }

    fn on_socket(&mut self, now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
        assert_eq!(socket.end, End::Opener, "the other end is the server's");
        let id = sockets.flow(socket).id;
        let (client, number) = ((id >> 32) as usize, id as u32 as usize);
        self.closed += usize::from(event == SocketEvent::Closed);
        let read = if event == SocketEvent::Readable { sockets.read(socket, Bytes::new(u64::MAX)).get() } else { 0 };
        if self.current.get(&client) != Some(&(number, socket)) {
            return;
        }
        let visit = &mut self.visits[number];
        match event {
            SocketEvent::Connected => {
                visit.connected = Some(now);
                let (request, answer) = (Bytes::new(REQUEST), Bytes::new(self.answer));
                sockets.ask(socket, Exchange { request, answer, last: true });
            }
            SocketEvent::Readable => {
                visit.read += read;
                if visit.read == self.answer {
                    visit.answered = Some(now);
                }
            }
            SocketEvent::PeerClosed => {
                visit.ended = Some(now);
                sockets.close(socket);
                self.over(now, client);
            }
            SocketEvent::Reset => {
                visit.refused = Some(now);
                self.over(now, client);
            }
            SocketEvent::Asked | SocketEvent::Writable | SocketEvent::Closed => {}
        }
    }
}

/// Clients at a switch with one server, all cables of 1 Gb/s and 3 us.
fn star(clients: usize) -> (Net, Vec<NodeId>, NodeId) {
    star_with_loss(clients, 0.0)
}

/// Each cable loses this share of the frames.
fn star_with_loss(clients: usize, loss: f64) -> (Net, Vec<NodeId>, NodeId) {
    let mut net = Net::default();
    let (server, switch) = (net.host(), net.switch());
    let wire = lossy(wire(Rate::from_gbps(1), DELAY), loss);
    net.cable(server, switch, wire);
    let hosts = (0..clients).map(|_| net.host()).collect::<Vec<_>>();
    for &host in &hosts {
        net.cable(host, switch, wire);
    }
    (net, hosts, server)
}

struct Ran {
    clients: Clients,
    server: ServerCounters,
    busy: Vec<Span>,
    totals: Totals,
}

fn run(net: &Net, server: (NodeId, ServerModel, u32), mut clients: Clients, span: Span) -> Ran {
    let mut simulation = Simulation::new(net.graph.clone(), vec![profile()], Measure::default(), Streams::new(1));
    simulation.model_host(server.0, HostModel { cores: server.2, ..HostModel::default() });
    simulation.serve(server.0, server.1);
    simulation.run_application(Time::ZERO + span, &mut clients).expect("hosts are connected");
    let counters = simulation.server(server.0).expect("it is one");
    let busy = simulation.host(server.0).expect("it has a model").busy.clone();
    let (ends, _, totals) = simulation.finish();
    assert_eq!(ends, [], "connections to servers are nobody's flows");
    Ran { clients, server: counters, busy, totals }
}

/// Over two cables, stored and forwarded, a frame of so many bytes on the wire.
fn across(bytes: u64) -> Span {
    (ns(bytes * 8) + DELAY) * 2
}

/// A request to an idle server: SYN, SYN-ACK, ACK; accepting begins when the ACK is there and is longer than the request,
/// right behind the ACK, needs; then the answer. FIN is a frame of its own.
#[test]
fn a_request_to_an_idle_server_takes_what_its_parts_take() {
    let (net, hosts, server) = star(1);
    let (accept, request, open) = (ns(20_000), ns(70_000), ns(5_000));
    let cost = ServerCost { connection: accept, request, open };
    let model = ServerModel { cost, ..ServerModel::default() };
    let ran =
        run(&net, (server, model, 1), Clients::new(vec![(hosts[0], server, Time::ZERO)], 500, 1), Span::from_secs(1));
    let visit = &ran.clients.visits[0];
    let connected = across(EMPTY) * 2;
    let sent = connected + across(EMPTY) + accept + request + open;
    let answered = sent + across(500 + u64::from(OVERHEAD) + GAP);
    // steps that cost nothing take a picosecond
    for (what, found, expected) in [
        ("connected", visit.connected, connected),
        ("answered", visit.answered, answered),
        ("ended", visit.ended, answered + ns(EMPTY * 8)),
    ] {
        let found = found.expect("it was").since(Time::ZERO);
        assert!(found >= expected && found < expected + ns(1), "{what}: {found} is not {expected}");
    }
    assert_eq!((ran.server.accepted, ran.server.answered, ran.server.most_open), (1, 1, 1));
    assert!(ran.busy[0] >= accept + request + open && ran.busy[0] < accept + request + open + ns(1));
}

/// Four requests of 1 ms, 20 us apart: a worker that is at work accepts nothing, so each goes to a worker of its own while there
/// is one. Workers share cores in turn, and a single worker does one after the other.
#[test]
fn workers_share_cores() {
    for (workers, cores, millis) in [(1, 1, 4), (1, 4, 4), (4, 1, 4), (4, 2, 2), (4, 4, 1)] {
        let (net, hosts, server) = star(4);
        let cost = ServerCost { request: Span::from_millis(1), ..ServerCost::default() };
        let at = |n: usize| Time::ZERO + Span::from_micros(20 * n as u64);
        let clients = hosts.iter().enumerate().map(|(n, &host)| (host, server, at(n))).collect();
        let model = ServerModel { workers, cost, ..ServerModel::default() };
        let ran = run(&net, (server, model, cores), Clients::new(clients, 500, 1), Span::from_secs(1));
        let last = ran.clients.visits.iter().map(|visit| visit.ended.expect("it was answered")).max().unwrap();
        let took = last.since(Time::ZERO).as_secs_f64() * 1e3;
        assert!((f64::from(millis)..f64::from(millis) + 0.2).contains(&took), "{workers} on {cores}: {took} ms");
    }
}

/// A SYN that finds the SYN queue full is dropped without a word, and sent again after the initial time-out, 1 s
/// (RFC 6298 §2.1).
#[test]
fn a_full_syn_queue_costs_a_second() {
    let (net, hosts, server) = star(2);
    let clients = hosts.iter().map(|&host| (host, server, Time::ZERO)).collect();
    let model = ServerModel { syn_queue: 1, syn_cookies: false, ..ServerModel::default() };
    let ran = run(&net, (server, model, 1), Clients::new(clients, 500, 1), Span::from_secs(3));
    let mut connected: Vec<Span> =
        ran.clients.visits.iter().map(|visit| visit.connected.expect("it was").since(visit.begun)).collect();
    connected.sort_unstable();
    assert!(connected[0] < across(EMPTY) * 2 + ns(2 * EMPTY * 8));
    assert!(connected[1] >= Span::from_secs(1) + across(EMPTY) * 2 && connected[1] < Span::from_millis(1001));
    assert_eq!((ran.server.syns_dropped, ran.server.most_half_open, ran.server.accepted), (1, 1, 2));
    // the run tells of its servers
    assert_eq!(ran.totals.servers, ran.server);
}

/// With cookies it costs nothing, unless SYN-ACK is lost; the queue stays as it is.
#[test]
fn a_cookie_needs_no_place() {
    let (net, hosts, server) = star(3);
    let clients = hosts.iter().map(|&host| (host, server, Time::ZERO)).collect();
    let model = ServerModel { syn_queue: 1, ..ServerModel::default() };
    let ran = run(&net, (server, model, 1), Clients::new(clients, 500, 1), Span::from_secs(3));
    let late = |visit: &Visit| visit.ended.expect("it was answered").since(visit.begun) > Span::from_millis(1);
    assert!(!ran.clients.visits.iter().any(late));
    assert_eq!((ran.server.cookies, ran.server.syns_dropped, ran.server.most_half_open), (2, 0, 1));
}

/// A worker that accepts for 100 ms, and a place for one: the third connection finds no place. It is reset where servers
/// refuse; otherwise it is left, and SYN-ACK comes again after 1 s.
#[test]
fn a_full_accept_queue_drops_or_refuses() {
    for refuse in [false, true] {
        let (net, hosts, server) = star(3);
        let clients = hosts.iter().map(|&host| (host, server, Time::ZERO)).collect();
        let cost = ServerCost { connection: Span::from_millis(100), ..ServerCost::default() };
        let model = ServerModel { backlog: 0, refuse, cost, ..ServerModel::default() };
        let ran = run(&net, (server, model, 1), Clients::new(clients, 500, 1), Span::from_secs(5));
        let refused = ran.clients.visits.iter().filter(|visit| visit.refused.is_some()).count();
        let ended: Vec<Time> = ran.clients.visits.iter().filter_map(|visit| visit.ended).collect();
        assert_eq!((refused, ran.server.refused), if refuse { (1, 1) } else { (0, 0) });
        assert_eq!(ended.len(), 3 - refused);
        assert_eq!(ran.server.most_waiting, 1);
        let late = ended.iter().filter(|&&at| at > Time::ZERO + Span::from_millis(300)).count();
        assert_eq!((late, ran.server.overflows > 0), (usize::from(!refuse), !refuse));
    }
}

/// An open connection that a worker has no room for waits, though the worker is idle, until another one ends.
#[test]
fn a_worker_has_so_many_connections() {
    let (net, hosts, server) = star(2);
    let cost = ServerCost { request: Span::from_millis(10), ..ServerCost::default() };
    let clients = hosts.iter().map(|&host| (host, server, Time::ZERO)).collect();
    let model = ServerModel { workers: 1, connections: 1, cost, ..ServerModel::default() };
    let ran = run(&net, (server, model, 1), Clients::new(clients, 500, 1), Span::from_secs(1));
    assert_eq!((ran.server.most_open, ran.server.most_waiting, ran.server.answered), (1, 1, 2));
}

/// A client that gives up while its SYN has no answer sends nothing (Linux: `tcp_need_reset` has no SYN_SENT); SYN-ACK, which
/// comes later, is answered by a reset. Three frames over two cables.
#[test]
fn a_client_that_gives_up_without_an_answer_says_nothing() {
    let (net, hosts, server) = star(1);
    let early = across(EMPTY) + ns(1_000);
    let clients = Clients { timeout: Some(early), ..Clients::new(vec![(hosts[0], server, Time::ZERO)], 500, 1) };
    let ran = run(&net, (server, ServerModel::default(), 1), clients, Span::from_secs(5));
    assert_eq!((ran.totals.hops, ran.server.most_half_open, ran.server.accepted), (6, 1, 0));
    assert_eq!(ran.clients.closed, 1);
}

/// Of a connection by cookie the server keeps nothing, so when its client gives up it is over, whatever gets lost. One with a
/// place in the SYN queue ends with the first SYN-ACK that is answered by a reset: both get through two times in three.
#[test]
fn a_cookie_that_nobody_brings_back_leaves_nothing() {
    let (net, hosts, server) = star_with_loss(100, 0.1);
    // a SYN each 3 us, each given up when it has come and before its answer has
    let all = (0..).zip(&hosts).map(|(n, &host)| (host, server, Time::ZERO + Span::from_micros(3 * n))).collect();
    let early = across(EMPTY) + ns(2_000);
    let clients = Clients { timeout: Some(early), ..Clients::new(all, 500, 1) };
    let model = ServerModel { syn_queue: 1, ..ServerModel::default() };
    let ran = run(&net, (server, model, 1), clients, Span::from_secs(1_000));
    assert!(ran.server.cookies > 50, "{:?}", ran.server);
    assert_eq!(ran.clients.closed, 100);
}

prop_compose! {
    fn models()(
        (workers, connections, backlog, syn_queue) in (1u32..4, 1u32..5, 0u32..4, 1u32..5),
        (refuse, syn_cookies) in any::<(bool, bool)>(),
        (connection, request, open) in (0u64..200, 0u64..2_000, 0u64..50),
    ) -> ServerModel {
        let micros = Span::from_micros;
        let cost = ServerCost { connection: micros(connection), request: micros(request), open: micros(open) };
        ServerModel { workers, connections, backlog, syn_queue, syn_cookies, refuse, cost }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the server: every connection is answered, refused, given up or open; nobody waits where there is no place; no
    /// core works more than its time; and the same again gives the same. Frames are conserved (checked at every end).
    #[test]
    fn requests_are_conserved(
        model in models(),
        cores in 1u32..4,
        starts in prop::collection::vec(0u64..300, 1..12),
        (answer, rounds) in (1u64..20_000, 1u32..6),
        timeout in prop::option::of(1u64..1_500),
        span in 1u64..4_000,
    ) {
        let go = || {
            let (net, hosts, server) = star(starts.len());
            let at = |micros: u64| Time::ZERO + Span::from_micros(micros);
            let all = hosts.iter().zip(&starts).map(|(&host, &start)| (host, server, at(start))).collect();
            let clients = Clients { timeout: timeout.map(Span::from_millis), ..Clients::new(all, answer, rounds) };
            run(&net, (server, model, cores), clients, Span::from_millis(span))
        };
        let ran = go();
        let visits = &ran.clients.visits;
        let done = visits.iter().filter(|visit| visit.ended.is_some()).count();
        let refused = visits.iter().filter(|visit| visit.refused.is_some()).count();
        let gave_up = visits.iter().filter(|visit| visit.gave_up).count();
        prop_assert_eq!(visits.len(), done + refused + gave_up + ran.clients.current.len());
        let begun: u32 = ran.clients.left.iter().map(|left| rounds - left).sum();
        prop_assert_eq!(begun as usize, done + refused + gave_up);
        prop_assert_eq!(ran.clients.rounds, rounds);
        prop_assert!(visits.iter().all(|visit| visit.ended.is_none() || visit.read == answer));
        prop_assert!(ran.server.most_half_open <= model.syn_queue);
        prop_assert!(ran.server.most_waiting <= model.backlog + 1);
        prop_assert!(ran.server.most_open <= model.workers * model.connections);
        prop_assert!(ran.server.answered >= done as u64 && ran.server.answered <= ran.server.accepted);
        prop_assert!(model.refuse || ran.server.refused == 0);
        let most = Span::from_millis(span) + model.cost.request + model.cost.connection + model.cost.open * 12;
        prop_assert!(ran.busy.iter().all(|&busy| busy <= most));
        let again = go();
        prop_assert_eq!(ran.totals.digest, again.totals.digest);
        prop_assert_eq!(&ran.clients.visits, &again.clients.visits);
    }
}
