//! The segments a sender has outstanding, and what is known of each (RFC 6675 §3).

use std::collections::VecDeque;

use headway_units::Time;

use crate::sack_pool::SackBlocks;
use crate::segment::unwrap;

mod loss;
mod rack;
mod sack_state;
mod sent;
#[cfg(test)]
mod tests;

pub(super) use sack_state::{RttSample, SackContext, SackState, Stamp};
pub(super) use sent::Payload;
use sent::{Sent, bit};

/// Outstanding segments in order, with running sums.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Bytes selectively acknowledged.
    sacked: u64,
    /// Bytes lost and not yet retransmitted.
    lost_pending: u64,
    /// Bytes retransmitted and not reported since (Linux: `retrans_out`).
    retrans_out: u64,
    /// Of these, bytes that were not known lost: two copies are in flight.
    spurious_in_flight: u64,
    /// Bytes ever found lost.
    lost_ever: u64,
    /// End of the highest selectively acknowledged segment.
    highest_sacked: u64,
    /// No unacknowledged segment below this is unmarked as lost.
    lost_below: u64,
    /// No segment below this awaits retransmission.
    retransmit_from: u64,
    /// The blocks of the last acknowledgement: already marked.
    last_blocks: [(u64, u64); 4],
    /// FIN was sent.
    fin: bool,
    /// Present if RACK or rate samples need it.
    timed: Option<Box<Timed>>,
}

/// Segments in the order in which they were sent, for RACK, and stamps for rate samples.
#[derive(Debug, Default)]
struct Timed {
    /// Every segment below this was retransmitted, is known lost or was reported.
    first: u64,
    /// Retransmissions: when and where; a segment that was reported or lost since is found so. Only RACK looks.
    retransmissions: Option<VecDeque<(Time, u64)>>,
    /// One for each segment, if they are kept.
    stamps: Option<VecDeque<Stamp>>,
}

impl Scoreboard {
    /// A board that keeps the order of sending (`rack`) and stamps, if asked.
    pub fn timed(rack: bool, stamps: bool) -> Scoreboard {
        let timed =
            Timed { retransmissions: rack.then(VecDeque::new), stamps: stamps.then(VecDeque::new), ..Timed::default() };
        Scoreboard { timed: Some(Box::new(timed)), ..Scoreboard::default() }
    }

    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Where the highest selectively acknowledged segment ends.
    pub fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    /// Bytes lost and not yet retransmitted.
    #[inline]
    pub fn lost_pending(&self) -> u64 {
        self.lost_pending
    }

    /// Bytes lost, retransmitted or not (Linux: `lost_out`).
    #[inline]
    pub fn lost_out(&self) -> u64 {
        self.lost_pending + self.retrans_out - self.spurious_in_flight
    }

    /// Bytes retransmitted and not reported since.
    #[inline]
    pub fn retrans_out(&self) -> u64 {
        self.retrans_out
    }

    /// Bytes retransmitted without being known lost: two copies are in flight.
    #[inline]
    pub fn spurious_in_flight(&self) -> u64 {
        self.spurious_in_flight
    }

    /// Bytes ever found lost.
    #[inline]
    pub fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    /// Whether everything, FIN included, was sent and acknowledged.
    pub fn finished(&self) -> bool {
        self.fin && self.segments.is_empty()
    }

    /// The segments outstanding.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether the first outstanding segment was ever retransmitted.
    pub fn is_head_retransmitted(&self) -> bool {
        self.segments.front().is_some_and(|s| s.state & bit::EVER_RETRANS != 0)
    }

    /// When the first outstanding segment was last sent.
    pub fn head_sent_at(&self) -> Option<Time> {
        self.segments.front().map(|s| s.at)
    }

    #[inline]
    pub fn push(&mut self, seq: u64, sent_at: Time, data: u64, len: u32, fin: bool) {
        self.fin |= fin;
        self.segments.push_back(Sent { seq, at: sent_at, data, len, state: if fin { bit::FIN } else { 0 } });
    }

    /// Notes the stamp of the segment just pushed, or retransmitted (`index`).
    pub fn stamp(&mut self, index: Option<usize>, stamp: Stamp) {
        if let Some(stamps) = self.timed.as_mut().and_then(|timed| timed.stamps.as_mut()) {
            match index {
                Some(index) => stamps[index] = stamp,
                None => stamps.push_back(stamp),
            }
        }
    }

    /// Takes a segment out of the sums that it counts in as lost or retransmitted.
    #[inline]
    fn uncount(&mut self, segment: &Sent) {
        let span = segment.span();
        if segment.awaits_retransmission() {
            self.lost_pending -= span;
        }
        if segment.has_retransmission_in_flight() {
            self.retrans_out -= span;
            if segment.is_spurious_in_flight() {
                self.spurious_in_flight -= span;
            }
        }
    }

    /// Forgets what lies below `ack`. Returns when the first and the last of it were sent, unless that is ambiguous:
    /// the first, because its round trip includes the receiver's delay, which the time-out must allow for.
    #[expect(clippy::inline_always, reason = "little of it remains where nobody asks for the state")]
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u64, mut state: Option<(&mut SackState, &SackContext)>) -> Option<RttSample> {
        let mut sample: Option<RttSample> = None;
        let (mut first, mut clean) = (true, true);
        while let Some(&segment) = self.segments.front() {
            if segment.end() > ack {
                break;
            }
            let stamp = match self.timed.as_mut().and_then(|timed| timed.stamps.as_mut()) {
                Some(stamps) => stamps.pop_front(),
                None => None,
            };
            if segment.state & bit::SACKED != 0 {
                self.sacked -= segment.span();
            } else {
                if segment.state & (bit::LOST | bit::RETRANS) != 0 {
                    self.uncount(&segment);
                }
                if let Some((state, context)) = &mut state {
                    state.take(&segment, stamp, context, false);
                }
            }
            if segment.state & (bit::EVER_RETRANS | bit::SACKED) == 0 {
                sample = match sample {
                    None if first || state.is_some() => Some(RttSample { first: segment.at, last: segment.at }),
                    None => None,
                    Some(sample) => Some(RttSample { last: segment.at, ..sample }),
                };
            }
            // Linux: nothing is measured by an acknowledgement that covers a retransmission.
            clean &= segment.state & bit::EVER_RETRANS == 0;
            first = false;
            self.segments.pop_front();
        }
        sample.filter(|_| clean || state.is_none())
    }

    /// Where the first outstanding segment ends.
    pub fn head_end(&self) -> u64 {
        self.segments.front().map_or(0, Sent::end)
    }

    fn index_of(&self, seq: u64) -> usize {
        self.segments.partition_point(|s| s.seq < seq)
    }

    /// Marks what `blocks` report, between the acknowledgement and what was sent. Says whether any of it is new.
    pub fn mark_sacked(
        &mut self,
        blocks: &SackBlocks,
        una: u64,
        ack: u64,
        nxt: u64,
        mut state: Option<(&mut SackState, &SackContext)>,
    ) -> bool {
        let before = self.sacked;
        let mut blocks_now = [(0, 0); 4];
        for (slot, &(start, end)) in blocks_now.iter_mut().zip(&blocks.blocks[..usize::from(blocks.count)]) {
            let (start, end) = (unwrap(una, start).max(ack), unwrap(una, end).min(nxt));
            if start >= end {
                continue;
            }
            *slot = (start, end);
            // Only what the previous report of the same range did not cover.
            let (mut from, mut to) = (start, end);
            for &(s, e) in &self.last_blocks {
                if s <= from && from < e {
                    from = e.min(to);
                }
                if s < to && to <= e {
                    to = s.max(from);
                }
            }
            self.mark_range(from, to, &mut state);
        }
        self.last_blocks = blocks_now;
        self.sacked > before
    }

    fn mark_range(&mut self, from: u64, to: u64, state: &mut Option<(&mut SackState, &SackContext)>) {
        if from >= to {
            return;
        }
        let first = self.index_of(from);
        for index in first..self.segments.len() {
            let segment = self.segments[index];
            let end = segment.end();
            if end > to {
                break;
            }
            if segment.state & bit::SACKED == 0 {
                self.uncount(&segment);
                if let Some((state, context)) = state {
                    let stamps = self.timed.as_ref().and_then(|timed| timed.stamps.as_ref());
                    state.take(&segment, stamps.map(|stamps| stamps[index]), context, true);
                }
                self.segments[index].state |= bit::SACKED;
                self.sacked += segment.span();
                self.highest_sacked = self.highest_sacked.max(end);
            }
        }
    }

    /// The segment just pushed begins a burst.
    pub fn mark_burst_start(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.state |= bit::BURST_START;
        }
    }

    /// The last segment outstanding.
    pub fn last(&self) -> Option<usize> {
        self.segments.len().checked_sub(1)
    }

    /// Notes that a segment is retransmitted, and returns it.
    pub fn retransmitted(&mut self, index: usize, now: Time) -> Payload {
        let before = self.segments[index];
        self.uncount(&before);
        let segment = &mut self.segments[index];
        segment.state |= bit::RETRANS | bit::EVER_RETRANS;
        segment.at = now;
        let segment = *segment;
        if segment.has_retransmission_in_flight() {
            self.retrans_out += segment.span();
            if segment.is_spurious_in_flight() {
                self.spurious_in_flight += segment.span();
            }
        }
        self.note_retransmission(now, segment.seq);
        segment.payload()
    }

    fn note_retransmission(&mut self, now: Time, seq: u64) {
        if let Some(retransmissions) = self.timed.as_mut().and_then(|timed| timed.retransmissions.as_mut()) {
            retransmissions.push_back((now, seq));
        }
    }

    /// As [`retransmitted`](Self::retransmitted), for a probe or a rescue: its bytes count
    /// in flight once, but it gives no round-trip sample either.
    pub fn probed(&mut self, index: usize, now: Time) -> Payload {
        let segment = &mut self.segments[index];
        segment.state |= bit::EVER_RETRANS;
        segment.at = now;
        let segment = *segment;
        self.note_retransmission(now, segment.seq);
        segment.payload()
    }

    /// How many bytes of the segments within `from..to` were ever retransmitted (for undo by duplicate reports).
    pub fn retransmitted_within(&self, from: u64, to: u64) -> u64 {
        let first = self.index_of(from);
        let within = self.segments.iter().skip(first).take_while(|s| s.end() <= to);
        within.filter(|s| s.state & bit::EVER_RETRANS != 0).map(Sent::span).sum()
    }

    pub fn take_for_reinjection(&mut self, out: &mut VecDeque<(u64, u32)>) {
        for segment in &mut self.segments {
            if segment.len > 0 && segment.state & (bit::SACKED | bit::REINJECTED) == 0 {
                segment.state |= bit::REINJECTED;
                out.push_back((segment.data, segment.len));
            }
        }
    }
}
