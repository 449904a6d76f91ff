//! The state of sockets of any process in a network namespace.

use std::time::Duration;

use crate::{Pair, Token};

/// A TCP socket: `struct inet_diag_msg`, `struct tcp_info`, and what MPTCP adds if it is a subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// Its ends.
    pub pair: Pair,
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
    /// How long ago the last acknowledgement came. A millisecond's resolution.
    pub last_ack: Duration,
    /// How long ago data was sent. A millisecond's resolution.
    pub last_sent: Duration,
    /// Expiries of the retransmission timer in a row, without an answer (`tcpi_backoff`).
    pub backoff: u8,
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
    pub pair: Pair,
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
