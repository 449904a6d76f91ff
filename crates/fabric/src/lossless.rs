//! A fabric whose ports are lossless: frames are counted where they come into a switch, and pause frames go back.
//!
//! Hosts that forward count like switches. Hosts obey pauses and send none: what they receive does not wait for room.

use std::sync::Arc;

use headway_engine::{EventQueue, Streams};
use headway_units::Time;

use crate::fabric::{Fabric, set};
use crate::graph::{Graph, LinkId};
use crate::ingress::{Admission, Deadlocks, Ingress, IngressCounters, Lossless, LosslessTotals};
use crate::packet::Packet;
use crate::pool::FrameHandle;
use crate::queue::{
    AnyScheduler, DcbPort, Discipline, Leaving, LosslessSpec, PRIORITIES, PauseCounters, PauseKind, PortParameters,
    QueueSpec,
};
use crate::routes::Endpoint;
use crate::scheduled_port::Queued;

impl<B: Copy> Fabric<B> {
    /// Makes all ports of `graph`, from which this fabric was made, ports of data-centre bridging. Queues keep their limit
    /// for frames that may be lost, and nothing else; shared buffers are replaced. Pause frames carry `body` and end
    /// at `end` of the link that they arrive over: what arrives there goes to
    /// [`pause_arrived`](Self::pause_arrived) or, if it was lost, [`pause_lost`](Self::pause_lost).
    ///
    /// # Panics
    /// If a frame has been sent, or `spec` is not one for this graph: no class, thresholds for other links, a buffer that is
    /// smaller than what links have for themselves.
    pub fn make_lossless(
        &mut self,
        graph: &Graph,
        spec: LosslessSpec,
        streams: Streams,
        body: B,
        end: impl Fn(LinkId) -> Endpoint,
    ) {
        assert!(self.hops == 0 && self.in_flight() == 0, "ports are made before frames are sent");
        assert!((1..=PRIORITIES).contains(&spec.classes.len()) && spec.quanta > 0, "{spec:?}");
        assert!(spec.class_of.iter().all(|&class| usize::from(class) < spec.classes.len()), "{spec:?}");
        assert_eq!(spec.thresholds.len(), graph.links().len(), "thresholds are by link");
        let spec = Arc::new(spec);
        self.shared.buffers.clear();
        self.shared.pause_body = Some(body);
        for (number, (link, port)) in graph.links().iter().zip(&mut self.ports).enumerate() {
            let id = LinkId(number as u32);
            let hop = self.routes.insert(&[id], end(id));
            let wire = &link.wire;
            let parameters = PortParameters { rate: wire.rate, gap: wire.gap, streams, number };
            let peer = graph.link(id.reverse()).wire.rate;
            let marks = if let QueueSpec::DropTail { mark, .. } = wire.queue { mark } else { None };
            let own = DcbPort::new(&spec, &parameters, peer, (wire.queue.limit(), marks), hop + 1);
            port.set_discipline(Discipline::Scheduled(AnyScheduler::Dcb(Box::new(own))));
        }
        let ingress = Ingress::new(graph, &spec);
        self.lossless =
            Some(Box::new(Lossless { spec, ingress, asks: Vec::new(), gone: 0, deadlocks: Deadlocks::default() }));
    }

    /// [`forward`](Self::forward) where frames are counted as they come in.
    pub(crate) fn forward_lossless(
        &mut self,
        queue: &mut EventQueue,
        now: Time,
        port: u32,
        frame: FrameHandle,
    ) -> Result<(), (Endpoint, Packet<B>)> {
        let packet = self.shared.pool.slot(&frame).packet;
        let Packet { hop, size, tos, .. } = packet;
        let priority = tos >> 5;
        let already = self.shared.evicted.len();
        let own = &mut self.ports[port as usize];
        let came = self.routes.came_over(hop);
        if let Some(link) = came.filter(|_| !own.is_down()) {
            let waits = own.dcb().waits(priority);
            let lossless = self.lossless.as_mut().expect("the caller knows");
            match lossless.ingress.admit(link, priority, u64::from(size), waits) {
                Admission::Taken => {}
                Admission::Asks => lossless.asks.push((link, lossless.spec.account(priority))),
                Admission::Dropped => {
                    own.dropped.count(u64::from(size));
                    return Err(self.remove(frame));
                }
            }
        }
        let counted = came.is_some() && !own.is_down();
        let queued = own.offer_slow(now, frame, &mut self.shared);
        let refused = match queued {
            Queued::Dropped(frame) => {
                if counted {
                    self.left(came, priority, size);
                }
                Some(self.remove(frame))
            }
            Queued::Waits(due) => {
                set(queue, port, due);
                self.note_joined(queue, now, port, &packet);
                None
            }
            Queued::Arrives(_) | Queued::Behind => unreachable!("such a port lets all frames wait"),
        };
        self.note_came(port);
        self.settle_lossless(queue, now, already);
        refused.map_or(Ok(()), Err)
    }

    /// A frame that was counted where it came in has left its switch, or was dropped there.
    fn left(&mut self, came: Option<LinkId>, priority: u8, size: u16) {
        let Some(link) = came else { return };
        let lossless = self.lossless.as_mut().expect("ports are lossless");
        if lossless.ingress.release(link, priority, u64::from(size)) {
            lossless.asks.push((link, lossless.spec.account(priority)));
        }
    }

    /// The port of `link` may have begun a frame: where it came from is noted while its route is there.
    pub(crate) fn note_came(&mut self, link: u32) {
        self.ports[link as usize].dcb().note_came(|hop| self.routes.came_over(hop));
    }

    /// [`departure`](Self::departure) where frames are counted.
    pub(crate) fn departure_lossless(&mut self, queue: &mut EventQueue, now: Time, link: u32, sequence: u32) {
        let already = self.shared.evicted.len();
        self.transmitted(now, link);
        self.depart(queue, now, link, sequence);
        self.note_came(link);
        self.settle_lossless(queue, now, already);
        if let Some(interval) = self.ports[link as usize].dcb().take_repeated() {
            let lossless = self.lossless.as_mut().expect("the caller knows");
            if lossless.deadlocks.next_look <= now {
                lossless.deadlocks.next_look = now.saturating_add(interval);
                self.look_for_deadlock(now);
            }
        }
    }

    /// The last bit of what `link`'s port transmits may have left.
    fn transmitted(&mut self, now: Time, link: u32) {
        let port = &mut self.ports[link as usize];
        if port.busy_until() <= now
            && let Some(Leaving { came, priority, size, .. }) = port.dcb().take_leaving()
        {
            self.left(came, priority, size);
        }
    }

    /// Frees what has been dropped since there were `already` frames among the evicted, and tells peers what they are to
    /// do.
    pub(crate) fn settle_lossless(&mut self, queue: &mut EventQueue, now: Time, already: usize) {
        if self.lossless.is_none() {
            return;
        }
        let mut freed = already;
        loop {
            while freed < self.shared.evicted.len() {
                let Packet { hop, size, tos, .. } = self.shared.pool.slot(&self.shared.evicted[freed]).packet;
                freed += 1;
                self.left(self.routes.came_over(hop), tos >> 5, size);
            }
            let Some(lossless) = &mut self.lossless else { return };
            let Some((link, account)) = lossless.asks.pop() else { return };
            // an account may have asked and been freed in this event
            let pause = lossless.ingress.asked(link) >> account & 1 == 1;
            let back = link.reverse();
            let port = &mut self.ports[back.index()];
            if !port.is_down() {
                port.dcb().ask(account, pause);
                let due = port.wake(now, &mut self.shared);
                set(queue, back.0, due);
                self.note_came(back.0);
            }
        }
    }

    /// A pause frame has arrived over `link`: the port at the far end obeys.
    ///
    /// # Panics
    /// If ports are not lossless.
    pub fn pause_arrived(&mut self, queue: &mut EventQueue, now: Time, link: LinkId, frame: &Packet<B>) {
        self.pause_gone();
        let already = self.shared.evicted.len();
        let port = &mut self.ports[link.reverse().index()];
        if port.is_down() {
            return;
        }
        port.dcb().hear(now, frame.tos, frame.tag);
        let due = port.wake(now, &mut self.shared);
        set(queue, link.reverse().0, due);
        self.note_came(link.reverse().0);
        self.settle_lossless(queue, now, already);
    }

    /// A pause frame was lost.
    ///
    /// # Panics
    /// If ports are not lossless.
    pub fn pause_lost(&mut self) {
        self.pause_gone();
    }

    fn pause_gone(&mut self) {
        self.lossless.as_mut().expect("only lossless ports send pause frames").gone += 1;
    }

    /// Pause frames on their way.
    pub fn pauses_in_flight(&self) -> u64 {
        self.lossless.as_ref().map_or(0, |own| self.shared.pauses_sent - own.gone)
    }

    /// What the port of `link` has done about pauses until `now`; nothing if ports are not lossless.
    pub fn pauses(&mut self, now: Time, link: LinkId) -> PauseCounters {
        if self.lossless.is_none() {
            return PauseCounters::default();
        }
        self.ports[link.index()].dcb().counters(now)
    }

    /// What has come over `link` into a switch; nothing if ports are not lossless.
    pub fn ingress(&self, link: LinkId) -> IngressCounters {
        self.lossless.as_ref().map_or_else(IngressCounters::default, |own| own.ingress.counters(link))
    }

    /// Sums over all ports; nothing if ports are not lossless.
    pub fn lossless_totals(&self) -> LosslessTotals {
        let Some(own) = &self.lossless else { return LosslessTotals::default() };
        let links = (0..self.ports.len() as u32).map(LinkId);
        LosslessTotals {
            overflows: links.map(|link| own.ingress.counters(link).drops.frames).sum(),
            watchdog_drops: self.ports.iter().map(|port| port.dcb_ref().watchdog_drops().frames).sum(),
            deadlocks: own.deadlocks.count,
        }
    }

    /// Peers are told over `link`, or have forgotten: what is still wanted of them is told again, if it is up.
    pub(crate) fn tell_again(&mut self, queue: &mut EventQueue, now: Time, link: LinkId) {
        let Some(lossless) = &mut self.lossless else { return };
        if lossless.spec.pause == PauseKind::Nothing {
            return;
        }
        let came = link.reverse();
        let asked = lossless.ingress.asked(came);
        lossless.asks.extend((0..PRIORITIES as u8).filter(|at| asked >> at & 1 == 1).map(|at| (came, at)));
        let already = self.shared.evicted.len();
        self.settle_lossless(queue, now, already);
    }

    /// Checks that accounts hold the frames that are in their switches.
    ///
    /// # Panics
    /// If they do not: a bug.
    pub(crate) fn assert_accounts(&self) {
        let Some(lossless) = &self.lossless else { return };
        let mut expected = vec![[0; PRIORITIES]; self.ports.len()];
        let mut count = |came: Option<LinkId>, priority: u8, size: u16| {
            if let Some(link) = came {
                expected[link.index()][usize::from(priority)] += u64::from(size);
            }
        };
        for port in &self.ports {
            let dcb = port.dcb_ref();
            for packet in dcb.packets(&self.shared.pool) {
                count(self.routes.came_over(packet.hop), packet.tos >> 5, packet.size);
            }
            if let Some(Leaving { came, priority, size, .. }) = dcb.leaving() {
                count(came, priority, size);
            }
        }
        lossless.ingress.assert_conserved(&expected);
        self.assert_asked();
    }

    /// Checks that ports ask for the pauses that accounts want.
    fn assert_asked(&self) {
        let Some(lossless) = &self.lossless else { return };
        for (number, port) in (0..).zip(&self.ports).filter(|(_, port)| !port.is_down()) {
            let (asks, asked) = (port.dcb_ref().asks_for(), lossless.ingress.asked(LinkId(number).reverse()));
            assert_eq!(asks, asked, "port {number} asks its peer for the pauses that accounts want");
        }
    }
}
