//! Growth and reduction of the window (RFC 6937; `tcp_cong_control`, `tcp_cwnd_reduction`).

use headway_control::congestion::{Ack, Cause};
use headway_units::{Span, Time};

use super::AckFlags;
use crate::tcp::profile::Reduction;
use crate::tcp::sender::prr::Prr;
use crate::tcp::sender::{AckContext, EventContext, Permit, Sender};

impl Sender {
    /// `tcp_cong_control`: reduces or grows the window.
    pub(super) fn follow(&mut self, context: &AckContext<'_>, rtt: Option<Span>, flags: &AckFlags) {
        let EventContext { now, profile, .. } = context.event;
        let info = self.linux_ack_info(context, rtt, flags);
        if let Some(rate) = &mut self.rate
            && (flags.state.stamp.is_some() || info.acked > 0)
        {
            rate.delivered(now, info.total, flags.state.stamp.map(|(_, sent)| sent));
        }
        if self.control.manages_cwnd() {
            self.control.observe(&Ack { state: self.state(), ..info }, &mut self.window);
            return;
        }
        if self.is_reducing() {
            self.reduce(info.acked, info.lost, flags.advanced);
            return;
        }
        let reordering = self.linux_mut().rack.reordering;
        let raises = flags.advanced || reordering > profile.duplicate_threshold && flags.sacked;
        let asked = info.cwnd_limited || self.control.grows_app_limited();
        if raises && info.acked > 0 && asked && self.permit == Permit::Normal {
            self.control.on_ack(&info, &mut self.window);
        }
    }

    /// `tcp_cwnd_reduction` ([`Prr::window`]), or its elder `tcp_cwnd_down`.
    pub(super) fn reduce(&mut self, acked: u64, lost: u64, advanced: bool) {
        let mss = self.mss();
        let flight = self.pipe();
        let ssthresh = self.window.ssthresh;
        let reduction = self.settings().reduction;
        let prr = &mut self.linux.as_mut().expect("Linux' engine has its state").prr;
        match reduction {
            Reduction::AtOnce => {}
            Reduction::Halving => {
                // one segment down for every second acknowledgement, and no more than one segment beyond the flight
                prr.delivered += 1;
                if prr.delivered.is_multiple_of(2) && self.window.cwnd > ssthresh {
                    self.window.cwnd -= mss;
                }
                self.window.cwnd = self.window.cwnd.min(flight + mss).max(mss);
            }
            Reduction::Proportional => {
                if acked == 0 || prr.prior_cwnd == 0 {
                    return;
                }
                prr.delivered += acked;
                self.window.cwnd = prr.window(acked, flight, ssthresh, mss, advanced && lost == 0);
            }
        }
    }

    /// `tcp_current_ssthresh`: what an undo returns to.
    pub(in crate::tcp::sender) fn current_ssthresh(&self) -> u64 {
        if self.is_reducing() || self.window.ssthresh == u64::MAX {
            self.window.ssthresh
        } else {
            // (cwnd >> 1) + (cwnd >> 2) of segments: 4 of 7
            let cwnd = self.window.segments();
            self.window.ssthresh.max(self.window.bytes((cwnd >> 1) + (cwnd >> 2)))
        }
    }

    /// `tcp_init_cwnd_reduction`
    pub(super) fn begin_reduction(&mut self, cause: Cause, context: &EventContext<'_>) {
        self.recovery_point = self.nxt;
        let cwnd = self.window.cwnd;
        let linux = self.linux_mut();
        linux.probe.end_seq = None;
        linux.prr = Prr::begin(cwnd);
        self.congested(cause, context);
        if self.settings().reduction == Reduction::AtOnce && !self.control.manages_cwnd() {
            self.window.cwnd = self.window.ssthresh.min(cwnd);
        }
        self.note_reduction();
    }

    /// `tcp_end_cwnd_reduction`; `down`: cwnd is now ssthresh. With rate halving it does not rise to it
    /// (`tcp_complete_cwr` of Linux 2.6.32): slow start does that.
    pub(super) fn end_reduction(&mut self, now: Time, down: bool) {
        if self.control.manages_cwnd() {
            self.control.on_recovered(now, &mut self.window);
            return;
        }
        if self.window.ssthresh != u64::MAX && down {
            let halves = self.settings().reduction == Reduction::Halving;
            self.window.cwnd = if halves { self.window.cwnd.min(self.window.ssthresh) } else { self.window.ssthresh };
            self.note_window_change(now);
        }
        self.control.on_recovered(now, &mut self.window);
    }
}
