//! What a card does with what the kernel leaves to it: segments and checksums.
//!
//! Source: virtio 1.2 §5.1.6.2 for the header; the rules of segmentation are those of Linux' `tcp_gso_segment`: every
//! segment carries the headers and options of the whole; lengths, sequence numbers and IPv4 identifications move on;
//! CWR stays with the first segment, FIN and PSH with the last.

use headway_engine::splitmix64;

/// The header before every frame in a ring (`struct virtio_net_hdr_v1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub flags: u8,
    pub kind: u8,
    pub segment: u16,
    pub checksum_start: u16,
    pub checksum_offset: u16,
}

impl Header {
    pub const SIZE: usize = 12;
    /// The checksum is to be filled in.
    const NEEDS_CHECKSUM: u8 = 1;

    pub fn from_bytes(bytes: &[u8; Header::SIZE]) -> Header {
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Header { flags: bytes[0], kind: bytes[1], segment: word(4), checksum_start: word(6), checksum_offset: word(8) }
    }

    /// The header of a received frame: one buffer, and a checksum that need not be looked at if `verified`.
    pub fn received(verified: bool) -> [u8; Header::SIZE] {
        let mut bytes = [0; Header::SIZE];
        bytes[0] = if verified { 2 } else { 0 };
        bytes[10] = 1;
        bytes
    }
}

const TCP4: u8 = 1;
const TCP6: u8 = 4;
const ECN: u8 = 0x80;

/// Segments smaller than this are refused: Linux makes none (`TCP_MIN_SND_MSS` is 48, less options).
const LEAST: usize = 8;

const FIN: u8 = 1;
const PSH: u8 = 8;
const CWR: u8 = 0x80;

/// Sums 16-bit words in ones' complement (RFC 1071), from `sum` on.
fn sum(bytes: &[u8], sum: u64) -> u64 {
    let mut sum = sum;
    let mut chunks = bytes.chunks_exact(4);
    for chunk in &mut chunks {
        sum += u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    }
    let mut rest = [0; 4];
    rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    sum + u64::from(u32::from_be_bytes(rest))
}

/// The checksum for a sum: folded to 16 bits and complemented.
fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn put(frame: &mut [u8], at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Makes of a frame in a ring the frames on the wire, without the Ethernet checksum, and gives them to `out`.
///
/// # Errors
/// If header and frame do not fit each other; nothing was given to `out` then.
pub(crate) fn segments(header: Header, frame: &mut [u8], out: &mut dyn FnMut(&[u8])) -> Result<(), ()> {
    if header.kind == 0 {
        if header.flags & Header::NEEDS_CHECKSUM != 0 {
            let start = usize::from(header.checksum_start);
            let at = start + usize::from(header.checksum_offset);
            if at + 2 > frame.len() {
                return Err(());
            }
            // the field holds the sum of the pseudo header
            let checksum = fold(sum(&frame[start..], 0));
            // a UDP checksum of zero means none
            put(frame, at, if checksum == 0 && header.checksum_offset == 6 { 0xffff } else { checksum });
        }
        out(frame);
        return Ok(());
    }
    let version_4 = match header.kind & !ECN {
        TCP4 => true,
        TCP6 => false,
        _ => return Err(()),
    };
    let tcp = usize::from(header.checksum_start);
    // Ethernet, and at most one VLAN tag
    let ip = if frame.get(12..14) == Some(&[0x81, 0x00]) { 18 } else { 14 };
    let least = if version_4 { 20 } else { 40 };
    let size = usize::from(header.segment);
    if header.flags & Header::NEEDS_CHECKSUM == 0 || tcp < ip + least || tcp + 20 > frame.len() || size < LEAST {
        return Err(());
    }
    let headers = tcp + usize::from(frame[tcp + 12] >> 4) * 4;
    if headers < tcp + 20 || headers >= frame.len() {
        return Err(());
    }
    if (version_4 && usize::from(frame[ip] & 15) * 4 != tcp - ip) || frame[ip] >> 4 != if version_4 { 4 } else { 6 } {
        return Err(());
    }
    let (head, payload) = frame.split_at(headers);
    let sequence = u32::from_be_bytes([head[tcp + 4], head[tcp + 5], head[tcp + 6], head[tcp + 7]]);
    let identification = u16::from_be_bytes([head[ip + 4], head[ip + 5]]);
    let addresses = if version_4 { &head[ip + 12..ip + 20] } else { &head[ip + 8..ip + 40] };
    let addresses = sum(addresses, 6);
    let count = payload.len().div_ceil(size);
    let mut segment = Vec::with_capacity(headers + size);
    for (nth, part) in payload.chunks(size).enumerate() {
        segment.clear();
        segment.extend_from_slice(head);
        segment.extend_from_slice(part);
        let length = segment.len() - ip;
        if version_4 {
            put(&mut segment, ip + 2, length as u16);
            put(&mut segment, ip + 4, identification.wrapping_add(nth as u16));
            put(&mut segment, ip + 10, 0);
            let checksum = fold(sum(&segment[ip..tcp], 0));
            put(&mut segment, ip + 10, checksum);
        } else {
            put(&mut segment, ip + 4, (length - 40) as u16);
        }
        let at = sequence.wrapping_add((nth * size) as u32);
        segment[tcp + 4..tcp + 8].copy_from_slice(&at.to_be_bytes());
        if nth > 0 {
            segment[tcp + 13] &= !CWR;
        }
        if nth + 1 < count {
            segment[tcp + 13] &= !(FIN | PSH);
        }
        put(&mut segment, tcp + 16, 0);
        let length = segment.len() - tcp;
        let checksum = fold(sum(&segment[tcp..], addresses + length as u64));
        put(&mut segment, tcp + 16, checksum);
        out(&segment);
    }
    Ok(())
}

/// Sets the ECN bits of a frame to those that the fabric left it with, and the address it goes to.
pub(crate) fn arrive(frame: &mut [u8], mac: [u8; 6], tos: u8) {
    if frame.len() < 34 {
        return;
    }
    frame[..6].copy_from_slice(&mac);
    match [frame[12], frame[13]] {
        [0x08, 0x00] if frame[15] != tos => {
            frame[15] = tos;
            let end = 14 + usize::from(frame[14] & 15) * 4;
            if end >= 34 && end <= frame.len() {
                put(frame, 24, 0);
                let checksum = fold(sum(&frame[14..end], 0));
                put(frame, 24, checksum);
            }
        }
        [0x86, 0xdd] => {
            frame[14] = frame[14] & 0xf0 | tos >> 4;
            frame[15] = frame[15] & 0x0f | tos << 4;
        }
        _ => {}
    }
}

/// Where a frame goes: what routers and switches look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addressed {
    pub to: std::net::IpAddr,
    pub tos: u8,
    /// Of addresses, protocol and ports.
    pub hash: u64,
}

/// Reads the addresses of an IP packet in an Ethernet frame; `None` for anything else.
pub(crate) fn addressed(frame: &[u8]) -> Option<Addressed> {
    use std::net::{Ipv4Addr, Ipv6Addr};
    let (to, from, tos, protocol, ports) = match frame.get(12..14)? {
        [0x08, 0x00] => {
            let ip = frame.get(14..34)?;
            let four = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
            // the ports of a later fragment are not there
            let (offset, more) = (u16::from_be_bytes([ip[6], ip[7]]) & 0x1fff, ip[6] & 0x20);
            let whole = offset == 0 && more == 0;
            let ports = if whole { 14 + usize::from(ip[0] & 15) * 4 } else { usize::MAX };
            (four(16).into(), u128::from(four(12).to_bits()), ip[1], ip[9], ports)
        }
        [0x86, 0xdd] => {
            let ip = frame.get(14..54)?;
            let six = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).expect("sixteen bytes"));
            (six(24).into(), six(8).to_bits(), ip[0] << 4 | ip[1] >> 4, ip[6], 54)
        }
        _ => return None,
    };
    let ports = match protocol {
        6 | 17 => ports.checked_add(4).and_then(|end| frame.get(end - 4..end)),
        _ => None,
    };
    let ports = ports.map_or(0, |p| u32::from_be_bytes([p[0], p[1], p[2], p[3]]));
    let destination = match to {
        std::net::IpAddr::V4(to) => u128::from(to.to_bits()),
        std::net::IpAddr::V6(to) => to.to_bits(),
    };
    let mut hash = u64::from(protocol) << 32 | u64::from(ports);
    for word in [from as u64, (from >> 64) as u64, destination as u64, (destination >> 64) as u64] {
        hash = splitmix64(hash ^ word);
    }
    Some(Addressed { to, tos, hash })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u16 = 1448;

    /// An IPv4 or IPv6 frame with a TCP segment of `payload` bytes and 12 bytes of options, and its header.
    fn tcp(version_4: bool, payload: usize, flags: u8) -> (Header, Vec<u8>) {
        let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];
        let start = if version_4 {
            frame.extend([8, 0, 0x45, 2, 0, 0, 0xff, 0xfe, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            34
        } else {
            frame.extend([0x86, 0xdd, 0x60, 0x20, 0, 0, 0, 0, 6, 64]);
            frame.extend([0xfd; 15]);
            frame.push(1);
            frame.extend([0xfd; 15]);
            frame.push(2);
            54
        };
        frame.extend([0x9c, 0x40, 0, 80, 0xff, 0xff, 0xff, 0, 0, 0, 0, 7, 0x80, flags, 1, 0, 0, 0, 0, 0]);
        frame.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        frame.extend((0..payload).map(|i| (i * 7) as u8));
        let kind = if version_4 { TCP4 } else { TCP6 } | ECN;
        (Header { flags: 1, kind, segment: MSS, checksum_start: start, checksum_offset: 16 }, frame)
    }

    /// Whether all checksums of a frame are right, as a receiver computes them.
    fn is_sound(frame: &[u8], version_4: bool) -> bool {
        let (start, addresses) = if version_4 { (34, &frame[26..34]) } else { (54, &frame[22..54]) };
        let ip = !version_4 || fold(sum(&frame[14..34], 0)) == 0;
        ip && fold(sum(&frame[start..], sum(addresses, 6 + (frame.len() - start) as u64))) == 0
    }

    #[test]
    fn the_example_of_rfc_1071() {
        // §3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2
        assert_eq!(!fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0)), 0xddf2);
        assert_eq!(!fold(sum(&[0x12, 0x34, 0x56], 0)), 0x6834, "an odd byte is padded with zero");
    }

    #[test]
    fn segments_carry_all_data_in_order_with_sound_checksums() {
        for version_4 in [true, false] {
            let start = if version_4 { 34 } else { 54 };
            for payload in [1, 1447, 1448, 1449, 5000, 65_000] {
                let (header, mut frame) = tcp(version_4, payload, CWR | PSH | FIN | 0x10);
                let whole = frame.clone();
                let mut made: Vec<Vec<u8>> = Vec::new();
                segments(header, &mut frame, &mut |segment| made.push(segment.to_vec())).unwrap();
                assert_eq!(made.len(), payload.div_ceil(usize::from(MSS)));
                let mut position = 0xffff_ff00u32;
                let mut data = Vec::new();
                for (nth, segment) in made.iter().enumerate() {
                    assert!(is_sound(segment, version_4), "segment {nth} of {payload} bytes");
                    let field = |at: usize| u32::from_be_bytes(segment[at..at + 4].try_into().unwrap());
                    assert_eq!(field(start + 4), position);
                    let carried = &segment[start + 32..];
                    position = position.wrapping_add(carried.len() as u32);
                    data.extend_from_slice(carried);
                    let last = nth + 1 == made.len();
                    let flags = if nth == 0 { CWR } else { 0 } | if last { PSH | FIN } else { 0 } | 0x10;
                    assert_eq!(segment[start + 13], flags);
                    assert_eq!(segment[start + 20..start + 32], whole[start + 20..start + 32], "options");
                    if version_4 {
                        assert_eq!(usize::from(u16::from_be_bytes([segment[16], segment[17]])), segment.len() - 14);
                        assert_eq!(u16::from_be_bytes([segment[18], segment[19]]), 0xfffeu16.wrapping_add(nth as u16));
                    } else {
                        assert_eq!(usize::from(u16::from_be_bytes([segment[18], segment[19]])), segment.len() - 54);
                    }
                }
                assert_eq!(data, whole[start + 32..]);
            }
        }
    }

    #[test]
    fn a_checksum_left_to_the_card_is_filled_in() {
        for version_4 in [true, false] {
            let (header, mut frame) = tcp(version_4, 100, 0x10);
            let start = usize::from(header.checksum_start);
            if version_4 {
                let length = (frame.len() - 14) as u16;
                put(&mut frame, 16, length);
                let checksum = fold(sum(&frame[14..34], 0));
                put(&mut frame, 24, checksum);
            }
            // the kernel leaves the sum of the pseudo header
            let addresses = if version_4 { sum(&frame[26..34], 6) } else { sum(&frame[22..54], 6) };
            let pseudo = !fold(addresses + (frame.len() - start) as u64);
            put(&mut frame, start + 16, pseudo);
            let mut made = Vec::new();
            segments(Header { kind: 0, ..header }, &mut frame, &mut |frame| made.push(frame.to_vec())).unwrap();
            assert!(is_sound(&made[0], version_4));
        }
    }

    #[test]
    fn marks_of_the_fabric_reach_the_frame() {
        for version_4 in [true, false] {
            let (header, mut frame) = tcp(version_4, 10, 0x10);
            let mut whole = Vec::new();
            segments(header, &mut frame, &mut |segment| whole = segment.to_vec()).unwrap();
            let before = addressed(&whole).unwrap();
            assert_eq!(before.tos, 2);
            arrive(&mut whole, [2, 0, 0, 0, 0, 5], 3);
            assert_eq!(whole[..6], [2, 0, 0, 0, 0, 5]);
            let after = addressed(&whole).unwrap();
            assert_eq!((after.tos, after.hash, after.to), (3, before.hash, before.to));
            assert!(is_sound(&whole, version_4));
        }
    }

    #[test]
    fn headers_that_do_not_fit_their_frame_are_refused() {
        let (good, frame) = tcp(true, 5000, 0x10);
        let refused = |header: Header, frame: &[u8]| {
            segments(header, &mut frame.to_vec(), &mut |_| panic!("nothing is made of it")).is_err()
        };
        assert!(refused(Header { segment: 0, ..good }, &frame));
        assert!(refused(Header { kind: 3, ..good }, &frame));
        assert!(refused(Header { kind: TCP6, ..good }, &frame));
        assert!(refused(Header { flags: 0, ..good }, &frame));
        assert!(refused(Header { checksum_start: 20, ..good }, &frame));
        assert!(refused(Header { checksum_start: 65_000, ..good }, &frame));
        assert!(refused(good, &frame[..60]));
        assert!(refused(Header { kind: 0, checksum_start: 60_000, ..good }, &frame));
    }

    proptest! {
        /// Whatever a guest puts into a ring, what comes out is no larger than what went in, per segment.
        #[test]
        fn any_bytes_are_safe(
            header in any::<[u8; Header::SIZE]>(),
            frame in prop::collection::vec(any::<u8>(), 0..3000),
            ether in 0..3u8,
            tos in any::<u8>(),
        ) {
            let mut frame = frame;
            if frame.len() > 15 {
                match ether {
                    0 => frame[12..15].copy_from_slice(&[8, 0, 0x45]),
                    1 => frame[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]),
                    _ => {}
                }
            }
            let _ = addressed(&frame);
            let most = frame.len();
            let _ = segments(Header::from_bytes(&header), &mut frame, &mut |segment| assert!(segment.len() <= most));
            arrive(&mut frame, [0; 6], tos);
        }
    }
}
