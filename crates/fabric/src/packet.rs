//! What travels: a small `Copy` value.

/// ECN codepoint bits of [`Packet::tos`] (RFC 3168 §5).
pub mod ecn {
    /// The sender understands ECN.
    pub const CAPABLE: u8 = 0b10;
    /// Congestion experienced.
    pub const CE: u8 = 0b11;
    /// Both bits.
    pub const MASK: u8 = 0b11;
}

/// A frame on its way. `B` is what the transport puts in; the fabric does not look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<B> {
    /// Where the next hop is found in [`Routes`](crate::Routes).
    pub hop: u32,
    /// Size of the frame in bytes, header to checksum; what queues count.
    pub size: u16,
    /// The lower two bits are ECN's.
    pub tos: u8,
    /// The transport's, like `body`: a byte that would otherwise be padding.
    pub tag: u8,
    /// The transport's.
    pub body: B,
}

impl<B> Packet<B> {
    /// Marks it CE (RFC 3168 §5). False if its sender does not understand ECN.
    #[inline]
    pub fn mark_ce(&mut self) -> bool {
        let capable = self.tos & ecn::MASK != 0;
        if capable {
            self.tos |= ecn::CE;
        }
        capable
    }
}
