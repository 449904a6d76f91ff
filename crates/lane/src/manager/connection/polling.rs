//! Polls of a connection's sockets: when, at which, and what they tell.

use headway_control::lanes::{Observation, Progress, Role};
use headway_levers::lanes::LaneOpen;
use headway_linux::FourTuple;
use headway_linux::diag::{Mptcp, Tcp};
use headway_linux::mptcp::Command;
use headway_units::{Bytes, Span, Time};

use super::super::{Class, Context, ESTABLISHED, Shared, is_open, ports};
use super::{Connection, Subflow};

/// The rarest poll of a connection that has nothing to send.
const RESTING: Span = Span::from_secs(1);

impl Connection {
    /// A poll is due.
    pub fn poll_soon(&mut self, now: Time) {
        self.schedule.poll_at = now;
    }

    pub fn poll_due(&self, now: Time) -> bool {
        self.schedule.poll_at <= now
    }

    /// The subflows to poll: none, while it has nothing to send; those in use, once it is long.
    pub fn pairs(&self) -> impl Iterator<Item = FourTuple> {
        self.places().map(|place| self.paths.subflows[place].pair)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        let (idle, long) = (self.traffic.idle_since.is_some(), self.was_long);
        let is_polled = move |one: &Subflow| !(idle || long && one.backup && one.alive && one.seen);
        self.paths.subflows.iter().enumerate().filter(move |(_, one)| is_polled(one)).map(|(place, _)| place)
    }

    /// Its state now; of its subflows those of [`Connection::pairs`]. Returns whether it is still there.
    pub fn poll(&mut self, cx: &mut Context<'_>, state: Option<&Mptcp>, subflows: &[Option<Tcp>]) -> bool {
        // another one may have its name by now
        let same = |state: &&Mptcp| !state.fallback && ports(&state.pair) == self.ports();
        let Some(state) = state.filter(same) else { return false };
        self.standing.ending = state.state != ESTABLISHED;
        let first = self.traffic.una.is_none();
        let una = self.traffic.una.replace(state.snd_una).unwrap_or(state.snd_una);
        let so_far = if first { by_subflow(subflows.iter().flatten()) } else { self.traffic.acked };
        let acked =
            state.acked.unwrap_or(so_far.saturating_add(state.snd_una.wrapping_sub(una))).max(self.traffic.acked);
        let moved = acked > self.traffic.acked && !first;
        self.traffic.acked = acked;
        // what a kernel without data to acknowledge yet reports is not ordered
        let backlog = Some(state.write_seq.wrapping_sub(state.snd_una)).filter(|bytes| *bytes < 1 << 40).unwrap_or(0);
        // before anything changes: those that were asked for
        let places: Vec<usize> = self.places().collect();
        self.rest(cx.now, moved || backlog > 0, cx.shared);
        if self.traffic.idle_since.is_none() {
            // before the observations, each of which may end a window of the delivery rate; `act` asks for all permits
            let progress = Progress { acked: Bytes::new(self.traffic.acked), backlog: Bytes::new(backlog) };
            let _ = self.lanes.progress(cx.now, progress);
            self.ready |= cx.now.since(self.began) >= self.handling.open_after;
        }

        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for (place, tcp) in places.into_iter().zip(subflows) {
            if tcp.is_some() {
                there.push(self.paths.subflows[place].pair);
            }
            match tcp {
                Some(tcp) if is_open(tcp) => self.measure(cx.now, place, tcp, cx.shared),
                _ => gone.push(self.paths.subflows[place].pair),
            }
        }
        for pair in gone {
            self.remove(cx.now, pair);
        }
        self.trim(cx, &there);
        self.refresh(cx);
        self.plan_poll(cx.now, cx.shared);
        true
    }

    /// The states could not be read: the next try.
    pub fn unreadable(&mut self, now: Time, shared: &mut Shared) {
        self.plan_poll(now, shared);
    }

    fn rest(&mut self, now: Time, busy: bool, shared: &mut Shared) {
        if busy && self.traffic.idle_since.is_none() {
            return;
        }
        let since = *self.traffic.idle_since.get_or_insert(now);
        if busy {
            self.traffic.idle_since = None;
        }
        let over = shared.settings.timing.idle.is_some_and(|idle| now.since(since) >= idle) && !self.handling.long;
        if over && (busy || self.was_long) {
            let _ = self.lanes.anew(now);
            (self.began, self.ready) = (now, false);
        }
    }

    fn measure(&mut self, now: Time, place: usize, tcp: &Tcp, shared: &mut Shared) {
        let subflow = &mut self.paths.subflows[place];
        // what the kernel has, whoever told it
        if let Some(info) = tcp.subflow {
            (subflow.backup, subflow.peer_backup) = (info.backup_local, info.backup_remote);
        }
        let (Some(lane), Some(index)) = (subflow.lane, subflow.index) else { return };
        // what came before its lane went down says nothing of now
        if !shared.usable(lane) {
            return;
        }
        let answered = !subflow.seen || tcp.acked > subflow.acked;
        (subflow.seen, subflow.acked) = (true, tcp.acked);
        // an expiry of the retransmission timer without an answer since: as in the simulator, one is a failure
        if tcp.timeouts > 0 {
            if subflow.alive {
                self.fail(now, place, shared);
                shared.history.failed(now, self.peer.host, lane);
            }
        } else if answered && !tcp.srtt.is_zero() {
            let srtt = span(tcp.srtt);
            subflow.alive = true;
            (subflow.srtt, subflow.measured) = (Some(srtt), now);
            let base = shared.measured(now, self.peer.host, lane, srtt);
            let min_rtt = tcp.min_rtt.map(span).into_iter().chain(base).min();
            let _ = self.lanes.observe(now, index, Observation { srtt, latest: None, min_rtt });
        }
    }

    /// Ends subflows that are too many: backups on a lane that has another one, of measurements that were overtaken by the
    /// switch, whatever the kernel opened them as, and of joins that were answered late. Only where the kernel has just told
    /// that both are `there`.
    fn trim(&mut self, cx: &mut Context<'_>, there: &[FourTuple]) {
        let spare = |one: &Subflow| {
            let other = |other: &Subflow| other.pair != one.pair && other.lane == one.lane && other.alive;
            let both = there.contains(&one.pair)
                && self.paths.subflows.iter().any(|two| other(two) && there.contains(&two.pair));
            let unwanted = one.backup || one.index.is_none();
            both && !self.arrival.server_side && unwanted && one.pair != self.arrival.pair && one.lane.is_some()
        };
        let spares = self.paths.subflows.iter().rev().filter(|one| spare(one));
        let Some(pair) = spares.min_by_key(|one| one.index.is_some()).map(|one| one.pair) else { return };
        let _ = cx.kernel.command(&Command::Destroy { token: self.arrival.token, pair });
        self.remove(cx.now, pair);
    }

    /// When the next poll is due.
    pub fn plan_poll(&mut self, now: Time, shared: &mut Shared) {
        let timing = shared.settings.timing;
        let first = self.began.saturating_add(self.first_poll());
        let after = |class, least| (class, together(now, shared.interval(class, least)));
        let by_age = self.handling.judge.only_age();
        // by age nothing changes any more while it waits for its turn to have a long lane opened
        let decided = self.lanes.is_long() || self.handling.long || (by_age && self.ready && self.lanes.wants_long());
        let (class, at) = if let Some(since) = self.traffic.idle_since {
            after(Class::Resting, timing.poll_interval.max(now.since(since).min(RESTING)))
        } else if decided {
            // a time-out that congestion made is over soon, and the stay on the short lane at most an eighth later
            let all_alive = self.paths.subflows.iter().all(|one| one.alive);
            let soon = if all_alive { Span::MAX } else { (now.since(self.failed) / 8).max(timing.poll_interval) };
            after(Class::Watched, soon.min(timing.watch_interval))
        } else if first > now {
            (Class::Resting, first)
        } else if by_age && self.lanes.deadline() > now {
            (Class::Judged, self.lanes.deadline())
        } else {
            after(Class::Judged, timing.poll_interval)
        };
        shared.reclass(self.schedule.class, class);
        self.schedule.class = class;
        self.schedule.poll_at = at;
    }

    fn first_poll(&self) -> Span {
        match self.handling.judge.age() {
            // without early subflows there is nothing to do before
            Some(age) if self.handling.judge.only_age() && self.handling.opens == LaneOpen::WhenLong => age,
            _ => self.handling.open_after,
        }
    }

    /// Observations of lanes that carry nothing: from other connections, or by a new join.
    fn refresh(&mut self, cx: &mut Context<'_>) {
        let compares = self.handling.judge.compares_lanes();
        if !compares || self.was_long || !self.ready || self.traffic.idle_since.is_some() {
            return;
        }
        for place in 0..self.paths.subflows.len() {
            let subflow = &mut self.paths.subflows[place];
            let (Some(lane), Some(index), true) = (subflow.lane, subflow.index, subflow.seen) else { continue };
            let old = cx.now.since(subflow.measured) >= cx.shared.settings.timing.probe_interval;
            if cx.shared.role(lane) != Role::Long || !subflow.backup || !subflow.alive {
                continue;
            }
            if let Some((when, srtt)) =
                cx.shared.fresh(cx.now, self.peer.host, lane).filter(|(when, _)| *when > subflow.measured)
            {
                subflow.measured = when;
                let min_rtt = cx.shared.history.measured(cx.now, self.peer.host, lane, srtt);
                let _ = self.lanes.observe(cx.now, index, Observation { srtt, latest: None, min_rtt });
            } else if old && !self.arrival.server_side {
                self.probe(cx, place);
            }
        }
    }
}

/// When something is done that is due after `interval`, and need not be exact by an eighth of it: many connections
/// together cost less than each by itself.
pub(in super::super) fn together(now: Time, interval: Span) -> Time {
    let mut grid = Span::from_millis(5).picos();
    while grid.saturating_mul(16) <= interval.picos() {
        grid *= 2;
    }
    Time::from_picos(now.saturating_add(interval).picos().div_ceil(grid).saturating_mul(grid))
}

fn span(duration: std::time::Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 1_000))
}

/// Bytes of a connection that were acknowledged, as its subflows count them: for kernels that do not count by connection
/// (before Linux 6.5). What was retransmitted on another subflow counts twice.
pub(super) fn by_subflow<'a>(subflows: impl Iterator<Item = &'a Tcp>) -> u64 {
    // a SYN counts as a byte
    subflows.map(|tcp| tcp.acked.saturating_sub(1)).fold(0, u64::saturating_add)
}
