//! How long packets with data waited at ports of hosts, and at those of switches, by flow.
//!
//! A wait is the time from a frame's arrival at a port until its first bit is on the line: what passes until it has arrived
//! at the far end of the link, less its transmission and the way there. So it is right whatever decides when a frame
//! leaves: first in, first out, a scheduler, a pause or a limit. Links are looked at where taps and external hosts look at
//! them, so a run that does not ask for this pays nothing.
//!
//! Leaves out: frames of external hosts, acknowledgements, and frames that do not arrive.

use headway_fabric::{Graph, LinkId, NodeKind};
use headway_units::{Bytes, Rate, Span, Time};

/// Packets with data that arrived, repeated ones included, and how long they waited on their way, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketWaits {
    /// How many.
    pub packets: u64,
    /// At ports of hosts: of the one that sends them, and of those that forward them.
    pub hosts: Span,
    /// At ports of switches.
    pub switches: Span,
}

impl PacketWaits {
    /// What came since there was `before`.
    pub fn since(self, before: PacketWaits) -> PacketWaits {
        PacketWaits {
            packets: self.packets.saturating_sub(before.packets),
            hosts: self.hosts.saturating_sub(before.hosts),
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    /// Adds a packet.
    pub(crate) fn add(&mut self, on_way: OnWay) {
        self.packets += 1;
        self.hosts = self.hosts.saturating_add(on_way.hosts);
        self.switches = self.switches.saturating_add(on_way.switches);
    }
}

/// A frame in the network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OnWay {
    /// When it came to the port that it is at.
    came: Time,
    hosts: Span,
    switches: Span,
}

/// A link, as far as it decides when a frame arrives that does not wait.
#[derive(Debug, Clone, Copy)]
struct Line {
    rate: Rate,
    gap: u64,
    delay: Span,
    /// It leaves a host.
    host: bool,
}

/// The waits of a run.
#[derive(Debug)]
pub(crate) struct Waits {
    lines: Vec<Line>,
    /// By place in the network.
    frames: Vec<OnWay>,
    /// The frame with data that passed a link last.
    passed: OnWay,
}

impl Waits {
    /// Of a network in which nothing is on its way.
    pub fn new(graph: &Graph) -> Waits {
        let line = |link: &headway_fabric::Link| Line {
            rate: link.wire.rate,
            gap: link.wire.gap.get(),
            delay: link.wire.delay + graph.node(link.to).latency,
            host: graph.node(link.from).kind == NodeKind::Host,
        };
        Waits { lines: graph.links().iter().map(line).collect(), frames: Vec::new(), passed: OnWay::default() }
    }

    /// A frame is sent, and gets this place.
    pub fn sent(&mut self, now: Time, place: u32) {
        let at = place as usize;
        if self.frames.len() <= at {
            self.frames.resize(at + 1, OnWay::default());
        }
        self.frames[at] = OnWay { came: now, ..OnWay::default() };
    }

    /// The frame at this place, of so many bytes, has passed a link.
    pub fn pass(&mut self, now: Time, link: LinkId, place: u32, size: u16) {
        // all frames with data were sent by `Network`
        let Some(frame) = self.frames.get_mut(place as usize) else { return };
        let line = self.lines[link.index()];
        let alone = line.rate.transmission(Bytes::new(u64::from(size) + line.gap)).saturating_add(line.delay);
        let wait = now.since(frame.came).saturating_sub(alone);
        let sum = if line.host { &mut frame.hosts } else { &mut frame.switches };
        *sum = sum.saturating_add(wait);
        frame.came = now;
        self.passed = *frame;
    }

    /// What the frame waited that passed a link last.
    pub fn passed(&self) -> OnWay {
        self.passed
    }
}
