//! What connections arrive at.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use headway_agent::protocol;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use super::receiver::Receiver;
use crate::report::{Failure, because};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// A listening socket.
pub struct Listener {
    /// It.
    pub socket: OwnedFd,
    port: u16,
    mptcp: bool,
}

impl Listener {
    /// Listens, on IPv6 and IPv4 or, where there is no IPv6, on IPv4.
    pub fn open(listener: &protocol::Listener) -> Result<Self, Failure> {
        let port = listener.port;
        let socket = open(AddressFamily::INET6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), listener)
            .or_else(|_| open(AddressFamily::INET, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), listener))
            .map_err(because(format!("cannot listen at port {port}")))?;
        Ok(Self { socket, port, mptcp: listener.mptcp })
    }

    /// The next connection that has arrived, if any.
    pub fn accept(&self) -> Result<Option<Receiver>, Failure> {
        loop {
            match net::acceptfrom_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok((socket, peer)) => {
                    // Without an address the other end has gone already.
                    let Some(peer) = peer.and_then(|peer| SocketAddr::try_from(peer).ok()) else { continue };
                    return Ok(Some(Receiver::new(socket, peer, self.port, self.mptcp)));
                }
                Err(Errno::AGAIN) => return Ok(None),
                // Errors of the connection, not of the listener (accept(2)).
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO | Errno::PERM) => {}
                // To wait for memory or files to become free would be to wait without time passing.
                Err(error) => return Err(because(format!("cannot accept at port {}", self.port))(error)),
            }
        }
    }
}

fn open(family: AddressFamily, at: SocketAddr, listener: &protocol::Listener) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let protocol = if listener.mptcp { ipproto::MPTCP } else { ipproto::TCP };
    let socket = net::socket_with(family, SocketType::STREAM, flags, Some(protocol))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if family == AddressFamily::INET6 {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    if let Some(control) = &listener.control {
        sockopt::set_tcp_congestion(&socket, control)?;
    }
    net::bind(&socket, &at)?;
    net::listen(&socket, BACKLOG)?;
    Ok(socket)
}
