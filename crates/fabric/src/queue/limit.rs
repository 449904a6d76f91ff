//! How much a queue holds.

use headway_units::Bytes;

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
