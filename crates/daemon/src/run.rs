//! The event loop of every daemon: one thread, nothing waits but `poll`.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use headway_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::clock::Clock;
use crate::config::ConfigError;
use crate::http::{BindError, Interest, Server, answer};
use crate::identity::Operations;
use crate::notify;
use crate::signals::Signals;

/// What a daemon does besides what all of them do. The loop calls it from one thread; no call may wait.
pub trait Service {
    /// What the configuration says, checked.
    type Settings;

    /// What is to be read gathers for so long after some was taken in: to wake up for each event takes processors from the
    /// very flows that they are of.
    const GATHER: Duration = Duration::ZERO;

    /// The settings it goes by.
    fn settings(&self) -> &Self::Settings;

    /// Settings in a few words, for the service manager and the log.
    fn summary(settings: &Self::Settings) -> String;

    /// Adds what to poll for.
    fn interests<'a>(&'a self, _all: &mut Vec<Interest<'a>>) {}

    /// How long until [`Service::turn`] is due although nothing happens; `None`: for ever.
    fn wait(&self, _: Clock) -> Option<Duration> {
        None
    }

    /// Does what there is to do. `ready`: which of [`Service::interests`] can go on, one for each.
    fn turn(&mut self, _: Clock, _ready: &[bool]) {}

    /// Logs what happened since the last call, and sends it to those who follow events.
    fn tell(&mut self, _: Clock, _: &mut Server) {}

    /// The clock begins anew: it is `now` what was `then` before.
    fn set_clock(&mut self, _then: Time, _now: Time) {}

    /// The page `/metrics`. It must name nobody: any user of the host can ask.
    fn metrics(&self, clock: Clock) -> String;

    /// The page `/status`.
    fn status(&self, clock: Clock) -> impl Serialize;

    /// Reads the configuration again, and changes nothing yet.
    ///
    /// # Errors
    /// If it is wrong, or something in it cannot change while the daemon runs.
    fn read(&self) -> Result<(Self::Settings, Operations), ReloadError>;

    /// Goes on by other settings.
    fn reconfigure(&mut self, settings: Self::Settings, clock: Clock);

    /// The configuration's file, for the log.
    fn config(&self) -> &Path;

    /// Counts what the loop has seen.
    fn count(&mut self, _: Count) {}
}

/// What the loop counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// So often no connection for status or metrics could be accepted.
    AcceptFailures(u64),
    /// A new configuration was wrong, and the old one was kept.
    ReloadFailed,
}

/// Why the loop does not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sockets for status and metrics.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Another instance looks after the network namespace, or the namespace was named twice.
    #[error("another {0} looks after this network namespace")]
    Taken(String),
    /// Something of the process' own.
    #[error("{what}: {source}")]
    Io {
        /// What.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// Why the configuration stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The new one cannot be read or is wrong.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// Its sockets cannot be had.
    #[error("{0}")]
    Bind(#[from] BindError),
    /// `operations.state` changed, while something that was set up is recorded there.
    #[error(
        "operations.state is where is recorded what was set up; to change it, end the daemon, clean up, and start it anew"
    )]
    State,
}

/// After the kernel had no memory for `poll`.
const NO_MEMORY: Duration = Duration::from_millis(1);

/// What `poll` told.
#[derive(Debug, Default)]
struct Ready {
    signals: bool,
    /// In the order of the service's interests.
    service: Vec<bool>,
    server: bool,
}

struct Loop<S> {
    clock: Clock,
    service: S,
    server: Server,
    signals: Signals,
    /// How often the service manager wants to hear, and when next.
    watchdog: Option<(Duration, Instant)>,
    /// Until then what is to be read gathers.
    gathered: Instant,
}

/// Runs a daemon until it is told to end: SIGTERM and SIGINT end it, SIGHUP has it read its configuration again. `open`
/// makes its service once the sockets of `operations` are there.
///
/// # Errors
/// If it cannot start. What goes wrong later is told in the log and counted.
pub fn run<S: Service, E: From<RunError>>(
    operations: &Operations,
    open: impl FnOnce(Clock) -> Result<S, E>,
) -> Result<(), E> {
    // before everything else, so that a signal never meets a daemon that does not listen
    let signals = Signals::listen().map_err(|source| RunError::Io { what: "signals", source })?;
    let server = Server::bind(operations).map_err(RunError::from)?;
    let clock = Clock::new();
    let service = open(clock)?;
    let watchdog = notify::watchdog_interval().map(|interval| (interval, Instant::now() + interval));
    let mut all = Loop { clock, service, server, signals, watchdog, gathered: Instant::now() };
    all.service.tell(clock, &mut all.server);
    notify::ready(&S::summary(all.service.settings()));
    while all.turn().map_err(|source| RunError::Io { what: "poll", source })? {}
    notify::stopping();
    Ok(())
}

impl<S: Service> Loop<S> {
    /// Waits for something and does it. Returns whether to go on.
    fn turn(&mut self) -> io::Result<bool> {
        let ready = self.wait()?;
        if ready.signals && Signals::came(&self.signals.stop) {
            return Ok(false);
        }
        if let Some(then) = self.clock.renew() {
            self.service.set_clock(then, self.clock.now());
        }
        if ready.service.contains(&true) {
            self.gathered = Instant::now() + S::GATHER;
        }
        self.service.turn(self.clock, &ready.service);
        // not before, as what is ready is told of the interests that were polled
        if ready.signals && Signals::came(&self.signals.reload) {
            self.reload();
        }
        self.service.tell(self.clock, &mut self.server);
        let uptime = self.clock.uptime();
        if ready.server || self.server.timeout(uptime).is_some_and(|remaining| remaining.is_zero()) {
            let (service, clock) = (&self.service, self.clock);
            self.server.serve(uptime, |request| answer(request, || service.metrics(clock), || service.status(clock)));
            self.service.count(Count::AcceptFailures(self.server.failures()));
        }
        if let Some((interval, due)) = &mut self.watchdog
            && Instant::now() >= *due
        {
            notify::alive();
            *due = Instant::now() + *interval;
        }
        Ok(true)
    }

    fn wait(&self) -> io::Result<Ready> {
        let uptime = self.clock.uptime();
        let gathering = self.gathered.saturating_duration_since(Instant::now());
        let waits = [
            self.service.wait(self.clock),
            self.server.timeout(uptime),
            self.watchdog.map(|(_, due)| due.saturating_duration_since(Instant::now())),
            Some(gathering).filter(|gathering| !gathering.is_zero()),
        ];
        let timeout = waits.into_iter().flatten().fold(Clock::MAX_WAIT, Duration::min);
        let mut wanted = Vec::new();
        self.service.interests(&mut wanted);
        let count = wanted.len();
        // in this order: signals, the service's unless they gather, the server's
        let signals = [self.signals.stop.as_fd(), self.signals.reload.as_fd()];
        let mut fds: Vec<PollFd<'_>> =
            signals.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        if gathering.is_zero() {
            fds.extend(wanted.into_iter().map(poll_fd));
        }
        let server = fds.len();
        fds.extend(self.server.interests(uptime).map(poll_fd));
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let none = Ready { service: vec![false; count], ..Ready::default() };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready { signals: true, ..none }),
            // of the kernel's memory; what is due is done
            Err(rustix::io::Errno::NOMEM | rustix::io::Errno::AGAIN) => {
                std::thread::sleep(NO_MEMORY);
                return Ok(none);
            }
            Err(errno) => return Err(errno.into()),
        }
        let told: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let any = |part: &[bool]| part.contains(&true);
        let service = if gathering.is_zero() { told[2..server].to_vec() } else { none.service };
        Ok(Ready { signals: any(&told[..2]), service, server: any(&told[server..]) })
    }

    /// Reads the configuration again. A wrong one changes nothing.
    fn reload(&mut self) {
        notify::reloading();
        match self.reloaded() {
            Ok(settings) => {
                let config = self.service.config().display();
                tracing::info!(%config, "configuration read: {}", S::summary(&settings));
                self.service.reconfigure(settings, self.clock);
            }
            Err(error) => {
                let config = self.service.config().display();
                tracing::error!(%config, "the configuration stays as it was: {error}");
                self.service.count(Count::ReloadFailed);
            }
        }
        notify::ready(&S::summary(self.service.settings()));
    }

    fn reloaded(&mut self) -> Result<S::Settings, ReloadError> {
        let (settings, operations) = self.service.read()?;
        self.server.rebind(&operations)?;
        Ok(settings)
    }
}

fn poll_fd(interest: Interest<'_>) -> PollFd<'_> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, interest.read);
    flags.set(PollFlags::OUT, interest.write);
    PollFd::from_borrowed_fd(interest.fd, flags)
}
