//! Routes.

use std::net::IpAddr;

use super::{INET, INET6, Prefix, address, family};
use crate::netlink::codec::{Malformed, Writer, attributes, u16_at, u32_at};

/// `struct rtmsg`, bytes.
const HEADER: usize = 12;

// RTA_…
const DST: u16 = 1;
const SRC: u16 = 2;
const OIF: u16 = 4;
const GATEWAY: u16 = 5;
const PRIORITY: u16 = 6;
const PREFSRC: u16 = 7;
const MULTIPATH: u16 = 9;
const TABLE: u16 = 15;
const VIA: u16 = 18;

/// `RTNH_F_ONLINK`, `RTM_F_CLONED`, `RTM_F_LOOKUP_TABLE`.
const ONLINK: u32 = 4;
const CLONED: u32 = 0x200;
const LOOKUP_TABLE: u32 = 0x1000;

/// `RT_SCOPE_UNIVERSE`, `RT_SCOPE_LINK`.
const UNIVERSE: u8 = 0;
const LINK: u8 = 253;

/// The metric that IPv6 routes get that are given none (`IP6_RT_PRIO_USER`).
const IPV6_METRIC: u32 = 1024;

/// What a route does (`RTN_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouteKind {
    /// Packets are sent on.
    #[default]
    Unicast,
    /// Packets are for this host.
    Local,
    /// The sender is told that there is no way.
    Unreachable,
    /// Packets are dropped.
    Blackhole,
    /// The sender is told that it may not.
    Prohibit,
    /// Another one, by its number.
    Other(u8),
}

impl RouteKind {
    fn number(self) -> u8 {
        match self {
            Self::Unicast => 1,
            Self::Local => 2,
            Self::Blackhole => 6,
            Self::Unreachable => 7,
            Self::Prohibit => 8,
            Self::Other(number) => number,
        }
    }

    fn of(number: u8) -> Self {
        match number {
            1 => Self::Unicast,
            2 => Self::Local,
            6 => Self::Blackhole,
            7 => Self::Unreachable,
            8 => Self::Prohibit,
            number => Self::Other(number),
        }
    }
}

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Its table: 254 is `main`.
    pub table: u32,
    /// Where to.
    pub destination: Prefix,
    /// By way of; `None`: the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// Index of the interface; 0: the kernel finds the gateway's, or the route has several.
    pub interface: u32,
    /// The address that packets get which have none yet.
    pub source: Option<IpAddr>,
    /// The gateway is on the link whatever the interface's addresses say.
    pub onlink: bool,
    /// The lowest wins. 0 becomes 1024 in IPv6.
    pub metric: u32,
    /// Who made it (`RTPROT_…`), so that it can be told from others.
    pub protocol: u8,
    /// What it does.
    pub kind: RouteKind,
    /// It has several next hops, which are not told here.
    pub multipath: bool,
}

/// Where the kernel would send a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// Index of the interface it would leave by.
    pub interface: u32,
    /// By way of; `None`: the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// The address it would come from.
    pub source: Option<IpAddr>,
    /// The table whose route decided.
    pub table: u32,
}

/// `struct rtmsg`. A table beyond a byte is in an attribute.
fn header(w: &mut Writer, lengths: (u8, u8), family: u8, table: u32, rest: [u8; 3], flags: u32) {
    let [protocol, scope, kind] = rest;
    w.raw(&[family, lengths.0, lengths.1, 0, u8::try_from(table).unwrap_or(0), protocol, scope, kind]);
    w.raw(&flags.to_ne_bytes());
}

/// Asks for the routes of a table.
pub(super) fn write_list(w: &mut Writer, family: u8, table: u32) {
    header(w, (0, 0), family, table, [0; 3], 0);
    if table > 255 {
        w.attribute(TABLE, &table.to_ne_bytes());
    }
}

/// Asks where a packet would go.
pub(super) fn write_lookup(w: &mut Writer, to: IpAddr, from: Option<IpAddr>, interface: u32) {
    let source = from.map_or(0, |from| Prefix::host(from).length);
    // IPv4 tells the table on request, IPv6 always (and refuses the request).
    let flags = if to.is_ipv4() { LOOKUP_TABLE } else { 0 };
    header(w, (Prefix::host(to).length, source), family(to), 0, [0; 3], flags);
    w.ip(DST, to);
    if let Some(from) = from {
        w.ip(SRC, from);
    }
    if interface != 0 {
        w.attribute(OIF, &interface.to_ne_bytes());
    }
}

impl Route {
    /// A route to a destination that has nothing else yet.
    pub fn to(destination: Prefix) -> Self {
        Self {
            table: 254,
            destination,
            gateway: None,
            interface: 0,
            source: None,
            onlink: false,
            metric: 0,
            protocol: 4, // RTPROT_STATIC
            kind: RouteKind::Unicast,
            multipath: false,
        }
    }

    /// Writes what follows the header of an `RTM_NEWROUTE` or `RTM_DELROUTE`.
    pub fn write(&self, w: &mut Writer) {
        let destination = self.destination;
        let scope = if destination.ip.is_ipv4() && self.gateway.is_none() && self.kind == RouteKind::Unicast {
            LINK
        } else {
            UNIVERSE
        };
        let flags = if self.onlink { ONLINK } else { 0 };
        let rest = [self.protocol, scope, self.kind.number()];
        header(w, (destination.length, 0), family(destination.ip), self.table, rest, flags);
        if destination.length != 0 {
            w.ip(DST, destination.ip);
        }
        match self.gateway {
            None => {}
            Some(gateway) if gateway.is_ipv4() == destination.ip.is_ipv4() => w.ip(GATEWAY, gateway),
            Some(gateway) => {
                let mut via = u16::from(family(gateway)).to_ne_bytes().to_vec();
                match gateway {
                    IpAddr::V4(ip) => via.extend(ip.octets()),
                    IpAddr::V6(ip) => via.extend(ip.octets()),
                }
                w.attribute(VIA, &via);
            }
        }
        if let Some(source) = self.source {
            w.ip(PREFSRC, source);
        }
        if self.metric != 0 {
            w.attribute(PRIORITY, &self.metric.to_ne_bytes());
        }
        if self.table > 255 {
            w.attribute(TABLE, &self.table.to_ne_bytes());
        }
        if self.interface != 0 {
            w.attribute(OIF, &self.interface.to_ne_bytes());
        }
    }

    /// As the kernel lists it once it is added.
    pub(super) fn as_listed(&self) -> Self {
        let metric = if self.metric == 0 && self.destination.ip.is_ipv6() { IPV6_METRIC } else { self.metric };
        Self { metric, ..*self }
    }

    /// Reads an `RTM_NEWROUTE`. `None`: neither IPv4 nor IPv6.
    ///
    /// # Errors
    /// If bytes are missing.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let short = Malformed::Short { what: "an rtmsg", need: HEADER, have: payload.len() };
        let (header, rest) = payload.split_at_checked(HEADER).ok_or(short)?;
        let mut destination = match header[0] {
            INET => Prefix::ALL_IPV4,
            INET6 => Prefix::ALL_IPV6,
            _ => return Ok(None),
        };
        destination.length = header[1];
        let flags = u32_at(header, 8).unwrap_or(0);
        let mut route = Self {
            table: header[4].into(),
            onlink: flags & ONLINK != 0 && flags & CLONED == 0,
            protocol: header[5],
            kind: RouteKind::of(header[7]),
            ..Self::to(destination)
        };
        for attribute in attributes(rest) {
            let attribute = attribute?;
            match attribute.kind {
                DST => route.destination.ip = address(&attribute)?,
                OIF => route.interface = attribute.u32()?,
                GATEWAY => route.gateway = Some(address(&attribute)?),
                PREFSRC => route.source = Some(address(&attribute)?),
                PRIORITY => route.metric = attribute.u32()?,
                TABLE => route.table = attribute.u32()?,
                MULTIPATH => route.multipath = true,
                VIA => {
                    let short = Malformed::Value { kind: VIA, need: 6, have: attribute.value.len() };
                    let value = attribute.value.get(2..).ok_or(short)?;
                    let kind = u16_at(attribute.value, 0).unwrap_or(0);
                    if kind == u16::from(INET) || kind == u16::from(INET6) {
                        route.gateway = Some(address(&crate::netlink::codec::Attribute { kind: VIA, value })?);
                    }
                }
                _ => {}
            }
        }
        Ok(Some(route))
    }
}
