//! How Linux' MPTCP gives data to its subflows: into queues of theirs, ahead of what their windows let go.
//!
//! Sources: `net/mptcp/protocol.c` of Linux 6.12 (`mptcp_sendmsg`, `mptcp_subflow_get_send`, `__subflow_push_pending`,
//! `mptcp_sendmsg_frag`, `__mptcp_retrans`), `net/ipv4/tcp_input.c: tcp_sndbuf_expand`, `tcp_output.c: tcp_nagle_test`.
//!
//! What is in a subflow's queue stays there: a path that becomes usable later gets only what comes later, and one that
//! becomes a backup, by lanes, still sends what it has. A buffer of a
//! queue has one mapping, so it takes more data only if that follows and nothing of it has been sent; what ends it is
//! a short segment.
//!
//! Leaves out: probes of a window of zero, memory for what is not data in the connection's own queue, and the
//! connection's retransmission timer, for which subflows' time-outs stand.

use std::collections::VecDeque;

use headway_control::lanes::Permit;
use headway_units::Time;

use super::{Connection, MAX_SUBFLOWS};
use crate::network::Network;
use crate::tcp::profile::Profile;
use crate::tcp::sender::{Burst, Phase, Sender};
use crate::tcp::writer::{Head, PIECE_COST, buffer_for};

/// `MPTCP_SEND_BURST_SIZE`: what one choice of a subflow hands out at least, if there is that much.
const BURST: u64 = (1 << 16) - 20 - 40 - 40 - 8;
/// What a program writes lies in pieces of memory (`skb_page_frag_refill`: 32 KiB) behind a head (`struct
/// mptcp_data_frag`); a choice hands out whole ones.
const PIECE: u64 = (32 << 10) - 40;
/// What a card takes at once (`MPTCP_MAX_GSO_SIZE`): 64 KiB less a head.
const LARGEST: u64 = (1 << 16) - 193;
/// `tcp_wmem`: smallest and first send buffer.
const FIRST_ROOM: (u64, u64) = (4 << 10, 16 << 10);
/// Time-outs in a row after which a subflow counts as stale and others carry what it has (`stale_loss_cnt`).
const STALE: u32 = 4;
/// More than windows are.
const NO_LIMIT: u64 = 1 << 40;

/// Data with one mapping, waiting in a subflow's queue (an `sk_buff`).
#[derive(Debug, Clone, Copy)]
struct Buffer {
    at: u64,
    len: u64,
    /// Some of it was sent, so that it takes no more data.
    frozen: bool,
}

#[derive(Debug, Default)]
struct Queue {
    buffers: VecDeque<Buffer>,
    /// Bytes in them.
    unsent: u64,
    /// Where the bursts end that are not acknowledged.
    bursts: VecDeque<u64>,
    /// Bytes per second, a mean over what was handed out (`avg_pacing_rate`).
    rate: u64,
    /// The send buffer (`sk_sndbuf`).
    room: u64,
    /// Where the last short segment ends (`snd_sml`).
    short: u64,
    /// What has arrived in the subflow's order.
    arrived: u64,
}

impl Queue {
    /// `sk_wmem_queued`
    fn used(&self, sender: &Sender) -> u64 {
        self.unsent + sender.outstanding() + PIECE_COST * (self.buffers.len() + self.bursts.len()) as u64
    }

    /// Takes `len` bytes at `at`; `most` fit a buffer.
    fn take(&mut self, mut at: u64, mut len: u64, most: u64) {
        self.unsent += len;
        if let Some(last) = self.buffers.back_mut()
            && !last.frozen
            && last.at + last.len == at
        {
            let more = len.min(most.saturating_sub(last.len));
            last.len += more;
            (at, len) = (at + more, len - more);
        }
        while len > 0 {
            let own = len.min(most);
            self.buffers.push_back(Buffer { at, len: own, frozen: false });
            (at, len) = (at + own, len - own);
        }
    }

    /// `bytes` of the first buffer leave.
    fn leave(&mut self, bytes: u64) {
        self.unsent -= bytes;
        let Some(first) = self.buffers.front_mut() else { return };
        first.at += bytes;
        first.len -= bytes;
        first.frozen = true;
        if first.len == 0 {
            self.buffers.pop_front();
        }
    }

    /// `tcp_sndbuf_expand`: twice the window, at least that of the beginning.
    fn expand(&mut self, sender: &Sender, profile: &Profile) {
        let most = profile.send_buffer.map_or(u64::MAX, headway_units::Bytes::get);
        self.room = self.room.max(buffer_for(sender.window.cwnd, 2, profile).min(most));
    }
}

/// What the subflows of a connection have been given.
#[derive(Debug)]
pub(super) struct Queued {
    queues: [Queue; MAX_SUBFLOWS],
    /// Up to where the program has written.
    written: u64,
    /// It waits until there is room (`SOCK_NOSPACE`).
    waits: bool,
}

impl Queued {
    pub fn new() -> Box<Queued> {
        Box::new(Queued { queues: Default::default(), written: 0, waits: false })
    }

    /// Whether the program has written all of its `total` bytes.
    pub fn is_written(&self, total: u64) -> bool {
        self.written >= total
    }

    /// All subflows end: what they have not sent is not needed.
    pub fn clear(&mut self) {
        for queue in &mut self.queues {
            queue.buffers.clear();
            queue.unsent = 0;
        }
    }

    /// The subflow at `position` has delivered `contiguous` bytes.
    pub fn deliver(&mut self, position: usize, contiguous: u64) {
        self.queues[position].arrived = contiguous;
    }

    /// What all subflows have delivered: what waits for a hole of its own subflow does not take the connection's room
    /// (`mptcp_space`).
    pub fn delivered(&self) -> u64 {
        self.queues.iter().map(|queue| queue.arrived).sum()
    }

    /// `mptcp_subflow_get_send`: the subflow that will have sent what it has the soonest, if it takes more.
    fn choose(&self, connection: &Connection, senders: &[Sender], profile: &Profile) -> Option<usize> {
        let backups = profile.multipath.as_ref().map_or(&[][..], |m| &m.backup);
        let subflows = connection.subflows.as_slice();
        let usable =
            |&(_, s): &(usize, &Sender)| s.phase == Phase::Established && s.permit != Permit::Hold && !s.carrier_down;
        let each = || subflows.iter().map(|&id| &senders[id as usize]).enumerate().filter(usable);
        let class = |position: usize, s: &Sender| {
            let backup = s.backup || backups.contains(&usize::from(connection.numbers[position]));
            (s.failures() >= STALE, backup)
        };
        let best = each().map(|(i, s)| class(i, s)).min()?;
        let linger = |i: usize, s: &Sender| {
            let queue = &self.queues[i];
            let rate = if queue.rate == 0 { s.pacing_rate() } else { queue.rate };
            (u128::from(queue.used(s)) << 32) / u128::from(rate.max(1))
        };
        let (chosen, sender) = each().filter(|&(i, s)| class(i, s) == best).min_by_key(|&(i, s)| linger(i, s))?;
        let queue = &self.queues[chosen];
        (queue.used(sender) < queue.room).then_some(chosen)
    }

    /// `__mptcp_push_pending`: gives subflows what is written and the connection's window takes.
    fn push(&mut self, connection: &mut Connection, senders: &[Sender], profile: &Profile) {
        let mss = u64::from(profile.mss);
        let most = (LARGEST / mss).max(1) * mss;
        while let Some(&(at, len)) = connection.reinject.front() {
            let Some(chosen) = self.choose(connection, senders, profile) else { return };
            connection.reinject.pop_front();
            let queue = &mut self.queues[chosen];
            queue.take(at, u64::from(len), most);
        }
        while connection.next < self.written.min(connection.edge) {
            let Some(chosen) = self.choose(connection, senders, profile) else { return };
            let sender = &senders[connection.subflows.as_slice()[chosen] as usize];
            let queue = &mut self.queues[chosen];
            let mut burst = BURST.min(connection.edge - connection.next);
            let used = u128::from(queue.used(sender));
            let rate = if queue.rate == 0 { sender.pacing_rate() } else { queue.rate };
            let sum = u128::from(rate) * used + u128::from(sender.pacing_rate()) * u128::from(burst);
            queue.rate = (sum / (used + u128::from(burst))) as u64;
            loop {
                let end = (connection.next / PIECE + 1) * PIECE;
                let end = end.min(self.written).min(connection.edge);
                let len = end - connection.next;
                queue.take(connection.next, len, most);
                connection.next = end;
                burst = burst.saturating_sub(len);
                let done = end >= self.written.min(connection.edge);
                if done || burst == 0 || queue.used(sender) >= queue.room {
                    break;
                }
            }
        }
    }

    /// `mptcp_sendmsg`: the program writes what fits the send buffer, once a third of it is free. Says whether it did.
    fn write(&mut self, connection: &Connection, senders: &[Sender], profile: &Profile) -> bool {
        let subflows = connection.subflows.as_slice();
        if self.written == connection.total || senders[subflows[0] as usize].phase == Phase::Opening {
            return false;
        }
        let most = profile.send_buffer.map_or(u64::MAX, headway_units::Bytes::get);
        let first = FIRST_ROOM.1.min(most);
        let room = self.queues[..subflows.len()].iter().map(|queue| queue.room.max(first)).sum::<u64>() + FIRST_ROOM.0;
        let used = self.written - connection.una;
        if self.waits && room.saturating_sub(used) < used / 2 {
            return false;
        }
        let before = self.written;
        self.waits = false;
        while self.written < connection.total && !self.waits {
            if self.written - connection.una >= room {
                self.waits = true;
            } else {
                self.written = ((self.written / PIECE + 1) * PIECE).min(connection.total);
            }
        }
        self.written > before
    }

    /// Sends what the window of the subflow at `position` lets go of its queue (`tcp_write_xmit`).
    fn transmit(&mut self, now: Time, position: usize, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        let mss = u64::from(profile.mss);
        let queue = &mut self.queues[position];
        while let Some(&Buffer { at, len, .. }) = queue.buffers.front() {
            let last = queue.buffers.len() == 1;
            // Nagle's rule as `tcp_minshall_check` has it: one short segment on its way, unless more is behind it.
            let short = len % mss;
            let waits = last && short > 0 && queue.short > sender.acknowledged() && !sender.is_probing();
            let len = if waits { len - short } else { len };
            // a mapping of its own takes nothing from the one behind it, and none has FIN
            let mut head = Head { pieces: queue.buffers.len(), ..Head::single(len, false) };
            let burst = sender.burst(now, &mut head, (NO_LIMIT, true), profile, net);
            let Burst::Bytes(bytes) = burst else { break };
            let ends = bytes > mss || bytes == queue.buffers[0].len;
            let mut sent = 0;
            while sent < bytes {
                let piece = (bytes - sent).min(mss);
                if ends && sent + piece == bytes {
                    sender.end_burst();
                }
                sender.send_new(now, at + sent, piece as u32, false, profile, net);
                sent += piece;
            }
            let end = sender.acknowledged() + sender.outstanding();
            if !bytes.is_multiple_of(mss) {
                queue.short = end;
            }
            queue.bursts.push_back(end);
            queue.leave(bytes);
            sender.note_output(now, bytes, profile, net);
        }
    }

    /// A subflow has timed out: an idle one carries the oldest data again, a backup from the second time on
    /// (`__mptcp_retrans`, `mptcp_subflow_get_retrans`); one that has timed out again and again loses what it has to others
    /// (`mptcp_pm_nl_subflow_chk_stale`).
    pub fn reinject(&mut self, connection: &mut Connection, id: u32, senders: &mut [Sender]) {
        let failures = senders[id as usize].failures();
        let stale = failures >= STALE;
        let others = connection.subflows.as_slice().iter().enumerate().filter(|&(_, &other)| other != id);
        let others = others.map(|(i, &other)| (&self.queues[i], &senders[other as usize]));
        let mut usable = others.filter(|(_, s)| s.phase == Phase::Established && s.failures() < STALE);
        if stale && usable.next().is_some() {
            senders[id as usize].take_for_reinjection(&mut connection.reinject);
            let queue = &mut self.queues[connection.subflows.position(id)];
            queue.unsent = 0;
            connection.reinject.extend(queue.buffers.drain(..).map(|buffer| (buffer.at, buffer.len as u32)));
        } else if !stale
            && usable.any(|(queue, s)| queue.unsent == 0 && s.outstanding() == 0 && (!s.backup || failures > 1))
        {
            let end = ((connection.una / PIECE + 1) * PIECE).min(connection.next);
            let oldest = (connection.una, (end - connection.una) as u32);
            if oldest.1 > 0 && connection.reinject.front() != Some(&oldest) {
                connection.reinject.push_front(oldest);
            }
        }
    }
}

impl Connection {
    /// Lets the subflows of a connection with queues send what their windows allow.
    pub(super) fn pump_queued(&mut self, now: Time, senders: &mut [Sender], profile: &Profile, net: &mut Network) {
        let Some(mut queued) = self.queued.take() else { return };
        let subflows = self.subflows;
        let each = || subflows.as_slice().iter().map(|&id| id as usize).enumerate();
        for (i, id) in each() {
            let (queue, sender) = (&mut queued.queues[i], &mut senders[id]);
            // once its SYN is answered (`mptcp_finish_join`)
            if queue.room == 0 && matches!(sender.phase, Phase::Joining | Phase::Established) {
                queue.expand(sender, profile);
            }
            while queue.bursts.front().is_some_and(|&end| end <= sender.acknowledged()) {
                queue.bursts.pop_front();
            }
            sender.repair(now, queue.unsent > 0, profile, net);
        }
        loop {
            queued.push(self, senders, profile);
            for (i, id) in each() {
                queued.transmit(now, i, &mut senders[id], profile, net);
                // `tcp_should_expand_sndbuf`
                if queued.waits && senders[id].has_room(profile.mss, profile) {
                    queued.queues[i].expand(&senders[id], profile);
                }
            }
            if !queued.write(self, senders, profile) {
                break;
            }
        }
        for (i, id) in each() {
            senders[id].end_turn(now, queued.queues[i].unsent, profile, net);
        }
        self.queued = Some(queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1424;
    /// Whole segments of 1424 bytes in what a card takes at once: `tcp_xmit_size_goal`.
    const MOST: u64 = 45 * MSS;

    fn lengths(queue: &Queue) -> Vec<u64> {
        queue.buffers.iter().map(|buffer| buffer.len).collect()
    }

    /// `mptcp_skb_can_collapse_to`: data that follows joins the last buffer, up to its size.
    #[test]
    fn what_follows_shares_a_mapping() {
        let mut queue = Queue::default();
        queue.take(0, 65_160, MOST);
        assert_eq!(lengths(&queue), [64_080, 1080]);
        queue.take(65_160, 400, MOST);
        assert_eq!(lengths(&queue), [64_080, 1480]);
        assert_eq!(queue.unsent, 65_560);
        queue.take(100_000, 400, MOST);
        assert_eq!(lengths(&queue), [64_080, 1480, 400], "between them lies what another subflow has");
    }

    /// `mptcp_skb_ext_copy` freezes the mapping of a buffer of which some is sent.
    #[test]
    fn a_mapping_that_was_sent_does_not_change() {
        let mut queue = Queue::default();
        queue.take(0, 2 * MSS, MOST);
        queue.leave(MSS);
        queue.take(2 * MSS, 100, MOST);
        assert_eq!(lengths(&queue), [MSS, 100]);
        queue.leave(MSS);
        assert_eq!((lengths(&queue), queue.unsent), (vec![100], 100));
    }
}
