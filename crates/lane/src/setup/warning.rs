//! What may not be as meant on this host.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

use crate::IDENTITY;

/// Something that setting up does not mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The kernel has no MPTCP.
    NoMptcp,
    /// The kernel's MPTCP is older than its userspace path manager.
    NoUserspaceManager,
    /// The record cannot be read, for this reason.
    RecordUnreadable(String),
    /// About a lane.
    Lane {
        /// Its name.
        lane: String,
        /// What.
        problem: LaneProblem,
    },
}

/// What is wrong with a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneProblem {
    /// There is no interface of its name.
    NoInterface(String),
    /// No interface has one of its addresses.
    NoAddressHere,
    /// Its interface is down.
    Down(String),
    /// Its interface lacks an address that the lane names.
    AddressMissing {
        /// The interface.
        interface: String,
        /// The address.
        ip: IpAddr,
    },
    /// Its interface has no global address.
    NoGlobalAddress(String),
    /// No gateway is known, so only the interface's own networks can be reached.
    NoGateway {
        /// The interface.
        interface: String,
        /// Of this address family: 4 or 6.
        family: u8,
    },
    /// Packets are dropped whose answers would leave by another interface.
    StrictFilter {
        /// The interface.
        interface: String,
        /// The sysctl that says so.
        sysctl: String,
    },
}

impl LaneProblem {
    /// Whether the lane, or a part of it, does not work. The others may be meant so.
    pub fn is_broken(&self) -> bool {
        match self {
            LaneProblem::NoInterface(_)
            | LaneProblem::NoAddressHere
            | LaneProblem::Down(_)
            | LaneProblem::AddressMissing { .. }
            | LaneProblem::NoGlobalAddress(_) => true,
            LaneProblem::NoGateway { .. } | LaneProblem::StrictFilter { .. } => false,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doctor = format_args!("see `{} doctor`", IDENTITY.name);
        match self {
            Warning::NoMptcp => write!(f, "this kernel has no MPTCP; {doctor}"),
            Warning::NoUserspaceManager => {
                write!(f, "this kernel has no userspace path manager, which came with Linux 5.19; {doctor}")
            }
            Warning::RecordUnreadable(why) => write!(f, "what was set up before is not known: {why}"),
            Warning::Lane { lane, problem } => write!(f, "lane `{lane}`: {problem}"),
        }
    }
}

impl fmt::Display for LaneProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaneProblem::NoInterface(interface) => write!(f, "there is no interface {interface}"),
            LaneProblem::NoAddressHere => f.write_str("this host has none of its addresses"),
            LaneProblem::Down(interface) => write!(f, "{interface} is down"),
            LaneProblem::AddressMissing { interface, ip } => write!(f, "{interface} has no address {ip}"),
            LaneProblem::NoGlobalAddress(interface) => write!(f, "{interface} has no global address"),
            LaneProblem::NoGateway { interface, family } => {
                write!(
                    f,
                    "no IPv{family} gateway is known by {interface}, so only its own networks can be reached over it"
                )
            }
            LaneProblem::StrictFilter { interface, sysctl } => write!(
                f,
                "{interface} drops packets whose answers would leave by another interface (rp_filter is 1); \
                 2 is looser: sysctl -w {sysctl}=2"
            ),
        }
    }
}

/// As its text.
impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
