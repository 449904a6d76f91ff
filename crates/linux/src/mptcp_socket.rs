//! Sockets that speak MPTCP: `IPPROTO_MPTCP`, else as TCP's.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect as connect_to, ipproto, listen as listen_on};
use rustix::net::{socket_with, sockopt};

fn open(family: SocketAddr) -> io::Result<OwnedFd> {
    let family = if family.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::MPTCP))?)
}

/// A socket that accepts connections at an address, and joins to it. `SO_REUSEADDR` is set; one on an IPv6 address does
/// not accept IPv4 as well.
///
/// # Errors
/// EPROTONOSUPPORT if the kernel has no MPTCP, ENOPROTOOPT if it is switched off (`net.mptcp.enabled`), and what `bind`
/// and `listen` say.
pub fn listen(address: SocketAddr, backlog: u16) -> io::Result<TcpListener> {
    let socket = open(address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &address)?;
    listen_on(&socket, backlog.into())?;
    Ok(socket.into())
}

/// A connection, from a local address if one is given (port 0: any). Waits until it is established.
///
/// # Errors
/// As [`listen`], and what `connect` says.
pub fn connect(address: SocketAddr, from: Option<SocketAddr>) -> io::Result<TcpStream> {
    let socket = open(address)?;
    if let Some(from) = from {
        bind(&socket, &from)?;
    }
    connect_to(&socket, &address)?;
    Ok(socket.into())
}
