//! What the ports of a network share.

use crate::pool::{FrameHandle, Pool};
use crate::queue::SharedBuffer;

/// What ports share.
#[derive(Debug)]
pub(crate) struct Shared<B> {
    pub pool: Pool<B>,
    /// One for each switch that has one.
    pub buffers: Vec<SharedBuffer>,
    /// Frames that queues dropped after they had accepted them, and that nobody has been told of.
    pub evicted: Vec<FrameHandle>,
    /// What pause frames carry beyond what a port puts in, if ports send any.
    pub pause_body: Option<B>,
    /// Pause frames that ports have made.
    pub pauses_sent: u64,
}
