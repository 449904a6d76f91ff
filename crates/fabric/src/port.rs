//! An output port and the wire behind it, with one event per frame: its arrival at the far end.
//!
//! A FIFO needs no departure event: what is accepted at `now` starts at max(now, busy_until), leaves
//! size/rate later and arrives one propagation delay (and the far node's latency) after that. Frames queued and
//! frames on the wire stand in one ring in the order of their arrivals; those that have left the queue are found
//! lazily at its front.

use std::collections::VecDeque;

use headway_engine::Stream;
use headway_units::{Bytes, Rate, Span, Time};

use crate::graph::Wire;
use crate::packet::{Packet, ecn};
use crate::queue::{DropTail, Verdict};

#[derive(Debug, Clone, Copy)]
struct Slot<B> {
    arrival: Time,
    packet: Packet<B>,
}

/// What passed a port since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Frames taken into the queue.
    pub accepted: u64,
    /// Their bytes.
    pub accepted_bytes: u64,
    /// Frames that reached the far end undamaged.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames the queue had no room for.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Frames damaged on the wire.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Frames marked CE here.
    pub marked: u64,
}

/// Random damage on a wire.
#[derive(Debug)]
struct Damage {
    probability: f64,
    stream: Stream,
}

/// Transmission times of one rate: a multiplication where a byte takes whole picoseconds (100 Mb/s, 10 Gb/s,
/// 800 Gb/s …), an exact division rounded up elsewhere.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Picoseconds per byte, or 0 if that is not whole.
    per_byte: u64,
    rate: Rate,
}

impl Clock {
    fn new(rate: Rate) -> Clock {
        let second = 8_000_000_000_000;
        Clock { per_byte: if second % rate.bps() == 0 { second / rate.bps() } else { 0 }, rate }
    }

    #[inline]
    fn transmission(self, bytes: u64) -> Span {
        if self.per_byte > 0 {
            Span::from_picos(self.per_byte * bytes)
        } else {
            self.rate.transmission(Bytes::new(bytes))
        }
    }
}

/// One direction of a cable.
#[derive(Debug)]
pub(crate) struct Port<B> {
    ring: VecDeque<Slot<B>>,
    busy_until: Time,
    /// How many slots at the ring's front have left the queue and are on the wire only.
    departed: usize,
    /// Bytes of the slots behind those.
    queued_bytes: u64,
    clock: Clock,
    /// From a frame's last bit on the wire until the far node has it at its output port.
    delay: Span,
    gap: u64,
    queue: DropTail,
    counters: PortCounters,
    damage: Option<Box<Damage>>,
}

/// What became of a frame offered to a port.
pub(crate) enum Offered {
    /// Queued; it arrives at this time and is the only one in the ring, so an event is due.
    First(Time),
    /// Queued behind others.
    Behind,
    Dropped,
}

impl<B: Copy> Port<B> {
    /// A port of `wire` whose far node adds `latency`; `stream` decides which frames are damaged.
    pub(crate) fn new(wire: &Wire, latency: Span, stream: Stream) -> Port<B> {
        let damage = (wire.loss > 0.0).then(|| Box::new(Damage { probability: wire.loss, stream }));
        Port {
            ring: VecDeque::new(),
            busy_until: Time::ZERO,
            departed: 0,
            queued_bytes: 0,
            clock: Clock::new(wire.rate),
            delay: wire.delay + latency,
            gap: wire.gap.get(),
            queue: DropTail::new(&wire.queue),
            counters: PortCounters::default(),
            damage,
        }
    }

    /// Forgets what has left the queue by `now`.
    #[inline]
    fn retire(&mut self, now: Time) {
        while let Some(slot) = self.ring.get(self.departed) {
            if slot.arrival > now + self.delay {
                break;
            }
            self.queued_bytes -= u64::from(slot.packet.size);
            self.departed += 1;
        }
    }

    /// Bytes and frames waiting or being transmitted at `now`.
    pub(crate) fn occupancy(&mut self, now: Time) -> (Bytes, usize) {
        self.retire(now);
        (Bytes::new(self.queued_bytes), self.ring.len() - self.departed)
    }

    #[inline]
    pub(crate) fn offer(&mut self, now: Time, mut packet: Packet<B>) -> Offered {
        self.retire(now);
        let size = u64::from(packet.size);
        let waiting = (self.ring.len() - self.departed) as u32;
        match self.queue.offer(Bytes::new(self.queued_bytes), waiting, packet.size) {
            Verdict::Accept => {}
            Verdict::Mark => {
                if packet.tos & ecn::MASK != 0 {
                    packet.tos |= ecn::CE;
                    self.counters.marked += 1;
                }
            }
            Verdict::Drop => {
                self.counters.dropped += 1;
                self.counters.dropped_bytes += size;
                return Offered::Dropped;
            }
        }
        self.counters.accepted += 1;
        self.counters.accepted_bytes += size;
        self.queued_bytes += size;
        self.busy_until = now.max(self.busy_until) + self.clock.transmission(size + self.gap);
        let arrival = self.busy_until + self.delay;
        let first = self.ring.is_empty();
        self.ring.push_back(Slot { arrival, packet });
        if first { Offered::First(arrival) } else { Offered::Behind }
    }

    /// Takes the frame that arrives now, and says when the next one does. The frame is `None` if it was damaged;
    /// then its position in the routes is returned for the record.
    #[inline]
    pub(crate) fn arrive(&mut self) -> (Packet<B>, bool, Option<Time>) {
        let slot = self.ring.pop_front().expect("an arrival event means a frame in the ring");
        let size = u64::from(slot.packet.size);
        if self.departed > 0 {
            self.departed -= 1;
        } else {
            self.queued_bytes -= size;
        }
        let intact = !self.damage.as_mut().is_some_and(|d| d.stream.chance(d.probability));
        if intact {
            self.counters.delivered += 1;
            self.counters.delivered_bytes += size;
        } else {
            self.counters.lost += 1;
            self.counters.lost_bytes += size;
        }
        (slot.packet, intact, self.ring.front().map(|next| next.arrival))
    }

    pub(crate) fn counters(&self) -> PortCounters {
        self.counters
    }

    /// Frames and bytes accepted and not yet arrived.
    pub(crate) fn in_flight(&self) -> (u64, u64) {
        (self.ring.len() as u64, self.ring.iter().map(|slot| u64::from(slot.packet.size)).sum())
    }

    /// What the accounting must satisfy at any time.
    pub(crate) fn assert_conserved(&self) {
        let c = &self.counters;
        let (frames, bytes) = self.in_flight();
        assert_eq!(c.accepted, c.delivered + c.lost + frames, "frames are conserved at a port");
        assert_eq!(c.accepted_bytes, c.delivered_bytes + c.lost_bytes + bytes, "bytes are conserved at a port");
        let waiting: u64 = self.ring.iter().skip(self.departed).map(|slot| u64::from(slot.packet.size)).sum();
        assert_eq!(waiting, self.queued_bytes, "the queue's length is the sum of its frames");
    }
}
