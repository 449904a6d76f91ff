//! The command line. `docs/man/headway-lane.8` is made from it.

use clap::{Args, Parser, Subcommand};
use headway_daemon::args::{AskArgs, CheckArgs, ConfigArgs, HostArgs, LogArgs};

/// Lanes on Linux hosts: keeps a path free for short flows of unmodified applications.
///
/// Connections start on a short lane. Those that turn out long are moved to long lanes, over the kernel's MPTCP path
/// manager. What happens to applications that do not use MPTCP: nothing.
#[derive(Debug, Parser)]
#[command(name = crate::IDENTITY.name, version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How messages are written.
    #[command(flatten)]
    pub log: LogArgs,
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

/// Of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Where it is.
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
