//! Opening subflows, and closing those that were only a measurement.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use headway_control::lanes::Role;
use headway_levers::lanes::LaneOpen;
use headway_linux::FourTuple;
use headway_linux::mptcp::Command;
use headway_units::{Span, Time};
use ipnet::IpNet;

use super::connection::looking::together;
use super::connection::{Announced, Connection, RETRY, TRIES, UNSAID};
use super::{Kernel, Note, Shared};
use crate::settings::{Remote, Settings};

/// A join without an answer after so long counts as failed: two retransmissions of its SYN (RFC 6298: 1 s, 2 s).
const ANSWER: Span = Span::from_secs(3);
/// The first pause after a failure; doubled each time, up to 64 of it.
const PAUSE: Span = Span::from_secs(1);
/// How long a lane rests whose subflow was closed: at the end of a connection all are.
const CLOSED: Span = Span::from_millis(200);

/// What was asked of the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    when: Time,
    pub backup: bool,
    /// The subflow it takes the place of, when the lane is measured anew.
    pub replaces: Option<FourTuple>,
}

/// A connection's attempts to open a subflow on one lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Opening {
    asked: Option<Asked>,
    /// The next attempt is not before.
    at: Time,
    /// Its turn among all connections' openings has been given out: `at`.
    reserved: bool,
    /// Refusals in a row because the connection is not ready.
    tries: u8,
    /// Failures in a row.
    failures: u8,
    /// The kernel has announced the lane's address by this daemon's identifier of it.
    announced: bool,
}

impl Opening {
    /// A subflow on the lane is established.
    pub fn established(&mut self) -> Option<Asked> {
        let asked = self.asked.take();
        *self = Opening { at: self.at, ..Opening::default() };
        asked
    }

    /// The lane is up again: no reason to wait.
    pub fn renew(&mut self) {
        *self = Opening { asked: self.asked, ..Opening::default() };
    }

    /// A subflow on the lane is over.
    pub fn closed(&mut self, now: Time) {
        self.at = self.at.max(now.saturating_add(CLOSED));
    }
}

impl Connection {
    /// Opens what is wanted and missing.
    pub(super) fn open(&mut self, now: Time, shared: &mut Shared, kernel: &mut dyn Kernel) {
        if self.is_ending() {
            return;
        }
        for lane in 0..shared.lanes.len() {
            if let Some(asked) = self.openings[lane].asked {
                let until = asked.when.saturating_add(ANSWER);
                if now >= until {
                    shared.history.failed(now, self.host, lane);
                    self.not_opened(now, lane, None, shared);
                } else {
                    self.retry_at = self.retry_at.min(until);
                    continue;
                }
            }
            if let Some(there) = self.subflows.iter().find(|subflow| subflow.lane == Some(lane)) {
                let at = SocketAddr::new(there.pair.local.ip(), self.pair.local.port());
                // a daemon before this one listened there, and the other end may measure the lane by further joins
                if self.adopted && self.server_side && lane != self.home && !self.listening.contains(&at) {
                    self.listen(at, shared, kernel);
                }
                continue;
            }
            if !shared.usable(lane) || !self.wants(now, lane, shared) {
                continue;
            }
            if self.server_side {
                self.announce(now, lane, shared, kernel);
            } else {
                let backup = match shared.role(lane) {
                    Role::Short => self.lanes.is_long(),
                    Role::Long => {
                        let carried = self.subflows.iter().any(|subflow| subflow.alive);
                        carried && !self.lanes.wants_long() && !self.peer_is_long(shared)
                    }
                };
                self.create(now, lane, backup, None, shared, kernel);
            }
        }
    }

    /// Whether a subflow on `lane` is wanted.
    fn wants(&self, now: Time, lane: usize, shared: &Shared) -> bool {
        if self.subflows.iter().all(|subflow| !subflow.alive) {
            // the connection's only hope: a short lane, else any
            let is_short = |lane: usize| shared.role(lane) == Role::Short;
            let short = (0..shared.lanes.len())
                .any(|other| is_short(other) && shared.usable(other) && !shared.history.is_down(now, self.host, other));
            return is_short(lane) || !short;
        }
        if shared.history.is_down(now, self.host, lane) {
            return false;
        }
        match shared.role(lane) {
            // where it began, if that is closed: something to fall back to
            Role::Short => lane == self.home,
            Role::Long => {
                let early = self.opens == LaneOpen::Early && self.ready && !self.server_side;
                self.quiet.is_none() && (early || (self.lanes.wants_long() && self.ready))
            }
        }
    }

    fn create(
        &mut self,
        now: Time,
        lane: usize,
        backup: bool,
        replaces: Option<FourTuple>,
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) {
        if let Some(remote) = self.remote(lane, &shared.settings) {
            self.create_to(now, lane, remote, Asked { when: now, backup, replaces }, shared, kernel);
        }
    }

    fn create_to(
        &mut self,
        now: Time,
        lane: usize,
        remote: SocketAddr,
        asked: Asked,
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) {
        let Some(local) = local(lane, remote.ip(), shared) else { return };
        if !self.turn(now, lane, shared) {
            return;
        }
        let state = &shared.lanes[lane];
        let command = Command::Create {
            token: self.token,
            local,
            local_id: id(lane),
            remote,
            interface: state.interface,
            backup: asked.backup,
        };
        let answer = kernel.command(&command);
        self.answered(now, lane, asked, answer, shared);
    }

    fn announce(&mut self, now: Time, lane: usize, shared: &mut Shared, kernel: &mut dyn Kernel) {
        let Some(ip) = local(lane, self.pair.remote.ip(), shared) else { return };
        if !self.turn(now, lane, shared) {
            return;
        }
        self.listen(SocketAddr::new(ip, self.pair.local.port()), shared, kernel);
        let id = id(lane);
        if std::mem::take(&mut self.openings[lane].announced) {
            // announced before, without effect; the other end may have lost it. An announcement that was refused has not
            // taken the identifier, which may be that of another address, whose subflows would end
            let _ = kernel.command(&Command::Withdraw { token: self.token, id });
        }
        let answer = kernel.command(&Command::Announce { token: self.token, ip, id, port: None });
        let asked = Asked { when: now, backup: false, replaces: None };
        self.answered(now, lane, asked, answer, shared);
    }

    /// Has a socket listen for this connection's joins, until it is over.
    fn listen(&mut self, at: SocketAddr, shared: &mut Shared, kernel: &mut dyn Kernel) {
        if !shared.settings.setup.listen {
            return;
        }
        if !self.listening.contains(&at) {
            self.listening.push(at);
            *shared.listening.entry(at).or_default() += 1;
        }
        // in use: the application itself listens there, which is all that is needed
        let _ = kernel.listen(at);
    }

    /// The other end invites to an address of its: a subflow from the lane that goes there, as a backup unless either end's
    /// data is long. Returns whether it has to wait for its turn.
    pub(super) fn join_announced(
        &mut self,
        now: Time,
        ip: IpAddr,
        port: Option<u16>,
        shared: &mut Shared,
        kernel: &mut dyn Kernel,
    ) -> bool {
        let remote = SocketAddr::new(ip, port.unwrap_or(self.pair.remote.port()));
        let long = |lane: &usize| shared.role(*lane) == Role::Long && shared.usable(*lane);
        let lane = (0..shared.lanes.len()).filter(long).find(|&lane| {
            let there = self.subflows.iter().any(|subflow| subflow.lane == Some(lane));
            !there && self.openings[lane].asked.is_none() && self.remote(lane, &shared.settings) == Some(remote)
        });
        let Some(lane) = lane.filter(|_| !self.server_side && !self.is_ending()) else { return false };
        let backup = !self.lanes.wants_long() && !self.peer_is_long(shared);
        self.create_to(now, lane, remote, Asked { when: now, backup, replaces: None }, shared, kernel);
        self.openings[lane].asked.is_none()
    }

    /// Measures the lane of the subflow at `place` anew, which only a join can: opens a second one, whose establishment ends
    /// the first.
    pub(super) fn probe(&mut self, now: Time, place: usize, shared: &mut Shared, kernel: &mut dyn Kernel) {
        // they give way to the subflows that connections wait for
        if shared.next_open > now.saturating_add(shared.settings.timing.probe_interval) {
            return;
        }
        let subflow = &self.subflows[place];
        let (Some(lane), pair) = (subflow.lane, subflow.pair) else { return };
        if self.openings[lane].asked.is_none() && !self.is_ending() && shared.usable(lane) {
            let before = shared.counters.opens;
            self.create(now, lane, true, Some(pair), shared, kernel);
            shared.counters.probes += shared.counters.opens - before;
        }
    }

    /// Whether it is this connection's turn to open a subflow on `lane`; if not, when it is.
    fn turn(&mut self, now: Time, lane: usize, shared: &mut Shared) -> bool {
        let opening = &mut self.openings[lane];
        if now >= opening.at && !opening.reserved {
            let pace = Span::from_nanos(1_000_000_000 / u64::from(shared.settings.limits.opens_per_second.max(1)));
            opening.at = shared.next_open.max(now);
            opening.reserved = true;
            shared.next_open = opening.at.saturating_add(pace);
        }
        if now < opening.at {
            // those whose turns are close take them together: to wake up for each costs more than to ask the kernel
            self.retry_at = self.retry_at.min(together(now, opening.at.since(now)));
            return false;
        }
        opening.reserved = false;
        true
    }

    fn answered(&mut self, now: Time, lane: usize, asked: Asked, answer: Result<(), i32>, shared: &mut Shared) {
        let opening = &mut self.openings[lane];
        match answer {
            Ok(()) => {
                opening.asked = Some(asked);
                opening.tries = 0;
                opening.announced = self.server_side;
                self.obeyed = true;
                shared.counters.opens += 1;
                self.retry_at = self.retry_at.min(now.saturating_add(ANSWER));
            }
            // not fully established yet; or gone, which a look tells
            Err(_) if opening.tries < TRIES => {
                opening.at = now.saturating_add(RETRY.saturating_mul(1 << opening.tries));
                opening.tries += 1;
                shared.counters.retries += 1;
                self.retry_at = self.retry_at.min(opening.at);
            }
            Err(errno) => {
                opening.tries = 0;
                opening.asked = Some(asked);
                self.left |= self.adopted && !self.obeyed && errno != UNSAID;
                self.not_opened(now, lane, Some(errno), shared);
            }
        }
    }

    /// What was asked for on `lane` did not come to be: later again.
    pub(super) fn not_opened(&mut self, now: Time, lane: usize, errno: Option<i32>, shared: &mut Shared) {
        let opening = &mut self.openings[lane];
        if opening.asked.take().is_none() {
            return;
        }
        opening.at = now.saturating_add(PAUSE.saturating_mul(1 << opening.failures.min(6)));
        opening.failures = opening.failures.saturating_add(1);
        self.retry_at = self.retry_at.min(opening.at);
        shared.counters.open_failures += 1;
        let lane = shared.settings.lanes[lane].name.clone();
        shared.note(Note::NotOpened { token: self.token.to_string(), lane, errno });
    }
}

/// The identifier of a lane's address on connections. The kernel gives out its own from 1 on.
fn id(lane: usize) -> u8 {
    101 + lane as u8
}

/// The address of `lane` of the same family as `other`.
fn local(lane: usize, other: IpAddr, shared: &Shared) -> Option<IpAddr> {
    shared.lanes[lane].addresses.iter().copied().find(|ip| ip.is_ipv4() == other.is_ipv4())
}

/// Where a subflow from `lane` goes to on a connection to `first`.
pub(super) fn remote(
    first: SocketAddr,
    lane: usize,
    announced: &[Announced],
    settings: &Settings,
) -> Option<SocketAddr> {
    match &settings.lanes[lane].remote {
        Remote::Same => Some(first),
        Remote::Mapped(nets) => {
            let net = nets.iter().find(|net| net.addr().is_ipv4() == first.is_ipv4())?;
            Some(SocketAddr::new(mapped(first.ip(), net), first.port()))
        }
        Remote::Announced => {
            let long = |lane: usize| settings.lanes[lane].role == Role::Long;
            let nth = (0..lane).filter(|&other| long(other) == long(lane)).count();
            let mut same = announced.iter().filter(|one| one.ip.is_ipv4() == first.is_ipv4());
            let one = same.nth(nth)?;
            Some(SocketAddr::new(one.ip, one.port.unwrap_or(first.port())))
        }
    }
}

/// `ip` with its first bits replaced by those of `net`, of the same family.
fn mapped(ip: IpAddr, net: &IpNet) -> IpAddr {
    match (ip, net) {
        (IpAddr::V4(ip), IpNet::V4(net)) => {
            let mask = u32::from(net.netmask());
            IpAddr::V4(Ipv4Addr::from((u32::from(net.network()) & mask) | (u32::from(ip) & !mask)))
        }
        (IpAddr::V6(ip), IpNet::V6(net)) => {
            let mask = u128::from(net.netmask());
            IpAddr::V6(Ipv6Addr::from((u128::from(net.network()) & mask) | (u128::from(ip) & !mask)))
        }
        _ => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_mapped_by_its_prefix() {
        let net: IpNet = "10.1.0.0/16".parse().unwrap();
        assert_eq!(mapped("10.0.3.7".parse().unwrap(), &net), "10.1.3.7".parse::<IpAddr>().unwrap());
        let net: IpNet = "fd00:0:0:1::/64".parse().unwrap();
        assert_eq!(mapped("fd00::4".parse().unwrap(), &net), "fd00:0:0:1::4".parse::<IpAddr>().unwrap());
        let all: IpNet = "10.9.9.9/32".parse().unwrap();
        assert_eq!(mapped("10.0.3.7".parse().unwrap(), &all), "10.9.9.9".parse::<IpAddr>().unwrap());
        let none: IpNet = "0.0.0.0/0".parse().unwrap();
        assert_eq!(mapped("10.0.3.7".parse().unwrap(), &none), "10.0.3.7".parse::<IpAddr>().unwrap());
    }
}
