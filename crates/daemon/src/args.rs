//! Arguments that daemons have in common. [`crate::command::parse`] puts in where the configuration is if none is named.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How messages are written.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// How messages on standard error are written.
    #[arg(long, value_enum, default_value = "text", global = true, value_name = "FORMAT")]
    pub log_format: LogFormat,
    /// The least important messages that are written.
    #[arg(long, value_enum, default_value = "info", global = true, value_name = "LEVEL")]
    pub log_level: LogLevel,
}

/// The configuration.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Of commands that look at the host.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Where it is.
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
    /// Where it is.
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
    #[arg(value_name = "CONFIG")]
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
