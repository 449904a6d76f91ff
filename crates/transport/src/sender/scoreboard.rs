//! The segments a sender has outstanding, and what is known of each (RFC 6675 §3).

use std::collections::VecDeque;

use headway_units::Time;

use crate::network::SackBlocks;
use crate::segment::unwrap;

/// Bits of a segment's state.
mod state {
    /// Selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// Known lost (`IsLost`).
    pub const LOST: u8 = 2;
    /// Sent again since it was found lost.
    pub const RESENT: u8 = 4;
    /// Ever sent again: gives no round-trip sample (Karn).
    pub const AMBIGUOUS: u8 = 8;
    /// Carries FIN, which takes one sequence number.
    pub const FIN: u8 = 16;
    /// Its data was handed to other subflows.
    pub const REINJECTED: u8 = 32;
}

/// One segment: 32 bytes.
#[derive(Debug, Clone, Copy)]
struct Sent {
    seq: u64,
    at: Time,
    data: u64,
    len: u32,
    state: u8,
}

impl Sent {
    fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.state & state::FIN != 0)
    }

    fn end(&self) -> u64 {
        self.seq + self.span()
    }

    /// Lost and waiting to be sent again.
    fn waits(&self) -> bool {
        self.state & (state::LOST | state::RESENT | state::SACKED) == state::LOST
    }
}

/// Outstanding segments in order, with running sums.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Bytes selectively acknowledged.
    sacked: u64,
    /// Bytes lost and not sent again.
    lost: u64,
    /// End of the highest selectively acknowledged segment.
    highest: u64,
    /// No unacknowledged segment below this is unmarked as lost.
    lost_below: u64,
    /// No segment below this waits to be sent again.
    resend_from: u64,
    /// The blocks of the last acknowledgement: already marked.
    seen: [(u64, u64); 4],
    /// FIN was sent.
    fin: bool,
}

impl Scoreboard {
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether everything, FIN included, was sent and acknowledged.
    pub fn finished(&self) -> bool {
        self.fin && self.segments.is_empty()
    }

    #[inline]
    pub fn push(&mut self, seq: u64, at: Time, data: u64, len: u32, fin: bool) {
        self.fin |= fin;
        self.segments.push_back(Sent { seq, at, data, len, state: if fin { state::FIN } else { 0 } });
    }

    /// Forgets what lies below `ack`. Returns when the first of it was sent, unless that is ambiguous: the first,
    /// because its round trip includes the receiver's delay, which the time-out must allow for.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64) -> Option<Time> {
        let mut sample = None;
        let mut first = true;
        while let Some(segment) = self.segments.front() {
            if segment.end() > ack {
                break;
            }
            if segment.state & state::SACKED != 0 {
                self.sacked -= segment.span();
            } else if segment.waits() {
                self.lost -= segment.span();
            }
            if first && segment.state & (state::AMBIGUOUS | state::SACKED) == 0 {
                sample = Some(segment.at);
            }
            first = false;
            self.segments.pop_front();
        }
        sample
    }

    /// Where the first outstanding segment ends.
    pub fn first_end(&self) -> u64 {
        self.segments.front().map_or(0, Sent::end)
    }

    fn index_of(&self, seq: u64) -> usize {
        self.segments.partition_point(|s| s.seq < seq)
    }

    /// Marks what `blocks` report, between the acknowledgement and what was sent. Says whether any of it is news.
    pub fn mark_sacked(&mut self, blocks: &SackBlocks, una: u64, ack: u64, nxt: u64) -> bool {
        let before = self.sacked;
        let mut seen = [(0, 0); 4];
        for (slot, &(start, end)) in seen.iter_mut().zip(&blocks.blocks[..usize::from(blocks.count)]) {
            let (start, end) = (unwrap(una, start).max(ack), unwrap(una, end).min(nxt));
            if start >= end {
                continue;
            }
            *slot = (start, end);
            // Only what the previous report of the same range did not cover.
            let (mut from, mut to) = (start, end);
            for &(s, e) in &self.seen {
                if s <= from && from < e {
                    from = e.min(to);
                }
                if s < to && to <= e {
                    to = s.max(from);
                }
            }
            self.mark_range(from, to);
        }
        self.seen = seen;
        self.sacked > before
    }

    fn mark_range(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let first = self.index_of(from);
        for segment in self.segments.range_mut(first..) {
            let end = segment.end();
            if end > to {
                break;
            }
            if segment.state & state::SACKED == 0 {
                if segment.waits() {
                    self.lost -= segment.span();
                }
                segment.state |= state::SACKED;
                self.sacked += segment.span();
                self.highest = self.highest.max(end);
            }
        }
    }

    /// RFC 6675 `IsLost`: a segment is lost when `threshold` discontiguous blocks, or more than `threshold - 1`
    /// segments' worth of bytes, are selectively acknowledged above it.
    #[inline]
    pub fn mark_lost(&mut self, mss: u64, threshold: u32) {
        if self.sacked == 0 || self.highest <= self.lost_below {
            return;
        }
        let top = self.index_of(self.highest);
        let (mut bytes, mut blocks, mut in_block) = (0, 0, false);
        let mut lost_below = self.lost_below;
        for segment in self.segments.range_mut(..top).rev() {
            if segment.seq < self.lost_below {
                break;
            }
            if segment.state & state::SACKED != 0 {
                bytes += u64::from(segment.len); // without FIN: two segments are two segments
                blocks += u32::from(!in_block);
                in_block = true;
                continue;
            }
            in_block = false;
            if bytes > u64::from(threshold - 1) * mss || blocks >= threshold {
                lost_below = lost_below.max(segment.end());
                if segment.state & state::LOST == 0 {
                    segment.state |= state::LOST;
                    // What was sent again before it was known lost (NextSeg rules 3 and 4) is on its way.
                    if segment.waits() {
                        self.lost += segment.span();
                        self.resend_from = self.resend_from.min(segment.seq);
                    }
                }
            }
        }
        self.lost_below = lost_below;
    }

    /// The first outstanding segment is lost, also if it was sent again before.
    pub fn mark_first_lost(&mut self) {
        if let Some(segment) = self.segments.front_mut()
            && segment.state & state::SACKED == 0
            && !segment.waits()
        {
            segment.state = segment.state & !state::RESENT | state::LOST;
            self.lost += segment.span();
            self.resend_from = self.resend_from.min(segment.seq);
        }
    }

    /// After a time-out: all that is not selectively acknowledged is lost.
    pub fn mark_all_lost(&mut self) {
        self.lost = 0;
        for segment in self.segments.iter_mut().filter(|s| s.state & state::SACKED == 0) {
            segment.state = segment.state & !state::RESENT | state::LOST;
            self.lost += segment.span();
        }
        self.resend_from = 0;
        self.lost_below = self.segments.back().map_or(0, Sent::end);
    }

    /// The first segment that is lost and not sent again.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let from = self.index_of(self.resend_from);
        let found = (from..self.segments.len()).find(|&i| self.segments[i].waits());
        // `lost` counts exactly the segments that wait, so there is one.
        let index = found.expect("a lost segment is outstanding");
        self.resend_from = self.segments[index].seq;
        Some(index)
    }

    /// NextSeg rule 3: the first segment never sent again, not known lost, below the highest acknowledged one.
    pub fn next_unproven(&self) -> Option<usize> {
        let top = self.index_of(self.highest);
        (0..top).find(|&i| self.segments[i].state & (state::SACKED | state::AMBIGUOUS) == 0)
    }

    /// The last segment not selectively acknowledged.
    pub fn last_unsacked(&self) -> Option<usize> {
        (0..self.segments.len()).rev().find(|&i| self.segments[i].state & state::SACKED == 0)
    }

    /// Notes that a segment is sent again; returns (seq, data, length, fin).
    pub fn resent(&mut self, index: usize, now: Time) -> (u64, u64, u32, bool) {
        let segment = &mut self.segments[index];
        if segment.waits() {
            self.lost -= segment.span();
        }
        segment.state |= state::RESENT | state::AMBIGUOUS;
        segment.at = now;
        (segment.seq, segment.data, segment.len, segment.state & state::FIN != 0)
    }

    pub fn take_for_reinjection(&mut self, out: &mut VecDeque<(u64, u32)>) {
        for segment in &mut self.segments {
            if segment.len > 0 && segment.state & (state::SACKED | state::REINJECTED) == 0 {
                segment.state |= state::REINJECTED;
                out.push_back((segment.data, segment.len));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 100;

    fn board(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..n {
            board.push(1 + i * MSS, Time::from_picos(i), i * MSS, MSS as u32, false);
        }
        board
    }

    /// Blocks given as segment numbers, first..last.
    fn sack(board: &mut Scoreboard, blocks: &[(u32, u32)], ack: u64, n: u64) -> bool {
        let mut sack = SackBlocks { count: blocks.len() as u8, ..SackBlocks::default() };
        for (to, &(a, b)) in sack.blocks.iter_mut().zip(blocks) {
            *to = (1 + a * MSS as u32, 1 + b * MSS as u32);
        }
        let news = board.mark_sacked(&sack, 1, ack, 1 + n * MSS);
        board.mark_lost(MSS, 3);
        news
    }

    /// RFC 6675 §4 `IsLost` with DupThresh 3: more than two segments' worth of bytes above, or three blocks.
    #[test]
    fn three_segments_above_mean_lost() {
        let mut b = board(10);
        assert!(sack(&mut b, &[(1, 2)], 1, 10));
        assert!(sack(&mut b, &[(1, 3)], 1, 10));
        assert_eq!((b.sacked(), b.lost()), (200, 0)); // exactly 2·SMSS is not more than 2·SMSS
        assert!(sack(&mut b, &[(1, 4)], 1, 10));
        assert_eq!((b.sacked(), b.lost()), (300, 100));
        assert_eq!(b.next_lost(), Some(0));
        assert!(!sack(&mut b, &[(1, 4)], 1, 10), "the same report is no news");
    }

    #[test]
    fn holes_between_blocks_are_lost_once_enough_is_above_them() {
        let mut b = board(12);
        sack(&mut b, &[(8, 9), (5, 6), (2, 3)], 1, 12);
        // above segments 0, 1: 3 blocks; above 3, 4: 2 blocks and 200 bytes; above 6, 7: 1 block
        assert_eq!(b.lost(), 200);
        sack(&mut b, &[(8, 11), (5, 6), (2, 3)], 1, 12);
        assert_eq!(b.lost(), 600); // now also 3, 4, 6, 7
        let order: Vec<usize> = std::iter::from_fn(|| {
            let i = b.next_lost()?;
            b.resent(i, Time::ZERO);
            Some(i)
        })
        .collect();
        assert_eq!(order, [0, 1, 3, 4, 6, 7]);
        assert_eq!(b.lost(), 0);
    }

    #[test]
    fn a_time_out_marks_everything_not_acknowledged_and_samples_skip_what_was_sent_twice() {
        let mut b = board(4);
        sack(&mut b, &[(2, 3)], 1, 4);
        b.mark_all_lost();
        assert_eq!((b.sacked(), b.lost()), (100, 300));
        assert_eq!(b.next_lost(), Some(0));
        b.resent(0, Time::from_picos(50));
        assert_eq!(b.lost(), 200);
        assert_eq!(b.acknowledge(1 + MSS), None); // Karn
        assert_eq!(b.next_lost(), Some(0));
        assert_eq!(b.acknowledge(1 + 3 * MSS), Some(Time::from_picos(1)));
        assert_eq!((b.sacked(), b.lost()), (0, 100));
    }

    #[test]
    fn rescue_and_unproven_segments() {
        let mut b = board(5);
        sack(&mut b, &[(2, 3)], 1, 5);
        assert_eq!(b.next_unproven(), Some(0));
        b.resent(0, Time::ZERO);
        assert_eq!(b.next_unproven(), Some(1));
        b.resent(1, Time::ZERO);
        assert_eq!(b.next_unproven(), None); // 3 and 4 are above everything acknowledged
        assert_eq!(b.last_unsacked(), Some(4));
    }

    #[test]
    fn what_was_sent_again_unproven_does_not_wait_once_it_is_proven_lost() {
        let mut b = board(10);
        sack(&mut b, &[(5, 6)], 1, 10);
        assert_eq!(b.next_unproven(), Some(0));
        b.resent(0, Time::ZERO);
        sack(&mut b, &[(5, 8)], 1, 10);
        assert_eq!((b.sacked(), b.lost()), (300, 400)); // 1 to 4; 0 is on its way
        assert_eq!(b.next_lost(), Some(1));
        b.acknowledge(1 + MSS);
        assert_eq!(b.lost(), 400);
    }

    #[test]
    fn reinjection_takes_each_piece_once() {
        let mut b = board(3);
        sack(&mut b, &[(1, 2)], 1, 3);
        let mut out = VecDeque::new();
        b.take_for_reinjection(&mut out);
        b.take_for_reinjection(&mut out);
        assert_eq!(out, [(0, 100), (200, 100)]);
    }
}
