//! How far apart the two sides of a point are, and how that is judged.

use std::fmt;

use headway_results::{mean, percentile};

use super::measured::{Measured, Series, Traffic};

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
        Metric::FctMedian if !unlimited => quantile(kernel, model, 0.5),
        Metric::FctP99 if !unlimited => quantile(kernel, model, 0.99),
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

/// Student's t, 0.975 quantile, for 1, 2, … degrees of freedom (Jain 1991, table A.4).
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Half of the 95 % interval of the difference of two means, by the two-sample t-test with a common variance
/// (n₁ + n₂ − 2 degrees of freedom); zero if one side has a single value.
fn noise_of_means(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 2 || b.len() < 2 {
        return 0.0;
    }
    let squares = |values: &[f64]| {
        let centre = mean(values).unwrap_or(0.0);
        values.iter().map(|value| (value - centre).powi(2)).sum::<f64>()
    };
    let (n, m) = (a.len() as f64, b.len() as f64);
    let freedom = a.len() + b.len() - 2;
    let variance = (squares(a) + squares(b)) / freedom as f64;
    let t = STUDENT.get(freedom - 1).copied().unwrap_or(1.96);
    t * (variance * (1.0 / n + 1.0 / m)).sqrt()
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

/// The quantile `q` of the completion times. What is not told apart: values whose 95 % intervals, from the order of
/// independent flows (binomial ranks n·q ± 1.96·√(n·q·(1 − q))), share a point; with less than 20 flows nothing.
fn quantile(kernel: &Traffic, model: &Traffic, q: f64) -> Option<Pair> {
    let ((k, k_open), (m, m_open)) = (kernel.times(), model.times());
    if k.len() + k_open == 0 || m.len() + m_open == 0 {
        return None;
    }
    let at = |times: &[f64], open: usize| percentile(times, open, q).unwrap_or(f64::INFINITY);
    let (value_k, value_m) = (at(&k, k_open), at(&m, m_open));
    let ((low_k, high_k), (low_m, high_m)) = (interval(&k, k_open, q), interval(&m, m_open, q));
    let same = k.len() >= 20 && low_k <= high_m && low_m <= high_k;
    Some((value_k, value_m, if same { f64::INFINITY } else { 0.0 }))
}

fn interval(times: &[f64], open: usize, q: f64) -> (f64, f64) {
    let n = (times.len() + open) as f64;
    let half = 1.96 * (n * q * (1.0 - q)).sqrt();
    let at = |rank: f64| times.get(rank as usize).copied().unwrap_or(f64::INFINITY);
    (at((n * q - half).floor().max(0.0)), at((n * q + half).ceil().min(n - 1.0)))
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

    #[test]
    fn the_interval_of_a_difference_is_that_of_the_t_test() {
        // Both have variance 1 (values 1, 2, 3), n = 3: t(4)·√(1·(2/3)) = 2.776·0.8165
        let noise = noise_of_means(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]);
        assert!((noise - 2.776 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-9, "{noise}");
        assert_eq!(noise_of_means(&[1.0], &[5.0, 6.0]), 0.0);
    }

    #[test]
    fn paths_are_compared_where_both_have_a_value() {
        let kernel = vec![vec![Some(10), None, Some(10)]];
        assert_eq!(apart(&kernel, &[vec![Some(13), Some(99), Some(6)]]), Some((12.5_f64).sqrt() / 10.0));
        assert_eq!(apart(&kernel, &[vec![None, Some(1)]]), None);
    }
}
