//! MPTCP connections between the two hosts.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use headway_linux::mptcp::{Connection, Event, Events};
use headway_linux::mptcp_socket;

use super::{Hosts, until};

/// Waits for an event that `pick` takes; others are dropped.
pub fn event<T>(events: &mut Events, what: &str, pick: impl Fn(Event) -> Option<T>) -> T {
    until(what, || {
        while let Some(event) = events.next().expect("events can be read") {
            if let Some(found) = pick(event) {
                return Some(found);
            }
        }
        None
    })
}

pub fn established(events: &mut Events) -> Connection {
    event(events, "ESTABLISHED", |e| if let Event::Established(c) = e { Some(c) } else { None })
}

/// A listener on the server.
pub fn listen(hosts: &Hosts, at: SocketAddr) -> TcpListener {
    Hosts::within(&hosts.server, || mptcp_socket::listen(at, 16).expect("listen"))
}

/// A connection with a byte there and a byte back, so that it is fully established.
pub fn connect(hosts: &Hosts, listener: &TcpListener, to: SocketAddr) -> (TcpStream, TcpStream) {
    let mut near = Hosts::within(&hosts.client, || mptcp_socket::connect(to, None).expect("connect"));
    let (mut far, _) = listener.accept().expect("accept");
    let mut byte = [0];
    near.write_all(b"a").unwrap();
    far.read_exact(&mut byte).unwrap();
    far.write_all(b"b").unwrap();
    near.read_exact(&mut byte).unwrap();
    (near, far)
}
