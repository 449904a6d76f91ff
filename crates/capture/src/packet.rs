//! From a captured packet to a TCP segment: Ethernet with VLANs and MPLS, IPv4 and IPv6 with their extensions.
//!
//! Only headers are looked at. Lengths are those that the headers state, not what was captured, so a capture of the
//! first 64 bytes of every packet counts the same bytes as a whole one. Packets in tunnels count as what they carry.

mod mptcp;
mod tcp;
mod tunnel;

pub use mptcp::{Mptcp, Version, expected_data_number, find, token};
pub use tcp::{ACK, FIN, RST, SYN, Segment};

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::reader::{Link, Packet};

/// An IPv4 or IPv6 address: an IPv4 address as IPv6 maps it (RFC 4291 §2.5.5.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub [u8; 16]);

impl Address {
    #[inline]
    fn v4(bytes: [u8; 4]) -> Address {
        let mut address = [0; 16];
        address[10..12].copy_from_slice(&[0xff, 0xff]);
        address[12..].copy_from_slice(&bytes);
        Address(address)
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        match address {
            IpAddr::V4(address) => Address::v4(address.octets()),
            IpAddr::V6(address) => Address(address.octets()),
        }
    }
}

impl FromStr for Address {
    type Err = std::net::AddrParseError;
    fn from_str(text: &str) -> Result<Address, Self::Err> {
        text.parse::<IpAddr>().map(Address::from)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.0);
        match address.to_ipv4_mapped() {
            Some(address) => Ipv4Addr::fmt(&address, f),
            None => Ipv6Addr::fmt(&address, f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram.
    Udp,
    /// Another protocol over IP, by its number.
    OtherIp(u8),
    /// A fragment after the first of its datagram: it has no ports.
    Fragment,
    /// No IP: ARP, LLDP, …
    NotIp,
    /// Too little was captured of it for its ports and numbers.
    Cut,
    /// Headers that contradict themselves.
    Malformed,
    /// In more tunnels than anyone has.
    TooDeep,
    /// Of a link type that is not read.
    UnknownLink(u32),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Where a header begins.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The byte.
    at: usize,
    /// The packet's length on the wire.
    length: u32,
    /// Tunnels around it.
    depth: u8,
}

impl Place {
    #[inline]
    fn behind(self, bytes: usize) -> Place {
        Place { at: self.at + bytes, ..self }
    }
}

/// Looks into a packet.
#[inline]
pub fn parse<'a>(packet: &Packet<'a>) -> Content<'a> {
    let data = packet.data;
    let place = |at| Place { at, length: packet.length, depth: 0 };
    match packet.link {
        Link::Ethernet => by_type(data, place(12)),
        Link::Cooked => by_type(data, place(14)),
        Link::Cooked2 => match be16(data, 0) {
            Some(kind) => beyond(data, kind, place(20)),
            None => Content::Cut,
        },
        Link::Raw => ip(data, place(0)),
        Link::Null => {
            let Some(family) = data.first_chunk::<4>() else { return Content::Cut };
            // AF_INET is 2 everywhere; AF_INET6 is not.
            match u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)) {
                2 | 10 | 23 | 24 | 28 | 30 => ip(data, place(4)),
                _ => Content::NotIp,
            }
        }
        Link::Unknown(number) => Content::UnknownLink(number),
    }
}

/// With an EtherType at `place`.
#[inline]
fn by_type(data: &[u8], place: Place) -> Content<'_> {
    match be16(data, place.at) {
        Some(kind) => beyond(data, kind, place.behind(2)),
        None => Content::Cut,
    }
}

/// What an EtherType announces, at `place`: through VLAN tags and MPLS labels to IP.
#[inline]
fn beyond(data: &[u8], mut kind: u16, mut place: Place) -> Content<'_> {
    loop {
        match kind {
            IPV4 | IPV6 => return ip(data, place),
            0x8864 => return tunnel::pppoe(data, place),
            // 802.1Q, 802.1ad, and what was before it
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => match be16(data, place.at + 2) {
                Some(next) => (kind, place) = (next, place.behind(4)),
                None => return Content::Cut,
            },
            // MPLS: labels up to the bottom of the stack, then most likely IP, which says its version.
            0x8847 | 0x8848 => loop {
                let Some(&label) = data.get(place.at + 2) else { return Content::Cut };
                place = place.behind(4);
                if label & 1 == 1 {
                    return ip(data, place);
                }
            },
            _ => return Content::NotIp,
        }
    }
}

#[inline]
fn ip(data: &[u8], place: Place) -> Content<'_> {
    match data.get(place.at).map(|first| first >> 4) {
        Some(4) => ipv4(data, place),
        Some(6) => ipv6(data, place),
        Some(_) => Content::NotIp,
        None => Content::Cut,
    }
}

#[inline]
fn ipv4(whole: &[u8], place: Place) -> Content<'_> {
    let (data, length) = (&whole[place.at..], place.length);
    let Some(head) = data.first_chunk::<20>() else { return Content::Cut };
    let header = usize::from(head[0] & 0xf) * 4;
    let stated = u32::from(u16::from_be_bytes([head[2], head[3]]));
    // 0 is what a sending host's own capture has of packets over 64 KB that its card will cut.
    let total = if stated == 0 { length.saturating_sub(place.at as u32) } else { stated };
    let Some(payload) = total.checked_sub(header as u32).filter(|_| header >= 20) else { return Content::Malformed };
    if u16::from_be_bytes([head[6], head[7]]) & 0x1fff != 0 {
        return Content::Fragment;
    }
    let (source, destination) = ([head[12], head[13], head[14], head[15]], [head[16], head[17], head[18], head[19]]);
    let ends = Ends {
        source: Address::v4(source),
        destination: Address::v4(destination),
        id: u16::from_be_bytes([head[4], head[5]]),
        wire: length,
        tunnels: place.depth,
    };
    match head[9] {
        6 => tcp::parse(data.get(header..).unwrap_or(&[]), payload, ends),
        other => other_than_tcp(whole, other, place.behind(header)),
    }
}

/// A protocol over IP that is not TCP, at `place`.
#[inline]
fn other_than_tcp(data: &[u8], protocol: u8, place: Place) -> Content<'_> {
    let plain = if protocol == 17 { Content::Udp } else { Content::OtherIp(protocol) };
    tunnel::in_ip(data, protocol, place).unwrap_or(plain)
}

fn ipv6(whole: &[u8], place: Place) -> Content<'_> {
    let (data, length) = (&whole[place.at..], place.length);
    let Some(head) = data.first_chunk::<40>() else { return Content::Cut };
    let stated = u32::from(u16::from_be_bytes([head[4], head[5]]));
    // 0 as above, and of jumbograms (RFC 2675).
    let mut payload = if stated == 0 { length.saturating_sub(place.at as u32 + 40) } else { stated };
    let mut source = [0; 16];
    let mut destination = [0; 16];
    source.copy_from_slice(&head[8..24]);
    destination.copy_from_slice(&head[24..40]);
    let tunnels = place.depth;
    let ends = Ends { source: Address(source), destination: Address(destination), id: 0, wire: length, tunnels };
    let mut next = head[6];
    let mut at = 40;
    loop {
        // RFC 8200 §4; each header is at least 8 bytes, so this ends with what was captured.
        let size = match next {
            6 => return tcp::parse(data.get(at..).unwrap_or(&[]), payload, ends),
            // Hop-by-hop, routing, destination options, mobility, HIP, shim6
            0 | 43 | 60 | 135 | 139 | 140 => match data.get(at + 1) {
                Some(&size) => (usize::from(size) + 1) * 8,
                None => return Content::Cut,
            },
            44 => match be16(data, at + 2) {
                Some(place) if place >> 3 != 0 => return Content::Fragment,
                Some(_) => 8,
                None => return Content::Cut,
            },
            // Authentication header
            51 => match data.get(at + 1) {
                Some(&size) => (usize::from(size) + 2) * 4,
                None => return Content::Cut,
            },
            other => return other_than_tcp(whole, other, place.behind(at)),
        };
        let Some(remaining) = payload.checked_sub(size as u32) else { return Content::Malformed };
        (next, at, payload) = (data[at], at + size, remaining);
        if at >= data.len() {
            return Content::Cut;
        }
    }
}

/// What IP says of a segment.
#[derive(Debug, Clone, Copy)]
struct Ends {
    source: Address,
    destination: Address,
    id: u16,
    wire: u32,
    tunnels: u8,
}

#[cfg(test)]
mod tests;
