//! Loss recovery by the letter: NewReno (RFC 6582) and selective acknowledgements (RFC 6675).
//!
//! NewReno knows less than the pipe: each duplicate acknowledgement stands for one segment that has left, which is the
//! same as inflating the window by one (§3.2 steps 3–5), and a partial acknowledgement tells that the next segment is
//! lost too.

use headway_control::congestion::Cause;
use headway_units::{Span, Time};

use super::{Context, Permit, Phase, Progress, Repair, Sender};
use crate::network::{Network, SackBlocks};
use crate::profile::{Profile, Recovery};
use crate::segment::flag;

impl Sender {
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "an acknowledgement and where it is handled")]
    pub(super) fn on_ack_rfc(
        &mut self,
        now: Time,
        ack: u64,
        tag: u8,
        blocks: Option<SackBlocks>,
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
    ) -> Progress {
        let mut progress = Progress::default();
        let before = (self.total(), self.pipe(), self.board.lost_ever());
        let news = match blocks {
            Some(blocks) if profile.recovery == Recovery::Sack => {
                self.board.mark_sacked(&blocks, self.una, ack, self.nxt, None)
            }
            _ => false,
        };
        let (una, departed) = (self.una, self.departed);
        let echo = profile.ecn && tag & flag::ECE != 0;
        // RFC 3168 §6.1.2: no growth by an echo.
        self.limited &= !echo;
        if ack > self.una {
            self.on_new_data(now, ack, echo, before, context, profile, net, &mut progress);
        } else if self.outstanding() > 0 && (news || profile.recovery == Recovery::NewReno) {
            self.duplicates += 1;
            self.departed = match (profile.recovery, self.repair) {
                // What arrives after a time-out was mostly sent again in vain and is outstanding no longer.
                (Recovery::Sack | Recovery::Rack, _) | (_, Repair::Timeout) => 0,
                // RFC 3042: no more than two segments beyond the window.
                (_, Repair::None | Repair::Reducing) => {
                    (self.departed + 1).min(profile.duplicate_threshold - 1).min(self.not_lost())
                }
                (_, Repair::Fast) => (self.departed + 1).min(self.not_lost()),
            };
            if self.control.observes() {
                let told = self.account(now, before, None, context);
                self.control.observe(&headway_control::congestion::Ack { echo, ..told }, &mut self.window);
            }
        }
        self.detect_loss(now, context, profile);
        if echo {
            self.on_echo(now, context, profile);
        }
        if profile.proportional && self.repair == Repair::Fast {
            self.reduce_proportionally(una, departed);
        }
        progress
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "an acknowledgement and where it is handled")]
    fn on_new_data(
        &mut self,
        now: Time,
        ack: u64,
        echo: bool,
        before: (u64, u64, u64),
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
        progress: &mut Progress,
    ) {
        let acked = ack - self.una;
        let mut rtt: Option<Span> = None;
        let sample = self.board.acknowledge(ack, None);
        self.una = ack;
        if let Some(sample) = sample {
            let measured = now.since(sample.first);
            self.rtt.sample(measured, measured, ack, self.nxt);
            rtt = Some(measured);
            progress.sampled = true;
        }
        progress.revived = std::mem::take(&mut self.failed);
        self.duplicates = 0;
        if self.control.observes() {
            let told = self.account(now, before, rtt, context);
            self.control.observe(&headway_control::congestion::Ack { echo, ..told }, &mut self.window);
        }
        let mss = u64::from(self.window.mss);
        match self.repair {
            Repair::Fast if ack < self.point => {
                if profile.recovery == Recovery::NewReno {
                    // RFC 6582 §3.2 step 5, partial acknowledgement: the window shrinks by what was acknowledged
                    // and grows by one segment; the first segment that is now unacknowledged is lost.
                    self.departed = self.departed.saturating_sub((acked / mss).saturating_sub(1) as u32);
                    self.board.mark_first_lost();
                    self.force = true;
                }
            }
            Repair::Fast => {
                // RFC 6582 §3.2 step 5, full acknowledgement, first option: no burst after recovery.
                if profile.proportional {
                    self.window.cwnd = self.window.ssthresh;
                } else if profile.recovery == Recovery::NewReno {
                    self.window.cwnd = self.window.ssthresh.min(self.outstanding().max(mss) + mss);
                }
                self.repair = Repair::None;
                self.departed = 0;
                self.control.on_recovered(now, &mut self.window);
            }
            Repair::Timeout | Repair::None | Repair::Reducing => {
                if self.repair == Repair::Timeout && ack >= self.point {
                    self.repair = Repair::None;
                    self.control.on_recovered(now, &mut self.window);
                }
                self.departed = self.departed.saturating_sub(acked.div_ceil(mss) as u32);
                if (self.limited || self.control.always_asked()) && self.permit == Permit::Normal {
                    // in sequence only: RFC 5681 and RFC 6675 know no other growth
                    let mut told = self.account(now, before, rtt, context);
                    (told.acked, told.echo) = (acked, echo);
                    self.control.on_ack(&told, &mut self.window);
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

    /// Full segments outstanding and not known lost: no more can have departed.
    fn not_lost(&self) -> u32 {
        (self.outstanding().saturating_sub(self.board.lost()) / u64::from(self.window.mss)) as u32
    }

    /// Finds newly lost segments, and enters fast recovery for them.
    #[inline]
    fn detect_loss(&mut self, now: Time, context: &Context<'_>, profile: &Profile) {
        if profile.recovery != Recovery::NewReno {
            self.board.mark_lost(u64::from(self.window.mss), profile.duplicate_threshold);
        }
        if self.repair != Repair::None {
            return;
        }
        let found = self.duplicates >= profile.duplicate_threshold || self.board.lost() > 0;
        // RFC 6582 §3.2 step 2: not for what a repair before has already covered.
        if !found || self.una <= self.point && self.board.lost() == 0 {
            return;
        }
        if self.board.lost() == 0 {
            self.board.mark_first_lost();
        }
        self.begin_proportional(self.window.cwnd);
        self.congested(now, Cause::Loss, context, profile);
        self.window.cwnd = self.window.ssthresh;
        if profile.recovery == Recovery::NewReno {
            self.departed = profile.duplicate_threshold.min(self.not_lost()); // RFC 5681 §3.2 step 3
        }
        self.note_reduction();
        self.repair = Repair::Fast;
        self.point = self.nxt;
        self.force = true;
        self.rescue_beyond = self.board.first_end();
    }

    /// RFC 3168 §6.1.2: an echo counts as one loss per window, without a retransmission.
    fn on_echo(&mut self, now: Time, context: &Context<'_>, profile: &Profile) {
        self.counters.marks += 1;
        if self.una > self.ecn_point && self.repair == Repair::None {
            self.congested(now, Cause::Echo, context, profile);
            self.window.cwnd = self.window.ssthresh;
            self.note_reduction();
        }
    }

    pub(super) fn repair_rfc(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        let window = self.repair_window();
        loop {
            let room = self.pipe() + u64::from(self.window.mss) <= window;
            if !(room || self.force) {
                return;
            }
            let Some(index) = self.board.next_lost() else { break };
            self.force = false;
            self.resend(now, index, profile, net);
        }
        if self.repair == Repair::Fast && profile.recovery == Recovery::Sack && !more_data {
            // NextSeg rules 3 and 4: an unacknowledged segment below the highest selectively acknowledged one, or
            // once per recovery the last one, when there is nothing better to keep the acknowledgements coming; the
            // first retransmission must have been acknowledged, and more (§5 step 4.3).
            if let Some(index) = self.board.next_unproven() {
                self.resend(now, index, profile, net);
            } else if self.una > self.rescue_beyond
                && let Some(index) = self.board.last_unsacked()
            {
                self.rescue_beyond = self.point;
                // "HighRxt MUST NOT be updated" (§4 rule 4): SetPipe counts the segment once, and rule 1 may send it again.
                self.resend_probe(now, index, profile, net);
            }
        }
    }

    /// The retransmission time-out of RFC 6298 §5.4–5.6 and RFC 5681 §3.1.
    pub(super) fn on_timeout_rfc(&mut self, now: Time, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        self.counters.timeouts += 1;
        // RFC 5681 §3.1: ssthresh is lowered once, not for each retransmission of the same segment.
        if !(self.repair == Repair::Timeout && self.failed) {
            self.congested(now, Cause::Timeout, context, profile);
        }
        self.window.cwnd = u64::from(self.window.mss);
        self.note_reduction();
        self.failed = true;
        self.repair = Repair::Timeout;
        self.point = self.nxt;
        self.duplicates = 0;
        self.departed = 0;
        self.force = true;
        self.board.mark_all_lost();
        self.rtt.back_off();
        self.set_timer(now, self.rtt.rto(), profile, net);
    }
}
