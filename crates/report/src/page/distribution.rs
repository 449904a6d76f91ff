//! Distributions of positive values in bounded memory.

use std::collections::BTreeMap;

/// So many values are kept one by one, in 2 MiB.
const EXACT: usize = 1 << 18;

/// Of the 52 bits of a double's fraction so many are dropped in bins: a bin is 2^-10 wide, relative to its values.
const DROPPED_BITS: u32 = 42;

/// Values as they come. Up to 262,144 are kept exactly; of more, in bins that are a thousandth wide.
///
/// Positive doubles are in the order of their bits, so a bin is all values with the same first bits.
#[derive(Debug, Clone, Default)]
pub(super) struct Distribution {
    exact: Vec<f64>,
    bins: BTreeMap<u64, usize>,
    /// Further values, known only to be larger than all of those.
    pub(super) unfinished: usize,
}

/// A distribution in order: each value once, with the number of values up to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Sorted {
    values: Vec<f64>,
    cumulative: Vec<usize>,
    unfinished: usize,
}

impl Distribution {
    /// Takes `value` in; what is negative or no number is left out.
    pub(super) fn push(&mut self, value: f64) {
        if !(value >= 0.0 && value.is_finite()) {
            return;
        }
        if self.bins.is_empty() && self.exact.len() < EXACT {
            self.exact.push(value);
            return;
        }
        for value in std::mem::take(&mut self.exact).into_iter().chain([value]) {
            *self.bins.entry(value.to_bits() >> DROPPED_BITS).or_default() += 1;
        }
    }

    pub(super) fn sorted(mut self) -> Sorted {
        let mut sorted = Sorted { unfinished: self.unfinished, ..Sorted::default() };
        self.exact.sort_unstable_by(f64::total_cmp);
        for value in self.exact {
            sorted.push(value, 1);
        }
        for (bin, count) in self.bins {
            let middle = (bin << DROPPED_BITS) | (1 << (DROPPED_BITS - 1));
            sorted.push(f64::from_bits(middle), count);
        }
        sorted
    }
}

impl Sorted {
    fn push(&mut self, value: f64, count: usize) {
        let before = self.cumulative.last().copied().unwrap_or(0);
        if self.values.last() == Some(&value) {
            *self.cumulative.last_mut().expect("as many as values") += count;
        } else {
            self.values.push(value);
            self.cumulative.push(before + count);
        }
    }

    /// How many values are known.
    pub(super) fn finished(&self) -> usize {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// How many there are, the unfinished among them.
    pub(super) fn len(&self) -> usize {
        self.finished() + self.unfinished
    }

    pub(super) fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// The place of the value with `rank`, from 0.
    fn place(&self, rank: usize) -> usize {
        self.cumulative.partition_point(|&up_to| up_to <= rank)
    }

    /// The `q` quantile (0 to 1), as [`headway_results::percentile`] takes it: type 7 of Hyndman and Fan, NumPy's
    /// `linear`. `None` of no values, and if it falls among the unfinished.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        let n = self.len();
        let mut h = n.checked_sub(1)? as f64 * q;
        // 0.999 × 1000 must be 999, not 999 plus the rounding of 0.999
        if (h - h.round()).abs() <= 1e-12 * n as f64 {
            h = h.round();
        }
        let (below, above) = (h.floor() as usize, h.ceil() as usize);
        let low = *self.values.get(self.place(below))?;
        let high = *self.values.get(self.place(above))?;
        Some(low + (high - low) * (h - h.floor()))
    }

    /// At most about `steps` steps of the distribution function: values with the share of all that is not larger. With
    /// fewer different values all are there. The least and the largest are always, and the upper tail is denser than
    /// the rest: a third of the steps is at shares whose distance to 1 falls by equal factors.
    pub(super) fn steps(&self, steps: usize) -> Vec<(f64, f64)> {
        let all = self.len() as f64;
        let step = |place: usize| (self.values[place], self.cumulative[place] as f64 / all);
        if self.values.len() <= steps {
            return (0..self.values.len()).map(step).collect();
        }
        let last = self.finished() - 1;
        let (body, tail) = (steps - steps / 3, steps / 3);
        let even = (0..body).map(|i| last * i / (body - 1).max(1));
        let ratio = |i: usize| libm::pow(last as f64, i as f64 / tail.max(1) as f64);
        let dense = (0..tail).map(|i| last - (ratio(i).round() as usize).min(last));
        let mut places: Vec<usize> = even.chain(dense).chain([last]).map(|rank| self.place(rank)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>, unfinished: usize) -> Sorted {
        let mut distribution = Distribution { unfinished, ..Distribution::default() };
        for value in values {
            distribution.push(value);
        }
        distribution.sorted()
    }

    /// numpy.percentile([15, 20, 35, 40, 50], [5, 30, 40, 50, 100]), worked by hand from h = (n − 1)q.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let sorted = of([50.0, 15.0, 40.0, 20.0, 35.0], 0);
        for (q, expected) in [(0.0, 15.0), (0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.5, 35.0), (1.0, 50.0)] {
            assert!((sorted.quantile(q).unwrap() - expected).abs() < 1e-9, "{q}");
        }
        assert_eq!(of([], 0).quantile(0.5), None);
        assert_eq!(of([], 3).quantile(0.0), None);
    }

    #[test]
    fn quantiles_agree_with_those_of_the_summary() {
        let values: Vec<f64> = (0..997u32).map(|i| f64::from(i * i % 331)).collect();
        let mut in_order = values.clone();
        in_order.sort_unstable_by(f64::total_cmp);
        for unfinished in [0, 1, 40] {
            let sorted = of(values.clone(), unfinished);
            for thousandth in 0..=1000 {
                let q = f64::from(thousandth) / 1000.0;
                assert_eq!(sorted.quantile(q), headway_results::percentile(&in_order, unfinished, q), "{q}");
            }
        }
    }

    #[test]
    fn many_values_are_binned_to_a_thousandth() {
        let n = EXACT * 2;
        // no value twice, over six orders of magnitude
        let value = |i: usize| 1e-3 * libm::pow(1e6, i as f64 / n as f64);
        let sorted = of((0..n).map(value), 0);
        assert_eq!(sorted.finished(), n);
        assert!(sorted.values.len() < 25 * 1024, "{}", sorted.values.len());
        for q in [0.0, 0.1, 0.5, 0.99, 0.999, 1.0] {
            let expected = value((q * (n - 1) as f64) as usize);
            let error = (sorted.quantile(q).unwrap() / expected - 1.0).abs();
            assert!(error < 1.0 / 1024.0, "{q}: {error}");
        }
    }

    #[test]
    fn steps_keep_both_ends_and_the_tail() {
        let sorted = of((1..=100_000).map(f64::from), 0);
        let steps = sorted.steps(200);
        assert!(steps.len() <= 201 && steps.len() > 150, "{}", steps.len());
        assert_eq!((steps[0], *steps.last().unwrap()), ((1.0, 1e-5), (100_000.0, 1.0)));
        assert!(steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        // p99.9 and p99.99 lie between steps that are near
        for (q, x) in [(0.999, 99_900.0), (0.9999, 99_990.0)] {
            let near = steps.iter().map(|step| (step.0 - x).abs()).fold(f64::INFINITY, f64::min);
            assert!(near <= (1.0 - q) * 100_000.0 * 0.2, "{q}: {near}");
        }
        // every step is a point of the true function
        assert!(steps.iter().all(|(x, y)| (x / 100_000.0 - y).abs() < 1e-12));
    }

    #[test]
    fn few_values_are_all_there_and_the_unfinished_are_missing_at_the_top() {
        let sorted = of([3.0, 1.0, 3.0], 1);
        assert_eq!(sorted.steps(200), [(1.0, 0.25), (3.0, 0.75)]);
        assert_eq!(of([], 2).steps(200), []);
    }

    #[test]
    fn values_that_are_none_are_left_out() {
        assert_eq!(of([f64::NAN, -1.0, f64::INFINITY, 2.0], 0).finished(), 1);
    }
}
