//! Proportional rate reduction (RFC 6937), for both engines of loss recovery.
//!
//! With [`Recovery::NewReno { prr: true }`](crate::tcp::profile::Recovery::NewReno) it is NewReno as Linux has it: RFC
//! 6582 answers every partial acknowledgement with a retransmission (§3.2 step 5). Linux marks the segment as lost
//! and sends when the reduction allows it, so it may wait for the next acknowledgement; where none is on its way, for
//! the time-out. Sources: `net/ipv4/tcp_input.c` of Linux 6.12 (`tcp_cwnd_reduction`, `tcp_remove_reno_sacks`,
//! `tcp_end_cwnd_reduction`).

use super::{Repair, Sender};

/// A reduction under way; bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    /// cwnd when it began (RFC 6937: RecoverFS, for which Linux takes cwnd: `prior_cwnd`).
    pub prior_cwnd: u64,
    /// Delivered since (`prr_delivered`).
    pub delivered: u64,
    /// Sent since (`prr_out`).
    pub out: u64,
}

impl Prr {
    /// A reduction that begins with this window.
    pub fn begin(prior_cwnd: u64) -> Prr {
        Prr { prior_cwnd, ..Prr::default() }
    }

    /// `tcp_cwnd_reduction`: the window after an acknowledgement delivered `newly_delivered` bytes, which are counted
    /// already, with `flight` in the network. `no_loss`: it tells of no further loss.
    pub fn window(&self, newly_delivered: u64, flight: u64, ssthresh: u64, mss: u64, no_loss: bool) -> u64 {
        let mut may_send = if flight > ssthresh {
            // RFC 6937 §3: "sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out"
            let share = u128::from(ssthresh) * u128::from(self.delivered) / u128::from(self.prior_cwnd.max(1));
            (share as u64).next_multiple_of(mss).saturating_sub(self.out)
        } else {
            // RFC 6937 §3, PRR-SSRB: "limit = MAX(prr_delivered - prr_out, DeliveredData) + MSS", of which Linux adds
            // the segment only where no loss is found; "sndcnt = MIN(ssthresh - pipe, limit)"
            let limit = self.delivered.saturating_sub(self.out).max(newly_delivered) + if no_loss { mss } else { 0 };
            limit.min(ssthresh - flight)
        };
        if self.out == 0 {
            may_send = may_send.max(mss); // fast retransmit, whatever the window
        }
        (flight + may_send).max(mss)
    }
}

impl Sender {
    /// Counts `len` bytes that leave.
    pub(super) fn count_prr_out(&mut self, len: u32) {
        if self.repair == Repair::Fast {
            self.rfc.prr.out += u64::from(len);
        }
    }

    /// Sets the window after an acknowledgement in NewReno's fast recovery. `una` was the first byte missing before
    /// it, and `inflation` segments counted as having left.
    pub(super) fn reduce_without_sack(&mut self, una: u64, inflation: u32) {
        let mss = u64::from(self.window.mss);
        let (flight, ssthresh) = (self.pipe(), self.window.ssthresh);
        let advanced = self.una > una;
        // one acknowledgement is of the hole; segments behind it were counted by duplicates
        let segments = if advanced { ((self.una - una) / mss).saturating_sub(inflation.into()).max(1) } else { 1 };
        let prr = &mut self.rfc.prr;
        prr.delivered += segments * mss;
        // no partial acknowledgement is without a loss
        self.window.cwnd = prr.window(segments * mss, flight, ssthresh, mss, false);
        self.retransmit_now = false;
    }
}
