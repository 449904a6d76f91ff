//! MPTCP's path manager: what it tells ([`Event`]) and what it does for us ([`Command`]).
//!
//! Sources: `Documentation/netlink/specs/mptcp_pm.yaml`, `net/mptcp/pm_userspace.c` and `pm_netlink.c` of Linux.

use std::net::{IpAddr, SocketAddr};

use crate::{FourTuple, Token};

mod events;
mod manager;
mod sysctls;

pub use events::Events;
pub use manager::{Endpoint, Limits, PathManager, unknown_token};
pub use sysctls::ManagedBy;

/// `MPTCP_PM_NAME`: the generic netlink family.
pub const FAMILY: &str = "mptcp_pm";

/// What the path manager tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection has been created; its other end may not have confirmed it yet.
    Created(Connection),
    /// A connection is established. More subflows can be opened once it is *fully* established, with the first DATA_ACK,
    /// which may be a moment later.
    Established(Connection),
    /// A connection is over.
    Closed(Token),
    /// The other end has announced an address (ADD_ADDR).
    Announced {
        /// The connection.
        token: Token,
        /// The address' identifier, chosen by the other end.
        id: u8,
        /// The address.
        ip: IpAddr,
        /// The port to join it at. If the announcement has none, the kernel gives that of the subflow which it came by.
        port: Option<u16>,
    },
    /// The other end has withdrawn an address (REMOVE_ADDR).
    Removed {
        /// The connection.
        token: Token,
        /// The address' identifier.
        id: u8,
    },
    /// A subflow has been established.
    SubflowEstablished(Subflow),
    /// A subflow is over.
    SubflowClosed(Subflow),
    /// The other end has changed a subflow's priority (MP_PRIO).
    SubflowPriority(Subflow),
    /// A socket of this host listens for MPTCP. Linux 6.1 does not tell.
    ListenerCreated(SocketAddr),
    /// It does no longer.
    ListenerClosed(SocketAddr),
}

/// A connection, as events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Its name here.
    pub token: Token,
    /// Ends of its first subflow.
    pub pair: FourTuple,
    /// Whether this end accepted it. Only the other kind can open subflows.
    pub server_side: bool,
    /// The other end wants no joins to the address of the first subflow.
    pub deny_join_initial: bool,
}

/// A subflow, as events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subflow {
    /// The connection's.
    pub token: Token,
    /// Its ends.
    pub pair: FourTuple,
    /// Identifier of the local address.
    pub local_id: u8,
    /// Identifier of the remote address.
    pub remote_id: u8,
    /// Whether the other end has it as a backup. (This end's own mark is in [`crate::diag::SubflowInfo`].)
    pub backup: bool,
    /// Index of the interface it is bound to; 0: none.
    pub interface: u32,
    /// The error it ended with (an errno), if any.
    pub error: Option<u8>,
    /// Why it was reset (RFC 8684 §3.6), if the kernel says.
    pub reset_reason: Option<u32>,
}

/// What can be asked of the path manager for one connection. All need `CAP_NET_ADMIN` in the namespace and a connection
/// that was created while `net.mptcp.path_manager` was `userspace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Open a subflow. Only the end that opened the connection can: the other end's is refused (EINVAL), or accepted and
    /// then closed with an error (Linux 6.18).
    ///
    /// ENOTCONN: the connection is not fully established yet, see [`Event::Established`]. Success means that the SYN is
    /// sent; what becomes of it is told by [`Event::SubflowEstablished`] or [`Event::SubflowClosed`].
    Create {
        /// The connection.
        token: Token,
        /// From this address.
        local: IpAddr,
        /// The local address' identifier, 1 … 255. An address that the connection knows keeps the identifier it has, and
        /// an identifier its address: EINVAL otherwise.
        local_id: u8,
        /// To this address.
        remote: SocketAddr,
        /// Bound to this interface; 0: none. Some kernels before 6.12 do not heed it; 6.1 is one.
        interface: u32,
        /// As a backup. Some kernels before 6.12 do not heed it, such as 6.1: [`crate::diag::SubflowInfo`] tells.
        backup: bool,
    },
    /// Reset a subflow. ESRCH: there is none with these ends.
    Destroy {
        /// The connection.
        token: Token,
        /// The subflow's ends.
        pair: FourTuple,
    },
    /// Say whether a subflow is a backup, here and to the other end (MP_PRIO). EINVAL: there is none with these ends, or
    /// it is not linked to the connection yet, which can be so for a moment after [`Event::SubflowEstablished`].
    SetBackup {
        /// The connection.
        token: Token,
        /// The subflow's ends.
        pair: FourTuple,
        /// Whether it is.
        backup: bool,
    },
    /// Announce an address of this host (ADD_ADDR). An address that the connection knows keeps the identifier it has,
    /// which the kernel chooses itself where a join came in before: EINVAL otherwise.
    Announce {
        /// The connection.
        token: Token,
        /// The address.
        ip: IpAddr,
        /// Its identifier, 1 … 255.
        id: u8,
        /// A port other than that of the first subflow.
        port: Option<u16>,
    },
    /// Withdraw an address (REMOVE_ADDR) and end its subflows.
    Withdraw {
        /// The connection.
        token: Token,
        /// The address' identifier.
        id: u8,
    },
}
