//! Opening subflows, and closing those that were only a measurement.

use std::net::{IpAddr, SocketAddr};

use headway_control::lanes::Role;
use headway_linux::FourTuple;
use headway_linux::mptcp::Command;
use headway_units::{Span, Time};

use super::super::attempt::{ANSWER, Asked, PAUSE, RETRY, TRIES, UNSAID, id};
use super::super::{Context, Event, Shared};
use super::Connection;
use super::polling::together;
use headway_levers::lanes::LaneOpen;

impl Connection {
    /// Opens what is wanted and missing.
    pub(super) fn open(&mut self, cx: &mut Context<'_>) {
        if self.is_ending() {
            return;
        }
        for lane in 0..cx.shared.lanes.len() {
            if let Some(asked) = self.paths.openings[lane].asked {
                let until = asked.when.saturating_add(ANSWER);
                if cx.now >= until {
                    cx.shared.history.failed(cx.now, self.peer.host, lane);
                    self.not_opened(cx.now, lane, None, cx.shared);
                } else {
                    self.schedule.retry_at = self.schedule.retry_at.min(until);
                    continue;
                }
            }
            if let Some(there) = self.paths.subflows.iter().find(|subflow| subflow.lane == Some(lane)) {
                let at = SocketAddr::new(there.pair.local.ip(), self.arrival.pair.local.port());
                // a daemon before this one listened there, and the other end may measure the lane by further joins
                if self.arrival.adopted
                    && self.arrival.server_side
                    && lane != self.home
                    && !self.paths.listening.contains(&at)
                {
                    self.listen(cx, at);
                }
                continue;
            }
            if !cx.shared.usable(lane) || !self.wants(cx.now, lane, cx.shared) {
                continue;
            }
            if self.arrival.server_side {
                self.announce(cx, lane);
            } else {
                let backup = match cx.shared.role(lane) {
                    Role::Short => self.lanes.is_long(),
                    Role::Long => {
                        let carried = self.paths.subflows.iter().any(|subflow| subflow.alive);
                        carried && !self.lanes.wants_long() && !self.peer_is_long(cx.shared)
                    }
                };
                self.create(cx, lane, backup, None);
            }
        }
    }

    /// Whether a subflow on `lane` is wanted.
    fn wants(&self, now: Time, lane: usize, shared: &Shared) -> bool {
        if self.paths.subflows.iter().all(|subflow| !subflow.alive) {
            // the connection's only hope: a short lane, else any
            let is_short = |lane: usize| shared.role(lane) == Role::Short;
            let short = (0..shared.lanes.len()).any(|other| {
                is_short(other) && shared.usable(other) && !shared.history.is_down(now, self.peer.host, other)
            });
            return is_short(lane) || !short;
        }
        if shared.history.is_down(now, self.peer.host, lane) {
            return false;
        }
        match shared.role(lane) {
            // where it began, if that is closed: something to fall back to
            Role::Short => lane == self.home,
            Role::Long => {
                let early = self.handling.opens == LaneOpen::Early && self.ready && !self.arrival.server_side;
                self.traffic.idle_since.is_none() && (early || (self.lanes.wants_long() && self.ready))
            }
        }
    }

    fn create(&mut self, cx: &mut Context<'_>, lane: usize, backup: bool, replaces: Option<FourTuple>) {
        if let Some(remote) = self.remote(lane, &cx.shared.settings) {
            self.create_to(cx, lane, remote, Asked { when: cx.now, backup, replaces });
        }
    }

    fn create_to(&mut self, cx: &mut Context<'_>, lane: usize, remote: SocketAddr, asked: Asked) {
        let Some(local) = local(lane, remote.ip(), cx.shared) else { return };
        if !self.turn(cx.now, lane, cx.shared) {
            return;
        }
        let state = &cx.shared.lanes[lane];
        let command = Command::Create {
            token: self.arrival.token,
            local,
            local_id: id(lane),
            remote,
            interface: state.interface,
            backup: asked.backup,
        };
        let answer = cx.kernel.command(&command);
        self.answered(cx.now, lane, asked, answer, cx.shared);
    }

    fn announce(&mut self, cx: &mut Context<'_>, lane: usize) {
        let Some(ip) = local(lane, self.arrival.pair.remote.ip(), cx.shared) else { return };
        if !self.turn(cx.now, lane, cx.shared) {
            return;
        }
        self.listen(cx, SocketAddr::new(ip, self.arrival.pair.local.port()));
        let id = id(lane);
        if std::mem::take(&mut self.paths.openings[lane].announced) {
            // announced before, without effect; the other end may have lost it. An announcement that was refused has not
            // taken the identifier, which may be that of another address, whose subflows would end
            let _ = cx.kernel.command(&Command::Withdraw { token: self.arrival.token, id });
        }
        let answer = cx.kernel.command(&Command::Announce { token: self.arrival.token, ip, id, port: None });
        let asked = Asked { when: cx.now, backup: false, replaces: None };
        self.answered(cx.now, lane, asked, answer, cx.shared);
    }

    /// Has a socket listen for this connection's joins, until it is over.
    fn listen(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        if !cx.shared.settings.setup.listen {
            return;
        }
        if !self.paths.listening.contains(&at) {
            self.paths.listening.push(at);
            *cx.shared.listening.entry(at).or_default() += 1;
        }
        // in use: the application itself listens there, which is all that is needed
        let _ = cx.kernel.listen(at);
    }

    /// The other end invites to an address of its: a subflow from the lane that goes there, as a backup unless either end's
    /// data is long. Returns whether it has to wait for its turn.
    pub(super) fn join_announced(&mut self, cx: &mut Context<'_>, ip: IpAddr, port: Option<u16>) -> bool {
        let remote = SocketAddr::new(ip, port.unwrap_or(self.arrival.pair.remote.port()));
        let long = |lane: &usize| cx.shared.role(*lane) == Role::Long && cx.shared.usable(*lane);
        let lane = (0..cx.shared.lanes.len()).filter(long).find(|&lane| {
            let there = self.paths.subflows.iter().any(|subflow| subflow.lane == Some(lane));
            !there
                && self.paths.openings[lane].asked.is_none()
                && self.remote(lane, &cx.shared.settings) == Some(remote)
        });
        let Some(lane) = lane.filter(|_| !self.arrival.server_side && !self.is_ending()) else { return false };
        let backup = !self.lanes.wants_long() && !self.peer_is_long(cx.shared);
        self.create_to(cx, lane, remote, Asked { when: cx.now, backup, replaces: None });
        self.paths.openings[lane].asked.is_none()
    }

    /// Measures the lane of the subflow at `place` anew, which only a join can: opens a second one, whose establishment ends
    /// the first.
    pub(super) fn probe(&mut self, cx: &mut Context<'_>, place: usize) {
        // they give way to the subflows that connections wait for
        if cx.shared.next_open > cx.now.saturating_add(cx.shared.settings.timing.probe_interval) {
            return;
        }
        let subflow = &self.paths.subflows[place];
        let (Some(lane), pair) = (subflow.lane, subflow.pair) else { return };
        if self.paths.openings[lane].asked.is_none() && !self.is_ending() && cx.shared.usable(lane) {
            let before = cx.shared.counters.opens;
            self.create(cx, lane, true, Some(pair));
            cx.shared.counters.probes += cx.shared.counters.opens - before;
        }
    }

    /// Whether it is this connection's turn to open a subflow on `lane`; if not, when it is.
    fn turn(&mut self, now: Time, lane: usize, shared: &mut Shared) -> bool {
        let opening = &mut self.paths.openings[lane];
        if now >= opening.at && !opening.reserved {
            let pace = Span::from_nanos(1_000_000_000 / u64::from(shared.settings.limits.opens_per_second.max(1)));
            opening.at = shared.next_open.max(now);
            opening.reserved = true;
            shared.next_open = opening.at.saturating_add(pace);
        }
        if now < opening.at {
            // those whose turns are close take them together: to wake up for each costs more than to ask the kernel
            self.schedule.retry_at = self.schedule.retry_at.min(together(now, opening.at.since(now)));
            return false;
        }
        opening.reserved = false;
        true
    }

    fn answered(&mut self, now: Time, lane: usize, asked: Asked, answer: Result<(), i32>, shared: &mut Shared) {
        let opening = &mut self.paths.openings[lane];
        match answer {
            Ok(()) => {
                opening.asked = Some(asked);
                opening.tries = 0;
                opening.announced = self.arrival.server_side;
                self.standing.accepted = true;
                shared.counters.opens += 1;
                self.schedule.retry_at = self.schedule.retry_at.min(now.saturating_add(ANSWER));
            }
            // not fully established yet; or gone, which a poll tells
            Err(_) if opening.tries < TRIES => {
                opening.at = now.saturating_add(RETRY.saturating_mul(1 << opening.tries));
                opening.tries += 1;
                shared.counters.retries += 1;
                self.schedule.retry_at = self.schedule.retry_at.min(opening.at);
            }
            Err(errno) => {
                opening.tries = 0;
                opening.asked = Some(asked);
                self.standing.unmanaged |= self.arrival.adopted && !self.standing.accepted && errno != UNSAID;
                self.not_opened(now, lane, Some(errno), shared);
            }
        }
    }

    /// What was asked for on `lane` did not come to be: later again.
    pub(super) fn not_opened(&mut self, now: Time, lane: usize, errno: Option<i32>, shared: &mut Shared) {
        let opening = &mut self.paths.openings[lane];
        if opening.asked.take().is_none() {
            return;
        }
        opening.at = now.saturating_add(PAUSE.saturating_mul(1 << opening.failures.min(6)));
        opening.failures = opening.failures.saturating_add(1);
        self.schedule.retry_at = self.schedule.retry_at.min(opening.at);
        shared.counters.open_failures += 1;
        let lane = shared.settings.lanes[lane].name.clone();
        shared.publish(Event::NotOpened { token: self.arrival.token.to_string(), lane, errno });
    }
}

/// The address of `lane` of the same family as `other`.
fn local(lane: usize, other: IpAddr, shared: &Shared) -> Option<IpAddr> {
    shared.lanes[lane].addresses.iter().copied().find(|ip| ip.is_ipv4() == other.is_ipv4())
}
