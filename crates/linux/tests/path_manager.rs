//! The path manager of the machine's own kernel: commands are obeyed, and events tell of it. Root; skipped otherwise.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};

use common::connection::{connect, established, event, listen};
use common::{FLAGS, Hosts, address, kernel, until, userspace_path_manager};
use headway_linux::mptcp::{Command, Connection, Endpoint, Event, Events, Limits, PathManager, Subflow, unknown_token};
use headway_linux::{Error, FourTuple, Token, mptcp_socket};
use rustix::io::Errno;

/// The first version that tells of listeners.
const LISTENERS: (u32, u32) = (6, 2);

/// Whether the kernel tells of listeners.
fn listeners() -> bool {
    if kernel() < LISTENERS {
        eprintln!("skipped: this kernel does not tell of listeners");
    }
    kernel() >= LISTENERS
}

/// Both ends' events and the client's path manager.
struct Ends {
    hosts: Hosts,
    events: Events,
    far_events: Events,
    manager: PathManager,
    far_manager: PathManager,
}

impl Ends {
    fn new() -> Option<Self> {
        let hosts = Hosts::new()?;
        let open = || {
            userspace_path_manager();
            (Events::open().expect("events"), PathManager::open().expect("manager"))
        };
        let (events, manager) = Hosts::within(&hosts.client, open);
        let (far_events, far_manager) = Hosts::within(&hosts.server, open);
        Some(Self { hosts, events, far_events, manager, far_manager })
    }
}

/// A subflow is made, marked, unmarked and destroyed, and both ends' events say so.
fn life_of_a_subflow(to: &str, second: (&str, &str)) {
    let Some(mut ends) = Ends::new() else { return };
    let to: SocketAddr = to.parse().unwrap();
    let listener = listen(&ends.hosts, to);
    let (near, far) = connect(&ends.hosts, &listener, to);
    let first = established(&mut ends.events);
    assert_eq!(first.pair, FourTuple { local: near.local_addr().unwrap(), remote: to });
    assert!(!first.server_side);
    let far_first = established(&mut ends.far_events);
    assert!(far_first.server_side);
    assert_eq!(far_first.pair, FourTuple { local: first.pair.remote, remote: first.pair.local });

    let token = first.token;
    let (local, remote) = (address(second.0), SocketAddr::new(address(second.1), to.port()));
    // The server's application listens on the first address only: the daemon listens for joins on the second.
    let _joins = Hosts::within(&ends.hosts.server, || mptcp_socket::listen(remote, 16).unwrap());
    let create = Command::Create { token, local, local_id: 7, remote, interface: 0, backup: true };
    ends.manager.run(&create).expect("SUBFLOW_CREATE");
    let made =
        event(
            &mut ends.events,
            "SUB_ESTABLISHED",
            |e| {
                if let Event::SubflowEstablished(s) = e { Some(s) } else { None }
            },
        );
    assert_eq!((made.token, made.local_id, made.remote_id), (token, 7, made.remote_id));
    assert_eq!((made.pair.local.ip(), made.pair.remote), (local, remote));
    assert!(made.error.is_none() && made.reset_reason.is_none());
    let far_made = event(&mut ends.far_events, "the server's SUB_ESTABLISHED", |e| {
        if let Event::SubflowEstablished(s) = e { Some(s) } else { None }
    });
    assert!(far_made.backup || kernel() < FLAGS, "the join asked for a backup");
    assert_eq!(far_made.remote_id, 7);
    assert_eq!(far_made.pair, FourTuple { local: made.pair.remote, remote: made.pair.local });

    // Marking either subflow reaches the other end as MP_PRIO.
    let priority = |e| if let Event::SubflowPriority(s) = e { Some(s) } else { None };
    for (pair, backup) in [(made.pair, false), (first.pair, true), (first.pair, false), (made.pair, true)] {
        ends.manager.run(&Command::SetBackup { token, pair, backup }).expect("SET_FLAGS");
        let told: Subflow = event(&mut ends.far_events, "SUB_PRIORITY", priority);
        assert_eq!((told.token, told.backup), (far_first.token, backup));
        assert_eq!(told.pair, FourTuple { local: pair.remote, remote: pair.local });
    }

    ends.manager.run(&Command::Destroy { token, pair: made.pair }).expect("SUBFLOW_DESTROY");
    let closed =
        event(&mut ends.events, "SUB_CLOSED", |e| if let Event::SubflowClosed(s) = e { Some(s) } else { None });
    assert_eq!((closed.token, closed.pair), (token, made.pair));
    let again = ends.manager.run(&Command::Destroy { token, pair: made.pair }).unwrap_err();
    assert_eq!(again.errno(), Some(Errno::SRCH), "{again}");

    drop(near);
    drop(far);
    let over = event(&mut ends.events, "CLOSED", |e| if let Event::Closed(t) = e { Some(t) } else { None });
    assert_eq!(over, token);
}

#[test]
fn a_subflow_is_made_marked_and_destroyed_over_ipv4() {
    life_of_a_subflow("10.0.1.2:7001", ("10.0.2.1", "10.0.2.2"));
}

#[test]
fn a_subflow_is_made_marked_and_destroyed_over_ipv6() {
    life_of_a_subflow("[fd00:1::2]:7001", ("fd00:2::1", "fd00:2::2"));
}

#[test]
fn addresses_are_announced_and_withdrawn() {
    let Some(mut ends) = Ends::new() else { return };
    let to = "10.0.1.2:7001".parse().unwrap();
    let listener = listen(&ends.hosts, to);
    let (_near, _far) = connect(&ends.hosts, &listener, to);
    let near = established(&mut ends.events).token;
    let token = established(&mut ends.far_events).token;
    for (ip, id, port, told) in
        [("10.0.2.2", 3, None, 7001), ("10.0.2.2", 4, Some(7002), 7002), ("fd00:2::2", 5, None, 7001)]
    {
        let ip: IpAddr = address(ip);
        ends.far_manager.run(&Command::Announce { token, ip, id, port }).expect("ANNOUNCE");
        let heard = event(&mut ends.events, "ANNOUNCED", |e| matches!(e, Event::Announced { .. }).then_some(e));
        assert_eq!(heard, Event::Announced { token: near, id, ip, port: Some(told) });
    }
    for id in [3, 4, 5] {
        ends.far_manager.run(&Command::Withdraw { token, id }).expect("REMOVE");
        let heard = event(&mut ends.events, "REMOVED", |e| matches!(e, Event::Removed { .. }).then_some(e));
        assert_eq!(heard, Event::Removed { token: near, id });
    }
}

#[test]
fn refusals_say_why() {
    let Some(mut ends) = Ends::new() else { return };
    let to = "10.0.1.2:7001".parse().unwrap();
    let listener = listen(&ends.hosts, to);
    let (_near, _far) = connect(&ends.hosts, &listener, to);
    let nobody = Token(1);
    let error = ends.manager.run(&Command::Withdraw { token: nobody, id: 1 }).unwrap_err();
    assert!(unknown_token(&error), "{error}");
    // An identifier that another address has.
    let token = established(&mut ends.events).token;
    ends.manager.run(&Command::Announce { token, ip: address("10.0.2.1"), id: 7, port: None }).expect("ANNOUNCE");
    let error = ends.manager.run(&Command::Announce { token, ip: address("10.0.1.1"), id: 7, port: None }).unwrap_err();
    assert_eq!(error.errno(), Some(Errno::INVAL), "{error}");
    assert!(!unknown_token(&error), "{error}");
}

#[test]
fn an_ipv6_socket_that_speaks_ipv4_is_one_of_ipv4_addresses() {
    let Some(mut ends) = Ends::new() else { return };
    let to: SocketAddr = "10.0.1.2:7001".parse().unwrap();
    let listener = Hosts::within(&ends.hosts.server, || mptcp_socket::listen(to, 16).unwrap());
    let mapped: SocketAddr = "[::ffff:10.0.1.2]:7001".parse().unwrap();
    let mut near = Hosts::within(&ends.hosts.client, || mptcp_socket::connect(mapped, None).unwrap());
    let (mut far, _) = listener.accept().unwrap();
    near.write_all(b"a").unwrap();
    far.read_exact(&mut [0]).unwrap();
    let first = established(&mut ends.events);
    assert_eq!(first.pair.remote, to);
    assert_eq!(first.pair.local.ip(), address("10.0.1.1"));
    // Every command finds it by these addresses.
    let Connection { token, pair, .. } = first;
    until("SET_FLAGS", || ends.manager.run(&Command::SetBackup { token, pair, backup: true }).ok());
    ends.manager.run(&Command::Destroy { token, pair }).expect("SUBFLOW_DESTROY");
    let closed =
        event(&mut ends.events, "SUB_CLOSED", |e| if let Event::SubflowClosed(s) = e { Some(s) } else { None });
    assert_eq!((closed.token, closed.pair), (token, pair));
    let pair = FourTuple { local: "10.0.1.1:1".parse().unwrap(), ..pair };
    let missing = ends.manager.run(&Command::Destroy { token, pair }).unwrap_err();
    assert_eq!(missing.errno(), Some(Errno::SRCH), "{missing}");
}

#[test]
fn listeners_are_told() {
    if !listeners() {
        return;
    }
    let Some(mut ends) = Ends::new() else { return };
    for at in ["10.0.1.2:7003", "[fd00:1::2]:7003"] {
        let at: SocketAddr = at.parse().unwrap();
        let listener = Hosts::within(&ends.hosts.server, || mptcp_socket::listen(at, 1).unwrap());
        let created = event(&mut ends.far_events, "LISTENER_CREATED", |e| {
            if let Event::ListenerCreated(a) = e { Some(a) } else { None }
        });
        assert_eq!(created, at);
        drop(listener);
        let closed = event(&mut ends.far_events, "LISTENER_CLOSED", |e| {
            if let Event::ListenerClosed(a) = e { Some(a) } else { None }
        });
        assert_eq!(closed, at);
    }
}

#[test]
fn endpoints_and_limits_of_the_kernels_own_path_manager() {
    let Some(hosts) = Hosts::new() else { return };
    let mut manager = Hosts::within(&hosts.client, || PathManager::open().unwrap());
    let limits = Limits { subflows: 5, add_addr_accepted: 3 };
    manager.set_limits(limits).unwrap();
    assert_eq!(manager.limits().unwrap(), limits);
    let too_many = manager.set_limits(Limits { subflows: 4000, add_addr_accepted: 0 }).unwrap_err();
    assert_eq!(too_many.errno(), Some(Errno::INVAL), "{too_many}");

    let none = Endpoint {
        id: 0,
        ip: address("10.0.2.1"),
        port: None,
        interface: 0,
        signal: false,
        subflow: false,
        backup: false,
        fullmesh: false,
        implicit: false,
    };
    let two = Endpoint { id: 9, interface: 1, subflow: true, backup: true, fullmesh: true, ..none };
    let six = Endpoint { id: 11, ip: address("fd00:2::1"), port: Some(8443), signal: true, ..none };
    manager.add_endpoint(&two).unwrap();
    manager.add_endpoint(&six).unwrap();
    // Linux 6.1 has one errno for both.
    let refused = |taken: &Error, errno| {
        let old = kernel() < FLAGS;
        taken.errno().is_some_and(|found| found == errno || old && found == Errno::INVAL)
    };
    let taken = manager.add_endpoint(&Endpoint { id: 10, ..two }).unwrap_err();
    assert!(refused(&taken, Errno::EXIST), "{taken}");
    let taken = manager.add_endpoint(&Endpoint { ip: address("10.0.2.7"), ..two }).unwrap_err();
    assert!(refused(&taken, Errno::BUSY), "{taken}");
    let mut list = manager.endpoints().unwrap();
    list.sort_by_key(|e| e.id);
    assert_eq!(list, [two, six]);
    manager.remove_endpoint(9).unwrap();
    assert_eq!(manager.endpoints().unwrap(), [six]);
    assert_eq!(manager.remove_endpoint(9).unwrap_err().errno(), Some(Errno::INVAL));
}

#[test]
fn events_that_nobody_reads_are_an_overrun_once() {
    if !listeners() {
        return;
    }
    let Some(hosts) = Hosts::new() else { return };
    let mut events = Hosts::within(&hosts.client, || Events::open().unwrap());
    rustix::net::sockopt::set_socket_recv_buffer_size(&events, 0).unwrap();
    // A port of its own each: a closed MPTCP socket may have its port for a moment still.
    for port in 7100..7150 {
        let at = SocketAddr::new(address("10.0.1.1"), port);
        drop(Hosts::within(&hosts.client, || mptcp_socket::listen(at, 1).unwrap()));
    }
    let mut overruns = 0;
    loop {
        match events.next() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(Error::Overrun) => overruns += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(overruns, 1);
    let at = "10.0.1.1:7005".parse().unwrap();
    let _listener = Hosts::within(&hosts.client, || mptcp_socket::listen(at, 1).unwrap());
    assert_eq!(event(&mut events, "the next", Some), Event::ListenerCreated(at));
}
