//! From a captured packet to a TCP segment: Ethernet with VLANs and MPLS, IPv4 and IPv6 with their extensions.
//!
//! Only headers are looked at. Lengths are those that the headers state, not what was captured, so a capture of the
//! first 64 bytes of every packet counts the same bytes as a whole one. Tunnels (GRE, VXLAN, …) are not looked into.

mod mptcp;
mod tcp;

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
    /// Of a link type that is not read.
    UnknownLink(u16),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Looks into a packet.
#[inline]
pub fn parse<'a>(packet: &Packet<'a>) -> Content<'a> {
    let data = packet.data;
    match packet.link {
        Link::Ethernet => by_type(data, 12, packet.length),
        Link::Cooked => by_type(data, 14, packet.length),
        Link::Cooked2 => match be16(data, 0) {
            Some(kind) => beyond(data, kind, 20, packet.length),
            None => Content::Cut,
        },
        Link::Raw => ip(data, 0, packet.length),
        Link::Null => {
            let Some(family) = data.first_chunk::<4>() else { return Content::Cut };
            // AF_INET is 2 everywhere; AF_INET6 is not.
            match u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)) {
                2 | 10 | 23 | 24 | 28 | 30 => ip(data, 4, packet.length),
                _ => Content::NotIp,
            }
        }
        Link::Unknown(number) => Content::UnknownLink(number),
    }
}

/// With an EtherType at `at`.
#[inline]
fn by_type(data: &[u8], at: usize, length: u32) -> Content<'_> {
    match be16(data, at) {
        Some(kind) => beyond(data, kind, at + 2, length),
        None => Content::Cut,
    }
}

/// What an EtherType announces, at `at`: through VLAN tags and MPLS labels to IP.
#[inline]
fn beyond(data: &[u8], mut kind: u16, mut at: usize, length: u32) -> Content<'_> {
    loop {
        match kind {
            IPV4 | IPV6 => return ip(data, at, length),
            // 802.1Q, 802.1ad, and what was before it
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => match be16(data, at + 2) {
                Some(next) => (kind, at) = (next, at + 4),
                None => return Content::Cut,
            },
            // MPLS: labels up to the bottom of the stack, then most likely IP, which says its version.
            0x8847 | 0x8848 => loop {
                let Some(&label) = data.get(at + 2) else { return Content::Cut };
                at += 4;
                if label & 1 == 1 {
                    return ip(data, at, length);
                }
            },
            _ => return Content::NotIp,
        }
    }
}

#[inline]
fn ip(data: &[u8], at: usize, length: u32) -> Content<'_> {
    match data.get(at).map(|first| first >> 4) {
        Some(4) => ipv4(&data[at..], at, length),
        Some(6) => ipv6(&data[at..], at, length),
        Some(_) => Content::NotIp,
        None => Content::Cut,
    }
}

#[inline]
fn ipv4(data: &[u8], before: usize, length: u32) -> Content<'_> {
    let Some(head) = data.first_chunk::<20>() else { return Content::Cut };
    let header = usize::from(head[0] & 0xf) * 4;
    let stated = u32::from(u16::from_be_bytes([head[2], head[3]]));
    // 0 is what a sending host's own capture has of packets over 64 KB that its card will cut.
    let total = if stated == 0 { length.saturating_sub(before as u32) } else { stated };
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
    };
    match head[9] {
        6 => tcp::parse(data.get(header..).unwrap_or(&[]), payload, ends),
        17 => Content::Udp,
        other => Content::OtherIp(other),
    }
}

fn ipv6(data: &[u8], before: usize, length: u32) -> Content<'_> {
    let Some(head) = data.first_chunk::<40>() else { return Content::Cut };
    let stated = u32::from(u16::from_be_bytes([head[4], head[5]]));
    // 0 as above, and of jumbograms (RFC 2675).
    let mut payload = if stated == 0 { length.saturating_sub(before as u32 + 40) } else { stated };
    let mut source = [0; 16];
    let mut destination = [0; 16];
    source.copy_from_slice(&head[8..24]);
    destination.copy_from_slice(&head[24..40]);
    let ends = Ends { source: Address(source), destination: Address(destination), id: 0, wire: length };
    let mut next = head[6];
    let mut at = 40;
    loop {
        // RFC 8200 §4; each header is at least 8 bytes, so this ends with what was captured.
        let size = match next {
            6 => return tcp::parse(data.get(at..).unwrap_or(&[]), payload, ends),
            17 => return Content::Udp,
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
            other => return Content::OtherIp(other),
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
}

#[cfg(test)]
mod tests;
