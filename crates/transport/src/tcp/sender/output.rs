//! What leaves when: bursts (segmentation offload), pacing, and what the host's own card may hold.
//!
//! Sources: `net/ipv4/tcp_output.c` of Linux 6.12 (`tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_small_queue_check`, `tcp_pacing_check`), `tcp_input.c: tcp_update_pacing_rate`.
//!
//! Leaves out: Nagle's rule for plain TCP, whose applications always have more to write (MPTCP has it, see
//! `connection/queued.rs`), and the limits of a card on the segments of a burst.

use std::collections::VecDeque;

use headway_engine::{EventClass, Source};
use headway_units::{Span, Time};

use super::{Phase, Repair, Sender};
use crate::network::Network;
use crate::tcp::profile::{Pacing, Profile};
use crate::tcp::writer::{Head, PIECE_COST, Writer};

const MILLISECOND: Span = Span::from_millis(1);
/// `sysctl_tcp_limit_output_bytes`
const MAX_HELD: u64 = 1 << 20;
/// Segments sent before pacing begins (`tcp_update_skb_after_send`).
const UNPACED: u64 = 10;
/// A window of which a third may leave is not held back (`sysctl_tcp_tso_win_divisor`).
const PART: u64 = 3;

/// The state of output.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
pub(super) struct Output {
    /// Bytes per second at which the window leaves in a round trip, times a factor (`sk_pacing_rate`).
    rate: u64,
    /// When the last burst left, or the next may if paced (`tcp_wstamp_ns`).
    stamp: Time,
    segments: u64,
    /// Bursts in the host's card: when they have left, and what they take.
    held: VecDeque<(Time, u64)>,
    held_bytes: u64,
    /// What is sent next ends a burst of several segments.
    pub ends: bool,
    /// What is sent next begins a burst.
    pub fresh: bool,
    /// The window was full but for a burst that waits for more room.
    pub deferred: bool,
    /// A probe goes out in this turn.
    pub probe_due: bool,
}

impl Output {
    /// When the last burst left, or the next may if paced.
    pub fn departure(&self) -> Time {
        self.stamp
    }

    /// Whether a sender with this profile needs the state.
    pub fn needed(profile: &Profile) -> bool {
        profile.offload.is_some() || profile.pacing == Pacing::Always || profile.control.manages_cwnd()
    }
}

/// What may leave now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Burst {
    /// So many bytes, back to back.
    Bytes(u64),
    /// Nothing until an acknowledgement or a timer.
    Wait,
}

impl Sender {
    fn output(&mut self) -> &mut Output {
        &mut self.modern.as_mut().expect("bursts and pacing have their state").output
    }

    /// Whether this sender leaves in bursts or is paced, so that [`burst`](Self::burst) says what may go.
    #[inline]
    pub fn has_bursts(&self) -> bool {
        self.modern.is_some()
    }

    /// How much of what is written may leave now, of which `head` is the first piece and `room` what the receiver takes.
    pub fn burst(&mut self, now: Time, head: Head, room: u64, profile: &Profile, net: &mut Network) -> Burst {
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
        // a piece that is shorter takes what is missing from the one behind it (`tcp_grow_skb`)
        let piece = if head.last { head.rest } else { head.rest.max(quota.min(head.unsent)) };
        if !probing && piece > mss && self.defers(now, (free, room, most), piece, head, profile) {
            self.output().deferred = free < room;
            return Burst::Wait;
        }
        let bytes = piece.min(quota).min(room);
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

    /// The application's buffer has been drained by an acknowledgement: `tcp_check_space`.
    pub fn make_room(&self, writer: &mut Writer, una: u64, total: u64, profile: &Profile) {
        let cwnd = self.window.cwnd;
        let times = if self.control.manages_cwnd() { 3 } else { 2 };
        let is_full = self.pipe() + u64::from(profile.mss) > cwnd;
        writer.make_room(una, total, cwnd, is_full, times, profile);
    }

    /// `tcp_tso_autosize`: about a millisecond's worth, more on short paths, two segments at least.
    pub(super) fn burst_size(&self, profile: &Profile) -> u64 {
        let mss = u64::from(profile.mss);
        let Some(offload) = profile.offload else { return mss };
        let modern = self.modern.as_ref().expect("bursts have their state");
        let most = u64::from(offload.most);
        let halvings = self.rtt.min().map_or(64, |min| min.picos() / 1_000_000 / 512);
        let near = if halvings < 32 { most >> halvings } else { 0 };
        let bytes = ((modern.output.rate >> 10) + near).min(most);
        let least = if self.control.manages_cwnd() && modern.output.rate < 150_000 { 1 } else { 2 };
        (bytes / mss).max(least) * mss
    }

    /// `tcp_tso_should_defer`: whether to wait for an acknowledgement that will let a larger burst go. `piece` is what
    /// the first one of the queue has, `free` the congestion window's, `room` the receiver's.
    fn defers(
        &self,
        now: Time,
        (free, room, most): (u64, u64, u64),
        piece: u64,
        head: Head,
        profile: &Profile,
    ) -> bool {
        let Some(modern) = self.modern.as_ref().filter(|_| profile.offload.is_some()) else { return false };
        if matches!(self.repair, Repair::Fast | Repair::Timeout) || now.since(modern.output.stamp) > MILLISECOND {
            return false;
        }
        let limit = free.min(room);
        if limit >= most || !head.last && limit >= piece {
            return false;
        }
        if limit >= self.window.cwnd.min(room + self.outstanding()) / PART {
            return false;
        }
        let (Some(first), Some(srtt)) = (self.board.first_at(), self.rtt.srtt()) else { return false };
        // an acknowledgement that comes too late is not waited for
        let expected = first + srtt;
        if expected > now && expected.since(now) > (srtt / 2).min(MILLISECOND) {
            return false;
        }
        // the end of the flow is not waited for, unless a window is what ends the burst
        limit <= piece || !(head.last && head.ends)
    }

    /// Bytes per second at which it sends or would (`sk_pacing_rate`).
    pub fn pacing_rate(&self) -> u64 {
        self.modern.as_ref().map_or(0, |modern| modern.output.rate)
    }

    /// Whether the card or the pace holds this back now; the timer is set if so.
    pub fn is_held_back(&mut self, now: Time, profile: &Profile, net: &mut Network) -> bool {
        self.is_paced_out(now, profile, net) || self.is_held(now, 1, net, profile)
    }

    /// As [`is_held_back`](Self::is_held_back), for what is sent again: the card may hold twice as much then
    /// (`tcp_xmit_retransmit_queue`).
    pub(super) fn is_repair_held(&mut self, now: Time, profile: &Profile, net: &mut Network) -> bool {
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
        let output = self.output();
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
        let next = self.output().stamp;
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
        self.output().ends = true;
    }

    /// Accounts for a burst of `bytes` that was just given to the card.
    pub fn note_output(&mut self, now: Time, bytes: u64, profile: &Profile, net: &mut Network) {
        if self.modern.is_none() {
            return;
        }
        let own = self.control.pacing();
        let paced = own.is_some() || profile.pacing == Pacing::Always;
        let mss = u64::from(profile.mss);
        let leaves = profile.offload.filter(|o| o.small_queues).and_then(|_| net.fabric.leaves(self.route));
        let output = self.output();
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

    /// `tcp_update_pacing_rate`: twice the window a round trip in slow start, 1.2 times later; or the control's rate.
    pub(super) fn update_rate(&mut self, profile: &Profile) {
        if let Some(rate) = self.control.pacing() {
            self.output().rate = rate.bps() / 8;
            return;
        }
        let Some(srtt) = self.rtt.srtt().filter(|srtt| !srtt.is_zero()) else { return };
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let bytes = self.window.cwnd.max(self.outstanding().next_multiple_of(u64::from(profile.mss)));
        let rate = u128::from(bytes) * percent * 10_000_000_000 / u128::from(srtt.picos());
        self.output().rate = rate as u64;
    }
}
