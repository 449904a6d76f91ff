use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// A packet as it was read: time, link, bytes, length.
type Read = (u64, Link, Vec<u8>, u32);

/// All packets, and what reading ended with.
fn read(bytes: &[u8]) -> (Vec<Read>, Option<CaptureError>) {
    let mut packets = Vec::new();
    let mut reader = match Reader::new("x.pcap", Box::new(Cursor::new(bytes.to_vec()))) {
        Ok(reader) => reader,
        Err(error) => return (packets, Some(error)),
    };
    loop {
        match reader.advance() {
            Ok(true) => {
                let packet = reader.packet().unwrap();
                packets.push((packet.time, packet.link, packet.data.to_vec(), packet.length));
            }
            Ok(false) => return (packets, None),
            Err(error) => return (packets, Some(error)),
        }
    }
}

fn error(bytes: &[u8]) -> String {
    read(bytes).1.expect("an error").to_string()
}

/// pcap-savefile(5), byte by byte: two packets, the second captured to 2 of 60 bytes.
fn pcap(big: bool, nanoseconds: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut bytes = Vec::new();
    bytes.extend(word(if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 })); // magic
    bytes.extend([half(2), half(4)].concat()); // version
    bytes.extend([word(0), word(0)].concat()); // two fields that are not used
    bytes.extend(word(65_535)); // snaplen
    bytes.extend(word(0x1000_0001)); // Ethernet, frames with checksums of 2 · 16 bits
    bytes.extend([word(1_700_000_000), word(5), word(3), word(3)].concat());
    bytes.extend(b"abc");
    bytes.extend([word(1_700_000_001), word(999_999), word(2), word(60)].concat());
    bytes.extend(b"de");
    bytes
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_resolutions() {
    for big in [false, true] {
        for (nanoseconds, unit) in [(true, 1), (false, 1000)] {
            let (packets, error) = read(&pcap(big, nanoseconds));
            assert!(error.is_none(), "{error:?}");
            let second = 1_000_000_000;
            let expected = [
                (1_700_000_000 * second + 5 * unit, Link::Ethernet, b"abc".to_vec(), 3),
                (1_700_000_001 * second + 999_999 * unit, Link::Ethernet, b"de".to_vec(), 60),
            ];
            assert_eq!(packets, expected);
        }
    }
}

/// A block of pcapng: type, body (filled up to four bytes), length at both ends.
fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = word(body.len() as u32 + 12);
    [&word(kind)[..], &length, &body, &length].concat()
}

fn words(big: bool, words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect()
}

fn halves(big: bool, halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| if big { half.to_be_bytes() } else { half.to_le_bytes() }).collect()
}

fn section(big: bool) -> Vec<u8> {
    // Byte-order magic, version 1.0, length of the section unknown (−1).
    block(big, 0x0a0d_0d0a, &[words(big, &[0x1a2b_3c4d]), halves(big, &[1, 0]), words(big, &[u32::MAX; 2])].concat())
}

/// With its options: code, value.
fn interface(big: bool, link: u16, snaplen: u32, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = [halves(big, &[link, 0]), words(big, &[snaplen])].concat();
    for (code, value) in options {
        body.extend(halves(big, &[*code, value.len() as u16]));
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    body.extend([0; 4]);
    block(big, 1, &body)
}

fn enhanced(big: bool, interface: u32, ticks: u64, data: &[u8], length: u32) -> Vec<u8> {
    let head = words(big, &[interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, length]);
    block(big, 6, &[&head, data].concat())
}

fn pcapng(big: bool) -> Vec<u8> {
    let offset = if big { 100i64.to_be_bytes() } else { 100i64.to_le_bytes() };
    [
        section(big),
        // Microseconds; nanoseconds and 100 s later; 2^-10 s.
        interface(big, 1, 0, &[]),
        interface(big, 101, 0, &[(2, b"eth0".to_vec()), (9, vec![9]), (14, offset.to_vec())]),
        interface(big, 113, 3, &[(9, vec![0x8a])]),
        enhanced(big, 0, 1_500_000, b"abc", 3),
        block(big, 0x0bad_0bad, b"something of somebody"),
        enhanced(big, 1, 7, b"wxyz", 1500),
        enhanced(big, 2, 1024 + 512, b"", 60),
        // The old packet block has its interface in two bytes, then a count of drops.
        block(big, 2, &[&halves(big, &[0, 9])[..], &words(big, &[0, 3_000_000, 2, 2]), b"op"].concat()),
        // The simple one has only a length; it is of interface 0.
        block(big, 3, &[&words(big, &[4])[..], b"simp"].concat()),
        // Statistics of interface 1: 17 dropped.
        block(
            big,
            5,
            &[
                words(big, &[1, 0, 0]),
                halves(big, &[5, 8]),
                if big { 17u64.to_be_bytes() } else { 17u64.to_le_bytes() }.to_vec(),
            ]
            .concat(),
        ),
    ]
    .concat()
}

fn expected() -> Vec<Read> {
    vec![
        (1_500_000_000, Link::Ethernet, b"abc".to_vec(), 3),
        (100_000_000_007, Link::Raw, b"wxyz".to_vec(), 1500),
        (1_500_000_000, Link::Cooked, Vec::new(), 60),
        (3_000_000_000, Link::Ethernet, b"op".to_vec(), 2),
        (3_000_000_000, Link::Ethernet, b"simp".to_vec(), 4),
    ]
}

#[test]
fn pcapng_has_interfaces_with_clocks_of_their_own() {
    for big in [false, true] {
        let (packets, error) = read(&pcapng(big));
        assert!(error.is_none(), "{error:?}");
        assert_eq!(packets, expected());
    }
}

#[test]
fn sections_may_differ_in_byte_order_and_forget_interfaces() {
    let both = [pcapng(false), pcapng(true)].concat();
    let (packets, ended) = read(&both);
    assert!(ended.is_none(), "{ended:?}");
    assert_eq!(packets, [expected(), expected()].concat());
    let mut reader = Reader::new("x", Box::new(Cursor::new(both))).unwrap();
    while reader.advance().unwrap() {}
    assert_eq!(reader.dropped(), 34);
    let forgotten = [section(false), interface(false, 1, 0, &[]), section(true), enhanced(true, 0, 0, b"", 0)].concat();
    assert!(error(&forgotten).contains("a packet of interface 0, of which the section has described 0"));
}

#[test]
fn damage_is_told_with_its_offset() {
    let good = pcap(false, false);
    // The second record begins after 24 + 16 + 3 bytes.
    let with = |at: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let damaged = with(43 + 8, 10_000_000);
    assert_eq!(read(&damaged).0.len(), 1);
    assert_eq!(
        error(&damaged),
        "x.pcap: at byte 43: a packet's header cannot be right: 10000000 bytes captured, the most is 262144"
    );
    assert!(
        error(&with(43 + 4, 1_000_000)).contains("at byte 43: a packet's header cannot be right: 1000000 microseconds")
    );
    let ng = pcapng(false);
    let first = section(false).len();
    let mut bytes = ng.clone();
    bytes[first + 4] += 1;
    assert!(
        error(&bytes).contains("at byte 28: a block (type 0x1) cannot have a length of 25 bytes"),
        "{}",
        error(&bytes)
    );
    let mut bytes = ng.clone();
    bytes[first + 20] += 4;
    assert!(error(&bytes).contains("24 bytes at its beginning and 28 at its end"), "{}", error(&bytes));
    let mut bytes = ng;
    bytes[8] = 0;
    assert!(error(&bytes).contains("at byte 0: a section header without"), "{}", error(&bytes));
}

#[test]
fn what_is_not_read_is_said() {
    assert_eq!(error(b""), "x.pcap is empty; a capture has a header even if no packet was seen");
    assert!(error(b"\x89PNG\r\n\x1a\n....").contains("it looks like a PNG image"));
    assert!(error(b"ab").contains("it looks like text (`ab`)"));
    assert!(error(&pcap(false, false)[..20]).contains("at byte 0: the file ends in its header, after 20 of 24 bytes"));
    let with = |at: usize, value: &[u8]| {
        let mut bytes = pcap(false, false);
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    assert!(error(&with(0, &[0x34, 0xcd, 0xb2, 0xa1])).contains("Kuznetzov"));
    assert!(error(&with(6, &[3])).contains("version 2.3"));
    assert!(error(&with(20, &[105, 0])).contains("link type 105 (IEEE 802.11), which is not read"));
    assert!(error(&with(20, &[1, 0, 1, 0])).contains("link type 65537, which is not read"));
    // With the length of the checksum that frames end with, 4 bytes.
    assert!(Reader::new("x", Box::new(std::io::Cursor::new(with(20, &[1, 0, 0, 0x24])))).is_ok());
}

/// Sizes of all prefixes of records of `pcap`, by how many packets are whole before the cut.
#[test]
fn every_cut_gives_all_packets_before_it() {
    let good = pcap(true, true);
    let ends = [24, 24 + 19, 24 + 19 + 18];
    for cut in 24..=good.len() {
        let (packets, error) = read(&good[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(packets, read(&good).0[..whole], "at {cut}");
        assert_eq!(error.is_none(), ends.contains(&cut), "at {cut}: {error:?}");
        if let Some(error) = error {
            assert!(error.to_string().contains(&format!("at byte {}: the file ends in", ends[whole])), "{error}");
        }
    }
    let good = pcapng(false);
    for cut in 1..=good.len() {
        let (packets, error) = read(&good[..cut]);
        assert_eq!(packets, expected()[..packets.len()], "at {cut}");
        // Only a cut between blocks is none.
        assert!(error.is_none() || cut < good.len());
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Enough that the window moves on several times, and that a record crosses each of its ends.
fn long() -> Vec<u8> {
    let mut writer = crate::synthetic::PcapWriter::new(Vec::new(), 1).unwrap();
    for n in 0..3000u32 {
        let data: Vec<u8> = (0..n % 600).map(|byte| (byte * n) as u8).collect();
        writer.packet(u64::from(n), &data, 1500).unwrap();
    }
    writer.into_inner()
}

#[test]
fn compressed_captures_are_the_same() {
    let plain = long();
    let expected = read(&plain);
    assert_eq!(expected.0.len(), 3000);
    let (one, two) = plain.split_at(plain.len() / 3);
    let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let compressed = [
        gzip(&plain),
        [gzip(one), gzip(two)].concat(),
        zstd(&plain),
        [zstd(one), zstd(two)].concat(),
        [&skippable[..], &zstd(&plain)].concat(),
    ];
    for (n, bytes) in compressed.iter().enumerate() {
        let (packets, error) = read(bytes);
        assert!(error.is_none(), "{n}: {error:?}");
        assert!(packets == expected.0, "{n}");
    }
}

#[test]
fn compressed_captures_that_are_cut_or_damaged_give_what_is_whole() {
    let plain = long();
    let expected = read(&plain).0;
    for bytes in [gzip(&plain), zstd(&plain)] {
        let (packets, error) = read(&bytes[..bytes.len() * 2 / 3]);
        assert!(!packets.is_empty() && packets == expected[..packets.len()]);
        let text = error.expect("it is cut").to_string();
        assert!(text.contains("of the decompressed data: "), "{text}");
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].fill(0x55);
        let (_, error) = read(&damaged);
        assert!(error.expect("it is damaged").is_damage());
    }
    // Within itself: once is enough.
    assert!(error(&gzip(&gzip(&plain))).contains("unpack it once"));
    assert!(error(&gzip(b"hello")).contains("text (`hello`)"));
}

proptest! {
    #[test]
    fn random_bytes_do_not_panic(kind in 0usize..4, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let head: &[u8] = match kind {
            0 => &[],
            1 => &pcap(false, false)[..24],
            2 => &[section(false), interface(false, 1, 0, &[])].concat(),
            _ => &[0x0a, 0x0d, 0x0d, 0x0a],
        };
        let _ = read(&[head, &bytes].concat());
        for magic in [&[0x1f, 0x8b, 8, 0][..], &[0x28, 0xb5, 0x2f, 0xfd]] {
            let _ = read(&[magic, &bytes].concat());
        }
    }

    #[test]
    fn damaged_blocks_do_not_panic(damage in prop::collection::vec((0usize..400, any::<u8>()), 1..5)) {
        let mut bytes = pcapng(false);
        for (at, value) in damage {
            let length = bytes.len();
            bytes[at % length] = value;
        }
        let _ = read(&bytes);
    }
}
