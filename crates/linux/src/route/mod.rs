//! Links, addresses, routes and rules (rtnetlink): lists, changes, lookups, and what the kernel tells of changes.
//!
//! Only the attributes that are asked for are read, in place: what newer kernels add elsewhere in these large messages
//! does not matter here.
//!
//! Sources: `include/uapi/linux/{rtnetlink,if_link,if_addr,fib_rules}.h`, `net/ipv4/fib_frontend.c`,
//! `net/core/fib_rules.c` of Linux.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use rustix::io::Errno;

use crate::netlink::codec::{Attribute, Malformed, Message, Writer};
use crate::netlink::{Error, Socket};

mod interfaces;
mod monitor;
mod routes;
mod rules;

pub use interfaces::{Address, Link, OperState};
pub use monitor::{Change, Monitor};
pub use routes::{Lookup, Route, RouteKind};
pub use rules::Rule;

// RTM_…
const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const DEL_ADDRESS: u16 = 21;
const GET_ADDRESS: u16 = 22;
const NEW_ROUTE: u16 = 24;
const DEL_ROUTE: u16 = 25;
const GET_ROUTE: u16 = 26;
const NEW_RULE: u16 = 32;
const DEL_RULE: u16 = 33;
const GET_RULE: u16 = 34;

/// `NLM_F_EXCL`, `NLM_F_CREATE`.
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

/// `AF_INET`, `AF_INET6`.
const INET: u8 = 2;
const INET6: u8 = 10;

/// The address family of an address.
fn family(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { INET } else { INET6 }
}

/// An address in an attribute, which is of its message's family.
fn address(attribute: &Attribute<'_>) -> Result<IpAddr, Malformed> {
    if attribute.value.len() == 4 {
        return attribute.ipv4();
    }
    let bytes: [u8; 16] = attribute.value.try_into().map_err(|_| Malformed::Value {
        kind: attribute.kind,
        need: 16,
        have: attribute.value.len(),
    })?;
    // Routes of mapped addresses are IPv6's.
    Ok(Ipv6Addr::from(bytes).into())
}

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The address. Bits behind the prefix are refused by the kernel.
    pub ip: IpAddr,
    /// How many of its bits count: up to 32 or 128.
    pub length: u8,
}

impl Prefix {
    /// All IPv4 addresses: the destination of a default route.
    pub const ALL_IPV4: Self = Self { ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED), length: 0 };
    /// All IPv6 addresses.
    pub const ALL_IPV6: Self = Self { ip: IpAddr::V6(Ipv6Addr::UNSPECIFIED), length: 0 };

    /// One address.
    pub fn host(ip: IpAddr) -> Self {
        Self { ip, length: if ip.is_ipv4() { 32 } else { 128 } }
    }

    /// With bits behind the prefix zero.
    pub fn network(self) -> Self {
        let ip = match self.ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.length.min(32))).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.length.min(128))).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
            }
        };
        Self { ip, ..self }
    }

    /// Whether it has an address.
    pub fn contains(self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.ip.is_ipv4() && Self { ip, ..self }.network() == self.network()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.length)
    }
}

/// Text that is no prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address with a prefix length, such as 10.0.2.0/24 or fd00:2::/64")]
pub struct NotAPrefix(String);

impl FromStr for Prefix {
    type Err = NotAPrefix;

    /// `ADDRESS/LENGTH`, or an address alone.
    fn from_str(text: &str) -> Result<Self, NotAPrefix> {
        let wrong = || NotAPrefix(text.to_owned());
        let (ip, length) = text.split_once('/').map_or((text, None), |(ip, length)| (ip, Some(length)));
        let host = Self::host(ip.parse().map_err(|_| wrong())?);
        let Some(length) = length else { return Ok(host) };
        // `parse` would take a sign.
        let digits = length.bytes().all(|b| b.is_ascii_digit());
        let length = length.parse().ok().filter(|l| digits && *l <= host.length).ok_or_else(wrong)?;
        Ok(Self { length, ..host })
    }
}

/// What became of adding something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was added.
    Added,
    /// The very same was there already.
    AlreadyThere,
}

/// What became of removing something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It was removed.
    Removed,
    /// It was not there.
    NotThere,
}

/// The way to ask for and to change links, addresses, routes and rules of the network namespace that it was opened in.
#[derive(Debug)]
pub struct Rtnetlink {
    socket: Socket,
}

impl Rtnetlink {
    /// In the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Call`] if the kernel gives no socket.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(netlink_sys::protocols::NETLINK_ROUTE)?;
        socket.strict();
        Ok(Self { socket })
    }

    /// The interfaces.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn links(&mut self) -> Result<Vec<Link>, Error> {
        // struct ifinfomsg
        self.list(GET_LINK, NEW_LINK, &[0; 16], Link::parse)
    }

    /// The addresses of all interfaces, IPv4 and IPv6.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn addresses(&mut self) -> Result<Vec<Address>, Error> {
        // struct ifaddrmsg
        self.list(GET_ADDRESS, NEW_ADDRESS, &[0; 8], Address::parse)
    }

    /// The routes of a table, IPv4 and IPv6; none if there is no such table.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn routes(&mut self, table: u32) -> Result<Vec<Route>, Error> {
        let mut list = Vec::new();
        for family in [INET, INET6] {
            let body = |w: &mut Writer| routes::write_list(w, family, table);
            let result = self.socket.dump(GET_ROUTE, body, &mut list, |message| {
                Ok(if message.kind == NEW_ROUTE { Route::parse(message.payload)? } else { None })
            });
            match result {
                Err(error) if error.errno() == Some(Errno::NOENT) => {}
                result => result?,
            }
        }
        list.retain(|route| route.table == table);
        Ok(list)
    }

    /// Adds a route.
    ///
    /// # Errors
    /// [`Error::Kernel`]: EEXIST if another route has its destination, metric and table; ENETUNREACH if the gateway
    /// cannot be reached by the interface; ENODEV, ENETDOWN.
    pub fn add_route(&mut self, route: &Route) -> Result<Added, Error> {
        let result = self.socket.request(NEW_ROUTE, CREATE | EXCLUSIVE, |w| route.write(w), |_| Ok(()));
        let error = match result {
            Ok(()) => return Ok(Added::Added),
            Err(error) => error,
        };
        if error.errno() == Some(Errno::EXIST) && self.routes(route.table)?.contains(&route.as_listed()) {
            return Ok(Added::AlreadyThere);
        }
        Err(error)
    }

    /// Removes a route: the one that is the same in everything that is given.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn remove_route(&mut self, route: &Route) -> Result<Removed, Error> {
        let result = self.socket.request(DEL_ROUTE, 0, |w| route.write(w), |_| Ok(()));
        removed(result, &[Errno::SRCH, Errno::NODEV])
    }

    /// The rules, IPv4's and IPv6's, each in the order that they are asked.
    ///
    /// # Errors
    /// As the kernel says; EOPNOTSUPP if it was built without rules.
    pub fn rules(&mut self) -> Result<Vec<Rule>, Error> {
        let mut list = Vec::new();
        for family in [INET, INET6] {
            let mut header = [0; 12];
            header[0] = family;
            list.append(&mut self.list(GET_RULE, NEW_RULE, &header, Rule::parse)?);
        }
        Ok(list)
    }

    /// Adds a rule.
    ///
    /// # Errors
    /// [`Error::Kernel`]: EEXIST if the kernel takes another for the same; EOPNOTSUPP if it was built without rules.
    pub fn add_rule(&mut self, rule: &Rule) -> Result<Added, Error> {
        let result = self.socket.request(NEW_RULE, CREATE | EXCLUSIVE, |w| rule.write(w), |_| Ok(()));
        let error = match result {
            Ok(()) => return Ok(Added::Added),
            Err(error) => error,
        };
        if error.errno() == Some(Errno::EXIST) && self.rules()?.contains(rule) {
            return Ok(Added::AlreadyThere);
        }
        Err(error)
    }

    /// Removes a rule: the first one that is the same in everything that is given.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn remove_rule(&mut self, rule: &Rule) -> Result<Removed, Error> {
        let result = self.socket.request(DEL_RULE, 0, |w| rule.write(w), |_| Ok(()));
        removed(result, &[Errno::NOENT])
    }

    /// Where the kernel would send a packet to an address, from an address and out of an interface if they are given.
    /// `None`: there is no way, or `from` is no address of this host.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn lookup(&mut self, to: IpAddr, from: Option<IpAddr>, interface: u32) -> Result<Option<Lookup>, Error> {
        let mut found = None;
        let body = |w: &mut Writer| routes::write_lookup(w, to, from, interface);
        let result = self.socket.request(GET_ROUTE, 0, body, |message| {
            found = Route::parse(message.payload)?;
            Ok(())
        });
        match result {
            Err(error) if matches!(error.errno(), Some(Errno::NETUNREACH | Errno::HOSTUNREACH)) => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(found.map(|route| Lookup {
                interface: route.interface,
                gateway: route.gateway,
                source: route.source.or(from),
                table: route.table,
            })),
        }
    }

    fn list<T>(
        &mut self,
        ask: u16,
        answer: u16,
        header: &[u8],
        parse: impl Fn(&[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, Error> {
        let mut list = Vec::new();
        let read = |message: &Message<'_>| Ok(if message.kind == answer { parse(message.payload)? } else { None });
        self.socket.dump(ask, |w: &mut Writer| w.raw(header), &mut list, read)?;
        Ok(list)
    }
}

fn removed(result: Result<(), Error>, not_there: &[Errno]) -> Result<Removed, Error> {
    match result {
        Err(error) if error.errno().is_some_and(|e| not_there.contains(&e)) => Ok(Removed::NotThere),
        result => result.map(|()| Removed::Removed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_and_written() {
        for text in ["10.0.2.0/24", "0.0.0.0/0", "fd00:2::/64", "::/0"] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
        assert_eq!("10.0.2.1".parse::<Prefix>().unwrap().to_string(), "10.0.2.1/32");
        for text in ["", "10.0.2.0/33", "fd00::/129", "10.0.2/24", "10.0.2.0/+8", "10.0.2.0/", "10.0.2.0/-1", "/8"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes_contain_addresses() {
        let prefix = |text: &str| text.parse::<Prefix>().unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(prefix("10.0.2.77/24").network(), prefix("10.0.2.0/24"));
        assert_eq!(prefix("fd00:2::77/64").network(), prefix("fd00:2::/64"));
        assert!(prefix("10.0.2.0/24").contains(ip("10.0.2.255")));
        assert!(!prefix("10.0.2.0/24").contains(ip("10.0.3.0")));
        assert!(Prefix::ALL_IPV4.contains(ip("1.2.3.4")) && !Prefix::ALL_IPV4.contains(ip("::1")));
        assert!(Prefix::ALL_IPV6.contains(ip("fd00::1")) && !Prefix::ALL_IPV6.contains(ip("1.2.3.4")));
        assert!(Prefix::host(ip("10.0.2.1")).contains(ip("10.0.2.1")));
    }
}
