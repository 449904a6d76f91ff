//! Percentiles, means and confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The `q` quantile (0 to 1) of `sorted` and of `unfinished` further values that are known only to be
/// larger than all of it; `None` if there is no value, or if the quantile falls among the unfinished.
///
/// With n values in all, counted from 0, the quantile lies at h = (n − 1)·q; between two values it is
/// interpolated linearly (type 7 of Hyndman and Fan, doi:10.1080/00031305.1996.10473566, which is also
/// the default of R, NumPy and Polars' `linear`). It falls among the unfinished as soon as one of the
/// two values it lies between is unfinished.
///
/// # Panics
/// If `q` is not within 0 and 1.
pub fn percentile(sorted: &[f64], unfinished: usize, q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "quantile {q} is not within 0 and 1");
    debug_assert!(sorted.is_sorted(), "values are not sorted");
    let n = sorted.len() + unfinished;
    if n == 0 {
        return None;
    }
    let mut h = (n - 1) as f64 * q;
    // 0.999 × 1000 must be 999, not 999 plus the rounding of 0.999, or a censored neighbour would count.
    if (h - h.round()).abs() <= 1e-12 * n as f64 {
        h = h.round();
    }
    let (below, above) = (h.floor() as usize, h.ceil() as usize);
    let (&low, &high) = (sorted.get(below)?, sorted.get(above)?);
    Some(low + (high - low) * (h - h.floor()))
}

/// The arithmetic mean; `None` of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of a sample, √(Σ(x − mean)² / (n − 1)); `None` of fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values).filter(|_| values.len() >= 2)?;
    if values.iter().all(|value| *value == values[0]) {
        return Some(0.0); // and not what rounding of their mean leaves
    }
    let squares: f64 = values.iter().map(|x| (x - centre) * (x - centre)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// A mean over repeats with its two-sided 95 % confidence interval.
///
/// The interval is mean ± t(0.975, n − 1)·s/√n with the sample standard deviation s (Jain 1991, §13.2).
/// It takes the repeats as independent and their mean as normally distributed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The mean; `None` if there is no value, or if some repeat's value is known only to be larger than
    /// every finished one (then the mean of the others would flatter).
    pub value: Option<f64>,
    /// The interval's lower end; `None` below two repeats.
    pub low: Option<f64>,
    /// The interval's upper end; `None` below two repeats.
    pub high: Option<f64>,
    /// How many repeats gave a value.
    pub n: usize,
}

impl Estimate {
    /// The estimate from one value for each repeat.
    pub fn of(values: &[f64]) -> Estimate {
        let n = values.len();
        let value = mean(values);
        let (Some(centre), Some(deviation)) = (value, deviation(values)) else {
            return Estimate { value, low: None, high: None, n };
        };
        let half = student_t(n - 1) * deviation / (n as f64).sqrt();
        Estimate { value, low: Some(centre - half), high: Some(centre + half), n }
    }

    /// Whether the two intervals share a point; `None` if one has none.
    pub fn overlaps(&self, other: &Estimate) -> Option<bool> {
        Some(self.low? <= other.high? && other.low? <= self.high?)
    }
}

/// The mean of `a[i] − b[i]` with its interval: two policies under the same seeds. If the interval leaves
/// out zero, they differ.
///
/// # Panics
/// If the lengths differ.
pub fn paired_difference(a: &[f64], b: &[f64]) -> Estimate {
    assert_eq!(a.len(), b.len(), "pairs need two values each");
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    Estimate::of(&differences)
}

/// The 0.975 quantile of Student's t with `freedom` (at least 1) degrees, to 8 decimals.
fn student_t(freedom: usize) -> f64 {
    let n = freedom as f64;
    let t = if freedom < 1000 {
        StudentsT::new(0.0, 1.0, n).expect("positive freedom").inverse_cdf(0.975)
    } else {
        // Abramowitz and Stegun 26.7.5, exact to 1e-12 here; the iteration above loses digits past 10,000.
        let z: f64 = 1.959_963_984_540_054;
        let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
        let first = (z3 + z) / 4.0;
        let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
        let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
        z + first / n + second / (n * n) + third / (n * n * n)
    };
    // Logarithms inside differ in their last bits between platforms, results' bytes must not.
    (t * 1e8).round() / 1e8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance
    }

    #[test]
    fn percentiles_follow_type_7() {
        // Worked by hand from h = (n − 1)q; R: quantile(c(15, 20, 35, 40, 50), c(.05, .3, .4, .5, 1), type = 7)
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        for (q, expected) in [(0.0, 15.0), (0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.5, 35.0), (1.0, 50.0)] {
            assert!(close(percentile(&values, 0, q).unwrap(), expected, 1e-9), "{q}");
        }
        assert_eq!(percentile(&[7.0], 0, 0.99), Some(7.0));
        assert_eq!(percentile(&[], 0, 0.5), None);
    }

    #[test]
    fn unfinished_count_as_larger_than_all() {
        // Five values, one of them open: h = 4q must not pass index 3.
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(percentile(&values, 1, 0.5), Some(3.0));
        assert_eq!(percentile(&values, 1, 0.75), Some(4.0));
        assert_eq!(percentile(&values, 1, 0.76), None);
        assert_eq!(percentile(&values, 1, 1.0), None);
        assert_eq!(percentile(&[], 3, 0.01), None);
    }

    #[test]
    fn a_quantile_on_a_value_needs_no_neighbour() {
        // 1001 values: p99.9 is index 999 exactly, p99 is 990.
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(percentile(&values, 1, 0.999), Some(999.0));
        assert_eq!(percentile(&values, 1, 0.99), Some(990.0));
        for thousandths in 1..1000 {
            let q = f64::from(thousandths) / 1000.0;
            assert_eq!(percentile(&values, 1, q), Some(f64::from(thousandths)));
        }
    }

    #[test]
    fn student_t_is_the_textbooks_table() {
        // Jain 1991, table A.4, column 0.975.
        let table = [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (10, 2.228)];
        let more = [(15, 2.131), (20, 2.086), (25, 2.060), (29, 2.045), (30, 2.042), (60, 2.000), (120, 1.980)];
        for (freedom, t) in table.into_iter().chain(more) {
            assert!(close(student_t(freedom), t, 6e-4), "{freedom}: {}", student_t(freedom));
        }
        // Without end it is the normal distribution's.
        assert!(close(student_t(1_000_000_000_000), 1.959_963_98, 1e-9));
    }

    #[test]
    fn student_t_inverts_its_own_distribution() {
        for freedom in (1..2000).chain([10_000, 100_000, 1_000_000]) {
            let p = StudentsT::new(0.0, 1.0, freedom as f64).unwrap().cdf(student_t(freedom));
            assert!(close(p, 0.975, 1e-8), "{freedom}: {p}");
        }
    }

    #[test]
    fn an_estimate_is_the_mean_with_its_interval() {
        // 1 … 10: mean 5.5, s² = 82.5/9, s = 3.02765, half width 2.262157 × 3.02765 / √10 = 2.165852.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let estimate = Estimate::of(&values);
        assert_eq!((estimate.value, estimate.n), (Some(5.5), 10));
        assert!(close(estimate.low.unwrap(), 5.5 - 2.165_852, 1e-5));
        assert!(close(estimate.high.unwrap(), 5.5 + 2.165_852, 1e-5));
    }

    #[test]
    fn one_repeat_has_no_interval_and_none_has_no_mean() {
        assert_eq!(Estimate::of(&[3.0]), Estimate { value: Some(3.0), low: None, high: None, n: 1 });
        assert_eq!(Estimate::of(&[]), Estimate::default());
        let same = Estimate::of(&[2.0, 2.0, 2.0]);
        assert_eq!((same.low, same.high), (Some(2.0), Some(2.0)));
    }

    #[test]
    fn pairs_are_compared_within_their_repeat() {
        // Jain 1991, §13.4.1 (six workloads on two systems), which gives mean −0.32, variance 81.62.
        let a = [5.4, 16.6, 0.6, 1.4, 0.6, 7.3];
        let b = [19.1, 3.5, 3.4, 2.5, 3.6, 1.7];
        // By hand: mean of {−13.7, 13.1, −2.8, −1.1, −3.0, 5.6} = −1.9/6 = −0.316667; squared deviations
        // sum to 408.108333, s = 9.034471; t(0.975, 5) = 2.570582; half width 9.481096.
        let estimate = paired_difference(&a, &b);
        assert!(close(estimate.value.unwrap(), -0.316_667, 1e-6));
        assert!(close(estimate.low.unwrap(), -0.316_667 - 9.481_096, 1e-5));
        assert!(close(estimate.high.unwrap(), -0.316_667 + 9.481_096, 1e-5));
    }

    #[test]
    fn intervals_overlap_if_they_share_a_point() {
        let interval = |low, high| Estimate { value: Some(0.0), low: Some(low), high: Some(high), n: 2 };
        assert_eq!(interval(1.0, 2.0).overlaps(&interval(2.0, 3.0)), Some(true));
        assert_eq!(interval(1.0, 2.0).overlaps(&interval(2.1, 3.0)), Some(false));
        assert_eq!(interval(4.0, 5.0).overlaps(&interval(2.1, 3.0)), Some(false));
        assert_eq!(interval(1.0, 2.0).overlaps(&Estimate::of(&[1.0])), None);
    }
}
