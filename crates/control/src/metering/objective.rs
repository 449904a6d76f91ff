//! Objectives: a window's worth as one number, in logarithms, so that differences are relative gains.

use super::ParameterError;
use super::reading::{PortSpec, Window};

/// A port counts as served at least this part of an even share, so that one without any has a finite logarithm.
const LEAST_SHARE: f64 = 1e-3;
/// Where nothing at all passes, bits per second.
const LEAST_TOTAL: f64 = 1.0;

/// What is to be raised. x is the goodput of the counted ports that are active.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Objective {
    /// log Σx.
    Total,
    /// Σ log x / n: proportional fairness (Kelly 1997, doi:10.1002/ett.4460080106), which rises with the total and with
    /// evenness.
    Fair,
    /// log Σx + `fairness` · log J, J being Jain's index (Jain, Chiu and Hawe 1984, DEC-TR-301).
    Weighted {
        /// Weight of evenness; at 1, a doubled index is worth a doubled total. Finite and not negative.
        fairness: f64,
    },
    /// log (`weight` · Σx of the protected ports + Σx of the others).
    Protect {
        /// How often a byte of the protected class counts. Finite and at least 1.
        weight: f64,
    },
}

impl Objective {
    /// Whether its parameters are in range.
    ///
    /// # Errors
    /// The parameter that is not.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let bad = |parameter, value, allowed| Err(ParameterError { parameter, value, allowed });
        match *self {
            Objective::Weighted { fairness } if !(fairness.is_finite() && fairness >= 0.0) => {
                bad("fairness", fairness, "finite and not negative")
            }
            Objective::Protect { weight } if !(weight.is_finite() && weight >= 1.0) => {
                bad("weight", weight, "finite and at least 1")
            }
            _ => Ok(()),
        }
    }

    /// The worth of a window over the ports that `active` says.
    pub(super) fn worth(self, ports: &[PortSpec], active: &[bool], window: &Window) -> Worth {
        let mut total = 0.0;
        let mut squares = 0.0;
        let mut weighted = 0.0;
        let mut count = 0.0;
        let goodputs = || {
            let all = ports.iter().zip(active).zip(&window.ports);
            all.filter(|((spec, active), _)| spec.counted && **active).map(|((spec, _), port)| (spec, port.goodput))
        };
        for (spec, goodput) in goodputs() {
            total += goodput;
            squares += goodput * goodput;
            count += 1.0;
            weighted += match self {
                Objective::Protect { weight } if spec.protected => weight * goodput,
                _ => goodput,
            };
        }
        let log_total = libm::log(total.max(LEAST_TOTAL));
        let even = total.max(LEAST_TOTAL) / f64::max(count, 1.0);
        let utility = match self {
            Objective::Total => log_total,
            Objective::Fair if count == 0.0 => log_total,
            Objective::Fair => {
                goodputs().map(|(_, goodput)| libm::log(goodput.max(even * LEAST_SHARE))).sum::<f64>() / count
            }
            Objective::Weighted { fairness } => {
                let jain = if squares > 0.0 { total * total / (count * squares) } else { 1.0 };
                log_total + fairness * libm::log(jain)
            }
            Objective::Protect { .. } => libm::log(weighted.max(LEAST_TOTAL)),
        };
        Worth { utility, total: log_total }
    }
}

/// What a window is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Worth {
    /// By the objective.
    pub utility: f64,
    /// Logarithm of the total goodput.
    pub total: f64,
}

#[cfg(test)]
mod tests {
    use super::super::reading::PortWindow;
    use super::*;
    use headway_units::Rate;

    fn worth(objective: Objective, goodputs: &[f64]) -> f64 {
        let spec = PortSpec { line: Rate::from_gbps(1), limitable: true, counted: true, protected: false, edge: true };
        let mut ports = vec![spec; goodputs.len()];
        ports[0].protected = true;
        let windows = goodputs.iter().map(|&goodput| PortWindow { goodput, rate: goodput, ..PortWindow::default() });
        let window = Window { ports: windows.collect() };
        objective.worth(&ports, &vec![true; ports.len()], &window).utility
    }

    /// J of (1, 1) is 1, of (2, 0) 1/2 (Jain, Chiu and Hawe 1984).
    #[test]
    fn each_objective_prefers_what_it_says() {
        let gain = |objective, to: &[f64], from: &[f64]| worth(objective, to) - worth(objective, from);
        assert_eq!(gain(Objective::Total, &[1e9, 1e9], &[2e9, 0.0]), 0.0);
        assert!((gain(Objective::Weighted { fairness: 1.0 }, &[1e9, 1e9], &[2e9, 0.0]) - libm::log(2.0)).abs() < 1e-12);
        // √(1·1) against √(1.8·0.2) = 0.6
        assert!((gain(Objective::Fair, &[1e9, 1e9], &[1.8e9, 0.2e9]) - libm::log(1.0 / 0.6)).abs() < 1e-12);
        // 10·1.1 + 0.8 against 10·1 + 1
        let protect = Objective::Protect { weight: 10.0 };
        assert!((gain(protect, &[1.1e9, 0.8e9], &[1e9, 1e9]) - libm::log(11.8 / 11.0)).abs() < 1e-12);
        assert!(worth(Objective::Fair, &[0.0, 0.0]).is_finite());
    }

    #[test]
    fn weights_that_are_no_weights_are_refused() {
        assert!(Objective::Weighted { fairness: f64::NAN }.validate().is_err());
        assert!(Objective::Protect { weight: 0.5 }.validate().is_err());
        assert!(Objective::Protect { weight: 1.0 }.validate().is_ok());
    }
}
