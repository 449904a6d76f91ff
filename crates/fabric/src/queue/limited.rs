//! A drop-tail queue whose port may be limited to less than its line: by shaping, where frames wait until they conform, or
//! by policing, where frames that do not conform are dropped before they are queued.
//!
//! Both are token buckets (tc-tbf(8); RFC 2697's committed bucket). The limit may be set, changed and lifted at any time.
//! Frames within a burst keep the line's spacing. Without a limit, frames leave as they do from a drop-tail queue. What is
//! counted is frames, without preamble and gap, as Linux' tbf does.

use headway_units::{Bytes, Rate, Time};

use super::discipline::{Chosen, PortParameters, Scheduler, Spec, Verdict, Waiting};
use super::drop_tail::DropTail;
use super::fifo::{Backlog, Fifo};
use super::limit::Limit;
use crate::bucket::{Bucket, Gate};
use crate::pool::{FrameHandle, Pool};

/// What happens to frames beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Excess {
    /// They wait in the queue.
    Waits,
    /// They are dropped.
    Drops,
}

/// A drop-tail queue that may be limited; without a limit at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedSpec {
    /// As of [`super::QueueSpec::DropTail`].
    pub limit: Option<Limit>,
    /// As of [`super::QueueSpec::DropTail`].
    pub mark: Option<Limit>,
    /// What happens to frames beyond the limit.
    pub excess: Excess,
    /// Bytes that may pass at once. Frames larger than it are dropped by policing and wait for a full bucket otherwise.
    pub burst: Bytes,
}

impl Spec for LimitedSpec {
    type Discipline = Limited;
    const NAME: &'static str = "drop-tail with a limit";

    fn discipline(&self, port: &PortParameters) -> Limited {
        Limited {
            queue: DropTail::new(self.limit, self.mark),
            fifo: Fifo::EMPTY,
            first: 0,
            excess: self.excess,
            burst: self.burst,
            gate: Gate::default(),
            port: Line { rate: port.rate, gap: port.gap },
            busy: Time::ZERO,
            last: Last { leaves: Time::ZERO, bucket: None },
        }
    }

    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// The queue of a port.
#[derive(Debug)]
pub(crate) struct Limited {
    queue: DropTail,
    fifo: Fifo,
    /// Bytes of the first frame, if one waits.
    first: u64,
    excess: Excess,
    burst: Bytes,
    gate: Gate,
    port: Line,
    /// When the frame that was sent last has left.
    busy: Time,
    last: Last,
}

/// What decides how long a frame takes.
#[derive(Debug, Clone, Copy)]
struct Line {
    rate: Rate,
    gap: Bytes,
}

/// The port as it will be when all that waits has left.
#[derive(Debug, Clone, Copy)]
struct Last {
    leaves: Time,
    /// What shapes, then.
    bucket: Option<Bucket>,
}

impl Last {
    /// One frame more waits from `now` on.
    fn add(&mut self, now: Time, size: u64, line: Line) {
        let mut begins = now.max(self.leaves);
        if let Some(bucket) = &mut self.bucket {
            begins = begins.max(bucket.holds(size));
            bucket.take(begins, size);
        }
        self.leaves = begins.saturating_add(line.rate.transmission(Bytes::new(size) + line.gap));
    }
}

impl Limited {
    /// Another limit from `now` on, or none. The port has to be woken.
    pub fn set<B: Copy>(&mut self, now: Time, rate: Option<Rate>, pool: &Pool<B>) {
        self.gate.set(now, rate, self.burst);
        self.last = Last { leaves: self.busy, bucket: self.shaper().copied() };
        for packet in self.fifo.iter(pool) {
            self.last.add(now, u64::from(packet.size), self.port);
        }
    }

    fn shaper(&self) -> Option<&Bucket> {
        self.gate.get().filter(|_| self.excess == Excess::Waits)
    }
}

impl Scheduler for Limited {
    fn admit(&mut self, now: Time, (bytes, frames): (Bytes, u32), size: u16) -> Verdict {
        let size_in_bytes = u64::from(size);
        let policer = self.gate.get().filter(|_| self.excess == Excess::Drops);
        if policer.is_some_and(|bucket| !bucket.fits(size_in_bytes) || bucket.holds(size_in_bytes) > now) {
            return Verdict::Drop;
        }
        self.queue.offer(bytes, frames, size)
    }

    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        let size = waiting.size(&frame);
        // not before: a shared buffer may have refused it
        if let (Some(bucket), Excess::Drops) = (self.gate.get_mut(), self.excess) {
            bucket.take(waiting.now, size);
        }
        if self.fifo.is_empty() {
            self.first = size;
        }
        self.last.add(waiting.now, size, self.port);
        waiting.push(&mut self.fifo, frame);
        Ok(())
    }

    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
        if self.ready(waiting.backlog) > waiting.now {
            return None;
        }
        let taken = waiting.pop(&mut self.fifo)?;
        self.first = self.fifo.first_size(waiting.pool).unwrap_or(0);
        if let (Some(bucket), Excess::Waits) = (self.gate.get_mut(), self.excess) {
            bucket.take(waiting.now, taken.size);
        }
        let Line { rate, gap } = self.port;
        self.busy = waiting.now.saturating_add(rate.transmission(Bytes::new(taken.size) + gap));
        Some(Chosen { frame: taken.frame, size: taken.size, marked: false })
    }

    fn leaves(&self) -> Time {
        self.last.leaves
    }

    fn ready(&self, _backlog: &Backlog) -> Time {
        if self.fifo.is_empty() { Time::NEVER } else { self.shaper().map_or(Time::ZERO, |gate| gate.holds(self.first)) }
    }

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        waiting.flush(&mut self.fifo);
        self.last = Last { leaves: self.busy, bucket: self.shaper().copied() };
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.fifo.count(pool)
    }
}

#[cfg(test)]
mod tests {
    use headway_engine::{EventClass, EventQueue, Streams};
    use headway_units::{Span, Time};
    use proptest::prelude::*;

    use super::*;
    use crate::{Endpoint, Fabric, Graph, LinkId, Packet, QueueSpec, SharedBufferSpec, Step, Wire};

    const LINE: Rate = Rate::from_gbps(1);

    /// A port of 1 Gb/s, so 8 ns a byte, and no delay.
    struct Bench {
        fabric: Fabric<()>,
        queue: EventQueue,
        link: LinkId,
        hop: u32,
        /// When the last bit of each frame has left, and its size.
        left: Vec<(Time, u16)>,
        refused: u64,
    }

    fn at(nanos: u64) -> Time {
        Time::ZERO + Span::from_nanos(nanos)
    }

    fn limited(excess: Excess, limit: Option<Limit>) -> QueueSpec {
        let mark = Some(Limit::Bytes(Bytes::new(6_000)));
        QueueSpec::Limited(LimitedSpec { limit, mark, excess, burst: Bytes::new(3_000) })
    }

    impl Bench {
        fn new(queue: QueueSpec) -> Bench {
            let wire = Wire { rate: LINE, delay: Span::ZERO, gap: Bytes::ZERO, loss: 0.0, queue };
            let mut graph = Graph::new();
            let [a, b] = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
            let (link, _) = graph.connect(a, b, wire, wire).unwrap();
            let mut fabric = Fabric::new(&graph, Streams::new(1));
            let hop = fabric.routes.insert(&[link], Endpoint(7));
            Bench { fabric, queue: EventQueue::new(), link, hop, left: Vec::new(), refused: 0 }
        }

        /// Handles the events before `end`.
        fn until(&mut self, end: Time) {
            while let Some((now, source, sequence)) = self.queue.peek().filter(|&(now, ..)| now < end) {
                if source.class() == EventClass::Arrival {
                    match self.fabric.arrival(&mut self.queue, now, source.entity()) {
                        Step::Delivered(_, packet) => self.left.push((now, packet.size)),
                        Step::Discarded(..) => self.refused += 1,
                        Step::Forwarded => {}
                    }
                } else {
                    self.fabric.departure(&mut self.queue, now, source.entity(), sequence);
                }
                self.fabric.assert_conserved();
            }
        }

        fn offer(&mut self, now: Time, size: u16) -> bool {
            let packet = Packet { hop: self.hop, size, tos: 2, tag: 0, body: () };
            let taken = self.fabric.send(&mut self.queue, now, packet).is_ok();
            self.refused += u64::from(!taken);
            taken
        }

        fn limit(&mut self, now: Time, rate: Option<Rate>) {
            self.fabric.limit(&mut self.queue, now, self.link, rate);
        }

        /// The start of a frame's transmission.
        fn started(&(left, size): &(Time, u16)) -> u64 {
            left.picos() - 8_000 * u64::from(size)
        }
    }

    /// 100 Mb/s is 80 ns a byte: 3,000 bytes at once, at the line's spacing, then a frame of 1,500 in 120 µs.
    #[test]
    fn shaped_frames_leave_in_a_burst_at_the_lines_rate_and_then_at_the_limit() {
        let mut bench = Bench::new(limited(Excess::Waits, None));
        bench.limit(at(0), Some(Rate::from_mbps(100)));
        (0..4).for_each(|_| assert!(bench.offer(at(0), 1_500)));
        bench.until(Time::NEVER);
        let starts: Vec<Time> = bench.left.iter().map(|left| Time::from_picos(Bench::started(left))).collect();
        assert_eq!(starts, [at(0), at(12_000), at(120_000), at(240_000)]);
    }

    #[test]
    fn a_limit_that_is_lifted_lets_all_go_at_the_lines_rate() {
        let mut bench = Bench::new(limited(Excess::Waits, None));
        bench.limit(at(0), Some(Rate::from_bps(1_000)));
        (0..4).for_each(|_| assert!(bench.offer(at(0), 1_500)));
        bench.until(at(1_000_000));
        assert_eq!(bench.left.len(), 2, "the burst");
        bench.limit(at(1_000_000), None);
        bench.until(Time::NEVER);
        assert_eq!(bench.left[2..], [(at(1_012_000), 1_500), (at(1_024_000), 1_500)]);
    }

    /// 100 Mb/s is 80 ns a byte: 1,000 bytes come back in the 80 µs without a limit, and not the whole burst.
    #[test]
    fn a_limit_that_comes_and_goes_does_not_bring_a_burst_each_time() {
        let limit = Some(Rate::from_mbps(100));
        let mut policed = Bench::new(limited(Excess::Drops, None));
        policed.limit(at(0), limit);
        assert!(policed.offer(at(0), 1_500) && policed.offer(at(0), 1_500));
        policed.limit(at(0), None);
        policed.until(at(80_000));
        policed.limit(at(80_000), limit);
        assert_eq!([1_000, 64].map(|size| policed.offer(at(80_000), size)), [true, false]);
        let mut shaped = Bench::new(limited(Excess::Waits, None));
        shaped.limit(at(0), limit);
        assert!(shaped.offer(at(0), 1_500) && shaped.offer(at(0), 1_500));
        shaped.until(at(40_000));
        shaped.limit(at(40_000), None);
        shaped.limit(at(40_000), limit);
        assert!(shaped.offer(at(40_000), 1_500));
        shaped.until(Time::NEVER);
        assert_eq!(Bench::started(&shaped.left[2]), at(120_000).picos());
        let mut far = Bench::new(QueueSpec::DropTail { limit: None, mark: None });
        far.fabric.allow_policing(far.link, Bytes::new(3_000));
        far.fabric.police(at(0), far.link, limit);
        assert!(far.offer(at(0), 1_500) && far.offer(at(0), 1_500));
        far.until(at(30_000));
        far.fabric.police(at(30_000), far.link, None);
        far.fabric.police(at(30_000), far.link, limit);
        assert!(far.offer(at(30_000), 1_500));
        far.until(Time::NEVER);
        assert_eq!(far.fabric.counters(far.link).policed.frames, 1);
    }

    #[test]
    fn policed_frames_beyond_the_burst_are_dropped_and_counted() {
        let mut bench = Bench::new(limited(Excess::Drops, None));
        bench.limit(at(0), Some(Rate::from_mbps(100)));
        assert_eq!([1_500, 1_400, 200, 100].map(|size| bench.offer(at(0), size)), [true, true, false, true]);
        // 80 ns a byte
        assert!(!bench.offer(at(3_000), 100));
        assert!(bench.offer(at(8_000), 100));
        bench.until(Time::NEVER);
        let counters = bench.fabric.counters(bench.link);
        assert_eq!((counters.dropped.frames, counters.dropped.bytes, counters.delivered.frames), (2, 300, 4));
    }

    #[test]
    fn what_comes_in_is_policed_at_the_wires_far_end() {
        let mut bench = Bench::new(QueueSpec::DropTail { limit: None, mark: None });
        bench.fabric.allow_policing(bench.link, Bytes::new(3_000));
        (0..4).for_each(|_| assert!(bench.offer(at(0), 1_500)));
        bench.fabric.police(at(0), bench.link, Some(Rate::from_mbps(100)));
        bench.until(Time::NEVER);
        // they come every 12 µs, which give 150 bytes
        let counters = bench.fabric.counters(bench.link);
        assert_eq!((counters.policed.frames, counters.delivered.frames, counters.accepted.frames), (2, 2, 4));
        bench.fabric.police(at(60_000), bench.link, None);
        assert!(bench.offer(at(60_000), 1_500));
        bench.until(Time::NEVER);
        assert_eq!(bench.fabric.counters(bench.link).delivered.frames, 3);
    }

    /// A switch with room for one frame; 100 Mb/s is 80 ns a byte.
    #[test]
    fn a_frame_that_the_shared_buffer_refuses_takes_nothing_from_the_bucket() {
        let drop_tail = QueueSpec::DropTail { limit: None, mark: None };
        let wire = |queue, rate| Wire { rate, delay: Span::ZERO, gap: Bytes::ZERO, loss: 0.0, queue };
        let mut graph = Graph::new();
        let [a, b] = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
        let switch = graph.add_switch("s", Span::ZERO).unwrap();
        let fast = wire(drop_tail, Rate::from_gbps(100));
        let (first, _) = graph.connect(a, switch, fast, fast).unwrap();
        let slow = wire(drop_tail, LINE);
        let (link, _) = graph.connect(switch, b, wire(limited(Excess::Drops, None), LINE), slow).unwrap();
        let shared = SharedBufferSpec { size: Bytes::new(2_000), alpha: 1_000.0, reserve: Bytes::ZERO };
        graph.share_buffer(switch, shared);
        let mut fabric = Fabric::new(&graph, Streams::new(1));
        let hop = fabric.routes.insert(&[first, link], Endpoint(7));
        let mut bench = Bench { fabric, queue: EventQueue::new(), link, hop, left: Vec::new(), refused: 0 };
        bench.limit(at(0), Some(Rate::from_mbps(100)));
        // the second comes while the first is sent; the third finds an empty buffer
        for start in [0, 1_000, 20_000] {
            bench.until(at(start));
            assert!(bench.offer(at(start), 1_500));
        }
        bench.until(Time::NEVER);
        assert_eq!((bench.left.len(), bench.refused), (2, 1), "3,000 bytes pass at once");
    }

    proptest! {
        /// A port that may be limited and is not does as a drop-tail port does, to the picosecond.
        #[test]
        fn without_a_limit_it_is_drop_tail(steps in prop::collection::vec((0_u64..20_000, 64_u16..1_519), 1..200), police: bool) {
            let limit = Some(Limit::Bytes(Bytes::new(9_000)));
            let excess = if police { Excess::Drops } else { Excess::Waits };
            let plain = QueueSpec::DropTail { limit, mark: Some(Limit::Bytes(Bytes::new(6_000))) };
            let mut benches = [Bench::new(limited(excess, limit)), Bench::new(plain)];
            for bench in &mut benches {
                let mut now = 0;
                for &(later, size) in &steps {
                    now += later;
                    // departures come before arrivals of the same instant at neither port: a frame that leaves now
                    bench.until(at(now) + Span::from_picos(1));
                    bench.offer(at(now), size);
                }
                bench.until(Time::NEVER);
            }
            let [own, plain] = &benches;
            prop_assert_eq!(&own.left, &plain.left);
            prop_assert_eq!(own.fabric.counters(own.link), plain.fabric.counters(plain.link));
        }

        /// Over any window, what leaves is at most the burst and what the limits in force gave; changes lose no frame, and
        /// what is dropped is counted.
        #[test]
        fn what_leaves_conforms_and_nothing_is_lost(
            steps in prop::collection::vec((0_u64..60_000, 64_u16..1_519, prop::option::of(1_000_000_u64..900_000_000)), 1..150),
            police: bool,
        ) {
            let excess = if police { Excess::Drops } else { Excess::Waits };
            let mut bench = Bench::new(limited(excess, Some(Limit::Bytes(Bytes::new(30_000)))));
            let (mut now, mut offered) = (0, 0);
            let mut changes = vec![(at(0), 100_000_000)];
            bench.limit(at(0), Some(Rate::from_bps(100_000_000)));
            for &(later, size, change) in &steps {
                now += later;
                bench.until(at(now));
                if let Some(rate) = change {
                    bench.limit(at(now), Some(Rate::from_bps(rate)));
                    changes.push((at(now), rate));
                } else {
                    bench.offer(at(now), size);
                    offered += 1;
                }
            }
            bench.until(Time::NEVER);
            let counters = bench.fabric.counters(bench.link);
            prop_assert_eq!(bench.left.len() as u64 + bench.refused, offered);
            prop_assert_eq!(counters.dropped.frames, bench.refused);
            if !police {
                conforms(&bench, &changes)?;
            }
        }
    }

    proptest! {
        /// The time at which the last frame leaves is foreseen to the picosecond while the limit stays, and anew when it is
        /// set; without a limit it is a drop-tail port's.
        #[test]
        fn when_the_last_frame_leaves_is_known(
            steps in prop::collection::vec((0_u64..30_000, 64_u16..1_519), 1..100),
            rates in prop::collection::vec(prop::option::of(1_000_000_u64..900_000_000), 1..4),
        ) {
            let plain = QueueSpec::DropTail { limit: None, mark: None };
            let [mut bench, mut plain] = [limited(Excess::Waits, None), plain].map(Bench::new);
            let mut now = 0;
            for rate in &rates {
                bench.limit(at(now), rate.map(Rate::from_bps));
                for &(later, size) in &steps {
                    now += later;
                    for bench in [&mut bench, &mut plain] {
                        bench.until(at(now));
                        bench.offer(at(now), size);
                    }
                }
            }
            bench.limit(at(now), rates[0].map(Rate::from_bps));
            let foreseen = bench.fabric.leaves(bench.hop);
            if rates.iter().all(Option::is_none) {
                prop_assert_eq!(foreseen, plain.fabric.leaves(plain.hop));
            }
            bench.until(Time::NEVER);
            prop_assert_eq!(foreseen, bench.left.last().map(|own| own.0));
        }
    }

    /// What left, in bits · ps/s: at most the burst and the integral of the limits, from any frame's start to any other's.
    fn conforms(bench: &Bench, changes: &[(Time, u64)]) -> Result<(), TestCaseError> {
        let integral = |until: u64| -> i128 {
            let ends = changes.iter().skip(1).map(|change| change.0.picos()).chain([u64::MAX]);
            let parts = changes
                .iter()
                .zip(ends)
                .map(|(&(from, rate), to)| i128::from(to.min(until).saturating_sub(from.picos())) * i128::from(rate));
            parts.sum()
        };
        // since the frame at which the most has been left unused
        let (mut sum, mut least) = (0_i128, i128::MAX);
        for left in &bench.left {
            let given = integral(Bench::started(left));
            least = least.min(sum - given);
            sum += i128::from(left.1) * 8_000_000_000_000;
            prop_assert!(sum - given - least <= 3_000 * 8_000_000_000_000);
        }
        Ok(())
    }
}
