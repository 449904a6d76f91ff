//! What is seen of frames as they pass links: by external hosts and taps, and how long packets waited.

use headway_fabric::{Endpoint, LinkId};
use headway_units::Time;

use super::Simulation;
use crate::endpoint::{Side, Tenant, number, side};
use crate::external::NullHost;
use crate::segment::{Frame, flag};
use crate::tap::TapPlace;
use crate::waits::Waits;

impl Simulation {
    /// Keeps from now on how long the packets with data of each flow wait at ports of hosts and at those of switches:
    /// [`FlowEnd::waits`](crate::FlowEnd::waits). External hosts are attached before.
    ///
    /// # Panics
    /// If a frame has been sent.
    pub fn measure_waits(&mut self) {
        assert!(self.env.net.sent == 0, "waits are measured from the start");
        self.env.net.waits = Some(Box::new(Waits::new(&self.env.graph)));
        self.env.net.slow_path = true;
        self.env.flows.keeps_waits = true;
        if self.external.is_none() {
            self.attach(Box::new(NullHost));
        }
        self.external.as_mut().expect("it was attached").watched.fill(true);
    }

    /// The frame that arrives now has passed `link`, at which frames are looked at.
    #[inline(never)]
    pub(super) fn on_pass(&mut self, now: Time, link: LinkId) {
        let packet = *self.env.net.fabric.arriving(link);
        let end = self.env.net.fabric.routes.end(packet.hop);
        if let Some(external) = &mut self.external
            && external.shown[link.index()]
        {
            match Tenant::of(end) {
                Tenant::External => external.hosts.passes(now, link, packet.body.number, packet.tos),
                Tenant::Tcp | Tenant::TwoWayTcp => {
                    self.env.net.tap(now, TapPlace::Passed(link), Endpoint(number(end)), &packet);
                }
                _ => {}
            }
        }
        if self.env.net.waits.is_some() && self.flow_of_data(end, &packet).is_some() {
            let place = self.env.net.fabric.arriving_place(link);
            if let Some(waits) = &mut self.env.net.waits {
                waits.pass(now, link, place, packet.size);
            }
        }
    }

    /// The frame that passed a link just now has reached its endpoint: if it carries data, its flow is told how long it
    /// waited. The caller knows that this is asked for.
    #[cold]
    pub(super) fn note_wait(&mut self, end: Endpoint, frame: &Frame) {
        if let Some(flow) = self.flow_of_data(end, frame)
            && let Some(waits) = &self.env.net.waits
        {
            self.env.flows.add_wait(flow, waits.passed());
        }
    }

    /// The flow whose data a frame to `end` carries, if it carries any. Nothing is known of those of external hosts.
    fn flow_of_data(&self, end: Endpoint, frame: &Frame) -> Option<u32> {
        match Tenant::of(end) {
            Tenant::Tcp | Tenant::TwoWayTcp => {
                let (subflow, half) = side(Endpoint(number(end)));
                let data = half == Side::Receiver && frame.body.amount > 0 && frame.tag & flag::RST != flag::RST;
                data.then(|| self.tcp.flow_of_subflow(subflow))
            }
            Tenant::Datagram => Some(self.datagrams.flow_of(number(end))),
            Tenant::Roce => self.roce.flow_of(number(end), frame),
            Tenant::External | Tenant::Gap | Tenant::MacControl | Tenant::Qcn => None,
        }
    }
}
