//! Controlled delay: CoDel (RFC 8289), with ECN.
//!
//! When frames have waited longer than `target` for a whole `interval`, the first that leaves is dropped, and further
//! ones at intervals of interval/√n until the wait is below `target` again. The pseudocode of RFC 8289 §5.5 and §5.6
//! in its order of steps; marking instead of dropping is `include/net/codel_impl.h: codel_dequeue`'s.
//! The wait is until the first bit leaves: a frame's own transmission is not in it.
//! "maxpacket", below which a backlog is never too long, is the largest frame that the queue has seen.
//! Leaves out: the approximate inverse square root of implementations; it is exact here, rounded down to a picosecond.

use headway_units::{Span, Time};

use super::discipline::{Chosen, PortParameters, Scheduler, Spec, Waiting};
use super::fifo::{Backlog, Fifo, Taken};
use super::limit::Limit;
use crate::pool::{FrameHandle, Pool};

/// Controlled delay (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelSpec {
    /// Arrivals that would make the queue exceed this are dropped. `None`: only the control law drops.
    pub limit: Option<Limit>,
    /// The control.
    pub law: CodelLaw,
}

/// The parameters of CoDel's control (RFC 8289 §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelLaw {
    /// The standing delay that is acceptable.
    pub target: Span,
    /// The window in which the delay must once have been below `target`; a round-trip time of the slowest flows.
    pub interval: Span,
    /// ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
    /// ECN-capable frames that waited longer than this are marked, whatever the control does.
    pub mark: Option<Span>,
}

impl Spec for CodelSpec {
    type Discipline = CodelQueue;
    const NAME: &'static str = "CoDel";

    fn discipline(&self, _port: &PortParameters) -> CodelQueue {
        CodelQueue::new(self)
    }

    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// State of the control of one queue (RFC 8289 §5.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codel {
    /// When the wait will have been above the target for an interval; `ZERO` while it is below.
    first_above: Time,
    drop_next: Time,
    pub count: u32,
    last_count: u32,
    dropping: bool,
}

/// RFC 8289 §5.6 `control_law`: `interval`/√`count` after `from`.
fn control_law(from: Time, interval: Span, count: u32) -> Time {
    let square = u128::from(interval.picos()).pow(2) / u128::from(count.max(1));
    from.saturating_add(Span::from_picos(square.isqrt() as u64))
}

impl Codel {
    pub const NEW: Codel =
        Codel { first_above: Time::ZERO, drop_next: Time::ZERO, count: 0, last_count: 0, dropping: false };

    /// RFC 8289 §5.6 `dodequeue`: whether the wait has been too long for long enough.
    fn above(&mut self, law: &CodelLaw, now: Time, taken: Option<&Taken>, bytes: u64, largest: u64) -> bool {
        match taken {
            Some(taken) if taken.sojourn >= law.target && bytes > largest => {
                if self.first_above == Time::ZERO {
                    self.first_above = now.saturating_add(law.interval);
                    false
                } else {
                    now >= self.first_above
                }
            }
            _ => {
                self.first_above = Time::ZERO;
                false
            }
        }
    }

    /// RFC 8289 §5.5 `dequeue`: the frame to be sent. `largest` is the largest frame seen.
    pub fn dequeue<B: Copy>(
        &mut self,
        law: &CodelLaw,
        largest: u64,
        fifo: &mut Fifo,
        waiting: &mut Waiting<'_, B>,
    ) -> Option<Chosen> {
        let now = waiting.now;
        let mut marked = false;
        let mut next = waiting.pop(fifo);
        let mut above = self.above(law, now, next.as_ref(), waiting.backlog.bytes, largest);
        if self.dropping {
            self.dropping = above;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                marked = self.signal(law, &mut next, fifo, waiting);
                if marked {
                    self.drop_next = control_law(self.drop_next, law.interval, self.count);
                    break;
                }
                above = self.above(law, now, next.as_ref(), waiting.backlog.bytes, largest);
                if above {
                    self.drop_next = control_law(self.drop_next, law.interval, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if above {
            marked = self.signal(law, &mut next, fifo, waiting);
            if !marked {
                // Only for what it does to the state.
                self.above(law, now, next.as_ref(), waiting.backlog.bytes, largest);
            }
            self.dropping = true;
            // "If min went above TARGET close to when it last went below, assume that the drop rate that controlled
            // the queue on the last cycle is a good starting point": the drops of that cycle.
            let delta = self.count - self.last_count;
            let recent = now.since(self.drop_next) < law.interval.saturating_mul(16);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = control_law(now, law.interval, self.count);
            self.last_count = self.count;
        }
        let Taken { frame, size, sojourn } = next?;
        if law.mark.is_some_and(|threshold| sojourn > threshold) {
            marked |= waiting.pool.slot(&frame).packet.mark_ce();
        }
        Some(Chosen { frame, size, marked })
    }

    /// Marks `next`, or drops it and takes the one behind it. True if it is marked.
    fn signal<B: Copy>(
        &self,
        law: &CodelLaw,
        next: &mut Option<Taken>,
        fifo: &mut Fifo,
        waiting: &mut Waiting<'_, B>,
    ) -> bool {
        debug_assert!(self.first_above != Time::ZERO);
        if law.ecn && next.as_ref().is_some_and(|taken| waiting.pool.slot(&taken.frame).packet.mark_ce()) {
            return true;
        }
        waiting.dropped.extend(next.take().map(|taken| taken.frame));
        *next = waiting.pop(fifo);
        false
    }
}

/// A port with one queue under the control.
#[derive(Debug)]
pub(crate) struct CodelQueue {
    law: CodelLaw,
    limit_bytes: u64,
    limit_frames: u32,
    largest: u64,
    fifo: Fifo,
    state: Codel,
}

impl CodelQueue {
    pub fn new(spec: &CodelSpec) -> CodelQueue {
        let (limit_bytes, limit_frames) = Limit::split(spec.limit);
        CodelQueue { law: spec.law, limit_bytes, limit_frames, largest: 0, fifo: Fifo::EMPTY, state: Codel::NEW }
    }
}

impl Scheduler for CodelQueue {
    /// Drops for want of room do not count for the control (RFC 8289 §5.4).
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        let size = waiting.size(&frame);
        if waiting.backlog.bytes + size > self.limit_bytes || waiting.backlog.frames >= self.limit_frames {
            return Err(frame);
        }
        self.largest = self.largest.max(size);
        waiting.push(&mut self.fifo, frame);
        Ok(())
    }

    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
        self.state.dequeue(&self.law, self.largest, &mut self.fifo, waiting)
    }

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        waiting.flush(&mut self.fifo);
        self.state = Codel::NEW;
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.fifo.count(pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Packet, ecn};

    /// RFC 8289 §5.3's constants.
    const LAW: CodelLaw =
        CodelLaw { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false, mark: None };

    /// A queue whose frames leave one per millisecond, each after as long a wait as the test says.
    struct Line {
        queue: CodelQueue,
        pool: Pool<()>,
        backlog: Backlog,
        dropped: Vec<FrameHandle>,
        now: u64,
        /// Milliseconds of signals.
        signals: Vec<u64>,
    }

    impl Line {
        fn new(law: CodelLaw) -> Line {
            let queue = CodelQueue::new(&CodelSpec { limit: None, law });
            let (pool, backlog, dropped) = (Pool::new(), Backlog::default(), Vec::new());
            Line { queue, pool, backlog, dropped, now: 0, signals: Vec::new() }
        }

        /// The queue and what waits in it at `now`.
        fn at(&mut self, now: Time) -> (&mut CodelQueue, Waiting<'_, ()>) {
            let (backlog, pool, dropped) = (&mut self.backlog, &mut self.pool, &mut self.dropped);
            (&mut self.queue, Waiting { now, backlog, pool, dropped })
        }

        /// Lets frames leave for `for_ms`, each of which has waited `wait`; more of them stand behind.
        fn run(&mut self, for_ms: u64, wait: Span) {
            for _ in 0..for_ms {
                let now = Time::ZERO + Span::from_millis(1000 + self.now);
                // what waits came when the frame that leaves now says, however many are dropped before it
                while self.queue.fifo.pop(now, &mut self.pool).map(|taken| self.pool.remove(taken.frame)).is_some() {}
                self.backlog = Backlog::default();
                for _ in 0..8 {
                    let packet = Packet { hop: 0, size: 1500, tos: ecn::CAPABLE, tag: 0, body: () };
                    let frame = self.pool.insert(packet);
                    let (queue, mut waiting) = self.at(now - wait);
                    queue.enqueue(frame, &mut waiting).unwrap();
                }
                let (queue, mut waiting) = self.at(now);
                let chosen = queue.dequeue(&mut waiting).unwrap();
                let signals = self.dropped.len() + usize::from(chosen.marked);
                self.signals.extend(std::iter::repeat_n(self.now, signals));
                for frame in self.dropped.drain(..).chain([chosen.frame]) {
                    self.pool.remove(frame);
                }
                self.now += 1;
            }
        }
    }

    /// RFC 8289 §5.6 and §3.3: the first drop comes when the wait has been too long for an interval, the n-th drop
    /// 100 ms/√(n − 1) after the one before: at 100 ms · Σ 1/√k from the first, in the first millisecond from then on.
    fn expected(first: u64, drops: u64, from_count: u64) -> Vec<u64> {
        let mut at = first as f64;
        (0..drops)
            .map(|n| {
                let when = (at - 1e-6).ceil() as u64;
                at += 100.0 / ((from_count + n) as f64).sqrt();
                when
            })
            .collect()
    }

    #[test]
    fn drops_come_at_intervals_of_one_over_the_root() {
        for ecn in [false, true] {
            let mut line = Line::new(CodelLaw { ecn, ..LAW });
            line.run(10, Span::from_millis(4));
            line.run(1000, Span::from_millis(6));
            let drops = expected(110, line.signals.len() as u64, 1);
            assert_eq!(line.signals, drops, "ecn {ecn}");
            // worked by hand: 0, 100, 170.7, 228.4, 278.4 ms after the first
            assert_eq!(line.signals[..5], [110, 210, 281, 339, 389]);
            assert!(line.signals.len() > 15);
        }
    }

    #[test]
    fn a_wait_that_falls_below_the_target_within_an_interval_is_none() {
        let mut line = Line::new(LAW);
        for _ in 0..20 {
            line.run(99, Span::from_millis(50));
            line.run(1, Span::from_micros(4999));
        }
        assert_eq!(line.signals, []);
        // exactly the target is too long: "sojourn time < TARGET" is what is fine
        line.run(101, Span::from_millis(5));
        assert_eq!(line.signals, [2100]);
    }

    /// §5.5: back above the target soon after, control goes on at the rate it ended with: the count is what was
    /// dropped in the last cycle but one. After 16 intervals without a drop it starts at one.
    #[test]
    fn control_resumes_where_it_left_off() {
        for (pause, count) in [(100, 10), (1700, 1)] {
            let mut line = Line::new(LAW);
            // 11 drops: the last 100 · Σ_{k ≤ 10} 1/√k = 502.1 ms after the first
            line.run(100 + 504, Span::from_millis(6));
            assert_eq!(line.signals.len(), 11);
            line.signals.clear();
            line.run(pause, Span::from_millis(1));
            line.run(300, Span::from_millis(6));
            let first = 604 + pause + 100;
            assert_eq!(line.signals, expected(first, line.signals.len() as u64, count), "pause {pause} ms");
            assert!(line.signals.len() >= 2);
        }
    }

    /// A backlog of no more than one frame is never too long, however slow the line (§5.6).
    #[test]
    fn the_last_frame_is_not_dropped() {
        let mut line = Line::new(LAW);
        for second in 0..20 {
            let now = Time::ZERO + Span::from_secs(second + 1);
            for _ in 0..2 {
                let packet = Packet { hop: 0, size: 1500, tos: 0, tag: 0, body: () };
                let frame = line.pool.insert(packet);
                let (queue, mut waiting) = line.at(now);
                queue.enqueue(frame, &mut waiting).unwrap();
            }
            for _ in 0..2 {
                let late = now + Span::from_millis(500);
                let (queue, mut waiting) = line.at(late);
                let chosen = queue.dequeue(&mut waiting);
                assert!(chosen.is_some() && line.dropped.is_empty());
            }
        }
    }

    #[test]
    fn waits_over_a_threshold_of_their_own_are_marked() {
        let mut line = Line::new(CodelLaw { mark: Some(Span::from_millis(1)), ..LAW });
        line.run(3, Span::from_millis(1));
        line.run(3, Span::from_micros(1001));
        assert_eq!(line.signals, [3, 4, 5]);
    }
}
