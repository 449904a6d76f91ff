//! What is counted at a port.

use std::ops::Add;
use std::time::Duration;

use headway_units::Span;

/// A number of frames and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Frames.
    pub frames: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn count(&mut self, size: u64) {
        self.frames += 1;
        self.bytes += size;
    }
}

impl Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        Tally { frames: self.frames + other.frames, bytes: self.bytes + other.bytes }
    }
}

/// What passed a port since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Taken into the queue.
    pub accepted: Tally,
    /// Reached the far end undamaged.
    pub delivered: Tally,
    /// Dropped by the queue: refused, or evicted later.
    pub dropped: Tally,
    /// Those of the dropped that had been accepted before.
    pub evicted: Tally,
    /// Damaged on the wire.
    pub lost: Tally,
    /// Lost because the link is down: refused since it is, or cut off when it went down.
    pub down: Tally,
    /// Those of `down` that had been accepted before.
    pub severed: Tally,
    /// Refused at the far end of the wire, by a limit on what comes in there.
    pub policed: Tally,
    /// Frames marked CE here.
    pub marked: u64,
    /// The time that frames waited until their transmission began, of all that were accepted together: what is known of it
    /// so far. Random processing is in it. Of a frame that waits for a scheduler it is known when its turn comes, and of one that
    /// is evicted never.
    pub waited: Duration,
}

/// The sum of waiting times at a port. In units of 1,024 ps, rounded down for each frame: whole picoseconds would be beyond
/// 64 bits after 213 days, which is 200 million frames that wait for 100 ms each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Waited(u64);

impl Waited {
    const SHIFT: u32 = 10;

    /// Adds the time that a frame waited.
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.0 += span.picos() >> Self::SHIFT;
    }

    /// All of it.
    pub fn total(self) -> Duration {
        let picos = u128::from(self.0) << Self::SHIFT;
        let nanos = picos / 1000;
        Duration::new((nanos / 1_000_000_000) as u64, (nanos % 1_000_000_000) as u32)
    }
}

impl PortCounters {
    /// Frames that reached the port, whatever became of them.
    pub fn offered(&self) -> Tally {
        let sum = |tallies: [Tally; 3], of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
        // Those that had been accepted are in `accepted` and again in `dropped` or `down`.
        let (in_, twice) = ([self.accepted, self.dropped, self.down], [self.evicted, self.severed, Tally::default()]);
        let count = |of| sum(in_, of) - sum(twice, of);
        Tally { frames: count(|tally| tally.frames), bytes: count(|tally| tally.bytes) }
    }
}

impl Add for PortCounters {
    type Output = PortCounters;
    fn add(self, other: PortCounters) -> PortCounters {
        PortCounters {
            accepted: self.accepted + other.accepted,
            delivered: self.delivered + other.delivered,
            dropped: self.dropped + other.dropped,
            evicted: self.evicted + other.evicted,
            lost: self.lost + other.lost,
            down: self.down + other.down,
            severed: self.severed + other.severed,
            policed: self.policed + other.policed,
            marked: self.marked + other.marked,
            waited: self.waited + other.waited,
        }
    }
}
