//! The daemon's service: what the kernel tells goes to a [`crate::manager::Manager`] per network namespace, and what managers
//! want goes to the kernel.

mod cgroups;
mod kernel;
mod namespace;

use std::path::{Path, PathBuf};
use std::time::Duration;

use headway_daemon::http::{Interest, Server};
use headway_daemon::setup::SetupError;
use headway_daemon::{Clock, Count, Failures, Operations, ReloadError, Service};
use headway_units::Time;

use crate::config::Configuration;
use crate::manager::Event;
use crate::metrics;
use crate::settings::Settings;
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
    /// Routes, rules or the path manager.
    #[error("setting up: {0}")]
    Setup(#[from] SetupError),
    /// Something of the process' own.
    #[error("{what}: {source}")]
    Io {
        /// What.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The loop around it.
    #[error(transparent)]
    Loop(#[from] headway_daemon::RunError),
}

/// Runs the daemon until it is told to end. Subflows, marks and routes stay as they are: connections go on.
///
/// # Errors
/// If it cannot start. What goes wrong later is told in the log and counted.
pub fn run(settings: Settings, options: &RunOptions) -> Result<(), RunError> {
    let operations = settings.operations.clone();
    headway_daemon::run(&operations, |clock| Lanes::open(settings, options.clone(), clock))
}

/// Lanes in all network namespaces that the daemon looks after.
struct Lanes {
    settings: Settings,
    options: RunOptions,
    namespaces: Vec<Namespace>,
    /// Commands that the kernel refused, of all connections.
    refused: Failures,
}

impl Lanes {
    fn open(settings: Settings, options: RunOptions, clock: Clock) -> Result<Lanes, RunError> {
        let names: Vec<Option<&str>> = match &options.netns[..] {
            [] => vec![None],
            names => names.iter().map(|name| Some(name.as_str())).collect(),
        };
        let mut namespaces = Vec::new();
        for name in names {
            namespaces.push(Namespace::open(name, &settings, options.apply_routes, clock.now())?);
        }
        Ok(Lanes { settings, options, namespaces, refused: Failures::default() })
    }
}

impl Service for Lanes {
    type Settings = Settings;

    const GATHER: Duration = Duration::from_millis(1);

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn summary(settings: &Settings) -> String {
        settings.summary()
    }

    fn config(&self) -> &Path {
        &self.options.config
    }

    fn interests<'a>(&'a self, all: &mut Vec<Interest<'a>>) {
        let fds = self.namespaces.iter().flat_map(Namespace::fds);
        all.extend(fds.map(|fd| Interest { fd, read: true, write: false }));
    }

    fn wait(&self, clock: Clock) -> Option<Duration> {
        let (now, uptime) = (clock.now(), clock.uptime());
        let due = self.namespaces.iter().filter_map(Namespace::due);
        let due = due.map(|due| Duration::from_nanos(due.since(now).nanos()));
        let mends = self.namespaces.iter().filter_map(|namespace| namespace.mends(uptime));
        due.chain(mends.map(|due| due.saturating_sub(uptime))).min()
    }

    fn turn(&mut self, clock: Clock, ready: &[bool]) {
        let mut ready = ready.iter();
        for namespace in &mut self.namespaces {
            let own = namespace.fds().count();
            let told = ready.by_ref().take(own).fold(false, |any, one| any | one);
            namespace.turn(clock.now(), clock.uptime(), told);
        }
    }

    fn tell(&mut self, clock: Clock, server: &mut Server) {
        for namespace in &mut self.namespaces {
            let name = namespace.name().map(str::to_owned);
            for event in namespace.events() {
                log(&event, name.as_deref(), &mut self.refused, clock.uptime());
                server.publish(&Published { netns: name.as_deref(), event: &event });
            }
        }
    }

    fn set_clock(&mut self, then: Time, now: Time) {
        self.namespaces.iter_mut().for_each(|namespace| namespace.set_clock(then, now));
    }

    fn metrics(&self, clock: Clock) -> String {
        let namespaces = self.namespaces.iter().map(|namespace| namespace.summary(clock.uptime()));
        metrics::text(&Status { namespaces: namespaces.collect() })
    }

    fn status(&self, clock: Clock) -> impl serde::Serialize {
        let namespaces = self.namespaces.iter().map(|namespace| namespace.snapshot(clock.now(), clock.uptime()));
        Status { namespaces: namespaces.collect() }
    }

    fn read(&self) -> Result<(Settings, Operations), ReloadError> {
        let settings = Configuration::load(&self.options.config)?.settings;
        // What is recorded there would be forgotten.
        if self.options.apply_routes && settings.operations.state != self.settings.operations.state {
            return Err(ReloadError::State);
        }
        let operations = settings.operations.clone();
        Ok((settings, operations))
    }

    fn reconfigure(&mut self, settings: Settings, clock: Clock) {
        let now = clock.now();
        self.namespaces.iter_mut().for_each(|namespace| namespace.reconfigure(&settings, now));
        self.settings = settings;
    }

    fn count(&mut self, count: Count) {
        for counters in self.namespaces.iter_mut().map(Namespace::counters) {
            match count {
                Count::AcceptFailures(failures) => counters.accept_failures += failures,
                Count::ReloadFailed => counters.reload_failures += 1,
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
    event: &'a Event,
}

fn log(event: &Event, netns: Option<&str>, refused: &mut Failures, uptime: Duration) {
    match event {
        Event::Lane { up: false, .. } => tracing::warn!(netns, "{event}"),
        Event::Lane { .. } | Event::Unmanaged { .. } => tracing::info!(netns, "{event}"),
        // of each of many connections there may be one every few seconds
        Event::Refused { .. } if refused.add(uptime) => tracing::warn!(netns, "{event}; counted from now on"),
        Event::Refused { .. } => tracing::debug!(netns, "{event}"),
        Event::Failed { .. } | Event::NotOpened { .. } | Event::Switched { .. } | Event::Returned { .. } => {
            tracing::debug!(netns, "{event}");
        }
        Event::Managed { .. } | Event::Opened { .. } | Event::Over { .. } => tracing::trace!(netns, "{event}"),
    }
}
