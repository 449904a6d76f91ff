//! Loss recovery as Linux does it: one state machine over acknowledgements, time and probes.
//!
//! Sources: `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_cwnd_reduction`),
//! `tcp_recovery.c`, `tcp_output.c` (`tcp_send_loss_probe`, `tcp_cwnd_validate`) and `tcp_timer.c` of Linux 6.12; RFC
//! 8985 (RACK-TLP), RFC 6937 (PRR), RFC 5682 (F-RTO), RFC 3522 (Eifel), RFC 2883 (D-SACK).
//!
//! Leaves out: receivers that take back what they reported, connections without selective acknowledgements, thin-stream
//! time-outs, MTU probes. Timestamps are known by the repair in which a segment was sent, not by their value.

use headway_control::congestion::Ack;
use headway_units::{Span, Time};

use super::prr::Prr;
use super::scoreboard::{RttSample, SackContext, SackState};
use super::{AckContext, EventContext, Phase, Progress, Repair, Sender};
use crate::network::Network;
use crate::segment::flag;
use crate::tcp::profile::{LinuxRecovery, Profile};
use crate::tcp::rtt::tick;

mod alert;
mod rack;
mod timers;
mod turn;
mod undo;
mod window;

use rack::Rack;
use timers::{Pending, TailLossProbe};
use undo::Undo;

/// Linux' `TCP_TIMEOUT_MIN_US`: two ticks.
const TIMEOUT_MIN: Span = Span::from_millis(2);
/// State of loss recovery as Linux does it.
#[derive(Debug)]
pub(super) struct LinuxState {
    settings: LinuxRecovery,
    pending: Pending,
    prr: Prr,
    undo: Undo,
    rack: Rack,
    probe: TailLossProbe,
    /// Forward RTO recovery is under way (RFC 5682).
    f_rto: bool,
    /// F-RTO: new data before more is retransmitted.
    new_data_first: bool,
    /// Time-outs in a row (`icsk_retransmits`).
    timeouts: u32,
    /// Linux' Disorder: something was lost, reported or retransmitted when the last acknowledgement had been handled,
    /// without a repair.
    disordered: bool,
}

impl LinuxState {
    /// The state for `profile`, if it needs any.
    pub fn new(profile: &Profile) -> Option<Box<LinuxState>> {
        profile.recovery.linux().map(|settings| {
            Box::new(LinuxState {
                settings,
                pending: Pending::Retransmission,
                prr: Prr::default(),
                undo: Undo::default(),
                rack: Rack::new(profile.duplicate_threshold),
                probe: TailLossProbe::default(),
                f_rto: false,
                new_data_first: false,
                timeouts: 0,
                disordered: false,
            })
        })
    }

    pub fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts
    }

    /// The substitute for the timestamp of a segment that leaves now.
    pub fn epoch_bits(&self) -> u8 {
        self.undo.epoch << flag::EPOCH_SHIFT
    }
}

/// The state of one acknowledgement, which its steps share: Linux' `flag` and `sack_state`.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
struct AckFlags {
    /// It acknowledges in sequence (`FLAG_SND_UNA_ADVANCED`).
    advanced: bool,
    /// It reports something new (`FLAG_DATA_SACKED`).
    sacked: bool,
    /// It reports a duplicate (`FLAG_DSACKING_ACK`).
    dsack: bool,
    /// The acknowledged original was sent before this repair retransmitted anything.
    early: bool,
    state: SackState,
    /// The retransmission timer is to be set (`FLAG_SET_XMIT_TIMER`).
    set_timer: bool,
    /// A retransmission was lost (`FLAG_LOST_RETRANS`).
    lost_retransmission: bool,
}

impl Sender {
    fn linux_mut(&mut self) -> &mut LinuxState {
        self.linux.as_mut().expect("Linux' engine has its state")
    }

    fn settings(&self) -> LinuxRecovery {
        self.linux.as_ref().expect("Linux' engine has its state").settings
    }

    fn mss(&self) -> u64 {
        u64::from(self.window.mss)
    }

    fn is_reducing(&self) -> bool {
        matches!(self.repair, Repair::Reducing | Repair::Fast)
    }

    /// `tcp_try_keep_open`
    fn keep_open(&mut self) {
        let board = &self.board;
        let disordered = board.sacked() > 0 || board.lost_pending() > 0 || board.retrans_out() > 0;
        self.linux_mut().disordered = disordered && self.repair == Repair::None;
    }

    /// Linux' Disorder.
    pub(super) fn is_disordered(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.disordered)
    }

    /// `tcp_ack`
    pub(super) fn on_ack_linux(&mut self, context: &AckContext<'_>, net: &mut Network) -> Progress {
        let &AckContext { event: EventContext { now, profile, .. }, ack, .. } = context;
        let mut progress = Progress::default();
        let known = SackContext {
            too_soon: self.too_soon(now),
            recovery_point: self.recovery_point,
            highest: self.board.highest_sacked(),
        };
        let mut flags = AckFlags {
            advanced: ack > self.una,
            sacked: false,
            dsack: false,
            early: self.is_early(context),
            state: SackState::default(),
            set_timer: false,
            lost_retransmission: false,
        };
        if let Some(blocks) = &context.blocks {
            flags.dsack = self.on_duplicate_report(blocks, ack);
            flags.sacked = self.board.mark_sacked(blocks, self.una, ack, self.nxt, Some((&mut flags.state, &known)));
        }
        if self.outstanding() == 0 {
            return progress;
        }
        let sample = if flags.advanced {
            progress.revived = std::mem::take(&mut self.failed);
            self.linux_mut().timeouts = 0;
            let sample = self.board.acknowledge(ack, Some((&mut flags.state, &known)));
            self.una = ack;
            flags.set_timer = true;
            sample
        } else {
            None
        };
        let rtt = self.measure(now, sample, &mut flags, profile);
        progress.sampled = rtt.is_some();
        self.note_delivery(now, &flags.state);
        if context.ece {
            self.counters.marks += 1;
        }
        if !self.control.manages_cwnd() {
            let info = self.linux_ack_info(context, rtt, &flags);
            self.control.observe(&info, &mut self.window);
        }
        self.on_probe_answered(context, &flags);
        let dubious = flags.sacked || context.ece || flags.dsack || !flags.advanced || self.repair != Repair::None;
        if dubious || self.is_disordered() {
            self.alert(context, &mut flags, net);
            self.keep_open();
        }
        if self.outstanding() == 0 {
            self.timer.cancel();
            if self.board.finished() {
                self.phase = Phase::Closed;
                progress.closed = true;
            }
        } else if flags.set_timer && !self.set_probe_timer(now, true, profile, net) {
            self.rearm(now, profile, net);
        }
        self.follow(context, rtt, &flags);
        self.update_pacing_rate(profile);
        progress
    }

    /// Sent after this and acknowledged now is too soon for a second copy (RFC 8985 §6.2 step 2).
    fn too_soon(&self, now: Time) -> Time {
        let elapsed = now.since(Time::ZERO);
        Time::ZERO + elapsed.saturating_sub(self.rtt.min().unwrap_or(Span::ZERO))
    }

    /// Round-trip samples (`tcp_ack_update_rtt`): of what was acknowledged in sequence, else selectively, else by
    /// timestamps, which count milliseconds.
    fn measure(
        &mut self,
        now: Time,
        sample: Option<RttSample>,
        flags: &mut AckFlags,
        profile: &Profile,
    ) -> Option<Span> {
        // `tcp_rtt_tsopt_us`: the difference of two counts
        let whole = |sent: Time| Span::from_millis(tick(now).saturating_sub(tick(sent)).max(1));
        let sample = sample.map(|s| (s.first, s.last));
        let (long, short) = match (sample, flags.state.sacked) {
            // the variation follows the segment at the head, the shortest round trip what was reported last
            (Some((first, _)), Some((_, last))) | (Some((first, last)), None) | (None, Some((first, last))) => {
                (now.since(first), now.since(last))
            }
            (None, None) if profile.timestamps && flags.advanced => {
                let sent = flags.state.retransmitted?;
                (whole(sent), whole(sent))
            }
            _ => return None,
        };
        // Do not put the time-out off by reports of what was sent before the head was last sent
        // (`tcp_clean_rtx_queue`); by others do.
        if !flags.advanced
            && let (Some((first, _)), Some(head)) = (flags.state.sacked, self.board.head_sent_at())
        {
            flags.set_timer |= first < head;
        }
        self.rtt.sample(long, short, self.una, self.nxt);
        Some(short)
    }

    /// [`ack_info`](Self::ack_info) with what only this engine knows.
    fn linux_ack_info<'a>(&self, context: &AckContext<'a>, rtt: Option<Span>, flags: &AckFlags) -> Ack<'a> {
        Ack {
            ece: context.ece,
            cwnd_limited: self.is_window_limited(),
            delivery: self.rate_sample(context.event.now, &flags.state),
            departure: self.output.as_ref().map(|output| output.departure()),
            ..self.ack_info(context, rtt)
        }
    }
}
