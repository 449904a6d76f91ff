//! TCP segments as the fabric carries them.

use headway_fabric::Packet;

use crate::tcp::profile::{Profile, Recovery};

/// What a frame means to the transport: 16 bytes.
///
/// Numbers are the low 32 bits of stream positions, as on the wire; [`unwrap`] restores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Sequence number of the first byte, or the acknowledgement.
    pub number: u32,
    /// MPTCP data sequence number, or data acknowledgement.
    pub data_number: u32,
    /// Bytes of payload, or of receive window.
    pub amount: u32,
    /// Selective acknowledgement blocks, or an acknowledgement that rides on data: an index into [`SackPool`](crate::sack_pool::SackPool), or [`NO_EXTRA`].
    pub extra: u32,
}

pub(crate) type Frame = Packet<Segment>;

pub(crate) const NO_EXTRA: u32 = u32::MAX;

/// Bits of a frame's tag.
pub(crate) mod flag {
    pub const SYN: u8 = 1;
    pub const ACK: u8 = 2;
    pub const FIN: u8 = 4;
    /// A reset (RFC 9293 §3.5.2): all eight bits are taken, and no other segment opens and closes at once.
    pub const RST: u8 = SYN | FIN;
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: u8 = 8;
    /// The end of a burst (RFC 9293's PSH, as Linux' senders set it). A data segment has the bit of [`ECE`] to spare: an
    /// acknowledgement that rides on it has a tag of its own.
    pub const PUSH: u8 = ECE;
    /// Congestion window reduced.
    pub const CWR: u8 = 16;
    /// What stands for a timestamp, and its echo (RFC 7323): a number of two bits that counts the sender's repairs.
    pub const EPOCH: u8 = 0b0110_0000;
    pub const EPOCH_SHIFT: u8 = 5;
    /// What stands for the receiver's timestamps: a bit of acknowledgements that data echo.
    pub const SPIN: u8 = 128;
}

/// The smallest Ethernet frame.
const MIN_FRAME: u32 = 64;

/// What options take in a SYN beyond those that every segment has: as Linux sends it, 20 bytes with the segment size,
/// permission for selective acknowledgements, timestamps and window scale. By the letter of the RFCs, nothing.
pub(crate) fn syn_options(profile: &Profile) -> u32 {
    match profile.recovery {
        Recovery::Linux(_) if profile.timestamps => 8,
        Recovery::Linux(_) => 12,
        Recovery::NewReno { .. } | Recovery::Sack => 0,
    }
}

/// Size of a frame with `payload` bytes, padded to Ethernet's minimum.
#[inline]
pub(crate) fn frame_size(payload: u32, overhead: u32) -> u16 {
    (payload + overhead).max(MIN_FRAME) as u16
}

/// The position whose low 32 bits are `wire` and which is nearest to `near`.
#[inline]
pub(crate) fn unwrap(near: u64, wire: u32) -> u64 {
    near.wrapping_add_signed(i64::from(wire.wrapping_sub(near as u32) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_the_wire_across_wraps() {
        for near in [0u64, 5, (1 << 32) - 3, 1 << 32, 7 << 32, (7 << 32) + 0x7fff_ffff] {
            for distance in [-0x7fff_ffffi64, -1, 0, 1, 0x7fff_ffff] {
                if let Some(position) = near.checked_add_signed(distance) {
                    assert_eq!(unwrap(near, position as u32), position, "{near} {distance}");
                }
            }
        }
    }

    #[test]
    fn a_frame_and_its_arrival_time_are_half_a_cache_line() {
        assert_eq!(std::mem::size_of::<Frame>(), 24);
    }
}
