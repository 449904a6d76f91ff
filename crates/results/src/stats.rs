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

/// Numbers that agree to this share of the larger are the same: what is left of it is rounding, far below the three
/// digits that are shown.
const ROUNDING: f64 = 1e-6;

/// Whether `a` and `b` differ by no more than rounding: by at most a millionth of the larger.
pub fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// Whether all of `values` are the same, up to rounding.
fn constant(values: &[f64]) -> bool {
    values.iter().all(|value| same(*value, values[0]))
}

/// The values that a quantity can take, which its intervals keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Any: differences.
    Real,
    /// None below zero: times, rates, counts.
    Positive,
    /// From 0 to 1: shares.
    Share,
}

/// Which end an interval has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The lower.
    Low,
    /// The upper.
    High,
}

/// A mean over repeats with its two-sided 95 % confidence interval, from Student's t with n − 1 degrees of freedom.
///
/// With the standard error e = s/√n of the mean m (s is the deviation of the sample):
///
/// * [`Support::Real`]: m ± t·e (Jain 1991, §13.2). It takes the mean as normally distributed.
/// * [`Support::Positive`]: from m/C to m·C with C = exp(t·√ln(1 + (e/m)²)), which takes the mean as log-normally
///   distributed (Buckland et al., *Distance Sampling*, 1993, §3.6.1, after Burnham et al. 1987). It never reaches zero.
/// * [`Support::Share`]: symmetric in the log-odds of m, whose standard error is e/(m(1 − m)) by the delta method
///   (Agresti, *Categorical Data Analysis*, §3.1). It stays between 0 and 1.
///
/// The three agree where the interval is narrow. There is none below two repeats, and none where all repeats gave the
/// same value: no spread says nothing of how sure the value is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The mean; `None` if there is no value, or if some repeat's value is known only to be larger than
    /// every finished one (then the mean of the others would flatter).
    pub value: Option<f64>,
    /// The interval's lower end; `None` where there is no interval.
    pub low: Option<f64>,
    /// The interval's upper end; `None` where there is no interval.
    pub high: Option<f64>,
    /// How many repeats gave a value.
    pub n: usize,
}

impl Estimate {
    /// The estimate of a quantity of any sign from one value for each repeat.
    pub fn of(values: &[f64]) -> Estimate {
        Estimate::within(Support::Real, values)
    }

    /// The estimate of a quantity that can take the values of `support`, from one value for each repeat.
    pub fn within(support: Support, values: &[f64]) -> Estimate {
        let end = |end| reach(support, values, Level::TwoSided, end);
        Estimate { value: mean(values), low: end(End::Low), high: end(End::High), n: values.len() }
    }

    /// Whether the two intervals share a point, a value of several repeats without an interval being one; `None` if one
    /// has neither.
    pub fn overlaps(&self, other: &Estimate) -> Option<bool> {
        let ends = |one: &Estimate| match (one.low, one.high) {
            (Some(low), Some(high)) => Some((low, high)),
            _ => one.value.filter(|_| one.n >= 2).map(|value| (value, value)),
        };
        let ((low, high), (other_low, other_high)) = (ends(self)?, ends(other)?);
        Some(low <= other_high && other_low <= high)
    }
}

/// The one-sided 95 % confidence bound of the mean of `values`: with [`End::High`] the mean is below it with 95 %
/// confidence. By the rules of [`Estimate`], with the 0.95 quantile of t; `None` where that has no interval.
pub fn bound(support: Support, values: &[f64], end: End) -> Option<f64> {
    reach(support, values, Level::OneSided, end)
}

/// An end of the interval of the mean of `values`.
fn reach(support: Support, values: &[f64], level: Level, end: End) -> Option<f64> {
    let centre = mean(values)?;
    let spread = deviation(values).filter(|_| !constant(values))?;
    let n = values.len() as f64;
    let (error, t) = (spread / n.sqrt(), student_t(n - 1.0, level));
    let inside = match support {
        Support::Real => false,
        Support::Positive => centre > 0.0,
        Support::Share => centre > 0.0 && centre < 1.0,
    };
    Some(match (support, end) {
        (Support::Positive, _) if inside => {
            let factor = libm::exp(t * libm::log1p((error / centre).powi(2)).sqrt());
            if end == End::Low { centre / factor } else { centre * factor }
        }
        (Support::Share, _) if inside => {
            let odds = libm::exp(t * error / (centre * (1.0 - centre)));
            let odds = if end == End::Low { odds.recip() } else { odds };
            centre * odds / (centre * odds + 1.0 - centre)
        }
        (_, End::Low) => centre - t * error,
        (_, End::High) => centre + t * error,
    })
}

/// The mean of `a[i] − b[i]` with its interval: two policies under the same seeds. If the interval leaves
/// out zero, they differ (Jain 1991, §13.4.1).
///
/// # Panics
/// If the lengths differ.
pub fn paired_difference(a: &[f64], b: &[f64]) -> Estimate {
    assert_eq!(a.len(), b.len(), "pairs need two values each");
    // Equal up to rounding is equal, or a spread of rounding errors would find differences.
    let difference = |(a, b): (&f64, &f64)| if same(*a, *b) { 0.0 } else { a - b };
    let differences: Vec<f64> = a.iter().zip(b).map(difference).collect();
    Estimate::of(&differences)
}

/// Mean, deviation and number of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
    /// How many values it has, two at least.
    pub n: usize,
}

impl Sample {
    /// Of `values`; `None` of fewer than two.
    pub fn of(values: &[f64]) -> Option<Sample> {
        let deviation = if constant(values) { deviation(values).map(|_| 0.0) } else { deviation(values) };
        Some(Sample { mean: mean(values)?, deviation: deviation?, n: values.len() })
    }

    /// The sample behind an estimate of [`Support::Real`], as summaries of earlier versions have them; `None` if it has
    /// no interval, or one of another kind.
    pub fn behind(estimate: &Estimate) -> Option<Sample> {
        let (value, low, high) = (estimate.value?, estimate.low?, estimate.high?);
        let (below, above) = (value - low, high - value);
        if estimate.n < 2 || below < 0.0 || !same(below, above) {
            return None;
        }
        let n = estimate.n as f64;
        let deviation = f64::midpoint(below, above) * n.sqrt() / student_t(n - 1.0, Level::TwoSided);
        Some(Sample { mean: value, deviation, n: estimate.n })
    }
}

/// The difference of the means of two independent samples, `a` − `b`, with its interval (B. L. Welch 1947,
/// doi:10.1093/biomet/34.1-2.28): the deviations may differ. `n` is the smaller of both. No interval where neither varies.
pub fn welch_difference(a: Sample, b: Sample) -> Estimate {
    let value = if same(a.mean, b.mean) { 0.0 } else { a.mean - b.mean };
    let [va, vb] = [a, b].map(|one| one.deviation * one.deviation / one.n as f64);
    let n = a.n.min(b.n);
    if va + vb == 0.0 {
        return Estimate { value: Some(value), low: None, high: None, n };
    }
    let [fa, fb] = [(va, a.n), (vb, b.n)].map(|(v, n)| v * v / (n as f64 - 1.0));
    let freedom = (va + vb) * (va + vb) / (fa + fb);
    let half = student_t(freedom.max(1.0), Level::TwoSided) * (va + vb).sqrt();
    Estimate { value: Some(value), low: Some(value - half), high: Some(value + half), n }
}

/// How much of the distribution an interval of 95 % leaves out at an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// 2.5 % at each end.
    TwoSided,
    /// 5 % at one.
    OneSided,
}

impl Level {
    /// The quantile of t, and that of the normal distribution.
    fn quantile(self) -> (f64, f64) {
        match self {
            Level::TwoSided => (0.975, 1.959_963_984_540_054),
            Level::OneSided => (0.95, 1.644_853_626_951_472_7),
        }
    }
}

/// The quantile of Student's t with `freedom` (at least 1) degrees, to 8 decimals.
fn student_t(freedom: f64, level: Level) -> f64 {
    let (n, (quantile, z)) = (freedom, level.quantile());
    let t = if freedom < 1000.0 {
        StudentsT::new(0.0, 1.0, n).expect("positive freedom").inverse_cdf(quantile)
    } else {
        // Abramowitz and Stegun 26.7.5, exact to 1e-12 here; the iteration above loses digits past 10,000.
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

    fn two_sided(freedom: u64) -> f64 {
        student_t(freedom as f64, Level::TwoSided)
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
            assert!(close(two_sided(freedom), t, 6e-4), "{freedom}: {}", two_sided(freedom));
        }
        // Without end it is the normal distribution's.
        assert!(close(two_sided(1_000_000_000_000), 1.959_963_98, 1e-9));
    }

    #[test]
    fn student_t_inverts_its_own_distribution() {
        for freedom in (1..2000).chain([10_000, 100_000, 1_000_000]) {
            let p = StudentsT::new(0.0, 1.0, freedom as f64).unwrap().cdf(two_sided(freedom));
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
        // Nor have repeats that agree: 0 time-outs in three runs are no proof that there are never any.
        for same in [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [0.759, 0.759 + 1e-10, 0.759 - 1e-10]] {
            let estimate = Estimate::within(Support::Positive, &same);
            assert_eq!((estimate.low, estimate.high, estimate.n), (None, None, 3), "{same:?}");
        }
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

    /// Worked by hand. 1, 2, 9: mean 4, s² = 19, e = √(19/3) = 2.516611, e/m = 0.629153, ln(1 + 0.395833) = 0.333491,
    /// t(0.975, 2) = 4.302653, C = exp(4.302653 × 0.577487) = 11.99786. Of t alone: 4 ± 10.828108, below zero.
    #[test]
    fn times_rates_and_counts_stay_above_zero() {
        let values = [1.0, 2.0, 9.0];
        let estimate = Estimate::within(Support::Positive, &values);
        assert_eq!(estimate.value, Some(4.0));
        assert!(close(estimate.low.unwrap(), 4.0 / 11.997_86, 1e-4), "{estimate:?}");
        assert!(close(estimate.high.unwrap(), 4.0 * 11.997_86, 1e-3), "{estimate:?}");
        let plain = Estimate::of(&values);
        assert!(close(plain.low.unwrap(), 4.0 - 10.828_108, 1e-5), "{plain:?}");
        // Narrow ones are the same on either scale.
        let narrow = [10.0, 10.1, 9.95, 10.02];
        let (log, plain) = (Estimate::within(Support::Positive, &narrow), Estimate::of(&narrow));
        assert!(
            close(log.low.unwrap(), plain.low.unwrap(), 1e-3) && close(log.high.unwrap(), plain.high.unwrap(), 1e-3)
        );
        // Zeros among the values are no matter, nor are two repeats.
        for values in [&[0.0, 0.0, 3.0][..], &[0.0, 5.0]] {
            let estimate = Estimate::within(Support::Positive, values);
            assert!(estimate.low.unwrap() > 0.0 && estimate.high.unwrap().is_finite(), "{estimate:?}");
        }
    }

    /// Worked by hand. 0.9, 0.95, 1: mean 0.95, e = 0.05/√3 = 0.0288675; log-odds ln(19) = 2.944439, their error
    /// 0.0288675/0.0475 = 0.607738, half width 4.302653 × 0.607738 = 2.614885: from 0.329554 to 5.559324.
    #[test]
    fn shares_stay_between_0_and_1() {
        let estimate = Estimate::within(Support::Share, &[0.9, 0.95, 1.0]);
        let logistic = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        assert!(close(estimate.low.unwrap(), logistic(0.329_554), 1e-5), "{estimate:?}");
        assert!(close(estimate.high.unwrap(), logistic(5.559_324), 1e-5), "{estimate:?}");
        assert!(Estimate::of(&[0.9, 0.95, 1.0]).high.unwrap() > 1.0);
    }

    /// Jain 1991, table A.4, column 0.95: t(0.95, 2) = 2.920, t(0.95, 9) = 1.833.
    #[test]
    fn one_sided_bounds_are_nearer() {
        assert!(close(student_t(2.0, Level::OneSided), 2.920, 6e-4));
        assert!(close(student_t(9.0, Level::OneSided), 1.833, 6e-4));
        assert!(close(student_t(1e12, Level::OneSided), 1.644_853_63, 1e-8));
        // 1 … 10: 5.5 + 1.833113 × 3.027650 / √10 = 7.255072.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!(close(bound(Support::Real, &values, End::High).unwrap(), 7.255_072, 1e-5));
        assert!(close(bound(Support::Real, &values, End::Low).unwrap(), 3.744_928, 1e-5));
        let log = bound(Support::Positive, &values, End::High).unwrap();
        assert!(log < Estimate::within(Support::Positive, &values).high.unwrap());
        assert_eq!(bound(Support::Positive, &[1.0], End::High), None);
        assert_eq!(bound(Support::Positive, &[3.0, 3.0], End::High), None);
    }

    /// Worked by hand. Means 3 and 7, variances 2.5 and 10, of 5 each: e² = 0.5 + 2 = 2.5; degrees of freedom
    /// 6.25/(0.25/4 + 4/4) = 5.882353; t(0.975, 5.882353) = 2.458937 (between 2.570582 of 5 and 2.446912 of 6), half
    /// width 2.458937 × 1.581139 = 3.887921.
    #[test]
    fn independent_samples_are_compared_as_welch_does() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0], [3.0, 5.0, 7.0, 9.0, 11.0]);
        let estimate = welch_difference(Sample::of(&a).unwrap(), Sample::of(&b).unwrap());
        assert_eq!((estimate.value, estimate.n), (Some(-4.0), 5));
        assert!(close(estimate.high.unwrap(), -4.0 + 3.887_921, 2e-3), "{estimate:?}");
        // An earlier summary has the estimate alone.
        let behind = Sample::behind(&Estimate::of(&a)).unwrap();
        assert!(close(behind.deviation, 2.5_f64.sqrt(), 1e-7) && behind.n == 5);
        assert_eq!(Sample::behind(&Estimate::within(Support::Positive, &a)), None);
        assert_eq!(Sample::behind(&Estimate::of(&[1.0])), None);
        // Neither varies: the difference is what it is.
        let [two, three] = [2.0, 3.0].map(|value| Sample::of(&[value, value]).unwrap());
        assert_eq!(welch_difference(two, three), Estimate { value: Some(-1.0), low: None, high: None, n: 2 });
        // One alone varies: degrees of freedom are its own.
        let one = welch_difference(Sample::of(&a).unwrap(), two);
        assert!(close(one.high.unwrap() - 1.0, 2.776_445 * 0.5_f64.sqrt(), 1e-5), "{one:?}");
    }

    #[test]
    fn rounding_is_no_difference() {
        let (a, b) = ([0.759, 0.76, 0.758], [0.759 - 1e-12, 0.76 + 1e-11, 0.758 - 1e-10]);
        assert_eq!(paired_difference(&a, &b), Estimate { value: Some(0.0), low: None, high: None, n: 3 });
        assert!(same(0.0, 0.0) && same(1.0, 1.0 + 1e-7) && !same(1.0, 1.0001) && !same(0.0, 1e-12));
    }

    /// How often the interval has the true mean, of 4,000 samples: Student's own misses it where values are skewed, and the
    /// one that keeps to positive values misses it less. Quantiles by Box and Muller of a fixed sequence.
    #[test]
    fn intervals_of_skewed_values_cover_better_than_students() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
        };
        for (sigma, n) in [(0.1_f64, 5), (0.5, 3), (0.5, 10), (1.0, 5)] {
            let truth = libm::exp(sigma * sigma / 2.0);
            let (mut plain, mut log) = (0, 0);
            for _ in 0..4000 {
                let mut normal = || (-2.0 * libm::log(uniform())).sqrt() * libm::cos(std::f64::consts::TAU * uniform());
                let values: Vec<f64> = (0..n).map(|_| libm::exp(sigma * normal())).collect();
                let has = |e: Estimate| usize::from(e.low.unwrap() <= truth && truth <= e.high.unwrap());
                plain += has(Estimate::of(&values));
                log += has(Estimate::within(Support::Positive, &values));
            }
            let [plain, log] = [plain, log].map(|hits| hits as f64 / 4000.0);
            assert!(log >= plain - 0.003, "σ = {sigma}, n = {n}: {log} of {plain}");
            assert!(
                if sigma < 1.0 { log > 0.92 } else { log > 0.86 && log > plain + 0.03 },
                "{sigma} {n}: {log}, {plain}"
            );
        }
    }
}
