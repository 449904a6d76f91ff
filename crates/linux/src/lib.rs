//! The live side: what Headway's daemons ask of and tell to an unmodified Linux kernel, with types.
//!
//! * [`mptcp`]: the path manager's events and commands (generic netlink family `mptcp_pm`),
//! * [`diag`]: the state of other processes' TCP and MPTCP sockets (`sock_diag`),
//! * [`route`]: links, addresses, routes and rules (rtnetlink),
//! * [`sysctl`], [`netns`], [`capabilities`], [`mptcp_socket`]: what else a daemon and its tests need,
//! * [`netlink`]: what the first three are made of.
//!
//! Everything works in the network namespace that the calling thread is in when it opens something. Linux 6.1 and later;
//! what older kernels than the newest do not tell is `None` or zero where it says so.
//!
//! What is decided with it is not here: that is `control`, and the daemons.
//!
//! Sources: `include/uapi/linux/{mptcp,mptcp_pm,inet_diag,tcp}.h` and `Documentation/netlink/specs/mptcp_pm.yaml` of Linux.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

use std::fmt;
use std::net::SocketAddr;

pub mod capabilities;
pub mod diag;
pub mod mptcp;
pub mod mptcp_socket;
pub mod netlink;
pub mod netns;
pub mod route;
pub mod sysctl;

pub use netlink::{Error, Malformed};

/// An MPTCP connection's name in its network namespace: the token that the *local* end chose (RFC 8684 §3.2), which
/// joins from the other end carry. It may be given again once the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// Both ends of a TCP connection or of a subflow, seen from here. IPv4 addresses are never mapped into IPv6 ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourTuple {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
}

impl fmt::Display for FourTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.local, self.remote)
    }
}
