//! Lost segments: found by reports (RFC 6675 `IsLost`) and time-outs, and the next one to retransmit (`NextSeg`).

use std::ops::Range;

use headway_units::{Span, Time};

use super::Scoreboard;
use super::sent::{Sent, bit};

impl Scoreboard {
    /// The segment is lost, retransmitted or not.
    pub(super) fn lose(&mut self, index: usize) {
        let segment = self.segments[index];
        if segment.awaits_retransmission() || segment.state & bit::SACKED != 0 {
            return;
        }
        self.uncount(&segment);
        self.segments[index].state = segment.state & !bit::RETRANS | bit::LOST;
        self.lost_pending += segment.span();
        self.lost_ever += segment.span();
        self.retransmit_from = self.retransmit_from.min(segment.seq);
    }

    /// After a time-out, as Linux does it: the first segment is lost, and all others that were sent at least `rtt` ago
    /// (`tcp_timeout_mark_lost`).
    pub fn mark_old_lost(&mut self, now: Time, rtt: Span) {
        for index in 0..self.segments.len() {
            if index == 0 || now.since(self.segments[index].at) >= rtt {
                self.lose(index);
            }
        }
    }

    /// Nothing that awaits retransmission is lost after all (`tcp_undo_cwnd_reduction`).
    pub fn none_lost(&mut self) {
        for segment in &mut self.segments {
            if segment.state & bit::LOST == 0 {
                continue;
            }
            let span = segment.span();
            if segment.awaits_retransmission() {
                self.lost_pending -= span;
            }
            segment.state &= !bit::LOST;
            if segment.is_spurious_in_flight() {
                self.spurious_in_flight += span;
            }
        }
        self.lost_below = 0;
        if let Some(timed) = &mut self.timed {
            timed.first = 0;
        }
    }

    /// RFC 6675 `IsLost`: a segment is lost when `threshold` discontiguous blocks, or more than `threshold - 1`
    /// segments' worth of bytes, are selectively acknowledged above it.
    #[inline]
    pub fn mark_lost(&mut self, mss: u64, threshold: u32) {
        if self.sacked > 0 && self.highest_sacked > self.lost_below {
            self.mark_lost_below_highest(mss, threshold);
        }
    }

    #[inline(never)]
    fn mark_lost_below_highest(&mut self, mss: u64, threshold: u32) {
        let top = self.index_of(self.highest_sacked);
        let (mut bytes, mut blocks, mut in_block) = (0, 0, false);
        let mut lost_below = self.lost_below;
        for segment in self.segments.range_mut(..top).rev() {
            if segment.seq < self.lost_below {
                break;
            }
            if segment.state & bit::SACKED != 0 {
                bytes += u64::from(segment.len); // without FIN: two segments are two segments
                blocks += u32::from(!in_block);
                in_block = true;
                continue;
            }
            in_block = false;
            if bytes > u64::from(threshold - 1) * mss || blocks >= threshold {
                lost_below = lost_below.max(segment.end());
                if segment.state & bit::LOST == 0 {
                    // A retransmission from before it was known lost (NextSeg rule 3) is in flight.
                    if segment.is_spurious_in_flight() {
                        self.spurious_in_flight -= segment.span();
                    }
                    segment.state |= bit::LOST;
                    self.lost_ever += segment.span();
                    if segment.awaits_retransmission() {
                        self.lost_pending += segment.span();
                        self.retransmit_from = self.retransmit_from.min(segment.seq);
                    }
                }
            }
        }
        self.lost_below = lost_below;
    }

    /// The first outstanding segment is lost, retransmitted before or not.
    pub fn mark_first_lost(&mut self) {
        if !self.segments.is_empty() {
            self.lose(0);
        }
    }

    /// After a time-out: all that is not selectively acknowledged is lost.
    pub fn mark_all_lost(&mut self) {
        for index in 0..self.segments.len() {
            self.lose(index);
        }
        self.retransmit_from = 0;
        self.lost_below = self.segments.back().map_or(0, Sent::end);
    }

    /// The first segment that is lost and not yet retransmitted.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost_pending == 0 {
            return None;
        }
        let from = self.index_of(self.retransmit_from);
        let found = (from..self.segments.len()).find(|&i| self.segments[i].awaits_retransmission());
        // `lost_pending` counts exactly these segments, so there is one.
        let index = found.expect("a lost segment is outstanding");
        self.retransmit_from = self.segments[index].seq;
        Some(index)
    }

    /// The first segments that are lost and not yet retransmitted: at most `most` neighbours of one burst. The rest of
    /// that burst is a burst of its own from now on (`tcp_fragment`).
    pub fn next_lost_burst(&mut self, most: usize) -> Option<Range<usize>> {
        let first = self.next_lost()?;
        let mut end = first + 1;
        while let Some(segment) = self.segments.get_mut(end) {
            if !segment.awaits_retransmission() || segment.state & bit::BURST_START != 0 {
                break;
            }
            if end - first == most {
                segment.state |= bit::BURST_START;
                break;
            }
            end += 1;
        }
        Some(first..end)
    }

    /// RFC 6675 §4 NextSeg rule 3: the first segment never retransmitted, not known lost, below the highest
    /// acknowledged one.
    pub fn next_unproven(&self) -> Option<usize> {
        let top = self.index_of(self.highest_sacked);
        (0..top).find(|&i| self.segments[i].state & (bit::SACKED | bit::EVER_RETRANS) == 0)
    }

    /// The last segment not selectively acknowledged.
    pub fn last_unsacked(&self) -> Option<usize> {
        (0..self.segments.len()).rev().find(|&i| self.segments[i].state & bit::SACKED == 0)
    }
}
