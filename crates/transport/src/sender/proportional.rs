//! Proportional rate reduction (RFC 6937) without selective acknowledgements: NewReno as Linux has it.
//!
//! RFC 6582 answers every partial acknowledgement with a retransmission (§3.2 step 5). Linux marks the segment as lost and
//! sends when the reduction allows it, so it may wait for the next acknowledgement; where none is on its way, for the
//! time-out. Sources: `net/ipv4/tcp_input.c` of Linux 6.12 (`tcp_cwnd_reduction`, `tcp_remove_reno_sacks`,
//! `tcp_end_cwnd_reduction`).

use super::{Repair, Sender};

/// A reduction under way; bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reducing {
    /// The window when it began.
    before: u64,
    /// What acknowledgements told to have left since.
    delivered: u64,
    /// What was sent since.
    out: u64,
}

impl Sender {
    /// Fast recovery begins, with this window.
    pub(super) fn begin_proportional(&mut self, before: u64) {
        self.reducing = Reducing { before, ..Reducing::default() };
    }

    /// Notes that `len` bytes leave.
    pub(super) fn count_proportional(&mut self, len: u32) {
        if self.repair == Repair::Fast {
            self.reducing.out += u64::from(len);
        }
    }

    /// Sets the window after an acknowledgement in fast recovery. `una` was the first byte missing before it, and
    /// `departed` segments counted as having left.
    pub(super) fn reduce_proportionally(&mut self, una: u64, departed: u32) {
        let mss = u64::from(self.window.mss);
        let (flight, ssthresh) = (self.pipe(), self.window.ssthresh);
        let advanced = self.una > una;
        // one acknowledgement is of the hole; what is behind it was told by duplicates
        let left = if advanced { ((self.una - una) / mss).saturating_sub(departed.into()).max(1) } else { 1 };
        let reducing = &mut self.reducing;
        reducing.delivered += left * mss;
        let mut may = if flight > ssthresh {
            let share = u128::from(ssthresh) * u128::from(reducing.delivered) / u128::from(reducing.before.max(1));
            (share as u64).next_multiple_of(mss).saturating_sub(reducing.out)
        } else {
            let may = reducing.delivered.saturating_sub(reducing.out).max(left * mss);
            // no partial acknowledgement is without a loss
            may.min(ssthresh - flight)
        };
        if reducing.out == 0 {
            may = may.max(mss); // fast retransmit, whatever the window
        }
        self.window.cwnd = (flight + may).max(mss);
        self.force = false;
    }
}
