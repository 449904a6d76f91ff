//! The state of sockets of any process in a network namespace (`sock_diag`).
//!
//! Sources: `include/uapi/linux/{inet_diag,tcp,mptcp}.h`, `net/ipv4/{inet_diag,tcp_diag}.c`, `net/mptcp/{diag,mptcp_diag}.c`
//! of Linux.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::Errno;

use crate::netlink::codec::{Malformed, Message};
use crate::netlink::{Error, Socket};
use crate::{FourTuple, Token};

mod parse;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Room for answers, bytes. Those of one batch fit into what every system allows.
const ROOM: usize = 4 << 20;

/// States of sockets, as bits: `1 << TCP_…` of `include/net/tcp_states.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct States(pub u32);

impl States {
    /// `TCP_ESTABLISHED`.
    pub const ESTABLISHED: Self = Self(1 << 1);
    /// `TCP_LISTEN`.
    pub const LISTENING: Self = Self(1 << 10);
    /// Everything that can carry data or still wants to: all but `TIME_WAIT`, `CLOSE`, `LISTEN`, and requests that a
    /// listener has not answered to the end (`NEW_SYN_RECV`).
    pub const OPEN: Self = Self(0x0fff & !(1 << 6 | 1 << 7 | 1 << 10) & !1);
}

/// A TCP socket to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Its ends.
    pub pair: FourTuple,
    /// The interface that it is bound to, if it is: a bound socket is not found without. One that is not bound is found
    /// with any.
    pub interface: u32,
}

impl From<FourTuple> for Query {
    /// Not bound, but to the interface that link-local addresses name.
    fn from(pair: FourTuple) -> Self {
        let scope = |a: SocketAddr| if let SocketAddr::V6(a) = a { a.scope_id() } else { 0 };
        Self { pair, interface: if scope(pair.remote) == 0 { scope(pair.local) } else { scope(pair.remote) } }
    }
}

/// The way to ask, in the network namespace that it was opened in. Without `CAP_NET_ADMIN` there, [`Tcp::subflow`] is
/// always `None`.
#[derive(Debug)]
pub struct Diag {
    socket: Socket,
}

impl AsFd for Diag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Diag {
    /// In the calling thread's network namespace.
    ///
    /// # Errors
    /// EPROTONOSUPPORT if the kernel has no `sock_diag`.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(netlink_sys::protocols::NETLINK_SOCK_DIAG)?;
        socket.room(ROOM)?;
        Ok(Self { socket })
    }

    /// Whether the kernel tells of TCP sockets (`tcp_diag`) and of MPTCP connections (`mptcp_diag`). A kernel without says
    /// to all other questions that there are none.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn supports(&mut self) -> Result<(bool, bool), Error> {
        let mut supports = |protocol| {
            // No state at all: an empty list, if it is known what a list would be of.
            let body = |w: &mut _| parse::write_dump(w, parse::INET, protocol, 0);
            match self.socket.dump(BY_FAMILY, body, &mut Vec::<()>::new(), |_| Ok(None)) {
                Err(error) if error.errno() == Some(Errno::NOENT) => Ok(false),
                other => other.map(|()| true),
            }
        };
        Ok((supports(parse::TCP.into())?, supports(parse::MPTCP)?))
    }

    /// One TCP socket; `None` if there is none with these ends.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn tcp(&mut self, query: impl Into<Query>) -> Result<Option<Tcp>, Error> {
        let mut found = Ok(None);
        self.tcp_many(&[query.into()], |_, tcp| found = tcp)?;
        found
    }

    /// Many TCP sockets with few system calls to ask. `each` gets the place in `queries` and what is there, in order, or why
    /// that is not known.
    ///
    /// # Errors
    /// If nothing can be asked or heard; `each` got those before it then.
    pub fn tcp_many<Q: Copy + Into<Query>>(
        &mut self,
        queries: &[Q],
        mut each: impl FnMut(usize, Result<Option<Tcp>, Error>),
    ) -> Result<(), Error> {
        self.socket.batch(
            BY_FAMILY,
            queries.len(),
            |i, w| parse::write_tcp(w, &queries[i].into()),
            |i, answer| {
                // Where no connection has these ends the kernel looks for who would accept it.
                let found = one(answer, Tcp::parse);
                each(i, found.map(|tcp| tcp.filter(|tcp| same(tcp.pair, queries[i].into().pair))));
            },
        )
    }

    /// All TCP sockets in some states, IPv4 and IPv6. Returns how many there are that cannot be read.
    ///
    /// # Errors
    /// As the kernel says; `each` got none then.
    pub fn tcp_all(&mut self, states: States, each: impl FnMut(Tcp)) -> Result<usize, Error> {
        self.all(parse::TCP.into(), states, Tcp::parse, each)
    }

    /// One MPTCP connection; `None` if it is gone.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn mptcp(&mut self, token: Token) -> Result<Option<Mptcp>, Error> {
        let mut found = Ok(None);
        self.mptcp_many(&[token], |_, mptcp| found = mptcp)?;
        found
    }

    /// Many MPTCP connections with few system calls to ask. `each` gets the place in `tokens` and what is there, in order,
    /// or why that is not known.
    ///
    /// # Errors
    /// If nothing can be asked or heard; `each` got those before it then.
    pub fn mptcp_many(
        &mut self,
        tokens: &[Token],
        mut each: impl FnMut(usize, Result<Option<Mptcp>, Error>),
    ) -> Result<(), Error> {
        let body = |i: usize, w: &mut _| parse::write_mptcp(w, tokens[i]);
        self.socket.batch(BY_FAMILY, tokens.len(), body, |i, answer| each(i, one(answer, Mptcp::parse)))
    }

    /// All MPTCP connections in some states, of IPv4 and IPv6 sockets. Returns how many there are that cannot be read.
    ///
    /// # Errors
    /// As the kernel says; `each` got none then.
    pub fn mptcp_all(&mut self, states: States, each: impl FnMut(Mptcp)) -> Result<usize, Error> {
        self.all(parse::MPTCP, states, Mptcp::parse, each)
    }

    fn all<T>(
        &mut self,
        protocol: u32,
        states: States,
        parse: impl Fn(&[u8]) -> Result<T, Malformed>,
        each: impl FnMut(T),
    ) -> Result<usize, Error> {
        let mut list = Vec::new();
        for family in [parse::INET, parse::INET6] {
            let body = |w: &mut _| parse::write_dump(w, family, protocol, states.0);
            match self.socket.dump(BY_FAMILY, body, &mut list, |message| Ok(Some(parse(message.payload).ok()))) {
                // A kernel without IPv6.
                Err(error) if family == parse::INET6 && error.errno() == Some(Errno::NOENT) => {}
                result => result?,
            }
        }
        let listed = list.len();
        let read: Vec<T> = list.into_iter().flatten().collect();
        let unreadable = listed - read.len();
        read.into_iter().for_each(each);
        Ok(unreadable)
    }
}

/// What the answer says of one socket.
fn one<T>(
    answer: Result<&Message<'_>, Error>,
    parse: impl Fn(&[u8]) -> Result<T, Malformed>,
) -> Result<Option<T>, Error> {
    match answer {
        Ok(message) => Ok(Some(parse(message.payload)?)),
        Err(Error::Kernel { errno, .. }) => gone(errno),
        Err(error) => Err(error),
    }
}

/// What an errno in place of a socket means.
fn gone<T>(errno: Errno) -> Result<Option<T>, Error> {
    // ESTALE: the kernel gives it for a socket that is being closed.
    if errno == Errno::NOENT || errno == Errno::STALE { Ok(None) } else { Err(Error::Kernel { errno, message: None }) }
}

/// Whether two pairs have the same addresses and ports: `sock_diag` tells neither scopes nor flow labels.
fn same(a: FourTuple, b: FourTuple) -> bool {
    let same = |a: SocketAddr, b: SocketAddr| a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical();
    same(a.local, b.local) && same(a.remote, b.remote)
}

/// A TCP socket: `struct inet_diag_msg`, `struct tcp_info`, and what MPTCP adds if it is a subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// Its ends.
    pub pair: FourTuple,
    /// `TCP_ESTABLISHED` is 1, as in `include/net/tcp_states.h`.
    pub state: u8,
    /// Index of the interface it is bound to; 0: none.
    pub interface: u32,
    /// The owner.
    pub uid: u32,
    /// Its cgroup (v2), if the kernel says.
    pub cgroup: Option<u64>,
    /// Smoothed round trip; zero before the first.
    pub srtt: Duration,
    /// Smallest round trip; `None` before the first.
    pub min_rtt: Option<Duration>,
    /// How long ago the last acknowledgement came. A millisecond's resolution; begins anew after 49 days.
    pub last_ack: Duration,
    /// How long ago data was sent. A millisecond's resolution; begins anew after 49 days.
    pub last_sent: Duration,
    /// Expiries of the retransmission timer since something new was acknowledged (`tcpi_retransmits`). Not `tcpi_backoff`,
    /// which stays until a segment is acknowledged that was sent once, and so through a whole recovery.
    pub timeouts: u8,
    /// Unacknowledged segments.
    pub unacked: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Maximum segment size, bytes.
    pub mss: u32,
    /// Bytes acknowledged.
    pub acked: u64,
    /// Bytes sent, retransmissions included.
    pub sent: u64,
    /// Bytes in the socket that were not sent yet.
    pub unsent: u32,
    /// Delivery rate, bytes per second.
    pub delivery_rate: u64,
    /// What MPTCP adds if it is a subflow.
    pub subflow: Option<SubflowInfo>,
}

/// `MPTCP_SUBFLOW_ATTR_…` of `linux/mptcp.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the kernel's independent flags")]
pub struct SubflowInfo {
    /// The connection's name here.
    pub token: Token,
    /// Identifier of the local address.
    pub local_id: u8,
    /// Identifier of the remote address.
    pub remote_id: u8,
    /// This end has it as a backup.
    pub backup_local: bool,
    /// The other end has it as a backup.
    pub backup_remote: bool,
    /// It joined the connection; else it is the first subflow.
    pub join: bool,
    /// This end opened it.
    pub initiator: bool,
    /// The other end is known to speak MPTCP on it.
    pub fully_established: bool,
}

/// An MPTCP connection: `struct inet_diag_msg` and `struct mptcp_info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mptcp {
    /// Its name here.
    pub token: Token,
    /// Ends of its first subflow.
    pub pair: FourTuple,
    /// As of TCP.
    pub state: u8,
    /// The owner.
    pub uid: u32,
    /// Its cgroup (v2), if the kernel says.
    pub cgroup: Option<u64>,
    /// It goes on as plain TCP: nothing can be done for it.
    pub fallback: bool,
    /// Sequence number of the next byte that the application will write (`mptcpi_write_seq`). Wraps.
    pub write_seq: u64,
    /// The oldest byte that the other end has not acknowledged (`mptcpi_snd_una`). Wraps.
    pub snd_una: u64,
    /// Bytes sent (`mptcpi_bytes_sent`, Linux 6.5).
    pub sent: Option<u64>,
    /// Bytes acknowledged (`mptcpi_bytes_acked`, Linux 6.5).
    pub acked: Option<u64>,
    /// Bytes received (`mptcpi_bytes_received`, Linux 6.5).
    pub received: Option<u64>,
    /// Subflows besides the first.
    pub subflows: u8,
}
