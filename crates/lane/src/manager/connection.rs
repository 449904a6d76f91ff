//! One connection: what is known of it, and what it needs next.

pub(super) mod looking;

use std::net::{IpAddr, SocketAddr};

use headway_control::lanes::{Judge, Lanes, MAX_SUBFLOWS, Observation, Peer, Permit, Role, SubflowIndex};
use headway_levers::lanes::LaneOpen;
use headway_linux::diag::{Mptcp, Tcp};
use headway_linux::mptcp::Command;
use headway_linux::{FourTuple, Token};
use headway_units::{Span, Time};

use looking::by_subflow;

use super::opening::Opening;
use super::{Before, Class, Kernel, Note, Shared, host, is_open, peer, ports};
use crate::settings::{Judging, Settings};
use crate::snapshot::{ConnectionStatus, SubflowStatus};

/// After so long a command is tried again that the kernel was not ready for; doubled each time.
pub(super) const RETRY: Span = Span::from_millis(2);
/// So often; after that only every [`GIVE_UP`].
pub(super) const TRIES: u8 = 7;
/// After this a command is tried again that was refused [`TRIES`] times.
pub(super) const GIVE_UP: Span = Span::from_secs(5);
/// EIO: the kernel was not heard, and said nothing of whose the connection is.
pub(super) const UNSAID: i32 = 5;
/// Subflows of a connection that are looked after. The kernel bounds neither how many the other end opens nor how fast; what
/// is beyond is left alone.
const MAX_MANAGED_SUBFLOWS: usize = 32;

/// Without a round trip it says that a lane is alive, and no more.
const ALIVE: Observation = Observation { srtt: Span::ZERO, latest: None, min_rtt: None };

/// A connection that was not known before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub token: Token,
    /// Of its first subflow.
    pub pair: FourTuple,
    pub server_side: bool,
    pub adopted: bool,
    /// The other end wants no joins to the address of the first subflow (RFC 8684 §3.1, flag C), as one behind a load
    /// balancer does.
    pub deny_join_initial: bool,
}

/// An address that the other end announced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announced {
    pub id: u8,
    pub ip: IpAddr,
    pub port: Option<u16>,
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Subflow {
    pub pair: FourTuple,
    /// `None`: its address is on no lane; it is left alone.
    pub lane: Option<usize>,
    pub index: Option<SubflowIndex>,
    /// What this end has told the kernel.
    pub backup: bool,
    /// The other end has it as a backup.
    peer_backup: bool,
    pub alive: bool,
    /// Looked at since it was opened.
    seen: bool,
    acked: u64,
    srtt: Option<Span>,
    /// When its lane was measured that gave the latest observation.
    pub measured: Time,
    tries: u8,
    retry: Time,
}

#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Connection {
    pub token: Token,
    /// Of its first subflow.
    pub pair: FourTuple,
    pub server_side: bool,
    pub adopted: bool,
    /// See [`Arrival::deny_join_initial`].
    deny_join_initial: bool,
    /// The connection is on its way to its end, and the kernel takes no more subflows.
    ending: bool,
    rule: Option<usize>,
    judge: Judge,
    /// When its subflows on long lanes are opened.
    pub opens: LaneOpen,
    /// The age from which on it is looked at.
    open_after: Span,
    /// Long by rule.
    long: bool,
    pub lanes: Lanes,
    /// When it began, or was new again.
    began: Time,
    /// The lane of its first subflow.
    pub home: usize,
    pub host: u64,
    peer: Peer,
    pub subflows: Vec<Subflow>,
    pub openings: [Opening; MAX_SUBFLOWS],
    pub announced: Vec<Announced>,
    /// Of them, some are new.
    invited: bool,
    /// Where sockets listen for its joins.
    pub listening: Vec<SocketAddr>,
    acked: u64,
    /// `snd_una` at the latest look.
    una: Option<u64>,
    /// Since when it has had nothing to send.
    pub quiet: Option<Time>,
    /// Old enough for subflows on long lanes, and busy.
    pub ready: bool,
    was_long: bool,
    /// The kernel has done something for it.
    pub obeyed: bool,
    /// It was there before, and the kernel does nothing for it: its path manager is the kernel's own. It is left alone.
    pub left: bool,
    /// The history knows how it turned out.
    told: bool,
    /// When a subflow failed last that is still there.
    failed: Time,
    class: Class,
    look_at: Time,
    /// When a command is due that had to wait.
    pub retry_at: Time,
    scheduled: Time,
}

impl Connection {
    #[expect(clippy::too_many_arguments, reason = "what a connection begins with")]
    pub fn new(
        began: Time,
        arrival: Arrival,
        home: usize,
        rule: Option<usize>,
        judging: Judging,
        long: bool,
        shared: &mut Shared,
        now: Time,
    ) -> Connection {
        let Judging { judge, open, open_after } = judging;
        let peer = peer(&arrival);
        let share = shared.settings.history.as_ref().and_then(|history| history.long_share);
        let known =
            share.is_some_and(|least| shared.history.long_share(now, peer).is_some_and(|share| share >= least.get()));
        let long = long || known;
        let mut connection = Connection {
            token: arrival.token,
            pair: arrival.pair,
            server_side: arrival.server_side,
            adopted: arrival.adopted,
            deny_join_initial: arrival.deny_join_initial,
            ending: false,
            rule,
            judge,
            opens: open,
            open_after,
            long,
            lanes: new_lanes(judge, began, long, &shared.settings),
            began,
            home,
            host: host(arrival.pair.remote.ip()),
            peer,
            subflows: Vec::new(),
            openings: std::array::from_fn(|_| Opening::default()),
            announced: Vec::new(),
            invited: false,
            listening: Vec::new(),
            acked: 0,
            una: None,
            quiet: None,
            ready: long,
            was_long: long,
            obeyed: false,
            left: false,
            told: false,
            failed: Time::ZERO,
            class: Class::Resting,
            look_at: Time::NEVER,
            retry_at: Time::NEVER,
            scheduled: Time::NEVER,
        };
        shared.classes[Class::Resting as usize] += 1;
        connection.add(now, arrival.pair, false, shared);
        connection.plan_look(now, shared);
        shared.note(Note::Managed {
            token: arrival.token.to_string(),
            local: arrival.pair.local,
            remote: arrival.pair.remote,
            adopted: arrival.adopted,
        });
        connection
    }

    /// Takes over what was there before.
    pub fn adopt(&mut self, now: Time, state: &Mptcp, subflows: &[&Tcp], shared: &mut Shared) {
        let marked = |tcp: &Tcp| tcp.subflow.is_some_and(|info| info.backup_local);
        let role = |tcp: &Tcp| shared.lane_of(tcp.pair.local.ip()).map(|lane| shared.role(lane));
        let open: Vec<&Tcp> = subflows.iter().copied().filter(|tcp| is_open(tcp)).collect();
        // only a switch leaves it like this
        let long = open.iter().any(|tcp| role(tcp) == Some(Role::Short) && marked(tcp))
            && open.iter().any(|tcp| role(tcp) == Some(Role::Long) && !marked(tcp));
        if long && !self.was_long {
            self.lanes = new_lanes(self.judge, self.began, true, &shared.settings);
            (self.was_long, self.ready, self.told) = (true, true, true);
        } else {
            self.lanes = new_lanes(self.judge, self.began, self.long, &shared.settings);
        }
        self.subflows.clear();
        for tcp in open {
            self.add(now, tcp.pair, marked(tcp), shared);
            self.heed(tcp);
        }
        self.una = Some(state.snd_una);
        self.acked = state.acked.unwrap_or_else(|| by_subflow(subflows.iter().copied()));
        self.look_at = now;
    }

    fn add(&mut self, now: Time, pair: FourTuple, backup: bool, shared: &Shared) {
        if self.subflows.len() >= MAX_MANAGED_SUBFLOWS {
            return;
        }
        let lane = shared.lane_of(pair.local.ip());
        let index = lane.and_then(|lane| self.lanes.add_subflow(shared.role(lane)).ok());
        self.subflows.push(Subflow {
            pair,
            lane,
            index,
            backup,
            peer_backup: false,
            alive: true,
            seen: false,
            acked: 0,
            srtt: None,
            measured: now,
            tries: 0,
            retry: Time::ZERO,
        });
    }

    pub fn began(&self) -> Time {
        self.began
    }

    /// What no list of the kernel tells.
    pub fn before(&self) -> Before {
        Before {
            pair: Some(self.pair),
            began: self.began,
            deny_join_initial: self.deny_join_initial,
            announced: self.announced.clone(),
        }
    }

    /// Whether subflows can still be opened.
    pub fn is_ending(&self) -> bool {
        self.ending
    }

    pub fn scheduled(&self) -> Time {
        self.scheduled
    }

    pub fn ports(&self) -> (u16, u16) {
        ports(&self.pair)
    }

    /// The lanes of its subflows.
    pub fn lanes_used(&self) -> impl Iterator<Item = usize> {
        self.subflows.iter().filter_map(|subflow| subflow.lane)
    }

    /// When it is due, which is after `now`.
    pub fn next(&mut self, now: Time) -> Time {
        self.scheduled = self.look_at.min(self.retry_at).max(now.saturating_add(Span::from_micros(50)));
        self.scheduled
    }

    fn fail(&mut self, now: Time, place: usize, shared: &mut Shared) {
        self.failed = now;
        let subflow = &mut self.subflows[place];
        subflow.alive = false;
        if let Some(index) = subflow.index {
            let _ = self.lanes.failed(index);
        }
        shared.counters.failures += 1;
        if let Some(lane) = subflow.lane {
            let lane = shared.settings.lanes[lane].name.clone();
            shared.note(Note::Failed { token: self.token.to_string(), lane });
        }
    }

    fn remove(&mut self, now: Time, pair: FourTuple) {
        let Some(place) = self.subflows.iter().position(|subflow| subflow.pair == pair) else { return };
        let subflow = self.subflows.remove(place);
        if let Some(index) = subflow.index {
            let _ = self.lanes.remove(index);
        }
        if let Some(lane) = subflow.lane {
            self.openings[lane].closed(now);
        }
    }

    /// A subflow is established. `backup`: whether this end has it as one, if the kernel has told.
    pub fn joined(
        &mut self,
        now: Time,
        pair: FourTuple,
        backup: Option<bool>,
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) {
        if self.subflows.iter().any(|subflow| subflow.pair == pair) {
            return;
        }
        let lane = shared.lane_of(pair.local.ip());
        let mut asked = None;
        if let Some(lane) = lane {
            asked = self.openings[lane].established();
            let name = shared.settings.lanes[lane].name.clone();
            let (local, remote) = (pair.local, pair.remote);
            shared.note(Note::Opened { token: self.token.to_string(), lane: name, local, remote });
        }
        if self.subflows.len() >= MAX_MANAGED_SUBFLOWS {
            return;
        }
        let old = asked.and_then(|asked| asked.replaces);
        // switched while the lane was measured: the old one carries data, and the new one goes at the next look
        let idle = |subflow: &Subflow| Some(subflow.pair) == old && subflow.backup;
        if let Some(place) = self.subflows.iter().position(idle) {
            // the new one is there: the old one can go
            let subflow = &mut self.subflows[place];
            (subflow.pair, subflow.seen, subflow.acked, subflow.alive) = (pair, false, 0, true);
            subflow.backup = backup.unwrap_or(asked.is_some_and(|asked| asked.backup));
            if let Some(index) = subflow.index {
                let _ = self.lanes.observe(now, index, ALIVE);
            }
            let old = old.expect("it was found by it");
            let _ = kernel.command(&Command::Destroy { token: self.token, pair: old });
        } else {
            // one that was not asked for is one whose answer came late; a look tells what the kernel has it for
            let asked_for = asked.is_some_and(|asked| asked.backup);
            self.add(now, pair, backup.unwrap_or(asked_for), shared);
            if self.subflows.iter().any(|one| Some(one.pair) == old)
                && let Some(index) = self.subflows.last_mut().and_then(|one| one.index.take())
            {
                // not one to send on
                let _ = self.lanes.remove(index);
            }
        }
        // a kernel may have opened as a regular subflow what was asked for as a backup (Linux 6.1 does), and a join that was
        // given up was asked for as one or the other: a look tells; it tells whether there is something to send, too, which
        // the other end's join does not; or the join was a measurement
        let untold = backup.is_none() && !self.server_side && asked.is_none_or(|asked| asked.backup);
        if self.quiet.is_some() || untold || self.judge.compares_lanes() && !self.was_long {
            self.look_at = now;
        }
        self.act(now, shared, kernel);
    }

    /// A subflow is over, for the reason `error`.
    pub fn subflow_closed(
        &mut self,
        now: Time,
        pair: FourTuple,
        error: Option<u8>,
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) {
        let Some(place) = self.subflows.iter().position(|subflow| subflow.pair == pair) else {
            // one that was asked for and never came to be
            if let Some(lane) = shared.lane_of(pair.local.ip()) {
                self.not_opened(now, lane, error.map(i32::from), shared);
                self.act(now, shared, kernel);
            }
            return;
        };
        if error.is_some_and(|errno| errno != 0)
            && let Some(lane) = self.subflows[place].lane
        {
            shared.history.failed(now, self.host, lane);
            self.fail(now, place, shared);
        }
        self.remove(now, pair);
        if self.subflows.is_empty() {
            // most likely the connection's end
            self.openings.iter_mut().for_each(|opening| opening.closed(now));
        }
        self.act(now, shared, kernel);
    }

    /// What there is now, after events were lost.
    pub fn reconcile(&mut self, now: Time, found: &[&Tcp], shared: &mut Shared, kernel: &mut dyn Kernel) {
        let open = |pair: &FourTuple| found.iter().any(|tcp| tcp.pair == *pair && is_open(tcp));
        let gone: Vec<FourTuple> = self.subflows.iter().map(|one| one.pair).filter(|pair| !open(pair)).collect();
        for pair in gone {
            self.remove(now, pair);
        }
        for tcp in found.iter().filter(|tcp| is_open(tcp)) {
            let backup = tcp.subflow.map(|info| info.backup_local);
            self.joined(now, tcp.pair, backup, shared, kernel);
            self.heed(tcp);
        }
        self.look_at = now;
    }

    /// What the other end has marked.
    fn heed(&mut self, tcp: &Tcp) {
        if let (Some(one), Some(info)) = (self.subflows.iter_mut().find(|one| one.pair == tcp.pair), tcp.subflow) {
            one.peer_backup = info.backup_remote;
        }
    }

    /// The other end has a subflow as a backup from now on, or no more.
    pub fn wished(&mut self, now: Time, pair: FourTuple, backup: bool, shared: &mut Shared, kernel: &mut dyn Kernel) {
        if let Some(one) = self.subflows.iter_mut().find(|one| one.pair == pair) {
            one.peer_backup = backup;
            self.act(now, shared, kernel);
        }
    }

    /// Whether the other end's data has left the short lanes: the long ones must not be backups of this end then, for its
    /// scheduler takes either end's word.
    pub fn peer_is_long(&self, shared: &Shared) -> bool {
        let short = |one: &Subflow| one.lane.is_some_and(|lane| shared.role(lane) == Role::Short);
        self.subflows.iter().any(|one| one.peer_backup && short(one))
    }

    /// Lane `lane` went up or down.
    pub fn lane_changed(&mut self, now: Time, lane: usize, up: bool, shared: &mut Shared, kernel: &mut dyn Kernel) {
        for place in 0..self.subflows.len() {
            if self.subflows[place].lane != Some(lane) {
                continue;
            }
            let subflow = &mut self.subflows[place];
            match (up, subflow.alive, subflow.index) {
                (true, false, Some(index)) => {
                    subflow.alive = true;
                    let _ = self.lanes.observe(now, index, ALIVE);
                }
                (false, true, _) => self.fail(now, place, shared),
                _ => {}
            }
        }
        if up {
            self.openings[lane].renew();
        }
        self.act(now, shared, kernel);
        if !up {
            self.abandon(now, lane, kernel);
        }
    }

    /// Addresses of a lane that is up are gone, or are on another one.
    pub fn addresses_gone(&mut self, now: Time, gone: &[IpAddr], shared: &mut Shared, kernel: &mut dyn Kernel) {
        let dead = |one: &Subflow| one.alive && gone.contains(&one.pair.local.ip());
        let lanes: Vec<usize> = self.subflows.iter().filter(|one| dead(one)).filter_map(|one| one.lane).collect();
        for place in 0..self.subflows.len() {
            if dead(&self.subflows[place]) {
                self.fail(now, place, shared);
            }
        }
        if !lanes.is_empty() {
            self.act(now, shared, kernel);
            for lane in lanes {
                self.abandon(now, lane, kernel);
                self.openings[lane].renew();
            }
            self.act(now, shared, kernel);
        }
    }

    /// Ends what is on a lane that is down, so that the kernel sends what waits there by another one now, and not when its
    /// timer expires. Not the first subflow, which the connection has its name from.
    fn abandon(&mut self, now: Time, lane: usize, kernel: &mut dyn Kernel) {
        // asked of the kernel itself, as an event may have been lost: the last subflow is never ended
        let others: Vec<FourTuple> =
            self.subflows.iter().filter(|one| one.alive && !one.backup).map(|one| one.pair).collect();
        let carried = kernel.subflows(&others).iter().flatten().flatten().any(is_open);
        if !carried {
            return;
        }
        let dead = |one: &&Subflow| one.lane == Some(lane) && !one.alive && one.pair != self.pair;
        let dead: Vec<FourTuple> = self.subflows.iter().filter(dead).map(|one| one.pair).collect();
        for pair in dead {
            // whatever the answer: there is nothing to be had of it
            let _ = kernel.command(&Command::Destroy { token: self.token, pair });
            self.remove(now, pair);
        }
    }

    pub fn announced(
        &mut self,
        now: Time,
        id: u8,
        ip: IpAddr,
        port: Option<u16>,
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) {
        self.announced.retain(|one| one.id != id);
        // as many as there are identifiers; a peer that goes on gains nothing
        self.announced.push(Announced { id, ip, port });
        self.announced.sort_unstable_by_key(|one| one.id);
        self.invited = true;
        self.act(now, shared, kernel);
    }

    /// What the other end had announced before the settings changed.
    pub fn invite(&mut self, announced: Vec<Announced>) {
        self.invited = !announced.is_empty();
        self.announced = announced;
    }

    /// Goes where the other end invites to, once the connection is old enough: servers announce at the very beginning, and
    /// short connections must not pay for it.
    fn accept(&mut self, now: Time, shared: &mut Shared, kernel: &mut dyn Kernel) {
        let due = self.began.saturating_add(self.open_after);
        if !self.invited || now < due {
            self.retry_at = if self.invited { self.retry_at.min(due) } else { self.retry_at };
            return;
        }
        self.invited = false;
        for one in self.announced.clone() {
            self.invited |= self.join_announced(now, one.ip, one.port, shared, kernel);
        }
    }

    pub fn withdrawn(&mut self, id: u8) {
        self.announced.retain(|one| one.id != id);
    }

    /// Takes the decisions that can be taken now, and tells the kernel.
    pub fn act(&mut self, now: Time, shared: &mut Shared, kernel: &mut dyn Kernel) {
        self.retry_at = Time::NEVER;
        if self.quiet.is_none() {
            let _ = self.lanes.tick(now);
        }
        self.open(now, shared, kernel);
        self.accept(now, shared, kernel);
        let long = self.lanes.is_long();
        if long != self.was_long {
            self.was_long = long;
            let token = self.token.to_string();
            if long {
                shared.counters.switched += 1;
                let age_s = now.since(self.began).as_secs_f64();
                shared.note(Note::Switched { token, age_s, acked_bytes: self.acked });
                if !std::mem::replace(&mut self.told, true) {
                    shared.ended(now, self.peer, true);
                }
            } else {
                shared.counters.returned += 1;
                shared.note(Note::Returned { token });
            }
            self.plan_look(now, shared);
        }
        self.mark(now, shared, kernel);
    }

    /// Makes backups of what has no permit to send, after everything else is none: there is no moment without a subflow
    /// that carries data.
    fn mark(&mut self, now: Time, shared: &mut Shared, kernel: &mut dyn Kernel) {
        let free = self.server_side || self.peer_is_long(shared);
        for backup in [false, true] {
            for place in 0..self.subflows.len() {
                let subflow = &self.subflows[place];
                let (Some(index), Some(lane)) = (subflow.index, subflow.lane) else { continue };
                let held = self.lanes.permit(index) != Permit::Normal;
                let wanted = held && (shared.role(lane) == Role::Short || !free);
                if wanted != backup || wanted == subflow.backup {
                    continue;
                }
                let others = self.subflows.iter().any(|one| one.pair != subflow.pair && one.alive && !one.backup);
                if backup && !others {
                    continue;
                }
                if now < subflow.retry {
                    self.retry_at = self.retry_at.min(subflow.retry);
                    continue;
                }
                let answer = kernel.command(&Command::SetBackup { token: self.token, pair: subflow.pair, backup });
                self.marked(now, place, backup, answer, shared);
            }
        }
    }

    fn marked(&mut self, now: Time, place: usize, backup: bool, answer: Result<(), i32>, shared: &mut Shared) {
        let subflow = &mut self.subflows[place];
        match answer {
            Ok(()) => {
                (subflow.backup, subflow.tries, subflow.retry) = (backup, 0, Time::ZERO);
                shared.counters.flips += 1;
                self.obeyed = true;
                return;
            }
            // an established subflow may not be linked to its connection yet; or one of them is gone, which a look tells
            Err(_) if subflow.tries < TRIES => {
                subflow.retry = now.saturating_add(RETRY.saturating_mul(1 << subflow.tries));
                subflow.tries += 1;
                shared.counters.retries += 1;
            }
            Err(errno) => {
                subflow.retry = now.saturating_add(GIVE_UP);
                shared.counters.command_failures += 1;
                let command = format!("set-backup={backup}");
                shared.note(Note::Refused { token: self.token.to_string(), command, errno });
                self.left |= self.adopted && !self.obeyed && errno != UNSAID;
            }
        }
        self.retry_at = self.retry_at.min(subflow.retry);
        self.look_at = self.look_at.min(subflow.retry);
        self.quiet = None;
    }

    /// The connection is over.
    pub fn end(&mut self, now: Time, shared: &mut Shared) {
        shared.classes[self.class as usize] -= 1;
        if !self.told {
            let long = shared.settings.history.as_ref().is_some_and(|history| self.acked >= history.long.get());
            shared.ended(now, self.peer, long);
        }
        for at in std::mem::take(&mut self.listening) {
            shared.unlisten(at);
        }
        let age_s = now.since(self.began).as_secs_f64();
        shared.note(Note::Over { token: self.token.to_string(), age_s, long: self.was_long });
    }

    pub fn status(&self, now: Time, settings: &Settings) -> ConnectionStatus {
        let subflow = |one: &Subflow| SubflowStatus {
            lane: one.lane.map(|lane| settings.lanes[lane].name.clone()),
            local: one.pair.local,
            remote: one.pair.remote,
            backup: one.backup,
            alive: one.alive,
            srtt_us: one.srtt.map(|srtt| srtt.as_secs_f64() * 1e6),
        };
        ConnectionStatus {
            token: self.token.to_string(),
            local: self.pair.local,
            remote: self.pair.remote,
            server_side: self.server_side,
            age_s: now.since(self.began).as_secs_f64(),
            long: self.was_long,
            adopted: self.adopted,
            rule: self.rule.map(|rule| settings.rules[rule].name.clone()),
            acked_bytes: self.acked,
            subflows: self.subflows.iter().map(subflow).collect(),
        }
    }

    /// Where a subflow from `lane` goes to, if that is known.
    pub fn remote(&self, lane: usize, settings: &Settings) -> Option<SocketAddr> {
        let remote = if lane == self.home {
            Some(self.pair.remote)
        } else {
            super::opening::remote(self.pair.remote, lane, &self.announced, settings)
        };
        remote.filter(|remote| !self.deny_join_initial || remote.ip() != self.pair.remote.ip())
    }
}

fn new_lanes(judge: Judge, began: Time, long: bool, settings: &Settings) -> Lanes {
    let lanes = Lanes::new(judge, began).expect("the configuration's check validates judges");
    let lanes = lanes.patient(settings.timing.patience);
    if long { lanes.long_from_the_start() } else { lanes }
}
