//! Hosts outside the loop: when they act, what they send, what reaches them.

use headway_engine::{EventClass, Source};
use headway_fabric::{Choice, LinkId, Packet};
use headway_units::Time;

use super::{Simulation, Stopped};
use crate::endpoint::Tenant;
use crate::external::{Departure, External, ExternalHosts, NullHost};
use crate::segment::{Frame, NO_EXTRA, Segment};

impl Simulation {
    /// Lets `hosts`, which have interfaces in the graph, take part from now on.
    pub fn attach(&mut self, hosts: Box<dyn External>) {
        self.external = Some(ExternalHosts {
            hosts,
            leaving: std::collections::BTreeMap::new(),
            routes: std::collections::BTreeMap::new(),
            watched: vec![false; self.env.graph.links().len()],
            shown: vec![false; self.env.graph.links().len()],
            sent: 0,
            gone: 0,
            scratch: Vec::new(),
        });
    }

    /// Ends the part of the external hosts and gives them back. Their frames on the way are discarded.
    ///
    /// # Panics
    /// If there are none, or they are not of this type.
    pub fn detach<H: External>(&mut self) -> Box<H> {
        let external = self.external.as_mut().expect("external hosts are attached");
        let hosts = std::mem::replace(&mut external.hosts, Box::new(NullHost));
        (hosts as Box<dyn std::any::Any>).downcast().expect("the caller knows what was attached")
    }

    /// Shows the external hosts their frames at the far end of `link`.
    ///
    /// # Panics
    /// If there are no external hosts, or the link is not in the graph.
    pub fn watch(&mut self, link: LinkId) {
        let external = self.external.as_mut().expect("external hosts are attached");
        external.watched[link.index()] = true;
        external.shown[link.index()] = true;
    }

    /// Lets external hosts act. They do after the network, the timers and the samples of an instant, and all of them
    /// before a frame that one of them sends at it leaves.
    pub(super) fn advance_external(&mut self, now: Time) -> Result<(), Stopped> {
        let external = self.external.as_mut().expect("they asked for it");
        self.env.now = now;
        let fabric = &self.env.net.fabric;
        let horizon = |from: LinkId| fabric.earliest_arrival(now, from.reverse());
        let mut sent = std::mem::take(&mut external.scratch);
        external.hosts.advance(now, &horizon, &mut sent).map_err(Stopped::External)?;
        for departure in sent.drain(..) {
            debug_assert!(departure.time >= now);
            let leaving = external.leaving.entry(departure.from.0).or_default();
            if leaving.is_empty() {
                let source = Source::new(EventClass::External, departure.from.0);
                self.env.net.queue.push(departure.time, source, 0);
            }
            leaving.push_back(departure);
        }
        external.scratch = sent;
        Ok(())
    }

    /// The first frame that waits at the external interface `from` leaves.
    pub(super) fn on_departure(&mut self, now: Time, from: LinkId) {
        let external = self.external.as_mut().expect("a departure means external hosts");
        let leaving = external.leaving.get_mut(&from.0).expect("a departure was announced");
        let Departure { to, hash, size, tos, frame, .. } = leaving.pop_front().expect("a departure was announced");
        match leaving.front() {
            Some(next) => self.env.net.queue.reschedule(next.time),
            None => self.env.net.queue.pop(),
        }
        external.hosts.departs(now, from, frame);
        let env = &mut self.env;
        let route = *external.routes.entry((from.0, to.0, hash)).or_insert_with(|| {
            let mut path = std::mem::take(&mut env.scratch);
            let found = env.find_path(None, (from, to), Choice::Ecmp(hash), &mut path).is_ok();
            let route = found.then(|| env.net.fabric.routes.insert(&path, Tenant::External.endpoint(to.0)));
            env.scratch = path;
            route
        });
        let Some(hop) = route else {
            external.hosts.discard(frame);
            return;
        };
        let body = Segment { number: frame, data_number: 0, amount: 0, extra: NO_EXTRA };
        external.sent += 1;
        if let Err((_, packet)) = env.net.fabric.send(&mut env.net.queue, now, Packet { hop, size, tos, tag: 0, body })
        {
            self.external_lost(&packet);
        }
    }

    /// A frame for an external host has arrived at the interface `to`.
    pub(super) fn deliver_external(&mut self, now: Time, to: LinkId, frame: &Frame) {
        let external = self.external.as_mut().expect("an external host's frame means external hosts");
        external.gone += 1;
        external.hosts.deliver(now, to, frame.body.number, frame.tos);
    }

    /// A frame for an external host was dropped or damaged.
    #[cold]
    pub(super) fn external_lost(&mut self, frame: &Frame) {
        let external = self.external.as_mut().expect("an external host's frame means external hosts");
        external.gone += 1;
        external.hosts.discard(frame.body.number);
    }
}
