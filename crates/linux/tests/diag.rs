//! What the machine's own kernel tells of sockets. Root; skipped otherwise.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use common::connection::{connect, established, event, listen};
use common::{FLAGS, Hosts, address, kernel, until, userspace_path_manager};
use headway_linux::diag::{Diag, Mptcp, Query, States, Tcp};
use headway_linux::mptcp::{Command, Event, Events, PathManager};
use headway_linux::{FourTuple, Token, mptcp_socket};

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;
/// What a test sends, bytes.
const SIZE: usize = 200_000;

fn flip(pair: FourTuple) -> FourTuple {
    FourTuple { local: pair.remote, remote: pair.local }
}

#[test]
fn a_connection_and_its_subflows_are_told_as_they_are() {
    let Some(hosts) = Hosts::new() else { return };
    let (mut events, mut manager, mut diag) = Hosts::within(&hosts.client, || {
        userspace_path_manager();
        (Events::open().unwrap(), PathManager::open().unwrap(), Diag::open().unwrap())
    });
    let mut far_diag = Hosts::within(&hosts.server, || {
        userspace_path_manager();
        Diag::open().unwrap()
    });
    let _far_events = Hosts::within(&hosts.server, || Events::open().unwrap());
    let to: SocketAddr = "10.0.1.2:7101".parse().unwrap();
    let listener = listen(&hosts, to);
    let (mut near, mut far) = connect(&hosts, &listener, to);
    let first = established(&mut events);

    near.write_all(&vec![7; SIZE]).unwrap();
    far.read_exact(&mut vec![0; SIZE]).unwrap();
    let tcp: Tcp =
        until("all acknowledged", || diag.tcp(first.pair).unwrap().filter(|t| t.acked > SIZE as u64 && t.unacked == 0));
    assert_eq!((tcp.pair, tcp.state, tcp.interface, tcp.uid), (first.pair, ESTABLISHED, 0, 0));
    // One byte before them, and the SYN, which tcp_info counts as acknowledged. If the reader is slow, MPTCP asks for room
    // by bytes that it sends again.
    let least = SIZE as u64 + 2;
    assert!((least..least + 8).contains(&tcp.acked) && (tcp.unsent, tcp.timeouts) == (0, 0), "{tcp:?}");
    assert!(tcp.sent > SIZE as u64, "{tcp:?}");
    assert!(tcp.cwnd >= 10 && tcp.mss >= 1000 && tcp.delivery_rate > 0, "{tcp:?}");
    let min_rtt = tcp.min_rtt.expect("there was a round trip");
    assert!(min_rtt > Duration::ZERO && tcp.srtt >= min_rtt && tcp.srtt < Duration::from_secs(1), "{tcp:?}");
    assert!(tcp.last_ack < Duration::from_secs(2) && tcp.last_sent < Duration::from_secs(2), "{tcp:?}");
    let subflow = tcp.subflow.expect("it is a subflow");
    assert_eq!((subflow.token, subflow.local_id, subflow.remote_id), (first.token, 0, 0));
    assert!(!subflow.join && subflow.initiator && subflow.fully_established);
    assert!(!subflow.backup_local && !subflow.backup_remote);

    // The other end has it, too, under its own token.
    let there = far_diag.tcp(flip(first.pair)).unwrap().expect("it is there").subflow.unwrap();
    assert!(!there.join && !there.initiator && there.token != first.token);

    // A second one, bound to an interface: only found with it, or by whoever names it.
    let (token, remote) = (first.token, "10.0.2.2:7101".parse().unwrap());
    let _joins = listen(&hosts, remote);
    let interface = Hosts::within(&hosts.client, || index("p2"));
    let create = Command::Create { token, local: address("10.0.2.1"), local_id: 7, remote, interface, backup: true };
    manager.run(&create).unwrap();
    let second =
        event(&mut events, "SUB_ESTABLISHED", |e| if let Event::SubflowEstablished(s) = e { Some(s) } else { None });
    let heeded = second.interface == interface;
    assert!(heeded || kernel() < FLAGS && second.interface == 0, "{second:?}");
    assert_eq!(diag.tcp(second.pair).unwrap().is_none(), heeded);
    let query = Query { pair: second.pair, interface };
    let bound = diag.tcp(query).unwrap().expect("it is there");
    assert_eq!((bound.pair, bound.interface), (second.pair, second.interface));
    let subflow = bound.subflow.unwrap();
    assert_eq!((subflow.token, subflow.local_id), (token, 7));
    assert!(subflow.join && subflow.initiator && subflow.backup_local == heeded && !subflow.backup_remote);
    let there = far_diag.tcp(flip(second.pair)).unwrap().expect("it is there").subflow.unwrap();
    assert!(there.join && !there.initiator && !there.backup_local && there.backup_remote == heeded);
    // The interface does not hinder where none is bound.
    assert!(diag.tcp(Query { pair: first.pair, interface }).unwrap().is_some());

    let mptcp: Mptcp = until("all acknowledged", || diag.mptcp(token).unwrap().filter(|m| m.snd_una == m.write_seq));
    assert_eq!((mptcp.token, mptcp.pair, mptcp.state, mptcp.subflows), (token, first.pair, ESTABLISHED, 1));
    assert!(!mptcp.fallback);
    assert_eq!(mptcp.uid, 0);
    if let Some(sent) = mptcp.sent {
        assert_eq!((sent, mptcp.acked, mptcp.received), (SIZE as u64 + 1, Some(SIZE as u64 + 1), Some(1)));
    }
    assert_eq!(diag.mptcp(Token(1)).unwrap(), None);

    let mut all = Vec::new();
    diag.tcp_all(States::OPEN, |t| all.push(t.pair)).unwrap();
    all.sort_unstable();
    let mut expected = [first.pair, second.pair];
    expected.sort_unstable();
    assert_eq!(all, expected);
    let mut tokens = Vec::new();
    diag.mptcp_all(States::OPEN, |m| tokens.push(m.token)).unwrap();
    assert_eq!(tokens, [token]);
    let mut listening = Vec::new();
    far_diag.tcp_all(States::LISTENING, |t| listening.push(t.pair.local)).unwrap();
    listening.sort_unstable();
    assert_eq!(listening, [to, remote]);
    assert_eq!(diag.supports().unwrap(), (true, true));
}

fn index(name: &str) -> u32 {
    let text = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap();
    let line = text.lines().find(|l| l.ends_with(&format!(" {name}"))).expect("the interface has an address");
    u32::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
}

#[test]
fn many_are_told_in_order_and_what_is_gone_is_none() {
    let Some(hosts) = Hosts::new() else { return };
    let mut diag = Hosts::within(&hosts.server, || Diag::open().unwrap());
    let mut kept: Vec<(TcpListener, TcpStream, TcpStream)> = Vec::new();
    let mut pairs = Vec::new();
    for at in ["10.0.1.2:7201", "[fd00:1::2]:7201"] {
        let at: SocketAddr = at.parse().unwrap();
        let listener = Hosts::within(&hosts.server, || TcpListener::bind(at).unwrap());
        for _ in 0..60 {
            let near = Hosts::within(&hosts.client, || TcpStream::connect(at).unwrap());
            let (far, _) = listener.accept().unwrap();
            pairs.push(FourTuple { local: far.local_addr().unwrap(), remote: far.peer_addr().unwrap() });
            kept.push((listener.try_clone().unwrap(), near, far));
        }
    }
    // A server's listener would accept these: it is not what was asked for.
    let mut asked = Vec::new();
    for pair in &pairs {
        asked.push(*pair);
        asked.push(FourTuple { remote: SocketAddr::new(pair.remote.ip(), 1), ..*pair });
    }
    let mut places = Vec::new();
    diag.tcp_many(&asked, |i, found| {
        places.push(i);
        let found = found.unwrap();
        assert_eq!(found.as_ref().map(|t| t.pair), (i % 2 == 0).then_some(asked[i]), "{i}");
        assert_eq!(found.and_then(|t| t.subflow), None, "plain TCP");
    })
    .unwrap();
    assert_eq!(places, (0..asked.len()).collect::<Vec<_>>());
    let mut all = Vec::new();
    diag.tcp_all(States::ESTABLISHED, |t| all.push(t.pair)).unwrap();
    all.sort_unstable();
    pairs.sort_unstable();
    assert_eq!(all, pairs);
}

#[test]
fn a_small_buffer_makes_batches_smaller_but_loses_nothing() {
    let Some(hosts) = Hosts::new() else { return };
    let mut diag = Hosts::within(&hosts.client, || Diag::open().unwrap());
    let to: SocketAddr = "10.0.1.2:7301".parse().unwrap();
    let listener = listen(&hosts, to);
    let (near, _far) = connect(&hosts, &listener, to);
    let pair = FourTuple { local: near.local_addr().unwrap(), remote: to };
    rustix::net::sockopt::set_socket_recv_buffer_size(&diag, 0).unwrap();
    let mut found = 0;
    diag.tcp_many(&[pair; 200], |i, tcp| {
        assert_eq!(i, found);
        assert_eq!(tcp.unwrap().expect("it is there").pair, pair);
        found += 1;
    })
    .unwrap();
    assert_eq!(found, 200);
}

#[test]
fn an_ipv6_socket_that_speaks_ipv4_is_found_by_ipv4_addresses() {
    let Some(hosts) = Hosts::new() else { return };
    let mut diag = Hosts::within(&hosts.client, || Diag::open().unwrap());
    let to: SocketAddr = "10.0.1.2:7401".parse().unwrap();
    let listener = listen(&hosts, to);
    let mapped: SocketAddr = "[::ffff:10.0.1.2]:7401".parse().unwrap();
    let near = Hosts::within(&hosts.client, || mptcp_socket::connect(mapped, None).unwrap());
    let _far = listener.accept().unwrap();
    let local = SocketAddr::new(address("10.0.1.1"), near.local_addr().unwrap().port());
    let pair = FourTuple { local, remote: to };
    let tcp = diag.tcp(pair).unwrap().expect("it is there");
    assert_eq!(tcp.pair, pair);
    let token = tcp.subflow.expect("it is a subflow").token;
    assert_eq!(diag.mptcp(token).unwrap().expect("it is there").pair, pair);
    let mut all = Vec::new();
    diag.mptcp_all(States::OPEN, |m| all.push(m.pair)).unwrap();
    assert_eq!(all, [pair]);
}

#[test]
fn a_connection_that_fell_back_says_so() {
    let Some(hosts) = Hosts::new() else { return };
    let mut diag = Hosts::within(&hosts.client, || Diag::open().unwrap());
    let to: SocketAddr = "10.0.1.2:7501".parse().unwrap();
    let listener = Hosts::within(&hosts.server, || TcpListener::bind(to).unwrap());
    let near = Hosts::within(&hosts.client, || mptcp_socket::connect(to, None).unwrap());
    let _far = listener.accept().unwrap();
    let pair = FourTuple { local: near.local_addr().unwrap(), remote: to };
    let tcp = diag.tcp(pair).unwrap().expect("it is there");
    let subflow = tcp.subflow.expect("the socket is MPTCP's still");
    assert!(!subflow.fully_established, "{subflow:?}");
    let mptcp = diag.mptcp(subflow.token).unwrap().expect("its token is known still");
    assert!(mptcp.fallback, "{mptcp:?}");
}
