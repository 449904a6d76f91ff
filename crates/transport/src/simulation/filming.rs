//! A film of the links is made.

use headway_fabric::LinkId;
use headway_units::Time;

use super::Simulation;
use crate::endpoint::Tenant;
use crate::film::{Filming, LinkFilm, Passed};
use crate::transport::Carrier;

/// Frames of external hosts that are longer have data. Without it an IPv4 or IPv6 packet of TCP with all options has at
/// most 118 B: 14 of Ethernet, 40 of IP, 60 of TCP (RFC 9293 §3.1), 4 of checksum.
const WITHOUT_DATA: u16 = 118;

impl Simulation {
    /// Makes a film of the links from now, the start, until `end`, at which the run ends: in at most `steps` steps, and at
    /// least half as many unless all falls silent in the first 32nd of the run. It changes nothing else.
    ///
    /// # Panics
    /// If time has passed, or there are no steps.
    pub fn film(&mut self, steps: u32, end: Time) {
        assert!(self.env.now == Time::ZERO && self.env.net.sent == 0, "a film begins with the run");
        self.filming = Some(Box::new(Filming::new(steps, end, self.env.graph.links().len())));
    }

    /// The film, if one was made, once the run has come to its end.
    pub fn filmed(&mut self) -> Option<LinkFilm> {
        self.filming.take().map(|filming| filming.finish())
    }

    /// Looks at the links, now that all events until `now` are done.
    pub(super) fn look(&mut self, now: Time) {
        let Some(mut filming) = self.filming.take() else { return };
        let external = self.external.as_ref().map_or(0, |external| external.sent);
        let counters = [self.env.net.fabric.hops(), self.env.net.sent, external];
        if !filming.is_silent(counters) {
            let step = filming.ends_step(now);
            self.look_at_ports(&mut filming, now, step);
            if step {
                self.count_flows(&mut filming);
                filming.close_step(now, counters);
            }
        }
        filming.go_on(now);
        self.filming = Some(filming);
    }

    fn look_at_ports(&mut self, filming: &mut Filming, now: Time, step: bool) {
        for (at, link) in self.env.graph.links().iter().enumerate() {
            let port = LinkId(at as u32);
            let (queued, frames) = self.env.net.fabric.occupancy(now, port);
            filming.note_queue(at, queued.get());
            if step {
                let own = self.env.net.fabric.counters(port);
                let drops = own.dropped.frames + own.policed.frames + own.lost.frames + own.down.frames;
                let left = |accepted: u64, evicted: u64, severed: u64, queued: u64| {
                    accepted.saturating_sub(evicted).saturating_sub(severed).saturating_sub(queued)
                };
                let bytes = left(own.accepted.bytes, own.evicted.bytes, own.severed.bytes, queued.get());
                let frames = left(own.accepted.frames, own.evicted.frames, own.severed.frames, u64::from(frames));
                filming.note_passed(at, Passed { sent: bytes + frames * link.wire.gap.get(), drops });
            }
        }
    }

    /// Counts the flows that have data on their way, on the links of their routes.
    fn count_flows(&self, filming: &mut Filming) {
        let routes = &self.env.net.fabric.routes;
        for (number, flow) in (0..).zip(self.env.flows.iter()) {
            let mut note = |route| filming.note_flow(number, routes.ports(route));
            let carrier = (!flow.is_internal()).then(|| self.carriers[usize::from(flow.start.profile)]);
            for &connection in &flow.connections {
                match carrier.unwrap_or(Carrier::Tcp(0)) {
                    Carrier::Tcp(_) => self.tcp.routes_in_use(connection, &mut note),
                    Carrier::Datagram(_) => self.datagrams.routes_in_use(connection, &mut note),
                    Carrier::Roce(_) => self.roce.routes_in_use(connection, &mut note),
                    // its parts are internal flows
                    Carrier::Relayed(_) => {}
                }
            }
        }
        if self.external.is_none() {
            return;
        }
        // Of kernels' connections nothing is known here but their frames; each connection has a route of its own.
        let mut seen: Vec<u32> = Vec::new();
        for packet in self.env.net.fabric.frames() {
            if packet.size > WITHOUT_DATA && Tenant::of(routes.end(packet.hop)) == Tenant::External {
                seen.push(routes.start(packet.hop));
            }
        }
        seen.sort_unstable();
        seen.dedup();
        for start in seen {
            filming.note_flow(u32::MAX - 1 - start, routes.ports(start));
        }
    }
}
