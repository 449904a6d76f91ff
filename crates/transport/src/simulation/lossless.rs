//! Lossless ports: pause frames reach the port that they are for.

use headway_engine::Streams;
use headway_fabric::{IngressCounters, LinkId, LosslessSpec, PauseCounters};
use headway_units::Time;

use super::Simulation;
use crate::endpoint::Tenant;
use crate::segment::{Frame, NO_EXTRA, Segment};

impl Simulation {
    /// Makes all ports, of switches and of hosts' cards, ports of data-centre bridging: with priorities in classes, and with
    /// senders that are paused before frames of lossless priorities find no room. Chance comes from `streams`.
    ///
    /// # Panics
    /// If a frame has been sent, or the specification is not one for this network: see [`LosslessSpec`].
    pub fn make_lossless(&mut self, spec: LosslessSpec, streams: Streams) {
        let env = &mut self.env;
        let body = Segment { number: 0, data_number: 0, amount: 0, extra: NO_EXTRA };
        let end = |link: LinkId| Tenant::MacControl.endpoint(link.0);
        env.net.fabric.make_lossless(&env.graph, spec, streams, body, end);
    }

    /// What the port of `link` has done about pauses so far; nothing if ports are not lossless.
    pub fn pauses(&mut self, link: LinkId) -> PauseCounters {
        self.env.net.fabric.pauses(self.env.now, link)
    }

    /// What has come over `link` into a switch, and how much of it stood there; nothing if ports are not lossless.
    pub fn ingress(&self, link: LinkId) -> IngressCounters {
        self.env.net.fabric.ingress(link)
    }

    /// A pause frame has arrived over `link`.
    pub(super) fn on_pause_frame(&mut self, now: Time, link: LinkId, frame: &Frame) {
        self.env.net.fabric.pause_arrived(&mut self.env.net.queue, now, link, frame);
        self.discard_evicted();
    }
}
