//! The sending half of a subflow: windows, acknowledgements, loss recovery, time-outs.
//!
//! Both recoveries share one account of what is in the network, RFC 6675's *pipe*: bytes outstanding, less those
//! selectively acknowledged, less those known lost and not yet sent again. NewReno (RFC 6582) knows less: each
//! duplicate acknowledgement stands for one segment that has left, which is the same as inflating the window by
//! one (§3.2 steps 3–5), and a partial acknowledgement tells that the next segment is lost too.

use std::collections::VecDeque;

use headway_control::congestion::{Ack, Congestion, Sibling, Window};
use headway_control::lanes::Permit;
use headway_engine::Source;
use headway_fabric::ecn;
use headway_units::{Span, Time};

use crate::network::{Network, SackBlocks, Side, Timer, class, endpoint};
use crate::profile::{Profile, Recovery};
use crate::rtt::RttEstimator;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size, unwrap};

mod scoreboard;
#[cfg(test)]
mod tests;

use scoreboard::Scoreboard;

/// Duplicate acknowledgements, or segments' worth of selectively acknowledged bytes, that mean loss.
const DUP_THRESHOLD: u32 = 3;

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
    /// Fast recovery.
    Fast,
    /// After a retransmission time-out.
    Timeout,
}

/// What an acknowledgement or time-out leaves for the connection to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// The subflow has just become able to carry data.
    pub established: bool,
    /// The subflow has just been closed.
    pub closed: bool,
    /// There is a new round-trip estimate.
    pub sampled: bool,
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
    pub rtt: RttEstimator,
    pub counters: SenderCounters,
    /// Timed out and not heard of since: carries no new data while others can.
    pub failed: bool,
    pub window: Window,
    /// First position of this subflow's route.
    pub route: u32,
    id: u32,
    join: bool,
    control: Congestion,
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
    /// RFC 6675's `RescueRxt`: a rescue needs an acknowledgement beyond this.
    rescue_beyond: u64,
    timer: Timer,
    last_sent: Time,
    /// Retransmissions of SYN or of the join's third packet.
    handshake_retries: u32,
    ecn_point: u64,
    reduced: bool,
}

impl Sender {
    /// A subflow about to open. `timer` is that of the place's former occupant, so that its outdated events are
    /// told from this one's.
    pub fn new(id: u32, connection: u32, route: u32, join: bool, profile: &Profile, timer: Timer) -> Sender {
        let mut window = Window::initial(profile.initial_window, profile.mss);
        if let Some(threshold) = profile.initial_ssthresh {
            window.ssthresh = threshold.get().max(2 * u64::from(profile.mss));
        }
        Sender {
            connection,
            phase: Phase::Opening,
            permit: Permit::Normal,
            rtt: RttEstimator::new(profile.initial_rto, profile.min_rto, profile.max_rto),
            counters: SenderCounters::default(),
            failed: false,
            window,
            route,
            id,
            join,
            control: profile.control.clone(),
            repair: Repair::None,
            point: 0,
            una: 0,
            nxt: 1,
            board: Scoreboard::default(),
            duplicates: 0,
            departed: 0,
            limited: false,
            force: false,
            rescue_beyond: 0,
            timer,
            last_sent: Time::ZERO,
            handshake_retries: 0,
            ecn_point: 0,
            reduced: false,
        }
    }

    pub fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }

    pub fn is_coupled(&self) -> bool {
        self.control.is_coupled()
    }

    /// Bytes sent and not yet acknowledged in sequence.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// What congestion halves: the bytes outstanding, at most a window. RFC 5681 §3.2 step 2 excludes what limited
    /// transmit sent. That a long recovery's new data does not count either is a deviation from its §2: while an
    /// acknowledgement is missing, every duplicate lets a segment go, and half of all that would be no estimate of
    /// the path. Linux halves cwnd for the same reason.
    fn flight_size(&self) -> u64 {
        self.outstanding().min(self.window.cwnd)
    }

    /// The window that the lanes leave of the congestion window: none on hold, one segment for a probe.
    #[inline]
    pub fn allowed(&self) -> u64 {
        match self.permit {
            Permit::Normal => self.window.cwnd,
            Permit::Probe => u64::from(self.window.mss),
            Permit::Hold => 0,
        }
    }

    /// The window as siblings see it: ssthresh while in fast recovery (RFC 6356 §3). `None` if it takes no part.
    pub fn sibling(&self) -> Option<Sibling> {
        let cwnd = match (self.permit, self.repair) {
            (Permit::Normal, Repair::Fast) => self.window.ssthresh,
            _ => self.allowed(),
        };
        let srtt = self.rtt.srtt()?;
        (self.phase == Phase::Established && cwnd > 0 && !srtt.is_zero()).then_some(Sibling { cwnd, srtt })
    }

    fn pipe(&self) -> u64 {
        let departed = u64::from(self.departed) * u64::from(self.window.mss);
        self.outstanding().saturating_sub(self.board.sacked() + self.board.lost() + departed)
    }

    /// Whether `len` more bytes of new data fit the window.
    #[inline]
    pub fn has_room(&self, len: u32, profile: &Profile) -> bool {
        // RFC 3042: the first two duplicate acknowledgements let one segment each go; what the pipe no longer holds.
        let pipe =
            if self.repair == Repair::None && !profile.limited_transmit { self.outstanding() } else { self.pipe() };
        self.phase == Phase::Established && pipe + u64::from(len) <= self.allowed()
    }

    /// Notes whether the window is what keeps the subflow from sending.
    #[inline]
    pub fn note_limited(&mut self, profile: &Profile) {
        self.limited = !self.has_room(profile.mss, profile);
    }

    /// Sets what the lanes permit. A probe that becomes normal starts in slow start from one segment.
    pub fn set_permit(&mut self, permit: Permit) {
        if permit == Permit::Probe || (permit == Permit::Normal && self.permit == Permit::Probe) {
            self.window.cwnd = u64::from(self.window.mss);
        }
        self.permit = permit;
    }

    /// Sends SYN.
    pub fn open(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.last_sent = now;
        self.control_segment(now, 0, flag::SYN, profile, net);
        self.timer.set(now + self.rtt.rto(), &mut net.queue, self.timer_source());
    }

    /// Sends new data, `len` bytes at connection position `data`; `fin` ends the subflow.
    #[inline]
    pub fn send_new(&mut self, now: Time, data: u64, len: u32, fin: bool, profile: &Profile, net: &mut Network) {
        // RFC 5681 §4.1: a window that has not been used for an RTO says nothing about the path any more.
        if self.outstanding() == 0 && now.since(self.last_sent) > self.rtt.rto() && self.permit == Permit::Normal {
            self.window.cwnd = self.window.cwnd.min(u64::from(profile.initial_window) * u64::from(profile.mss));
        }
        let seq = self.nxt;
        self.nxt += u64::from(len) + u64::from(fin);
        self.board.push(seq, now, data, len, fin);
        self.data_segment(now, seq, data, len, fin, true, profile, net);
    }

    /// Sends again what is known to be lost, as far as the window allows, then as much as RFC 6675's later rules do.
    pub fn repair(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        if self.phase != Phase::Established || self.repair == Repair::None {
            return;
        }
        // On hold the thesis' window is zero, but what was lost must arrive all the same.
        let window = if self.permit == Permit::Hold { self.window.cwnd } else { self.allowed() };
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
                self.resend(now, index, profile, net);
            }
        }
    }

    fn resend(&mut self, now: Time, index: usize, profile: &Profile, net: &mut Network) {
        let (seq, data, len, fin) = self.board.resent(index, now);
        self.counters.retransmissions += 1;
        self.data_segment(now, seq, data, len, fin, false, profile, net);
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the fields of one segment, and where it goes")]
    fn data_segment(
        &mut self,
        now: Time,
        seq: u64,
        data: u64,
        len: u32,
        fin: bool,
        new: bool,
        profile: &Profile,
        net: &mut Network,
    ) {
        let mut tag = flag::ACK | if fin { flag::FIN } else { 0 };
        // RFC 3168 §6.1.2, §6.1.5: retransmissions carry neither CWR nor an ECT codepoint.
        if new && self.reduced {
            self.reduced = false;
            tag |= if profile.ecn { flag::CWR } else { 0 };
        }
        let frame = Frame {
            hop: self.route,
            size: frame_size(len, profile.overhead),
            tos: if profile.ecn && new { ecn::CAPABLE } else { 0 },
            tag,
            body: Segment { number: seq as u32, data_number: data as u32, amount: len, extra: NO_EXTRA },
        };
        self.last_sent = now;
        net.send(now, endpoint(self.id, Side::Receiver), frame);
        // RFC 6298 §5.1
        if self.timer.deadline() == Time::NEVER {
            self.timer.set(now + self.rtt.rto(), &mut net.queue, self.timer_source());
        }
    }

    /// A segment without data.
    fn control_segment(&self, now: Time, number: u64, tag: u8, profile: &Profile, net: &mut Network) {
        let frame = Frame {
            hop: self.route,
            size: frame_size(0, profile.overhead),
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
        if self.handshake_retries == 0 {
            self.rtt.sample(now.since(self.last_sent));
        } else {
            // RFC 6298 §5.7 and RFC 5681 §3.1: a lost SYN means three seconds and one segment.
            self.rtt = RttEstimator::new(Span::from_secs(3), profile.min_rto, profile.max_rto);
            self.window.cwnd = u64::from(self.window.mss);
        }
        if self.join {
            self.phase = Phase::Joining;
            self.handshake_retries = 0;
            self.last_sent = now;
            self.control_segment(now, 1, flag::ACK, profile, net);
            self.timer.set(now + self.rtt.rto(), &mut net.queue, self.timer_source());
            return Progress::default();
        }
        self.phase = Phase::Established;
        self.timer.cancel();
        Progress { established: true, sampled: self.rtt.srtt().is_some(), closed: false }
    }

    /// Handles an acknowledgement. `siblings` are the connection's subflows if the control is coupled.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Time,
        frame: &Frame,
        blocks: Option<SackBlocks>,
        siblings: &[Sibling],
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
        let news = match blocks {
            Some(blocks) if profile.recovery == Recovery::Sack => {
                self.board.mark_sacked(&blocks, self.una, ack, self.nxt)
            }
            _ => false,
        };
        let echo = profile.ecn && frame.tag & flag::ECE != 0;
        // RFC 3168 §6.1.2: no growth by an echo.
        self.limited &= !echo;
        if ack > self.una {
            self.on_new_data(now, ack, siblings, profile, net, &mut progress);
        } else if self.outstanding() > 0 && (news || profile.recovery == Recovery::NewReno) {
            self.duplicates += 1;
            self.departed = match (profile.recovery, self.repair) {
                // What arrives after a time-out was mostly sent again in vain and is outstanding no longer.
                (Recovery::Sack, _) | (_, Repair::Timeout) => 0,
                // RFC 3042: no more than two segments beyond the window.
                (_, Repair::None) => (self.departed + 1).min(DUP_THRESHOLD - 1).min(self.not_lost()),
                (_, Repair::Fast) => (self.departed + 1).min(self.not_lost()),
            };
        }
        self.detect_loss(now, profile);
        if echo {
            self.on_echo(now);
        }
        progress
    }

    #[inline]
    fn on_new_data(
        &mut self,
        now: Time,
        ack: u64,
        siblings: &[Sibling],
        profile: &Profile,
        net: &mut Network,
        progress: &mut Progress,
    ) {
        let acked = ack - self.una;
        if let Some(sent) = self.board.acknowledge(ack) {
            self.rtt.sample(now.since(sent));
            progress.sampled = true;
        }
        self.una = ack;
        self.failed = false;
        self.duplicates = 0;
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
                if profile.recovery == Recovery::NewReno {
                    self.window.cwnd = self.window.ssthresh.min(self.outstanding().max(mss) + mss);
                }
                self.repair = Repair::None;
                self.departed = 0;
            }
            Repair::Timeout | Repair::None => {
                if self.repair == Repair::Timeout && ack >= self.point {
                    self.repair = Repair::None;
                }
                self.departed = self.departed.saturating_sub(acked.div_ceil(mss) as u32);
                if self.limited && self.permit == Permit::Normal {
                    let ack = Ack { now, acked, srtt: self.rtt.srtt(), siblings };
                    self.control.on_ack(&ack, &mut self.window);
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
            self.timer.set(now + self.rtt.rto(), &mut net.queue, self.timer_source());
        }
    }

    /// Full segments outstanding and not known lost: no more can have departed.
    fn not_lost(&self) -> u32 {
        (self.outstanding().saturating_sub(self.board.lost()) / u64::from(self.window.mss)) as u32
    }

    /// The window was reduced: the next new segment says so, and echoes until all that was outstanding is acknowledged
    /// are of the same congestion (RFC 3168 §6.1.2, for a reduction "for any reason").
    fn note_reduction(&mut self) {
        self.reduced = true;
        self.ecn_point = self.nxt;
    }

    /// Finds newly lost segments, and enters fast recovery for them.
    #[inline]
    fn detect_loss(&mut self, now: Time, profile: &Profile) {
        if profile.recovery == Recovery::Sack {
            self.board.mark_lost(u64::from(self.window.mss), DUP_THRESHOLD);
        }
        if self.repair != Repair::None {
            return;
        }
        let found = self.duplicates >= DUP_THRESHOLD || self.board.lost() > 0;
        // RFC 6582 §3.2 step 2: not for what a repair before has already covered.
        if !found || self.una <= self.point && self.board.lost() == 0 {
            return;
        }
        if self.board.lost() == 0 {
            self.board.mark_first_lost();
        }
        self.control.on_loss(now, self.flight_size(), &mut self.window);
        if profile.recovery == Recovery::NewReno {
            self.departed = DUP_THRESHOLD.min(self.not_lost()); // RFC 5681 §3.2 step 3
        }
        self.note_reduction();
        self.repair = Repair::Fast;
        self.point = self.nxt;
        self.force = true;
        self.rescue_beyond = self.board.first_end();
    }

    /// RFC 3168 §6.1.2: an echo counts as one loss per window, without a retransmission.
    fn on_echo(&mut self, now: Time) {
        self.counters.marks += 1;
        if self.una > self.ecn_point && self.repair == Repair::None {
            self.control.on_loss(now, self.flight_size(), &mut self.window);
            self.note_reduction();
        }
    }

    /// Handles the retransmission time-out. The segments themselves are sent by [`repair`](Self::repair).
    pub fn on_timeout(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        match self.phase {
            Phase::Opening | Phase::Joining => {
                self.counters.timeouts += 1;
                self.handshake_retries += 1;
                let (number, tag) = if self.phase == Phase::Opening { (0, flag::SYN) } else { (1, flag::ACK) };
                self.rtt.back_off();
                self.control_segment(now, number, tag, profile, net);
                self.timer.set(now + self.rtt.rto(), &mut net.queue, self.timer_source());
            }
            Phase::Established if self.outstanding() > 0 => {
                self.counters.timeouts += 1;
                // RFC 5681 §3.1: ssthresh is lowered once, not for each retransmission of the same segment.
                if self.repair == Repair::Timeout && self.failed {
                    self.window.cwnd = u64::from(self.window.mss);
                } else {
                    self.control.on_timeout(now, self.flight_size(), &mut self.window);
                }
                self.note_reduction();
                self.failed = true;
                self.repair = Repair::Timeout;
                self.point = self.nxt;
                self.duplicates = 0;
                self.departed = 0;
                self.force = true;
                self.board.mark_all_lost();
                self.rtt.back_off();
                self.timer.set(now + self.rtt.rto(), &mut net.queue, self.timer_source());
            }
            Phase::Established | Phase::Closed => {}
        }
    }

    /// Connection positions of what is outstanding and has not been handed on yet, each once: (data, length).
    pub fn take_for_reinjection(&mut self, out: &mut VecDeque<(u64, u32)>) {
        self.board.take_for_reinjection(out);
    }
}
