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
    pub before: u64,
    /// What acknowledgements told to have left since.
    pub delivered: u64,
    /// What was sent since.
    pub out: u64,
}

impl Reducing {
    /// `tcp_cwnd_reduction` (RFC 6937 §3.1, with Linux' slow-start reduction bound): the window after an acknowledgement
    /// told that `left` bytes have left, which are counted already, and `flight` are on their way. `clean`: it tells of
    /// no further loss.
    pub fn window(&self, left: u64, flight: u64, ssthresh: u64, mss: u64, clean: bool) -> u64 {
        let mut may = if flight > ssthresh {
            let share = u128::from(ssthresh) * u128::from(self.delivered) / u128::from(self.before.max(1));
            (share as u64).next_multiple_of(mss).saturating_sub(self.out)
        } else {
            let may = self.delivered.saturating_sub(self.out).max(left) + if clean { mss } else { 0 };
            may.min(ssthresh - flight)
        };
        if self.out == 0 {
            may = may.max(mss); // fast retransmit, whatever the window
        }
        (flight + may).max(mss)
    }
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
        self.reducing.delivered += left * mss;
        // no partial acknowledgement is without a loss
        self.window.cwnd = self.reducing.window(left * mss, flight, ssthresh, mss, false);
        self.force = false;
    }
}
