//! Drop-tail with an optional marking threshold.
//!
//! A frame that would make the queue exceed its limit is dropped; one that finds more than the threshold queued
//! is marked (RFC 8257 §3.1: "instantaneous queue length", arriving packet, occupancy > K). The frame being
//! transmitted counts as queued until its last bit has left, since it still occupies its buffer.
//! Leaves out: buffer cells (a frame takes its size, not a multiple of 64 B or so).

use headway_units::Bytes;

use super::discipline::Verdict;
use super::limit::Limit;

/// Limits in the units that are compared; what is not limited is at its maximum.
#[derive(Debug, Clone, Copy)]
pub struct DropTail {
    limit_bytes: u64,
    limit_packets: u32,
    mark_packets: u32,
    mark_bytes: u64,
}

impl DropTail {
    /// A queue with these limits, `None` for no limit.
    pub fn new(limit: Option<Limit>, mark: Option<Limit>) -> DropTail {
        let (limit_bytes, limit_packets) = Limit::split(limit);
        let (mark_bytes, mark_packets) = Limit::split(mark);
        DropTail { limit_bytes, limit_packets, mark_packets, mark_bytes }
    }

    /// Bounds below which every frame is accepted unmarked: bytes with the new frame included, and frames before it.
    pub fn fast_path(&self) -> (u64, u32) {
        (self.limit_bytes.min(self.mark_bytes), self.limit_packets.min(self.mark_packets))
    }

    /// What becomes of a frame of `size` that finds `bytes` in `packets` frames queued.
    #[inline]
    pub fn offer(&self, bytes: Bytes, packets: u32, size: u16) -> Verdict {
        if bytes.get() + u64::from(size) > self.limit_bytes || packets >= self.limit_packets {
            Verdict::Drop
        } else if bytes.get() > self.mark_bytes || packets > self.mark_packets {
            Verdict::Mark
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(limit: Option<Limit>, mark: Option<Limit>, bytes: u64, packets: u32) -> Verdict {
        DropTail::new(limit, mark).offer(Bytes::new(bytes), packets, 1500)
    }

    #[test]
    fn limits_by_bytes_and_by_packets() {
        let bytes = Some(Limit::Bytes(Bytes::new(4500)));
        assert_eq!(offer(bytes, None, 3000, 2), Verdict::Accept); // fills it to the byte
        assert_eq!(offer(bytes, None, 3001, 3), Verdict::Drop);
        let packets = Some(Limit::Packets(2));
        assert_eq!(offer(packets, None, 100, 1), Verdict::Accept);
        assert_eq!(offer(packets, None, 100, 2), Verdict::Drop);
        assert_eq!(offer(None, None, u64::MAX - 1500, 1_000_000), Verdict::Accept);
    }

    #[test]
    fn marks_what_finds_more_than_the_threshold() {
        let k = Some(Limit::Packets(20));
        assert_eq!(offer(None, k, 30_000, 20), Verdict::Accept);
        assert_eq!(offer(None, k, 31_500, 21), Verdict::Mark);
        let k = Some(Limit::Bytes(Bytes::new(30_000)));
        assert_eq!(offer(None, k, 30_000, 20), Verdict::Accept);
        assert_eq!(offer(None, k, 30_001, 21), Verdict::Mark);
    }
}
