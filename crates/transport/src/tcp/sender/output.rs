//! Output: bursts (segmentation offload), pacing, the limit on bytes in the host's own card, and the use of the window.
//!
//! Sources: `net/ipv4/tcp_output.c` of Linux 6.12 (`tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_small_queue_check`, `tcp_pacing_check`, `tcp_cwnd_validate`), `tcp_input.c: tcp_update_pacing_rate`.
//!
//! Leaves out: Nagle's rule for plain TCP, whose applications always have more to write or, on two-way connections, switch it off
//! (`TCP_NODELAY`; MPTCP has it, see
//! `connection/queued.rs`), and the limits of a card on the segments of a burst.

use std::collections::VecDeque;

use headway_engine::{EventClass, Source};
use headway_units::{Span, Time};

use super::{Phase, Repair, Sender};
use crate::network::Network;
use crate::segment::flag;
use crate::tcp::profile::{IdleRestart, Pacing, Profile};
use crate::tcp::writer::{Head, PIECE_COST, Writer};

const MILLISECOND: Span = Span::from_millis(1);
/// `sysctl_tcp_limit_output_bytes`
const MAX_HELD: u64 = 1 << 20;
/// Segments sent before pacing begins (`tcp_update_skb_after_send`).
const UNPACED: u64 = 10;
/// A window of which a third may leave is not held back (`sysctl_tcp_tso_win_divisor`).
const PART: u64 = 3;

/// Whether the window is used (`tcp_cwnd_validate`).
#[derive(Debug, Default)]
struct WindowUse {
    /// The window was full in this round trip (`is_cwnd_limited`).
    full: bool,
    /// The most bytes outstanding in this round trip (`max_packets_out`).
    max_out: u64,
    /// Acknowledged up to here, the round trip is over (`cwnd_usage_seq`).
    round_end: u64,
    /// When the window was last full, or changed (`snd_cwnd_stamp`).
    since: Time,
    /// The most bytes used since (`snd_cwnd_used`).
    used: u64,
}

/// The state of output, of senders with bursts, pacing or Linux' loss recovery.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
pub(super) struct Output {
    /// Bytes per second at which the window leaves in a round trip, times a factor (`sk_pacing_rate`).
    rate: u64,
    /// When the last burst left, or the next may if paced (`tcp_wstamp_ns`).
    stamp: Time,
    segments: u64,
    /// Bursts in the host's card: when they will have left, and their bytes.
    held: VecDeque<(Time, u64)>,
    held_bytes: u64,
    /// The next segment ends a burst of several.
    ends: bool,
    /// The next segment begins a burst.
    fresh: bool,
    /// The window was full but for a burst that waits for more room.
    deferred: bool,
    /// New data was sent in this turn.
    pub sent: bool,
    usage: WindowUse,
}

impl Output {
    /// The state for `profile`, if it needs any.
    pub fn new(profile: &Profile) -> Option<Box<Output>> {
        let needed = profile.recovery.is_linux()
            || profile.offload.is_some()
            || profile.pacing == Pacing::Always
            || profile.control.paces();
        needed.then(Box::default)
    }

    /// When the last burst left, or the next may if paced.
    pub fn departure(&self) -> Time {
        self.stamp
    }

    /// The connection is established.
    pub fn established(&mut self, now: Time) {
        self.usage.since = now;
    }
}

/// Permission to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Burst {
    /// So many bytes, back to back.
    Bytes(u64),
    /// Nothing until an acknowledgement or a timer.
    Wait,
}

impl Sender {
    pub(super) fn output_mut(&mut self) -> &mut Output {
        self.output.as_mut().expect("bursts and pacing have their state")
    }

    /// Whether this sender leaves in bursts or is paced, so that [`burst`](Self::burst) says what may go.
    #[inline]
    pub fn has_bursts(&self) -> bool {
        self.output.is_some()
    }

    /// How many of the bytes written may leave now, of which `head` is the first piece, which grows from the one behind,
    /// and `room` what the receiver takes. `defers`: may wait for more (`tcp_push_one` does not).
    pub fn burst(
        &mut self,
        now: Time,
        head: &mut Head,
        (room, defers): (u64, bool),
        profile: &Profile,
        net: &mut Network,
    ) -> Burst {
        let mss = u64::from(profile.mss);
        if self.phase != Phase::Established || head.unsent.min(room) == 0 {
            return Burst::Wait;
        }
        if self.is_paced_out(now, profile, net) {
            return Burst::Wait;
        }
        let free = self.allowed().saturating_sub(self.pipe());
        let probing = self.is_probing();
        if free < mss.min(head.unsent) && !probing {
            return Burst::Wait;
        }
        let most = self.burst_size(profile);
        // at least two bursts in a window, for the clock's sake
        let half = (self.allowed() / 2 / mss).max(1) * mss;
        let quota = if probing { mss } else { (free / mss * mss).max(mss).min(half).min(most) };
        head.grow(quota);
        if !probing && defers && head.rest > mss && self.defers(now, (free, room, most), *head, profile) {
            self.output_mut().deferred = free < room;
            return Burst::Wait;
        }
        let bytes = head.rest.min(quota).min(room);
        if self.is_held(now, 1, net, profile) {
            return Burst::Wait;
        }
        // RFC 9293 §3.8.6.2.1: no small segment because the window ends within it
        let bytes = if bytes < head.unsent && bytes > mss { bytes / mss * mss } else { bytes };
        if bytes < mss && bytes < head.unsent && self.outstanding() > 0 {
            return Burst::Wait;
        }
        Burst::Bytes(bytes)
    }

    /// The application's buffer has been drained by an acknowledgement, or something was sent: `tcp_check_space`.
    pub fn check_space(&self, writer: &mut Writer, una: u64, profile: &Profile) {
        let cwnd = self.window.cwnd;
        let times = if self.control.manages_cwnd() { 3 } else { 2 };
        let is_full = self.pipe() + u64::from(profile.mss) > cwnd;
        writer.check_space(una, cwnd, is_full, times, profile);
    }

    /// `tcp_tso_autosize`: about a millisecond's worth, more on short paths, two segments at least.
    pub(super) fn burst_size(&self, profile: &Profile) -> u64 {
        let mss = u64::from(profile.mss);
        let Some(offload) = profile.offload else { return mss };
        let output = self.output.as_ref().expect("bursts have their state");
        let most = u64::from(offload.most);
        let halvings = self.rtt.min().map_or(64, |min| min.picos() / 1_000_000 / 512);
        let near = if halvings < 32 { most >> halvings } else { 0 };
        let bytes = ((output.rate >> 10) + near).min(most);
        let least = if self.control.manages_cwnd() && output.rate < 150_000 { 1 } else { 2 };
        (bytes / mss).max(least) * mss
    }

    /// `tcp_tso_should_defer`: whether to wait for an acknowledgement that will let a larger burst of `head` go. `free` is
    /// the congestion window's, `room` the receiver's.
    fn defers(&self, now: Time, (free, room, most): (u64, u64, u64), head: Head, profile: &Profile) -> bool {
        let Some(output) = self.output.as_ref().filter(|_| profile.offload.is_some()) else { return false };
        if matches!(self.repair, Repair::Fast | Repair::Timeout) || now.since(output.stamp) > MILLISECOND {
            return false;
        }
        let limit = free.min(room);
        if limit >= most || !head.is_last() && limit >= head.rest {
            return false;
        }
        if limit >= self.window.cwnd.min(room + self.outstanding()) / PART {
            return false;
        }
        let (Some(first), Some(srtt)) = (self.board.head_sent_at(), self.rtt.srtt()) else { return false };
        // an acknowledgement that comes too late is not waited for
        let expected = first + srtt;
        if expected > now && expected.since(now) > (srtt / 2).min(MILLISECOND) {
            return false;
        }
        // the end of the flow is not waited for, unless a window is what ends the burst
        limit <= head.rest || !(head.is_last() && head.ends)
    }

    /// Bytes per second at which it sends or would (`sk_pacing_rate`).
    pub fn pacing_rate(&self) -> u64 {
        self.output.as_ref().map_or(0, |output| output.rate)
    }

    /// Whether the card or the pace holds this back now; the timer is set if so.
    pub fn is_held_back(&mut self, now: Time, profile: &Profile, net: &mut Network) -> bool {
        self.is_paced_out(now, profile, net) || self.is_held(now, 1, net, profile)
    }

    /// As [`is_held_back`](Self::is_held_back), for retransmissions: the card may hold twice as much then
    /// (`tcp_xmit_retransmit_queue`).
    pub(super) fn is_retransmission_held(&mut self, now: Time, profile: &Profile, net: &mut Network) -> bool {
        self.is_paced_out(now, profile, net) || self.is_held(now, 2, net, profile)
    }

    /// `tcp_small_queue_check`: whether the host's card holds so much of this that no more is given to it, more than
    /// `times` the common limit. Sets the timer for when it no longer does.
    fn is_held(&mut self, now: Time, times: u64, net: &mut Network, profile: &Profile) -> bool {
        if !profile.offload.is_some_and(|o| o.small_queues) {
            return false;
        }
        let burst = self.burst_size(profile) + PIECE_COST;
        let paced = profile.pacing == Pacing::Always || self.control.pacing().is_some();
        let single = self.board.len() <= 1;
        let source = Source::new(EventClass::Wake, self.id);
        let output = self.output_mut();
        while let Some(&(leaves, bytes)) = output.held.front() {
            if leaves > now {
                break;
            }
            output.held.pop_front();
            output.held_bytes -= bytes;
        }
        let mut limit = (2 * burst).max(output.rate >> 10);
        if !paced {
            limit = limit.min(MAX_HELD);
        }
        if output.held_bytes <= times * limit || single {
            return false;
        }
        let wake = output.held.front().map_or(now, |&(leaves, _)| leaves);
        self.wake.set(wake, &mut net.queue, source);
        true
    }

    /// `tcp_pacing_check`: whether the next burst's time has not come. Sets the timer for it.
    fn is_paced_out(&mut self, now: Time, profile: &Profile, net: &mut Network) -> bool {
        if profile.pacing != Pacing::Always && self.control.pacing().is_none() {
            return false;
        }
        let next = self.output_mut().stamp;
        if next <= now {
            return false;
        }
        let source = Source::new(EventClass::Wake, self.id);
        self.wake.set(next, &mut net.queue, source);
        true
    }

    /// The next segment is the last of a burst of several: its receiver acknowledges it at once (`__tcp_transmit_skb`
    /// sets PSH on what is more than one segment).
    pub fn end_burst(&mut self) {
        self.output_mut().ends = true;
    }

    /// Accounts for a burst of `bytes` that was just given to the card.
    pub fn note_output(&mut self, now: Time, bytes: u64, profile: &Profile, net: &mut Network) {
        if self.output.is_none() {
            return;
        }
        let own = self.control.pacing();
        let paced = own.is_some() || profile.pacing == Pacing::Always;
        let mss = u64::from(profile.mss);
        let leaves = profile.offload.filter(|o| o.small_queues).and_then(|_| net.fabric.leaves(self.route));
        let output = self.output_mut();
        let late = now.since(output.stamp.min(now));
        output.stamp = output.stamp.max(now);
        output.fresh = true;
        output.segments += bytes.div_ceil(mss);
        if paced && output.rate > 0 && output.segments >= UNPACED {
            let picos = u128::from(bytes) * 1_000_000_000_000 / u128::from(output.rate);
            let gap = Span::from_picos(picos as u64);
            // what was late is caught up, up to half a gap
            output.stamp += gap.saturating_sub((gap / 2).min(late));
        }
        if let Some(leaves) = leaves.filter(|&leaves| leaves > now) {
            output.held.push_back((leaves, bytes + PIECE_COST));
            output.held_bytes += bytes + PIECE_COST;
        }
    }

    /// `tcp_update_pacing_rate`: twice the window a round trip in slow start, 1.2 times later; or the control's rate. In
    /// either case `sk_max_pacing_rate` at most.
    pub(super) fn update_pacing_rate(&mut self, profile: &Profile) {
        let most = profile.max_pacing_rate.map_or(u64::MAX, |most| most.bps() / 8);
        if let Some(rate) = self.control.pacing() {
            self.output_mut().rate = most.min(rate.bps() / 8);
            return;
        }
        let Some(srtt) = self.rtt.srtt().filter(|srtt| !srtt.is_zero()) else { return };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let bytes = self.window.cwnd.max(self.outstanding().next_multiple_of(u64::from(profile.mss)));
        let rate = u128::from(bytes) * percent * 10_000_000_000 / u128::from(srtt.picos());
        self.output_mut().rate = most.min(rate as u64);
    }

    /// A new segment has been put on the board; returns the bits that it leaves with.
    pub(super) fn note_pushed(&mut self) -> u8 {
        if std::mem::take(&mut self.output_mut().fresh) {
            self.board.mark_burst_start();
        }
        self.stamp_sent(None);
        self.segment_bits()
    }

    /// The bits of a segment that is about to leave: the substitute for its timestamp, and the end of a burst.
    pub(super) fn segment_bits(&mut self) -> u8 {
        let Some(output) = &mut self.output else { return 0 };
        let push = if std::mem::take(&mut output.ends) { flag::PUSH } else { 0 };
        push | self.linux.as_ref().map_or(0, |linux| linux.epoch_bits())
    }

    /// See [`Sender::end_turn`].
    pub(super) fn end_output_turn(&mut self, now: Time, unsent: u64, profile: &Profile, net: &mut Network) {
        let sent = std::mem::take(&mut self.output_mut().sent);
        let probed = self.send_due_probe(now, profile, net);
        let deferred = std::mem::take(&mut self.output_mut().deferred);
        let full = self.pipe() + u64::from(self.window.mss) > self.window.cwnd || deferred;
        if sent || full {
            self.validate_window(now, full, unsent == 0, profile);
        }
        if sent && !probed && profile.recovery.is_linux() {
            self.set_probe_timer(now, false, profile, net);
        }
        if unsent == 0 && self.board.lost_pending() == 0 && !full && self.rate.is_some() {
            self.note_app_limited();
        }
    }

    /// `tcp_is_cwnd_limited`
    pub(super) fn is_window_limited(&self) -> bool {
        let Some(output) = &self.output else { return self.cwnd_limited };
        output.usage.full || self.window.in_slow_start() && self.window.cwnd < 2 * output.usage.max_out
    }

    /// The window has just changed for another reason than being unused.
    pub(super) fn note_window_change(&mut self, now: Time) {
        self.output_mut().usage.since = now;
    }

    /// `tcp_cwnd_validate`: how much of the window is used. `drained`: the application has nothing more to send.
    fn validate_window(&mut self, now: Time, full: bool, drained: bool, profile: &Profile) {
        let (una, nxt, out, cwnd) = (self.una, self.nxt, self.outstanding(), self.window.cwnd);
        let rto = self.rtt.rto();
        let usage = &mut self.output_mut().usage;
        if una >= usage.round_end || full || !usage.full && out > usage.max_out {
            usage.full = full;
            usage.max_out = out;
            usage.round_end = nxt;
        }
        if self.is_window_limited() {
            let usage = &mut self.output_mut().usage;
            usage.used = 0;
            usage.since = now;
            return;
        }
        let usage = &mut self.output_mut().usage;
        usage.used = usage.used.max(out);
        let (used, since) = (usage.used, usage.since);
        // `tcp_cwnd_application_limited` (RFC 2861): a window of which the application used less for an RTO comes half
        // way down.
        let decays = drained && profile.idle_restart == IdleRestart::Decay && !self.control.manages_cwnd();
        if decays && now.since(since) >= rto {
            let mss = u64::from(self.window.mss);
            let used = used.max(u64::from(profile.initial_window) * mss);
            if self.repair == Repair::None && used < cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = u64::midpoint(cwnd, used) / mss * mss;
            }
            let usage = &mut self.output_mut().usage;
            usage.used = 0;
            usage.since = now;
        }
    }
}
