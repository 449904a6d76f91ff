//! How far apart the two sides of a point are, and how that is judged.

use std::fmt;

use headway_results::{mean, paired_difference, percentile};

use super::measured::{Flow, Measured, Series, Traffic};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    Throughput,
    FctMedian,
    FctP99,
    Retransmissions,
    Timeouts,
    Fairness,
    RttMean,
    RttP95,
    CwndMean,
    CwndP95,
    RttPath,
    CwndPath,
}

impl Metric {
    pub const ALL: [Metric; 12] = [
        Metric::Throughput,
        Metric::FctMedian,
        Metric::FctP99,
        Metric::Retransmissions,
        Metric::Timeouts,
        Metric::Fairness,
        Metric::RttMean,
        Metric::RttP95,
        Metric::CwndMean,
        Metric::CwndP95,
        Metric::RttPath,
        Metric::CwndPath,
    ];

    /// The largest error that is good; none for what is only told.
    pub fn goal(self) -> Option<f64> {
        match self {
            Metric::Throughput => Some(0.03),
            Metric::FctMedian => Some(0.05),
            Metric::FctP99 | Metric::Retransmissions => Some(0.15),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::FctMedian => "fct.p50",
            Metric::FctP99 => "fct.p99",
            Metric::Retransmissions => "retransmissions",
            Metric::Timeouts => "timeouts",
            Metric::Fairness => "fairness",
            Metric::RttMean => "rtt.mean",
            Metric::RttP95 => "rtt.p95",
            Metric::CwndMean => "cwnd.mean",
            Metric::CwndP95 => "cwnd.p95",
            Metric::RttPath => "rtt.path",
            Metric::CwndPath => "cwnd.path",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the goal says of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Within the goal.
    Met,
    /// Beyond it, but no more than two sets of repeats of the same thing may differ.
    Noise,
    /// Beyond both.
    Missed,
    /// There is no goal.
    Told,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Noise => "noise",
            Verdict::Missed => "missed",
            Verdict::Told => "",
        }
    }
}

/// One number of one traffic of one point, from both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub point: String,
    pub traffic: String,
    pub metric: Metric,
    /// In the metric's unit: bit/s, µs, a count, bytes. Of paths there is none.
    pub kernel: f64,
    pub model: f64,
    /// (model − kernel) / kernel; of counts below one, over one; of paths the root of the mean squared difference over
    /// the kernel's mean. Infinite if it has no value on one side only, because flows are unfinished there.
    pub error: f64,
    pub verdict: Verdict,
}

/// What differs by no more than the second number is not told apart.
type Pair = (f64, f64, f64);

/// Compares what both sides of `point` gave.
pub fn compare(point: &str, kernel: &Measured, model: &Measured) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, kernel) in &kernel.0 {
        let Some(model) = model.0.get(name) else { continue };
        for metric in Metric::ALL {
            let Some((k, m, noise)) = values(metric, kernel, model) else { continue };
            let error = match metric {
                Metric::RttPath | Metric::CwndPath => m,
                Metric::Retransmissions | Metric::Timeouts => (m - k) / k.max(1.0),
                // an infinite one is beside a finite one
                _ if k == m => 0.0,
                _ if k.is_infinite() || m.is_infinite() => f64::INFINITY,
                _ => (m - k) / k,
            };
            let verdict = match metric.goal() {
                None => Verdict::Told,
                Some(goal) if error.abs() <= goal => Verdict::Met,
                Some(_) if (m - k).abs() <= noise => Verdict::Noise,
                Some(_) => Verdict::Missed,
            };
            let (point, traffic) = (point.to_owned(), name.clone());
            lines.push(Line { point, traffic, metric, kernel: k, model: m, error, verdict });
        }
    }
    lines
}

/// Kernel, model, and by how much they may differ by chance; nothing if the metric is none of this traffic.
fn values(metric: Metric, kernel: &Traffic, model: &Traffic) -> Option<Pair> {
    let unlimited = kernel.is_unlimited();
    let means = |k: &[f64], m: &[f64]| Some((mean(k)?, mean(m)?, noise_of_means(k, m)));
    match metric {
        Metric::Throughput if unlimited => means(&kernel.throughput(), &model.throughput()),
        Metric::FctMedian if !unlimited => quantile(kernel, model, 0.5, metric.goal()?),
        Metric::FctP99 if !unlimited => quantile(kernel, model, 0.99, metric.goal()?),
        Metric::Retransmissions => counts(&kernel.retransmissions(), &model.retransmissions()),
        Metric::Timeouts => counts(&kernel.timeouts(), &model.timeouts()),
        Metric::Fairness if unlimited => means(&kernel.fairness(), &model.fairness()),
        Metric::Throughput | Metric::FctMedian | Metric::FctP99 | Metric::Fairness => None,
        Metric::RttMean => Some((kernel.rtt?.0, model.rtt?.0, 0.0)),
        Metric::RttP95 => Some((kernel.rtt?.1, model.rtt?.1, 0.0)),
        Metric::CwndMean => Some((kernel.cwnd?.0, model.cwnd?.0, 0.0)),
        Metric::CwndP95 => Some((kernel.cwnd?.1, model.cwnd?.1, 0.0)),
        Metric::RttPath => Some((0.0, apart(&kernel.rtts, &model.rtts)?, 0.0)),
        Metric::CwndPath => Some((0.0, apart(&kernel.cwnds, &model.cwnds)?, 0.0)),
    }
}

/// With fewer repeats, chance is not told from error.
const ENOUGH_REPEATS: usize = 4;

/// Half of the 95 % interval of the mean difference, repeat by repeat: both sides have the same start times and losses in
/// each. Zero if there are too few repeats.
fn noise_of_means(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < ENOUGH_REPEATS || a.len() != b.len() {
        return 0.0;
    }
    let estimate = paired_difference(a, b);
    estimate.high.zip(estimate.low).map_or(0.0, |(high, low)| (high - low) / 2.0)
}

/// Sums over the repeats. They are taken as no more exact than counts of independent events, whose standard deviation
/// is the root of their number: 2·√n of the larger is not told apart, so that 2 and 3 are not 50 % apart.
fn counts(kernel: &[f64], model: &[f64]) -> Option<Pair> {
    if kernel.is_empty() || model.is_empty() {
        return None;
    }
    let (k, m): (f64, f64) = (kernel.iter().sum(), model.iter().sum());
    Some((k, m, 2.0 * k.max(m).sqrt()))
}

/// Flows beyond the quantile that a sample has on average, at least; with fewer, chance is not told from error.
const ENOUGH_BEYOND: f64 = 5.0;
const RESAMPLES: usize = 1000;

/// The quantile `q` of the completion times. What is not told apart: values whose difference has zero in its 95 % interval,
/// by the bootstrap over pairs of the same flow on both sides (Efron and Tibshirani, *An Introduction to the Bootstrap*,
/// 1993, §13.3, percentiles).
fn quantile(kernel: &Traffic, model: &Traffic, q: f64, goal: f64) -> Option<Pair> {
    let ((k, k_open), (m, m_open)) = (kernel.times(), model.times());
    if k.len() + k_open == 0 || m.len() + m_open == 0 {
        return None;
    }
    let at = |times: &[f64], open: usize| percentile(times, open, q).unwrap_or(f64::INFINITY);
    let (value_k, value_m) = (at(&k, k_open), at(&m, m_open));
    let is_met = (value_m - value_k).abs() <= goal * value_k;
    let same = !is_met && paired_times(kernel, model).is_some_and(|pairs| difference_has_zero(&pairs, q));
    Some((value_k, value_m, if same { f64::INFINITY } else { 0.0 }))
}

/// The completion times of each flow on both sides, infinite if unfinished; nothing if the flows are not the same.
fn paired_times(kernel: &Traffic, model: &Traffic) -> Option<Vec<[f64; 2]>> {
    let mut pairs = Vec::new();
    if kernel.flows.len() != model.flows.len() {
        return None;
    }
    for (k, m) in kernel.flows.iter().zip(&model.flows) {
        if k.len() != m.len() {
            return None;
        }
        let time = |flow: &Flow| flow.2.map_or(f64::INFINITY, |fct| fct as f64);
        pairs.extend(k.iter().zip(m).filter(|(flow, _)| flow.5).map(|(k, m)| [time(k), time(m)]));
    }
    Some(pairs)
}

/// Whether the 95 % interval of the difference of the two sides' quantile `q` has zero in it.
fn difference_has_zero(pairs: &[[f64; 2]], q: f64) -> bool {
    let n = pairs.len();
    if (n as f64) * q.min(1.0 - q) < ENOUGH_BEYOND {
        return false;
    }
    // splitmix64 (Steele, Lea, Flood 2014): the same draws in every run
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * n as u128) >> 64) as usize
    };
    let mut sides = [vec![0.0; n], vec![0.0; n]];
    let (mut less, mut more) = (0, 0);
    for _ in 0..RESAMPLES {
        let [kernel, model] = &mut sides;
        for (k, m) in kernel.iter_mut().zip(model) {
            [*k, *m] = pairs[draw()];
        }
        let [k, m] = sides.each_mut().map(|times| {
            times.sort_unstable_by(f64::total_cmp);
            let finished = times.partition_point(|time| time.is_finite());
            percentile(&times[..finished], n - finished, q).unwrap_or(f64::INFINITY)
        });
        less += usize::from(m <= k);
        more += usize::from(m >= k);
    }
    less.min(more) * 40 > RESAMPLES
}

/// √(mean of (m − k)²) / mean of k, over the times at which both have a value, and over all series.
fn apart(kernel: &[Series], model: &[Series]) -> Option<f64> {
    let pairs = kernel.iter().zip(model).flat_map(|(k, m)| k.iter().zip(m));
    let both = pairs.filter_map(|(k, m)| Some((k.as_ref().copied()? as f64, m.as_ref().copied()? as f64)));
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (k, m) in both {
        n += 1.0;
        sum += k;
        squares += (m - k) * (m - k);
    }
    (sum > 0.0).then(|| f64::sqrt(squares / n) / (sum / n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_events_are_not_told_apart() {
        let (k, m, noise) = counts(&[2.0], &[3.0]).unwrap();
        assert!((m - k).abs() <= noise);
        let (k, m, noise) = counts(&[200.0], &[300.0]).unwrap();
        assert!((m - k).abs() > noise);
    }

    /// Differences of 9, 10, 10 and 11 have a standard deviation of √(2/3): t(3) = 3.182 times that over √4.
    #[test]
    fn noise_is_that_of_the_differences_and_needs_repeats() {
        let noise = noise_of_means(&[1.0, 20.0, 300.0, 4000.0], &[10.0, 30.0, 310.0, 4011.0]);
        assert!((noise - 3.182 * (2.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-3, "{noise}");
        assert_eq!(noise_of_means(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0]), 0.0);
    }

    /// Each flow a hundredth slower is no chance, however far apart flows are from each other. Where every other flow is
    /// quicker by as much, it is.
    #[test]
    fn quantiles_are_compared_flow_by_flow() {
        let times = |factor: fn(usize) -> f64| -> Vec<[f64; 2]> {
            (0..1000)
                .map(|n| (n, 1000.0 + (n * 7919 % 1000) as f64))
                .map(|(n, time)| [time, time * factor(n)])
                .collect()
        };
        assert!(!difference_has_zero(&times(|_| 1.01), 0.5));
        assert!(difference_has_zero(&times(|n| if n % 2 == 0 { 1.01 } else { 0.99 }), 0.5));
        assert!(!difference_has_zero(&times(|_| 1.0)[..400], 0.99), "four flows beyond are too few");
    }

    #[test]
    fn paths_are_compared_where_both_have_a_value() {
        let kernel = vec![vec![Some(10), None, Some(10)]];
        assert_eq!(apart(&kernel, &[vec![Some(13), Some(99), Some(6)]]), Some((12.5_f64).sqrt() / 10.0));
        assert_eq!(apart(&kernel, &[vec![None, Some(1)]]), None);
    }
}
