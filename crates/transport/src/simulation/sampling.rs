//! Samples are taken.

use headway_units::{Span, Time};

use super::Simulation;
use crate::measure::{Sample, SampleKind, SampleOf};
use crate::transport::Carrier;

impl Simulation {
    /// Takes the samples of round number `round`; gives the time to its next ones.
    pub(super) fn take_samples(&mut self, now: Time, round: u32) -> Span {
        let round = &self.rounds[round as usize];
        let seconds = round.interval.as_secs_f64();
        let mut push = |kind, of, value| self.samples.push(Sample { time: now, kind, of, value });
        if round.looks_at_flows() {
            for at in 0..self.env.flows.sampled.len() {
                let place = self.env.flows.sampled[at];
                let flow = &mut self.env.flows[place];
                match self.carriers[usize::from(flow.start.profile)] {
                    Carrier::Tcp(_) => self.tcp.sample(flow, round, &mut push),
                    Carrier::Datagram(_) => self.datagrams.sample(flow, round, &mut push),
                    Carrier::Roce(_) => self.roce.sample(flow, round, &mut push),
                    Carrier::Relayed(_) => self.relays.sample(flow, round, &self.tcp, &mut push),
                }
            }
        }
        if round.wants(SampleKind::Queue) {
            for &link in &self.measure.links {
                let (bytes, _) = self.env.net.fabric.occupancy(now, link);
                push(SampleKind::Queue, SampleOf::Link(link), bytes.get() as f64);
            }
        }
        if round.wants(SampleKind::Arrivals) {
            for (&link, before) in self.measure.links.iter().zip(&mut self.offered) {
                let offered = self.env.net.fabric.counters(link).offered();
                let wire = offered.bytes + offered.frames * self.env.graph.link(link).wire.gap.get();
                let bits = (wire - std::mem::replace(before, wire)) as f64 * 8.0;
                push(SampleKind::Arrivals, SampleOf::Link(link), bits / seconds);
            }
        }
        if round.wants(SampleKind::Core) {
            self.env.net.hosts.worked(now, |host, core, span| {
                push(SampleKind::Core, SampleOf::Core(host, core), span.as_secs_f64() / seconds);
            });
        }
        if let Some(metering) = self.metering.as_ref().filter(|_| round.wants(SampleKind::Limit)) {
            for (link, limit) in metering.limits() {
                let rate = limit.unwrap_or(self.env.graph.link(link).wire.rate);
                push(SampleKind::Limit, SampleOf::Link(link), rate.bps() as f64);
            }
        }
        round.interval
    }
}
