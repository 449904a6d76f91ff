//! Attempts to open subflows: what is asked of the kernel, when again, and where to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use headway_control::lanes::Role;
use headway_linux::FourTuple;
use headway_units::{Span, Time};
use ipnet::IpNet;

use crate::settings::{Remote, Settings};

/// After so long a command is tried again that the kernel was not ready for; doubled each time.
pub(super) const RETRY: Span = Span::from_millis(2);
/// So often; after that only every [`GIVE_UP`].
pub(super) const TRIES: u8 = 7;
/// After this a command is tried again that was refused [`TRIES`] times.
pub(super) const GIVE_UP: Span = Span::from_secs(5);
/// EIO: the kernel was not heard, and said nothing of whose the connection is.
pub(super) const UNSAID: i32 = 5;
/// A join without an answer after so long counts as failed: two retransmissions of its SYN (RFC 6298: 1 s, 2 s).
pub(super) const ANSWER: Span = Span::from_secs(3);
/// The first pause after a failure; doubled each time, up to 64 of it.
pub(super) const PAUSE: Span = Span::from_secs(1);
/// How long a lane rests whose subflow was closed: at the end of a connection all are.
const CLOSED: Span = Span::from_millis(200);

/// An address that the other end announced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announced {
    pub id: u8,
    pub ip: IpAddr,
    pub port: Option<u16>,
}

/// What was asked of the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub when: Time,
    pub backup: bool,
    /// The subflow it takes the place of, when the lane is measured anew.
    pub replaces: Option<FourTuple>,
}

/// A connection's attempts to open a subflow on one lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Opening {
    pub asked: Option<Asked>,
    /// The next attempt is not before.
    pub at: Time,
    /// Its turn among all connections' openings has been given out: `at`.
    pub reserved: bool,
    /// Refusals in a row because the connection is not ready.
    pub tries: u8,
    /// Failures in a row.
    pub failures: u8,
    /// The kernel has announced the lane's address by this daemon's identifier of it.
    pub announced: bool,
}

impl Opening {
    /// A subflow on the lane is established.
    pub fn established(&mut self) -> Option<Asked> {
        let asked = self.asked.take();
        *self = Opening { at: self.at, ..Opening::default() };
        asked
    }

    /// The lane is up again: no reason to wait.
    pub fn renew(&mut self) {
        *self = Opening { asked: self.asked, ..Opening::default() };
    }

    /// A subflow on the lane is over.
    pub fn closed(&mut self, now: Time) {
        self.at = self.at.max(now.saturating_add(CLOSED));
    }
}

/// The identifier of a lane's address on connections. The kernel gives out its own from 1 on.
pub(super) fn id(lane: usize) -> u8 {
    101 + lane as u8
}

/// Where a subflow from `lane` goes to on a connection to `first`.
pub(super) fn remote(
    first: SocketAddr,
    lane: usize,
    announced: &[Announced],
    settings: &Settings,
) -> Option<SocketAddr> {
    match &settings.lanes[lane].remote {
        Remote::Same => Some(first),
        Remote::Mapped(nets) => {
            let net = nets.iter().find(|net| net.addr().is_ipv4() == first.is_ipv4())?;
            Some(SocketAddr::new(mapped(first.ip(), net), first.port()))
        }
        Remote::Announced => {
            let long = |lane: usize| settings.lanes[lane].role == Role::Long;
            let nth = (0..lane).filter(|&other| long(other) == long(lane)).count();
            let mut same = announced.iter().filter(|one| one.ip.is_ipv4() == first.is_ipv4());
            let one = same.nth(nth)?;
            Some(SocketAddr::new(one.ip, one.port.unwrap_or(first.port())))
        }
    }
}

/// `ip` with its first bits replaced by those of `net`, of the same family.
fn mapped(ip: IpAddr, net: &IpNet) -> IpAddr {
    match (ip, net) {
        (IpAddr::V4(ip), IpNet::V4(net)) => {
            let mask = u32::from(net.netmask());
            IpAddr::V4(Ipv4Addr::from((u32::from(net.network()) & mask) | (u32::from(ip) & !mask)))
        }
        (IpAddr::V6(ip), IpNet::V6(net)) => {
            let mask = u128::from(net.netmask());
            IpAddr::V6(Ipv6Addr::from((u128::from(net.network()) & mask) | (u128::from(ip) & !mask)))
        }
        _ => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_mapped_by_its_prefix() {
        let net: IpNet = "10.1.0.0/16".parse().unwrap();
        assert_eq!(mapped("10.0.3.7".parse().unwrap(), &net), "10.1.3.7".parse::<IpAddr>().unwrap());
        let net: IpNet = "fd00:0:0:1::/64".parse().unwrap();
        assert_eq!(mapped("fd00::4".parse().unwrap(), &net), "fd00:0:0:1::4".parse::<IpAddr>().unwrap());
        let all: IpNet = "10.9.9.9/32".parse().unwrap();
        assert_eq!(mapped("10.0.3.7".parse().unwrap(), &all), "10.9.9.9".parse::<IpAddr>().unwrap());
        let none: IpNet = "0.0.0.0/0".parse().unwrap();
        assert_eq!(mapped("10.0.3.7".parse().unwrap(), &none), "10.0.3.7".parse::<IpAddr>().unwrap());
    }
}
