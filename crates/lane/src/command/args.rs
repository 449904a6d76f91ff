//! The command line. `docs/man/headway-lane.8` is made from it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The configuration that is read if no other is named.
pub const CONFIG: &str = "/etc/headway/lane.toml";

/// Lanes on Linux hosts: keeps a path free for short flows of unmodified applications.
///
/// Connections start on a short lane. Those that turn out long are moved to long lanes, over the kernel's MPTCP path
/// manager. What happens to applications that do not use MPTCP: nothing.
#[derive(Debug, Parser)]
#[command(name = "headway-lane", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How messages on standard error are written.
    #[arg(long, value_enum, default_value = "text", global = true, value_name = "FORMAT")]
    pub log_format: LogFormat,
    /// The least important messages that are written.
    #[arg(long, value_enum, default_value = "info", global = true, value_name = "LEVEL")]
    pub log_level: LogLevel,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon, in the foreground. SIGHUP reads the configuration again and keeps the old one if the new one is
    /// wrong; SIGTERM and SIGINT end it. Connections go on without it as they are.
    Run(RunArgs),
    /// Print what `run --apply-routes` would undo and set up, and what is there already, as ip and sysctl commands. Changes
    /// nothing.
    Plan(HostArgs),
    /// Print lanes, counters and connections of the running daemon.
    Status(AskArgs),
    /// Print what the running daemon does, as it happens.
    Monitor(AskArgs),
    /// Look for what is missing on this host: kernel features, settings, capabilities, addresses, routes.
    Doctor(HostArgs),
    /// Undo what `run --apply-routes` set up, exactly as far as it was recorded.
    Cleanup(HostArgs),
    /// Read a configuration and say whether it is right.
    Check(CheckArgs),
}

/// The configuration.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// The configuration.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    pub config: PathBuf,
}

/// Of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Work in this network namespace, as `ip netns` names it; may be repeated. Needs CAP_SYS_ADMIN.
    #[arg(long, value_name = "NAME")]
    pub netns: Vec<String>,
    /// Set up source routing, the path manager and its limits first, and undo what other settings left; `plan` shows how,
    /// `cleanup` undoes it.
    #[arg(long)]
    pub apply_routes: bool,
}

/// Of commands that look at the host.
#[derive(Debug, Args)]
pub struct HostArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Look at this network namespace, as `ip netns` names it. Needs CAP_SYS_ADMIN.
    #[arg(long, value_name = "NAME")]
    pub netns: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of commands that ask a running daemon.
#[derive(Debug, Args)]
pub struct AskArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The daemon's socket; without it, the configuration's.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The configuration.
    #[arg(value_name = "CONFIG", default_value = CONFIG)]
    pub config: PathBuf,
    /// Print the whole configuration with every default written out.
    #[arg(long)]
    pub print_defaults: bool,
}

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line of text with key=value.
    Text,
    /// A line of JSON.
    Json,
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What does not work.
    Error,
    /// What may not be as meant.
    Warn,
    /// What changes for the daemon.
    Info,
    /// What happens to connections.
    Debug,
    /// Everything.
    Trace,
}
