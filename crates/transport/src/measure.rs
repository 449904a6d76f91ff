//! Time series: what is looked at every interval.

use headway_fabric::{LinkId, NodeId};
use headway_units::{Span, Time};

/// A quantity that can be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleKind {
    /// Rate at which new data arrived since the last sample, in order or not, over all copies; bit/s. What a capture
    /// at the receiver shows; what the application gets is burstier where order has to be restored.
    Goodput,
    /// The window a subflow may use, bytes: zero on hold, one segment for a probe.
    Cwnd,
    /// Smoothed round-trip time of a subflow, seconds.
    Rtt,
    /// Link cost of a subflow's lane, without dimension.
    LinkCost,
    /// Bytes waiting at a port.
    Queue,
    /// Share of the time since the last sample that a core of a host with a model worked.
    Core,
}

/// What is sampled, and how often.
#[derive(Debug, Clone, Default)]
pub struct Measure {
    /// Time between samples; zero takes none.
    pub interval: Span,
    /// Quantities.
    pub kinds: Vec<SampleKind>,
    /// Kinds of traffic whose flows are sampled.
    pub traffics: Vec<u16>,
    /// Ports whose queues are sampled.
    pub links: Vec<LinkId>,
}

impl Measure {
    pub(crate) fn first(&self, now: Time) -> Option<Time> {
        (!self.interval.is_zero() && !self.kinds.is_empty()).then(|| now + self.interval)
    }

    pub(crate) fn samples(&self, traffic: u16) -> bool {
        !self.interval.is_zero() && self.traffics.contains(&traffic)
    }

    pub(crate) fn wants(&self, kind: SampleKind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// One value at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// End of the interval.
    pub time: Time,
    /// What was looked at.
    pub kind: SampleKind,
    /// Whose it is.
    pub of: SampleOf,
    /// In the unit of its kind.
    pub value: f64,
}

/// The owner of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleOf {
    /// A flow, by the caller's id and traffic.
    Flow(u64, u16),
    /// The n-th subflow of a flow.
    Subflow(u64, u16, u16),
    /// A port.
    Link(LinkId),
    /// The n-th core of a host.
    Core(NodeId, u32),
}
