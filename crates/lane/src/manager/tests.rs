//! The manager against a kernel in memory that answers as Linux does: joins take a round trip, commands may be refused,
//! events may get lost, lanes may die.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use headway_control::lanes::{Backlog, Deadline, Judge, LinkCost, Role};
use headway_levers::lanes::LaneOpen;
use headway_linux::diag::{Mptcp, SubflowInfo, Tcp};
use headway_linux::mptcp::{self, Command};
use headway_linux::{FourTuple, Token};
use headway_units::{Bytes, Span, Time};

use super::{Answer, Event, Kernel, LaneState, Manager, Unreadable};
use crate::settings::{Judging, Lane, Limits, Operations, Remote, Rule, Settings, Setup, Timing, Treatment};

mod arbitrary;
mod decisions;
mod faults;
mod older;
mod silence;

const TOKEN: Token = Token(7);
const ENOTCONN: i32 = 107;
const EINVAL: i32 = 22;

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
fn settings(judge: impl Into<Judge>, open: LaneOpen) -> Settings {
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
    Deadline { deadline: ms(300) }
}

#[derive(Debug, Clone)]
struct Socket {
    pair: FourTuple,
    established: Option<Time>,
    backup: bool,
    joined: bool,
    acked: u64,
    timeouts: u8,
}

/// A connection that writes `size` bytes at its begin, which are acknowledged at 1 MB/s from then on.
#[derive(Debug, Clone)]
struct Connected {
    /// Ends of its first subflow.
    pair: FourTuple,
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
    events: VecDeque<(Time, mptcp::Event)>,
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
    /// This one can never be read.
    unreadable_one: Option<Token>,
    /// Connections take no more subflows.
    ending: bool,
    /// What the other end has as a backup.
    peer_backups: Vec<FourTuple>,
    /// As Linux 6.1 does it: what is asked for as a backup is none, and bytes are counted by subflow only.
    older: bool,
    /// Subflows destroyed that were no backups.
    carriers_destroyed: usize,
    polls: usize,
}

fn lane_of(pair: &FourTuple) -> usize {
    match pair.local.ip() {
        IpAddr::V4(ip) => usize::from(ip.octets()[1]),
        IpAddr::V6(_) => unreachable!("IPv4 here"),
    }
}

impl Fake {
    fn tell(&mut self, when: Time, event: mptcp::Event) {
        self.lost |= self.lose_events;
        if !self.lose_events {
            let place = self.events.partition_point(|(time, _)| *time <= when);
            self.events.insert(place, (when, event));
        }
    }

    fn subflow(token: Token, pair: FourTuple, error: Option<u8>) -> mptcp::Subflow {
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
            pair: connection.pair,
            state: if self.ending { 4 } else { 1 },
            uid: 1000,
            cgroup: Some(1),
            fallback: false,
            write_seq: connection.size,
            snd_una: connection.una(self.now),
            sent: None,
            acked: (!self.older).then(|| connection.una(self.now)),
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
                let lane = lane_of(&FourTuple { local: SocketAddr::new(local, 0), remote });
                self.ports += 1;
                let pair = FourTuple { local: SocketAddr::new(local, 40_000 + self.ports), remote };
                let connection = self.connections.get_mut(&token).ok_or(EINVAL)?;
                // only the initiator can; who lost an event may take another one of that name for it
                if connection.server_side {
                    return Err(EINVAL);
                }
                if !self.dead[lane] {
                    let when = now + self.rtt[lane];
                    let backup = backup && !self.older;
                    let socket = Socket { pair, established: Some(when), backup, joined: true, acked: 0, timeouts: 0 };
                    connection.sockets.push(socket);
                    self.tell(when, mptcp::Event::SubflowEstablished(Self::subflow(token, pair, None)));
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
                self.tell(now, mptcp::Event::SubflowClosed(Self::subflow(token, pair, None)));
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

    fn connections(&mut self, tokens: &[Token]) -> Vec<Answer<Mptcp>> {
        self.polls += tokens.len();
        let state = |token: &Token| {
            if self.unreadable || self.unreadable_one == Some(*token) {
                return Err(Unreadable);
            }
            Ok(self.connections.contains_key(token).then(|| self.state(*token)))
        };
        tokens.iter().map(state).collect()
    }

    fn subflows(&mut self, pairs: &[FourTuple]) -> Vec<Answer<Tcp>> {
        self.polls += pairs.len();
        let find = |pair: &FourTuple| {
            Ok(self.connections.iter().find_map(|(token, connection)| {
                let socket = connection.sockets.iter().find(|socket| socket.pair == *pair)?;
                Some(self.tcp(*token, socket))
            }))
        };
        pairs.iter().map(find).collect()
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
        let mut manager = Manager::new(settings);
        for lane in 0..2 {
            manager.lane(Time::ZERO, lane, up(lane), &mut kernel);
        }
        World { manager, kernel }
    }

    fn connect(&mut self, token: Token, size: u64, server_side: bool) -> FourTuple {
        let now = self.kernel.now;
        self.kernel.ports += 1;
        let port = self.kernel.ports;
        let (own, other) = if server_side { (5000, port) } else { (port, 5000) };
        let pair = FourTuple { local: SocketAddr::new(ip(0, 1), own), remote: SocketAddr::new(ip(0, 2), other) };
        let socket = Socket { pair, established: Some(now), backup: false, joined: false, acked: 0, timeouts: 0 };
        self.kernel.connections.insert(token, Connected { pair, began: now, size, server_side, sockets: vec![socket] });
        let connection = mptcp::Connection { token, pair, server_side, deny_join_initial: false };
        self.kernel.tell(now, mptcp::Event::Established(connection));
        pair
    }

    fn close(&mut self, token: Token) {
        let now = self.kernel.now;
        let Some(connection) = self.kernel.connections.remove(&token) else { return };
        for socket in connection.sockets {
            self.kernel.tell(now, mptcp::Event::SubflowClosed(Fake::subflow(token, socket.pair, None)));
        }
        self.kernel.tell(now, mptcp::Event::Closed(token));
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
