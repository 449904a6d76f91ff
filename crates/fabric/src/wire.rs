//! One direction of a cable.

use headway_units::{Bytes, Rate, Span};

use crate::queue::QueueSpec;

/// Loss of every n-th frame, with which analyses of TCP begin (Mathis et al., *The Macroscopic Behavior of the TCP
/// Congestion Avoidance Algorithm*, ACM CCR 27(3), 1997, doi:10.1145/263932.264023, §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicLoss {
    /// Of so many frames one is lost.
    pub every: u32,
    /// The number of the first frame that is lost, from 1.
    pub first: u32,
}

/// One direction of a cable: the rate and queue of the port that sends, and the wire behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wire {
    /// Bits per second on the wire.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Wire time per frame that is not in the frame: preamble, start delimiter, inter-frame gap (20 B on Ethernet).
    pub gap: Bytes,
    /// Probability that a frame is damaged on the wire and discarded by the receiver.
    pub loss: f64,
    /// The queue of the sending port.
    pub queue: QueueSpec,
}
