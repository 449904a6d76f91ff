//! Reductions that prove wrong are taken back (RFC 3522, RFC 2883; `tcp_undo_cwnd_reduction` and its callers).

use headway_units::Time;

use super::AckFlags;
use super::rack::RECOVERIES;
use crate::segment::flag;
use crate::tcp::rtt::tick;
use crate::tcp::sender::{AckContext, Repair, Sender};

/// Evidence for and against the repair under way.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// Where the repair began, while it may still turn out to have been needless (`undo_marker`).
    pub marker: Option<u64>,
    /// Bytes retransmitted in it that were not reported twice; `None` before the first (`undo_retrans`).
    pub retrans: Option<u64>,
    /// ssthresh before it.
    pub prior_ssthresh: Option<u64>,
    /// When this repair first retransmitted (`retrans_stamp`).
    pub retrans_stamp: Option<Time>,
    /// Counts repairs that retransmitted, modulo four: the substitute for timestamps.
    pub epoch: u8,
}

impl Undo {
    /// `duplicated` bytes up to `end` were reported twice.
    pub fn note_duplicate(&mut self, end: u64, duplicated: u64) {
        if let (Some(from), Some(retrans)) = (self.marker, self.retrans)
            && end > from
        {
            self.retrans = Some(retrans.saturating_sub(duplicated));
        }
    }

    /// `span` bytes are retransmitted.
    pub fn note_retransmission(&mut self, now: Time, span: u64) {
        self.retrans = Some(self.retrans.unwrap_or(0) + span);
        if self.retrans_stamp.is_none() {
            self.retrans_stamp = Some(now);
            self.epoch = (self.epoch + 1) & 3;
        }
    }
}

impl Sender {
    /// `tcp_init_undo`
    pub(super) fn begin_undo(&mut self) {
        let (una, retrans_out) = (self.una, self.board.retrans_out());
        let undo = &mut self.linux_mut().undo;
        undo.marker = Some(una);
        undo.retrans = (retrans_out > 0).then_some(retrans_out);
    }

    /// The Eifel test: the acknowledged segment was sent before this repair retransmitted anything (RFC 3522 §3.2).
    /// Linux' timestamps count milliseconds, so shorter round trips tell nothing unless a tick lies between.
    pub(super) fn is_early(&self, context: &AckContext<'_>) -> bool {
        let event = &context.event;
        let Some(linux) = self.linux.as_ref().filter(|_| event.profile.timestamps) else { return false };
        let Some(first) = linux.undo.retrans_stamp else { return false };
        let echo = (context.tag & flag::EPOCH) >> flag::EPOCH_SHIFT;
        let sent = self.too_soon(event.now).min(first);
        echo != linux.undo.epoch && tick(sent) < tick(first)
    }

    /// `tcp_may_undo`
    pub(super) fn may_undo(&self, flags: &AckFlags) -> bool {
        let Some(linux) = &self.linux else { return false };
        let undo = &linux.undo;
        undo.marker.is_some() && (undo.retrans == Some(0) || undo.retrans_stamp.is_none() || flags.early)
    }

    /// As [`may_undo`](Self::may_undo), by the Eifel test alone (`tcp_packet_delayed`).
    pub(super) fn may_undo_by_time(&self, flags: &AckFlags) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.undo.marker.is_some() && flags.early)
    }

    /// `tcp_try_undo_recovery`
    pub(super) fn try_undo_recovery(&mut self, now: Time, flags: &AckFlags) {
        if self.may_undo(flags) {
            self.undo(now, false);
        } else {
            let rack = &mut self.linux_mut().rack;
            rack.reo_wnd_persist = rack.reo_wnd_persist.saturating_sub(1);
            if rack.reo_wnd_persist == 0 {
                rack.reo_wnd_mult = 1;
            }
        }
    }

    /// Every retransmission has been reported twice, so nothing was lost (RFC 3708 §3; `tcp_try_undo_dsack`).
    pub(super) fn try_undo_by_reports(&mut self, now: Time) {
        let linux = self.linux_mut();
        let all = linux.undo.marker.is_some() && linux.undo.retrans == Some(0);
        if all && linux.settings.undo {
            linux.rack.reo_wnd_persist = (linux.rack.reo_wnd_persist + 1).min(RECOVERIES);
            self.undo(now, false);
            if self.repair == Repair::Fast {
                self.repair = Repair::None;
            }
        }
    }

    /// `tcp_undo_cwnd_reduction`
    pub(super) fn undo(&mut self, now: Time, none_lost: bool) {
        if none_lost {
            self.board.none_lost();
        }
        let linux = self.linux_mut();
        let (prior_cwnd, prior_ssthresh) = (linux.prr.prior_cwnd, linux.undo.prior_ssthresh);
        linux.undo.marker = None;
        linux.rack.advanced = true;
        self.note_window_change(now);
        if let Some(ssthresh) = prior_ssthresh {
            if !self.control.manages_cwnd() {
                self.window.cwnd = self.window.cwnd.max(prior_cwnd);
            }
            if ssthresh > self.window.ssthresh {
                self.window.ssthresh = ssthresh;
                self.cwr_pending = false;
            }
            self.control.on_undo(now, &mut self.window);
        }
    }
}
