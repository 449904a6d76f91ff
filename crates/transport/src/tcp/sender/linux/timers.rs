//! The retransmission timer: time-outs, tail loss probes and RACK's reordering window (`tcp_timer.c`, `tcp_rearm_rto`,
//! `tcp_schedule_loss_probe`).

use headway_control::congestion::Cause;
use headway_units::{Span, Time};

use super::{AckFlags, TIMEOUT_MIN};
use crate::network::Network;
use crate::tcp::profile::Profile;
use crate::tcp::sender::{AckContext, EventContext, Repair, Sender};

/// The purpose for which the retransmission timer is set (Linux' `icsk_pending`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Retransmission,
    /// A tail loss probe.
    Probe,
    /// The end of RACK's reordering window.
    Reordering,
}

/// State of the tail loss probe (RFC 8985 §7.1).
#[derive(Debug, Default)]
pub(super) struct TailLossProbe {
    /// `TLP.end_seq`: a probe is unanswered until this is acknowledged.
    pub end_seq: Option<u64>,
    /// `TLP.is_retrans`
    is_retrans: bool,
    /// This turn ends with a probe.
    due: bool,
    /// No new data has become the probe yet: one segment may go beyond the window.
    pub probing: bool,
}

impl Sender {
    /// `tcp_rearm_rto`: the time-out of the oldest segment outstanding.
    pub(super) fn rearm(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        let mut after = self.rtt.rto();
        if self.linux_mut().pending != Pending::Retransmission
            && let Some(head) = self.board.head_sent_at()
        {
            after = after.saturating_sub(now.since(head)).max(Span::from_micros(1));
        }
        self.linux_mut().pending = Pending::Retransmission;
        self.set_timer(now, after, profile, net);
    }

    /// RFC 8985 §7.2; `tcp_schedule_loss_probe`. `fresh`: the time-out would start anew.
    pub(in crate::tcp::sender) fn set_probe_timer(
        &mut self,
        now: Time,
        fresh: bool,
        profile: &Profile,
        net: &mut Network,
    ) -> bool {
        let wanted = self.settings().tail_loss_probe
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
        let remaining = match self.board.head_sent_at() {
            Some(head) if !fresh => self.rtt.rto().saturating_sub(now.since(head)),
            _ => self.rtt.rto(),
        };
        if !remaining.is_zero() {
            after = after.min(remaining);
        }
        self.linux_mut().pending = Pending::Probe;
        self.set_timer(now, after, profile, net);
        true
    }

    pub(in crate::tcp::sender) fn on_timeout_linux(&mut self, context: &EventContext<'_>, net: &mut Network) {
        let linux = self.linux_mut();
        match linux.pending {
            Pending::Reordering => self.on_reordering_timeout(context, net),
            Pending::Probe if linux.probe.end_seq.is_none() => {
                // new data if there is some, else a retransmission of the last segment: decided in the connection's
                // turn
                linux.probe.probing = true;
                linux.probe.due = true;
            }
            Pending::Probe => self.rearm(context.now, context.profile, net),
            Pending::Retransmission => self.on_retransmission_timeout(context, net),
        }
    }

    /// Whether one segment may go beyond the window: a probe.
    pub fn is_probing(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.probe.probing)
    }

    /// Ends a turn with a probe if one is due; says whether it was (`tcp_send_loss_probe`). New data had its chance;
    /// if there was none, the last segment is retransmitted. It is no retransmission to the accounts
    /// (`__tcp_retransmit_skb`).
    pub(in crate::tcp::sender) fn send_due_probe(&mut self, now: Time, profile: &Profile, net: &mut Network) -> bool {
        let Some(linux) = &mut self.linux else { return false };
        if !std::mem::take(&mut linux.probe.due) {
            return false;
        }
        let is_retrans = std::mem::take(&mut linux.probe.probing);
        if is_retrans {
            let Some(last) = self.board.last() else { return true };
            self.retransmit_once_counted(now, last, profile, net);
        }
        let nxt = self.nxt;
        let linux = self.linux_mut();
        linux.probe.end_seq = Some(nxt);
        linux.probe.is_retrans = is_retrans;
        // the time-out counts from the probe, not from what it probes for
        linux.pending = Pending::Retransmission;
        self.rearm(now, profile, net);
        true
    }

    /// RFC 8985 §7.4.2: whether the probe repaired a loss (`tcp_process_tlp_ack`).
    pub(super) fn on_probe_answered(&mut self, context: &AckContext<'_>, flags: &AckFlags) {
        let probe = &mut self.linux_mut().probe;
        let Some(end) = probe.end_seq.filter(|&end| context.ack >= end) else { return };
        if !probe.is_retrans || flags.dsack {
            probe.end_seq = None;
        } else if context.ack > end {
            // the last segment was lost: congestion, already repaired
            self.begin_reduction(Cause::Loss, &context.event);
            self.end_reduction(context.event.now, true);
            self.repair = Repair::None;
            self.keep_open();
        } else if !flags.advanced && !flags.sacked {
            probe.end_seq = None;
        }
    }

    /// `tcp_rack_reo_timeout`
    fn on_reordering_timeout(&mut self, context: &EventContext<'_>, net: &mut Network) {
        let (pipe, lost_ever) = (self.pipe(), self.board.lost_ever());
        self.detect_loss_by_time(context.now);
        if self.pipe() != pipe && self.repair != Repair::Fast {
            self.enter_recovery(false, context);
            if !self.control.manages_cwnd() {
                self.reduce(self.mss(), self.board.lost_ever() - lost_ever, false);
            }
        }
        self.rearm(context.now, context.profile, net);
    }

    /// `tcp_retransmit_timer`, `tcp_enter_loss`
    fn on_retransmission_timeout(&mut self, context: &EventContext<'_>, net: &mut Network) {
        self.counters.timeouts += 1;
        let fresh = matches!(self.repair, Repair::None | Repair::Reducing);
        let linux = self.linux_mut();
        let (timeouts, rtt) = (linux.timeouts, linux.rack.rtt);
        if linux.settings.rack {
            self.board.mark_old_lost(context.now, rtt);
        } else {
            self.board.mark_all_lost();
        }
        // ssthresh is lowered once for a window (RFC 5681 §3.1)
        let first = self.repair == Repair::None || self.recovery_point <= self.una;
        if first || self.repair == Repair::Timeout && timeouts == 0 {
            let (cwnd, ssthresh) = (self.window.cwnd, self.current_ssthresh());
            let linux = self.linux_mut();
            linux.prr.prior_cwnd = cwnd;
            linux.undo.prior_ssthresh = Some(ssthresh);
            self.congested(Cause::Timeout, context);
            self.begin_undo();
        }
        self.window.cwnd = self.pipe() + self.mss();
        self.control.on_timeout(self.board.lost_ever());
        self.failed = true;
        self.repair = Repair::Timeout;
        self.recovery_point = self.nxt;
        self.retransmit_now = true;
        self.note_reduction();
        self.note_window_change(context.now);
        let linux = self.linux_mut();
        linux.probe.end_seq = None;
        linux.probe.probing = false;
        linux.new_data_first = false;
        linux.f_rto = linux.settings.f_rto && (fresh || timeouts > 0);
        linux.timeouts += 1;
        self.rtt.back_off();
        self.set_timer(context.now, self.rtt.rto(), context.profile, net);
    }
}
