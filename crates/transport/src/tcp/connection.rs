//! What the subflows of one connection share: the data stream, its reassembly, scheduling, joining, lanes.
//!
//! A plain TCP connection is one with a single subflow, whose connection positions equal its own.

use std::collections::VecDeque;

use headway_control::congestion::Sibling;
use headway_control::lanes::{Lanes, Observation, Permit, Permits, Progress, Role, SubflowIndex};
use headway_units::{Bytes, Span, Time};

use crate::network::Network;
use crate::ranges::Ranges;
use crate::tcp::profile::{LanePlan, Profile, Scheduler};
use crate::tcp::receiver::{Inflow, Receiver, Shared};
use crate::tcp::sender::{Burst, Phase, Sender};
use crate::tcp::writer::{Head, Writer, Written};

mod queued;
mod stream;

use queued::Queued;
pub(crate) use stream::{Stream, SynAnswer};

/// Subflows a connection can have.
pub(crate) const MAX_SUBFLOWS: usize = headway_control::lanes::MAX_SUBFLOWS;

/// Length of a connection that never ends.
pub(crate) const UNLIMITED: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Connection {
    pub flow: u32,
    pub profile: u16,
    /// Which copy of its flow it carries.
    pub copy: u8,
    /// The interface that its first subflow uses.
    pub first: u8,
    /// Pairs of addresses without a path between them, passed over.
    pub skipped: u16,
    /// Subflows opened so far, in order.
    pub subflows: Subflows,
    /// The number of each in the order of pairs.
    pub numbers: [u16; MAX_SUBFLOWS],
    /// Bytes to send, or [`UNLIMITED`].
    pub total: u64,
    /// The next byte never handed to a subflow.
    next: u64,
    /// Everything below is acknowledged at the connection's level.
    pub una: u64,
    /// The receive window's right edge.
    edge: u64,
    /// What other subflows must carry again: (position, length).
    reinject: VecDeque<(u64, u32)>,
    /// Whether further subflows were opened, or never will be.
    pub joined: bool,
    /// FIN was handed to the subflows.
    finishing: bool,
    /// The receiver's next expected position, and what it holds beyond.
    pub received: u64,
    /// Bytes that have arrived, in order or not, each counted once.
    pub arrived: u64,
    ranges: Ranges,
    pub lanes: Option<Box<Laned>>,
    /// The sending application's buffer, if it is modelled.
    writer: Option<Box<Writer>>,
    /// What its subflows have been given, if that is more than they can send.
    queued: Option<Box<Queued>>,
    /// What its receivers offer together.
    offered: Option<Shared>,
    /// Its program may write more.
    open: bool,
    /// Of one direction of a two-way connection, the programs at its ends.
    pub stream: Option<Box<Stream>>,
}

/// A small fixed list of subflow ids.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Subflows {
    ids: [u32; MAX_SUBFLOWS],
    len: u8,
}

impl Subflows {
    pub fn push(&mut self, id: u32) {
        self.ids[usize::from(self.len)] = id;
        self.len += 1;
    }

    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.ids[..usize::from(self.len)]
    }

    /// Which subflow of the connection this is.
    pub fn position(&self, id: u32) -> usize {
        self.as_slice().iter().position(|&s| s == id).expect("a subflow belongs to its connection")
    }
}

/// The lanes' judge with its names for the subflows.
#[derive(Debug)]
pub(crate) struct Laned {
    pub lanes: Lanes,
    pub index: [Option<SubflowIndex>; MAX_SUBFLOWS],
    /// The sender's interface that each subflow uses.
    pub interface: [u8; MAX_SUBFLOWS],
    /// The judge looks at how far the connection is.
    pub counts: bool,
    /// Its host has been told whether it turned out long.
    pub reported: bool,
}

impl Laned {
    pub fn new(lanes: Lanes, plan: &LanePlan) -> Laned {
        Laned {
            lanes,
            index: [None; MAX_SUBFLOWS],
            interface: [0; MAX_SUBFLOWS],
            counts: plan.judge.counts_bytes(),
            reported: false,
        }
    }
}

impl Connection {
    pub fn new(
        flow: u32,
        (index, profile): (u16, &Profile),
        copy: u8,
        total: u64,
        lanes: Option<Box<Laned>>,
    ) -> Connection {
        Connection {
            queued: None,
            offered: None,
            open: false,
            stream: None,
            flow,
            profile: index,
            writer: Writer::new(profile),
            copy,
            first: 0,
            skipped: 0,
            subflows: Subflows::default(),
            numbers: [0; MAX_SUBFLOWS],
            total,
            next: 0,
            una: 0,
            edge: 0,
            reinject: VecDeque::new(),
            joined: false,
            finishing: false,
            received: 0,
            arrived: 0,
            ranges: Ranges::default(),
            lanes,
        }
    }

    /// Gives the subflows queues of their own, if the scheduler has them.
    pub fn with_queues(mut self, profile: &Profile) -> Connection {
        let wanted = profile.multipath.as_ref().is_some_and(|m| m.scheduler == Scheduler::Linux);
        self.queued = (wanted && profile.recovery.is_linux()).then(Queued::new);
        self
    }

    /// What its receiver has.
    #[inline]
    pub fn inflow(&self) -> Inflow {
        let there = match &self.queued {
            // what came twice is in one and not in the other
            Some(queued) => queued.delivered().min(self.arrived),
            None => self.arrived,
        };
        let in_order = self.received;
        Inflow { in_order, read: in_order, held: there.saturating_sub(in_order), total: self.total }
    }

    /// Lets a receiver go on with what the connection's others have offered, where they offer it together.
    #[inline]
    pub fn lend_window(&self, id: u32, receivers: &mut [Receiver]) {
        if self.queued.is_some() && self.offered.is_some() {
            self.lend(id, receivers);
        }
    }

    fn lend(&self, id: u32, receivers: &mut [Receiver]) {
        let others = self.subflows.as_slice().iter().map(|&other| receivers[other as usize].round_trip());
        let longest = others.max().unwrap_or(Span::ZERO);
        receivers[id as usize].adopt(self.offered, longest);
    }

    /// Takes back what a receiver has made of the window.
    #[inline]
    pub fn return_window(&mut self, receiver: &Receiver) {
        if self.queued.is_some() {
            self.offered = receiver.share();
        }
    }

    /// A subflow has `contiguous` bytes in its own order.
    pub fn deliver(&mut self, id: u32, contiguous: u64) {
        if let Some(queued) = &mut self.queued {
            queued.deliver(self.subflows.position(id), contiguous);
        }
    }

    /// Takes in payload of a subflow of a multipath connection: `len` bytes at `position`.
    pub fn receive(&mut self, position: u64, len: u32) {
        let end = position + u64::from(len);
        if end <= self.received {
            return;
        }
        let from = position.max(self.received);
        self.arrived += if self.ranges.is_empty() && position <= self.received {
            end - from
        } else {
            self.ranges.insert(from, end)
        };
        if position <= self.received {
            self.received = self.ranges.absorb(end);
        }
    }

    /// Takes in a connection-level acknowledgement and the window behind it.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, window: u32) {
        if ack > self.una && ack <= self.next {
            self.una = ack;
            while self.reinject.front().is_some_and(|&(at, len)| at + u64::from(len) <= ack) {
                self.reinject.pop_front();
            }
        }
        self.edge = self.edge.max(ack + u64::from(window));
        if let Some(writer) = &mut self.writer {
            writer.note_window(u64::from(window));
        }
    }

    /// Opens the window before the first acknowledgement: the peer's SYN-ACK carries it.
    pub fn open_window(&mut self, window: u64) {
        self.edge = self.edge.max(window);
        if let Some(writer) = &mut self.writer {
            writer.note_window(window);
        }
    }

    /// Everything has been acknowledged.
    pub fn all_acknowledged(&self) -> bool {
        self.una == self.total
    }

    /// Up to where the receiver's window and the sender's buffer let data go. Here the buffer is a plain limit of bytes;
    /// Linux' has pieces: [`Writer`], and for MPTCP [`Queued`].
    #[inline]
    fn sendable(&self, profile: &Profile) -> u64 {
        match profile.send_buffer.filter(|_| self.writer.is_none()) {
            Some(buffer) => self.edge.min(self.una.saturating_add(buffer.get())),
            None => self.edge,
        }
    }

    /// What is to be sent next: (position, length, whether it is a reinjection).
    #[inline]
    fn next_piece(&mut self, profile: &Profile) -> Option<(u64, u32, bool)> {
        let mss = profile.mss;
        while let Some(&(at, len)) = self.reinject.front() {
            if at + u64::from(len) > self.una {
                return Some((at, len, true));
            }
            self.reinject.pop_front();
        }
        let rest = self.total - self.next;
        let room = self.sendable(profile).saturating_sub(self.next);
        let len = u64::from(mss).min(rest).min(room);
        // RFC 9293 §3.8.6.2.1: no silly small segment because the window ends here, unless nothing else is on its way
        // (rule 3; the window is then all of the receiver's buffer).
        let worthwhile = len == u64::from(mss) || len == rest || self.next == self.una;
        (len > 0 && worthwhile).then_some((self.next, len as u32, false))
    }

    /// Lets the subflows send what their windows allow.
    pub fn pump(&mut self, now: Time, senders: &mut [Sender], profile: &Profile, net: &mut Network) {
        if self.queued.is_some() {
            self.pump_queued(now, senders, profile, net);
            return;
        }
        if let [only] = *self.subflows.as_slice()
            && (!self.joined || profile.multipath.is_none())
        {
            let sender = &mut senders[only as usize];
            if sender.has_bursts() && self.reinject.is_empty() {
                self.pump_bursts(now, sender, profile, net);
            } else {
                self.pump_single(now, sender, profile, net);
            }
            return;
        }
        self.pump_several(now, senders, profile, net);
    }

    /// Hands out `len` new bytes; says whether they are the connection's last and carry its FIN.
    fn hand_out(&mut self, len: u64, profile: &Profile) -> bool {
        self.next += len;
        // A plain connection ends with its last segment; a multipath one when all is acknowledged.
        let closed = self.writer.as_ref().is_none_or(|writer| writer.closed);
        let fin = self.next == self.total && profile.multipath.is_none() && !self.open && closed;
        self.finishing |= fin;
        fin
    }

    #[inline]
    fn pump_single(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        sender.repair(now, self.next < self.total, profile, net);
        while let Some((at, len, again)) = self.next_piece(profile) {
            if !sender.has_room(len, profile) {
                break;
            }
            let fin = if again {
                self.reinject.pop_front();
                false
            } else {
                self.hand_out(u64::from(len), profile)
            };
            sender.send_next(now, at, len, fin, profile, net);
        }
        self.end_single(now, sender, profile, net);
    }

    /// As [`pump_single`](Self::pump_single), in bursts and at a pace.
    fn pump_bursts(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        sender.repair(now, self.next < self.total, profile, net);
        self.send_bursts(now, sender, profile, net);
        if sender.phase == Phase::Established && self.writer.is_some() {
            self.write(now, sender, profile, net);
        }
        if self.writer.as_ref().is_some_and(|writer| writer.written == self.total) {
            self.close_writer(now, sender, profile, net);
        }
        self.end_single(now, sender, profile, net);
    }

    /// The application writes if there is room: what is sent on the way makes room in the last piece (`tcp_sendmsg_locked`).
    fn write(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        if let Some(writer) = &mut self.writer {
            sender.check_space(writer, self.una, profile);
        }
        while let Some(writer) = self.writer.as_mut().filter(|writer| writer.may_write(self.total)) {
            match writer.write(self.una, self.next, self.total, profile) {
                Written::Piece => {}
                Written::Head => _ = self.send_burst(now, sender, false, profile, net),
                Written::Much => self.send_bursts(now, sender, profile, net),
                Written::Over => {
                    self.send_bursts(now, sender, profile, net);
                    if let Some(writer) = &mut self.writer {
                        writer.sleep(self.total);
                    }
                    break;
                }
            }
        }
    }

    /// The application has written everything and closes: FIN goes with the last segment if that is still here, and by itself
    /// if the write has sent it (`net/ipv4/tcp_output.c: tcp_send_fin`), once the window lets it.
    fn close_writer(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        if let Some(writer) = self.writer.as_mut().filter(|writer| !writer.closed) {
            writer.closed = true;
            self.send_bursts(now, sender, profile, net);
        }
        let waits = self.next == self.total && self.total > 0 && !self.finishing && sender.phase == Phase::Established;
        if waits && sender.has_room(1, profile) && !sender.is_held_back(now, profile, net) {
            self.finishing = true;
            sender.send_new(now, self.total, 0, true, profile, net);
        }
    }

    /// Sends what is written as far as windows, pace and card let it.
    fn send_bursts(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        while self.send_burst(now, sender, true, profile, net) {}
    }

    /// Sends one burst of what is written; says whether it could. `defers`: a larger one may be waited for.
    fn send_burst(
        &mut self,
        now: Time,
        sender: &mut Sender,
        defers: bool,
        profile: &Profile,
        net: &mut Network,
    ) -> bool {
        if self.next == self.total {
            return false;
        }
        let room = self.sendable(profile).saturating_sub(self.next);
        let head = match &mut self.writer {
            Some(writer) => writer.head(self.next, self.total),
            None => Some(Head::single(self.total - self.next, true)),
        };
        let Some(mut head) = head else { return false };
        let Burst::Bytes(burst) = sender.burst(now, &mut head, (room, defers), profile, net) else {
            if let Some(writer) = &mut self.writer {
                writer.note_grown(self.next + head.rest);
            }
            return false;
        };
        let mut left = burst;
        while left > 0 {
            let len = left.min(u64::from(profile.mss));
            if len == left && left < burst {
                sender.end_burst();
            }
            let at = self.next;
            let fin = self.hand_out(len, profile);
            sender.send_new(now, at, len as u32, fin, profile, net);
            left -= len;
        }
        sender.note_output(now, burst, profile, net);
        if let Some(writer) = &mut self.writer {
            writer.note_grown(self.next - burst + head.rest);
            writer.note_sent(self.next);
            sender.check_space(writer, self.una, profile);
        }
        true
    }

    #[inline]
    fn end_single(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        sender.end_turn(now, self.total - self.next, profile, net);
        if self.total == 0 {
            self.end_empty(now, sender, profile, net);
        }
    }

    /// There is nothing to send but FIN.
    #[inline(never)]
    fn end_empty(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        if !self.finishing && !self.open && sender.phase == Phase::Established {
            self.finishing = true;
            sender.send_new(now, 0, 0, true, profile, net);
        }
    }

    fn pump_several(&mut self, now: Time, senders: &mut [Sender], profile: &Profile, net: &mut Network) {
        let subflows = self.subflows;
        for &id in subflows.as_slice() {
            senders[id as usize].repair(now, self.next < self.total, profile, net);
        }
        // Subflows whose card or pace holds them back in this turn.
        let mut held = 0u32;
        while let Some((at, len, again)) = self.next_piece(profile) {
            let Some(position) = self.choose(len, held, senders, profile) else { break };
            let sender = &mut senders[subflows.as_slice()[position] as usize];
            if sender.has_bursts() && sender.is_held_back(now, profile, net) {
                held |= 1 << position;
                continue;
            }
            if again {
                self.reinject.pop_front();
            } else {
                self.next += u64::from(len);
            }
            sender.send_new(now, at, len, false, profile, net);
            sender.note_output(now, u64::from(len), profile, net);
        }
        for &id in subflows.as_slice() {
            senders[id as usize].end_turn(now, self.total - self.next, profile, net);
        }
    }

    /// The scheduler: the subflow with the lowest smoothed round-trip time of those with window free; those that have
    /// timed out only if no other is usable, backups only if no regular one is (RFC 8684 §3.3.8). `held` are those that
    /// cannot send now. Returns its position.
    fn choose(&self, len: u32, held: u32, senders: &[Sender], profile: &Profile) -> Option<usize> {
        let backups = profile.multipath.as_ref().map_or(&[][..], |m| &m.backup);
        let class =
            |position: usize, sender: &Sender| (sender.failed, backups.contains(&usize::from(self.numbers[position])));
        let usable = |s: &Sender| s.phase == Phase::Established && s.permit != Permit::Hold && !s.carrier_down;
        let each = || self.subflows.as_slice().iter().map(|&id| &senders[id as usize]).enumerate();
        let best = each().filter(|(_, s)| usable(s)).map(|(i, s)| class(i, s)).min()?;
        each()
            .filter(|&(i, s)| held & (1 << i) == 0 && usable(s) && class(i, s) == best && s.has_room(len, profile))
            .min_by_key(|(_, s)| s.rtt.srtt())
            .map(|(i, _)| i)
    }

    /// Sends FIN on every open subflow once all data is acknowledged (multipath connections).
    pub fn finish(&mut self, now: Time, senders: &mut [Sender], profile: &Profile, net: &mut Network) {
        if self.finishing || !self.all_acknowledged() {
            return;
        }
        self.finishing = true;
        if let Some(queued) = &mut self.queued {
            queued.clear();
        }
        for &id in self.subflows.as_slice() {
            if senders[id as usize].phase == Phase::Established {
                senders[id as usize].send_new(now, self.total, 0, true, profile, net);
            }
        }
    }

    /// A subflow became established after the connection had finished.
    pub fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// The windows and round trips of all established subflows, for coupled controls.
    /// `own` is the subflow that asks.
    pub fn siblings(&self, own: u32, senders: &[Sender], out: &mut [Sibling; MAX_SUBFLOWS]) -> usize {
        let found = self.subflows.as_slice().iter().filter_map(|&id| senders[id as usize].sibling(id == own));
        out.iter_mut().zip(found).map(|(to, sibling)| *to = sibling).count()
    }

    /// Hands what a timed-out subflow has outstanding to the others, if there are any that could take it.
    pub fn reinject(&mut self, id: u32, senders: &mut [Sender]) {
        if let Some(mut queued) = self.queued.take() {
            queued.reinject(self, id, senders);
            self.queued = Some(queued);
            return;
        }
        let other = |s: &Sender| s.phase == Phase::Established && !s.failed && s.permit != Permit::Hold;
        if self.subflows.as_slice().iter().any(|&s| s != id && other(&senders[s as usize])) {
            senders[id as usize].take_for_reinjection(&mut self.reinject);
        }
    }

    /// Tells the lanes of an acknowledgement on a subflow, with the round-trip estimate if it moved (`sampled`), and
    /// applies what they decide. `base` is the smallest round trip that earlier connections saw on this lane.
    pub fn observe_lane(
        &mut self,
        now: Time,
        id: u32,
        sampled: bool,
        base: Option<Span>,
        senders: &mut [Sender],
        profile: &Profile,
    ) {
        let progress = self.progress(profile);
        let Some(laned) = self.lanes.as_mut() else { return };
        let sender = &senders[id as usize];
        let index = laned.index[self.subflows.position(id)];
        let counted = if laned.counts { laned.lanes.progress(now, progress) } else { Permits::Unchanged };
        let permits = match (index, sender.rtt.srtt()) {
            (Some(index), Some(srtt)) if sampled => {
                let min_rtt = match (sender.rtt.min(), base) {
                    (Some(own), Some(base)) => Some(own.min(base)),
                    (own, base) => own.or(base),
                };
                laned.lanes.observe(now, index, Observation { srtt, latest: Some(sender.rtt.latest()), min_rtt })
            }
            _ => laned.lanes.tick(now),
        };
        if counted == Permits::Changed || permits == Permits::Changed {
            self.apply_permits(senders);
        }
    }

    /// Whether the program has written everything into the subflows' queues and the connection's own (Linux' MPTCP).
    pub fn is_written(&self) -> bool {
        self.queued.as_ref().is_some_and(|queued| queued.is_written(self.total))
    }

    /// What is acknowledged, and what the application has written beyond that.
    fn progress(&self, profile: &Profile) -> Progress {
        let written = match (&self.writer, profile.send_buffer) {
            (Some(writer), _) => writer.written,
            (None, Some(buffer)) => self.una.saturating_add(buffer.get()).min(self.total),
            (None, None) => self.total,
        };
        Progress { acked: Bytes::new(self.una), backlog: Bytes::new(written.saturating_sub(self.una)) }
    }

    /// Makes a lane of a subflow that has just been established: those on the sender's first `short` interfaces are
    /// short-flow lanes.
    pub fn add_lane(&mut self, now: Time, id: u32, plan: &LanePlan, senders: &mut [Sender]) {
        let position = self.subflows.position(id);
        let Some(laned) = self.lanes.as_mut() else { return };
        let role = if usize::from(laned.interface[position]) < plan.short { Role::Short } else { Role::Long };
        laned.index[position] = Some(laned.lanes.add_subflow(role).expect("as many subflows as lanes can hold"));
        if plan.late {
            // It was opened because it is needed now: it does not begin as a probe.
            let _ = laned.lanes.tick(now);
        }
        self.apply_permits(senders);
    }

    /// The path of a subflow has been lost: the lanes are told, others carry what it has.
    pub fn lose(&mut self, now: Time, id: u32, senders: &mut [Sender]) {
        self.lane_failed(now, id, senders);
        self.reinject(id, senders);
    }

    /// The path of a subflow works again: what other lost subflows have need not wait for theirs.
    #[cold]
    pub fn rescue(&mut self, id: u32, senders: &mut [Sender]) {
        let subflows = self.subflows;
        for &other in subflows.as_slice() {
            let sender = &senders[other as usize];
            if other != id && sender.failed && sender.outstanding() > 0 {
                self.reinject(other, senders);
            }
        }
    }

    /// Tells the lanes that a subflow with nothing outstanding can be used again.
    pub fn lane_back(&mut self, now: Time, id: u32, senders: &mut [Sender]) {
        let Some(laned) = self.lanes.as_mut() else { return };
        let Some(index) = laned.index[self.subflows.position(id)] else { return };
        let alive = Observation { srtt: Span::ZERO, latest: None, min_rtt: None };
        if laned.lanes.observe(now, index, alive) == Permits::Changed {
            self.apply_permits(senders);
        }
    }

    /// Tells the lanes that a subflow timed out.
    pub fn lane_failed(&mut self, now: Time, id: u32, senders: &mut [Sender]) {
        let Some(laned) = self.lanes.as_mut() else { return };
        let Some(index) = laned.index[self.subflows.position(id)] else { return };
        let failed = laned.lanes.failed(index);
        let ticked = laned.lanes.tick(now);
        if failed == Permits::Changed || ticked == Permits::Changed {
            self.apply_permits(senders);
        }
    }

    /// Sets each subflow's permit to what the lanes say; where subflows have queues, all but a normal one is a mark.
    pub fn apply_permits(&self, senders: &mut [Sender]) {
        let Some(laned) = self.lanes.as_ref() else { return };
        for (&id, index) in self.subflows.as_slice().iter().zip(&laned.index) {
            if let Some(index) = *index {
                let (permit, sender) = (laned.lanes.permit(index), &mut senders[id as usize]);
                if self.queued.is_some() {
                    sender.backup = permit != Permit::Normal;
                } else {
                    sender.set_permit(permit);
                }
            }
        }
    }

    /// When the connection moved to its long lanes.
    pub fn switched(&self) -> Option<Time> {
        self.lanes.as_ref().and_then(|laned| laned.lanes.switched())
    }
}
