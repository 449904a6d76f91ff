//! The retransmission timer: time-outs, tail loss probes and RACK's reordering window (`tcp_timer.c`, `tcp_rearm_rto`,
//! `tcp_schedule_loss_probe`).

use headway_control::congestion::Cause;
use headway_units::{Span, Time};

use super::{Pending, TIMEOUT_MIN};
use crate::network::Network;
use crate::tcp::profile::{Profile, Recovery};
use crate::tcp::sender::{Context, Repair, Sender};

impl Sender {
    /// `tcp_rearm_rto`: the time-out of the oldest segment outstanding.
    pub(super) fn rearm(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        let mut after = self.rtt.rto();
        if self.more().pending != Pending::Retransmission
            && let Some(head) = self.board.first_at()
        {
            after = after.saturating_sub(now.since(head)).max(Span::from_micros(1));
        }
        self.more().pending = Pending::Retransmission;
        self.set_timer(now, after, profile, net);
    }

    /// RFC 8985 §7.2; `tcp_schedule_loss_probe`. `fresh`: the time-out would start anew.
    pub(super) fn set_probe_timer(&mut self, now: Time, fresh: bool, profile: &Profile, net: &mut Network) -> bool {
        let wanted = profile.modern.is_some_and(|m| m.tail_loss_probe)
            && self.outstanding() > 0
            && (self.repair == Repair::Reducing || self.repair == Repair::None && !self.is_disordered());
        if !wanted {
            return false;
        }
        let mut after = match self.rtt.srtt() {
            // the answer to a lone segment may be delayed
            Some(srtt) if self.board.len() == 1 => srtt * 2 + self.rtt.floor(),
            Some(srtt) => srtt * 2 + TIMEOUT_MIN,
            None => Span::from_secs(1),
        };
        let left = match self.board.first_at() {
            Some(head) if !fresh => self.rtt.rto().saturating_sub(now.since(head)),
            _ => self.rtt.rto(),
        };
        if !left.is_zero() {
            after = after.min(left);
        }
        self.more().pending = Pending::Probe;
        self.set_timer(now, after, profile, net);
        true
    }

    pub(in crate::tcp::sender) fn on_timeout_modern(
        &mut self,
        now: Time,
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
    ) {
        match self.more().pending {
            Pending::Reordering => self.on_reordering_timeout(now, context, profile, net),
            Pending::Probe => {
                // new data if there is some, else the last segment again: decided in the connection's turn
                if self.more().probe.is_none() {
                    let modern = self.more();
                    modern.probing = true;
                    modern.output.probe_due = true;
                } else {
                    self.rearm(now, profile, net);
                }
            }
            Pending::Retransmission => self.on_retransmission_timeout(now, context, profile, net),
        }
    }

    /// `tcp_send_loss_probe`, after new data had its chance: the last segment again, if there was none. It is no
    /// retransmission to the accounts (`__tcp_retransmit_skb`).
    pub(super) fn finish_probe(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        let again = self.more().probing;
        self.more().probing = false;
        if again {
            let Some(last) = self.board.last() else { return };
            self.resend_probe(now, last, profile, net);
        }
        let nxt = self.nxt;
        let modern = self.more();
        modern.probe = Some(nxt);
        modern.probe_again = again;
        // the time-out counts from the probe, not from what it probes for
        modern.pending = Pending::Retransmission;
        self.rearm(now, profile, net);
    }

    /// `tcp_rack_reo_timeout`
    pub(super) fn on_reordering_timeout(
        &mut self,
        now: Time,
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
    ) {
        let before = (self.pipe(), self.board.lost_ever());
        self.rack(now);
        if self.pipe() != before.0 && self.repair != Repair::Fast {
            self.enter_recovery(now, false, context, profile);
            if !self.control.manages_cwnd() {
                let lost = self.board.lost_ever() - before.1;
                self.reduce(self.mss(), lost, false, profile);
            }
        }
        self.rearm(now, profile, net);
    }

    /// `tcp_retransmit_timer`, `tcp_enter_loss`
    pub(super) fn on_retransmission_timeout(
        &mut self,
        now: Time,
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
    ) {
        self.counters.timeouts += 1;
        let fresh = matches!(self.repair, Repair::None | Repair::Reducing);
        let retransmits = self.more().retransmits;
        if profile.recovery == Recovery::Rack {
            let rtt = self.more().latest_rtt;
            self.board.mark_old_lost(now, rtt);
        } else {
            self.board.mark_all_lost();
        }
        // ssthresh is lowered once for a window (RFC 5681 §3.1)
        if self.repair == Repair::None || self.point <= self.una || self.repair == Repair::Timeout && retransmits == 0 {
            let prior = (self.window.cwnd, self.current_ssthresh());
            let modern = self.more();
            modern.prior_cwnd = prior.0;
            modern.prior_ssthresh = Some(prior.1);
            self.congested(now, Cause::Timeout, context, profile);
            self.begin_undo();
        }
        self.window.cwnd = self.pipe() + self.mss();
        self.control.on_timeout(self.board.lost_ever());
        self.failed = true;
        self.repair = Repair::Timeout;
        self.point = self.nxt;
        self.force = true;
        self.note_reduction();
        let modern = self.more();
        modern.validated = now;
        modern.probe = None;
        modern.probing = false;
        modern.try_new = false;
        modern.f_rto = profile.modern.is_some_and(|m| m.f_rto) && (fresh || retransmits > 0);
        modern.retransmits += 1;
        self.rtt.back_off();
        self.set_timer(now, self.rtt.rto(), profile, net);
    }
}
