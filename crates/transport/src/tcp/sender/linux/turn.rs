//! A turn of sending: the accounts of new data and retransmissions, and the retransmission of lost segments.

use headway_units::Time;

use super::timers::Pending;
use crate::network::Network;
use crate::tcp::profile::Profile;
use crate::tcp::sender::{Repair, Sender};

impl Sender {
    /// New data is about to be sent.
    pub(in crate::tcp::sender) fn note_new(&mut self, now: Time, span: u64, profile: &Profile, net: &mut Network) {
        let idle = self.outstanding() == 0;
        self.output_mut().sent = true;
        if idle && let Some(rate) = &mut self.rate {
            rate.restart(now);
        }
        let reducing = self.is_reducing();
        let Some(linux) = &mut self.linux else { return };
        if reducing {
            linux.prr.out += span;
        }
        linux.probe.probing = false;
        // not the end of a reordering window: `tcp_event_new_data_sent`
        if idle || linux.pending == Pending::Probe {
            self.rearm(now, profile, net);
        }
    }

    /// A retransmission of `span` bytes is about to be sent.
    pub(in crate::tcp::sender) fn note_retransmission(&mut self, now: Time, span: u64) {
        let reducing = self.is_reducing();
        let linux = self.linux_mut();
        if reducing {
            linux.prr.out += span;
        }
        linux.undo.note_retransmission(now, span);
    }

    /// Retransmits lost segments, as far as the window and the pace allow: neighbours that left in one burst and were
    /// lost leave in one burst again (`tcp_xmit_retransmit_queue`, which goes by `sk_buff`).
    pub(in crate::tcp::sender) fn repair_linux(
        &mut self,
        now: Time,
        more_data: bool,
        profile: &Profile,
        net: &mut Network,
    ) {
        if std::mem::take(&mut self.linux_mut().new_data_first) {
            if more_data {
                return; // the connection's turn sends new data first
            }
            self.linux_mut().f_rto = false;
        }
        let mut head = false;
        while self.board.lost_pending() > 0 {
            // `tcp_retransmit_timer` waits for nothing
            let forced = self.retransmit_now && self.repair == Repair::Timeout;
            let room = self.retransmission_window().saturating_sub(self.pipe()) / self.mss();
            let held = room == 0 && !self.retransmit_now || !forced && self.is_retransmission_held(now, profile, net);
            if held {
                break;
            }
            let most = if forced { 1 } else { room.max(1).min(self.burst_size(profile) / self.mss()) };
            self.retransmit_now = false;
            let Some(lost) = self.board.next_lost_burst(most as usize) else { break };
            head |= lost.start == 0;
            let bytes = lost.len() as u64 * self.mss();
            for index in lost.clone() {
                if index + 1 == lost.end && lost.len() > 1 {
                    self.end_burst();
                }
                self.retransmit(now, index, profile, net);
            }
            self.note_output(now, bytes, profile, net);
        }
        self.retransmit_now = false;
        if head && self.linux_mut().pending != Pending::Reordering {
            self.linux_mut().pending = Pending::Retransmission;
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }
}
