//! One connection: what is known of it, and what it needs next.

mod opening;
mod polling;

use std::net::{IpAddr, SocketAddr};

use headway_control::lanes::{Judge, Lanes, MAX_SUBFLOWS, Observation, Peer, Permit, Role, SubflowIndex};
use headway_levers::lanes::LaneOpen;
use headway_linux::diag::{Mptcp, Tcp};
use headway_linux::mptcp::Command;
use headway_linux::{FourTuple, Token};
use headway_units::{Span, Time};

use polling::by_subflow;

use super::attempt::{self, Announced, GIVE_UP, Opening, RETRY, TRIES, UNSAID};
use super::{Before, Class, Context, Event, Shared, is_open, peer, ports};
use crate::settings::Settings;
use crate::snapshot::{ConnectionStatus, SubflowStatus};

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
    /// Polled since it was opened.
    seen: bool,
    acked: u64,
    srtt: Option<Span>,
    /// When its lane was measured that gave the latest observation.
    pub measured: Time,
    tries: u8,
    retry: Time,
}

/// How a connection is treated, by the rule that matched it.
#[derive(Debug, Clone)]
pub(super) struct Handling {
    /// The rule.
    pub rule: Option<usize>,
    pub judge: Judge,
    /// When its subflows on long lanes are opened.
    pub opens: LaneOpen,
    /// The age from which on it is polled.
    pub open_after: Span,
    /// Long by rule, or because those before it were.
    pub long: bool,
}

/// Where a connection's data goes and can go.
pub(super) struct Paths {
    pub subflows: Vec<Subflow>,
    /// By lane.
    pub openings: [Opening; MAX_SUBFLOWS],
    /// Addresses that the other end announced.
    pub announced: Vec<Announced>,
    /// Of them, some are new.
    invited: bool,
    /// Where sockets listen for its joins.
    pub listening: Vec<SocketAddr>,
}

/// What a connection has sent.
pub(super) struct Traffic {
    acked: u64,
    /// `snd_una` at the latest poll.
    una: Option<u64>,
    /// Since when it has had nothing to send.
    pub idle_since: Option<Time>,
}

/// When a connection needs something.
pub(super) struct Schedule {
    class: Class,
    poll_at: Time,
    /// When a command is due that had to wait.
    pub retry_at: Time,
    /// When the manager comes to it.
    scheduled: Time,
}

/// How the kernel has it.
#[derive(Default)]
pub(super) struct Standing {
    /// It is on its way to its end, and the kernel takes no more subflows.
    ending: bool,
    /// The kernel has done something for it.
    pub accepted: bool,
    /// It was there before, and the kernel does nothing for it: its path manager is the kernel's own. It is left alone.
    pub unmanaged: bool,
}

pub(super) struct Connection {
    pub arrival: Arrival,
    /// The lane of its first subflow.
    pub home: usize,
    pub peer: Peer,
    pub handling: Handling,
    pub lanes: Lanes,
    pub paths: Paths,
    pub traffic: Traffic,
    pub schedule: Schedule,
    pub standing: Standing,
    /// When it began, or was new again.
    began: Time,
    /// Old enough for subflows on long lanes, and busy.
    pub ready: bool,
    was_long: bool,
    /// The history knows how it turned out.
    told: bool,
    /// When a subflow failed last that is still there.
    failed: Time,
}

impl Connection {
    pub fn new(
        began: Time,
        arrival: Arrival,
        home: usize,
        handling: Handling,
        shared: &mut Shared,
        now: Time,
    ) -> Connection {
        let peer = peer(&arrival);
        let share = shared.settings.history.as_ref().and_then(|history| history.long_share);
        let known =
            share.is_some_and(|least| shared.history.long_share(now, peer).is_some_and(|share| share >= least.get()));
        let long = handling.long || known;
        let mut connection = Connection {
            arrival,
            home,
            peer,
            lanes: new_lanes(handling.judge.clone(), began, long, &shared.settings),
            handling: Handling { long, ..handling },
            paths: Paths {
                subflows: Vec::new(),
                openings: std::array::from_fn(|_| Opening::default()),
                announced: Vec::new(),
                invited: false,
                listening: Vec::new(),
            },
            traffic: Traffic { acked: 0, una: None, idle_since: None },
            schedule: Schedule {
                class: Class::Resting,
                poll_at: Time::NEVER,
                retry_at: Time::NEVER,
                scheduled: Time::NEVER,
            },
            standing: Standing::default(),
            began,
            ready: long,
            was_long: long,
            told: false,
            failed: Time::ZERO,
        };
        shared.classes[Class::Resting as usize] += 1;
        connection.add(now, arrival.pair, false, shared);
        connection.plan_poll(now, shared);
        shared.publish(Event::Managed {
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
            self.lanes = new_lanes(self.handling.judge.clone(), self.began, true, &shared.settings);
            (self.was_long, self.ready, self.told) = (true, true, true);
        } else {
            self.lanes = new_lanes(self.handling.judge.clone(), self.began, self.handling.long, &shared.settings);
        }
        self.paths.subflows.clear();
        for tcp in open {
            self.add(now, tcp.pair, marked(tcp), shared);
            self.sync_peer_backup(tcp);
        }
        self.traffic.una = Some(state.snd_una);
        self.traffic.acked = state.acked.unwrap_or_else(|| by_subflow(subflows.iter().copied()));
        self.schedule.poll_at = now;
    }

    fn add(&mut self, now: Time, pair: FourTuple, backup: bool, shared: &Shared) {
        if self.paths.subflows.len() >= MAX_MANAGED_SUBFLOWS {
            return;
        }
        let lane = shared.lane_of(pair.local.ip());
        let index = lane.and_then(|lane| self.lanes.add_subflow(shared.role(lane)).ok());
        self.paths.subflows.push(Subflow {
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

    pub fn token(&self) -> Token {
        self.arrival.token
    }

    /// What no list of the kernel tells.
    pub fn before(&self) -> Before {
        Before {
            pair: Some(self.arrival.pair),
            began: self.began,
            deny_join_initial: self.arrival.deny_join_initial,
            announced: self.paths.announced.clone(),
        }
    }

    /// Whether subflows can still be opened.
    pub fn is_ending(&self) -> bool {
        self.standing.ending
    }

    pub fn scheduled(&self) -> Time {
        self.schedule.scheduled
    }

    pub fn ports(&self) -> (u16, u16) {
        ports(&self.arrival.pair)
    }

    /// The lanes of its subflows.
    pub fn lanes_used(&self) -> impl Iterator<Item = usize> {
        self.paths.subflows.iter().filter_map(|subflow| subflow.lane)
    }

    /// When it is due, which is after `now`.
    pub fn next(&mut self, now: Time) -> Time {
        self.schedule.scheduled =
            self.schedule.poll_at.min(self.schedule.retry_at).max(now.saturating_add(Span::from_micros(50)));
        self.schedule.scheduled
    }

    fn fail(&mut self, now: Time, place: usize, shared: &mut Shared) {
        self.failed = now;
        let subflow = &mut self.paths.subflows[place];
        subflow.alive = false;
        if let Some(index) = subflow.index {
            let _ = self.lanes.failed(index);
        }
        shared.counters.failures += 1;
        if let Some(lane) = subflow.lane {
            let lane = shared.settings.lanes[lane].name.clone();
            shared.publish(Event::Failed { token: self.arrival.token.to_string(), lane });
        }
    }

    fn remove(&mut self, now: Time, pair: FourTuple) {
        let Some(place) = self.paths.subflows.iter().position(|subflow| subflow.pair == pair) else { return };
        let subflow = self.paths.subflows.remove(place);
        if let Some(index) = subflow.index {
            let _ = self.lanes.remove(index);
        }
        if let Some(lane) = subflow.lane {
            self.paths.openings[lane].closed(now);
        }
    }

    /// A subflow is established. `backup`: whether this end has it as one, if the kernel has told.
    pub fn joined(&mut self, cx: &mut Context<'_>, pair: FourTuple, backup: Option<bool>) {
        if self.paths.subflows.iter().any(|subflow| subflow.pair == pair) {
            return;
        }
        let lane = cx.shared.lane_of(pair.local.ip());
        let mut asked = None;
        if let Some(lane) = lane {
            asked = self.paths.openings[lane].established();
            let name = cx.shared.settings.lanes[lane].name.clone();
            let (local, remote) = (pair.local, pair.remote);
            cx.shared.publish(Event::Opened { token: self.arrival.token.to_string(), lane: name, local, remote });
        }
        if self.paths.subflows.len() >= MAX_MANAGED_SUBFLOWS {
            return;
        }
        let old = asked.and_then(|asked| asked.replaces);
        // switched while the lane was measured: the old one carries data, and the new one goes at the next poll
        let idle = |subflow: &Subflow| Some(subflow.pair) == old && subflow.backup;
        if let Some(place) = self.paths.subflows.iter().position(idle) {
            // the new one is there: the old one can go
            let subflow = &mut self.paths.subflows[place];
            (subflow.pair, subflow.seen, subflow.acked, subflow.alive) = (pair, false, 0, true);
            subflow.backup = backup.unwrap_or(asked.is_some_and(|asked| asked.backup));
            if let Some(index) = subflow.index {
                let _ = self.lanes.observe(cx.now, index, ALIVE);
            }
            let old = old.expect("it was found by it");
            let _ = cx.kernel.command(&Command::Destroy { token: self.arrival.token, pair: old });
        } else {
            // one that was not asked for is one whose answer came late; a poll tells what the kernel has it for
            let asked_for = asked.is_some_and(|asked| asked.backup);
            self.add(cx.now, pair, backup.unwrap_or(asked_for), cx.shared);
            if self.paths.subflows.iter().any(|one| Some(one.pair) == old)
                && let Some(index) = self.paths.subflows.last_mut().and_then(|one| one.index.take())
            {
                // not one to send on
                let _ = self.lanes.remove(index);
            }
        }
        // a kernel may have opened as a regular subflow what was asked for as a backup (Linux 6.1 does), and a join that was
        // given up was asked for as one or the other: a poll tells; it tells whether there is something to send, too, which
        // the other end's join does not; or the join was a measurement
        let untold = backup.is_none() && !self.arrival.server_side && asked.is_none_or(|asked| asked.backup);
        if self.traffic.idle_since.is_some() || untold || self.handling.judge.compares_lanes() && !self.was_long {
            self.schedule.poll_at = cx.now;
        }
        self.act(cx);
    }

    /// A subflow is over, for the reason `error`.
    pub fn subflow_closed(&mut self, cx: &mut Context<'_>, pair: FourTuple, error: Option<u8>) {
        let Some(place) = self.paths.subflows.iter().position(|subflow| subflow.pair == pair) else {
            // one that was asked for and never came to be
            if let Some(lane) = cx.shared.lane_of(pair.local.ip()) {
                self.not_opened(cx.now, lane, error.map(i32::from), cx.shared);
                self.act(cx);
            }
            return;
        };
        if error.is_some_and(|errno| errno != 0)
            && let Some(lane) = self.paths.subflows[place].lane
        {
            cx.shared.history.failed(cx.now, self.peer.host, lane);
            self.fail(cx.now, place, cx.shared);
        }
        self.remove(cx.now, pair);
        if self.paths.subflows.is_empty() {
            // most likely the connection's end
            self.paths.openings.iter_mut().for_each(|opening| opening.closed(cx.now));
        }
        self.act(cx);
    }

    /// What there is now, after events were lost.
    pub fn reconcile(&mut self, cx: &mut Context<'_>, found: &[&Tcp]) {
        let open = |pair: &FourTuple| found.iter().any(|tcp| tcp.pair == *pair && is_open(tcp));
        let gone: Vec<FourTuple> = self.paths.subflows.iter().map(|one| one.pair).filter(|pair| !open(pair)).collect();
        for pair in gone {
            self.remove(cx.now, pair);
        }
        for tcp in found.iter().filter(|tcp| is_open(tcp)) {
            let backup = tcp.subflow.map(|info| info.backup_local);
            self.joined(cx, tcp.pair, backup);
            self.sync_peer_backup(tcp);
        }
        self.schedule.poll_at = cx.now;
    }

    /// What the other end has marked.
    fn sync_peer_backup(&mut self, tcp: &Tcp) {
        if let (Some(one), Some(info)) = (self.paths.subflows.iter_mut().find(|one| one.pair == tcp.pair), tcp.subflow)
        {
            one.peer_backup = info.backup_remote;
        }
    }

    /// The other end has a subflow as a backup from now on, or no more.
    pub fn peer_priority_changed(&mut self, cx: &mut Context<'_>, pair: FourTuple, backup: bool) {
        if let Some(one) = self.paths.subflows.iter_mut().find(|one| one.pair == pair) {
            one.peer_backup = backup;
            self.act(cx);
        }
    }

    /// Whether the other end's data has left the short lanes: the long ones must not be backups of this end then, for its
    /// scheduler takes either end's word.
    pub fn peer_is_long(&self, shared: &Shared) -> bool {
        let short = |one: &Subflow| one.lane.is_some_and(|lane| shared.role(lane) == Role::Short);
        self.paths.subflows.iter().any(|one| one.peer_backup && short(one))
    }

    /// Lane `lane` went up or down.
    pub fn lane_changed(&mut self, cx: &mut Context<'_>, lane: usize, up: bool) {
        for place in 0..self.paths.subflows.len() {
            if self.paths.subflows[place].lane != Some(lane) {
                continue;
            }
            let subflow = &mut self.paths.subflows[place];
            match (up, subflow.alive, subflow.index) {
                (true, false, Some(index)) => {
                    subflow.alive = true;
                    let _ = self.lanes.observe(cx.now, index, ALIVE);
                }
                (false, true, _) => self.fail(cx.now, place, cx.shared),
                _ => {}
            }
        }
        if up {
            self.paths.openings[lane].renew();
        }
        self.act(cx);
        if !up {
            self.abandon(cx, lane);
        }
    }

    /// Addresses of a lane that is up are gone, or are on another one.
    pub fn addresses_gone(&mut self, cx: &mut Context<'_>, gone: &[IpAddr]) {
        let dead = |one: &Subflow| one.alive && gone.contains(&one.pair.local.ip());
        let lanes: Vec<usize> = self.paths.subflows.iter().filter(|one| dead(one)).filter_map(|one| one.lane).collect();
        for place in 0..self.paths.subflows.len() {
            if dead(&self.paths.subflows[place]) {
                self.fail(cx.now, place, cx.shared);
            }
        }
        if !lanes.is_empty() {
            self.act(cx);
            for lane in lanes {
                self.abandon(cx, lane);
                self.paths.openings[lane].renew();
            }
            self.act(cx);
        }
    }

    /// Ends what is on a lane that is down, so that the kernel sends what waits there by another one now, and not when its
    /// timer expires. Not the first subflow, which the connection has its name from.
    fn abandon(&mut self, cx: &mut Context<'_>, lane: usize) {
        // asked of the kernel itself, as an event may have been lost: the last subflow is never ended
        let others: Vec<FourTuple> =
            self.paths.subflows.iter().filter(|one| one.alive && !one.backup).map(|one| one.pair).collect();
        let carried = cx.kernel.subflows(&others).iter().flatten().flatten().any(is_open);
        if !carried {
            return;
        }
        let dead = |one: &&Subflow| one.lane == Some(lane) && !one.alive && one.pair != self.arrival.pair;
        let dead: Vec<FourTuple> = self.paths.subflows.iter().filter(dead).map(|one| one.pair).collect();
        for pair in dead {
            // whatever the answer: there is nothing to be had of it
            let _ = cx.kernel.command(&Command::Destroy { token: self.arrival.token, pair });
            self.remove(cx.now, pair);
        }
    }

    pub fn announced(&mut self, cx: &mut Context<'_>, id: u8, ip: IpAddr, port: Option<u16>) {
        self.paths.announced.retain(|one| one.id != id);
        // as many as there are identifiers; a peer that goes on gains nothing
        self.paths.announced.push(Announced { id, ip, port });
        self.paths.announced.sort_unstable_by_key(|one| one.id);
        self.paths.invited = true;
        self.act(cx);
    }

    /// What the other end had announced before the settings changed.
    pub fn invite(&mut self, announced: Vec<Announced>) {
        self.paths.invited = !announced.is_empty();
        self.paths.announced = announced;
    }

    /// Goes where the other end invites to, once the connection is old enough: servers announce at the very beginning, and
    /// short connections must not pay for it.
    fn accept(&mut self, cx: &mut Context<'_>) {
        let due = self.began.saturating_add(self.handling.open_after);
        if !self.paths.invited || cx.now < due {
            self.schedule.retry_at =
                if self.paths.invited { self.schedule.retry_at.min(due) } else { self.schedule.retry_at };
            return;
        }
        self.paths.invited = false;
        for one in self.paths.announced.clone() {
            self.paths.invited |= self.join_announced(cx, one.ip, one.port);
        }
    }

    pub fn withdrawn(&mut self, id: u8) {
        self.paths.announced.retain(|one| one.id != id);
    }

    /// Takes the decisions that can be taken now, and tells the kernel.
    pub fn act(&mut self, cx: &mut Context<'_>) {
        self.schedule.retry_at = Time::NEVER;
        if self.traffic.idle_since.is_none() {
            let _ = self.lanes.tick(cx.now);
        }
        self.open(cx);
        self.accept(cx);
        let long = self.lanes.is_long();
        if long != self.was_long {
            self.was_long = long;
            let token = self.arrival.token.to_string();
            if long {
                cx.shared.counters.switched += 1;
                let age_s = cx.now.since(self.began).as_secs_f64();
                cx.shared.publish(Event::Switched { token, age_s, acked_bytes: self.traffic.acked });
                if !std::mem::replace(&mut self.told, true) {
                    cx.shared.ended(cx.now, self.peer, true);
                }
            } else {
                cx.shared.counters.returned += 1;
                cx.shared.publish(Event::Returned { token });
            }
            self.plan_poll(cx.now, cx.shared);
        }
        self.mark(cx);
    }

    /// Makes backups of what has no permit to send, after everything else is none: there is no moment without a subflow
    /// that carries data.
    fn mark(&mut self, cx: &mut Context<'_>) {
        let free = self.arrival.server_side || self.peer_is_long(cx.shared);
        for backup in [false, true] {
            for place in 0..self.paths.subflows.len() {
                let subflow = &self.paths.subflows[place];
                let (Some(index), Some(lane)) = (subflow.index, subflow.lane) else { continue };
                let held = self.lanes.permit(index) != Permit::Normal;
                let wanted = held && (cx.shared.role(lane) == Role::Short || !free);
                if wanted != backup || wanted == subflow.backup {
                    continue;
                }
                let others = self.paths.subflows.iter().any(|one| one.pair != subflow.pair && one.alive && !one.backup);
                if backup && !others {
                    continue;
                }
                if cx.now < subflow.retry {
                    self.schedule.retry_at = self.schedule.retry_at.min(subflow.retry);
                    continue;
                }
                let answer =
                    cx.kernel.command(&Command::SetBackup { token: self.arrival.token, pair: subflow.pair, backup });
                self.marked(cx.now, place, backup, answer, cx.shared);
            }
        }
    }

    fn marked(&mut self, now: Time, place: usize, backup: bool, answer: Result<(), i32>, shared: &mut Shared) {
        let subflow = &mut self.paths.subflows[place];
        match answer {
            Ok(()) => {
                (subflow.backup, subflow.tries, subflow.retry) = (backup, 0, Time::ZERO);
                shared.counters.flips += 1;
                self.standing.accepted = true;
                return;
            }
            // an established subflow may not be linked to its connection yet; or one of them is gone, which a poll tells
            Err(_) if subflow.tries < TRIES => {
                subflow.retry = now.saturating_add(RETRY.saturating_mul(1 << subflow.tries));
                subflow.tries += 1;
                shared.counters.retries += 1;
            }
            Err(errno) => {
                subflow.retry = now.saturating_add(GIVE_UP);
                shared.counters.command_failures += 1;
                let command = format!("set-backup={backup}");
                shared.publish(Event::Refused { token: self.arrival.token.to_string(), command, errno });
                self.standing.unmanaged |= self.arrival.adopted && !self.standing.accepted && errno != UNSAID;
            }
        }
        self.schedule.retry_at = self.schedule.retry_at.min(subflow.retry);
        self.schedule.poll_at = self.schedule.poll_at.min(subflow.retry);
        self.traffic.idle_since = None;
    }

    /// The connection is over.
    pub fn end(&mut self, now: Time, shared: &mut Shared) {
        shared.classes[self.schedule.class as usize] -= 1;
        if !self.told {
            let long = shared.settings.history.as_ref().is_some_and(|history| self.traffic.acked >= history.long.get());
            shared.ended(now, self.peer, long);
        }
        for at in std::mem::take(&mut self.paths.listening) {
            shared.unlisten(at);
        }
        let age_s = now.since(self.began).as_secs_f64();
        shared.publish(Event::Over { token: self.arrival.token.to_string(), age_s, long: self.was_long });
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
            token: self.arrival.token.to_string(),
            local: self.arrival.pair.local,
            remote: self.arrival.pair.remote,
            server_side: self.arrival.server_side,
            age_s: now.since(self.began).as_secs_f64(),
            long: self.was_long,
            adopted: self.arrival.adopted,
            rule: self.handling.rule.map(|rule| settings.rules[rule].name.clone()),
            acked_bytes: self.traffic.acked,
            subflows: self.paths.subflows.iter().map(subflow).collect(),
        }
    }

    /// Where a subflow from `lane` goes to, if that is known.
    pub fn remote(&self, lane: usize, settings: &Settings) -> Option<SocketAddr> {
        let remote = if lane == self.home {
            Some(self.arrival.pair.remote)
        } else {
            attempt::remote(self.arrival.pair.remote, lane, &self.paths.announced, settings)
        };
        remote.filter(|remote| !self.arrival.deny_join_initial || remote.ip() != self.arrival.pair.remote.ip())
    }
}

fn new_lanes(judge: Judge, began: Time, long: bool, settings: &Settings) -> Lanes {
    let lanes = Lanes::new(judge, began).expect("the configuration's check validates judges");
    let lanes = lanes.patient(settings.timing.patience);
    if long { lanes.long_from_the_start() } else { lanes }
}
