//! The choices that can differ between connections.

use headway_control::congestion::Congestion;
use headway_control::lanes;
use headway_units::{Bytes, Span};

/// How lost segments are found and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6582: duplicate acknowledgements, one repair per round trip.
    NewReno,
    /// RFC 6675: selective acknowledgements (RFC 2018).
    Sack,
}

/// When a receiver acknowledges (RFC 5681 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// An acknowledgement at the latest after this many segments; 1 acknowledges every segment.
    pub packets: u32,
    /// … or after this time.
    pub timeout: Span,
    /// The first so many segments of a connection are acknowledged at once, as Linux does while a sender is in its
    /// first slow start.
    pub quick: u32,
}

/// How a connection uses several paths.
#[derive(Debug, Clone, PartialEq)]
pub struct Multipath {
    /// Subflows at most, the first included; they use the hosts' interfaces in order, `i` to `i`. `None`: one for
    /// each interface.
    pub subflows: Option<usize>,
    /// Data acknowledged before the other subflows are opened.
    pub join_after: Bytes,
    /// Subflows (by index) that carry data only while no other can: RFC 8684's backup flag.
    pub backup: Vec<usize>,
    /// Short- and long-flow lanes, if any.
    pub lanes: Option<LanePlan>,
}

/// Which subflows are lanes for what, and who judges.
#[derive(Debug, Clone, PartialEq)]
pub struct LanePlan {
    /// The first so many subflows are short-flow lanes, the others long-flow lanes.
    pub short: usize,
    /// Deadline or link cost.
    pub judge: lanes::Judge,
}

/// Everything a connection is set up with.
#[derive(Debug, Clone)]
pub struct Profile {
    /// A fresh congestion control, copied for each subflow.
    pub control: Congestion,
    /// Loss recovery.
    pub recovery: Recovery,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Payload of a full segment.
    pub mss: u32,
    /// Bytes of a frame that are not payload: Ethernet header and checksum, IP, TCP and its options.
    pub overhead: u32,
    /// Selective acknowledgement blocks that fit an acknowledgement beside its other options: at most 4 (RFC 2018 §3).
    pub sack_blocks: u8,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, if not unlimited.
    pub initial_ssthresh: Option<Bytes>,
    /// Smallest retransmission time-out.
    pub min_rto: Span,
    /// Time-out before there is a round-trip sample, also for SYN.
    pub initial_rto: Span,
    /// Largest time-out after back-off.
    pub max_rto: Span,
    /// Acknowledgement rules of the receiver.
    pub delayed_ack: DelayedAck,
    /// Receive buffer: the window offered, since receivers read at once.
    pub receive_window: Bytes,
    /// ECN as in RFC 3168.
    pub ecn: bool,
    /// MPTCP, or plain TCP.
    pub multipath: Option<Multipath>,
    /// Flows of at most this size are sent by several connections over different paths: (size, copies).
    pub replicate: Option<(Bytes, u32)>,
}
