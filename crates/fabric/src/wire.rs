//! One direction of a cable.

use headway_units::{Bytes, Rate, Span};

use crate::queue::QueueSpec;

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
