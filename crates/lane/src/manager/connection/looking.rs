//! Looks at a connection's sockets: when, at which, and what they tell.

use headway_control::lanes::{Observation, Progress, Role};
use headway_levers::lanes::LaneOpen;
use headway_linux::FourTuple;
use headway_linux::diag::{Mptcp, Tcp};
use headway_linux::mptcp::Command;
use headway_units::{Bytes, Span, Time};

use super::super::{Class, ESTABLISHED, Kernel, Shared, is_open, ports};
use super::{Connection, Subflow};

/// The rarest look at a connection that has nothing to send.
const RESTING: Span = Span::from_secs(1);

impl Connection {
    /// A look is due.
    pub fn look_soon(&mut self, now: Time) {
        self.look_at = now;
    }

    pub fn look_due(&self, now: Time) -> bool {
        self.look_at <= now
    }

    /// The subflows to look at: none, while it has nothing to send; those in use, once it is long.
    pub fn pairs(&self) -> impl Iterator<Item = FourTuple> {
        self.places().map(|place| self.subflows[place].pair)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        let (quiet, long) = (self.quiet.is_some(), self.was_long);
        let looked_at = move |one: &Subflow| !(quiet || long && one.backup && one.alive && one.seen);
        self.subflows.iter().enumerate().filter(move |(_, one)| looked_at(one)).map(|(place, _)| place)
    }

    /// Its state now; of its subflows those of [`Connection::pairs`]. Returns whether it is still there.
    pub fn look(
        &mut self,
        now: Time,
        state: Option<&Mptcp>,
        subflows: &[Option<Tcp>],
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) -> bool {
        // another one may have its name by now
        let same = |state: &&Mptcp| !state.fallback && ports(&state.pair) == self.ports();
        let Some(state) = state.filter(same) else { return false };
        self.ending = state.state != ESTABLISHED;
        let first = self.una.is_none();
        let una = self.una.replace(state.snd_una).unwrap_or(state.snd_una);
        let so_far = if first { by_subflow(subflows.iter().flatten()) } else { self.acked };
        let acked = state.acked.unwrap_or(so_far.saturating_add(state.snd_una.wrapping_sub(una))).max(self.acked);
        let moved = acked > self.acked && !first;
        self.acked = acked;
        // what a kernel without data to acknowledge yet reports is not ordered
        let backlog = Some(state.write_seq.wrapping_sub(state.snd_una)).filter(|bytes| *bytes < 1 << 40).unwrap_or(0);
        // before anything changes: those that were asked for
        let places: Vec<usize> = self.places().collect();
        self.rest(now, moved || backlog > 0, shared);
        if self.quiet.is_none() {
            // before the observations, each of which may end a window of the delivery rate; `act` asks for all permits
            let progress = Progress { acked: Bytes::new(self.acked), backlog: Bytes::new(backlog) };
            let _ = self.lanes.progress(now, progress);
            self.ready |= now.since(self.began) >= self.open_after;
        }

        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for (place, tcp) in places.into_iter().zip(subflows) {
            if tcp.is_some() {
                there.push(self.subflows[place].pair);
            }
            match tcp {
                Some(tcp) if is_open(tcp) => self.measure(now, place, tcp, shared),
                _ => gone.push(self.subflows[place].pair),
            }
        }
        for pair in gone {
            self.remove(now, pair);
        }
        self.trim(now, &there, kernel);
        self.refresh(now, shared, kernel);
        self.plan_look(now, shared);
        true
    }

    /// The states could not be read: the next try.
    pub fn unreadable(&mut self, now: Time, shared: &mut Shared) {
        self.plan_look(now, shared);
    }

    fn rest(&mut self, now: Time, busy: bool, shared: &mut Shared) {
        if busy && self.quiet.is_none() {
            return;
        }
        let since = *self.quiet.get_or_insert(now);
        if busy {
            self.quiet = None;
        }
        let over = shared.settings.timing.idle.is_some_and(|idle| now.since(since) >= idle) && !self.long;
        if over && (busy || self.was_long) {
            let _ = self.lanes.anew(now);
            (self.began, self.ready) = (now, false);
        }
    }

    fn measure(&mut self, now: Time, place: usize, tcp: &Tcp, shared: &mut Shared) {
        let subflow = &mut self.subflows[place];
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
                shared.history.failed(now, self.host, lane);
            }
        } else if answered && !tcp.srtt.is_zero() {
            let srtt = span(tcp.srtt);
            subflow.alive = true;
            (subflow.srtt, subflow.measured) = (Some(srtt), now);
            let base = shared.measured(now, self.host, lane, srtt);
            let min_rtt = tcp.min_rtt.map(span).into_iter().chain(base).min();
            let _ = self.lanes.observe(now, index, Observation { srtt, latest: None, min_rtt });
        }
    }

    /// Ends subflows that are too many: backups on a lane that has another one, of measurements that were overtaken by the
    /// switch, whatever the kernel opened them as, and of joins that were answered late. Only where the kernel has just told
    /// that both are `there`.
    fn trim(&mut self, now: Time, there: &[FourTuple], kernel: &mut dyn Kernel) {
        let spare = |one: &Subflow| {
            let other = |other: &Subflow| other.pair != one.pair && other.lane == one.lane && other.alive;
            let both =
                there.contains(&one.pair) && self.subflows.iter().any(|two| other(two) && there.contains(&two.pair));
            let unwanted = one.backup || one.index.is_none();
            both && !self.server_side && unwanted && one.pair != self.pair && one.lane.is_some()
        };
        let spares = self.subflows.iter().rev().filter(|one| spare(one));
        let Some(pair) = spares.min_by_key(|one| one.index.is_some()).map(|one| one.pair) else { return };
        let _ = kernel.command(&Command::Destroy { token: self.token, pair });
        self.remove(now, pair);
    }

    /// When the next look is due.
    pub fn plan_look(&mut self, now: Time, shared: &mut Shared) {
        let timing = shared.settings.timing;
        let first = self.began.saturating_add(self.first_look());
        let after = |class, least| (class, together(now, shared.interval(class, least)));
        let by_age = self.judge.only_age();
        // by age nothing changes any more while it waits for its turn to have a long lane opened
        let decided = self.lanes.is_long() || self.long || (by_age && self.ready && self.lanes.wants_long());
        let (class, at) = if let Some(since) = self.quiet {
            after(Class::Resting, timing.poll_interval.max(now.since(since).min(RESTING)))
        } else if decided {
            // a time-out that congestion made is over soon, and the stay on the short lane at most an eighth later
            let all_alive = self.subflows.iter().all(|one| one.alive);
            let soon = if all_alive { Span::MAX } else { (now.since(self.failed) / 8).max(timing.poll_interval) };
            after(Class::Watched, soon.min(timing.watch_interval))
        } else if first > now {
            (Class::Resting, first)
        } else if by_age && self.lanes.deadline() > now {
            (Class::Judged, self.lanes.deadline())
        } else {
            after(Class::Judged, timing.poll_interval)
        };
        shared.reclass(self.class, class);
        self.class = class;
        self.look_at = at;
    }

    fn first_look(&self) -> Span {
        match self.judge.age() {
            // without early subflows there is nothing to do before
            Some(age) if self.judge.only_age() && self.opens == LaneOpen::WhenLong => age,
            _ => self.open_after,
        }
    }

    /// Observations of lanes that carry nothing: from other connections, or by a new join.
    fn refresh(&mut self, now: Time, shared: &mut Shared, kernel: &mut dyn Kernel) {
        if !self.judge.compares_lanes() || self.was_long || !self.ready || self.quiet.is_some() {
            return;
        }
        for place in 0..self.subflows.len() {
            let subflow = &mut self.subflows[place];
            let (Some(lane), Some(index), true) = (subflow.lane, subflow.index, subflow.seen) else { continue };
            let old = now.since(subflow.measured) >= shared.settings.timing.probe_interval;
            if shared.role(lane) != Role::Long || !subflow.backup || !subflow.alive {
                continue;
            }
            if let Some((when, srtt)) = shared.fresh(now, self.host, lane).filter(|(when, _)| *when > subflow.measured)
            {
                subflow.measured = when;
                let min_rtt = shared.history.measured(now, self.host, lane, srtt);
                let _ = self.lanes.observe(now, index, Observation { srtt, latest: None, min_rtt });
            } else if old && !self.server_side {
                self.probe(now, place, shared, kernel);
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
/// (before Linux 6.5). What was sent again on another subflow counts twice.
pub(super) fn by_subflow<'a>(subflows: impl Iterator<Item = &'a Tcp>) -> u64 {
    // a SYN counts as a byte
    subflows.map(|tcp| tcp.acked.saturating_sub(1)).fold(0, u64::saturating_add)
}
