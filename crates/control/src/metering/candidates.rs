//! Candidates: which ports to limit together, and to which rates.

use headway_units::Rate;

use super::reading::PortSpec;

/// Ports whose rates differ by less than this factor from the next are equals, and limited alike.
const EQUALS: f64 = 1.5;
/// Steps of the grid of rates for each halving.
const STEPS: f64 = 8.0;
/// The rates that a search looks at first, in steps below the port's own rate: about 0.92, 0.77, 0.59, 0.42, 0.25 and 0.125
/// of it. Close to it they are dense, since that is where totals peak (`published/metering-m3.csv`: at 0.93).
const SCREENED: [i32; 6] = [1, 3, 6, 10, 16, 24];

/// The rates that a limit may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The lowest.
    pub least: Rate,
    /// The highest.
    pub most: Rate,
}

impl Bounds {
    /// A rate of the grid within the bounds: `most`, and down from it in steps of the eighth root of a half. A fixed grid
    /// makes searches come back to the same limits.
    fn at(self, step: i32) -> Rate {
        let rate = self.most.bps() as f64 * libm::exp2(-f64::from(step) / STEPS);
        Rate::from_bps(rate.round() as u64).clamp(self.least, self.most)
    }

    /// The step whose rate is next to `rate`.
    fn step(self, rate: f64) -> i32 {
        (STEPS * libm::log2(self.most.bps() as f64 / rate.max(1.0))).round() as i32
    }

    /// Rates to look at first for ports that send at `rate`, the loosest last.
    pub(super) fn below(self, rate: f64) -> Vec<Rate> {
        let own = self.step(rate);
        let mut all: Vec<Rate> = SCREENED.iter().rev().map(|step| self.at(own + step)).collect();
        all.retain(|limit| (limit.bps() as f64) < rate);
        all.dedup();
        all
    }

    /// The rates of the grid `steps` beside `limit`, the looser one last.
    pub(super) fn beside(self, limit: Rate, steps: i32) -> Vec<Rate> {
        let own = self.step(limit.bps() as f64);
        let mut all = vec![self.at(own + steps), self.at(own - steps)];
        all.retain(|&other| other != limit);
        all
    }
}

/// Sets of equals among the ports that may be limited and are active, the fastest set first.
pub(super) fn groups(ports: &[PortSpec], active: &[bool], rates: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..ports.len()).filter(|&port| ports[port].limitable && active[port]).collect();
    order.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]).then(a.cmp(&b)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for port in order {
        match groups.last_mut() {
            Some(group) if rates[*group.last().unwrap_or(&port)] < EQUALS * rates[port] => group.push(port),
            _ => groups.push(vec![port]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_fast_and_four_slow_ports_are_two_groups() {
        let spec = PortSpec { line: Rate::from_gbps(1), limitable: true, counted: true, protected: false, edge: true };
        let server = PortSpec { limitable: false, counted: false, ..spec };
        let ports = [spec, spec, spec, spec, spec, server];
        let rates = [5.2e7, 5.0e7, 2.5e8, 5.4e7, 0.0, 5e8];
        let active = [true, true, true, true, false, true];
        assert_eq!(groups(&ports, &active, &rates), [vec![2], vec![3, 0, 1]]);
    }

    /// M3 (`published/metering-m3.csv`): the 10 Gb/s client takes some 450 Mb/s unlimited and 420 Mb/s is the total's peak.
    #[test]
    fn the_grid_comes_close_to_published_peaks() {
        let bounds = Bounds { least: Rate::from_mbps(10), most: Rate::from_gbps(10) };
        let near = bounds.below(450e6).into_iter().any(|rate| rate.bps().abs_diff(420_000_000) < 40_000_000);
        assert!(near, "{:?}", bounds.below(450e6));
    }

    proptest! {
        #[test]
        fn candidates_are_within_bounds_and_below_the_rate(
            least in 1_u64..1_000_000_000, over in 0_u64..100_000_000_000, rate in 0.0..1e12_f64,
        ) {
            let bounds = Bounds { least: Rate::from_bps(least), most: Rate::from_bps(least + over) };
            let below = bounds.below(rate);
            prop_assert!(below.iter().all(|&limit| bounds.least <= limit && limit <= bounds.most));
            prop_assert!(below.iter().all(|limit| (limit.bps() as f64) < rate));
            prop_assert!(below.windows(2).all(|pair| pair[0] < pair[1]));
            let beside = below.last().map_or(Vec::new(), |&limit| bounds.beside(limit, 2));
            prop_assert!(beside.iter().all(|&limit| bounds.least <= limit && limit <= bounds.most));
        }
    }
}
