//! The parameters of queue pairs, and how large their packets are.

use headway_control::dcqcn;
use headway_units::{Bytes, Rate, Span};

/// How a queue pair sends, and how its other end answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roce {
    /// Bytes of data in a full packet, the path MTU of InfiniBand; at least 1, at most 65,000.
    pub payload: u32,
    /// How lost packets are repaired.
    pub retransmission: Retransmission,
    /// Congestion control; without it a queue pair sends at `rate`, or as fast as its card lets it.
    pub control: Option<dcqcn::Parameters>,
    /// The rate is never higher than this, of bytes on the line; more than zero.
    pub rate: Option<Rate>,
    /// Data on the way at most, rounded down to packets, but one in any case (IRN's BDP cap).
    pub window: Option<Bytes>,
    /// Acknowledges so many packets at once; at least 1, and no more than a window: a full window would wait for the
    /// time-out.
    pub ack_every: u32,
    /// With go-back-N, packets that still come out of order are reported again after so long; `None` never, as the
    /// InfiniBand specification has it.
    pub nak_interval: Option<Span>,
    /// The time without progress after which a sender goes back to what is not acknowledged; more than zero.
    pub timeout: Span,
    /// The priority of CNPs, 0 to 7.
    pub cnp_priority: u8,
}

/// How a queue pair repairs losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retransmission {
    /// The receiver drops what is out of order, and the sender sends all of it again (ConnectX-3 and -4).
    GoBackN,
    /// The receiver keeps what is out of order, and the sender repeats what is missing (IRN: Mittal et al., SIGCOMM 2018).
    SelectiveRepeat,
}

impl Default for Roce {
    /// Go-back-N and DCQCN, with the time-out of ConnectX cards (14: 4.096 µs · 2¹⁴) and acknowledgements of each packet
    /// and a repeated report after 500 µs as in Alibaba's HPCC simulator.
    fn default() -> Roce {
        Roce {
            payload: 1024,
            retransmission: Retransmission::GoBackN,
            control: Some(dcqcn::Parameters::default()),
            rate: None,
            window: None,
            ack_every: 1,
            nak_interval: Some(Span::from_micros(500)),
            timeout: Span::from_nanos(4096 << 14),
            cnp_priority: 6,
        }
    }
}

/// Ethernet header and checksum, IPv4, UDP, base transport header (BTH) and invariant checksum (ICRC).
pub(super) const OVERHEAD: u32 = 14 + 4 + 20 + 8 + 12 + 4;
/// The RDMA extended transport header of a message's first packet: address, key, length.
pub(super) const FIRST: u32 = 16;
/// An acknowledgement: an extended header (AETH).
pub(super) const ACK: u16 = (OVERHEAD + 4) as u16;
/// With selective repeat a negative one has a second number.
pub(super) const SELECTIVE_ACK: u16 = ACK + 4;
/// A congestion notification packet: 16 bytes that are reserved (RoCEv2, annex A17).
pub(super) const CNP: u16 = (OVERHEAD + 16) as u16;

impl Roce {
    /// Bytes of headers and checksums in a packet, but for the extended header of a message's first.
    pub const OVERHEAD: u32 = OVERHEAD;
    /// The most bytes of headers and checksums that a packet's IP datagram has beside its payload.
    pub const IP_OVERHEAD: u32 = OVERHEAD + FIRST - 18;

    /// Whether every field is in its range.
    pub fn is_sound(&self) -> bool {
        let sizes = (1..=65_000).contains(&self.payload) && self.ack_every > 0 && self.cnp_priority < 8;
        let rates = self.rate.is_none_or(|rate| !rate.is_zero());
        let answered = u64::from(self.ack_every) <= self.window();
        let parts = !self.timeout.is_zero() && self.control.is_none_or(|control| control.are_sound());
        sizes && rates && parts && answered
    }

    /// Packets that may be on their way; [`u64::MAX`] if nothing bounds them.
    pub fn window(&self) -> u64 {
        self.window.map_or(u64::MAX, |window| (window.get() / u64::from(self.payload.max(1))).max(1))
    }
}
