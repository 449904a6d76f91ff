//! Reductions that prove wrong are taken back (RFC 3522, RFC 2883; `tcp_undo_cwnd_reduction` and who calls it).

use headway_units::Time;

use super::{Facts, RECOVERIES};
use crate::tcp::profile::Profile;
use crate::tcp::sender::{Repair, Sender};

impl Sender {
    pub(super) fn may_undo(&self, facts: &Facts) -> bool {
        let Some(modern) = &self.modern else { return false };
        modern.undo_from.is_some() && (modern.undo_left == Some(0) || modern.first_again.is_none() || facts.early)
    }

    pub(super) fn may_undo_by_time(&self, facts: &Facts) -> bool {
        self.modern.as_ref().is_some_and(|m| m.undo_from.is_some() && facts.early)
    }

    pub(super) fn try_undo_recovery(&mut self, now: Time, facts: &Facts) {
        if self.may_undo(facts) {
            self.undo(now, false);
        } else {
            let modern = self.more();
            modern.persist = modern.persist.saturating_sub(1);
            if modern.persist == 0 {
                modern.steps = 1;
            }
        }
    }

    /// All that was sent again has been reported twice: none of it was lost (RFC 3708 §3).
    pub(super) fn try_undo_by_reports(&mut self, now: Time, profile: &Profile) {
        let all = self.more().undo_from.is_some() && self.more().undo_left == Some(0);
        if all && profile.modern.is_some_and(|m| m.undo) {
            let modern = self.more();
            modern.persist = (modern.persist + 1).min(RECOVERIES);
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
        let modern = self.more();
        let (prior_cwnd, prior_ssthresh) = (modern.prior_cwnd, modern.prior_ssthresh);
        modern.undo_from = None;
        modern.advanced = true;
        modern.validated = now;
        if let Some(ssthresh) = prior_ssthresh {
            if !self.control.manages_cwnd() {
                self.window.cwnd = self.window.cwnd.max(prior_cwnd);
            }
            if ssthresh > self.window.ssthresh {
                self.window.ssthresh = ssthresh;
                self.reduced = false;
            }
            self.control.on_undo(now, &mut self.window);
        }
    }
}
