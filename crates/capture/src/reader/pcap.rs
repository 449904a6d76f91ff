//! pcap: a header, then records of 16 bytes before each packet.

use super::{Link, MAX_CAPTURED, Order, Record};
use crate::error::CaptureError;
use crate::source::Buffer;

/// Bytes of the file's header.
pub(super) const HEADER: usize = 24;

const RECORD: usize = 16;

/// What the magic number says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    order: Order,
    nanoseconds: bool,
}

impl Kind {
    pub fn new(magic: [u8; 4]) -> Option<Kind> {
        let kind = |big, nanoseconds| Some(Kind { order: Order { big }, nanoseconds });
        match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => kind(true, false),
            [0xd4, 0xc3, 0xb2, 0xa1] => kind(false, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => kind(true, true),
            [0x4d, 0x3c, 0xb2, 0xa1] => kind(false, true),
            _ => None,
        }
    }
}

/// Relatives with other records, which are told apart by their magic numbers alone.
pub(super) fn modified(magic: [u8; 4]) -> Option<&'static str> {
    match u32::from_be_bytes(magic) {
        0xa1b2_cd34 | 0x34cd_b2a1 => {
            Some("a pcap file with the longer records of a patched libpcap (Kuznetzov); convert it with editcap")
        }
        0xa1b2_34cd | 0xcd34_b2a1 => {
            Some("a pcap file with the records of a patched libpcap (Mesquita); convert it with editcap")
        }
        0xa12b_3c4d | 0x4d3c_2ba1 => Some("a pcap file with the records of Navtel; convert it with editcap"),
        0x1c00_01ac | 0xac01_001c | 0x1c00_01ab | 0xab01_001c => {
            Some("a pcap file with the records of Ixia; convert it with editcap")
        }
        _ => None,
    }
}

/// The header of a file.
#[derive(Debug)]
pub(super) struct Header {
    kind: Kind,
    link: Link,
    most: u32,
}

impl Header {
    pub fn read(buffer: &mut Buffer, kind: Kind) -> Result<Header, CaptureError> {
        let Kind { order, .. } = kind;
        let head = buffer.window();
        if head.len() < HEADER {
            return Err(buffer.damaged(format!("the file ends in its header, after {} of {HEADER} bytes", head.len())));
        }
        let unsupported = |what| CaptureError::Unsupported { file: buffer.name().to_owned(), what };
        let (major, minor) = (order.u16(head, 4), order.u16(head, 6));
        // Up to 2.3 the two lengths of a record stood the other way round, more or less.
        if (major, minor) != (2, 4) {
            return Err(unsupported(format!("a pcap file of version {major}.{minor}; only 2.4 is read")));
        }
        let snaplen = order.u32(head, 16);
        // The upper half says how long frames' checksums are.
        // The upper six bits say whether frames end with a checksum; the ten below them are 0 with every known type.
        let link = Link::new(order.u32(head, 20) & 0x03ff_ffff);
        if let Link::Unknown(number) = link {
            return Err(unsupported(unknown_link(number)));
        }
        buffer.consume(HEADER);
        Ok(Header { kind, link, most: snaplen.clamp(MAX_CAPTURED, 1 << 24) })
    }

    #[inline]
    pub fn next(&mut self, buffer: &mut Buffer) -> Result<Option<Record>, CaptureError> {
        if !buffer.ensure(RECORD)? {
            return match buffer.window().len() {
                0 => Ok(None),
                there => {
                    Err(buffer.damaged(format!("the file ends in a packet's header, after {there} of {RECORD} bytes")))
                }
            };
        }
        let Kind { order, nanoseconds } = self.kind;
        let head = buffer.window();
        let (seconds, fraction) = (order.u32(head, 0), order.u32(head, 4));
        let (captured, length) = (order.u32(head, 8), order.u32(head, 12));
        let (unit, per_second) = if nanoseconds { (1, 1_000_000_000) } else { (1000, 1_000_000) };
        if fraction >= per_second {
            let what = if nanoseconds { "nanoseconds" } else { "microseconds" };
            return Err(buffer.damaged(format!("a packet's header cannot be right: {fraction} {what} in a second")));
        }
        if captured > self.most {
            return Err(buffer.damaged(format!(
                "a packet's header cannot be right: {captured} bytes captured, the most is {}",
                self.most
            )));
        }
        let total = RECORD + captured as usize;
        if !buffer.ensure(total)? {
            let there = buffer.window().len() - RECORD;
            return Err(buffer.damaged(format!("the file ends in a packet, after {there} of {captured} bytes")));
        }
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit;
        Ok(Some(Record { time, link: self.link, at: RECORD, captured: captured as usize, length, total }))
    }
}

/// What is said of a file, or an interface, of a kind that is not read.
pub(crate) fn unknown_link(number: u32) -> String {
    let name = match number {
        6 => " (Token Ring)",
        9 => " (PPP)",
        105 => " (IEEE 802.11)",
        127 => " (IEEE 802.11 with radiotap)",
        147..=162 => " (a user's own)",
        189 | 220 => " (USB)",
        247 => " (InfiniBand)",
        249 => " (USBPcap)",
        _ => "",
    };
    format!(
        "packets of link type {number}{name}, which is not read; known are Ethernet, raw IP, Linux cooked (SLL, SLL2) \
         and BSD loopback"
    )
}
