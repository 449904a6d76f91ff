//! The state machine (`tcp_fastretrans_alert`): how acknowledgements begin, continue and end repairs.

use headway_control::congestion::Cause;
use headway_units::Time;

use super::timers::Pending;
use super::{AckFlags, TIMEOUT_MIN};
use crate::network::Network;
use crate::tcp::sender::{AckContext, EventContext, Repair, Sender};

impl Sender {
    /// A recovery that ends while something is still lost, though retransmitted since, is followed by the next at once
    /// (`tcp_time_to_recover`).
    pub(super) fn alert(&mut self, context: &AckContext<'_>, flags: &mut AckFlags, net: &mut Network) {
        let now = context.event.now;
        if context.ece {
            self.linux_mut().undo.prior_ssthresh = None;
        }
        let complete = self.una >= self.recovery_point;
        match self.repair {
            Repair::None if !self.is_disordered() => self.linux_mut().undo.retrans_stamp = None,
            Repair::Reducing if complete && self.una != self.recovery_point => {
                self.end_reduction(now, true);
                self.repair = Repair::None;
            }
            Repair::Fast if complete => {
                self.try_undo_recovery(now, flags);
                let reduced = self.linux_mut().undo.marker.is_some();
                self.end_reduction(now, reduced);
                self.repair = Repair::None;
            }
            _ => {}
        }
        match self.repair {
            Repair::Fast => {
                if flags.advanced && self.may_undo_by_time(flags) && self.settings().undo {
                    // a hole was filled by a late original, not by a retransmission
                    if self.board.retrans_out() > 0 {
                        return;
                    }
                    self.undo(now, true);
                    self.repair = Repair::None;
                } else {
                    self.try_undo_by_reports(now);
                }
                self.identify(&context.event, flags, net);
                if self.repair != Repair::Fast && self.board.lost_out() > 0 {
                    self.enter_recovery(context.ece, &context.event);
                }
            }
            Repair::Timeout => {
                self.process_loss(now, flags);
                self.identify(&context.event, flags, net);
                if self.repair != Repair::Timeout && self.board.lost_out() > 0
                    || self.repair == Repair::Timeout && flags.lost_retransmission
                {
                    self.enter_recovery(context.ece, &context.event);
                }
            }
            Repair::None | Repair::Reducing => {
                if self.repair == Repair::None {
                    self.try_undo_by_reports(now);
                }
                self.identify(&context.event, flags, net);
                if self.board.lost_out() > 0 {
                    self.enter_recovery(context.ece, &context.event);
                } else {
                    if self.board.retrans_out() == 0 {
                        self.linux_mut().undo.retrans_stamp = None;
                    }
                    if context.ece && self.repair == Repair::None {
                        self.linux_mut().undo.marker = None;
                        self.begin_reduction(Cause::Ece, &context.event);
                        self.repair = Repair::Reducing;
                    }
                }
            }
        }
    }

    /// Finds lost segments: by time (RACK), or by the reports above them.
    fn identify(&mut self, context: &EventContext<'_>, flags: &mut AckFlags, net: &mut Network) {
        if !self.settings().rack {
            self.board.mark_lost(self.mss(), context.profile.duplicate_threshold);
            return;
        }
        if !std::mem::take(&mut self.linux_mut().rack.advanced) {
            return;
        }
        let retrans_out = self.board.retrans_out();
        let wait = self.detect_loss_by_time(context.now);
        if !wait.is_zero() {
            flags.set_timer = false;
            self.linux_mut().pending = Pending::Reordering;
            self.set_timer(context.now, wait + TIMEOUT_MIN, context.profile, net);
        }
        flags.lost_retransmission = self.board.retrans_out() < retrans_out;
    }

    /// `tcp_enter_recovery`; `ece`: because of an acknowledgement that echoes congestion.
    pub(super) fn enter_recovery(&mut self, ece: bool, context: &EventContext<'_>) {
        let already = self.is_reducing();
        // `tcp_retrans_stamp_cleanup`
        if self.board.retrans_out() == 0 && !self.board.is_head_retransmitted() {
            self.linux_mut().undo.retrans_stamp = None;
        }
        self.linux_mut().undo.prior_ssthresh = None;
        self.begin_undo();
        if !already {
            if !ece {
                self.linux_mut().undo.prior_ssthresh = Some(self.current_ssthresh());
            }
            self.begin_reduction(Cause::Loss, context);
        } else if self.control.dctcp_ecn() {
            // `dctcp_state`: loss weighs more than the marks for which the window is coming down
            self.congested(Cause::Loss, context);
        }
        self.repair = Repair::Fast;
        // A control that owns the window leaves room for what this acknowledgement tells to have arrived.
        self.retransmit_now = !self.control.manages_cwnd();
    }

    /// `tcp_process_loss`: after a time-out.
    fn process_loss(&mut self, now: Time, flags: &AckFlags) {
        let recovered = self.una >= self.recovery_point;
        if flags.advanced && self.settings().undo && self.may_undo(flags) {
            self.undo(now, true);
            self.repair = Repair::None;
            return;
        }
        if self.linux_mut().f_rto {
            // RFC 5682 §3.1 step 3.b: an original has arrived, so not all was lost
            if flags.state.original {
                self.undo(now, true);
                self.repair = Repair::None;
                return;
            }
            if self.nxt > self.recovery_point {
                if flags.sacked || !flags.advanced {
                    self.linux_mut().f_rto = false; // step 3.a: the loss was real
                }
            } else if flags.advanced && !recovered {
                self.recovery_point = self.nxt;
                self.linux_mut().new_data_first = true; // step 2.b
                return;
            }
        }
        if recovered {
            self.try_undo_recovery(now, flags);
            self.repair = Repair::None;
            self.control.on_recovered(now, &mut self.window);
        }
    }
}
