//! Samples are taken.

use headway_units::Time;

use super::Simulation;
use crate::measure::{Sample, SampleKind, SampleOf};
use crate::transport::Carrier;

impl Simulation {
    pub(super) fn take_samples(&mut self, now: Time) {
        let seconds = self.measure.interval.as_secs_f64();
        let mut push = |kind, of, value| self.samples.push(Sample { time: now, kind, of, value });
        for at in 0..self.env.flows.sampled.len() {
            let place = self.env.flows.sampled[at];
            let flow = &mut self.env.flows[place];
            match self.carriers[usize::from(flow.start.profile)] {
                Carrier::Tcp(_) => self.tcp.sample(flow, &self.measure, &mut push),
                Carrier::Datagram(_) => self.datagrams.sample(flow, &self.measure, &mut push),
                Carrier::Relayed(_) => self.relays.sample(flow, &self.measure, &self.tcp, &mut push),
            }
        }
        if self.measure.wants(SampleKind::Queue) {
            for &link in &self.measure.links {
                let (bytes, _) = self.env.net.fabric.occupancy(now, link);
                push(SampleKind::Queue, SampleOf::Link(link), bytes.get() as f64);
            }
        }
        if self.measure.wants(SampleKind::Core) {
            self.env.net.hosts.worked(now, |host, core, span| {
                push(SampleKind::Core, SampleOf::Core(host, core), span.as_secs_f64() / seconds);
            });
        }
    }
}
