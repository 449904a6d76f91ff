//! Reports of segments by acknowledgements, for round-trip samples, RACK, undo and rate samples.

use headway_units::Time;

use super::sent::{Sent, bit};

/// The state of delivery when a segment was sent, for rate samples
/// (draft-cheng-iccrg-delivery-rate-estimation §3.2).
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp::sender) struct Stamp {
    /// Bytes delivered until then.
    pub delivered: u64,
    /// When the last of them were.
    pub delivered_at: Time,
    /// When the first segment of that flight was sent.
    pub first_sent: Time,
    /// The sender had nothing more to send then.
    pub app_limited: bool,
}

/// State of the segments that an acknowledgement newly reports, for RACK, undo and rate samples (Linux:
/// `tcp_sacktag_state`).
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp::sender) struct SackState {
    /// The segment sent last of those newly reported: when, and where it ends. Not one that was retransmitted, if what
    /// was acknowledged may have been the first copy (RFC 8985 §6.2 step 2).
    pub rack_latest: Option<(Time, u64)>,
    /// When the last of them that was looked at was sent, selectively acknowledged ones first: of the kind of
    /// `rack_latest`.
    pub rack_sent: Option<Time>,
    /// When the first and the last of those selectively acknowledged were sent; never retransmitted ones only.
    pub sacked: Option<(Time, Time)>,
    /// A segment was reported that was sent before the repair began and never retransmitted.
    pub original: bool,
    /// Reordering: the lowest segment that was never retransmitted and lies below what had been reported.
    pub reordered: Option<u64>,
    /// When the last retransmitted segment acknowledged in sequence was last sent.
    pub retransmitted: Option<Time>,
    /// The stamp of the segment sent last, with that time.
    pub stamp: Option<(Stamp, Time)>,
}

/// The sender's state that decides which of the reported segments count, and how.
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp::sender) struct SackContext {
    /// A segment retransmitted after this was acknowledged too soon for that to have been the second copy.
    pub too_soon: Time,
    /// Where the repair under way began.
    pub recovery_point: u64,
    /// The end of the highest segment reported until then (`tcp_ack`: `prior_fack`): what this acknowledgement itself
    /// reports beyond a segment does not make that one late.
    pub highest: u64,
}

impl SackState {
    #[inline]
    pub(super) fn take(&mut self, segment: &Sent, stamp: Option<Stamp>, context: &SackContext, selectively: bool) {
        let (at, end) = (segment.at, segment.end());
        let once = segment.state & bit::EVER_RETRANS == 0;
        if once {
            self.original |= end <= context.recovery_point;
            if end < context.highest {
                self.reordered = Some(self.reordered.map_or(segment.seq, |seq| seq.min(segment.seq)));
            }
            if selectively {
                self.sacked = Some(self.sacked.map_or((at, at), |(first, _)| (first, at)));
            }
        }
        if !once && !selectively {
            self.retransmitted = Some(at);
        }
        if once || at <= context.too_soon {
            self.rack_sent = Some(at);
            self.rack_latest = self.rack_latest.max(Some((at, end)));
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
pub(in crate::tcp::sender) struct RttSample {
    pub first: Time,
    pub last: Time,
}
