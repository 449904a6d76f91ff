//! Samples are taken.

use headway_units::{Span, Time};

use super::Simulation;
use crate::datagram::Datagrams;
use crate::flows::Flows;
use crate::measure::{Round, Sample, SampleKind, SampleOf};
use crate::relay::Relays;
use crate::roce::QueuePairs;
use crate::tcp::Tcp;
use crate::transport::Carrier;

/// Those who know what has become of flows so far.
struct Carriers<'a> {
    of: &'a [Carrier],
    tcp: &'a Tcp,
    datagrams: &'a Datagrams,
    roce: &'a QueuePairs,
    relays: &'a Relays,
}

impl Carriers<'_> {
    /// Gives `push` what `round` wants of flows: of those that go on, and goodput of those that ended since the last
    /// round.
    fn sample(&self, flows: &mut Flows, round: &Round, push: &mut impl FnMut(SampleKind, SampleOf, f64)) {
        for at in 0..flows.sampled.len() {
            let place = flows.sampled[at];
            let flow = &mut flows[place];
            match self.of[usize::from(flow.start.profile)] {
                Carrier::Tcp(_) => self.tcp.sample(flow, round, push),
                Carrier::Datagram(_) => self.datagrams.sample(flow, round, push),
                Carrier::Roce(_) => self.roce.sample(flow, round, push),
                Carrier::Relayed(_) => self.relays.sample(flow, round, self.tcp, push),
            }
        }
        if round.wants(SampleKind::Goodput) {
            for last in flows.last_bytes.drain(..) {
                let rate = last.bytes as f64 * 8.0 / round.interval.as_secs_f64();
                push(SampleKind::Goodput, SampleOf::Flow(last.id, last.traffic), rate);
            }
        }
    }
}

impl Simulation {
    /// Takes the samples of round number `round`; gives the time to its next ones.
    pub(super) fn take_samples(&mut self, now: Time, round: u32) -> Span {
        let round = &self.rounds[round as usize];
        let seconds = round.interval.as_secs_f64();
        let mut push = |kind, of, value| self.samples.push(Sample { time: now, kind, of, value });
        if round.looks_at_flows() {
            let carriers = Carriers {
                of: &self.carriers,
                tcp: &self.tcp,
                datagrams: &self.datagrams,
                roce: &self.roce,
                relays: &self.relays,
            };
            carriers.sample(&mut self.env.flows, round, &mut push);
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
        if round.wants(SampleKind::Marks) {
            for (&link, before) in self.measure.links.iter().zip(&mut self.marked) {
                let marked = self.env.net.fabric.counters(link).marked;
                push(SampleKind::Marks, SampleOf::Link(link), (marked - std::mem::replace(before, marked)) as f64);
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

    /// The run ends, perhaps between two samples: what has arrived since the last one is still goodput.
    pub(super) fn take_last_samples(&mut self) {
        let mut rounds = self.rounds.iter().filter(|round| round.wants(SampleKind::Goodput));
        let Some(round) = rounds.next().map(|round| round.only(SampleKind::Goodput)) else { return };
        let now = self.env.now;
        let carriers = Carriers {
            of: &self.carriers,
            tcp: &self.tcp,
            datagrams: &self.datagrams,
            roce: &self.roce,
            relays: &self.relays,
        };
        carriers.sample(&mut self.env.flows, &round, &mut |kind, of, value| {
            if value > 0.0 {
                self.samples.push(Sample { time: now, kind, of, value });
            }
        });
    }
}
