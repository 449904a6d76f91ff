//! Additive increase, multiplicative decrease on delay: limits that follow a queue, as autorate daemons keep a shaper
//! below a link whose rate varies.
//!
//! After cake-autorate (github.com/lynxthecat/cake-autorate, `defaults.sh`), whose constants these are: a baseline that
//! falls fast and rises slowly, delay found in 3 of the last 6 samples, a decrease by 1 to 25 % with the delay, an increase
//! only while the limit is used. Deviations, since limits here are a switch's: the increase is added, not multiplied (by
//! 1.00 to 1.04 there), so that ports converge to even shares (Chiu and Jain 1989, doi:10.1016/0169-7552(89)90019-6); delay
//! is a port's inferred round trip or else the longest queue of the switch, where there are no reflectors to ping; an idle
//! port keeps its limit. A queue that a limit on what goes out makes by itself is not looked at: TCP fills it whatever the
//! limit, and autorate daemons have active queue management in their shaper, so that it is short.

use headway_units::{Rate, Span, Time};

use super::candidates::Bounds;
use super::reading::{Monitor, PortWindow};
use super::{Controller, Direction, ParameterError, PortSpec, Reading};

/// Weight of a sample above the baseline (`alpha_baseline_increase`).
const RISING: f64 = 0.001;
/// Weight of a sample below it (`alpha_baseline_decrease`).
const FALLING: f64 = 0.9;
/// Samples of which `DELAYED` show delay (`bufferbloat_detection_window`, `bufferbloat_detection_thr`).
const SAMPLES: u32 = 6;
/// See `SAMPLES`.
const DELAYED: u32 = 3;
/// The mildest decrease, at the target (`shaper_rate_min_adjust_down_bufferbloat`).
const MILDEST: f64 = 0.99;
/// The hardest, at twice the target and beyond (`shaper_rate_max_adjust_down_bufferbloat`, 60 ms for a target of 30 ms).
const HARDEST: f64 = 0.75;
/// The part of a limit in use from which on it may rise (`high_load_thr`).
const HIGH_LOAD: f64 = 0.75;

/// A limit for each port, which rises by a step a window and falls by a factor on delay.
#[derive(Debug, Clone)]
pub struct AimdDelay {
    bounds: Bounds,
    direction: Direction,
    target: f64,
    step: Rate,
    monitor: Monitor,
    states: Vec<State>,
    limits: Vec<Option<Rate>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    baseline: Option<f64>,
    /// One bit for each of the last samples.
    delayed: u32,
    /// Windows to wait before the next decrease, so that the samples are new ones.
    refractory: u32,
}

impl AimdDelay {
    /// For `ports`, of which `direction` is limited: `target` is the delay over the baseline that is too much, `step` what
    /// a limit rises by in a window.
    ///
    /// # Errors
    /// If the bounds are none, or the target or the step is zero.
    pub fn new(
        ports: Vec<PortSpec>,
        direction: Direction,
        bounds: Bounds,
        target: Span,
        step: Rate,
    ) -> Result<AimdDelay, ParameterError> {
        bounds.validate()?;
        let positive = |parameter, zero: bool, value| {
            if zero { Err(ParameterError { parameter, value, allowed: "more than zero" }) } else { Ok(()) }
        };
        positive("target", target.is_zero(), 0.0)?;
        positive("step", step.is_zero(), 0.0)?;
        let limits = ports.iter().map(|port| port.limitable.then_some(bounds.most)).collect();
        let states = vec![State::default(); ports.len()];
        Ok(AimdDelay {
            bounds,
            direction,
            target: target.as_secs_f64(),
            step,
            monitor: Monitor::new(ports, direction),
            states,
            limits,
        })
    }
}

impl Controller for AimdDelay {
    fn observe(&mut self, now: Time, readings: &[Reading]) -> &[Option<Rate>] {
        let Some(window) = self.monitor.window(now, readings) else { return &self.limits };
        let shaped = |(spec, limit): (&PortSpec, &Option<Rate>)| {
            self.direction == Direction::Out && limit.is_some_and(|limit| limit < spec.line)
        };
        let ports = self.monitor.ports().iter().zip(&self.limits).zip(&window.ports);
        let queues = ports.filter(|&(port, _)| !shaped(port)).map(|(_, port)| port.queueing);
        let longest = queues.fold(0.0, f64::max);
        for ((state, port), limit) in self.states.iter_mut().zip(&window.ports).zip(&mut self.limits) {
            let Some(limit) = limit else { continue };
            let delay = state.delay(port.rtt.unwrap_or(longest));
            *limit =
                state.next(*limit, port, delay / self.target, self.step).clamp(self.bounds.least, self.bounds.most);
        }
        &self.limits
    }

    fn limits(&self) -> &[Option<Rate>] {
        &self.limits
    }
}

impl State {
    /// The sample's delay over the baseline.
    fn delay(&mut self, sample: f64) -> f64 {
        let baseline = self.baseline.get_or_insert(sample);
        *baseline += (sample - *baseline) * if sample > *baseline { RISING } else { FALLING };
        (sample - *baseline).max(0.0)
    }

    /// The next limit, `delay` being a multiple of the target.
    fn next(&mut self, limit: Rate, port: &PortWindow, delay: f64, step: Rate) -> Rate {
        self.delayed = (self.delayed << 1 | u32::from(delay > 1.0)) & ((1 << SAMPLES) - 1);
        self.refractory = self.refractory.saturating_sub(1);
        let bps = limit.bps() as f64;
        if self.delayed.count_ones() >= DELAYED {
            if self.refractory > 0 {
                return limit;
            }
            self.refractory = DELAYED;
            let hard = (delay - 1.0).clamp(0.0, 1.0);
            return Rate::from_bps((bps * (MILDEST + (HARDEST - MILDEST) * hard)) as u64);
        }
        if port.rate > HIGH_LOAD * bps { Rate::from_bps(limit.bps().saturating_add(step.bps())) } else { limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_by_a_quarter_on_long_delay_and_rises_by_a_step_under_load() {
        let mut state = State::default();
        let limit = Rate::from_mbps(100);
        let busy = PortWindow { rate: 9e7, ..PortWindow::default() };
        let step = Rate::from_mbps(1);
        assert_eq!(state.next(limit, &busy, 0.0, step), Rate::from_mbps(101));
        assert_eq!(state.next(limit, &PortWindow::default(), 0.0, step), limit, "unused");
        assert_eq!(state.next(limit, &busy, 3.0, step), Rate::from_mbps(101), "one sample is none");
        state.next(limit, &busy, 3.0, step);
        assert_eq!(state.next(limit, &busy, 3.0, step), Rate::from_mbps(75));
        assert_eq!(state.next(limit, &busy, 3.0, step), limit, "refractory");
    }
}
