//! The sending half of a subflow: windows, acknowledgements, time-outs.
//!
//! Loss recovery has two engines: the letter of RFC 6582 and RFC 6675 ([`rfc`]), and Linux' state machine with RACK,
//! tail loss probes, proportional rate reduction and undo ([`linux`]). Both share the scoreboard and RFC 6675's
//! *pipe*, the estimate of the bytes in the network. Parts that only some senders have: [`output`] (bursts, pacing,
//! the host's card, use of the window) and [`rate`] (samples of the delivery rate). The handshake is in
//! [`handshake`], the way of a segment out in [`transmit`].

use std::collections::VecDeque;

use headway_control::congestion::{Ack, AnyController, Cause, Event, FlowDeadline, Own, Sibling, State, Window};
use headway_control::lanes::Permit;
use headway_engine::{EventClass, Source};
use headway_units::{Span, Time};

use crate::network::Network;
use crate::sack_pool::SackBlocks;
use crate::segment::{Frame, flag, unwrap};
use crate::tcp::profile::{Profile, Recovery};
use crate::tcp::rtt::{RttEstimator, expiry};
use crate::timer::Timer;

mod handshake;
mod linux;
mod output;
mod prr;
mod rate;
mod rfc;
mod scoreboard;
#[cfg(test)]
mod tests;
mod transmit;
mod two_way;

use linux::LinuxState;
pub(crate) use output::Burst;
use output::Output;
use rate::RateSampler;
use rfc::RfcRecovery;
use scoreboard::Scoreboard;

/// Where a subflow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// SYN sent.
    Opening,
    /// A further subflow whose third handshake packet waits for its acknowledgement (RFC 8684 §3.2).
    Joining,
    /// Data may be sent.
    Established,
    /// Everything, FIN included, is acknowledged.
    Closed,
}

/// The repair under way. Ends when everything sent before it began (`recovery_point`) is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    /// The window comes down after an ECN echo or a tail loss, with nothing to retransmit.
    Reducing,
    /// Fast recovery.
    Fast,
    /// After a retransmission time-out.
    Timeout,
}

/// Work that an acknowledgement or time-out leaves for the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an event of its own")]
pub(crate) struct Progress {
    /// The subflow has just become able to carry data.
    pub established: bool,
    /// The subflow has just been closed.
    pub closed: bool,
    /// There is a new round-trip estimate.
    pub sampled: bool,
    /// The subflow had timed out, and an acknowledgement has come.
    pub revived: bool,
}

/// The rest of the connection, as far as a sender's control may know it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context<'a> {
    /// The connection's subflows, if the control is coupled.
    pub siblings: &'a [Sibling],
    /// The flow's deadline.
    pub deadline: Option<FlowDeadline>,
}

/// An event at a sender: its time, the rest of the connection, and the settings.
#[derive(Debug, Clone, Copy)]
struct EventContext<'a> {
    now: Time,
    connection: &'a Context<'a>,
    profile: &'a Profile,
}

/// An acknowledgement, and the state of the network when it came.
#[derive(Debug)]
struct AckContext<'a> {
    event: EventContext<'a>,
    /// Everything before this is acknowledged.
    ack: u64,
    tag: u8,
    blocks: Option<SackBlocks>,
    /// It echoes congestion (RFC 3168).
    ece: bool,
    /// Bytes that the receiver was known to have.
    prior_delivered: u64,
    /// Bytes in the network.
    prior_in_flight: u64,
    /// Bytes ever found lost.
    prior_lost: u64,
}

/// Sums over the life of a subflow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SenderCounters {
    pub retransmissions: u32,
    pub timeouts: u32,
    pub marks: u32,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
pub(crate) struct Sender {
    pub connection: u32,
    pub phase: Phase,
    pub permit: Permit,
    /// Lanes keep it from new data by a mark, as a path manager does; what it has been given, it sends.
    pub backup: bool,
    pub rtt: RttEstimator,
    pub counters: SenderCounters,
    /// Timed out and not heard of since: carries no new data while others can.
    pub failed: bool,
    /// Its interface has no carrier.
    pub carrier_down: bool,
    pub window: Window,
    /// First position of this subflow's route.
    pub route: u32,
    id: u32,
    join: bool,
    control: AnyController,
    una: u64,
    nxt: u64,
    board: Scoreboard,
    repair: Repair,
    /// RFC 6675's RecoveryPoint: everything sent before the repair began lies below.
    recovery_point: u64,
    /// One segment may be retransmitted whatever the pipe (RFC 6675 §5 step 4.3).
    retransmit_now: bool,
    /// The window was full when the subflow last had its turn (RFC 5681 §3.1 grows it only then).
    cwnd_limited: bool,
    /// The next new segment carries CWR.
    cwr_pending: bool,
    /// Echoes of what was sent before this are of congestion already answered.
    cwr_point: u64,
    timer: Timer,
    /// Pacing, and the host's card.
    wake: Timer,
    last_sent: Time,
    /// Retransmissions of SYN or of the join's third packet.
    handshake_retries: u32,
    /// Bytes acknowledged when the last loss was found, and between the two before (OLIA).
    losses_at: (u64, u64),
    /// Loss recovery by the letter; unused if it is Linux'.
    rfc: RfcRecovery,
    /// Loss recovery as Linux does it.
    linux: Option<Box<LinuxState>>,
    /// Bursts, pacing and the use of the window.
    output: Option<Box<Output>>,
    /// Samples of the delivery rate.
    rate: Option<Box<RateSampler>>,
}

impl Sender {
    /// A subflow about to open. `timers` are those of the place's former occupant, so that its outdated events are
    /// told from this one's.
    pub fn new(id: u32, connection: u32, route: u32, join: bool, profile: &Profile, timers: (Timer, Timer)) -> Sender {
        let mut window = Window::initial(profile.initial_window, profile.mss);
        window.growth_limit = profile.growth_limit;
        if let Some(threshold) = profile.initial_ssthresh {
            window.ssthresh = threshold.get().max(2 * u64::from(profile.mss));
        }
        let linux = LinuxState::new(profile);
        let rate = RateSampler::new(profile);
        let board = match profile.recovery {
            Recovery::Linux(linux) => Scoreboard::timed(linux.rack, rate.is_some()),
            Recovery::NewReno { .. } | Recovery::Sack => Scoreboard::default(),
        };
        Sender {
            connection,
            phase: Phase::Opening,
            permit: Permit::Normal,
            backup: false,
            rtt: RttEstimator::of(profile, profile.initial_rto),
            counters: SenderCounters::default(),
            failed: false,
            carrier_down: false,
            window,
            route,
            id,
            join,
            control: profile.control.clone(),
            una: 0,
            nxt: 1,
            board,
            repair: Repair::None,
            recovery_point: 0,
            retransmit_now: false,
            cwnd_limited: false,
            cwr_pending: false,
            cwr_point: 0,
            timer: timers.0,
            wake: timers.1,
            last_sent: Time::ZERO,
            handshake_retries: 0,
            losses_at: (0, 0),
            rfc: RfcRecovery::default(),
            linux,
            output: Output::new(profile),
            rate,
        }
    }

    pub fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// The timers, for the next subflow of this place.
    pub fn timers(&self) -> (Timer, Timer) {
        (self.timer, self.wake)
    }

    /// The timer of pacing and of the host's card.
    pub fn wake_mut(&mut self) -> &mut Timer {
        &mut self.wake
    }

    /// Its control, if the program gives it.
    pub fn own_control(&mut self) -> Option<&mut Own> {
        self.control.own_mut()
    }

    pub fn is_coupled(&self) -> bool {
        self.control.is_coupled()
    }

    /// Bytes sent and not yet acknowledged in sequence.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// Everything before this is acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Time-outs in a row; without carrier as many as can be.
    pub fn failures(&self) -> u32 {
        if self.carrier_down {
            return u32::MAX;
        }
        self.linux.as_ref().map_or(0, |linux| linux.timeouts_in_a_row())
    }

    /// Bytes that the receiver is known to have.
    #[inline]
    fn delivered(&self) -> u64 {
        self.una + self.board.sacked()
    }

    /// The bytes that congestion halves. Linux: cwnd. By the letter an echo reduces cwnd, too: "the TCP source halves
    /// the congestion window" (RFC 3168 §6.1.2), "cwnd = cwnd * (1 - DCTCP.Alpha / 2)" (RFC 8257 §3.3). For losses it is
    /// RFC 5681 §3.2 step 2: the bytes outstanding without what limited transmit sent, so at most a window. That a long
    /// recovery's new data does not count either is a deviation from its §2: while an acknowledgement is missing, every
    /// duplicate lets a segment go, and half of all that would be no estimate of the path.
    fn reduced_bytes(&self, cause: Cause, profile: &Profile) -> u64 {
        let whole = profile.reduces_cwnd || cause == Cause::Ece;
        if whole { self.window.cwnd } else { self.outstanding().min(self.window.cwnd) }
    }

    /// The window that the lanes leave of the congestion window: none on hold, one segment for a probe.
    #[inline]
    pub fn allowed(&self) -> u64 {
        match self.permit {
            Permit::Normal => self.window.cwnd,
            Permit::Probe => u64::from(self.window.mss),
            Permit::Sip(packets) => u64::from(packets) * u64::from(self.window.mss),
            Permit::Hold => 0,
        }
    }

    /// The slow-start threshold, once there is one.
    pub fn ssthresh(&self) -> Option<u64> {
        (self.window.ssthresh < u64::MAX).then_some(self.window.ssthresh)
    }

    /// The control's average of the share of marked data, if it keeps one.
    pub fn marked_share(&self) -> Option<f64> {
        self.control.marked_share()
    }

    /// The window as siblings see it: ssthresh while in fast recovery (RFC 6356 §3). `None` if it takes no part.
    pub fn sibling(&self, own: bool) -> Option<Sibling> {
        let cwnd = match (self.permit, self.repair) {
            (Permit::Normal, Repair::Fast) => self.window.ssthresh,
            _ => self.allowed(),
        };
        let srtt = self.rtt.srtt()?;
        let takes_part = self.phase == Phase::Established && cwnd > 0 && !srtt.is_zero();
        takes_part.then(|| {
            let min_rtt = self.rtt.min().filter(|min| !min.is_zero()).unwrap_or(srtt);
            let (last, before) = self.losses_at;
            Sibling { cwnd, srtt, min_rtt, between_losses: (self.una - last).max(before), own }
        })
    }

    /// Bytes in the network as far as is known: outstanding, less those selectively acknowledged, less those known
    /// lost and not retransmitted, less those that duplicate acknowledgements tell to have left (NewReno).
    fn pipe(&self) -> u64 {
        let left = u64::from(self.rfc.dupack_inflation) * u64::from(self.window.mss);
        // RFC 6675 §4, SetPipe: "octets retransmitted without being considered lost are counted twice"; so they are in Linux
        // (`tcp_packets_in_flight`).
        (self.outstanding() + self.board.spurious_in_flight())
            .saturating_sub(self.board.sacked() + self.board.lost_pending() + left)
    }

    /// Whether `len` more bytes of new data fit the window.
    #[inline]
    pub fn has_room(&self, len: u32, profile: &Profile) -> bool {
        // RFC 3042: the first two duplicate acknowledgements let one segment each go; what the pipe no longer holds.
        let pipe =
            if self.repair == Repair::None && !profile.limited_transmit { self.outstanding() } else { self.pipe() };
        self.phase == Phase::Established && pipe + u64::from(len) <= self.allowed()
    }

    /// Ends a turn of sending: notes whether the window is what keeps the subflow from sending, and sets the timers
    /// that depend on it. `unsent` bytes wait in the connection.
    #[inline]
    pub fn end_turn(&mut self, now: Time, unsent: u64, profile: &Profile, net: &mut Network) {
        self.cwnd_limited = !self.has_room(profile.mss, profile);
        if self.output.is_some() {
            self.end_output_turn(now, unsent, profile, net);
        }
    }

    /// Sets what the lanes permit. A probe that becomes normal starts in slow start from one segment.
    pub fn set_permit(&mut self, permit: Permit) {
        let few = |permit| matches!(permit, Permit::Probe | Permit::Sip(_));
        if few(permit) || permit == Permit::Normal && few(self.permit) {
            self.window.cwnd = u64::from(self.window.mss);
        }
        self.permit = permit;
    }

    /// Arms the retransmission timer.
    fn set_timer(&mut self, now: Time, after: Span, profile: &Profile, net: &mut Network) {
        let deadline = expiry(now, after, profile.rto_rule);
        self.timer.set(deadline, &mut net.queue, self.timer_source());
    }

    fn timer_source(&self) -> Source {
        Source::new(EventClass::SenderTimer, self.id)
    }

    /// Handles an acknowledgement.
    #[expect(clippy::inline_always, reason = "as its caller, `Tcp::on_acknowledgement`")]
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        now: Time,
        frame: &Frame,
        blocks: Option<SackBlocks>,
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
    ) -> Progress {
        let ack = unwrap(self.una, frame.body.number);
        let mut progress = Progress::default();
        if self.phase == Phase::Joining {
            self.phase = Phase::Established;
            self.timer.cancel();
            progress.established = true;
            progress.sampled = self.rtt.srtt().is_some();
            return progress;
        }
        if self.phase != Phase::Established || ack > self.nxt || ack < self.una {
            return progress;
        }
        let context = AckContext {
            event: EventContext { now, connection: context, profile },
            ack,
            tag: frame.tag,
            blocks,
            ece: profile.ecn && frame.tag & flag::ECE != 0,
            prior_delivered: self.delivered(),
            prior_in_flight: self.pipe(),
            prior_lost: self.board.lost_ever(),
        };
        if profile.recovery.is_linux() {
            let progress = self.on_ack_linux(&context, net);
            if frame.tag & flag::FIN != 0 {
                self.control_segment(now, self.nxt, flag::ACK, profile, net);
            }
            progress
        } else {
            self.on_ack_rfc(&context, net)
        }
    }

    /// Everything that is known of an acknowledgement, for the control.
    #[inline]
    fn ack_info<'a>(&self, context: &AckContext<'a>, rtt: Option<Span>) -> Ack<'a> {
        let total = self.delivered();
        Ack {
            now: context.event.now,
            acked: total - context.prior_delivered,
            total,
            lost: self.board.lost_ever() - context.prior_lost,
            lost_ever: self.board.lost_ever(),
            flight_before: context.prior_in_flight,
            flight: self.pipe(),
            una: self.una,
            nxt: self.nxt,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            ece: false,
            cwnd_limited: self.cwnd_limited,
            state: self.state(),
            delivery: None,
            departure: None,
            deadline: context.event.connection.deadline,
            siblings: context.event.connection.siblings,
        }
    }

    /// The repair as controls know it.
    fn state(&self) -> State {
        match self.repair {
            Repair::None if self.is_disordered() => State::Disorder,
            Repair::None => State::Open,
            Repair::Reducing => State::Reducing,
            Repair::Fast => State::Recovery,
            Repair::Timeout => State::Loss,
        }
    }

    /// Tells the control of congestion, which sets ssthresh.
    fn congested(&mut self, cause: Cause, context: &EventContext<'_>) {
        let event = Event {
            now: context.now,
            cause,
            flight: self.reduced_bytes(cause, context.profile),
            una: self.una,
            deadline: context.connection.deadline,
            siblings: context.connection.siblings,
        };
        if cause != Cause::Ece {
            self.losses_at = (self.una, self.una - self.losses_at.0);
        }
        self.control.on_congestion(&event, &mut self.window);
        if context.profile.reduces_cwnd && self.window.ssthresh < u64::MAX {
            // Linux counts segments: max(cwnd >> 1, 2) of 7 is 3 (`net/ipv4/tcp_cong.c: tcp_reno_ssthresh`).
            let segments = self.window.ssthresh / u64::from(self.window.mss);
            self.window.ssthresh = self.window.bytes(segments.max(2));
        }
    }

    /// The window was reduced: the next new segment says so, and echoes until all that was outstanding is acknowledged
    /// are of the same congestion (RFC 3168 §6.1.2, for a reduction "for any reason").
    fn note_reduction(&mut self) {
        self.cwr_pending = true;
        self.cwr_point = self.nxt;
    }

    /// Handles the retransmission timer. Segments are sent by [`repair`](Self::repair) and the connection's turn.
    pub fn on_timeout(&mut self, now: Time, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        match self.phase {
            Phase::Opening | Phase::Joining => self.on_handshake_timeout(now, profile, net),
            Phase::Established if self.outstanding() > 0 => {
                let context = EventContext { now, connection: context, profile };
                if profile.recovery.is_linux() {
                    self.on_timeout_linux(&context, net);
                } else {
                    self.on_timeout_rfc(&context, net);
                }
            }
            Phase::Established | Phase::Closed => {}
        }
    }

    /// Connection positions of what is outstanding and has not been handed on yet, each once: (data, length).
    pub fn take_for_reinjection(&mut self, out: &mut VecDeque<(u64, u32)>) {
        self.board.take_for_reinjection(out);
    }
}
