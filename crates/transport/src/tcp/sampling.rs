//! Samples of a flow's connections.

use super::Tcp;
use super::sender::{Phase, Sender};
use crate::flows::Flow;
use crate::measure::{Round, SampleKind, SampleOf};

impl Tcp {
    /// Gives `note` the route of each subflow of a connection that has data on its way.
    pub(crate) fn routes_in_use(&self, connection: u32, note: &mut impl FnMut(u32)) {
        for &subflow in self.connections[connection as usize].subflows.as_slice() {
            let sender = &self.senders[subflow as usize];
            if sender.phase == Phase::Established && sender.outstanding() > 0 {
                note(sender.route);
            }
        }
    }

    /// The bytes that have arrived of a flow: over both directions of a two-way connection, over the copy that is
    /// furthest of others.
    fn arrived_of(&self, flow: &Flow) -> u64 {
        let connections = || flow.connections.iter().map(|&c| &self.connections[c as usize]);
        let arrived = connections().map(|c| c.arrived);
        if connections().any(|c| c.stream.is_some()) { arrived.sum() } else { arrived.max().unwrap_or(0) }
    }

    /// Gives `push` what `round` wants of a flow.
    pub(crate) fn sample(&self, flow: &mut Flow, round: &Round, push: &mut impl FnMut(SampleKind, SampleOf, f64)) {
        let (id, traffic) = (flow.start.id, flow.start.traffic);
        if round.wants(SampleKind::Goodput) {
            let arrived = self.arrived_of(flow);
            let bits = (arrived - flow.sampled_bytes) as f64 * 8.0;
            flow.sampled_bytes = arrived;
            push(SampleKind::Goodput, SampleOf::Flow(id, traffic), bits / round.interval.as_secs_f64());
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
                sample_sender(sender, of, round, push);
                if let Some(laned) = c.lanes.as_ref().filter(|_| round.wants(SampleKind::LinkCost))
                    && let Some(cost) = laned.index[i].and_then(|index| laned.lanes.link_cost(index))
                {
                    push(SampleKind::LinkCost, of, cost);
                }
            }
        }
    }
}

/// Gives `push` what `round` wants of a subflow's sender, once it is open.
pub(super) fn sample_sender(
    sender: &Sender,
    of: SampleOf,
    round: &Round,
    push: &mut impl FnMut(SampleKind, SampleOf, f64),
) {
    if sender.phase != Phase::Established {
        return;
    }
    if round.wants(SampleKind::Cwnd) {
        push(SampleKind::Cwnd, of, sender.allowed() as f64);
    }
    if let Some(srtt) = sender.rtt.srtt().filter(|_| round.wants(SampleKind::Rtt)) {
        push(SampleKind::Rtt, of, srtt.as_secs_f64());
    }
    if let Some(ssthresh) = sender.ssthresh().filter(|_| round.wants(SampleKind::Ssthresh)) {
        push(SampleKind::Ssthresh, of, ssthresh as f64);
    }
    if let Some(share) = sender.marked_share().filter(|_| round.wants(SampleKind::Alpha)) {
        push(SampleKind::Alpha, of, share);
    }
}
