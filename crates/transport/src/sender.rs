//! The sending half of a subflow: windows, acknowledgements, time-outs.
//!
//! What repairs loss is one of two: the letter of RFC 6582 and RFC 6675 ([`rfc`]), or Linux' state machine with RACK,
//! tail loss probes, proportional rate reduction and undo ([`modern`]). Both share one account of what is in the
//! network, RFC 6675's *pipe*: bytes outstanding, less those selectively acknowledged, less those known lost and not
//! yet sent again. What leaves when, in bursts, paced, or held back by the host's card, is in [`output`].

use std::collections::VecDeque;

use headway_control::congestion::{Ack, AnyController, Cause, Event, FlowDeadline, Sibling, Start, State, Window};
use headway_control::lanes::Permit;
use headway_engine::Source;
use headway_fabric::ecn;
use headway_units::{Span, Time};

use crate::network::{Network, SackBlocks, Side, Timer, class, endpoint};
use crate::profile::{IdleRestart, Profile, Recovery};
use crate::rtt::{RttEstimator, expiry};
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size, syn_options, unwrap};

mod modern;
mod output;
mod proportional;
mod rfc;
mod scoreboard;
#[cfg(test)]
mod tests;

use modern::Modern;
pub(crate) use output::Burst;
use proportional::Reducing;
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

/// What repair is under way. Ends when everything sent before it began (`point`) is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    /// The window comes down after an ECN echo or a tail loss, with nothing to send again.
    Reducing,
    /// Fast recovery.
    Fast,
    /// After a retransmission time-out.
    Timeout,
}

/// What an acknowledgement or time-out leaves for the connection to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is news of its own")]
pub(crate) struct Progress {
    /// The subflow has just become able to carry data.
    pub established: bool,
    /// The subflow has just been closed.
    pub closed: bool,
    /// There is a new round-trip estimate.
    pub sampled: bool,
    /// The subflow had timed out and is heard of again.
    pub revived: bool,
}

/// What a sender's control may know of the rest of the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context<'a> {
    /// The connection's subflows, if the control is coupled.
    pub siblings: &'a [Sibling],
    /// The flow's deadline.
    pub goal: Option<FlowDeadline>,
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
    pub dark: bool,
    pub window: Window,
    /// First position of this subflow's route.
    pub route: u32,
    id: u32,
    join: bool,
    control: AnyController,
    repair: Repair,
    point: u64,
    una: u64,
    nxt: u64,
    board: Scoreboard,
    duplicates: u32,
    /// Segments that duplicate acknowledgements tell to have left (NewReno).
    departed: u32,
    /// Whether the window was full when the subflow last had its turn (RFC 5681 §3.1 grows it only then).
    limited: bool,
    /// One segment may be sent whatever the pipe (RFC 6675 §5 step 4.3).
    force: bool,
    /// NewReno's window comes down in proportion (Linux without selective acknowledgements).
    reducing: Reducing,
    /// RFC 6675's `RescueRxt`: a rescue needs an acknowledgement beyond this.
    rescue_beyond: u64,
    timer: Timer,
    /// Pacing, and the host's card.
    wake: Timer,
    last_sent: Time,
    /// Retransmissions of SYN or of the join's third packet.
    handshake_retries: u32,
    ecn_point: u64,
    reduced: bool,
    /// Bytes acknowledged when the last loss was found, and between the two before (OLIA).
    losses_at: (u64, u64),
    /// What only some stacks have.
    modern: Option<Box<Modern>>,
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
        let modern = Modern::new(profile);
        let board = match &modern {
            Some(_) => Scoreboard::timed(profile.recovery == Recovery::Rack, profile.control.wants_delivery()),
            None => Scoreboard::default(),
        };
        Sender {
            connection,
            phase: Phase::Opening,
            permit: Permit::Normal,
            backup: false,
            rtt: RttEstimator::of(profile, profile.initial_rto),
            counters: SenderCounters::default(),
            failed: false,
            dark: false,
            window,
            route,
            id,
            join,
            control: profile.control.clone(),
            repair: Repair::None,
            point: 0,
            una: 0,
            nxt: 1,
            board,
            duplicates: 0,
            departed: 0,
            limited: false,
            force: false,
            reducing: Reducing::default(),
            rescue_beyond: 0,
            timer: timers.0,
            wake: timers.1,
            last_sent: Time::ZERO,
            handshake_retries: 0,
            ecn_point: 0,
            reduced: false,
            losses_at: (0, 0),
            modern,
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
        if self.dark {
            return u32::MAX;
        }
        self.modern.as_ref().map_or(0, |modern| modern.failures())
    }

    /// The interface has lost its carrier: nobody hears of this subflow until it is back.
    pub fn lose_carrier(&mut self) {
        self.dark = true;
        self.failed = true;
    }

    /// The carrier is back, or another interface is taken: what is outstanding is tried at once, with the time-out as it
    /// was before the back-off.
    pub fn regain_carrier(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.dark = false;
        self.rtt.end_back_off();
        match self.phase {
            Phase::Opening => {
                self.failed = false;
                self.open(now, profile, net);
            }
            Phase::Established if self.outstanding() == 0 => self.failed = false,
            Phase::Joining | Phase::Established => {
                self.failed &= self.phase == Phase::Established;
                let soon = now.saturating_add(Span::from_picos(1));
                if soon < self.timer.deadline() {
                    self.timer.set(soon, &mut net.queue, self.timer_source());
                }
            }
            Phase::Closed => {}
        }
    }

    /// Bytes that the receiver is known to have.
    #[inline]
    fn total(&self) -> u64 {
        self.una + self.board.sacked()
    }

    /// What congestion halves. Linux: cwnd. RFC 5681 §3.2 step 2: the bytes outstanding without what limited transmit
    /// sent, so at most a window. That a long recovery's new data does not count either is a deviation from its §2:
    /// while an acknowledgement is missing, every duplicate lets a segment go, and half of all that would be no
    /// estimate of the path.
    fn flight_size(&self, profile: &Profile) -> u64 {
        if profile.reduces_cwnd { self.window.cwnd } else { self.outstanding().min(self.window.cwnd) }
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

    /// Bytes in the network as far as is known.
    fn pipe(&self) -> u64 {
        let departed = u64::from(self.departed) * u64::from(self.window.mss);
        // RFC 6675 §4, SetPipe: "octets retransmitted without being considered lost are counted twice"; so they are in Linux
        // (`tcp_packets_in_flight`).
        (self.outstanding() + self.board.twice()).saturating_sub(self.board.sacked() + self.board.lost() + departed)
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
        self.limited = !self.has_room(profile.mss, profile);
        if self.modern.is_some() {
            self.end_modern_turn(now, unsent, profile, net);
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

    /// Sends SYN.
    pub fn open(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.last_sent = now;
        self.control_segment(now, 0, flag::SYN, profile, net);
        self.set_timer(now, self.rtt.rto(), profile, net);
    }

    /// Sends new data, `len` bytes at connection position `data`; `fin` ends the subflow.
    #[inline(never)]
    pub fn send_new(&mut self, now: Time, data: u64, len: u32, fin: bool, profile: &Profile, net: &mut Network) {
        self.send_next(now, data, len, fin, profile, net);
    }

    /// [`send_new`](Self::send_new), for where most data comes from.
    #[expect(clippy::inline_always, reason = "a call for every segment costs a tenth of what it does in the sender")]
    #[inline(always)]
    pub fn send_next(&mut self, now: Time, data: u64, len: u32, fin: bool, profile: &Profile, net: &mut Network) {
        if self.outstanding() == 0 && self.nxt > 1 && self.permit == Permit::Normal {
            self.restart(now, profile);
        } else if self.modern.is_some() {
            self.note_start(now);
        }
        let seq = self.nxt;
        let span = u64::from(len) + u64::from(fin);
        if self.modern.is_some() {
            self.note_new(now, span, profile, net);
        }
        self.nxt += span;
        self.board.push(seq, now, data, len, fin);
        let marks = if self.modern.is_some() { self.note_pushed() } else { 0 };
        let tag = marks | if fin { flag::FIN } else { 0 };
        self.data_segment(now, (seq, data, len), tag, true, profile, net);
    }

    /// Data flows again after nothing was outstanding. A window that has not been used for an RTO says nothing about the
    /// path any more.
    fn restart(&mut self, now: Time, profile: &Profile) {
        let initial = u64::from(profile.initial_window) * u64::from(profile.mss);
        let (idle, rto) = (now.since(self.last_sent), self.rtt.rto());
        if idle > rto && !self.control.owns_window() {
            match profile.idle_restart {
                IdleRestart::Keep => {}
                // RFC 5681 §4.1
                IdleRestart::Restart => self.window.cwnd = self.window.cwnd.min(initial),
                // RFC 2861; `tcp_cwnd_restart`
                IdleRestart::Decay => {
                    let most = self.window.cwnd;
                    if self.window.ssthresh != u64::MAX {
                        self.window.ssthresh = self.window.ssthresh.max(most / 4 * 3);
                    }
                    let mut left = idle.saturating_sub(rto);
                    while !left.is_zero() && self.window.cwnd > initial {
                        self.window.cwnd /= 2;
                        left = left.saturating_sub(rto);
                    }
                    self.window.cwnd = self.window.cwnd.max(initial.min(most));
                }
            }
        }
        self.control.on_restart(now, idle, &mut self.window);
    }

    /// Something is about to be sent. If there is something outstanding but nothing in the network, because all of it
    /// was found lost, Linux' controls take it for a start as well (`tcp_output.c: tcp_event_data_sent`).
    fn note_start(&mut self, now: Time) {
        let start = self.modern.is_some() && self.outstanding() > 0 && self.pipe() == 0;
        if start && !self.control.owns_window() {
            self.control.on_restart(now, now.since(self.last_sent), &mut self.window);
        }
    }

    /// Sends again what is known to be lost, as far as the window allows, then as much as the stack's rules do.
    /// `more_data` waits in the connection.
    #[inline]
    pub fn repair(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        if self.phase == Phase::Established && self.repair != Repair::None {
            self.go_on_repairing(now, more_data, profile, net);
        }
    }

    #[inline(never)]
    fn go_on_repairing(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        if profile.modern.is_some() {
            self.repair_modern(now, more_data, profile, net);
        } else {
            self.repair_rfc(now, more_data, profile, net);
        }
    }

    /// The window for what is sent again. On hold the thesis' window is zero, but what was lost must arrive all the
    /// same.
    fn repair_window(&self) -> u64 {
        if self.permit == Permit::Hold { self.window.cwnd } else { self.allowed() }
    }

    /// Arms the retransmission timer.
    fn set_timer(&mut self, now: Time, after: Span, profile: &Profile, net: &mut Network) {
        let deadline = expiry(now, after, profile.rto_rule);
        self.timer.set(deadline, &mut net.queue, self.timer_source());
    }

    fn resend(&mut self, now: Time, index: usize, profile: &Profile, net: &mut Network) {
        self.note_start(now);
        let segment = self.board.resent(index, now);
        if self.modern.is_some() {
            self.note_resent(now, u64::from(segment.2) + u64::from(segment.3));
        }
        self.send_again(now, index, segment, profile, net);
    }

    /// Sends the segment again, as a probe or RFC 6675's rescue, without counting it as on its way twice.
    fn resend_probe(&mut self, now: Time, index: usize, profile: &Profile, net: &mut Network) {
        let segment = self.board.probed(index, now);
        self.send_again(now, index, segment, profile, net);
    }

    fn send_again(
        &mut self,
        now: Time,
        index: usize,
        (seq, data, len, fin): (u64, u64, u32, bool),
        profile: &Profile,
        net: &mut Network,
    ) {
        self.counters.retransmissions += 1;
        self.stamp_sent(Some(index));
        let tag = self.marks() | if fin { flag::FIN } else { 0 };
        self.data_segment(now, (seq, data, len), tag, false, profile, net);
    }

    /// Sends a segment with what `tag` says besides the acknowledgement.
    #[expect(clippy::inline_always, reason = "what is sent again must not cost new data a call")]
    #[inline(always)]
    fn data_segment(
        &mut self,
        now: Time,
        (seq, data, len): (u64, u64, u32),
        mut tag: u8,
        new: bool,
        profile: &Profile,
        net: &mut Network,
    ) {
        tag |= flag::ACK;
        // RFC 3168 §6.1.2, §6.1.5: retransmissions carry neither CWR nor an ECT codepoint; RFC 8257 §3.5 has all
        // segments carry one.
        let capable = profile.ecn && (new || self.control.counts_marks());
        if new && self.reduced {
            self.reduced = false;
            tag |= if profile.ecn { flag::CWR } else { 0 };
        }
        let frame = Frame {
            hop: self.route,
            size: frame_size(len, profile.overhead),
            tos: if capable { ecn::CAPABLE } else { 0 },
            tag,
            body: Segment { number: seq as u32, data_number: data as u32, amount: len, extra: NO_EXTRA },
        };
        self.last_sent = now;
        self.count_proportional(len);
        net.send(now, endpoint(self.id, Side::Receiver), frame);
        // RFC 6298 §5.1
        if self.timer.deadline() == Time::NEVER {
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }

    /// A segment without data.
    fn control_segment(&self, now: Time, number: u64, tag: u8, profile: &Profile, net: &mut Network) {
        let frame = Frame {
            hop: self.route,
            size: frame_size(if tag & flag::SYN != 0 { syn_options(profile) } else { 0 }, profile.overhead),
            tos: 0,
            tag,
            body: Segment { number: number as u32, data_number: 0, amount: 0, extra: NO_EXTRA },
        };
        net.send(now, endpoint(self.id, Side::Receiver), frame);
    }

    fn timer_source(&self) -> Source {
        Source::new(class::SENDER_TIMER, self.id)
    }

    /// Handles the answer to SYN.
    pub fn on_syn_ack(&mut self, now: Time, profile: &Profile, net: &mut Network) -> Progress {
        if self.phase != Phase::Opening {
            // our ACK was lost: say it again
            self.control_segment(now, self.nxt, flag::ACK, profile, net);
            return Progress::default();
        }
        self.una = 1;
        // Timestamps tell which SYN was answered.
        if self.handshake_retries == 0 || profile.timestamps && profile.modern.is_some() {
            let rtt = now.since(self.last_sent);
            self.rtt.sample(rtt, rtt, self.una, self.nxt);
        } else {
            // RFC 6298 §5.7 and RFC 5681 §3.1: a lost SYN means three seconds and one segment. Linux takes its initial
            // window if SYN was sent again once (`tcp_init_transfer`).
            let initial = Span::from_secs(3).max(profile.initial_rto);
            self.rtt = RttEstimator::of(profile, initial);
        }
        if self.handshake_retries > u32::from(profile.modern.is_some()) {
            self.window.cwnd = u64::from(self.window.mss);
        }
        let seed =
            net.seed ^ (u64::from(self.connection) << 32 | u64::from(self.id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.control.on_start(&Start { now, rtt: self.rtt.srtt(), seed }, &mut self.window);
        if let Some(modern) = &mut self.modern {
            modern.established(now);
            self.update_rate(profile);
        }
        if self.join {
            self.phase = Phase::Joining;
            self.handshake_retries = 0;
            self.last_sent = now;
            self.control_segment(now, 1, flag::ACK, profile, net);
            self.set_timer(now, self.rtt.rto(), profile, net);
            return Progress::default();
        }
        self.phase = Phase::Established;
        self.timer.cancel();
        if profile.modern.is_some() {
            // Linux answers before the application is told, so no data rides on it.
            self.control_segment(now, 1, flag::ACK, profile, net);
        }
        Progress { established: true, sampled: self.rtt.srtt().is_some(), ..Progress::default() }
    }

    /// Handles an acknowledgement.
    #[expect(clippy::inline_always, reason = "as its caller, `Simulation::on_acknowledgement`")]
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
        if profile.modern.is_some() {
            let progress = self.on_ack_modern(now, ack, frame.tag, blocks, context, profile, net);
            if frame.tag & flag::FIN != 0 {
                self.control_segment(now, self.nxt, flag::ACK, profile, net);
            }
            progress
        } else {
            self.on_ack_rfc(now, ack, frame.tag, blocks, context, profile, net)
        }
    }

    /// Everything that is known of an acknowledgement, for the control. `before` is what was delivered, in flight and
    /// ever lost until it came.
    #[inline]
    fn account<'a>(&self, now: Time, before: (u64, u64, u64), rtt: Option<Span>, context: &Context<'a>) -> Ack<'a> {
        let total = self.total();
        Ack {
            now,
            acked: total - before.0,
            total,
            lost: self.board.lost_ever() - before.2,
            lost_ever: self.board.lost_ever(),
            flight_before: before.1,
            flight: self.pipe(),
            una: self.una,
            nxt: self.nxt,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            echo: false,
            limited: self.limited,
            state: self.state(),
            delivery: None,
            departure: None,
            goal: context.goal,
            siblings: context.siblings,
        }
    }

    /// The repair as controls know it.
    fn state(&self) -> State {
        match self.repair {
            Repair::None if self.modern.as_ref().is_some_and(|m| m.is_disordered()) => State::Disorder,
            Repair::None => State::Open,
            Repair::Reducing => State::Reducing,
            Repair::Fast => State::Recovery,
            Repair::Timeout => State::Loss,
        }
    }

    /// Tells the control of congestion, which sets ssthresh.
    fn congested(&mut self, now: Time, cause: Cause, context: &Context<'_>, profile: &Profile) {
        let event = Event {
            now,
            cause,
            flight: self.flight_size(profile),
            una: self.una,
            goal: context.goal,
            siblings: context.siblings,
        };
        if cause != Cause::Echo {
            self.losses_at = (self.una, self.una - self.losses_at.0);
        }
        self.control.on_congestion(&event, &mut self.window);
    }

    /// The window was reduced: the next new segment says so, and echoes until all that was outstanding is acknowledged
    /// are of the same congestion (RFC 3168 §6.1.2, for a reduction "for any reason").
    fn note_reduction(&mut self) {
        self.reduced = true;
        self.ecn_point = self.nxt;
    }

    /// Handles the retransmission timer. Segments are sent by [`repair`](Self::repair) and the connection's turn.
    pub fn on_timeout(&mut self, now: Time, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        match self.phase {
            Phase::Opening | Phase::Joining => {
                self.counters.timeouts += 1;
                self.handshake_retries += 1;
                let (number, tag) = if self.phase == Phase::Opening { (0, flag::SYN) } else { (1, flag::ACK) };
                self.rtt.back_off();
                self.control_segment(now, number, tag, profile, net);
                self.set_timer(now, self.rtt.rto(), profile, net);
            }
            Phase::Established if self.outstanding() > 0 => {
                if profile.modern.is_some() {
                    self.on_timeout_modern(now, context, profile, net);
                } else {
                    self.on_timeout_rfc(now, context, profile, net);
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
