//! An output port and the wire behind it, with one event per frame: its arrival at the far end.
//!
//! A FIFO needs no departure event: what is accepted at `now` starts at max(now, busy_until), leaves
//! size/rate later and arrives one propagation delay (and the far node's latency) after that. Frames queued and
//! frames on the wire stand in one list in the order of their arrivals; those that have left the queue are found
//! lazily at its front. Ports whose queue is no FIFO keep what waits elsewhere: see [`SlowPath`].

use std::marker::PhantomData;

use headway_engine::{Stream, Streams};
use headway_units::{Bytes, Rate, Span, Time};

use crate::bucket::Gate;
use crate::counters::{PortCounters, Tally, Waited};
use crate::packet::Packet;
use crate::pool::{Cursor, FrameHandle, List, Pool, Slot};
use crate::queue::{AnyScheduler, Backlog, BufferSlot, Discipline, DropTail, PortParameters, QueueSpec, Verdict};
use crate::slow_path::SlowPath;
use crate::wire::{PeriodicLoss, Wire};

/// Bytes of the smallest Ethernet frame.
const SMALLEST_FRAME: u64 = 64;

/// What few wires have: random damage, failures, and limits on what comes in at their far end.
#[derive(Debug, Default)]
struct Impairment {
    damage: Option<Damage>,
    /// Frames that were damaged.
    lost: Tally,
    /// How many frames, from the front of the port's list, were cut off when the link went down.
    cut: u32,
    down: Tally,
    severed: Tally,
    /// Bytes that may come in at once beyond the limit, if there may be one; and the limit.
    burst: Bytes,
    gate: Gate,
    policed: Tally,
}

/// What decides about damage to frames.
#[derive(Debug)]
enum Damage {
    /// The probability and its random numbers.
    Random(f64, Stream),
    /// One of `every` frames; the next one is frame number `next` from now, from 1.
    Periodic { every: u32, next: u32 },
}

impl Damage {
    /// Whether the frame that arrives now is damaged.
    fn strikes(&mut self) -> bool {
        match self {
            Damage::Random(probability, stream) => stream.chance(*probability),
            Damage::Periodic { every, next } => {
                let struck = *next == 1;
                *next = if struck { *every } else { *next - 1 };
                struck
            }
        }
    }
}

impl Impairment {
    /// Whether the frame that arrives now does not; if so, it is counted. A limit is not on frames of MAC control.
    fn strikes(&mut self, now: Time, size: u64, is_control: impl FnOnce() -> bool) -> bool {
        if self.cut > 0 {
            self.cut -= 1;
            self.sever(size);
            return true;
        }
        let struck = self.damage.as_mut().is_some_and(Damage::strikes);
        if struck {
            self.lost.count(size);
        }
        struck || self.gate.get().is_some() && !is_control() && self.polices(now, size)
    }

    /// Whether the frame is beyond the limit; if so, it is counted.
    fn polices(&mut self, now: Time, size: u64) -> bool {
        let Some(bucket) = self.gate.get_mut() else { return false };
        let conforms = bucket.fits(size) && bucket.holds(size) <= now;
        if conforms {
            bucket.take(now, size);
        } else {
            self.policed.count(size);
        }
        !conforms
    }

    fn sever(&mut self, size: u64) {
        self.down.count(size);
        self.severed.count(size);
    }
}

/// The queue of a port.
#[derive(Debug)]
pub(crate) enum Queue {
    /// Most ports': decided in a few comparisons.
    DropTail(DropTail),
    /// All others, and those with a shared buffer.
    SlowPath(Box<SlowPath>),
}

/// Whether a frame at this place of its route is a pause frame of the port with this queue.
fn is_pause_frame(queue: &Queue, hop: u32) -> bool {
    matches!(queue, Queue::SlowPath(slow)
        if matches!(&slow.discipline, Discipline::Scheduled(AnyScheduler::Dcb(dcb)) if dcb.is_pause_route(hop)))
}

/// One direction of a cable. The fields that every frame touches come first, in two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port<B> {
    busy_until: Time,
    /// Bytes of the frames not known to have left the queue: an upper bound of what is queued.
    queued_bytes: u64,
    /// Frames queued and frames on the wire.
    frames: List,
    /// How many of them, from the front, are known to have left the queue and to be on the wire only.
    departed: u32,
    /// The first one that is not.
    waiting: Cursor,
    /// Wire time per frame that is not in the frame, in bytes.
    gap: u32,
    impairment: Option<Box<Impairment>>,
    /// Picoseconds per byte, or 0 if that is not whole.
    per_byte: u64,
    /// From a frame's last bit on the wire until the far node has it at its output port.
    delay: Span,
    /// The fast path: up to so many bytes, the new frame's included, and fewer than so many frames before it, `queue`
    /// accepts.
    fast_bytes: u64,
    fast_frames: u32,
    pub(crate) accepted: Tally,
    delivered: Tally,
    pub(crate) waited: Waited,
    pub(crate) queue: Queue,
    rate: Rate,
    pub(crate) dropped: Tally,
    pub(crate) marked: u64,
    body: PhantomData<B>,
}

/// What became of a frame offered to a port.
pub(crate) enum Offered {
    /// Queued; it arrives at this time and is the only one on its way, so an event is due.
    First(Time),
    /// Queued behind others.
    Behind,
    /// No room.
    Dropped(FrameHandle),
    /// Not decided: the port has a slow path, and [`Port::offer_slow`] has to be asked.
    Undecided(FrameHandle),
}

impl<B: Copy> Port<B> {
    /// The output port of link `number`, a `wire` whose far node adds `latency`, with its place in a shared buffer.
    pub(crate) fn new(
        wire: &Wire,
        latency: Span,
        slot: Option<BufferSlot>,
        streams: Streams,
        number: usize,
    ) -> Port<B> {
        // What a byte takes is whole at 100 Mb/s, 10 Gb/s, 800 Gb/s …: a multiplication then; elsewhere an exact
        // division, rounded up.
        let second = 8_000_000_000_000;
        let (queue, (fast_bytes, fast_frames)) = match wire.queue {
            QueueSpec::DropTail { limit, mark } if slot.is_none() => {
                let queue = DropTail::new(limit, mark);
                (Queue::DropTail(queue), queue.fast_path())
            }
            spec => {
                let port = PortParameters { rate: wire.rate, gap: wire.gap, streams, number };
                // no frame takes the fast path
                (Queue::SlowPath(Box::new(SlowPath::new(spec.discipline(&port), slot))), (0, 0))
            }
        };
        let stream = || streams.stream(&format!("link/{number}"));
        Port {
            busy_until: Time::ZERO,
            queued_bytes: 0,
            frames: List::EMPTY,
            departed: 0,
            waiting: Cursor::END,
            gap: wire.gap.get() as u32,
            per_byte: if second % wire.rate.bps() == 0 { second / wire.rate.bps() } else { 0 },
            delay: wire.delay + latency,
            fast_bytes,
            fast_frames,
            queue,
            accepted: Tally::default(),
            delivered: Tally::default(),
            waited: Waited::default(),
            impairment: (wire.loss > 0.0).then(|| {
                Box::new(Impairment { damage: Some(Damage::Random(wire.loss, stream())), ..Impairment::default() })
            }),
            rate: wire.rate,
            dropped: Tally::default(),
            marked: 0,
            body: PhantomData,
        }
    }

    #[inline]
    fn transmission(&self, bytes: u64) -> Span {
        if self.per_byte > 0 {
            Span::from_picos(self.per_byte * bytes)
        } else {
            self.rate.transmission(Bytes::new(bytes))
        }
    }

    /// When the last bit of what is being transmitted, or queued first in, first out, leaves.
    pub(crate) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// The line is taken for `span` from `now` on, or from when it is free.
    pub(crate) fn hold_line(&mut self, now: Time, span: Span) {
        self.busy_until = now.max(self.busy_until).saturating_add(span);
    }

    /// Bytes and frames waiting or being transmitted at `now`, exactly.
    pub(crate) fn occupancy(&mut self, now: Time, pool: &Pool<B>) -> (Bytes, u32) {
        let horizon = now + self.delay;
        while let Some(slot) = pool.get(self.waiting) {
            if slot.arrival > horizon {
                break;
            }
            self.queued_bytes -= u64::from(slot.packet.size);
            self.departed += 1;
            self.waiting = pool.after(self.waiting);
        }
        let (bytes, frames) = (self.queued_bytes, self.frames.len - self.departed);
        match &self.queue {
            Queue::DropTail(_) => (Bytes::new(bytes), frames),
            Queue::SlowPath(slow) => (Bytes::new(bytes + slow.backlog.bytes), frames + slow.backlog.frames),
        }
    }

    /// Queues a frame, or gives it back if there is no room.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, frame: FrameHandle, pool: &mut Pool<B>) -> Offered {
        let size = pool.slot(&frame).packet.size;
        let bytes = u64::from(size);
        // Looking for what has departed costs a cache miss; only a full or nearly full queue has to.
        let frames = self.frames.len - self.departed;
        if self.queued_bytes + bytes > self.fast_bytes || frames >= self.fast_frames {
            let Queue::DropTail(queue) = self.queue else { return Offered::Undecided(frame) };
            let (queued, frames) = self.occupancy(now, pool);
            match queue.offer(queued, frames, size) {
                Verdict::Accept => {}
                Verdict::Mark | Verdict::Signal => self.marked += u64::from(pool.slot(&frame).packet.mark_ce()),
                Verdict::Drop => {
                    self.dropped.count(bytes);
                    return Offered::Dropped(frame);
                }
            }
        }
        self.accepted.count(bytes);
        self.transmit(now, frame, bytes, pool)
    }

    /// Puts a frame on the line behind what is on it: [`Offered::First`] or [`Offered::Behind`].
    #[expect(clippy::inline_always, reason = "a call here costs 5 % of a packet's way over a link")]
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, frame: FrameHandle, bytes: u64, pool: &mut Pool<B>) -> Offered {
        self.queued_bytes += bytes;
        self.waited.add(self.busy_until.since(now));
        self.busy_until = now.max(self.busy_until).saturating_add(self.transmission(bytes + u64::from(self.gap)));
        let arrival = self.busy_until.saturating_add(self.delay);
        pool.slot(&frame).arrival = arrival;
        let first = self.frames.len == 0;
        let place = pool.push(&mut self.frames, frame);
        if self.departed + 1 == self.frames.len {
            self.waiting = place;
        }
        if first { Offered::First(arrival) } else { Offered::Behind }
    }

    /// Takes the frame that arrives now: the frame, whether it is undamaged, and when the next one arrives.
    #[inline]
    pub(crate) fn arrive(&mut self, pool: &mut Pool<B>) -> (FrameHandle, bool, Option<Time>) {
        let (frame, behind) = pool.pop(&mut self.frames);
        let slot = pool.slot(&frame);
        let (arrival, size) = (slot.arrival, u64::from(slot.packet.size));
        if self.departed > 0 {
            self.departed -= 1;
        } else {
            self.queued_bytes -= size;
            self.waiting = behind;
        }
        let intact = !self.impairment.as_mut().is_some_and(|impairment| {
            let is_control = || is_pause_frame(&self.queue, pool.slot(&frame).packet.hop);
            impairment.strikes(arrival, size, is_control)
        });
        if intact {
            self.delivered.count(size);
        }
        (frame, intact, pool.get(behind).map(|next| next.arrival))
    }

    /// The frame that arrives next.
    pub(crate) fn arriving<'a>(&self, pool: &'a Pool<B>) -> &'a Packet<B> {
        &pool.iter(&self.frames).next().expect("a frame is on its way").packet
    }

    /// The place of the frame that arrives next.
    pub(crate) fn arriving_place(&self) -> u32 {
        self.frames.first().expect("a frame is on its way")
    }

    /// The first frame on its way, or the smallest one offered at `now`. What waits for a scheduler comes behind the
    /// first, and if none is on its way it waits for a departure that is due now at the earliest.
    pub(crate) fn earliest_arrival(&self, now: Time, pool: &Pool<B>) -> Time {
        match pool.iter(&self.frames).next() {
            Some(slot) => slot.arrival,
            None => {
                now.saturating_add(self.transmission(SMALLEST_FRAME + u64::from(self.gap))).saturating_add(self.delay)
            }
        }
    }

    pub(crate) fn counters(&self) -> PortCounters {
        PortCounters {
            accepted: self.accepted,
            delivered: self.delivered,
            dropped: self.dropped,
            evicted: match &self.queue {
                Queue::DropTail(_) => Tally::default(),
                Queue::SlowPath(slow) => slow.evicted,
            },
            lost: self.lost(),
            down: self.impairment.as_ref().map_or_else(Tally::default, |impairment| impairment.down),
            severed: self.impairment.as_ref().map_or_else(Tally::default, |impairment| impairment.severed),
            policed: self.impairment.as_ref().map_or_else(Tally::default, |impairment| impairment.policed),
            marked: self.marked,
            waited: self.waited.total(),
        }
    }

    /// What waits for its turn, and the port's place in a shared buffer.
    pub(crate) fn backlog(&self) -> (Backlog, Option<BufferSlot>) {
        match &self.queue {
            Queue::DropTail(_) => (Backlog::default(), None),
            Queue::SlowPath(slow) => (slow.backlog, slow.slot),
        }
    }

    /// Accepted and not yet arrived.
    pub(crate) fn in_flight(&self, pool: &Pool<B>) -> Tally {
        let (backlog, _) = self.backlog();
        let waiting = Tally { frames: u64::from(backlog.frames), bytes: backlog.bytes };
        pool.iter(&self.frames).fold(waiting, |mut sum, slot| {
            sum.count(u64::from(slot.packet.size));
            sum
        })
    }

    /// Frames that were damaged on the wire.
    fn lost(&self) -> Tally {
        self.impairment.as_ref().map_or_else(Tally::default, |impairment| impairment.lost)
    }

    /// One of so many frames is damaged, in place of random ones.
    pub(crate) fn lose_every(&mut self, loss: PeriodicLoss) {
        self.impairment.get_or_insert_default().damage = Some(Damage::Periodic { every: loss.every, next: loss.first });
    }

    /// What comes in at the far end may be limited from now on, with bursts.
    pub(crate) fn allow_policing(&mut self, burst: Bytes) {
        self.impairment.get_or_insert_default().burst = burst;
    }

    /// Sets, changes or lifts the limit on what comes in at the far end.
    pub(crate) fn police(&mut self, now: Time, rate: Option<Rate>) {
        let impairment = self.impairment.as_mut().expect("a limit on what comes in is allowed first");
        impairment.gate.set(now, rate, impairment.burst);
    }

    /// Counts a frame that is refused because the link is down.
    pub(crate) fn refuse_down(&mut self, bytes: u64) {
        self.impairment.get_or_insert_default().down.count(bytes);
    }

    /// The link goes down at `now`: what is on the wire does not arrive, the frame being transmitted takes its time and
    /// is lost too, and what waits behind it goes to `dropped`. Returns when the line is free.
    pub(crate) fn sever(&mut self, now: Time, pool: &mut Pool<B>, dropped: &mut Vec<FrameHandle>) -> Time {
        self.occupancy(now, pool);
        let impairment = self.impairment.get_or_insert_default();
        if let Some(&Slot { arrival, packet }) = pool.get(self.waiting) {
            let already = dropped.len();
            pool.truncate(&mut self.frames, self.waiting, dropped);
            for frame in &dropped[already..] {
                impairment.sever(u64::from(pool.slot(frame).packet.size));
            }
            self.queued_bytes = u64::from(packet.size);
            self.busy_until = arrival - self.delay;
        }
        impairment.cut = self.frames.len;
        self.busy_until
    }

    /// Counts frames that waited in a scheduler when the link went down.
    pub(crate) fn count_severed(&mut self, frames: &[FrameHandle], pool: &mut Pool<B>) {
        let impairment = self.impairment.get_or_insert_default();
        for frame in frames {
            impairment.sever(u64::from(pool.slot(frame).packet.size));
        }
    }

    /// Sets the bounds of the fast path; 0 for both lets [`Port::offer_slow`] decide about every frame.
    pub(crate) fn set_fast_path(&mut self, (bytes, frames): (u64, u32)) {
        (self.fast_bytes, self.fast_frames) = (bytes, frames);
    }

    /// What the accounting must satisfy at any time.
    pub(crate) fn assert_conserved(&self, pool: &Pool<B>) {
        let PortCounters { evicted, severed, policed, .. } = self.counters();
        let out = self.delivered + self.lost() + policed + evicted + severed + self.in_flight(pool);
        assert_eq!(
            self.accepted, out,
            "what a port accepts is delivered, damaged, policed, evicted, cut off or on its way"
        );
        let waiting: u64 = pool.iter_from(self.waiting).map(|slot| u64::from(slot.packet.size)).sum();
        assert_eq!(waiting, self.queued_bytes, "the queue's length is the sum of its frames");
        if let Queue::SlowPath(slow) = &self.queue {
            slow.assert_conserved(pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Three cache lines, of which a frame that finds room touches the first two; what few ports have is elsewhere.
    #[test]
    fn what_every_frame_touches_is_in_two_cache_lines() {
        assert_eq!(size_of::<Port<[u32; 4]>>(), 192);
        assert!(offset_of!(Port<[u32; 4]>, waited) + size_of::<Waited>() <= 128);
    }
}
