//! The segments a sender has outstanding, and what is known of each (RFC 6675 §3).

use std::collections::VecDeque;
use std::ops::Range;

use headway_units::{Span, Time};

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
    /// The first of a burst: what Linux keeps in one `sk_buff` goes up to the next of these.
    pub const HEAD: u8 = 64;
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

    /// Sent again and on its way, as far as is known.
    fn again(&self) -> bool {
        self.state & (state::RESENT | state::SACKED) == state::RESENT
    }

    /// Sent again although it was not known lost: twice on its way.
    fn twice(&self) -> bool {
        self.state & (state::RESENT | state::SACKED | state::LOST) == state::RESENT
    }
}

/// What a rate sample needs to know of the moment when a segment was sent
/// (draft-cheng-iccrg-delivery-rate-estimation §3.2).
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    /// Bytes delivered until then.
    pub delivered: u64,
    /// When the last of them were.
    pub delivered_at: Time,
    /// When the first segment of that flight was sent.
    pub first_sent: Time,
    /// The sender had nothing more to send.
    pub limited: bool,
}

/// What an acknowledgement tells of the segments that it newly reports, for RACK, undo and rate samples.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct News {
    /// The segment sent last of those newly reported: when, and where it ends. Not one that was sent again, if what
    /// was acknowledged may have been the first copy (RFC 8985 §6.2 step 2).
    pub latest: Option<(Time, u64)>,
    /// When the last of them that was looked at was sent, selectively acknowledged ones first: of the kind of `latest`.
    pub passed: Option<Time>,
    /// When the first and the last of those selectively acknowledged were sent that were sent once.
    pub sacked: Option<(Time, Time)>,
    /// A segment sent once, before the repair began, was reported.
    pub original: bool,
    /// A segment sent once that lies below what had been reported: reordering.
    pub reordered: Option<u64>,
    /// When a segment acknowledged in sequence was last sent that was sent more than once.
    pub again: Option<Time>,
    /// The stamp of the segment sent last, with that time.
    pub stamp: Option<(Stamp, Time)>,
}

/// What decides which of the reported segments count, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// A segment sent again after this was acknowledged too soon for that to have been the second copy.
    pub too_soon: Time,
    /// Where the repair under way began.
    pub point: u64,
    /// The end of the highest segment reported until then (`tcp_ack`: `prior_fack`): what this acknowledgement itself
    /// reports beyond a segment does not make that one late.
    pub highest: u64,
}

impl News {
    #[inline]
    fn take(&mut self, segment: &Sent, stamp: Option<Stamp>, reading: &Reading, selectively: bool) {
        let (at, end) = (segment.at, segment.end());
        let once = segment.state & state::AMBIGUOUS == 0;
        if once {
            self.original |= end <= reading.point;
            if end < reading.highest {
                self.reordered = Some(self.reordered.map_or(segment.seq, |seq| seq.min(segment.seq)));
            }
            if selectively {
                self.sacked = Some(self.sacked.map_or((at, at), |(first, _)| (first, at)));
            }
        }
        if !once && !selectively {
            self.again = Some(at);
        }
        if once || at <= reading.too_soon {
            self.passed = Some(at);
            self.latest = self.latest.max(Some((at, end)));
        }
        if let Some(stamp) = stamp
            && self.stamp.is_none_or(|(_, last)| last <= at)
        {
            self.stamp = Some((stamp, at));
        }
    }
}

/// Round-trip samples of what is acknowledged in sequence: when its first and its last segment were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub first: Time,
    pub last: Time,
}

/// Outstanding segments in order, with running sums.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Bytes selectively acknowledged.
    sacked: u64,
    /// Bytes lost and not sent again.
    lost: u64,
    /// Bytes sent again and not reported since.
    again: u64,
    /// Of these, bytes of segments that were not known lost.
    twice: u64,
    /// Bytes ever found lost.
    lost_ever: u64,
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
    /// What only some senders keep.
    timed: Option<Box<Timed>>,
}

/// Segments in the order in which they were sent, for RACK, and stamps for rate samples.
#[derive(Debug, Default)]
struct Timed {
    /// Every segment below this was sent again, is known lost or was reported.
    first: u64,
    /// What was sent again: when and where; a segment that was reported or lost since is found so. Only RACK looks.
    again: Option<VecDeque<(Time, u64)>>,
    /// One for each segment, if they are kept.
    stamps: Option<VecDeque<Stamp>>,
}

impl Scoreboard {
    /// A board that keeps the order of sending (`rack`) and stamps, if asked.
    pub fn timed(rack: bool, stamps: bool) -> Scoreboard {
        let timed = Timed { again: rack.then(VecDeque::new), stamps: stamps.then(VecDeque::new), ..Timed::default() };
        Scoreboard { timed: Some(Box::new(timed)), ..Scoreboard::default() }
    }

    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Where the highest selectively acknowledged segment ends.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Bytes lost and waiting to be sent again.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes lost, also if they were sent again (Linux: `lost_out`).
    #[inline]
    pub fn missing(&self) -> u64 {
        self.lost + self.again - self.twice
    }

    /// Bytes sent again and not reported since.
    #[inline]
    pub fn again(&self) -> u64 {
        self.again
    }

    /// Bytes sent again without being lost: twice on their way.
    #[inline]
    pub fn twice(&self) -> u64 {
        self.twice
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

    /// Whether the first outstanding segment was ever sent again.
    pub fn first_sent_again(&self) -> bool {
        self.segments.front().is_some_and(|s| s.state & state::AMBIGUOUS != 0)
    }

    /// When the first outstanding segment was last sent.
    pub fn first_at(&self) -> Option<Time> {
        self.segments.front().map(|s| s.at)
    }

    #[inline]
    pub fn push(&mut self, seq: u64, at: Time, data: u64, len: u32, fin: bool) {
        self.fin |= fin;
        self.segments.push_back(Sent { seq, at, data, len, state: if fin { state::FIN } else { 0 } });
    }

    /// Notes the stamp of the segment just pushed, or sent again (`index`).
    pub fn stamp(&mut self, index: Option<usize>, stamp: Stamp) {
        if let Some(stamps) = self.timed.as_mut().and_then(|timed| timed.stamps.as_mut()) {
            match index {
                Some(index) => stamps[index] = stamp,
                None => stamps.push_back(stamp),
            }
        }
    }

    /// Takes a segment out of the sums that it counts in as lost or sent again.
    #[inline]
    fn forget(&mut self, segment: &Sent) {
        let span = segment.span();
        if segment.waits() {
            self.lost -= span;
        }
        if segment.again() {
            self.again -= span;
            if segment.twice() {
                self.twice -= span;
            }
        }
    }

    /// Forgets what lies below `ack`. Returns when the first and the last of it were sent, unless that is ambiguous:
    /// the first, because its round trip includes the receiver's delay, which the time-out must allow for.
    #[expect(clippy::inline_always, reason = "a sender without news is left with little of it")]
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u64, mut news: Option<(&mut News, &Reading)>) -> Option<Sample> {
        let mut sample: Option<Sample> = None;
        let (mut first, mut clean) = (true, true);
        while let Some(&segment) = self.segments.front() {
            if segment.end() > ack {
                break;
            }
            let stamp = match self.timed.as_mut().and_then(|timed| timed.stamps.as_mut()) {
                Some(stamps) => stamps.pop_front(),
                None => None,
            };
            if segment.state & state::SACKED != 0 {
                self.sacked -= segment.span();
            } else {
                if segment.state & (state::LOST | state::RESENT) != 0 {
                    self.forget(&segment);
                }
                if let Some((news, reading)) = &mut news {
                    news.take(&segment, stamp, reading, false);
                }
            }
            if segment.state & (state::AMBIGUOUS | state::SACKED) == 0 {
                sample = match sample {
                    None if first || news.is_some() => Some(Sample { first: segment.at, last: segment.at }),
                    None => None,
                    Some(sample) => Some(Sample { last: segment.at, ..sample }),
                };
            }
            // Linux: nothing is measured by an acknowledgement that covers what was sent again.
            clean &= segment.state & state::AMBIGUOUS == 0;
            first = false;
            self.segments.pop_front();
        }
        sample.filter(|_| clean || news.is_none())
    }

    /// Where the first outstanding segment ends.
    pub fn first_end(&self) -> u64 {
        self.segments.front().map_or(0, Sent::end)
    }

    fn index_of(&self, seq: u64) -> usize {
        self.segments.partition_point(|s| s.seq < seq)
    }

    /// Marks what `blocks` report, between the acknowledgement and what was sent. Says whether any of it is news.
    pub fn mark_sacked(
        &mut self,
        blocks: &SackBlocks,
        una: u64,
        ack: u64,
        nxt: u64,
        mut news: Option<(&mut News, &Reading)>,
    ) -> bool {
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
            self.mark_range(from, to, &mut news);
        }
        self.seen = seen;
        self.sacked > before
    }

    fn mark_range(&mut self, from: u64, to: u64, news: &mut Option<(&mut News, &Reading)>) {
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
            if segment.state & state::SACKED == 0 {
                self.forget(&segment);
                if let Some((news, reading)) = news {
                    let stamps = self.timed.as_ref().and_then(|timed| timed.stamps.as_ref());
                    news.take(&segment, stamps.map(|stamps| stamps[index]), reading, true);
                }
                self.segments[index].state |= state::SACKED;
                self.sacked += segment.span();
                self.highest = self.highest.max(end);
            }
        }
    }

    /// RFC 8985 §6.2 step 5: what was sent before the segment `(at, end)`, by more than `wait`, and was not reported
    /// until now is lost. `rtt` is what that segment took. Returns how long to wait for those not yet lost, if any.
    pub fn rack(&mut self, now: Time, (at, end): (Time, u64), rtt: Span, wait: Span) -> Span {
        let Some(mut timed) = self.timed.take() else { return Span::ZERO };
        let mut longest = Span::ZERO;
        // What is left until a segment sent then is lost; zero if it is.
        let remaining = |sent: Time| (rtt + wait).saturating_sub(now.since(sent));
        let mut passed = true;
        for index in self.index_of(timed.first)..self.segments.len() {
            let segment = self.segments[index];
            if segment.state & (state::SACKED | state::LOST | state::AMBIGUOUS) == 0 {
                if (at, end) <= (segment.at, segment.end()) {
                    break;
                }
                let left = remaining(segment.at);
                if left.is_zero() {
                    self.lose(index);
                } else {
                    longest = longest.max(left);
                    passed = false;
                }
            }
            if passed {
                timed.first = segment.end();
            }
        }
        let mut again = timed.again.take().unwrap_or_default();
        let mut kept = 0;
        while let Some(&(sent, seq)) = again.get(kept) {
            let index = self.index_of(seq);
            let open = |s: &&Sent| s.state & state::SACKED == 0 && !s.waits();
            let current = self.segments.get(index).filter(|s| s.seq == seq && s.at == sent).filter(open);
            let Some(segment) = current else {
                again.remove(kept);
                continue;
            };
            if (at, end) <= (sent, segment.end()) {
                break;
            }
            let left = remaining(sent);
            if left.is_zero() {
                self.lose(index);
                again.remove(kept);
            } else {
                longest = longest.max(left);
                kept += 1;
            }
        }
        timed.again = Some(again);
        self.timed = Some(timed);
        longest
    }

    /// The segment is lost, also if it was sent again.
    fn lose(&mut self, index: usize) {
        let segment = self.segments[index];
        if segment.waits() || segment.state & state::SACKED != 0 {
            return;
        }
        self.forget(&segment);
        self.segments[index].state = segment.state & !state::RESENT | state::LOST;
        self.lost += segment.span();
        self.lost_ever += segment.span();
        self.resend_from = self.resend_from.min(segment.seq);
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

    /// Nothing that waits is lost after all (`tcp_undo_cwnd_reduction`).
    pub fn none_lost(&mut self) {
        for segment in &mut self.segments {
            if segment.state & state::LOST == 0 {
                continue;
            }
            let span = segment.span();
            if segment.waits() {
                self.lost -= span;
            }
            segment.state &= !state::LOST;
            if segment.twice() {
                self.twice += span;
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
        if self.sacked > 0 && self.highest > self.lost_below {
            self.mark_lost_below_highest(mss, threshold);
        }
    }

    #[inline(never)]
    fn mark_lost_below_highest(&mut self, mss: u64, threshold: u32) {
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
                    // What was sent again before it was known lost (NextSeg rules 3 and 4) is on its way.
                    if segment.twice() {
                        self.twice -= segment.span();
                    }
                    segment.state |= state::LOST;
                    self.lost_ever += segment.span();
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
        if !self.segments.is_empty() {
            self.lose(0);
        }
    }

    /// After a time-out: all that is not selectively acknowledged is lost.
    pub fn mark_all_lost(&mut self) {
        for index in 0..self.segments.len() {
            self.lose(index);
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

    /// The first segments that are lost and not sent again: as many as lie side by side and left in one burst, at most
    /// `most`. What is left of the burst is one of its own from now on (`tcp_fragment`).
    pub fn next_lost_burst(&mut self, most: usize) -> Option<Range<usize>> {
        let first = self.next_lost()?;
        let mut end = first + 1;
        while let Some(segment) = self.segments.get_mut(end) {
            if !segment.waits() || segment.state & state::HEAD != 0 {
                break;
            }
            if end - first == most {
                segment.state |= state::HEAD;
                break;
            }
            end += 1;
        }
        Some(first..end)
    }

    /// The segment just pushed begins a burst.
    pub fn mark_head(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.state |= state::HEAD;
        }
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

    /// The last segment outstanding.
    pub fn last(&self) -> Option<usize> {
        self.segments.len().checked_sub(1)
    }

    /// Notes that a segment is sent again; returns (seq, data, length, fin).
    pub fn resent(&mut self, index: usize, now: Time) -> (u64, u64, u32, bool) {
        let before = self.segments[index];
        self.forget(&before);
        let segment = &mut self.segments[index];
        segment.state |= state::RESENT | state::AMBIGUOUS;
        segment.at = now;
        let segment = *segment;
        if segment.again() {
            self.again += segment.span();
            if segment.twice() {
                self.twice += segment.span();
            }
        }
        self.note_again(now, segment.seq);
        (segment.seq, segment.data, segment.len, segment.state & state::FIN != 0)
    }

    fn note_again(&mut self, now: Time, seq: u64) {
        if let Some(again) = self.timed.as_mut().and_then(|timed| timed.again.as_mut()) {
            again.push_back((now, seq));
        }
    }

    /// As [`resent`](Self::resent), for a probe or a rescue: it is not counted as sent again, but gives no sample either.
    pub fn probed(&mut self, index: usize, now: Time) -> (u64, u64, u32, bool) {
        let segment = &mut self.segments[index];
        segment.state |= state::AMBIGUOUS;
        segment.at = now;
        let segment = *segment;
        self.note_again(now, segment.seq);
        (segment.seq, segment.data, segment.len, segment.state & state::FIN != 0)
    }

    /// How many bytes of the segments within `from..to` were ever sent again (for undo by duplicate reports).
    pub fn resent_within(&self, from: u64, to: u64) -> u64 {
        let first = self.index_of(from);
        let within = self.segments.iter().skip(first).take_while(|s| s.end() <= to);
        within.filter(|s| s.state & state::AMBIGUOUS != 0).map(Sent::span).sum()
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
        let news = board.mark_sacked(&sack, 1, ack, 1 + n * MSS, None);
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
        assert_eq!(b.acknowledge(1 + MSS, None), None); // Karn
        assert_eq!(b.next_lost(), Some(0));
        assert_eq!(
            b.acknowledge(1 + 3 * MSS, None),
            Some(Sample { first: Time::from_picos(1), last: Time::from_picos(1) })
        );
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
        b.acknowledge(1 + MSS, None);
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

    /// `tcp_xmit_retransmit_queue` goes by `sk_buff`, and `tcp_fragment` makes two of one that is too long.
    #[test]
    fn what_left_in_a_burst_is_sent_again_in_one() {
        let mut b = Scoreboard::default();
        for i in 0..8 {
            b.push(1 + i * MSS, Time::ZERO, i * MSS, MSS as u32, false);
            if i % 4 == 0 {
                b.mark_head();
            }
        }
        sack(&mut b, &[(1, 2)], 1, 8);
        b.mark_all_lost();
        let mut next = |most| {
            let burst = b.next_lost_burst(most)?;
            burst.clone().for_each(|index| _ = b.resent(index, Time::ZERO));
            Some(burst)
        };
        assert_eq!(next(9), Some(0..1)); // 1 has arrived
        assert_eq!(next(9), Some(2..4)); // 4 begins another burst
        assert_eq!(next(3), Some(4..7));
        assert_eq!(next(3), Some(7..8));
        assert_eq!(next(3), None);
        b.mark_all_lost();
        b.resent(0, Time::ZERO);
        b.resent(2, Time::ZERO);
        b.resent(3, Time::ZERO);
        assert_eq!(b.next_lost_burst(9), Some(4..7), "the burst was cut");
    }
}
