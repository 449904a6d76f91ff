//! Queue disciplines: what happens to a frame that arrives at an output port.

mod drop_tail;

pub use drop_tail::DropTail;

/// What becomes of an arriving frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Queued.
    Accept,
    /// Queued and, if its sender understands ECN, marked.
    Mark,
    /// Discarded.
    Drop,
}
