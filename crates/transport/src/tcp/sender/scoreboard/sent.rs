//! One segment outstanding, and the bits of its state.

use headway_units::Time;

/// Bits of a segment's state.
pub(super) mod bit {
    /// Selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// Known lost (`IsLost`).
    pub const LOST: u8 = 2;
    /// Retransmitted since it was found lost (Linux: `TCPCB_SACKED_RETRANS`).
    pub const RETRANS: u8 = 4;
    /// Ever retransmitted: gives no round-trip sample (Karn).
    pub const EVER_RETRANS: u8 = 8;
    /// Carries FIN, which takes one sequence number.
    pub const FIN: u8 = 16;
    /// Its data was handed to other subflows.
    pub const REINJECTED: u8 = 32;
    /// The first of a burst: what Linux keeps in one `sk_buff` goes up to the next of these.
    pub const BURST_START: u8 = 64;
}

/// A segment's place in the subflow, its data and whether FIN follows them.
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp::sender) struct Payload {
    pub seq: u64,
    /// Its place in the connection.
    pub data: u64,
    pub len: u32,
    pub fin: bool,
}

impl Payload {
    /// Sequence numbers that it takes.
    pub fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.fin)
    }
}

/// One segment: 32 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub seq: u64,
    pub at: Time,
    pub data: u64,
    pub len: u32,
    pub state: u8,
}

impl Sent {
    pub fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.state & bit::FIN != 0)
    }

    pub fn end(&self) -> u64 {
        self.seq + self.span()
    }

    /// Lost and not yet retransmitted.
    pub fn awaits_retransmission(&self) -> bool {
        self.state & (bit::LOST | bit::RETRANS | bit::SACKED) == bit::LOST
    }

    /// Retransmitted and in flight, as far as is known.
    pub fn has_retransmission_in_flight(&self) -> bool {
        self.state & (bit::RETRANS | bit::SACKED) == bit::RETRANS
    }

    /// Retransmitted although it was not known lost: two copies are in flight.
    pub fn is_spurious_in_flight(&self) -> bool {
        self.state & (bit::RETRANS | bit::SACKED | bit::LOST) == bit::RETRANS
    }

    /// Its place in the subflow and its data.
    pub fn payload(&self) -> Payload {
        Payload { seq: self.seq, data: self.data, len: self.len, fin: self.state & bit::FIN != 0 }
    }
}
