//! How the window follows: growth, reduction (RFC 6937), and whether it is used at all (`tcp_cong_control`,
//! `tcp_cwnd_reduction`, `tcp_cwnd_validate`).

use headway_units::{Span, Time};

use super::Facts;
use crate::tcp::profile::{Profile, Reduction};
use crate::tcp::sender::proportional::Reducing;
use crate::tcp::sender::{Context, Permit, Repair, Sender};

impl Sender {
    /// `tcp_cong_control`: reduces or grows the window.
    pub(super) fn follow(
        &mut self,
        now: Time,
        rtt: Option<Span>,
        facts: &Facts,
        context: &Context<'_>,
        profile: &Profile,
    ) {
        let mut told = self.told(now, rtt, facts, context);
        if facts.news.stamp.is_some() || told.acked > 0 {
            let modern = self.more();
            modern.delivered_at = now;
            if told.total > modern.limited_until {
                modern.limited_until = 0;
            }
            if let Some((_, sent)) = facts.news.stamp {
                modern.first_sent = sent;
            }
        }
        if self.control.manages_cwnd() {
            told.state = self.state();
            self.control.observe(&told, &mut self.window);
            return;
        }
        if self.is_reducing() {
            self.reduce(told.acked, told.lost, facts.advanced, profile);
            return;
        }
        let raises = facts.advanced || self.more().reordering > profile.duplicate_threshold && facts.sacked;
        let asked = told.cwnd_limited || self.control.grows_app_limited();
        if raises && told.acked > 0 && asked && self.permit == Permit::Normal {
            told.ece = facts.echo;
            self.control.on_ack(&told, &mut self.window);
        }
    }

    /// `tcp_cwnd_reduction` ([`Reducing::window`]), or its elder `tcp_cwnd_down`.
    pub(super) fn reduce(&mut self, acked: u64, lost: u64, advanced: bool, profile: &Profile) {
        let mss = self.mss();
        let flight = self.pipe();
        let ssthresh = self.window.ssthresh;
        let modern = self.modern.as_mut().expect("a modern sender has its state");
        match profile.modern.map_or(Reduction::AtOnce, |m| m.reduction) {
            Reduction::AtOnce => {}
            Reduction::Halving => {
                // one segment down for every second acknowledgement, and no more than one segment beyond the flight
                modern.delivered += 1;
                if modern.delivered.is_multiple_of(2) && self.window.cwnd > ssthresh {
                    self.window.cwnd -= mss;
                }
                self.window.cwnd = self.window.cwnd.min(flight + mss).max(mss);
            }
            Reduction::Proportional => {
                if acked == 0 || modern.prior_cwnd == 0 {
                    return;
                }
                modern.delivered += acked;
                let reducing = Reducing { before: modern.prior_cwnd, delivered: modern.delivered, out: modern.out };
                self.window.cwnd = reducing.window(acked, flight, ssthresh, mss, advanced && lost == 0);
            }
        }
    }

    /// `tcp_is_cwnd_limited`
    pub(super) fn is_window_limited(&self) -> bool {
        let Some(modern) = &self.modern else { return self.limited };
        modern.full || self.window.in_slow_start() && self.window.cwnd < 2 * modern.most_out
    }

    /// `tcp_cwnd_validate`: what of the window is used.
    pub(super) fn validate(&mut self, now: Time, full: bool, drained: bool, profile: &Profile) {
        let (una, nxt, out, cwnd) = (self.una, self.nxt, self.outstanding(), self.window.cwnd);
        let rto = self.rtt.rto();
        let modern = self.more();
        if una >= modern.usage || full || !modern.full && out > modern.most_out {
            modern.full = full;
            modern.most_out = out;
            modern.usage = nxt;
        }
        if self.is_window_limited() {
            let modern = self.more();
            modern.used = 0;
            modern.validated = now;
            return;
        }
        let modern = self.more();
        modern.used = modern.used.max(out);
        // `tcp_cwnd_application_limited` (RFC 2861): a window of which the application used less for an RTO comes half
        // way down.
        let decay =
            drained && profile.idle_restart == crate::tcp::profile::IdleRestart::Decay && !self.control.manages_cwnd();
        if decay && now.since(self.more().validated) >= rto {
            let initial = u64::from(profile.initial_window) * self.mss();
            let used = self.more().used.max(initial);
            if self.repair == Repair::None && used < cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = u64::midpoint(cwnd, used) / self.mss() * self.mss();
            }
            let modern = self.more();
            modern.used = 0;
            modern.validated = now;
        }
    }
}
