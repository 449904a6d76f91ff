//! One network namespace that the daemon looks after.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use headway_daemon::setup::{Done, SetupError};
use headway_daemon::{Failures, Place, ReconnectingSocket, instance_lock};
use headway_linux::Error;
use headway_linux::mptcp::{Events, ManagedBy};
use headway_linux::route::{Address, Link, Monitor, Rtnetlink};
use headway_units::{Span, Time};

use super::RunError;
use super::kernel::LinuxKernel;
use crate::IDENTITY;
use crate::manager::{Event, LaneState, Manager};
use crate::settings::Settings;
use crate::setup;
use crate::snapshot::{Counters, Snapshot};

/// Events that are taken in at a time, before what is due gets its turn.
const EVENTS: usize = 1024;
/// What could not be read is tried again after this.
const AGAIN: Span = Span::from_millis(200);
/// After everything was read anew, events that are lost wait for so many times what that took: who makes them be lost
/// could make the daemon do nothing else.
const REST: u64 = 5;
/// Routes that could not be set up, or that connections still use, are tried again after this.
const LATER: Span = Span::from_secs(10);

/// What a namespace has open, and whether nothing of the set-up is left for later.
type Sockets = (
    LinuxKernel,
    ReconnectingSocket<Events>,
    ReconnectingSocket<Monitor>,
    ReconnectingSocket<Rtnetlink>,
    Option<UnixListener>,
    bool,
);

/// A namespace with its sockets and its manager.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Namespace {
    name: Option<String>,
    place: Place,
    kernel: LinuxKernel,
    events: ReconnectingSocket<Events>,
    changes: ReconnectingSocket<Monitor>,
    interfaces: ReconnectingSocket<Rtnetlink>,
    manager: Manager,
    /// Everything has to be read anew at this time.
    resync: Option<Time>,
    /// Lanes have to be looked at anew at this time.
    resolve: Option<Time>,
    /// Events were left for the next turn.
    more: bool,
    /// Set up routes.
    apply: bool,
    /// Lanes have been looked at since routes were set up in any case.
    settled: bool,
    /// Not all of them could be, or former ones are still in use.
    incomplete: bool,
    /// Of listing connections, of listing interfaces, of setting up.
    failures: [Failures; 3],
    /// Held as long as this lives: no other daemon is in the namespace. `None`: someone else has the name.
    lock: Option<UnixListener>,
    /// Everything is not read anew before this, however often events are lost.
    rested: Time,
}

impl Namespace {
    /// Opens its sockets, sets up routes if asked to, and takes over the connections that are there.
    pub fn open(name: Option<&str>, settings: &Settings, apply: bool, now: Time) -> Result<Namespace, RunError> {
        let io = |what| move |source| RunError::Io { what, source };
        let place = Place::new(name)?;
        let opened = place.inside(|| Ok(Self::sockets(&place, settings, apply)));
        let (kernel, events, changes, interfaces, lock, whole) = opened.map_err(io("network namespace"))??;
        let manager = Manager::new(settings.clone());
        let name = name.map(str::to_owned);
        let (resync, resolve, more, settled, incomplete) = (Some(now), Some(now), false, false, !whole);
        #[rustfmt::skip]
        let mut namespace = Namespace {
            name, place, kernel, events, changes, interfaces, manager, resync, resolve, more, apply, settled, incomplete,
            failures: Default::default(), lock, rested: now,
        };
        namespace.turn(now, Duration::ZERO, true);
        Ok(namespace)
    }

    fn sockets(place: &Place, settings: &Settings, apply: bool) -> Result<Sockets, RunError> {
        let kernel = |what| move |source| RunError::Kernel { what, source };
        let lock = instance_lock(IDENTITY.name)?;
        let done = apply.then(|| set_up(settings, place.name())).transpose()?;
        if ManagedBy::read()? != ManagedBy::Userspace {
            return Err(RunError::PathManager);
        }
        // first of all the events: what happens from here on is told twice rather than never
        let what = "events of the path manager";
        let events = ReconnectingSocket::new(what, place.clone().opens(Events::open)).map_err(kernel(what))?;
        let what = "changes of interfaces";
        let changes = ReconnectingSocket::new(what, place.clone().opens(Monitor::open)).map_err(kernel(what))?;
        let what = "interfaces";
        let interfaces = ReconnectingSocket::new(what, place.clone().opens(Rtnetlink::open)).map_err(kernel(what))?;
        let live = LinuxKernel::open(place.clone()).map_err(kernel("commands and sockets"))?;
        Ok((live, events, changes, interfaces, lock, done.is_none_or(|done| done.is_whole())))
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn events(&mut self) -> Vec<Event> {
        self.manager.events()
    }

    pub fn counters(&mut self) -> &mut Counters {
        self.manager.counters()
    }

    /// Its state without the connections, `uptime` after the daemon's start.
    pub fn summary(&self, uptime: Duration) -> Snapshot {
        Snapshot { netns: self.name.clone(), uptime_s: uptime.as_secs_f64(), ..self.manager.summary() }
    }

    /// Its state at `now`, which is `uptime` after the daemon's start, with the connections.
    pub fn snapshot(&self, now: Time, uptime: Duration) -> Snapshot {
        Snapshot { netns: self.name.clone(), uptime_s: uptime.as_secs_f64(), ..self.manager.snapshot(now) }
    }

    /// What to poll for reading.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let sockets = [self.events.get().map(AsFd::as_fd), self.changes.get().map(AsFd::as_fd)];
        sockets.into_iter().flatten().chain(self.kernel.listeners())
    }

    /// When [`Namespace::turn`] is due because something failed, by the daemon's uptime.
    pub fn mends(&self, uptime: Duration) -> Option<Duration> {
        let sockets =
            [self.events.due(uptime), self.changes.due(uptime), self.interfaces.due(uptime), self.kernel.due()];
        sockets.into_iter().flatten().min()
    }

    /// When [`Namespace::turn`] is due although nothing happens.
    pub fn due(&self) -> Option<Time> {
        let more = self.more.then_some(Time::ZERO);
        [self.manager.next(), self.resync, self.resolve, more].into_iter().flatten().min()
    }

    /// Does what is to be done at `now`, which is `uptime` after the daemon's start. `told`: one of its descriptors has
    /// something to read.
    pub fn turn(&mut self, now: Time, uptime: Duration, told: bool) {
        self.kernel.uptime = uptime;
        self.mend(now);
        if told {
            self.take_changes(now);
            self.kernel.refuse_connections();
            self.refuse_askers();
        }
        if self.resolve.is_some_and(|due| due <= now) {
            self.resolve(now);
        }
        if told || self.more {
            self.take_events(now);
        }
        if self.resync.is_some_and(|due| due <= now) {
            self.read_anew(now);
        }
        self.manager.run(now, &mut self.kernel);
        if self.manager.stale_listeners() {
            self.kernel.listen_only(|at| self.manager.listens(at));
        }
    }

    /// Opens anew what has failed, and asks for what was not told meanwhile.
    fn mend(&mut self, now: Time) {
        let uptime = self.kernel.uptime;
        if self.events.reopen(uptime) {
            self.resync = Some(now);
        }
        if self.changes.reopen(uptime) {
            self.resolve = Some(now);
        }
        self.interfaces.reopen(uptime);
        let lost = self.kernel.mend() + self.events.lost() + self.changes.lost() + self.interfaces.lost();
        self.manager.counters().sockets_lost += lost;
    }

    /// Closes what asked who has the name, so that there is room for the next one.
    fn refuse_askers(&self) {
        for _ in 0..8 {
            if self.lock.as_ref().is_none_or(|listener| listener.accept().is_err()) {
                return;
            }
        }
    }

    fn take_changes(&mut self, now: Time) {
        for _ in 0..EVENTS {
            let Some(changes) = self.changes.get_mut() else { return };
            match changes.next() {
                Ok(None) => return,
                Ok(Some(_)) | Err(Error::Malformed(_)) => {}
                Err(Error::Overrun) => self.manager.counters().overruns += 1,
                Err(error) => {
                    if !self.changes.failed(&error, self.kernel.uptime) {
                        self.resolve = Some(now.saturating_add(AGAIN));
                    }
                    return;
                }
            }
            self.resolve = Some(now);
        }
    }

    fn take_events(&mut self, now: Time) {
        self.more = false;
        for _ in 0..EVENTS {
            let Some(events) = self.events.get_mut() else { return };
            match events.next() {
                Ok(None) => return,
                Ok(Some(event)) => self.manager.event(now, &event, &mut self.kernel),
                Err(Error::Malformed(error)) => {
                    tracing::debug!(%error, "an event that cannot be understood");
                    self.manager.counters().malformed += 1;
                }
                Err(Error::Overrun) => {
                    self.manager.counters().overruns += 1;
                    self.resync = Some(now.max(self.rested));
                }
                Err(error) => {
                    if !self.events.failed(&error, self.kernel.uptime) {
                        self.resync = Some(now.saturating_add(AGAIN));
                    }
                    return;
                }
            }
        }
        self.more = true;
    }

    fn read_anew(&mut self, now: Time) {
        let start = Instant::now();
        let read = self.kernel.all();
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX / 1000);
        self.rested = now.saturating_add(Span::from_nanos(took).saturating_mul(REST));
        match read {
            Ok((connections, subflows, unreadable)) => {
                self.resync = None;
                self.manager.counters().unreadable += unreadable as u64;
                self.manager.resync(now, &connections, &subflows, &mut self.kernel);
            }
            Err(error) => {
                if self.failures[0].add(self.kernel.uptime) {
                    tracing::warn!(%error, "connections cannot be listed; trying again");
                }
                self.resync = Some(now.saturating_add(AGAIN));
            }
        }
    }

    /// Finds out which addresses and interfaces lanes have now.
    fn resolve(&mut self, now: Time) {
        let interfaces = self.interfaces.get_mut().ok_or(Error::NoAnswer);
        let read = interfaces.and_then(|interfaces| Ok((interfaces.links()?, interfaces.addresses()?)));
        let (links, addresses) = match read {
            Ok(read) => read,
            Err(error) => {
                self.interfaces.failed(&error, self.kernel.uptime);
                if self.failures[1].add(self.kernel.uptime) {
                    tracing::warn!(%error, "interfaces cannot be listed; trying again");
                }
                self.resolve = Some(now.saturating_add(AGAIN));
                return;
            }
        };
        self.resolve = None;
        let states: Vec<LaneState> =
            self.manager.settings().lanes.iter().map(|lane| state(lane, &links, &addresses)).collect();
        // routes go with their interface, and do not come back with it; it may be there for the first time
        let mut lanes = states.iter().zip(self.manager.lanes());
        let changed = std::mem::replace(&mut self.settled, true) && lanes.any(|(now, before)| now.up && now != before);
        if self.apply && (changed || self.incomplete) {
            self.set_up(now);
        }
        self.kernel.interfaces = states
            .iter()
            .flat_map(|state| state.addresses.iter().map(|ip| (*ip, state.interface)))
            .collect::<BTreeMap<IpAddr, u32>>();
        for (lane, state) in states.into_iter().enumerate() {
            self.manager.lane(now, lane, state, &mut self.kernel);
        }
    }

    /// Goes on by other settings.
    pub fn reconfigure(&mut self, settings: &Settings, now: Time) {
        self.manager.reconfigure(settings.clone());
        self.settled = false;
        if self.apply {
            self.set_up(now);
        }
        (self.resolve, self.resync) = (Some(now), Some(now));
        self.turn(now, self.kernel.uptime, true);
    }

    fn set_up(&mut self, now: Time) {
        let settings = self.manager.settings();
        let applied = self.place.inside(|| set_up(settings, self.name.as_deref()).map_err(io::Error::other));
        self.incomplete = !matches!(&applied, Ok(done) if done.is_whole());
        match applied {
            Err(error) if self.failures[2].add(self.kernel.uptime) => {
                tracing::error!(%error, "routes are not set up in full; trying again");
            }
            _ => {}
        }
        if self.incomplete {
            self.resolve = Some(now.saturating_add(LATER));
        }
    }

    /// Time begins anew: it is `now` what was `then` before.
    pub fn set_clock(&mut self, then: Time, now: Time) {
        self.manager.set_clock(then, now);
        self.rested = now;
        self.settled = false;
        (self.resolve, self.resync) = (Some(now), Some(now));
    }
}

/// A lane as it is, given all interfaces and addresses.
fn state(lane: &crate::settings::Lane, links: &[Link], addresses: &[Address]) -> LaneState {
    let named = lane.interface.as_ref().map(|name| links.iter().find(|link| link.name == *name));
    let own = |address: &&Address| match named {
        Some(link) => link.is_some_and(|link| link.index == address.interface),
        None => true,
    };
    let wanted = |address: &&Address| {
        if lane.addresses.is_empty() {
            address.global && !address.deprecated
        } else {
            lane.addresses.contains(&address.ip)
        }
    };
    let found: Vec<&Address> = addresses.iter().filter(own).filter(wanted).filter(|address| address.usable).collect();
    let index = named.flatten().map(|link| link.index).or(found.first().map(|address| address.interface));
    let link = links.iter().find(|link| Some(link.index) == index);
    LaneState {
        addresses: found.iter().map(|address| address.ip).collect(),
        interface: index.unwrap_or(0),
        up: link.is_some_and(Link::usable),
    }
}

/// Sets up routes, the path manager and its limits in the namespace `name`, which the calling thread is in.
fn set_up(settings: &Settings, name: Option<&str>) -> Result<Done, SetupError> {
    let done = setup::set_up(settings, name)?;
    let Done { done: new, there, undone, in_use, waits } = done;
    // again and again, as long as connections use what is not wanted any more or an interface is down
    if new > 0 || undone > 0 || done.is_whole() {
        tracing::info!(netns = name, done = new, there, undone, in_use, waits, "set up");
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use headway_control::lanes::Role;
    use headway_linux::route::OperState;

    use super::*;
    use crate::settings::{Lane, Remote};

    fn link(index: u32, name: &str, carrier: bool) -> Link {
        let state = if carrier { OperState::Up } else { OperState::Down };
        Link { index, name: name.to_owned(), up: true, carrier, state, mtu: 1500 }
    }

    fn address(interface: u32, ip: &str, global: bool, usable: bool) -> Address {
        Address { interface, ip: ip.parse().unwrap(), prefix: 24, global, usable, deprecated: false }
    }

    fn lane(interface: Option<&str>, addresses: &[&str]) -> Lane {
        Lane {
            name: "one".to_owned(),
            role: Role::Long,
            interface: interface.map(str::to_owned),
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            gateways: Vec::new(),
            remote: Remote::Same,
        }
    }

    #[test]
    fn a_lane_has_the_usable_global_addresses_of_its_interface_or_those_that_are_named() {
        let links = [link(2, "eth0", true), link(3, "eth1", false)];
        let addresses = [
            address(2, "10.0.0.1", true, true),
            address(2, "fe80::1", false, true),
            address(2, "fd00::1", true, false),
            address(3, "10.1.0.1", true, true),
            address(3, "10.1.0.2", true, true),
        ];
        let eth0 = state(&lane(Some("eth0"), &[]), &links, &addresses);
        assert_eq!(eth0, LaneState { addresses: vec!["10.0.0.1".parse().unwrap()], interface: 2, up: true });
        let eth1 = state(&lane(Some("eth1"), &["10.1.0.2"]), &links, &addresses);
        assert_eq!(eth1, LaneState { addresses: vec!["10.1.0.2".parse().unwrap()], interface: 3, up: false });
        // by address alone the interface is found
        let found = state(&lane(None, &["10.0.0.1"]), &links, &addresses);
        assert_eq!((found.interface, found.up), (2, true));
        // an address that moved elsewhere is not on this lane
        assert!(state(&lane(Some("eth0"), &["10.1.0.1"]), &links, &addresses).addresses.is_empty());
        let none = state(&lane(Some("eth9"), &[]), &links, &addresses);
        assert_eq!(none, LaneState::default());
    }

    /// A namespace with its loopback up, gone with this.
    struct Netns(String);

    impl Netns {
        /// `None`, with the reason printed, where it cannot be made.
        fn new() -> Option<Netns> {
            use std::sync::atomic::{AtomicU32, Ordering};
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name = format!("laneloop-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let ip = |arguments: &str| {
                let run = std::process::Command::new("ip").args(arguments.split(' ')).output();
                run.is_ok_and(|output| output.status.success())
            };
            if !rustix::process::geteuid().is_root() || !ip(&format!("netns add {name}")) {
                eprintln!("skipped: this needs root and ip(8)");
                return None;
            }
            let netns = Netns(name);
            assert!(ip(&format!("-n {} link set lo up", netns.0)));
            let userspace = Place::new(Some(&netns.0)).unwrap().inside(|| {
                headway_linux::sysctl::write("net.mptcp.enabled", "1").map_err(io::Error::other)?;
                ManagedBy::Userspace.write().map_err(io::Error::other)
            });
            if let Err(error) = userspace {
                eprintln!("skipped: {error}");
                return None;
            }
            Some(netns)
        }
    }

    impl Drop for Netns {
        fn drop(&mut self) {
            let _ = std::process::Command::new("ip").args(["netns", "del", &self.0]).status();
        }
    }

    #[test]
    fn a_user_who_takes_the_daemons_name_does_not_keep_it_from_running() {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
        let Some(netns) = Netns::new() else { return };
        let place = Place::new(Some(&netns.0)).unwrap();
        let squat = |uid: u32, listen: bool| {
            let place = place.clone();
            // user and namespace are a thread's own here
            let squat = move || {
                let take = || {
                    let uid = rustix::process::Uid::from_raw(uid);
                    rustix::thread::set_thread_res_uid(uid, uid, None)?;
                    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
                    rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(IDENTITY.name.as_bytes())?)?;
                    if listen {
                        rustix::net::listen(&socket, 1)?;
                    }
                    io::Result::Ok(socket)
                };
                let Place::There(_, files) = &place else { unreachable!() };
                headway_linux::netns::enter_open(&files[0])?;
                take()
            };
            std::thread::spawn(squat).join().unwrap()
        };
        // a process that another test starts may hold a closed socket for a moment
        let soon = |check: &dyn Fn() -> bool| {
            let start = Instant::now();
            while !check() {
                assert!(start.elapsed() < std::time::Duration::from_secs(20), "the name is not free");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        };
        let taken = std::cell::RefCell::new(None);
        let take = |uid: u32, listen: bool| {
            taken.take();
            soon(&|| squat(uid, listen).is_ok_and(|socket| taken.replace(Some(socket)).is_none()));
        };
        let inside = || place.inside(|| Ok(instance_lock(IDENTITY.name))).unwrap();
        for listen in [true, false] {
            take(65_534, listen);
            assert!(inside().unwrap().is_none());
        }
        take(0, true);
        assert!(matches!(inside(), Err(headway_daemon::RunError::Taken(_))));
        taken.take();
        let held = std::cell::RefCell::new(None);
        soon(&|| held.replace(inside().ok().flatten()).is_none() && held.borrow().is_some());
        assert!(matches!(inside(), Err(headway_daemon::RunError::Taken(_))));
    }

    #[test]
    fn what_was_not_told_while_a_socket_was_dead_is_asked_for() {
        let Some(netns) = Netns::new() else { return };
        let text = "side = \"client\"\n[[lane]]\nname = \"a\"\nrole = \"short\"\naddress = \"127.0.0.1\"\n\
            [[lane]]\nname = \"b\"\nrole = \"long\"\naddress = \"127.0.0.2\"\n";
        let settings = crate::config::Configuration::read(text, "lane.toml", &|_| None).unwrap().settings;
        let now = |ms| Time::ZERO + Span::from_millis(ms);
        let mut namespace = Namespace::open(Some(&netns.0), &settings, false, now(0)).unwrap();
        let connect = || {
            let listener = headway_linux::mptcp_socket::listen("127.0.0.1:0".parse().unwrap(), 1)?;
            let near = headway_linux::mptcp_socket::connect(listener.local_addr()?, None)?;
            let (far, _) = listener.accept()?;
            // fully established is what has been answered
            for (mut from, mut to) in [(&near, &far), (&far, &near)] {
                io::Write::write_all(&mut from, b"x")?;
                io::Read::read_exact(&mut to, &mut [0])?;
            }
            Ok((near, far))
        };
        let place = namespace.place.clone();
        let _one = place.inside(connect).unwrap();
        namespace.turn(now(1), Duration::from_millis(1), true);
        assert_eq!(namespace.counters().managed, 1);
        let died = || Error::Call { call: "recvfrom(AF_NETLINK)", source: io::Error::from_raw_os_error(100) };
        let uptime = namespace.kernel.uptime;
        assert!(namespace.events.failed(&died(), uptime));
        assert!(namespace.changes.failed(&died(), uptime));
        assert!(namespace.interfaces.failed(&died(), uptime));
        assert_eq!(namespace.fds().count(), 0, "nothing of what is dead is polled");
        let _two = place.inside(connect).unwrap();
        namespace.turn(now(2), Duration::from_millis(2), true);
        assert_eq!(namespace.counters().managed, 1);
        let due = namespace.mends(Duration::from_millis(2)).unwrap();
        namespace.turn(now(1000), due, false);
        assert_eq!((namespace.counters().managed, namespace.counters().sockets_lost), (2, 3));
        assert_eq!((namespace.fds().count(), namespace.mends(due)), (2, None));
        let _three = place.inside(connect).unwrap();
        namespace.turn(now(1001), due, true);
        assert_eq!(namespace.counters().managed, 3);
    }
}
