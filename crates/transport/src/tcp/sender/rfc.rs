//! Loss recovery by the letter: NewReno (RFC 6582) and selective acknowledgements (RFC 6675).
//!
//! NewReno knows less than the pipe: each duplicate acknowledgement stands for one segment that has left, which is the
//! same as inflating the window by one (§3.2 steps 3–5), and a partial acknowledgement tells that the next segment is
//! lost too.

use headway_control::congestion::{Ack, Cause};
use headway_units::Time;

use super::prr::Prr;
use super::{AckContext, EventContext, Permit, Phase, Progress, Repair, Sender};
use crate::network::Network;
use crate::tcp::profile::{Profile, Recovery};

/// State of loss recovery by the letter.
#[derive(Debug, Default)]
pub(super) struct RfcRecovery {
    /// Duplicate acknowledgements in a row.
    pub dup_acks: u32,
    /// Segments by which duplicate acknowledgements inflate the window: those that they tell to have left (NewReno).
    pub dupack_inflation: u32,
    /// RFC 6675's `RescueRxt`: a rescue needs an acknowledgement beyond this.
    pub rescue_rxt: u64,
    /// NewReno's reduction, if it is proportional.
    pub prr: Prr,
}

impl Sender {
    #[inline]
    pub(super) fn on_ack_rfc(&mut self, context: &AckContext<'_>, net: &mut Network) -> Progress {
        let &AckContext { event: EventContext { profile, .. }, ack, ece, .. } = context;
        let mut progress = Progress::default();
        let newly_sacked = match &context.blocks {
            Some(blocks) if profile.recovery == Recovery::Sack => {
                self.board.mark_sacked(blocks, self.una, ack, self.nxt, None)
            }
            _ => false,
        };
        let (una, inflation) = (self.una, self.rfc.dupack_inflation);
        // RFC 3168 §6.1.2: no growth by an echo.
        self.cwnd_limited &= !ece;
        if ack > self.una {
            self.on_new_data(context, net, &mut progress);
        } else if self.outstanding() > 0 && (newly_sacked || !profile.recovery.uses_sack()) {
            self.on_duplicate(context);
        }
        self.detect_loss(&context.event);
        if ece {
            self.on_echo(&context.event);
        }
        if profile.recovery == (Recovery::NewReno { prr: true }) && self.repair == Repair::Fast {
            self.reduce_without_sack(una, inflation);
        }
        if self.output.is_some() {
            self.update_pacing_rate(profile);
        }
        progress
    }

    /// A duplicate acknowledgement, or one that reports something new without advancing.
    #[inline]
    fn on_duplicate(&mut self, context: &AckContext<'_>) {
        let profile = context.event.profile;
        self.rfc.dup_acks += 1;
        let inflation = self.rfc.dupack_inflation + 1;
        self.rfc.dupack_inflation = match self.repair {
            _ if profile.recovery.uses_sack() => 0,
            // Segments that arrive after a time-out were mostly retransmitted in vain and are outstanding no longer.
            Repair::Timeout => 0,
            // RFC 3042: no more than two segments beyond the window.
            Repair::None | Repair::Reducing => inflation.min(profile.duplicate_threshold - 1).min(self.not_lost()),
            Repair::Fast => inflation.min(self.not_lost()),
        };
        if self.control.observes() {
            let info = self.ack_info(context, None);
            self.control.observe(&Ack { ece: context.ece, ..info }, &mut self.window);
        }
    }

    #[inline]
    fn on_new_data(&mut self, context: &AckContext<'_>, net: &mut Network, progress: &mut Progress) {
        let &AckContext { event: EventContext { now, profile, .. }, ack, ece, .. } = context;
        let acked = ack - self.una;
        let sample = self.board.acknowledge(ack, None);
        self.una = ack;
        let rtt = sample.map(|sample| {
            let measured = now.since(sample.first);
            self.rtt.sample(measured, measured, ack, self.nxt);
            measured
        });
        progress.sampled = rtt.is_some();
        progress.revived = std::mem::take(&mut self.failed);
        self.rfc.dup_acks = 0;
        if self.control.observes() {
            let info = self.ack_info(context, rtt);
            self.control.observe(&Ack { ece, ..info }, &mut self.window);
        }
        let mss = u64::from(self.window.mss);
        match self.repair {
            Repair::Fast if ack < self.recovery_point => {
                if !profile.recovery.uses_sack() {
                    // RFC 6582 §3.2 step 5, partial acknowledgement: the window shrinks by what was acknowledged
                    // and grows by one segment; the first segment that is now unacknowledged is lost.
                    let deflation = (acked / mss).saturating_sub(1) as u32;
                    self.rfc.dupack_inflation = self.rfc.dupack_inflation.saturating_sub(deflation);
                    self.board.mark_first_lost();
                    self.retransmit_now = true;
                }
            }
            Repair::Fast => self.on_full_acknowledgement(now, profile),
            Repair::Timeout | Repair::None | Repair::Reducing => {
                if self.repair == Repair::Timeout && ack >= self.recovery_point {
                    self.repair = Repair::None;
                    self.control.on_recovered(now, &mut self.window);
                }
                let deflation = acked.div_ceil(mss) as u32;
                self.rfc.dupack_inflation = self.rfc.dupack_inflation.saturating_sub(deflation);
                if (self.cwnd_limited || self.control.grows_app_limited()) && self.permit == Permit::Normal {
                    // in sequence only: RFC 5681 and RFC 6675 know no other growth
                    let info = self.ack_info(context, rtt);
                    self.control.on_ack(&Ack { acked, ece, ..info }, &mut self.window);
                }
            }
        }
        // RFC 6298 §5.2, §5.3
        if self.outstanding() == 0 {
            self.timer.cancel();
            if self.board.finished() {
                self.phase = Phase::Closed;
                progress.closed = true;
            }
        } else {
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }

    /// RFC 6582 §3.2 step 5, full acknowledgement, first option: no burst after recovery.
    fn on_full_acknowledgement(&mut self, now: Time, profile: &Profile) {
        match profile.recovery {
            Recovery::NewReno { prr: true } => self.window.cwnd = self.window.ssthresh,
            Recovery::NewReno { prr: false } => {
                let mss = u64::from(self.window.mss);
                self.window.cwnd = self.window.ssthresh.min(self.outstanding().max(mss) + mss);
            }
            Recovery::Sack | Recovery::Linux(_) => {}
        }
        self.repair = Repair::None;
        self.rfc.dupack_inflation = 0;
        self.control.on_recovered(now, &mut self.window);
    }

    /// Full segments outstanding and not known lost: no more can have left.
    fn not_lost(&self) -> u32 {
        (self.outstanding().saturating_sub(self.board.lost_pending()) / u64::from(self.window.mss)) as u32
    }

    /// Finds newly lost segments, and enters fast recovery for them.
    #[inline]
    fn detect_loss(&mut self, context: &EventContext<'_>) {
        let profile = context.profile;
        if profile.recovery.uses_sack() {
            self.board.mark_lost(u64::from(self.window.mss), profile.duplicate_threshold);
        }
        if self.repair != Repair::None {
            return;
        }
        let found = self.rfc.dup_acks >= profile.duplicate_threshold || self.board.lost_pending() > 0;
        // RFC 6582 §3.2 step 2: not for what a repair before has already covered.
        if !found || self.una <= self.recovery_point && self.board.lost_pending() == 0 {
            return;
        }
        if self.board.lost_pending() == 0 {
            self.board.mark_first_lost();
        }
        self.rfc.prr = Prr::begin(self.window.cwnd);
        self.congested(Cause::Loss, context);
        self.window.cwnd = self.window.ssthresh;
        if !profile.recovery.uses_sack() {
            self.rfc.dupack_inflation = profile.duplicate_threshold.min(self.not_lost()); // RFC 5681 §3.2 step 3
        }
        self.note_reduction();
        self.repair = Repair::Fast;
        self.recovery_point = self.nxt;
        self.retransmit_now = true;
        // RFC 6675 §5 step 4.3
        self.rfc.rescue_rxt = self.board.head_end();
    }

    /// RFC 3168 §6.1.2: an echo counts as one loss per window, without a retransmission.
    fn on_echo(&mut self, context: &EventContext<'_>) {
        self.counters.marks += 1;
        if self.una > self.cwr_point && self.repair == Repair::None {
            self.congested(Cause::Ece, context);
            self.window.cwnd = self.window.ssthresh;
            self.note_reduction();
        }
    }

    pub(super) fn repair_rfc(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        let window = self.retransmission_window();
        loop {
            let room = self.pipe() + u64::from(self.window.mss) <= window;
            if !(room || self.retransmit_now) {
                return;
            }
            let Some(index) = self.board.next_lost() else { break };
            self.retransmit_now = false;
            self.retransmit(now, index, profile, net);
        }
        if self.repair == Repair::Fast && profile.recovery == Recovery::Sack && !more_data {
            // NextSeg rules 3 and 4: an unacknowledged segment below the highest selectively acknowledged one, or
            // once per recovery the last one, when there is nothing better to keep the acknowledgements coming; the
            // first retransmission must have been acknowledged, and more (§5 step 4.3).
            if let Some(index) = self.board.next_unproven() {
                self.retransmit(now, index, profile, net);
            } else if self.una > self.rfc.rescue_rxt
                && let Some(index) = self.board.last_unsacked()
            {
                self.rfc.rescue_rxt = self.recovery_point;
                // "HighRxt MUST NOT be updated" (§4 rule 4): SetPipe counts the segment once, and rule 1 may
                // retransmit it.
                self.retransmit_once_counted(now, index, profile, net);
            }
        }
    }

    /// The retransmission time-out of RFC 6298 §5.4–5.6 and RFC 5681 §3.1.
    pub(super) fn on_timeout_rfc(&mut self, context: &EventContext<'_>, net: &mut Network) {
        self.counters.timeouts += 1;
        // RFC 5681 §3.1: ssthresh is lowered once, not for each retransmission of the same segment.
        if !(self.repair == Repair::Timeout && self.failed) {
            self.congested(Cause::Timeout, context);
        }
        self.window.cwnd = u64::from(self.window.mss);
        self.note_reduction();
        self.failed = true;
        self.repair = Repair::Timeout;
        self.recovery_point = self.nxt;
        self.rfc.dup_acks = 0;
        self.rfc.dupack_inflation = 0;
        self.retransmit_now = true;
        self.board.mark_all_lost();
        self.rtt.back_off();
        self.set_timer(context.now, self.rtt.rto(), context.profile, net);
    }
}
