//! Loss by time: RACK (RFC 8985 §6.2, `tcp_recovery.c`).

use headway_units::{Span, Time};

use crate::sack_pool::SackBlocks;
use crate::segment::unwrap;
use crate::tcp::sender::scoreboard::SackState;
use crate::tcp::sender::{Repair, Sender};

/// Recoveries after which a widened reordering window returns to its first width (RFC 8985 §6.2 step 4).
pub(super) const RECOVERIES: u8 = 16;
/// `sysctl_tcp_max_reordering`.
const MAX_REORDERING: u32 = 300;

/// State of RACK (RFC 8985 §5.2).
#[derive(Debug)]
pub(super) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: the segment sent last of those delivered.
    latest: (Time, u64),
    /// `RACK.rtt`
    pub rtt: Span,
    /// There was a delivery since losses were last looked for.
    pub advanced: bool,
    /// `RACK.reordering_seen`
    reordering_seen: bool,
    /// `RACK.reo_wnd_mult`
    pub reo_wnd_mult: u32,
    /// `RACK.reo_wnd_persist`
    pub reo_wnd_persist: u8,
    /// `RACK.dsack_round`: the window is not widened again before this is acknowledged.
    dsack_round: u64,
    /// Segments (Linux' `tp->reordering`).
    pub reordering: u32,
}

impl Rack {
    pub fn new(reordering: u32) -> Rack {
        Rack {
            latest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            advanced: false,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_round: 0,
            reordering,
        }
    }
}

impl Sender {
    /// RACK's latest delivery, and signs of reordering.
    pub(super) fn note_delivery(&mut self, now: Time, state: &SackState) {
        let mss = self.mss();
        let fack = self.board.highest_sacked();
        let rack = &mut self.linux_mut().rack;
        // `tcp_rack_advance`: the round trip is that of the segment looked at last, whether or not it was sent last.
        if let (Some(latest), Some(sent)) = (state.rack_latest, state.rack_sent) {
            rack.advanced = true;
            rack.rtt = now.since(sent);
            rack.latest = rack.latest.max(latest);
        }
        if let Some(seq) = state.reordered {
            rack.reordering_seen = true;
            let segments = (fack.saturating_sub(seq)).div_ceil(mss) as u32;
            rack.reordering = rack.reordering.max(segments.min(MAX_REORDERING));
        }
    }

    /// RFC 2883: a first block below the acknowledgement, or within the second, reports a duplicate.
    pub(super) fn on_duplicate_report(&mut self, blocks: &SackBlocks, ack: u64) -> bool {
        if !blocks.duplicate {
            return false;
        }
        let (start, end) = blocks.blocks[0];
        let (start, end) = (unwrap(self.una, start), unwrap(self.una, end));
        let duplicated = if end <= ack { end - start } else { self.board.retransmitted_within(start, end) };
        self.linux_mut().undo.note_duplicate(end, duplicated);
        // RFC 8985 §6.2 step 4, once a round trip
        let (una, nxt) = (self.una, self.nxt);
        let rack = &mut self.linux_mut().rack;
        if una >= rack.dsack_round {
            rack.dsack_round = nxt;
            rack.reo_wnd_mult = (rack.reo_wnd_mult + 1).min(255);
            rack.reo_wnd_persist = RECOVERIES;
        }
        true
    }

    /// Marks what RACK finds lost; returns how long to wait for the rest (`tcp_rack_detect_loss`).
    pub(super) fn detect_loss_by_time(&mut self, now: Time) -> Span {
        let wait = self.reordering_window();
        let rack = &self.linux_mut().rack;
        let (latest, rtt) = (rack.latest, rack.rtt);
        self.board.rack(now, latest, rtt, wait)
    }

    /// RFC 8985 §6.2 step 4; `tcp_rack_reo_wnd`.
    fn reordering_window(&mut self) -> Span {
        let in_repair = matches!(self.repair, Repair::Fast | Repair::Timeout);
        let sacked = self.board.sacked() / self.mss();
        let rack = &self.linux_mut().rack;
        if !rack.reordering_seen && (in_repair || sacked >= u64::from(rack.reordering)) {
            return Span::ZERO;
        }
        let mult = rack.reo_wnd_mult;
        let min = self.rtt.min().unwrap_or(Span::ZERO);
        (min / 4).saturating_mul(u64::from(mult)).min(self.rtt.srtt().unwrap_or(Span::ZERO))
    }
}
