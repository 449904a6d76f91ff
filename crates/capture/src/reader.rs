//! Captures as streams of packets: pcap and pcapng, of any size.
//!
//! Sources: pcap-savefile(5) and draft-ietf-opsawg-pcap; draft-ietf-opsawg-pcapng. Link types as registered at
//! tcpdump.org/linktypes.html.

mod pcap;
mod pcapng;

use std::io::Read;

use crate::error::CaptureError;
use crate::foreign::looks_like;
use crate::source::Buffer;

/// The most bytes that were captured of a packet: as libpcap (`MAXIMUM_SNAPLEN`).
const MAX_CAPTURED: u32 = 262_144;

/// What packets of an interface begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Raw,
    /// The address family in four bytes, of either byte order (BSD loopback).
    Null,
    /// Linux' cooked header (SLL).
    Cooked,
    /// Its second version (SLL2).
    Cooked2,
    /// Something that is not read, by its number.
    Unknown(u32),
}

impl Link {
    fn new(number: u32) -> Link {
        match number {
            1 => Link::Ethernet,
            // Two numbers that systems had for themselves, the registered one, and those for IPv4 and IPv6 alone.
            12 | 14 | 101 | 228 | 229 => Link::Raw,
            0 | 108 => Link::Null,
            113 => Link::Cooked,
            276 => Link::Cooked2,
            other => Link::Unknown(other),
        }
    }
}

/// A packet as captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When, in nanoseconds since 1970; 0 where the file does not say and no packet before has a time.
    pub time: u64,
    /// What `data` begins with.
    pub link: Link,
    /// What was captured of it.
    pub data: &'a [u8],
    /// Its length on the wire, in bytes.
    pub length: u32,
}

/// Where the packet under way is in the window.
#[derive(Debug, Clone, Copy)]
struct Record {
    time: u64,
    link: Link,
    /// Where its bytes begin, and how many there are.
    at: usize,
    captured: usize,
    length: u32,
    /// Bytes to consume after it.
    total: usize,
}

enum Format {
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

/// One capture, read packet by packet in bounded memory.
pub struct Reader {
    buffer: Buffer,
    format: Format,
    current: Option<Record>,
}

impl Reader {
    /// Opens the capture `path`; `-` is the standard input. What is compressed with gzip or zstd is recognised.
    ///
    /// # Errors
    /// [`CaptureError`]: no such file, no capture, or a kind that is not read.
    pub fn open(path: &str) -> Result<Reader, CaptureError> {
        Reader::start(Buffer::open(path)?)
    }

    /// Reads a capture from `input`, which messages call `name`.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(name: &str, input: Box<dyn Read + Send>) -> Result<Reader, CaptureError> {
        Reader::start(Buffer::new(name, input)?)
    }

    fn start(mut buffer: Buffer) -> Result<Reader, CaptureError> {
        buffer.ensure(pcap::HEADER)?;
        let head = buffer.window();
        let file = || buffer.name().to_owned();
        let Some(magic) = head.first_chunk::<4>() else {
            return Err(if head.is_empty() {
                CaptureError::Empty { file: file() }
            } else {
                CaptureError::Foreign { file: file(), looks: looks_like(head) }
            });
        };
        let format = if let Some(kind) = pcap::Kind::new(*magic) {
            Format::Pcap(pcap::Header::read(&mut buffer, kind)?)
        } else if *magic == pcapng::SECTION {
            Format::Pcapng(pcapng::Section::default())
        } else if let Some(what) = pcap::modified(*magic) {
            return Err(CaptureError::Unsupported { file: file(), what: what.to_owned() });
        } else {
            return Err(CaptureError::Foreign { file: file(), looks: looks_like(&head[..head.len().min(16)]) });
        };
        Ok(Reader { buffer, format, current: None })
    }

    /// What messages call the file.
    pub fn name(&self) -> &str {
        self.buffer.name()
    }

    /// Goes to the next packet; `false` at the end.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`] with the offset of a record that cannot be right, or that the file ends in; all
    /// packets before it were given. Afterwards the reader stays where it is.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, CaptureError> {
        if let Some(record) = self.current.take() {
            self.buffer.consume(record.total);
        }
        self.current = match &mut self.format {
            Format::Pcap(header) => header.next(&mut self.buffer)?,
            Format::Pcapng(section) => section.next(&mut self.buffer)?,
        };
        Ok(self.current.is_some())
    }

    /// The packet that [`Reader::advance`] went to.
    #[inline]
    pub fn packet(&self) -> Option<Packet<'_>> {
        let record = self.current?;
        let data = &self.buffer.window()[record.at..record.at + record.captured];
        Some(Packet { time: record.time, link: record.link, data, length: record.length })
    }

    /// How many bytes of the (decompressed) file were read.
    pub fn position(&self) -> u64 {
        self.buffer.offset()
    }

    /// Packets that the capturing machine says it dropped, as pcapng files say at their end.
    pub fn dropped(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(section) => section.dropped(),
        }
    }
}

/// Numbers in the byte order of a file.
#[derive(Debug, Clone, Copy, Default)]
struct Order {
    big: bool,
}

impl Order {
    #[inline]
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = [bytes[at], bytes[at + 1]];
        if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        if self.big { first << 32 | second } else { second << 32 | first }
    }
}

#[cfg(test)]
mod tests;
