//! Interfaces and their addresses.

use std::net::IpAddr;

use super::address;
use crate::netlink::codec::{Malformed, attributes, u8_at, u32_at};

/// `struct ifinfomsg`, `struct ifaddrmsg`, bytes.
const LINK_HEADER: usize = 16;
const ADDRESS_HEADER: usize = 8;

/// `IFF_UP`, `IFF_LOWER_UP`.
const UP: u32 = 1;
const LOWER_UP: u32 = 1 << 16;

// IFLA_…
const IFNAME: u16 = 3;
const MTU: u16 = 4;
const OPERSTATE: u16 = 16;
const CARRIER: u16 = 33;

// IFA_…
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const FLAGS: u16 = 8;

/// `IFA_F_DADFAILED`, `IFA_F_DEPRECATED`, `IFA_F_TENTATIVE`, `IFA_F_OPTIMISTIC`.
const DADFAILED: u32 = 0x08;
const DEPRECATED: u32 = 0x20;
const TENTATIVE: u32 = 0x40;
const OPTIMISTIC: u32 = 0x04;

/// RFC 2863's state of an interface (`IF_OPER_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperState {
    /// The driver does not say, as of loopback.
    Unknown,
    /// A part is missing.
    NotPresent,
    /// It is down.
    Down,
    /// What it is built on is down.
    LowerLayerDown,
    /// It is being tested.
    Testing,
    /// It waits for something, such as to be let in.
    Dormant,
    /// It carries packets.
    Up,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its index: stays the same when it is renamed.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// It was set up (`IFF_UP`).
    pub up: bool,
    /// There is something at the other end of its cable.
    pub carrier: bool,
    /// Whether it carries packets.
    pub state: OperState,
    /// The largest packet, bytes.
    pub mtu: u32,
}

impl Link {
    /// Whether packets can go out: it is up, has a carrier, and nothing says otherwise.
    pub fn usable(&self) -> bool {
        self.up && self.carrier && matches!(self.state, OperState::Up | OperState::Unknown)
    }

    /// Reads an `RTM_NEWLINK` or `RTM_DELLINK`. `None`: a message of another family, such as of a bridge's ports.
    ///
    /// # Errors
    /// If bytes are missing, or the index or the name.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let message = "a link";
        let short = Malformed::Short { what: "an ifinfomsg", need: LINK_HEADER, have: payload.len() };
        let (header, rest) = payload.split_at_checked(LINK_HEADER).ok_or(short)?;
        // AF_BRIDGE's RTM_DELLINK says that a link has left a bridge, not that it is gone.
        if header[0] != 0 {
            return Ok(None);
        }
        let index =
            u32_at(header, 4).filter(|i| *i != 0).ok_or(Malformed::Missing { message, attribute: "ifi_index" })?;
        let flags = u32_at(header, 8).unwrap_or(0);
        let (mut name, mut carrier, mut state, mut mtu) = (None, None, OperState::Unknown, 0);
        for attribute in attributes(rest) {
            let attribute = attribute?;
            match attribute.kind {
                IFNAME => {
                    let text = attribute.value.strip_suffix(&[0]).unwrap_or(attribute.value);
                    name = Some(String::from_utf8_lossy(text).into_owned());
                }
                MTU => mtu = attribute.u32()?,
                OPERSTATE => state = oper_state(attribute.u8()?),
                CARRIER => carrier = Some(attribute.u8()? != 0),
                _ => {}
            }
        }
        Ok(Some(Self {
            index,
            name: name.ok_or(Malformed::Missing { message, attribute: "IFLA_IFNAME" })?,
            up: flags & UP != 0,
            carrier: carrier.unwrap_or(flags & LOWER_UP != 0),
            state,
            mtu,
        }))
    }
}

fn oper_state(number: u8) -> OperState {
    match number {
        1 => OperState::NotPresent,
        2 => OperState::Down,
        3 => OperState::LowerLayerDown,
        4 => OperState::Testing,
        5 => OperState::Dormant,
        6 => OperState::Up,
        _ => OperState::Unknown,
    }
}

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The interface's index.
    pub interface: u32,
    /// The address of this host.
    pub ip: IpAddr,
    /// How many of its bits name the network.
    pub prefix: u8,
    /// It is not bound to this link or this host.
    pub global: bool,
    /// Connections can be made from it: duplicate address detection is not under way and has not failed.
    pub usable: bool,
    /// New connections should not be made from it.
    pub deprecated: bool,
}

impl Address {
    /// Reads an `RTM_NEWADDR` or `RTM_DELADDR`. `None`: neither IPv4 nor IPv6.
    ///
    /// # Errors
    /// If bytes are missing, or the address.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let message = "an address";
        let short = Malformed::Short { what: "an ifaddrmsg", need: ADDRESS_HEADER, have: payload.len() };
        let (header, rest) = payload.split_at_checked(ADDRESS_HEADER).ok_or(short)?;
        if header[0] != super::INET && header[0] != super::INET6 {
            return Ok(None);
        }
        let mut flags = u8_at(header, 2).map_or(0, u32::from);
        let (mut local, mut other) = (None, None);
        for attribute in attributes(rest) {
            let attribute = attribute?;
            match attribute.kind {
                // On a point-to-point link this is the other end's, and IFA_LOCAL this end's.
                ADDRESS => other = Some(address(&attribute)?),
                LOCAL => local = Some(address(&attribute)?),
                FLAGS => flags = attribute.u32()?,
                _ => {}
            }
        }
        let waiting = flags & TENTATIVE != 0 && flags & OPTIMISTIC == 0;
        Ok(Some(Self {
            interface: u32_at(header, 4).unwrap_or(0),
            ip: local.or(other).ok_or(Malformed::Missing { message, attribute: "IFA_LOCAL and IFA_ADDRESS" })?,
            prefix: header[1],
            global: header[3] == 0,
            usable: !waiting && flags & DADFAILED == 0,
            deprecated: flags & DEPRECATED != 0,
        }))
    }
}
