//! Policies that the program gives: when one fails, the run ends.
//!
//! A sender's calls of its control return nothing, and a check behind each would cost every run. So failures are left in a
//! place that the loop looks at where it asks external hosts for their next time, which runs without either do not do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headway_control::own::{Failures, Flow};
use headway_fabric::LinkId;
use headway_units::Time;

use crate::external::{Departure, External, ExternalError};
use crate::tcp::profile::Profile;

/// A run was told to end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Looks for failures and for a wish to end. It has no hosts.
#[derive(Debug)]
pub(crate) struct Watch {
    failures: Failures,
    pub abort: Option<Arc<AtomicBool>>,
}

impl Watch {
    /// For the program's policies of `profiles`, if there are any.
    pub fn over(profiles: &mut [Profile]) -> Option<Box<Watch>> {
        let failures = Failures::default();
        let own = profiles.iter_mut().filter_map(|profile| profile.reports_to(&failures).then_some(())).count();
        (own > 0).then(|| Box::new(Watch { failures, abort: None }))
    }

    fn aborted(&self) -> bool {
        self.abort.as_ref().is_some_and(|abort| abort.load(Ordering::Relaxed))
    }
}

impl External for Watch {
    fn next(&self) -> Time {
        if self.aborted() { Time::ZERO } else { self.failures.at().unwrap_or(Time::NEVER) }
    }

    fn advance(&mut self, _: Time, _: &dyn Fn(LinkId) -> Time, _: &mut Vec<Departure>) -> Result<(), ExternalError> {
        match self.failures.take() {
            Some(failure) => Err(Box::new(failure)),
            None => Err(Box::new(Interrupted)),
        }
    }

    fn departs(&mut self, _: Time, _: LinkId, _: u32) {}
    fn passes(&mut self, _: Time, _: LinkId, _: u32, _: u8) {}
    fn deliver(&mut self, _: Time, _: LinkId, _: u32, _: u8) {}
    fn discard(&mut self, _: u32) {}
}

impl Profile {
    /// Whether its control or its judge is the program's; their failures go to `failures`.
    fn reports_to(&mut self, failures: &Failures) -> bool {
        let control = self.control.own_mut().map(|own| own.report_to(failures)).is_some();
        let plan = self.multipath.as_mut().and_then(|multipath| multipath.lanes.as_mut());
        let Some(plan) = plan else { return control };
        let judge = plan.judge.reporting_to(failures);
        let judges = judge.is_some();
        plan.judge = judge.unwrap_or_else(|| plan.judge.clone());
        control || judges
    }
}

/// Who a policy decides for. Its seed follows from the flow, so that it is the same whatever else happens.
pub(crate) fn own_flow(run: u64, id: u64, (copy, subflow): (u8, usize), mss: u32) -> Flow {
    let place = u64::from(copy) << 8 | subflow as u64;
    Flow { id, copy, subflow: subflow as u8, mss, seed: mix(run ^ mix(id ^ mix(place))) }
}

/// SplitMix64's finalizer (Steele, Lea, Flood 2014): neighbours become strangers.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
