use proptest::prelude::*;

use super::*;
use crate::synthetic::Frame;

fn frame<'a>(source: &str, destination: &str, options: &'a [u8]) -> Frame<'a> {
    Frame {
        source: (source.parse().unwrap(), 40_000),
        destination: (destination.parse().unwrap(), 80),
        sequence: 7,
        acknowledgement: 9,
        flags: ACK,
        payload: 100,
        id: 3,
        options,
    }
}

fn v4() -> Frame<'static> {
    frame("10.0.0.1", "10.0.0.2", &[])
}

fn v6() -> Frame<'static> {
    frame("2001:db8::1", "2001:db8::2", &[])
}

fn packet(link: Link, data: &[u8]) -> Packet<'_> {
    Packet { time: 0, link, data, length: data.len() as u32 }
}

fn made(write: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

fn segment(link: Link, data: &[u8]) -> Segment<'_> {
    match parse(&packet(link, data)) {
        Content::Tcp(segment) => segment,
        other => panic!("{other:?}"),
    }
}

#[test]
fn addresses_print_as_they_are_written() {
    for text in ["10.0.0.1", "2001:db8::1", "::1"] {
        assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
    }
}

#[test]
fn the_same_segment_is_found_behind_every_link_header() {
    let ip = made(|into| v4().ip(into));
    let with = |head: &[u8]| [head, &ip].concat();
    let plain = segment(Link::Raw, &ip);
    assert_eq!((plain.sequence, plain.acknowledgement, plain.payload, plain.id), (7, 9, 100, 3));
    assert_eq!((plain.source.to_string().as_str(), plain.source_port), ("10.0.0.1", 40_000));
    let cooked = with(&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0]);
    let cooked2 = with(&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
    let label = |bottom: u8| [0, 1, 0x10 | bottom, 64];
    let mpls = with(&[&[0; 12][..], &[0x88, 0x47], &label(0), &label(1)].concat());
    let behind = [
        (Link::Ethernet, made(|into| v4().ethernet(&[], into))),
        (Link::Ethernet, made(|into| v4().ethernet(&[5], into))),
        (Link::Ethernet, made(|into| v4().ethernet(&[5, 6], into))),
        (Link::Ethernet, mpls),
        (Link::Cooked, cooked),
        (Link::Cooked2, cooked2),
        (Link::Null, with(&[2, 0, 0, 0])),
        (Link::Null, with(&[0, 0, 0, 2])),
    ];
    for (link, bytes) in behind {
        let found = segment(link, &bytes);
        assert_eq!(Segment { wire: plain.wire, ..found }, plain, "{link:?}");
        assert_eq!(found.wire as usize, bytes.len());
    }
    let bytes = made(|into| v6().ip(into));
    assert_eq!(segment(Link::Null, &[&[30, 0, 0, 0][..], &bytes].concat()).payload, 100);
    assert_eq!(parse(&packet(Link::Null, &[&[7, 0, 0, 0][..], &bytes].concat())), Content::NotIp);
}

/// An IPv4 header of protocol `protocol` around `inner`.
fn over_ip(protocol: u8, inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + inner.len() as u16).to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend(inner);
    bytes
}

fn over_udp(port: u16, inner: &[u8]) -> Vec<u8> {
    let head = [&[0xc0, 0][..], &port.to_be_bytes(), &(8 + inner.len() as u16).to_be_bytes(), &[0, 0]].concat();
    over_ip(17, &[&head, inner].concat())
}

/// A GRE header with these flags (each word that they announce is there) and protocol.
fn gre(flags: u16, protocol: u16, inner: &[u8]) -> Vec<u8> {
    let words = [0x8000, 0x2000, 0x1000].into_iter().filter(|flag| flags & flag != 0).count();
    let head = [&flags.to_be_bytes()[..], &protocol.to_be_bytes(), &vec![0xaa; 4 * words]].concat();
    over_ip(47, &[&head, inner].concat())
}

/// Headers as RFC 2003, 2784, 2890, 7348, 8926, 2516 and draft-foschiano-erspan-03 draw them.
#[test]
fn the_same_segment_is_found_in_every_tunnel() {
    let ip = made(|into| v4().ip(into));
    let ip6 = made(|into| v6().ip(into));
    let ethernet = made(|into| v4().ethernet(&[5], into));
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet].concat();
    let geneve = [&[2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8][..], &ethernet].concat();
    let erspan = [&[0x10, 5, 0, 0, 0, 0, 0, 0][..], &ethernet].concat();
    let erspan_3 = |last: u8, platform: usize| {
        [&[0x20, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, last][..], &vec![0; platform], &ethernet].concat()
    };
    let outer6 = [&[0x60, 0, 0, 0, 0, ip.len() as u8, 4, 64][..], &[1; 32], &ip].concat();
    let pppoe = |protocol: u16, inner: &[u8]| {
        let length = (inner.len() as u16 + 2).to_be_bytes();
        [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1], &length, &protocol.to_be_bytes(), inner].concat()
    };
    let plain = segment(Link::Raw, &ip);
    let cases = [
        ("IP in IP", Link::Raw, over_ip(4, &ip)),
        ("IPv4 in IPv6", Link::Raw, outer6),
        ("GRE", Link::Raw, gre(0, 0x0800, &ip)),
        ("GRE with checksum, key and number", Link::Raw, gre(0xb000, 0x0800, &ip)),
        ("Ethernet in GRE", Link::Raw, gre(0x2000, 0x6558, &ethernet)),
        ("VXLAN", Link::Raw, over_udp(4789, &vxlan)),
        ("Geneve", Link::Raw, over_udp(6081, &geneve)),
        ("ERSPAN I", Link::Raw, gre(0, 0x88be, &ethernet)),
        ("ERSPAN II", Link::Raw, gre(0x1000, 0x88be, &erspan)),
        ("ERSPAN III", Link::Raw, gre(0x1000, 0x22eb, &erspan_3(0, 0))),
        ("ERSPAN III with a platform's header", Link::Raw, gre(0x1000, 0x22eb, &erspan_3(1, 8))),
        ("PPPoE", Link::Ethernet, pppoe(0x0021, &ip)),
        ("VXLAN in GRE", Link::Raw, gre(0, 0x0800, &over_udp(4789, &vxlan))),
    ];
    for (name, link, bytes) in cases {
        let found = segment(link, &bytes);
        assert_eq!(Segment { wire: plain.wire, tunnels: 0, ..found }, plain, "{name}");
        assert_eq!(found.wire as usize, bytes.len());
        assert_eq!(found.tunnels, if name.contains(" in GRE") && name.starts_with('V') { 2 } else { 1 }, "{name}");
    }
    for bytes in [over_ip(41, &ip6), gre(0, 0x86dd, &ip6)] {
        assert_eq!(segment(Link::Raw, &bytes).source.to_string(), "2001:db8::1");
    }
    assert_eq!(segment(Link::Ethernet, &pppoe(0x0057, &ip6)).payload, 100);
    // No tunnels: other versions and ports, and flags that a network's number would have.
    assert_eq!(parse(&packet(Link::Raw, &gre(0x2001, 0x880b, &ip))), Content::OtherIp(47));
    assert_eq!(parse(&packet(Link::Raw, &over_udp(4790, &vxlan))), Content::Udp);
    assert_eq!(parse(&packet(Link::Raw, &over_udp(4789, &[0; 40]))), Content::Udp);
    assert_eq!(parse(&packet(Link::Ethernet, &pppoe(0xc021, &ip))), Content::NotIp, "LCP");
}

#[test]
fn tunnels_in_tunnels_are_looked_into_eight_deep() {
    let mut bytes = made(|into| v4().ip(into));
    for depth in 1..=8 {
        bytes = over_ip(4, &bytes);
        assert_eq!(segment(Link::Raw, &bytes).tunnels, depth);
    }
    assert_eq!(parse(&packet(Link::Raw, &over_ip(4, &bytes))), Content::TooDeep);
    let mut bytes = vec![0; 20];
    for _ in 0..1000 {
        bytes = gre(0, 0x0800, &bytes);
    }
    assert_eq!(parse(&packet(Link::Raw, &bytes)), Content::TooDeep);
    assert_eq!(parse(&packet(Link::Raw, &over_ip(4, &[]))), Content::Cut);
}

#[test]
fn options_of_ipv4_and_headers_of_ipv6_are_passed() {
    let mut bytes = made(|into| v4().ip(into));
    bytes[0] = 0x46;
    bytes[3] += 4;
    bytes.splice(20..20, [1, 1, 1, 0]);
    assert_eq!(segment(Link::Raw, &bytes).payload, 100);

    let mut bytes = made(|into| v6().ip(into));
    // Hop-by-hop of 8 bytes, authentication of 12 (length 1: in words, less 2), first fragment.
    let headers = [51, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 1, 0, 0, 0, 9];
    bytes[6] = 0;
    bytes[5] += headers.len() as u8;
    bytes.splice(40..40, headers);
    let found = segment(Link::Raw, &bytes);
    assert_eq!((found.payload, found.source.to_string().as_str()), (100, "2001:db8::1"));
    // A later fragment: offset 8.
    bytes[40 + 20 + 3] = 8;
    assert_eq!(parse(&packet(Link::Raw, &bytes)), Content::Fragment);
}

#[test]
fn what_is_no_segment_is_told_apart() {
    let bytes = made(|into| v4().ethernet(&[], into));
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        bytes
    };
    let is = |bytes: &[u8]| match parse(&packet(Link::Ethernet, bytes)) {
        Content::Tcp(_) => "tcp",
        Content::Udp => "udp",
        Content::OtherIp(_) => "other",
        Content::Fragment => "fragment",
        Content::NotIp => "not ip",
        Content::Cut => "cut",
        Content::Malformed => "malformed",
        Content::TooDeep => "too deep",
        Content::UnknownLink(_) => "link",
    };
    assert_eq!(is(&with(13, 6)), "not ip", "ARP");
    assert_eq!(is(&with(14, 0x43)), "malformed", "a header of 12 bytes");
    assert_eq!(is(&with(14 + 7, 1)), "fragment");
    assert_eq!(is(&with(14 + 9, 17)), "udp");
    assert_eq!(is(&with(14 + 9, 1)), "other");
    assert_eq!(is(&with(14 + 3, 30)), "malformed", "shorter than TCP's header");
    assert_eq!(is(&with(14 + 20 + 12, 0x40)), "malformed", "TCP's header of 16 bytes");
    assert_eq!(is(&bytes[..14 + 20 + 13]), "cut");
    assert_eq!(is(&bytes[..14 + 20 + 14]), "tcp", "up to the flags is enough");
    assert_eq!(parse(&packet(Link::Unknown(105), &bytes)), Content::UnknownLink(105));
}

#[test]
fn a_stated_length_of_zero_is_what_was_on_the_wire() {
    let mut big = v4();
    big.payload = 70_000;
    assert_eq!(segment(Link::Raw, &made(|into| big.ip(into))).payload, 70_000);
    let mut big = v6();
    big.payload = 70_000;
    assert_eq!(segment(Link::Ethernet, &made(|into| big.ethernet(&[], into))).payload, 70_000);
}

/// By coreutils: `printf '\1\2\3\4\5\6\7\10' | sha256sum` is 66840dda154e8a11…f5a101d3d29d6f72, and `… | sha1sum` is
/// dd5783bcf1e9002bc00ad5b83a95ed6e4ebb4ad5.
#[test]
fn tokens_are_the_first_bytes_of_the_hash_of_a_key() {
    let key = 0x0102_0304_0506_0708;
    assert_eq!(token(Version::V1, key), 0x6684_0dda);
    assert_eq!(token(Version::V0, key), 0xdd57_83bc);
    assert_eq!(expected_data_number(Version::V1, key), 0xf5a1_01d3_d29d_6f73);
    assert_eq!(expected_data_number(Version::V0, key), 0x3a95_ed6e_4ebb_4ad6);
}

#[test]
fn options_of_mptcp_are_read_in_all_their_lengths() {
    let keys = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9];
    let (sender, receiver) = (Some(0x0102_0304_0506_0708), Some(0x0909_0909_0909_0909));
    let version = Version::V1;
    let capable = |sender, receiver, length| Some(Mptcp::Capable { version, sender, receiver, length });
    let with = |bytes: &[&[u8]]| find(&bytes.concat());
    assert_eq!(with(&[&[2, 4, 5, 0xb4, 30, 4, 0x01, 0x81]]), capable(None, None, 0));
    assert_eq!(with(&[&[1, 1, 30, 12, 0x01, 0x81], &keys[..8]]), capable(sender, None, 0));
    assert_eq!(with(&[&[30, 20, 0x01, 0x81], &keys]), capable(sender, receiver, 0));
    assert_eq!(with(&[&[30, 22, 0x01, 0x81], &keys, &[1, 0]]), capable(sender, receiver, 256));
    assert_eq!(
        with(&[&[30, 12, 0x10, 2, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0, 1]]),
        Some(Mptcp::Join { token: Some(0xaabb_ccdd) })
    );
    assert_eq!(with(&[&[30, 16, 0x10, 2], &keys[..12]]), Some(Mptcp::Join { token: None }));
    // Acknowledgement of 8 bytes, number of 8, subflow's number of 4, length of 2, checksum of 2.
    let dss = |flags: u8, length: u8| {
        [&[30, 28, 0x20, flags][..], &[7; 8], &keys[..8], &[0, 0, 0, 1, 2, length, 0, 0]].concat()
    };
    assert_eq!(find(&dss(0x0f, 0)), Some(Mptcp::Data { number: 0x0102_0304_0506_0708, wide: true, length: 512 }));
    assert_eq!(
        find(&dss(0x1f, 1)),
        Some(Mptcp::Data { number: 0x0102_0304_0506_0708, wide: true, length: 512 }),
        "with the end"
    );
    assert_eq!(find(&dss(0x0b, 0)), None, "an acknowledgement alone");
    assert_eq!(
        with(&[&[30, 14, 0x20, 0x04], &keys[..4], &[0, 0, 0, 1, 0, 9]]),
        Some(Mptcp::Data { number: 0x0102_0304, wide: false, length: 9 })
    );
    // Cut, without end, of length 0.
    assert_eq!(find(&dss(0x0f, 0)[..20]), None);
    assert_eq!(find(&[30]), None);
    assert_eq!(find(&[8, 0, 30, 4, 1, 0x81]), None);
}

proptest! {
    #[test]
    fn nothing_panics(link in 0u16..300, bytes in prop::collection::vec(any::<u8>(), 0..120), length in any::<u32>()) {
        for link in [Link::Ethernet, Link::Raw, Link::Null, Link::Cooked, Link::Cooked2, Link::Unknown(link.into())] {
            let _ = parse(&Packet { time: 0, link, data: &bytes, length });
        }
        let _ = find(&bytes);
    }

    /// Few random bytes look like IP; these do.
    #[test]
    fn damaged_headers_do_not_panic(six in any::<bool>(), damage in prop::collection::vec((0usize..90, any::<u8>()), 1..4), cut in 0usize..180) {
        let mut bytes = made(|into| if six { v6() } else { v4() }.ethernet(&[1], into));
        for (at, value) in damage {
            bytes[at] = value;
        }
        bytes.truncate(cut);
        let _ = parse(&packet(Link::Ethernet, &bytes));
    }
}
