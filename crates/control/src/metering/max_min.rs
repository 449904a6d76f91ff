//! Max-min fair limits: water filling over what ports ask for (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, §6.5.2).

use headway_units::{Rate, Time};

use super::candidates::Bounds;
use super::reading::Monitor;
use super::{Controller, Direction, ParameterError, PortSpec, Reading};

/// A port that uses this part of its limit asks for more, and so may all ports if the capacity is used to this part.
const FULL: f64 = 0.95;
/// How much a port that may ask for more is taken to ask for, as a multiple of its rate.
const MORE: f64 = 1.5;
/// Weight of a new window in demands and capacity.
const NEW: f64 = 0.25;
/// A limit moves only if it does by this part.
const WORTH_MOVING: f64 = 0.03;

/// Limits every port to the level at which all demands, cut at it, fill the bottleneck.
///
/// The capacity is given, or taken for the largest total that was seen of late. Left out: several bottlenecks, and where
/// each is.
#[derive(Debug, Clone)]
pub struct MaxMin {
    bounds: Bounds,
    given: Option<Rate>,
    seen: f64,
    monitor: Monitor,
    demands: Vec<f64>,
    limits: Vec<Option<Rate>>,
}

impl MaxMin {
    /// For `ports`, of which `direction` is limited; the bottleneck's `capacity`, if it is known.
    ///
    /// # Errors
    /// If the bounds are none.
    pub fn new(
        ports: Vec<PortSpec>,
        direction: Direction,
        bounds: Bounds,
        capacity: Option<Rate>,
    ) -> Result<MaxMin, ParameterError> {
        bounds.validate()?;
        let (demands, limits) = (vec![0.0; ports.len()], vec![None; ports.len()]);
        Ok(MaxMin { bounds, given: capacity, seen: 0.0, monitor: Monitor::new(ports, direction), demands, limits })
    }
}

impl Controller for MaxMin {
    fn observe(&mut self, now: Time, readings: &[Reading]) -> &[Option<Rate>] {
        let Some(window) = self.monitor.window(now, readings) else { return &self.limits };
        let ports = self.monitor.ports();
        let total: f64 =
            ports.iter().zip(&window.ports).filter(|(spec, _)| taken(spec)).map(|(_, port)| port.goodput).sum();
        // decays by a half in about 140 windows, so that a bottleneck that shrank is found again
        self.seen = total.max(self.seen * 0.995);
        let capacity = self.given.map_or(self.seen, |given| given.bps() as f64);
        for ((spec, port), (demand, limit)) in
            ports.iter().zip(&window.ports).zip(self.demands.iter_mut().zip(&self.limits))
        {
            if !taken(spec) {
                continue;
            }
            // which ports a full bottleneck squeezes is not seen: each may be one of them
            let squeezed = limit.map_or(total > FULL * capacity, |limit| port.rate > FULL * limit.bps() as f64);
            let asked = if squeezed { MORE * port.rate } else { port.rate };
            // nobody takes more than its line
            let asked = asked.min(spec.line.bps() as f64);
            *demand += NEW * (asked - *demand);
        }
        let wanted: Vec<f64> =
            ports.iter().zip(&self.demands).map(|(spec, &demand)| if taken(spec) { demand } else { 0.0 }).collect();
        let level = water_level(&wanted, capacity);
        for ((spec, demand), limit) in ports.iter().zip(&self.demands).zip(&mut self.limits) {
            let level = Rate::from_bps(level.min(1e18) as u64).clamp(self.bounds.least, self.bounds.most);
            let next = (spec.limitable && *demand > level.bps() as f64).then_some(level);
            let same = match (*limit, next) {
                (Some(old), Some(new)) => (new.bps() as f64 / old.bps() as f64 - 1.0).abs() < WORTH_MOVING,
                _ => false,
            };
            if !same {
                *limit = next;
            }
        }
        &self.limits
    }

    fn limits(&self) -> &[Option<Rate>] {
        &self.limits
    }
}

/// Whether a port takes part.
fn taken(spec: &PortSpec) -> bool {
    spec.counted || spec.limitable
}

/// The level at which demands cut at it sum up to `capacity`; infinite if they do not reach it.
fn water_level(demands: &[f64], capacity: f64) -> f64 {
    let mut sorted = demands.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut left = capacity;
    for (at, demand) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at) as f64;
        if *demand > share {
            return share;
        }
        left -= demand;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Demands 2, 2.6, 4 and 5 on 10: 2, 2.6, 2.7, 2.7, the textbook's example of max-min shares.
    #[test]
    fn the_level_fills_the_capacity() {
        assert!((water_level(&[2.0, 2.6, 4.0, 5.0], 10.0) - 2.7).abs() < 1e-12);
        assert_eq!(water_level(&[2.0, 2.6], 10.0), f64::INFINITY);
        assert_eq!(water_level(&[], 10.0), f64::INFINITY);
        assert_eq!(water_level(&[1.0, 1.0], 0.0), 0.0);
    }
}
