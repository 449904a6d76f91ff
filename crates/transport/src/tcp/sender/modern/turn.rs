//! What is noted of each segment sent, what is sent again, and how a turn of sending ends.

use headway_units::Time;

use super::Pending;
use crate::network::Network;
use crate::tcp::profile::Profile;
use crate::tcp::sender::scoreboard::Stamp;
use crate::tcp::sender::{Repair, Sender};

impl Sender {
    /// New data is about to be sent.
    pub(in crate::tcp::sender) fn note_new(&mut self, now: Time, span: u64, profile: &Profile, net: &mut Network) {
        let idle = self.outstanding() == 0;
        let reducing = self.is_reducing();
        let modern = self.more();
        if reducing {
            modern.out += span;
        }
        modern.sent = true;
        modern.probing = false;
        if idle {
            modern.delivered_at = now;
            modern.first_sent = now;
        }
        // not the end of a reordering window: `tcp_event_new_data_sent`
        if profile.modern.is_some() && (idle || self.more().pending == Pending::Probe) {
            self.rearm(now, profile, net);
        }
    }

    /// A new segment has been put on the board; returns the bits that it leaves with.
    pub(in crate::tcp::sender) fn note_pushed(&mut self) -> u8 {
        if std::mem::take(&mut self.more().output.fresh) {
            self.board.mark_head();
        }
        self.stamp_sent(None);
        self.marks()
    }

    /// Accounts for `span` bytes sent in this turn.
    pub(in crate::tcp::sender) fn note_resent(&mut self, now: Time, span: u64) {
        let reducing = self.is_reducing();
        let modern = self.more();
        if reducing {
            modern.out += span;
        }
        modern.undo_left = Some(modern.undo_left.unwrap_or(0) + span);
        if modern.first_again.is_none() {
            modern.first_again = Some(now);
            modern.epoch = (modern.epoch + 1) & 3;
        }
    }

    /// The stamp of a segment that is being sent.
    pub(in crate::tcp::sender) fn stamp_sent(&mut self, index: Option<usize>) {
        let total = self.total();
        let Some(modern) = self.modern.as_mut().filter(|_| self.control.wants_delivery()) else { return };
        let stamp = Stamp {
            delivered: total,
            delivered_at: modern.delivered_at,
            first_sent: modern.first_sent,
            limited: modern.limited_until > 0,
        };
        self.board.stamp(index, stamp);
    }

    /// Sends again what is lost, as far as the window and the pace allow: what left in one burst and was lost side by
    /// side leaves in one burst again (`tcp_xmit_retransmit_queue`, which goes by `sk_buff`).
    pub(in crate::tcp::sender) fn repair_modern(
        &mut self,
        now: Time,
        more_data: bool,
        profile: &Profile,
        net: &mut Network,
    ) {
        if self.more().try_new {
            self.more().try_new = false;
            if more_data {
                return; // the connection's turn sends new data first
            }
            self.more().f_rto = false;
        }
        let mut head = false;
        while self.board.lost() > 0 {
            // `tcp_retransmit_timer` waits for nothing
            let forced = self.force && self.repair == Repair::Timeout;
            let room = self.repair_window().saturating_sub(self.pipe()) / self.mss();
            if room == 0 && !self.force || !forced && self.is_repair_held(now, profile, net) {
                break;
            }
            let most = if forced { 1 } else { room.max(1).min(self.burst_size(profile) / self.mss()) };
            self.force = false;
            let Some(lost) = self.board.next_lost_burst(most as usize) else { break };
            head |= lost.start == 0;
            let bytes = lost.len() as u64 * self.mss();
            for index in lost.clone() {
                if index + 1 == lost.end && lost.len() > 1 {
                    self.end_burst();
                }
                self.resend(now, index, profile, net);
            }
            self.note_output(now, bytes, profile, net);
        }
        self.force = false;
        if head && self.more().pending != Pending::Reordering {
            self.more().pending = Pending::Retransmission;
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }

    /// Whether one segment may go beyond the window: a probe.
    pub fn is_probing(&self) -> bool {
        self.modern.as_ref().is_some_and(|m| m.probing)
    }

    /// See [`Sender::end_turn`].
    pub(in crate::tcp::sender) fn end_modern_turn(
        &mut self,
        now: Time,
        unsent: u64,
        profile: &Profile,
        net: &mut Network,
    ) {
        let sent = std::mem::take(&mut self.more().sent);
        let probe = std::mem::take(&mut self.more().output.probe_due);
        if probe {
            self.finish_probe(now, profile, net);
        }
        let deferred = std::mem::take(&mut self.more().output.deferred);
        let full = self.pipe() + self.mss() > self.window.cwnd || deferred;
        if sent || full {
            self.validate(now, full, unsent == 0, profile);
        }
        if sent && !probe && profile.modern.is_some() {
            self.set_probe_timer(now, false, profile, net);
        }
        // `tcp_rate_check_app_limited`
        if unsent == 0 && self.board.lost() == 0 && !full {
            let until = (self.total() + self.pipe()).max(1);
            self.more().limited_until = until;
        }
    }
}
