//! Whose a frame is: the end of a route names the tenant of the loop that gets its frames, and who it is there.

use headway_fabric::{Endpoint, LinkId};

/// Who has endpoints: one of the loop's tenants. Adding one is a line here, one in [`Tenant::of`], and what the
/// exhaustive matches of the loop then ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// Half of a subflow of TCP or MPTCP: see [`side`].
    Tcp,
    /// The same, of a connection that carries data both ways.
    TwoWayTcp,
    /// An interface of a host outside the loop.
    External,
    /// A sender at a fixed rate, by its number.
    Datagram,
    /// An end of a queue pair of RoCE, by its number.
    Roce,
    /// An interface of a card that sends gap frames, by its number: whoever gets one drops it.
    Gap,
    /// The MAC control of the port at the far end of a link, by the link: pause frames.
    MacControl,
    /// The card at the near end of a link, by the link: feedback frames of QCN.
    Qcn,
}

/// Bits of an endpoint that its tenant numbers.
const NUMBER_BITS: u32 = 28;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;

impl Tenant {
    /// Almost all frames are TCP's, so its endpoints are their numbers.
    #[inline]
    pub fn is_tcp(end: Endpoint) -> bool {
        end.0 <= NUMBER
    }

    /// Whose `end` is.
    pub fn of(end: Endpoint) -> Tenant {
        match end.0 >> NUMBER_BITS {
            0 => Tenant::Tcp,
            1 => Tenant::TwoWayTcp,
            2 => Tenant::External,
            3 => Tenant::Datagram,
            4 => Tenant::Gap,
            5 => Tenant::Roce,
            6 => Tenant::MacControl,
            7 => Tenant::Qcn,
            _ => unreachable!("endpoints are made by Tenant::endpoint"),
        }
    }

    /// The endpoint that this tenant calls `number`.
    ///
    /// # Panics
    /// If the number is too large.
    pub fn endpoint(self, number: u32) -> Endpoint {
        assert!(number <= NUMBER, "too many endpoints");
        let tenant = match self {
            Tenant::Tcp => 0,
            Tenant::TwoWayTcp => 1,
            Tenant::External => 2,
            Tenant::Datagram => 3,
            Tenant::Gap => 4,
            Tenant::Roce => 5,
            Tenant::MacControl => 6,
            Tenant::Qcn => 7,
        };
        Endpoint(tenant << NUMBER_BITS | number)
    }
}

/// What its tenant calls an endpoint.
#[inline]
pub(crate) fn number(end: Endpoint) -> u32 {
    end.0 & NUMBER
}

/// The interface of an external host that `end` is.
#[inline]
pub(crate) fn interface(end: Endpoint) -> LinkId {
    LinkId(number(end))
}

/// Which half of a subflow an endpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// The endpoint of one half of subflow `subflow`.
#[inline]
pub(crate) fn endpoint(subflow: u32, side: Side) -> Endpoint {
    debug_assert!(subflow <= NUMBER / 2, "too many subflows");
    Endpoint(subflow * 2 + u32::from(side == Side::Receiver))
}

/// Subflow and half of an endpoint of TCP.
#[inline]
pub(crate) fn side(end: Endpoint) -> (u32, Side) {
    (end.0 / 2, if end.0.is_multiple_of(2) { Side::Sender } else { Side::Receiver })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_name_their_tenant_and_number() {
        for tenant in [
            Tenant::Tcp,
            Tenant::TwoWayTcp,
            Tenant::External,
            Tenant::Datagram,
            Tenant::Gap,
            Tenant::Roce,
            Tenant::MacControl,
            Tenant::Qcn,
        ] {
            for n in [0, 1, 77, NUMBER] {
                let end = tenant.endpoint(n);
                assert_eq!((Tenant::of(end), number(end)), (tenant, n));
                assert_eq!(Tenant::is_tcp(end), tenant == Tenant::Tcp);
            }
        }
        assert_eq!(side(endpoint(5, Side::Receiver)), (5, Side::Receiver));
        assert_eq!(side(endpoint(5, Side::Sender)), (5, Side::Sender));
    }
}
