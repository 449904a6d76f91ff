//! Time series: what is looked at every interval.

use headway_fabric::{LinkId, NodeId};
use headway_units::{Span, Time};

use super::Simulation;
use crate::sender::Phase;

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
    pub(super) fn first(&self, now: Time) -> Option<Time> {
        (!self.interval.is_zero() && !self.kinds.is_empty()).then(|| now + self.interval)
    }

    pub(super) fn samples(&self, traffic: u16) -> bool {
        !self.interval.is_zero() && self.traffics.contains(&traffic)
    }

    fn wants(&self, kind: SampleKind) -> bool {
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

impl Simulation {
    pub(super) fn take_samples(&mut self, now: Time) {
        let seconds = self.measure.interval.as_secs_f64();
        let mut push = |kind, of, value| self.samples.push(Sample { time: now, kind, of, value });
        for &place in &self.sampled_flows {
            let flow = &mut self.flows[place as usize];
            let (id, traffic) = (flow.start.id, flow.start.traffic);
            if self.measure.wants(SampleKind::Goodput) {
                let arrived = flow.connections.iter().map(|&c| self.connections[c as usize].arrived).sum();
                let bits = (arrived - flow.sampled_bytes) as f64 * 8.0;
                flow.sampled_bytes = arrived;
                push(SampleKind::Goodput, SampleOf::Flow(id, traffic), bits / seconds);
            }
            let mut nth = 0;
            for &connection in &flow.connections {
                let c = &self.connections[connection as usize];
                for (i, &subflow) in c.subflows.as_slice().iter().enumerate() {
                    let of = SampleOf::Subflow(id, traffic, nth);
                    nth += 1;
                    let sender = &self.senders[subflow as usize];
                    if sender.phase != Phase::Established {
                        continue;
                    }
                    if self.measure.wants(SampleKind::Cwnd) {
                        push(SampleKind::Cwnd, of, sender.allowed() as f64);
                    }
                    if let Some(srtt) = sender.rtt.srtt().filter(|_| self.measure.wants(SampleKind::Rtt)) {
                        push(SampleKind::Rtt, of, srtt.as_secs_f64());
                    }
                    if let Some(laned) = c.lanes.as_ref().filter(|_| self.measure.wants(SampleKind::LinkCost))
                        && let Some(cost) = laned.index[i].and_then(|index| laned.lanes.link_cost(index))
                    {
                        push(SampleKind::LinkCost, of, cost);
                    }
                }
            }
        }
        if self.measure.wants(SampleKind::Queue) {
            for &link in &self.measure.links {
                let (bytes, _) = self.net.fabric.occupancy(now, link);
                push(SampleKind::Queue, SampleOf::Link(link), bytes.get() as f64);
            }
        }
        if self.measure.wants(SampleKind::Core) {
            self.net.hosts.worked(now, |host, core, span| {
                push(SampleKind::Core, SampleOf::Core(host, core), span.as_secs_f64() / seconds);
            });
        }
    }
}
