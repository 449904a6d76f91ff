//! Cards that pace: frames leave their hosts when it is their turn.

use headway_fabric::{Endpoint, NodeId};
use headway_units::Time;

use super::Simulation;
use crate::card::{CardCounters, CardModel, Next, Taken};
use crate::endpoint::{Tenant, number, side};
use crate::segment::Frame;

impl Simulation {
    /// Gives `host` a card that paces what its interfaces send; hosts without one send as it comes. Hosts outside the loop
    /// have cards of their own: what they send is not paced here.
    ///
    /// # Panics
    /// If it has one already, a flow has started, or the model makes no sense: see the fields of [`CardModel`].
    pub fn pace_host(&mut self, host: NodeId, model: &CardModel) {
        assert!(self.tcp.is_unused(), "hosts get their cards before flows start");
        let net = &mut self.env.net;
        net.cards.add(&self.env.graph, host, model, &mut net.fabric.routes);
        net.slow_path = true;
    }

    /// What the card of `host` has done so far; nothing if it has none.
    pub fn card(&self, host: NodeId) -> CardCounters {
        self.env.net.cards.counters(Some(host), self.env.now)
    }

    /// The event of an interface with a card.
    pub(super) fn on_pace(&mut self, now: Time, interface: u32, sequence: u32) {
        let net = &mut self.env.net;
        let (to, frame) = match net.cards.fire(now, interface, sequence, &mut net.queue) {
            Next::Wait => return,
            Next::Gap(frame) => (Tenant::Gap.endpoint(interface), frame),
            Next::Frame => {
                let to = net.cards.chosen(interface);
                let estimate = match Tenant::of(to) {
                    Tenant::Tcp | Tenant::TwoWayTcp => Some(self.tcp.estimate(side(Endpoint(number(to))).0)),
                    Tenant::External
                    | Tenant::Datagram
                    | Tenant::Roce
                    | Tenant::Gap
                    | Tenant::MacControl
                    | Tenant::Qcn => None,
                };
                net.cards.leave(now, interface, estimate, &mut net.queue)
            }
        };
        if let Err((_, frame)) = net.put_in(now, frame) {
            self.on_discard(to, &frame);
        }
    }

    /// A core has finished a frame: it leaves, through a card if there is one.
    pub(super) fn leave_host(&mut self, now: Time, to: Endpoint, frame: Frame) {
        let net = &mut self.env.net;
        let taken = if net.cards.any() { net.offer_to_card(now, to, frame) } else { Taken::Not };
        let lost = match taken {
            Taken::Queued => None,
            Taken::Dropped => Some(frame),
            Taken::Not => net.put_in(now, frame).err().map(|(_, frame)| frame),
        };
        if let Some(frame) = lost {
            self.on_discard(to, &frame);
        }
    }
}
