//! What the loop lends to its tenants while they handle an event.

use headway_fabric::{Choice, Graph, LinkId, NoPath, NodeId, Paths};
use headway_units::Time;

use crate::failures::{FailureState, detour};
use crate::flows::Flows;
use crate::network::Network;
use crate::paths::{Leg, PathBook, hash};
use crate::server::ServerCounters;
use crate::starting::Starting;

/// Sums of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Events handled.
    pub events: u64,
    /// Frames times links.
    pub hops: u64,
    /// Frames dropped by queues, and by limits on ports.
    pub drops: u64,
    /// Frames damaged on wires.
    pub lost: u64,
    /// Frames lost because a link was down.
    pub down: u64,
    /// Frames marked by queues.
    pub marks: u64,
    /// Frames dropped by receive rings of hosts with a model.
    pub ring_drops: u64,
    /// Frames dropped by backlogs of their cores.
    pub backlog_drops: u64,
    /// Gap frames of cards that pace: how many, and their bytes, header to checksum.
    pub gap_frames: u64,
    /// See `gap_frames`.
    pub gap_bytes: u64,
    /// Frames dropped by queues of cards that pace.
    pub card_drops: u64,
    /// Frames of lossless priorities that found no room where they came in; they are among `drops`.
    pub headroom_drops: u64,
    /// Frames that a watchdog of pauses dropped; they are among `drops`.
    pub watchdog_drops: u64,
    /// How often paused ports came to wait for each other in a circle.
    pub deadlocks: u64,
    /// What servers did, all together; the greatest of their greatest.
    pub servers: ServerCounters,
    /// Frames in queues, on wires and waiting for cores and in cards at the end.
    pub in_flight: u64,
    /// A hash of the event stream.
    pub digest: u64,
}

/// Everything but the tenants: the network, where its paths lead, the flows.
#[derive(Debug)]
pub(crate) struct Environment {
    pub net: Network,
    pub graph: Graph,
    pub paths: Paths,
    pub flows: Flows,
    pub starting: Starting,
    /// Links that are or will be down, if any.
    pub failures: Option<Box<FailureState>>,
    /// The time of the event being handled.
    pub now: Time,
    /// Kept for its memory.
    pub scratch: Vec<LinkId>,
    /// Paths that are given or written down, if any are.
    pub book: Option<Box<PathBook>>,
}

impl Environment {
    /// The links from interface `from` to interface `to`, by what routing knows. `leg` says for whom, if it is for a flow's
    /// connection.
    pub fn find_path(
        &mut self,
        leg: Option<Leg>,
        (from, to): (LinkId, LinkId),
        choice: Choice,
        path: &mut Vec<LinkId>,
    ) -> Result<(), NoPath> {
        path.clear();
        let over = leg.zip(self.book.as_deref()).map_or(&[][..], |(leg, book)| book.over(leg));
        if over.is_empty() {
            self.paths.path(from, to, choice, path)?;
        } else {
            self.paths.path_over(&self.graph, (from, to), hash(choice), over, path)?;
        }
        detour(&mut self.failures, from, to, choice, path);
        if let Some((leg, book)) = leg.zip(self.book.as_deref_mut()) {
            book.note(self.now, leg, path);
        }
        Ok(())
    }

    /// The one of the first `count` pairs of interfaces of `hosts` on which the connection of `leg` has the paths that it is
    /// given, from `wanted` on; `wanted` if it is given none, or has them on no pair.
    pub fn pair_of_path(&mut self, leg: Leg, hosts: [NodeId; 2], wanted: usize, count: usize) -> usize {
        let Some(book) = self.book.as_deref() else { return wanted };
        let (forth, back) = (book.over(leg), book.over(leg.turned(true)));
        if forth.is_empty() && back.is_empty() {
            return wanted;
        }
        let (graph, paths, mut path) = (&self.graph, &mut self.paths, Vec::new());
        let mut has = |pair: usize| {
            let [own, other] = hosts.map(|host| graph.interfaces(host)[pair]);
            let mut leads =
                |ends, over: &[_]| over.is_empty() || paths.path_over(graph, ends, 0, over, &mut path).is_ok();
            leads((own, other), forth) && leads((other, own), back)
        };
        (wanted..count).chain(0..wanted).find(|&pair| has(pair)).unwrap_or(wanted)
    }

    /// The one of the first `count` of `interfaces` with a carrier that comes first from `wanted` on, or `wanted`.
    pub fn with_carrier(&self, interfaces: &[LinkId], wanted: usize, count: usize) -> usize {
        let Some(failures) = &self.failures else { return wanted };
        let mut order = (wanted..count).chain(0..wanted);
        order.find(|&at| failures.has_carrier(interfaces[at])).unwrap_or(wanted)
    }

    /// Writes down that a flow is complete, and tells the application if it listens.
    pub fn complete(&mut self, now: Time, flow: u32, switched: Option<Time>) {
        self.flows.report(now, flow, switched, self.failures.as_deref());
        if self.starting.listens {
            self.starting.note_completed(now, self.flows[flow].start.id, &mut self.net.queue);
        }
    }

    /// The sums of the run, with so many frames on their way and what servers did.
    pub fn totals(&self, in_flight: u64, servers: ServerCounters) -> Totals {
        let ports = self.net.fabric.totals();
        let (ring_drops, backlog_drops) = self.net.hosts.drops();
        let cards = self.net.cards.counters(None, self.now);
        let lossless = self.net.fabric.lossless_totals();
        Totals {
            events: self.net.queue.taken(),
            hops: self.net.fabric.hops(),
            drops: ports.dropped.frames + ports.policed.frames,
            lost: ports.lost.frames,
            down: ports.down.frames,
            marks: ports.marked,
            ring_drops,
            backlog_drops,
            gap_frames: cards.gap_frames,
            gap_bytes: cards.gap_bytes,
            card_drops: cards.drops,
            headroom_drops: lossless.overflows,
            watchdog_drops: lossless.watchdog_drops,
            deadlocks: lossless.deadlocks,
            servers,
            in_flight,
            digest: self.net.queue.digest(),
        }
    }
}
