//! Flows: what a scenario's traffic sends.

use crate::packet::Address;

/// Data that was sent in one direction of a connection; with MPTCP, of all its subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Who sent it.
    pub source: Address,
    /// Who received it.
    pub destination: Address,
    /// Data, each byte once.
    pub bytes: u64,
    /// When the first data came, in nanoseconds since 1970.
    pub first: u64,
    /// When the last did.
    pub last: u64,
    /// Senders that started to send to `destination` at about the same time, itself included; 0: its start is not known.
    pub degree: u16,
    /// Whether its connection was open before it was first seen, or after the capture: it may be larger than `bytes`.
    pub cut: bool,
}

impl Flow {
    /// This with what another subflow sent.
    pub(crate) fn and(self, other: Flow) -> Flow {
        Flow {
            bytes: self.bytes + other.bytes,
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            degree: self.degree.max(other.degree),
            cut: self.cut | other.cut,
            ..self
        }
    }
}

/// What kind of flow it is. Every flow is of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Not long, and started within the window with flows of several senders to the same destination: an incast.
    Burst,
    /// Of at most the size that `short` says, and no burst.
    Short,
    /// Between the two.
    Medium,
    /// Larger than the size that `long` says.
    Long,
}

impl Class {
    /// All, in the order of tables.
    pub const ALL: [Class; 4] = [Class::Burst, Class::Short, Class::Medium, Class::Long];

    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Burst => "burst",
            Class::Short => "short",
            Class::Medium => "medium",
            Class::Long => "long",
        }
    }
}

/// Where a flow goes, seen from the chosen host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// To the host.
    To,
    /// From the host.
    From,
    /// Between others; all flows, if no host was chosen.
    Other,
}

impl Heading {
    /// All, in the order of tables.
    pub const ALL: [Heading; 3] = [Heading::To, Heading::From, Heading::Other];
}
