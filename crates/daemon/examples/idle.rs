//! `headway-idle`: a daemon that does nothing. A new daemon begins as a copy of this file; `docs/adding/daemon.md` says how.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a daemon lives in the world")]

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use headway_daemon::args::{AskArgs, CheckArgs, ConfigArgs, HostArgs, LogArgs};
use headway_daemon::command::{self, Failure};
use headway_daemon::config::{self, ConfigError};
use headway_daemon::metrics::{Kind, Page};
use headway_daemon::report::{Report, Verdict};
use headway_daemon::values::{AbsolutePath, Endpoint};
use headway_daemon::{Clock, Count, Identity, Operations, ReloadError, RunError, Service, instance_lock, log};
use headway_language::{Name, all_defaults, record};
use serde::{Deserialize, Serialize};

const IDENTITY: Identity = Identity {
    name: "headway-idle",
    version: env!("CARGO_PKG_VERSION"),
    metric_prefix: "headway_idle",
    route_protocol: 190,
    config: "/etc/headway/idle.toml",
    socket: "/run/headway/idle.sock",
    state: "/run/headway/idle",
};

record! {
    /// The configuration.
    pub struct FileRecord {
        /// What `status` shows.
        pub label: Name,
        /// Where status and metrics are to be had.
        pub operations: OperationsRecord = all_defaults(),
    }
}

record! {
    /// Where status and metrics are to be had.
    pub struct OperationsRecord {
        /// The unix socket of `status`, and for metrics.
        pub socket: AbsolutePath = AbsolutePath::new(IDENTITY.socket),
        /// A loopback address and port for Prometheus; left out: metrics only on the unix socket.
        pub metrics: Option<Endpoint>,
    }
}

impl FileRecord {
    fn load(path: &Path) -> Result<FileRecord, ConfigError> {
        config::load(path, config::read)
    }

    fn summary(&self) -> String {
        format!("label {}", &*self.label)
    }

    fn operations(&self) -> Operations {
        let OperationsRecord { socket, metrics } = &self.operations;
        let metrics = metrics.as_ref().map(|endpoint| endpoint.0);
        Operations { socket: socket.0.clone(), metrics, state: PathBuf::from(IDENTITY.state) }
    }
}

/// The daemon while it runs.
struct Idle {
    config: PathBuf,
    settings: FileRecord,
    reloads: u64,
    reload_failures: u64,
    _lock: Option<UnixListener>,
}

/// The page `/status`.
#[derive(Serialize, Deserialize)]
struct Status {
    version: String,
    label: String,
    uptime_s: f64,
}

impl Service for Idle {
    type Settings = FileRecord;

    fn settings(&self) -> &FileRecord {
        &self.settings
    }

    fn summary(settings: &FileRecord) -> String {
        settings.summary()
    }

    fn config(&self) -> &Path {
        &self.config
    }

    fn metrics(&self, clock: Clock) -> String {
        let mut page = Page::new(IDENTITY.metric_prefix);
        let uptime = clock.uptime().as_secs_f64();
        page.family("uptime_seconds", Kind::Gauge, "Time since the daemon's start", |put| put(&[], uptime));
        page.family("reloads_total", Kind::Counter, "Configurations read anew", |put| put(&[], self.reloads as f64));
        let failures = self.reload_failures as f64;
        page.family("reload_failures_total", Kind::Counter, "Configurations not taken", |put| put(&[], failures));
        page.text()
    }

    fn status(&self, clock: Clock) -> impl Serialize {
        let (version, label) = (IDENTITY.version.to_owned(), self.settings.label.to_string());
        Status { version, label, uptime_s: clock.uptime().as_secs_f64() }
    }

    fn read(&self) -> Result<(FileRecord, Operations), ReloadError> {
        let settings = FileRecord::load(&self.config)?;
        let operations = settings.operations();
        Ok((settings, operations))
    }

    fn reconfigure(&mut self, settings: FileRecord, _: Clock) {
        self.settings = settings;
        self.reloads += 1;
    }

    fn count(&mut self, count: Count) {
        self.reload_failures += u64::from(count == Count::ReloadFailed);
    }
}

/// A daemon that does nothing.
#[derive(Debug, Parser)]
#[command(name = "headway-idle", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon, in the foreground. SIGHUP reads the configuration again, SIGTERM and SIGINT end it.
    Run(ConfigArgs),
    /// Print the label of the running daemon.
    Status(AskArgs),
    /// Look for what is missing on this host.
    Doctor(HostArgs),
    /// Read a configuration and say whether it is right.
    Check(CheckArgs),
}

fn main() -> ExitCode {
    let cli: Cli = command::parse(&IDENTITY);
    log::start(&cli.log);
    command::exit(match cli.command {
        Command::Run(args) => run(&args),
        Command::Status(args) => status(&args),
        Command::Doctor(args) => doctor(&args),
        Command::Check(args) => check(&args),
    })
}

fn run(args: &ConfigArgs) -> Result<(), Failure> {
    let (settings, config) = (FileRecord::load(&args.config)?, args.config.clone());
    let open = |_| {
        let lock = instance_lock(IDENTITY.name)?;
        Ok::<_, RunError>(Idle { config, settings: settings.clone(), reloads: 0, reload_failures: 0, _lock: lock })
    };
    headway_daemon::run(&settings.operations(), open).map_err(|error| Failure::failed(format!("error: {error}")))
}

fn status(args: &AskArgs) -> Result<(), Failure> {
    let configured = || Ok::<_, Failure>(FileRecord::load(&args.config.config)?.operations().socket);
    let socket = args.socket.clone().map_or_else(configured, Ok)?;
    command::status(&socket, args.json, |status: &Status| {
        format!("headway-idle {}: {}\n", status.version, status.label)
    })
}

fn doctor(args: &HostArgs) -> Result<(), Failure> {
    command::enter(args.netns.as_deref())?;
    let mut report = Report::default();
    match headway_linux::sysctl::read("kernel.osrelease") {
        Ok(release) => report.add("kernel", Verdict::Ok, release, ""),
        Err(error) => report.add("kernel", Verdict::Missing, error.to_string(), "mount /proc"),
    }
    match FileRecord::load(&args.config.config) {
        Ok(settings) => report.add("configuration", Verdict::Ok, settings.summary(), ""),
        Err(_) => report.add("configuration", Verdict::Missing, "none that is right", "`headway-idle check` says why"),
    }
    command::doctor(&report, args.json)
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let record = FileRecord::load(&args.config)?;
    let defaults = args.print_defaults.then(|| config::show(&record));
    command::check(&args.config, &record.summary(), defaults.as_deref())
}
