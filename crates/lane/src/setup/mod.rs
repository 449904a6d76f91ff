//! What `--apply-routes` sets up: source routing per lane, the userspace path manager, its limits.
//!
//! [`plan()`] computes the steps from the settings, the host's state and the record of earlier steps, and is pure. Doing and
//! undoing them, and the record, are [`headway_daemon::setup`]'s; `step` says how it is done with each kind of step.
//!
//! A rule that leads packets from an address is what keeps connections of that address on their path. So one that is not
//! wanted any more, and the table it leads to, stay as long as connections use the address ([`Former::in_use`](headway_daemon::setup::Former::in_use)).

mod host;
mod plan;
mod present;
mod step;
#[cfg(test)]
mod tests;
mod warning;

use headway_daemon::setup::{Done, SetupError};

use crate::IDENTITY;
use crate::settings::Settings;

pub use host::LinuxHost;
pub use plan::plan;
pub use present::Present;
pub use step::{Before, Host, Limits, Route, Step};
pub use warning::{LaneProblem, Warning};

/// A set-up of lanes.
pub type Setup = headway_daemon::setup::Setup<Step>;
/// What is recorded of one.
pub type Recorded = headway_daemon::setup::Recorded<Step>;
/// What is to be done.
pub type Plan = headway_daemon::setup::Plan<Step, Warning>;

/// The number by which routes and rules of this daemon are told from those of others (`RTPROT_…`; `ip` calls it `proto`).
pub const PROTOCOL: u8 = IDENTITY.route_protocol;
/// The main routing table.
pub const MAIN: u32 = 254;

/// The routing tables that Linux has already: default, main, local.
pub(crate) const KERNEL_TABLES: std::ops::RangeInclusive<u32> = 253..=255;

/// The sysctls that steps are about. No other is ever written, whatever a record says.
pub const SYSCTLS: [&str; 3] = [ENABLED, PATH_MANAGER, PM_TYPE];
pub(crate) const ENABLED: &str = "net.mptcp.enabled";
pub(crate) const PATH_MANAGER: &str = "net.mptcp.path_manager";
/// Before Linux 6.16.
pub(crate) const PM_TYPE: &str = "net.mptcp.pm_type";

/// Sets up the network namespace that the calling thread is in, called `netns` in the record (`None`: the one the process
/// was started in). What is recorded and not wanted any more is undone. Doing it again changes nothing.
///
/// # Errors
/// As [`Setup::apply`].
pub fn set_up(settings: &Settings, netns: Option<&str>) -> Result<Done, SetupError> {
    let mut setup = Setup::open(&settings.operations.state, netns)?;
    let plan = plan(settings, &Present::read(settings, setup.recorded())?);
    for warning in &plan.warnings {
        tracing::warn!("{warning}");
    }
    setup.apply(&plan, &mut LinuxHost::open()?)
}
