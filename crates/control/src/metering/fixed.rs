//! Limits that never change.

use headway_units::{Rate, Time};

use super::{Controller, Reading};

/// A limit, or none, for each port, for good.
#[derive(Debug, Clone)]
pub struct Fixed {
    limits: Vec<Option<Rate>>,
}

impl Fixed {
    /// With these limits.
    pub fn new(limits: Vec<Option<Rate>>) -> Fixed {
        Fixed { limits }
    }
}

impl Controller for Fixed {
    fn observe(&mut self, _now: Time, _readings: &[Reading]) -> &[Option<Rate>] {
        &self.limits
    }

    fn limits(&self) -> &[Option<Rate>] {
        &self.limits
    }
}
