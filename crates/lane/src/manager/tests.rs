//! The manager against a kernel in memory that answers as Linux does: joins take a round trip, commands may be refused,
//! events may get lost, lanes may die.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use headway_control::lanes::{Backlog, Deadline, Judge, LinkCost, Role};
use headway_linux::diag::{Mptcp, SubflowInfo, Tcp};
use headway_linux::mptcp::{self, Command, Event};
use headway_linux::{Pair, Token};
use headway_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::{Kernel, LaneState, Manager, Note, Unreadable};
use crate::settings::{Lane, Limits, Open, Operations, Remote, Rule, Settings, Setup, Timing, Treatment};

const TOKEN: Token = Token(7);
const ENOTCONN: i32 = 107;
const EINVAL: i32 = 22;

mod silence;

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

fn ip(lane: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, lane, 0, host))
}

/// A short lane (10.0/16) and a long one (10.1/16).
fn settings(judge: impl Into<Judge>, open: Open) -> Settings {
    let lane = |name: &str, role, net: u8| Lane {
        name: name.to_owned(),
        role,
        interface: Some(format!("eth{net}")),
        addresses: Vec::new(),
        gateways: Vec::new(),
        remote: Remote::Mapped(vec![format!("10.{net}.0.0/16").parse().unwrap()]),
    };
    Settings {
        client: true,
        server: true,
        lanes: vec![lane("short", Role::Short, 0), lane("long", Role::Long, 1)],
        judge: judge.into(),
        timing: Timing {
            open,
            open_after: ms(75),
            probe_interval: ms(50),
            poll_interval: ms(20),
            watch_interval: ms(500),
            idle: Some(ms(200)),
            patience: Span::ZERO,
        },
        history: None,
        rules: Vec::new(),
        limits: Limits { connections: 10_000, opens_per_second: 10_000, subflows: 8, accepted_addresses: 8 },
        setup: Setup { table: 8300, priority: 8300, listen: true },
        operations: Operations { socket: PathBuf::new(), metrics: None, state: PathBuf::new() },
    }
}

fn deadline() -> Deadline {
    Deadline { after: ms(300) }
}

#[derive(Debug, Clone)]
struct Socket {
    pair: Pair,
    established: Option<Time>,
    backup: bool,
    joined: bool,
    acked: u64,
    timeouts: u8,
}

/// A connection that writes `size` bytes at its begin, which are acknowledged at 1 MB/s from then on.
#[derive(Debug, Clone)]
struct Connected {
    began: Time,
    size: u64,
    server_side: bool,
    sockets: Vec<Socket>,
}

impl Connected {
    fn una(&self, now: Time) -> u64 {
        (now.since(self.began).picos() / 1_000_000).min(self.size)
    }
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent faults")]
struct Fake {
    now: Time,
    connections: BTreeMap<Token, Connected>,
    events: VecDeque<(Time, Event)>,
    /// Round trips by lane.
    rtt: [Span; 2],
    /// Lanes that answer nothing.
    dead: [bool; 2],
    /// Errors that the next commands get.
    refusals: VecDeque<i32>,
    /// Everything that was asked, refused or not.
    commands: Vec<(Time, Command)>,
    listening: Vec<SocketAddr>,
    ports: u16,
    lose_events: bool,
    /// Events were lost, and nobody has read everything anew since.
    lost: bool,
    unreadable: bool,
    /// Connections take no more subflows.
    ending: bool,
    /// What the other end has as a backup.
    peer_backups: Vec<Pair>,
    /// Subflows destroyed that were no backups.
    carriers_destroyed: usize,
    looks: usize,
}

fn lane_of(pair: &Pair) -> usize {
    match pair.local.ip() {
        IpAddr::V4(ip) => usize::from(ip.octets()[1]),
        IpAddr::V6(_) => unreachable!("IPv4 here"),
    }
}

impl Fake {
    fn tell(&mut self, when: Time, event: Event) {
        self.lost |= self.lose_events;
        if !self.lose_events {
            let place = self.events.partition_point(|(time, _)| *time <= when);
            self.events.insert(place, (when, event));
        }
    }

    fn subflow(token: Token, pair: Pair, error: Option<u8>) -> mptcp::Subflow {
        mptcp::Subflow {
            token,
            pair,
            local_id: 1,
            remote_id: 1,
            backup: false,
            interface: 0,
            error,
            reset_reason: None,
        }
    }

    /// What there is at `now`: joins that had their round trip are established.
    fn advance(&mut self, now: Time) {
        self.now = now;
        for connection in self.connections.values_mut() {
            let una = connection.una(now);
            for socket in &mut connection.sockets {
                let lane = lane_of(&socket.pair);
                if self.dead[lane] {
                    socket.timeouts = if socket.backup { socket.timeouts } else { 1 };
                } else if socket.established.is_some() && !socket.backup {
                    (socket.acked, socket.timeouts) = (una, 0);
                }
            }
        }
    }

    fn state(&self, token: Token) -> Mptcp {
        let connection = &self.connections[&token];
        Mptcp {
            token,
            pair: connection.sockets[0].pair,
            state: if self.ending { 4 } else { 1 },
            uid: 1000,
            cgroup: Some(1),
            fallback: false,
            write_seq: connection.size,
            snd_una: connection.una(self.now),
            sent: None,
            acked: Some(connection.una(self.now)),
            received: None,
            subflows: connection.sockets.len() as u8 - 1,
        }
    }

    fn tcp(&self, token: Token, socket: &Socket) -> Tcp {
        let srtt = self.rtt[lane_of(&socket.pair)];
        Tcp {
            pair: socket.pair,
            state: 1,
            interface: 0,
            uid: 1000,
            cgroup: Some(1),
            srtt: Duration::from_nanos(srtt.nanos()),
            min_rtt: Some(Duration::from_nanos(srtt.nanos().min(1_000_000))),
            last_ack: Duration::ZERO,
            last_sent: Duration::ZERO,
            timeouts: socket.timeouts,
            unacked: 1,
            cwnd: 10,
            mss: 1448,
            acked: socket.acked,
            sent: socket.acked,
            unsent: 0,
            delivery_rate: 0,
            subflow: Some(SubflowInfo {
                token,
                local_id: 0,
                remote_id: 0,
                backup_local: socket.backup,
                backup_remote: self.peer_backups.contains(&socket.pair),
                join: socket.joined,
                initiator: !self.connections[&token].server_side,
                fully_established: true,
            }),
        }
    }

    fn all(&self) -> (Vec<Mptcp>, Vec<Tcp>) {
        let connections = self.connections.keys().map(|&token| self.state(token)).collect();
        let sockets = self.connections.iter().flat_map(|(&token, connection)| {
            let established = connection.sockets.iter().filter(|socket| socket.established.is_some());
            established.map(move |socket| self.tcp(token, socket))
        });
        (connections, sockets.collect())
    }
}

impl Kernel for Fake {
    fn command(&mut self, command: &Command) -> Result<(), i32> {
        self.commands.push((self.now, *command));
        if let Some(errno) = self.refusals.pop_front() {
            return Err(errno);
        }
        let now = self.now;
        match *command {
            Command::Create { token, local, remote, backup, .. } => {
                let lane = lane_of(&Pair { local: SocketAddr::new(local, 0), remote });
                self.ports += 1;
                let pair = Pair { local: SocketAddr::new(local, 40_000 + self.ports), remote };
                let connection = self.connections.get_mut(&token).ok_or(EINVAL)?;
                // only the initiator can; who lost an event may take another one of that name for it
                if connection.server_side {
                    return Err(EINVAL);
                }
                if !self.dead[lane] {
                    let when = now + self.rtt[lane];
                    let socket = Socket { pair, established: Some(when), backup, joined: true, acked: 0, timeouts: 0 };
                    connection.sockets.push(socket);
                    self.tell(when, Event::SubflowEstablished(Self::subflow(token, pair, None)));
                }
            }
            Command::Destroy { token, pair } => {
                let connection = self.connections.get_mut(&token).ok_or(EINVAL)?;
                let before = connection.sockets.len();
                let carries = |socket: &&Socket| socket.pair == pair && !socket.backup;
                self.carriers_destroyed += connection.sockets.iter().filter(carries).count();
                connection.sockets.retain(|socket| socket.pair != pair);
                assert!(connection.sockets.iter().any(|socket| socket.established.is_some()), "the last one");
                if connection.sockets.len() == before {
                    return Err(EINVAL);
                }
                self.tell(now, Event::SubflowClosed(Self::subflow(token, pair, None)));
            }
            Command::SetBackup { token, pair, backup } => {
                let connection = self.connections.get_mut(&token).ok_or(EINVAL)?;
                let socket = connection.sockets.iter_mut().find(|socket| socket.pair == pair).ok_or(EINVAL)?;
                socket.backup = backup;
                let carries = connection.sockets.iter().any(|socket| socket.established.is_some() && !socket.backup);
                assert!(carries || self.lost, "nothing but backups");
            }
            Command::Announce { token, .. } | Command::Withdraw { token, .. } => {
                self.connections.get(&token).ok_or(EINVAL)?;
            }
        }
        Ok(())
    }

    fn connections(&mut self, tokens: &[Token]) -> Result<Vec<Option<Mptcp>>, Unreadable> {
        self.looks += tokens.len();
        if self.unreadable {
            return Err(Unreadable);
        }
        Ok(tokens.iter().map(|token| self.connections.contains_key(token).then(|| self.state(*token))).collect())
    }

    fn subflows(&mut self, pairs: &[Pair]) -> Result<Vec<Option<Tcp>>, Unreadable> {
        self.looks += pairs.len();
        let find = |pair: &Pair| {
            self.connections.iter().find_map(|(token, connection)| {
                let socket = connection.sockets.iter().find(|socket| socket.pair == *pair)?;
                Some(self.tcp(*token, socket))
            })
        };
        Ok(pairs.iter().map(find).collect())
    }

    fn listen(&mut self, at: SocketAddr) -> Result<(), i32> {
        self.listening.push(at);
        Ok(())
    }

    fn cgroup(&mut self, id: u64) -> Option<PathBuf> {
        (id == 1).then(|| PathBuf::from("/system.slice/backup.service"))
    }
}

struct World {
    manager: Manager,
    kernel: Fake,
}

impl World {
    fn new(settings: Settings) -> World {
        let mut kernel = Fake { rtt: [ms(1), ms(1)], ..Fake::default() };
        let mut manager = Manager::new(settings, Time::ZERO);
        for lane in 0..2 {
            manager.lane(Time::ZERO, lane, up(lane), &mut kernel);
        }
        World { manager, kernel }
    }

    fn connect(&mut self, token: Token, size: u64, server_side: bool) -> Pair {
        let now = self.kernel.now;
        self.kernel.ports += 1;
        let port = self.kernel.ports;
        let (own, other) = if server_side { (5000, port) } else { (port, 5000) };
        let pair = Pair { local: SocketAddr::new(ip(0, 1), own), remote: SocketAddr::new(ip(0, 2), other) };
        let socket = Socket { pair, established: Some(now), backup: false, joined: false, acked: 0, timeouts: 0 };
        self.kernel.connections.insert(token, Connected { began: now, size, server_side, sockets: vec![socket] });
        let connection = mptcp::Connection { token, pair, server_side, deny_join_initial: false };
        self.kernel.tell(now, Event::Established(connection));
        pair
    }

    fn close(&mut self, token: Token) {
        let now = self.kernel.now;
        let Some(connection) = self.kernel.connections.remove(&token) else { return };
        for socket in connection.sockets {
            self.kernel.tell(now, Event::SubflowClosed(Fake::subflow(token, socket.pair, None)));
        }
        self.kernel.tell(now, Event::Closed(token));
    }

    /// Everything that happens up to `until`.
    fn run(&mut self, until: Time) {
        loop {
            let event = self.kernel.events.front().map(|(time, _)| *time);
            let due = self.manager.next();
            let Some(next) = event.into_iter().chain(due).min().filter(|next| *next <= until) else { break };
            let now = next.max(self.kernel.now);
            self.kernel.advance(now);
            if event.is_some_and(|event| event <= now) {
                let (_, event) = self.kernel.events.pop_front().unwrap();
                self.manager.event(now, &event, &mut self.kernel);
            }
            self.manager.run(now, &mut self.kernel);
        }
        self.kernel.advance(until);
    }

    fn commands(&self) -> Vec<String> {
        let text = |(time, command): &(Time, Command)| {
            let time = time.since(Time::ZERO).as_millis_f64().round();
            match command {
                Command::Create { local, remote, backup, .. } => {
                    format!("{time}: create {local} > {remote}{}", if *backup { " backup" } else { "" })
                }
                Command::Destroy { pair, .. } => format!("{time}: destroy {}", pair.local),
                Command::SetBackup { pair, backup, .. } => {
                    format!("{time}: lane {} backup={backup}", lane_of(pair))
                }
                Command::Announce { ip, .. } => format!("{time}: announce {ip}"),
                Command::Withdraw { id, .. } => format!("{time}: withdraw {id}"),
            }
        };
        self.kernel.commands.iter().map(text).collect()
    }
}

fn up(lane: usize) -> LaneState {
    LaneState { addresses: vec![ip(lane as u8, 1)], interface: lane as u32 + 2, up: true }
}

fn down(lane: usize) -> LaneState {
    LaneState { up: false, ..up(lane) }
}

const MB: u64 = 1_000_000;

#[test]
fn a_short_connection_costs_no_command_and_no_look() {
    let mut world = World::new(settings(LinkCost::default(), Open::Probe));
    world.connect(TOKEN, 10_000, false);
    world.run(at(50));
    world.close(TOKEN);
    world.run(at(10_000));
    assert_eq!((world.commands().len(), world.kernel.looks), (0, 0));
    assert!(world.manager.next().is_none());
}

#[test]
fn a_long_one_is_given_a_long_lane_at_the_deadline_and_never_without_one_that_carries() {
    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(5_000));
    assert_eq!(world.commands(), ["300: create 10.1.0.1 > 10.1.0.2:5000", "301: lane 0 backup=true"]);
    assert_eq!(world.manager.counters().switched, 1);
}

#[test]
fn with_a_probe_the_lane_is_there_before_as_a_backup() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(5_000));
    assert_eq!(
        world.commands(),
        ["75: create 10.1.0.1 > 10.1.0.2:5000 backup", "300: lane 1 backup=false", "300: lane 0 backup=true"]
    );
}

#[test]
fn a_queue_on_the_short_lane_switches_earlier_by_the_rule_of_thumb() {
    let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, Open::Probe));
    // 15 ms of queue: 300 ms − 8·15 ms; a look every 20 ms
    world.kernel.rtt = [ms(16), ms(1)];
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    let switched = world.manager.notes().into_iter().find_map(|note| match note {
        Note::Switched { age_s, .. } => Some(age_s),
        _ => None,
    });
    let age = switched.expect("it switches");
    assert!((0.180..=0.201).contains(&age), "{age}");
}

#[test]
fn a_probe_is_repeated_by_a_new_join_that_ends_the_old_one() {
    let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(145));
    assert_eq!(
        world.commands(),
        [
            "75: create 10.1.0.1 > 10.1.0.2:5000 backup",
            "140: create 10.1.0.1 > 10.1.0.2:5000 backup",
            "141: destroy 10.1.0.1:40002"
        ]
    );
    assert_eq!(world.kernel.connections[&TOKEN].sockets.len(), 2);
}

#[test]
fn who_only_receives_or_has_sent_all_is_left_alone() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 200, false);
    world.run(at(10_000));
    assert_eq!(world.commands().len(), 0);
    assert!(world.kernel.looks < 40, "{} looks in 10 s", world.kernel.looks);
}

#[test]
fn a_command_that_comes_too_early_is_tried_again_and_not_for_ever() {
    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.kernel.refusals = [ENOTCONN, ENOTCONN, ENOTCONN].into();
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    let times: Vec<String> =
        world.commands().iter().map(|command| command.split(':').next().unwrap().to_owned()).collect();
    // 2, 4 and 8 ms later; then the mark
    assert_eq!(times, ["300", "302", "306", "314", "315"]);
    assert_eq!(world.manager.counters().retries, 3);

    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.kernel.refusals = vec![EINVAL; 1000].into();
    world.connect(TOKEN, 1000 * MB, false);
    world.run(at(60_000));
    assert!(world.kernel.commands.len() < 70, "{}", world.kernel.commands.len());
    assert!(world.manager.notes().iter().any(|note| matches!(note, Note::NotOpened { errno: Some(EINVAL), .. })));
}

#[test]
fn a_mark_that_comes_before_the_subflow_is_linked_is_tried_again() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(299));
    world.kernel.refusals = [EINVAL, EINVAL].into();
    world.run(at(1_000));
    let sockets = &world.kernel.connections[&TOKEN].sockets;
    assert!(sockets[0].backup && !sockets[1].backup);
    assert_eq!(world.manager.counters().retries, 2);
}

#[test]
fn a_lane_that_goes_down_is_left_at_once_and_used_again_when_it_is_back() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    world.manager.lane(at(1_000), 1, down(1), &mut world.kernel);
    world.run(at(2_000));
    world.manager.lane(at(2_000), 1, up(1), &mut world.kernel);
    world.run(at(3_000));
    let back = [
        "1000: lane 0 backup=false",
        // so that the kernel sends again at once what was on its way there
        "1000: destroy 10.1.0.1:40002",
        "2000: create 10.1.0.1 > 10.1.0.2:5000",
        "2001: lane 0 backup=true",
    ];
    assert_eq!(world.commands(), back);
}

#[test]
fn a_long_lane_that_answers_no_more_is_left_within_a_look() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    world.kernel.dead[1] = true;
    world.run(at(1_600));
    assert!(world.commands()[0].ends_with("lane 0 backup=false"), "{:?}", world.commands());
    world.kernel.dead[1] = false;
    world.run(at(3_000));
    assert!(world.kernel.connections[&TOKEN].sockets[0].backup, "back on the long lane");
}

#[test]
fn without_any_lane_alive_the_other_one_is_opened_at_once() {
    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(10));
    world.manager.lane(at(10), 0, down(0), &mut world.kernel);
    world.run(at(200));
    assert_eq!(world.commands(), ["10: create 10.1.0.1 > 10.1.0.2:5000"]);
}

#[test]
fn a_pause_makes_it_new_again() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    // a second of data
    world.connect(TOKEN, MB, false);
    world.run(at(3_000));
    assert_eq!(world.manager.counters().returned, 1);
    let sockets = &world.kernel.connections[&TOKEN].sockets;
    assert!(!sockets[0].backup && sockets[1].backup);
    // another one: 300 ms of its own
    world.kernel.commands.clear();
    world.kernel.connections.get_mut(&TOKEN).unwrap().size = 200 * MB;
    world.run(at(6_000));
    let first = world.commands()[0].clone();
    let time: u64 = first.split(':').next().unwrap().parse().unwrap();
    assert!((3_300..=4_400).contains(&time), "{first}");
}

#[test]
fn a_server_announces_and_marks_only_its_short_lane() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, true);
    world.run(at(310));
    assert_eq!(world.commands(), ["300: announce 10.1.0.1"]);
    assert_eq!(world.kernel.listening, [SocketAddr::new(ip(1, 1), 5000)]);
    // the other end joins
    let pair = Pair { local: SocketAddr::new(ip(1, 1), 5000), remote: SocketAddr::new(ip(1, 2), 1234) };
    let joined = Socket { pair, established: Some(at(311)), backup: false, joined: true, acked: 0, timeouts: 0 };
    world.kernel.connections.get_mut(&TOKEN).unwrap().sockets.push(joined);
    world.kernel.tell(at(311), Event::SubflowEstablished(Fake::subflow(TOKEN, pair, None)));
    world.run(at(4_000));
    assert_eq!(world.commands(), ["300: announce 10.1.0.1", "311: lane 0 backup=true"]);
}

#[test]
fn an_announced_address_is_joined_from_its_lane() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 200, false);
    world.run(at(10));
    let announced = Event::Announced { token: TOKEN, id: 3, ip: ip(1, 2), port: None };
    world.kernel.tell(at(10), announced);
    world.run(at(2_000));
    // once it is no short connection any more; a backup until either end's data is long
    assert_eq!(world.commands(), ["75: create 10.1.0.1 > 10.1.0.2:5000 backup"]);
    let short = world.kernel.connections[&TOKEN].sockets[0].pair;
    let marked = mptcp::Subflow { backup: true, ..Fake::subflow(TOKEN, short, None) };
    world.kernel.tell(at(2_000), Event::SubflowPriority(marked));
    world.run(at(2_100));
    assert_eq!(world.commands()[1..], ["2000: lane 1 backup=false"]);
}

#[test]
fn the_path_to_an_announced_address_waits_for_it() {
    let mut settings = settings(deadline(), Open::WhenLong);
    settings.lanes[1].remote = Remote::Announced;
    let mut world = World::new(settings);
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    assert_eq!(world.commands().len(), 0);
    world.kernel.tell(at(1_000), Event::Announced { token: TOKEN, id: 3, ip: ip(1, 9), port: Some(80) });
    world.run(at(2_000));
    assert_eq!(world.commands(), ["1000: create 10.1.0.1 > 10.1.0.9:80", "1001: lane 0 backup=true"]);
}

#[test]
fn after_a_restart_what_was_switched_is_known_as_long_and_left_as_it_is() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.connect(Token(8), 100 * MB, true);
    world.run(at(1_000));
    let (connections, subflows) = world.kernel.all();
    world.kernel.commands.clear();
    world.manager = Manager::new(settings(deadline(), Open::Probe), at(1_000));
    for lane in 0..2 {
        world.manager.lane(at(1_000), lane, up(lane), &mut world.kernel);
    }
    world.manager.resync(at(1_000), &connections, &subflows, &mut world.kernel);
    world.run(at(1_200));
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!((world.manager.counters().adopted, world.manager.counters().switched), (2, 0));
    let status = world.manager.snapshot(at(1_200));
    assert!(status.connections[0].long && !status.connections[1].long);
}

#[test]
fn after_lost_events_everything_is_as_it_is() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.connect(Token(8), 100 * MB, false);
    world.run(at(70));
    world.kernel.lose_events = true;
    world.close(Token(8));
    world.connect(Token(9), 100 * MB, false);
    world.run(at(200));
    world.kernel.lose_events = false;
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(200), &connections, &subflows, &mut world.kernel);
    world.run(at(1_000));
    for token in [TOKEN, Token(9)] {
        let sockets = &world.kernel.connections[&token].sockets;
        assert_eq!(sockets.len(), 2, "{token}");
        assert!(sockets[0].backup && !sockets[1].backup, "{token}");
    }
    assert_eq!(world.manager.snapshot(at(1_000)).managed, 2);
}

#[test]
fn a_connection_that_is_gone_without_a_word_is_forgotten_at_the_next_look() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    world.kernel.connections.remove(&TOKEN);
    world.run(at(1_000));
    assert_eq!(world.manager.snapshot(at(1_000)).managed, 0);
    assert_eq!(world.manager.counters().vanished, 1);
}

#[test]
fn rules_decide_by_owner_port_and_destination() {
    let rule = |then| Rule {
        name: "one".to_owned(),
        destinations: vec!["10.0.0.0/8".parse().unwrap()],
        ports: vec![5000..=5000],
        users: vec![1000],
        cgroups: vec![PathBuf::from("/system.slice")],
        server_side: Some(false),
        then,
    };
    let world = |rule: Rule| {
        let mut settings = settings(deadline(), Open::WhenLong);
        settings.rules.push(rule);
        let mut world = World::new(settings);
        world.connect(TOKEN, 100 * MB, false);
        world.run(at(2));
        world
    };
    let managed = |rule: Rule| world(rule).manager.snapshot(at(2)).managed;
    assert_eq!(managed(rule(Treatment::Leave)), 0);
    assert_eq!(managed(Rule { users: vec![0], ..rule(Treatment::Leave) }), 1);
    assert_eq!(managed(Rule { ports: vec![1..=4999], ..rule(Treatment::Leave) }), 1);
    assert_eq!(managed(Rule { cgroups: vec![PathBuf::from("/system.slice/x")], ..rule(Treatment::Leave) }), 1);
    assert_eq!(managed(Rule { server_side: Some(true), ..rule(Treatment::Leave) }), 1);
    // long from the start
    let world = world(rule(Treatment::Long));
    assert_eq!(world.commands(), ["0: create 10.1.0.1 > 10.1.0.2:5000", "1: lane 0 backup=true"]);
}

#[test]
fn openings_keep_to_their_rate_and_connections_to_their_number() {
    let mut settings = settings(deadline(), Open::WhenLong);
    settings.limits.opens_per_second = 100;
    settings.limits.connections = 50;
    let mut world = World::new(settings);
    for token in 0..60 {
        world.connect(Token(token), 100 * MB, false);
    }
    world.run(at(309));
    let opened = |world: &World| world.commands().iter().filter(|command| command.contains("create")).count();
    // at 300 ms and every 10 ms
    assert_eq!(opened(&world), 1);
    world.run(at(789));
    assert_eq!(opened(&world), 49);
    world.run(at(2_000));
    assert_eq!((opened(&world), world.manager.counters().refused), (50, 10));
}

#[test]
fn by_backlog_a_long_one_is_known_at_the_first_look() {
    let mut settings = settings(Backlog { threshold: Bytes::new(100_000) }, Open::WhenLong);
    settings.timing.open_after = ms(20);
    let mut world = World::new(settings);
    world.connect(TOKEN, 10 * MB, false);
    world.connect(Token(8), 50_000, false);
    world.run(at(1_000));
    assert_eq!(world.commands(), ["20: create 10.1.0.1 > 10.1.0.2:5000", "21: lane 0 backup=true"]);
}

#[test]
fn what_the_kernel_manages_itself_is_left_alone_after_a_few_tries() {
    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    let (connections, subflows) = world.kernel.all();
    world.manager = Manager::new(settings(deadline(), Open::WhenLong), at(100));
    for lane in 0..2 {
        world.manager.lane(at(100), lane, up(lane), &mut world.kernel);
    }
    world.kernel.refusals = vec![EINVAL; 100].into();
    world.manager.resync(at(100), &connections, &subflows, &mut world.kernel);
    world.run(at(10_000));
    assert_eq!(world.commands().len(), 8);
    assert_eq!((world.manager.counters().left, world.manager.snapshot(at(10_000)).managed), (1, 0));
    assert!(world.manager.notes().iter().any(|note| matches!(note, Note::Left { .. })));
    assert!(world.manager.next().is_none());
}

#[test]
fn an_address_that_leaves_its_lane_takes_its_subflows_along() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    let other = LaneState { addresses: vec![ip(1, 77)], ..up(1) };
    world.manager.lane(at(1_000), 1, other, &mut world.kernel);
    world.run(at(3_000));
    let moved = [
        "1000: lane 0 backup=false",
        "1000: destroy 10.1.0.1:40002",
        "1000: create 10.1.0.77 > 10.1.0.2:5000",
        "1001: lane 0 backup=true",
    ];
    assert_eq!(world.commands(), moved);
}

#[test]
fn new_settings_keep_ages() {
    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(200));
    world.manager.reconfigure(settings(Deadline { after: ms(400) }, Open::WhenLong));
    for lane in 0..2 {
        world.manager.lane(at(200), lane, up(lane), &mut world.kernel);
    }
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(200), &connections, &subflows, &mut world.kernel);
    world.run(at(1_000));
    assert_eq!(world.commands()[0], "400: create 10.1.0.1 > 10.1.0.2:5000");
    assert_eq!(world.manager.counters().reloads, 1);
}

#[test]
fn new_settings_keep_what_was_announced() {
    let mut settings = settings(deadline(), Open::WhenLong);
    settings.lanes[1].remote = Remote::Announced;
    let mut world = World::new(settings.clone());
    world.connect(TOKEN, 100 * MB, false);
    world.kernel.tell(at(10), Event::Announced { token: TOKEN, id: 3, ip: ip(1, 9), port: Some(80) });
    world.run(at(50));
    world.manager.reconfigure(settings);
    for lane in 0..2 {
        world.manager.lane(at(50), lane, up(lane), &mut world.kernel);
    }
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(50), &connections, &subflows, &mut world.kernel);
    world.run(at(1_000));
    let joined = ["75: create 10.1.0.1 > 10.1.0.9:80 backup", "300: lane 1 backup=false", "300: lane 0 backup=true"];
    assert_eq!(world.commands(), joined);
}

#[test]
fn a_list_with_a_connection_twice_or_without_its_subflows_changes_nothing() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    let (connections, subflows) = world.kernel.all();
    let twice = [connections.clone(), connections].concat();
    world.manager.resync(at(1_000), &twice, &subflows, &mut world.kernel);
    world.manager.resync(at(1_000), &twice, &[], &mut world.kernel);
    world.run(at(2_000));
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.manager.snapshot(at(2_000)).connections[0].subflows.len(), 2);
}

#[test]
fn an_address_that_wants_no_joins_is_not_joined() {
    let mut settings = settings(deadline(), Open::WhenLong);
    settings.lanes[1].remote = Remote::Same;
    let mut world = World::new(settings);
    let pair = world.connect(TOKEN, 100 * MB, false);
    world.kernel.events.clear();
    let connection = mptcp::Connection { token: TOKEN, pair, server_side: false, deny_join_initial: true };
    world.kernel.tell(at(0), Event::Established(connection));
    world.run(at(2_000));
    assert_eq!(world.commands(), [] as [&str; 0]);
}

#[test]
fn a_connection_on_its_way_to_its_end_is_given_no_subflow() {
    let mut world = World::new(settings(deadline(), Open::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.kernel.ending = true;
    world.run(at(2_000));
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.manager.snapshot(at(2_000)).managed, 1);
}

#[test]
fn a_measurement_that_ends_after_the_switch_ends_no_subflow_that_carries_data() {
    for rtt in 2..40 {
        let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, Open::Probe));
        world.kernel.rtt[1] = ms(rtt);
        world.connect(TOKEN, 100 * MB, false);
        world.run(at(3_000));
        assert_eq!((world.manager.counters().switched, world.kernel.carriers_destroyed), (1, 0), "{rtt} ms");
        assert_eq!(world.kernel.connections[&TOKEN].sockets.len(), 2, "{rtt} ms");
    }
}

#[test]
fn measurements_do_not_queue_before_subflows_that_connections_wait_for() {
    let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, Open::Probe));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    world.manager.shared.next_open = at(10_000);
    world.run(at(290));
    assert_eq!(world.manager.shared.next_open, at(10_000));
}

#[test]
fn a_lane_that_the_other_end_has_moved_to_is_no_backup_of_this_end() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    let first = world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    let wish = |backup| Event::SubflowPriority(mptcp::Subflow { backup, ..Fake::subflow(TOKEN, first, None) });
    world.kernel.peer_backups = vec![first];
    world.kernel.tell(at(100), wish(true));
    world.run(at(200));
    world.kernel.peer_backups.clear();
    world.kernel.tell(at(200), wish(false));
    world.run(at(290));
    let made = ["75: create 10.1.0.1 > 10.1.0.2:5000 backup", "100: lane 1 backup=false", "200: lane 1 backup=true"];
    assert_eq!(world.commands(), made);
}

#[test]
fn nobody_listens_for_joins_of_connections_that_are_over() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    let place = SocketAddr::new(ip(1, 1), 5000);
    world.connect(TOKEN, 100 * MB, true);
    world.connect(Token(8), 100 * MB, true);
    world.run(at(400));
    let _ = world.manager.stale_listeners();
    world.close(TOKEN);
    world.run(at(500));
    assert!(world.manager.listens(&place) && !world.manager.stale_listeners());
    world.close(Token(8));
    world.run(at(600));
    assert!(world.manager.stale_listeners() && !world.manager.listens(&place));
}

#[test]
fn only_an_address_that_was_announced_is_withdrawn() {
    let mut world = World::new(settings(deadline(), Open::Probe));
    world.connect(TOKEN, 100 * MB, true);
    world.kernel.refusals = vec![EINVAL; 8].into();
    world.run(at(3_000));
    assert!(world.commands().iter().all(|command| command.contains("announce")), "{:?}", world.commands());
    assert_eq!(world.commands().len(), 9);
    // without an answer it is told again
    world.run(at(10_000));
    assert!(world.commands()[9].contains("withdraw 102"), "{:?}", world.commands());
}

#[derive(Debug, Clone)]
enum Step {
    Connect(u32, u64, bool),
    Close(u32),
    Vanish(u32),
    Reset(u32, u8),
    Lane(usize, bool),
    Dead(usize, bool),
    Refuse(u8),
    Lose(bool),
    Unreadable(bool),
    Announce(u32, u8),
    Rtt(usize, u64),
    Resync,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let token = 0..6_u32;
    let step = prop_oneof![
        4 => (token.clone(), 0..40 * MB, any::<bool>()).prop_map(|(t, size, side)| Step::Connect(t, size, side)),
        2 => token.clone().prop_map(Step::Close),
        1 => token.clone().prop_map(Step::Vanish),
        2 => (token.clone(), 0..3_u8).prop_map(|(t, n)| Step::Reset(t, n)),
        2 => (0..2_usize, any::<bool>()).prop_map(|(l, up)| Step::Lane(l, up)),
        2 => (0..2_usize, any::<bool>()).prop_map(|(l, dead)| Step::Dead(l, dead)),
        1 => (0..20_u8).prop_map(Step::Refuse),
        1 => any::<bool>().prop_map(Step::Lose),
        1 => any::<bool>().prop_map(Step::Unreadable),
        1 => (token, 0..4_u8).prop_map(|(t, host)| Step::Announce(t, host)),
        1 => (0..2_usize, 1..30_u64).prop_map(|(l, rtt)| Step::Rtt(l, rtt)),
        1 => Just(Step::Resync),
    ];
    prop::collection::vec((0..2_000_u64, step), 1..60)
}

fn judge() -> impl Strategy<Value = (Judge, Open)> {
    prop_oneof![
        Just((deadline().into(), Open::Probe)),
        Just((deadline().into(), Open::WhenLong)),
        Just((LinkCost { smoothing: 1.0, ..LinkCost::default() }.into(), Open::Probe)),
        Just((Backlog { threshold: Bytes::new(100_000) }.into(), Open::WhenLong)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { ..ProptestConfig::default() })]

    /// Whatever happens: a subflow that carries data stays (the fake kernel asserts it at each command), commands are
    /// bounded, and when all is over nothing is left.
    #[test]
    fn no_connection_is_broken_and_nothing_is_left((judge, open) in judge(), steps in steps()) {
        let mut world = World::new(settings(judge, open));
        let mut now = Time::ZERO;
        for (wait, step) in steps {
            now += ms(wait);
            world.run(now);
            match step {
                Step::Connect(t, size, side) if !world.kernel.connections.contains_key(&Token(t)) => {
                    world.connect(Token(t), size, side);
                }
                Step::Connect(..) => {}
                Step::Close(t) => world.close(Token(t)),
                Step::Vanish(t) => { world.kernel.connections.remove(&Token(t)); }
                Step::Reset(t, n) => {
                    let place = usize::from(n);
                    if let Some(c) = world.kernel.connections.get_mut(&Token(t))
                        && c.sockets.len() > 1 && c.sockets.get(place).is_some_and(|one| one.established.is_some_and(|at| at <= now)) {
                        let socket = c.sockets.remove(place);
                        let event = Event::SubflowClosed(Fake::subflow(Token(t), socket.pair, Some(104)));
                        world.kernel.tell(now, event);
                    }
                }
                Step::Lane(lane, is_up) => {
                    let state = if is_up { up(lane) } else { down(lane) };
                    world.manager.lane(now, lane, state, &mut world.kernel);
                }
                Step::Dead(lane, dead) => world.kernel.dead[lane] = dead,
                Step::Refuse(n) => world.kernel.refusals = vec![EINVAL; usize::from(n)].into(),
                Step::Lose(lose) => world.kernel.lose_events = lose,
                Step::Unreadable(is) => world.kernel.unreadable = is,
                Step::Announce(t, host) => {
                    world.kernel.tell(now, Event::Announced { token: Token(t), id: host, ip: ip(1, host), port: None });
                }
                Step::Rtt(lane, rtt) => world.kernel.rtt[lane] = ms(rtt),
                Step::Resync => {
                    world.kernel.lost = false;
                    let (connections, subflows) = world.kernel.all();
                    world.manager.resync(now, &connections, &subflows, &mut world.kernel);
                }
            }
        }
        let seconds = now.as_secs_f64() + 1.0;
        // probes every 50 ms (two commands each), retries, flips
        let bound = 6.0 * (50.0 * seconds + 50.0);
        prop_assert!((world.kernel.commands.len() as f64) < bound, "{} in {seconds} s", world.kernel.commands.len());
        world.kernel.lose_events = false;
        world.kernel.unreadable = false;
        world.kernel.connections.clear();
        world.manager.resync(now, &[], &[], &mut world.kernel);
        world.kernel.events.clear();
        prop_assert!(world.manager.next().is_none());
        prop_assert_eq!(world.manager.shared.classes, [0; 3]);
    }
}
