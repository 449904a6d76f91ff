//! Time series: what is looked at every interval.

use headway_fabric::{LinkId, NodeId};
use headway_units::{Span, Time};

/// A quantity that can be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleKind {
    /// Rate at which new data arrived since the last sample, in order or not; bit/s. Of copies the one that is furthest
    /// counts, of a two-way connection both directions. What a capture at the receiver shows; what the application gets
    /// is burstier where order has to be restored. Where a flow or the run ends within an interval, the bytes of that part
    /// are over the whole interval, as those of the part that a flow begins with are: the sum of a flow's values, times
    /// the interval, is what was delivered.
    Goodput,
    /// The window a subflow may use, bytes: zero on hold, one segment for a probe.
    Cwnd,
    /// Smoothed round-trip time of a subflow, seconds.
    Rtt,
    /// Slow-start threshold of a subflow, bytes; nothing while there is none.
    Ssthresh,
    /// A control's average of the share of marked data (α of RFC 8257 §3.3), of those that have one.
    Alpha,
    /// Link cost of a subflow's lane, without dimension.
    LinkCost,
    /// Bytes waiting at a port.
    Queue,
    /// Rate at which frames are offered to a port, whether its queue takes them or not, since the last sample: bit/s on
    /// the wire, preamble and inter-frame gap included.
    Arrivals,
    /// Frames that a port has marked (CE) since the last sample.
    Marks,
    /// Share of the time since the last sample that a core of a host with a model worked.
    Core,
    /// The limit on a port, bit/s; the line's rate where there is none now.
    Limit,
}

impl SampleKind {
    /// Whether it is a quantity of flows, and not of ports or cores.
    pub fn is_of_flows(self) -> bool {
        match self {
            SampleKind::Goodput
            | SampleKind::Cwnd
            | SampleKind::Rtt
            | SampleKind::Ssthresh
            | SampleKind::Alpha
            | SampleKind::LinkCost => true,
            SampleKind::Queue | SampleKind::Arrivals | SampleKind::Marks | SampleKind::Core | SampleKind::Limit => {
                false
            }
        }
    }

    /// Whether it is a quantity of the ports in [`Measure::links`].
    pub fn is_of_links(self) -> bool {
        matches!(self, SampleKind::Queue | SampleKind::Arrivals | SampleKind::Marks)
    }
}

/// What is sampled, and how often.
#[derive(Debug, Clone, Default)]
pub struct Measure {
    /// Time between samples; zero takes none.
    pub interval: Span,
    /// Quantities.
    pub kinds: Vec<SampleKind>,
    /// Times between samples of single quantities, in place of `interval`.
    pub intervals: Vec<(SampleKind, Span)>,
    /// Kinds of traffic whose flows are sampled.
    pub traffics: Vec<u16>,
    /// Ports whose queues, arrivals and marks are sampled.
    pub links: Vec<LinkId>,
}

impl Measure {
    /// The time between samples of `kind`.
    pub fn interval_of(&self, kind: SampleKind) -> Span {
        let own = self.intervals.iter().find(|(of, _)| *of == kind);
        own.map_or(self.interval, |&(_, interval)| interval)
    }

    pub(crate) fn samples(&self, traffic: u16) -> bool {
        let taken = self.kinds.iter().any(|&kind| kind.is_of_flows() && !self.interval_of(kind).is_zero());
        taken && self.traffics.contains(&traffic)
    }

    /// The quantities by the time between their samples: those of `interval` first, then in order of `kinds`.
    pub(crate) fn rounds(&self) -> Vec<Round> {
        let mut rounds: Vec<Round> = Vec::new();
        for &kind in &self.kinds {
            let interval = self.interval_of(kind);
            match rounds.iter_mut().find(|round| round.interval == interval) {
                Some(round) => round.kinds.push(kind),
                None => rounds.push(Round { interval, kinds: vec![kind] }),
            }
        }
        rounds.retain(|round| !round.interval.is_zero());
        rounds.sort_by_key(|round| round.interval != self.interval);
        rounds
    }
}

/// Quantities that are sampled at the same times.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// Time between samples.
    pub interval: Span,
    kinds: Vec<SampleKind>,
}

impl Round {
    /// The round with one of its quantities.
    pub fn only(&self, kind: SampleKind) -> Round {
        Round { interval: self.interval, kinds: vec![kind] }
    }

    pub fn wants(&self, kind: SampleKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether any of its quantities is of flows.
    pub fn looks_at_flows(&self) -> bool {
        self.kinds.iter().any(|kind| kind.is_of_flows())
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
