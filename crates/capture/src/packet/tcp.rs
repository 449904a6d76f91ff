//! TCP's header (RFC 9293 §3.1).

use super::{Address, Content, Ends};

/// The last data.
pub const FIN: u8 = 0x01;
/// The first segment.
pub const SYN: u8 = 0x02;
/// Refused or ended at once.
pub const RST: u8 = 0x04;
/// The acknowledgement number counts.
pub const ACK: u8 = 0x10;

/// A segment, as far as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Who sent it.
    pub source: Address,
    /// Who receives it.
    pub destination: Address,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgement number.
    pub acknowledgement: u32,
    /// [`FIN`], [`SYN`], [`RST`], [`ACK`], …
    pub flags: u8,
    /// Bytes of data, as the headers state.
    pub payload: u32,
    /// IPv4's identification; 0 in IPv6.
    pub id: u16,
    /// Bytes on the wire, from the link's header on.
    pub wire: u32,
    /// Tunnels that it was in.
    pub tunnels: u8,
    /// What was captured of the options.
    pub options: &'a [u8],
}

impl Segment<'_> {
    /// Whether any of `flags` is set.
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// A segment of `length` bytes at the beginning of `data`.
#[inline]
pub(super) fn parse(data: &[u8], length: u32, ends: Ends) -> Content<'_> {
    // Up to the flags is what is needed.
    let Some(head) = data.first_chunk::<14>() else { return Content::Cut };
    let header = usize::from(head[12] >> 4) * 4;
    let Some(payload) = length.checked_sub(header as u32).filter(|_| header >= 20) else { return Content::Malformed };
    let options = data.get(20..header.min(data.len())).unwrap_or(&[]);
    Content::Tcp(Segment {
        source: ends.source,
        destination: ends.destination,
        source_port: u16::from_be_bytes([head[0], head[1]]),
        destination_port: u16::from_be_bytes([head[2], head[3]]),
        sequence: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
        acknowledgement: u32::from_be_bytes([head[8], head[9], head[10], head[11]]),
        flags: head[13],
        payload,
        id: ends.id,
        wire: ends.wire,
        tunnels: ends.tunnels,
        options,
    })
}
