//! Metering: limits on ports of a switch, and controllers that find them from what the switch sees.
//!
//! The idea is that of "autonomous control from network observation" (KAKEN report, Tokyo Tech, 2014, called "the report"
//! here): observe the network only, control rates of ports only, leave hosts and applications alone. The report sets limits
//! by hand; [`Headway`] finds and tracks them.
//!
//! * [`Reading`]: counters of a port, as a switch or Linux has them. A controller is fed with the readings of all ports at
//!   the end of each window and answers with a limit, or none, for each: [`Controller`].
//! * [`Headway`]: trials of limits against those in force, under an [`Objective`].
//! * To compare with: [`Fixed`] limits, [`AimdDelay`] (as autorate daemons), [`MaxMin`] fair limits.
//!
//! Windows are as long as the caller makes them: a second in a daemon, milliseconds in a simulation. They need to hold some
//! round trips. No I/O, no clock, nothing random.
//!
//! Left out: how a limit is enforced; and goodput proper, since a switch sees frames: a frame that was sent twice and
//! arrived twice counts twice.

mod aimd_delay;
mod budget;
mod candidates;
mod change;
mod fixed;
mod headway;
mod max_min;
mod objective;
mod reading;
mod robust;
mod search;
#[cfg(test)]
mod tests;
mod trial;

use std::error::Error;
use std::fmt;

use headway_units::{Rate, Time};

pub use aimd_delay::AimdDelay;
pub use candidates::Bounds;
pub use fixed::Fixed;
pub use headway::{Activity, Headway, Settings};
pub use max_min::MaxMin;
pub use objective::Objective;
pub use reading::{Counters, Direction, PortSpec, Reading};
pub use trial::Timing;

/// Sets limits by what it reads.
pub trait Controller: fmt::Debug + Send {
    /// Ends a window with the `readings` of all ports at `now`, in the order of the ports; returns the limits from now on.
    /// Readings that cannot be (counters that fell, a time that stood still, too few ports) leave out the window.
    fn observe(&mut self, now: Time, readings: &[Reading]) -> &[Option<Rate>];

    /// The limits in force.
    fn limits(&self) -> &[Option<Rate>];
}

/// A parameter out of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterError {
    /// The field's name.
    pub parameter: &'static str,
    /// What it was; of a rate, in bits per second.
    pub value: f64,
    /// What it may be.
    pub allowed: &'static str,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; it must be {}", self.parameter, self.value, self.allowed)
    }
}

impl Error for ParameterError {}

impl Bounds {
    /// Whether they bound anything.
    ///
    /// # Errors
    /// If the lowest rate is zero or more than the highest.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if self.least.is_zero() || self.least > self.most {
            let value = self.least.bps() as f64;
            return Err(ParameterError { parameter: "least", value, allowed: "more than zero and at most `most`" });
        }
        Ok(())
    }
}
