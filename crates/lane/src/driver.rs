//! Placeholder until the event loop is there.

use crate::config::Configuration;
use crate::settings::Settings;

/// What `run` was told besides the configuration.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Where the configuration is read again on SIGHUP.
    pub config: std::path::PathBuf,
    /// Network namespaces; empty: the one it was started in.
    pub netns: Vec<String>,
    /// Set up routes first.
    pub apply_routes: bool,
}

/// Why the daemon ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no event loop yet.
    #[error("the event loop is not there yet")]
    Missing,
}

/// Runs the daemon until it is told to end.
///
/// # Errors
/// If it cannot start.
pub fn run(_: Settings, _: &RunOptions) -> Result<(), RunError> {
    let _ = Configuration::load;
    Err(RunError::Missing)
}
