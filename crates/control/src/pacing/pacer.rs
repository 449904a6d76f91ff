//! A byte clock: when the next frame of a flow, a class or a port may leave.

use super::gap::Line;
use super::target::{Position, Target};

/// How many packets leave back to back before the gap that all of them need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Burst {
    /// So many packets: 1 is the paper's, more what it leaves as future work.
    Packets(u32),
    /// So many bursts in a round trip, each of as many bytes as a window has for it (clustered packet spacing, H. Kamezawa
    /// et al., SC 2004). Without a window it is a packet.
    Clusters(u32),
}

/// A frame, as a pacer counts it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge {
    /// Where on the line it begins.
    pub position: u64,
    /// Bytes of the line that it takes, which are those that targets count.
    pub line: u64,
    /// What is to be kept.
    pub target: Option<Target>,
    /// Bytes that a window holds, if the target is of a window.
    pub window: Option<u64>,
}

/// The state of one clock.
///
/// The schedule is kept exactly: a frame that leaves early because the gap before it cannot be made of frames, or late
/// because the line was busy, does not move those behind it. What is more than an interval late (and `patience`, which a
/// timer needs) is lost, so that nobody saves up a burst.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacer {
    burst: Burst,
    /// From here on a burst may begin.
    due: Position,
    /// Where the burst under way was due: those who are due later do not come between.
    begun: u64,
    /// What may still leave with the burst under way: packets, or bytes of clusters.
    left: u64,
    /// The last burst's gap: so late one may be without a loss.
    interval: u64,
}

impl Pacer {
    /// One that has not sent.
    pub fn new(burst: Burst) -> Pacer {
        Pacer { burst, due: Position::default(), begun: 0, left: 0, interval: 0 }
    }

    /// From where on the next frame may leave.
    pub fn due(&self) -> u64 {
        if self.left > 0 { self.begun } else { self.due.ceil() }
    }

    /// It had nothing to send until `position`: what it could have sent is no credit.
    pub fn resume(&mut self, position: u64) {
        if self.due.ceil() < position {
            self.due = Position::at(position);
            self.left = 0;
        }
    }

    /// A frame leaves. `patience`: so many bytes beyond an interval it may be late.
    pub fn charge(&mut self, charge: &Charge, patience: u64, line: &Line) {
        let &Charge { position, line: taken, target, window } = charge;
        let due = self.due.ceil();
        if self.left == 0 || position >= due {
            if position > due.saturating_add(self.interval).saturating_add(patience) {
                self.due = Position::at(position);
            }
            self.begun = self.due.ceil();
            self.left = match self.burst {
                Burst::Packets(packets) => u64::from(packets.max(1)),
                Burst::Clusters(clusters) => window.map_or(1, |window| (window / u64::from(clusters.max(1))).max(1)),
            };
            self.interval = 0;
        }
        self.interval += self.due.advance(taken, taken, target, line);
        self.left = match self.burst {
            Burst::Packets(_) => self.left - 1,
            Burst::Clusters(_) => self.left.saturating_sub(taken),
        };
    }
}
