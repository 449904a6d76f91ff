//! What queues are made of: the parameters of every discipline.

use headway_units::{Bytes, Span};

/// How much an output queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of frames.
    Bytes(Bytes),
    /// Frames of any size.
    Packets(u32),
}

impl Limit {
    /// Bytes and frames to compare with; what is not limited is at its maximum.
    pub(crate) fn split(limit: Option<Limit>) -> (u64, u32) {
        match limit {
            None => (u64::MAX, u32::MAX),
            Some(Limit::Bytes(bytes)) => (bytes.get(), u32::MAX),
            Some(Limit::Packets(packets)) => (u64::MAX, packets),
        }
    }
}

/// The queue of an output port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueueSpec {
    /// First in, first out, with optional ECN threshold marking.
    DropTail {
        /// Arrivals that would make the queue exceed this are dropped. `None`: never drops.
        limit: Option<Limit>,
        /// Arrivals that find more than this queued are marked CE if ECN-capable (RFC 8257 §3.1). `None`: never marks.
        mark: Option<Limit>,
    },
    /// Random early detection.
    Red(RedSpec),
    /// Controlled delay.
    Codel(CodelSpec),
    /// Fair queueing by flow with CoDel on each.
    FqCodel(FqCodelSpec),
    /// Fair queueing by flow.
    Drr(DrrSpec),
}

impl QueueSpec {
    /// What the queue holds at most, in bytes if there is such a limit; `None` without any.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            QueueSpec::DropTail { limit, .. } => *limit,
            QueueSpec::Red(red) => red.limit,
            QueueSpec::Codel(codel) => codel.limit,
            QueueSpec::FqCodel(fq) => match fq.limit {
                Some(Limit::Bytes(limit)) => Some(Limit::Bytes(limit.min(fq.memory))),
                _ => Some(Limit::Bytes(fq.memory)),
            },
            QueueSpec::Drr(drr) => drr.limit,
        }
    }
}

/// Random early detection (Floyd & Jacobson 1993).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedSpec {
    /// Arrivals that would make the queue exceed this are dropped. `None`: only the average drops.
    pub limit: Option<Limit>,
    /// Up to this average nothing is marked or dropped.
    pub min: Limit,
    /// Towards this average the probability rises to `probability`; above it everything is marked or dropped, or with
    /// `gentle` above twice as much. In the unit of `min`, and more than it.
    pub max: Limit,
    /// The probability at an average of `max`, from 0 to 1.
    pub probability: f64,
    /// The weight of an arrival in the moving average, more than 0 and at most 1.
    pub weight: f64,
    /// What is taken for the usual frame when an idle time is counted in frames.
    pub packet: Bytes,
    /// Between `max` and twice `max` the probability rises on to 1 (Floyd 2000).
    pub gentle: bool,
    /// ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
    /// Where everything is marked or dropped, ECN-capable frames too are dropped (RFC 3168 §7).
    pub hard_drop: bool,
}

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

/// Fair queueing with CoDel on each queue (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodelSpec {
    /// What all queues hold at most. `None`: as much as `memory`.
    pub limit: Option<Limit>,
    /// Bytes held at most, over all queues.
    pub memory: Bytes,
    /// Queues that flows are spread over, more than 0.
    pub queues: u32,
    /// Bytes that a queue may send per round, more than 0.
    pub quantum: u32,
    /// Frames that are dropped at most at a time when the limit is reached, more than 0.
    pub batch: u32,
    /// The control of each queue.
    pub law: CodelLaw,
}

/// Deficit round robin (Shreedhar & Varghese 1996).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrrSpec {
    /// What all queues hold at most. `None`: never drops.
    pub limit: Option<Limit>,
    /// Queues that flows are spread over, more than 0.
    pub queues: u32,
    /// Bytes that a queue may send per round, more than 0.
    pub quantum: u32,
}

/// A buffer that all output ports of a switch share (Choudhury & Hahne 1998).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedBufferSpec {
    /// Bytes in it.
    pub size: Bytes,
    /// A port may hold up to α times what is free, beyond its reserve; more than 0.
    pub alpha: f64,
    /// Bytes of it that are every port's own. All ports' together are less than `size`.
    pub reserve: Bytes,
}
