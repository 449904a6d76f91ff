//! The event loop: what the kernel tells goes to a [`crate::manager::Manager`] per network namespace, and what managers want goes to the
//! kernel. One thread, nothing waits but `poll`.

mod cgroups;
mod kernel;
mod namespace;
mod socket;

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headway_units::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::config::{ConfigError, Configuration};
use crate::failures::Failures;
use crate::http::{BindError, Server, answer};
use crate::manager::Note;
use crate::notify;
use crate::settings::Settings;
use crate::setup::SetupError;
use crate::snapshot::Status;
use namespace::Namespace;

/// What `run` was told besides the configuration.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Where the configuration is read again on SIGHUP.
    pub config: PathBuf,
    /// Network namespaces; empty: the one it was started in.
    pub netns: Vec<String>,
    /// Set up routes first.
    pub apply_routes: bool,
}

/// Why the daemon ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] headway_linux::netns::Error),
    /// The kernel does not do what is needed.
    #[error("{what}: {source}")]
    Kernel {
        /// What was wanted.
        what: &'static str,
        /// Why not.
        source: headway_linux::Error,
    },
    /// Connections are not managed from user space.
    #[error(
        "net.mptcp.path_manager is not `userspace`, so connections are managed by the kernel itself; \
         `headway-lane run --apply-routes` changes it, or `sysctl -w net.mptcp.path_manager=userspace` (before Linux 6.16 \
         net.mptcp.pm_type=1)"
    )]
    PathManager,
    /// A setting of the kernel cannot be read.
    #[error(transparent)]
    Sysctl(#[from] headway_linux::sysctl::Error),
    /// Another daemon looks after the namespace, or it was named twice.
    #[error("another headway-lane looks after this network namespace")]
    Taken,
    /// Routes, rules or the path manager.
    #[error("setting up: {0}")]
    Setup(#[from] SetupError),
    /// The sockets for status and metrics.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Something of the process' own.
    #[error("{what}: {source}")]
    Io {
        /// What.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// The kernel's events gather for so long after some were taken in: to wake up for each of them takes processors from the
/// very flows that they are of.
const GATHER: Duration = Duration::from_millis(1);

/// The time that managers see. [`Time`] ends after 213 days, so it begins anew after [`Clock::LIFE`]. What is as old as the
/// daemon may be goes by [`Clock::uptime`].
#[derive(Debug, Clone, Copy)]
struct Clock {
    start: Instant,
    epoch: Instant,
}

impl Clock {
    /// 100 days.
    const LIFE: Duration = Duration::from_secs(100 * 24 * 3600);
    /// So much is before its beginning, for what is older: 50 days.
    const BEFORE: Span = Span::from_secs(50 * 24 * 3600);
    /// The event loop looks at it at least once a day.
    const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

    fn new() -> Clock {
        let now = Instant::now();
        Clock { start: now, epoch: now }
    }

    fn now(self) -> Time {
        let nanos = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX / 1000);
        Time::ZERO.saturating_add(Clock::BEFORE).saturating_add(Span::from_nanos(nanos))
    }

    /// Since the daemon's start; never begins anew.
    fn uptime(self) -> Duration {
        self.start.elapsed()
    }

    /// Begins anew if it is time. Returns what was the time before.
    fn renew(&mut self) -> Option<Time> {
        let then = self.now();
        (self.epoch.elapsed() >= Clock::LIFE).then(|| self.epoch = Instant::now()).map(|()| then)
    }
}

/// What signals ask for.
struct Signals {
    stop: UnixStream,
    reload: UnixStream,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        let pair = || {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            write.set_nonblocking(true)?;
            Ok::<_, io::Error>((read, write))
        };
        let (stop, written) = pair()?;
        pipe::register(SIGTERM, written.try_clone()?)?;
        pipe::register(SIGINT, written)?;
        let (reload, written) = pair()?;
        pipe::register(SIGHUP, written)?;
        Ok(Signals { stop, reload })
    }

    /// Whether a signal came since the last call.
    fn came(mut stream: &UnixStream) -> bool {
        let mut came = false;
        while let Ok(1..) = stream.read(&mut [0; 64]) {
            came = true;
        }
        came
    }
}

/// Who has something to read, or room to write.
#[derive(Debug, Default)]
struct Ready {
    signals: bool,
    /// In the order of the daemon's namespaces.
    namespaces: Vec<bool>,
    server: bool,
}

struct Daemon {
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    namespaces: Vec<Namespace>,
    server: Server,
    signals: Signals,
    /// How often the service manager wants to hear, and when next.
    watchdog: Option<(Duration, Instant)>,
    /// Until then events gather.
    gathered: Instant,
    /// Commands that the kernel refused, of all connections.
    refused: Failures,
}

/// Runs the daemon until it is told to end.
///
/// # Errors
/// If it cannot start. What goes wrong later is told in the log and counted.
pub fn run(settings: Settings, options: &RunOptions) -> Result<(), RunError> {
    let mut daemon = Daemon::start(settings, options.clone())?;
    notify::ready(&daemon.settings.summary());
    while daemon.turn()? {}
    // Subflows, marks and routes stay as they are: connections go on.
    notify::stopping();
    Ok(())
}

impl Daemon {
    fn start(settings: Settings, options: RunOptions) -> Result<Daemon, RunError> {
        let io = |what| move |source| RunError::Io { what, source };
        // before everything else, so that a signal never meets a daemon that does not listen
        let signals = Signals::listen().map_err(io("signals"))?;
        let server = Server::bind(&settings.operations)?;
        let clock = Clock::new();
        let names: Vec<Option<&str>> = match &options.netns[..] {
            [] => vec![None],
            names => names.iter().map(|name| Some(name.as_str())).collect(),
        };
        let mut namespaces = Vec::new();
        for name in names {
            namespaces.push(Namespace::open(name, &settings, options.apply_routes, clock.now())?);
        }
        let watchdog = notify::watchdog_interval().map(|interval| (interval, Instant::now() + interval));
        let gathered = Instant::now();
        let refused = Failures::default();
        let mut daemon = Daemon { settings, options, clock, namespaces, server, signals, watchdog, gathered, refused };
        daemon.tell();
        Ok(daemon)
    }

    /// Waits for something and does it. Returns whether to go on.
    fn turn(&mut self) -> Result<bool, RunError> {
        let ready = self.wait().map_err(|source| RunError::Io { what: "poll", source })?;
        if ready.signals {
            if Signals::came(&self.signals.stop) {
                return Ok(false);
            }
            if Signals::came(&self.signals.reload) {
                self.reload();
            }
        }
        if let Some(then) = self.clock.renew() {
            let now = self.clock.now();
            self.namespaces.iter_mut().for_each(|namespace| namespace.set_clock(then, now));
        }
        if ready.namespaces.contains(&true) {
            self.gathered = Instant::now() + GATHER;
        }
        for (namespace, told) in self.namespaces.iter_mut().zip(ready.namespaces) {
            namespace.turn(self.clock.now(), self.clock.uptime(), told);
        }
        self.tell();
        let uptime = self.clock.uptime();
        if ready.server || self.server.timeout(uptime).is_some_and(|left| left.is_zero()) {
            let (namespaces, now) = (&self.namespaces, self.clock.now());
            let status = |detail| Status {
                namespaces: namespaces.iter().map(|namespace| namespace.snapshot(now, uptime, detail)).collect(),
            };
            self.server.serve(uptime, |request| answer(request, status));
            let failures = self.server.failures();
            self.namespaces.iter_mut().for_each(|namespace| namespace.counters().accept_failures += failures);
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
        let now = self.clock.now();
        let mut timeout = Clock::MAX_WAIT;
        for due in self.namespaces.iter().filter_map(Namespace::due) {
            timeout = timeout.min(Duration::from_nanos(due.since(now).nanos()));
        }
        let uptime = self.clock.uptime();
        for due in self.namespaces.iter().filter_map(|namespace| namespace.mends(uptime)) {
            timeout = timeout.min(due.saturating_sub(uptime));
        }
        if let Some(serve) = self.server.timeout(uptime) {
            timeout = timeout.min(serve);
        }
        if let Some((_, due)) = self.watchdog {
            timeout = timeout.min(due.saturating_duration_since(Instant::now()));
        }
        let gathering = self.gathered.saturating_duration_since(Instant::now());
        if !gathering.is_zero() {
            timeout = timeout.min(gathering);
        }
        // in this order: signals, each namespace's, the server's
        let signals = [self.signals.stop.as_fd(), self.signals.reload.as_fd()];
        let mut interests: Vec<(BorrowedFd<'_>, PollFlags)> = signals.map(|fd| (fd, PollFlags::IN)).to_vec();
        let mut counts = Vec::new();
        for namespace in &self.namespaces {
            let before = interests.len();
            interests.extend(namespace.fds().filter(|_| gathering.is_zero()).map(|fd| (fd, PollFlags::IN)));
            counts.push(interests.len() - before);
        }
        interests.extend(self.server.interests(uptime).map(|interest| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, interest.read);
            flags.set(PollFlags::OUT, interest.write);
            (interest.fd, flags)
        }));
        let mut fds: Vec<PollFd<'_>> = interests.iter().map(|(fd, flags)| PollFd::new(fd, *flags)).collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready { signals: true, ..Ready::default() }),
            // of the kernel's memory; what is due is done
            Err(rustix::io::Errno::NOMEM | rustix::io::Errno::AGAIN) => {
                std::thread::sleep(GATHER);
                return Ok(Ready { namespaces: vec![false; counts.len()], ..Ready::default() });
            }
            Err(errno) => return Err(errno.into()),
        }
        let mut told = fds.iter().map(|fd| !fd.revents().is_empty());
        let signals = told.by_ref().take(2).fold(false, |any, one| any | one);
        let namespaces =
            counts.iter().map(|&count| told.by_ref().take(count).fold(false, |any, one| any | one)).collect();
        Ok(Ready { signals, namespaces, server: told.any(|one| one) })
    }

    /// Reads the configuration again. A wrong one changes nothing.
    fn reload(&mut self) {
        notify::reloading();
        match self.reloaded() {
            Ok(settings) => {
                tracing::info!(config = %self.options.config.display(), "configuration read: {}", settings.summary());
                let now = self.clock.now();
                for namespace in &mut self.namespaces {
                    namespace.reconfigure(&settings, now);
                }
                self.settings = settings;
            }
            Err(error) => {
                tracing::error!(config = %self.options.config.display(), "the configuration stays as it was: {error}");
                for namespace in &mut self.namespaces {
                    namespace.counters().reload_failures += 1;
                }
            }
        }
        notify::ready(&self.settings.summary());
    }

    fn reloaded(&mut self) -> Result<Settings, ReloadError> {
        let settings = Configuration::load(&self.options.config)?.settings;
        // What is recorded there would be forgotten.
        if self.options.apply_routes && settings.operations.state != self.settings.operations.state {
            return Err(ReloadError::State);
        }
        self.server.rebind(&settings.operations)?;
        Ok(settings)
    }

    /// Passes on what happened.
    fn tell(&mut self) {
        for namespace in &mut self.namespaces {
            let name = namespace.name().map(str::to_owned);
            for note in namespace.notes() {
                log(&note, name.as_deref(), &mut self.refused, self.clock.uptime());
                self.server.publish(&Published { netns: name.as_deref(), note: &note });
            }
        }
    }
}

/// An event for those who follow them.
#[derive(serde::Serialize)]
struct Published<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    netns: Option<&'a str>,
    #[serde(flatten)]
    note: &'a Note,
}

#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Bind(#[from] BindError),
    #[error(
        "operations.state is where is recorded what was set up; to change it, end the daemon, clean up, and start it anew"
    )]
    State,
}

fn log(note: &Note, netns: Option<&str>, refused: &mut Failures, uptime: Duration) {
    match note {
        Note::Lane { up: false, .. } => tracing::warn!(netns, "{note}"),
        Note::Lane { .. } | Note::Left { .. } => tracing::info!(netns, "{note}"),
        // of each of many connections there may be one every few seconds
        Note::Refused { .. } if refused.add(uptime) => tracing::warn!(netns, "{note}; counted from now on"),
        Note::Refused { .. } => tracing::debug!(netns, "{note}"),
        Note::Failed { .. } | Note::NotOpened { .. } | Note::Switched { .. } | Note::Returned { .. } => {
            tracing::debug!(netns, "{note}");
        }
        Note::Managed { .. } | Note::Opened { .. } | Note::Over { .. } => tracing::trace!(netns, "{note}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_begins_anew_after_100_days_and_the_uptime_does_not() {
        let days = |n: u64| Duration::from_secs(n * 24 * 3600);
        let span = |time: Time| Duration::from_nanos(time.since(Time::ZERO).nanos());
        let ago = Instant::now().checked_sub(days(99)).unwrap();
        let mut clock = Clock { start: ago, epoch: ago };
        assert_eq!(clock.renew(), None);
        assert!((days(149)..days(150)).contains(&span(clock.now())));
        // however late it is looked at, `Time` is far from its end
        let latest = Clock::LIFE + Clock::MAX_WAIT + Duration::from_nanos(Clock::BEFORE.nanos());
        assert!(Duration::from_nanos(Span::MAX.nanos()) > latest + days(60));
        clock.start = Instant::now().checked_sub(days(250)).unwrap();
        clock.epoch = Instant::now().checked_sub(days(100)).unwrap();
        let then = clock.renew().unwrap();
        assert!(span(then) >= days(150) && clock.uptime() >= days(250));
        // a connection may be older than the clock
        assert!(clock.renew().is_none() && span(clock.now()) >= days(50) && span(clock.now()) < days(51));
    }
}
