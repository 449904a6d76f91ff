//! Captures written: TCP segments as Ethernet frames in pcap files, headers alone.
//!
//! What a segment carries is not kept, and taken for zeros: the length of the packet is the original one, as in any capture
//! of headers, and its checksums are right for zeros.
//!
//! Sources: pcap-savefile(5) with nanoseconds; RFC 791, RFC 9293, RFC 7323 §2.2, §3.2 and appendix A, RFC 2018 §2, §3, RFC 8684
//! §3.1 to §3.3.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use crate::packet::{Version, expected_data_number, token};

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPoint {
    /// Of the interface.
    pub mac: [u8; 6],
    /// Of the interface.
    pub address: Ipv4Addr,
    /// TCP's.
    pub port: u16,
}

/// A TCP segment.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Who sends it.
    pub source: EndPoint,
    /// Who receives it.
    pub destination: EndPoint,
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgement number.
    pub acknowledgement: u32,
    /// As in the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, ECE 64, CWR 128.
    pub flags: u8,
    /// The window as in the header, shifted already.
    pub window: u16,
    /// The bits of ECN in IP's header.
    pub ecn: u8,
    /// IP's identification.
    pub id: u16,
    /// Options, whose length is a multiple of 4 up to 40.
    pub options: &'a [u8],
    /// Bytes of data.
    pub payload: u32,
}

/// Ethernet's header without its checksum.
const ETHERNET: usize = 14;
/// IP's header without options, and TCP's.
const HEADER: usize = 20;
/// TCP's number in IP's header.
const TCP: u8 = 6;

impl Segment<'_> {
    /// Adds its headers to `into`; returns how long the packet is with its data.
    ///
    /// # Panics
    /// If the options are no multiple of 4 up to 40.
    pub fn write(&self, into: &mut Vec<u8>) -> u32 {
        let tcp = HEADER + self.options.len();
        assert!(tcp <= 60 && tcp.is_multiple_of(4), "options of {} bytes", self.options.len());
        let behind = tcp as u32 + self.payload;
        into.extend(self.destination.mac);
        into.extend(self.source.mac);
        into.extend([0x08, 0x00]);
        let ip = into.len();
        into.extend([0x45, self.ecn & 3]);
        // What does not fit is 0, as where cards cut segments for the host.
        into.extend(u16::try_from(behind + HEADER as u32).unwrap_or(0).to_be_bytes());
        into.extend(self.id.to_be_bytes());
        // Do not fragment; 64 hops
        into.extend([0x40, 0, 64, TCP, 0, 0]);
        into.extend(self.source.address.octets());
        into.extend(self.destination.address.octets());
        let own = checksum(sum(&into[ip..]));
        into[ip + 10..ip + 12].copy_from_slice(&own.to_be_bytes());
        let at = into.len();
        into.extend(self.source.port.to_be_bytes());
        into.extend(self.destination.port.to_be_bytes());
        into.extend(self.sequence.to_be_bytes());
        into.extend(self.acknowledgement.to_be_bytes());
        into.extend([(tcp as u8 / 4) << 4, self.flags]);
        into.extend(self.window.to_be_bytes());
        into.extend([0, 0, 0, 0]);
        into.extend(self.options);
        // the pseudo header: addresses, protocol, length
        let pseudo = sum(&into[ip + 12..ip + 20]) + u64::from(TCP) + u64::from(behind);
        let own = checksum(pseudo + sum(&into[at..]));
        into[at + 16..at + 18].copy_from_slice(&own.to_be_bytes());
        (ETHERNET + HEADER) as u32 + behind
    }
}

/// The sum of words of 16 bits.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum()
}

/// The Internet checksum (RFC 1071).
fn checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// Options of TCP, one after the other.
#[derive(Debug, Clone, Default)]
pub struct TcpOptions {
    bytes: Vec<u8>,
}

/// Room for options in TCP's header.
const ROOM: usize = 40;

impl TcpOptions {
    /// None.
    pub fn new() -> TcpOptions {
        TcpOptions::default()
    }

    /// The largest segment.
    pub fn mss(&mut self, mss: u16) {
        self.bytes.extend([2, 4]);
        self.bytes.extend(mss.to_be_bytes());
    }

    /// Acknowledgements may be selective, of a segment that has no timestamps.
    pub fn sack_permitted(&mut self) {
        self.bytes.extend([1, 1, 4, 2]);
    }

    /// Windows are shifted by so many bits.
    pub fn window_scale(&mut self, shift: u8) {
        self.bytes.extend([1, 3, 3, shift]);
    }

    /// Timestamps: the sender's, and the last one that it has got. `selective` says of a SYN that acknowledgements may be
    /// selective, in the place of padding, as Linux does.
    pub fn timestamps(&mut self, own: u32, echo: u32, selective: bool) {
        self.bytes.extend(if selective { [4, 2] } else { [1, 1] });
        self.bytes.extend([8, 10]);
        self.bytes.extend(own.to_be_bytes());
        self.bytes.extend(echo.to_be_bytes());
    }

    /// Selective acknowledgements, those for which there is room.
    pub fn sack(&mut self, blocks: impl ExactSizeIterator<Item = (u32, u32)>) {
        let most = (ROOM - self.bytes.len()).saturating_sub(4) / 8;
        let count = blocks.len().min(most);
        if count == 0 {
            return;
        }
        self.bytes.extend([1, 1, 5, 2 + 8 * count as u8]);
        for (from, to) in blocks.take(count) {
            self.bytes.extend(from.to_be_bytes());
            self.bytes.extend(to.to_be_bytes());
        }
    }

    /// A new connection of MPTCP: no key in a SYN, the sender's in the answer, both in the third segment.
    pub fn mp_capable(&mut self, keys: &[u64]) {
        self.bytes.extend([30, 4 + 8 * keys.len() as u8, 0x01, 0x01]);
        for key in keys {
            self.bytes.extend(key.to_be_bytes());
        }
    }

    /// A SYN that joins the connection in which the other end has `key`.
    pub fn mp_join(&mut self, key: u64, address_id: u8, nonce: u32) {
        self.bytes.extend([30, 12, 0x10, address_id]);
        self.bytes.extend(token(Version::V1, key).to_be_bytes());
        self.bytes.extend(nonce.to_be_bytes());
    }

    /// Its answer; the message authentication code is not computed.
    pub fn mp_join_answer(&mut self, address_id: u8, nonce: u32) {
        self.bytes.extend([30, 16, 0x10, address_id, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.bytes.extend(nonce.to_be_bytes());
    }

    /// The third segment of a join; the message authentication code is not computed.
    pub fn mp_join_end(&mut self) {
        self.bytes.extend([30, 24, 0x10, 0]);
        self.bytes.extend([0; 20]);
    }

    /// The data sequence signal: an acknowledgement, and where the data of the segment belongs, with all bits or with 32.
    pub fn dss(&mut self, acknowledgement: u32, mapping: Option<Mapping>) {
        let Some(Mapping { data, wide, sequence, length }) = mapping else {
            self.bytes.extend([30, 8, 0x20, 0x01]);
            self.bytes.extend(acknowledgement.to_be_bytes());
            return;
        };
        let flags = if wide { 0x0d } else { 0x05 };
        self.bytes.extend([30, if wide { 22 } else { 18 }, 0x20, flags]);
        self.bytes.extend(acknowledgement.to_be_bytes());
        let data = data.to_be_bytes();
        self.bytes.extend(if wide { &data[..] } else { &data[4..] });
        self.bytes.extend(sequence.to_be_bytes());
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend([1, 1]);
    }

    /// How many bytes more there is room for.
    pub fn room(&self) -> usize {
        ROOM - self.bytes.len()
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Where the data of a segment belongs in the data of an MPTCP connection.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    /// The data sequence number of the first byte.
    pub data: u64,
    /// Whether all of it is written.
    pub wide: bool,
    /// The place in the subflow, from 1.
    pub sequence: u32,
    /// Bytes.
    pub length: u16,
}

/// The data sequence number of the first byte that the owner of `key` sends.
pub fn first_data_number(key: u64) -> u64 {
    expected_data_number(Version::V1, key)
}

/// Writes a pcap file with nanoseconds, in the byte order of most machines.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    writer: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the header, for packets of this link type (1: Ethernet).
    ///
    /// # Errors
    /// As `writer` has them.
    pub fn new(mut writer: W, link: u32) -> io::Result<PcapWriter<W>> {
        for word in [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 262_144, link] {
            writer.write_all(&word.to_le_bytes())?;
        }
        Ok(PcapWriter { writer })
    }

    /// Writes a packet that was captured at `time` (in nanoseconds since 1970) and was `length` bytes long.
    ///
    /// # Errors
    /// As the writer has them.
    pub fn packet(&mut self, time: u64, data: &[u8], length: u32) -> io::Result<()> {
        let mut head = [0; 16];
        let words = [(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, data.len() as u32, length];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.writer.write_all(&head)?;
        self.writer.write_all(data)
    }

    /// The writer.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

/// A pcap file of Ethernet frames, up to a size.
#[derive(Debug)]
pub struct PcapFile<W: Write> {
    writer: PcapWriter<W>,
    room: u64,
}

impl<W: Write> PcapFile<W> {
    /// A file of at most `limit` bytes.
    ///
    /// # Errors
    /// As `writer` has them.
    pub fn new(writer: W, limit: u64) -> io::Result<PcapFile<W>> {
        const ETHERNET: u32 = 1;
        Ok(PcapFile { writer: PcapWriter::new(writer, ETHERNET)?, room: limit.saturating_sub(24) })
    }

    /// Writes a packet as [`PcapWriter::packet`] does, if there is room for it; returns whether there was. Nothing is written
    /// behind one that found none.
    ///
    /// # Errors
    /// As the writer has them.
    pub fn packet(&mut self, time: u64, data: &[u8], length: u32) -> io::Result<bool> {
        let size = 16 + data.len() as u64;
        if size > self.room {
            self.room = 0;
            return Ok(false);
        }
        self.room -= size;
        self.writer.packet(time, data, length)?;
        Ok(true)
    }

    /// Writes what is not written yet.
    ///
    /// # Errors
    /// As the writer has them.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_inner().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(last: u8, port: u16) -> EndPoint {
        EndPoint { mac: [2, 0, 0, 0, 0, last], address: Ipv4Addr::new(10, 0, 0, last), port }
    }

    fn segment(options: &[u8], payload: u32) -> (Vec<u8>, u32) {
        let segment = Segment {
            source: end(1, 32_768),
            destination: end(2, 80),
            sequence: 7,
            acknowledgement: 9,
            flags: 16,
            window: 1000,
            ecn: 3,
            id: 5,
            options,
            payload,
        };
        let mut bytes = Vec::new();
        let length = segment.write(&mut bytes);
        (bytes, length)
    }

    /// RFC 1071: the sum over what a checksum covers, itself included, is all ones.
    #[test]
    fn checksums_are_right_for_zeros() {
        let mut options = TcpOptions::new();
        options.timestamps(1, 2, false);
        let (bytes, length) = segment(options.bytes(), 1001);
        assert_eq!((bytes.len(), length), (14 + 20 + 32, 14 + 20 + 32 + 1001));
        assert_eq!(checksum(sum(&bytes[14..34])), 0);
        let pseudo = sum(&bytes[26..34]) + 6 + 32 + 1001;
        assert_eq!(checksum(pseudo + sum(&bytes[34..])), 0);
    }

    #[test]
    fn options_leave_room_for_each_other() {
        let mut options = TcpOptions::new();
        options.timestamps(1, 2, false);
        options.sack([(1, 2), (3, 4), (5, 6), (7, 8)].into_iter());
        assert_eq!((options.bytes().len(), options.room()), (12 + 4 + 24, 0));
        options.clear();
        options.mss(1460);
        options.timestamps(1, 0, true);
        options.window_scale(7);
        options.mp_join_answer(1, 2);
        assert_eq!((options.bytes().len(), options.room()), (36, 4));
    }

    #[test]
    fn a_file_ends_at_its_limit() {
        let mut bytes = Vec::new();
        let mut file = PcapFile::new(&mut bytes, 24 + 2 * (16 + 10)).unwrap();
        let taken: Vec<bool> = (0..4).map(|time| file.packet(time, &[0; 10], 1500).unwrap()).collect();
        assert_eq!(taken, [true, true, false, false]);
        file.finish().unwrap();
        assert_eq!(bytes.len(), 24 + 2 * 26);
    }
}
