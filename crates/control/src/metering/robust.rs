//! Robust statistics of few values.

/// Makes the median absolute deviation of a normal distribution its standard deviation.
const NORMAL: f64 = 1.4826;
/// Quantiles 0.975 of Student's t for 1, 2, … degrees of freedom (table in Student 1908, Fisher 1925).
const STUDENT: [f64; 15] =
    [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131];

/// The median; that of none is 0.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.into_iter().collect();
    all.sort_by(f64::total_cmp);
    let half = all.len() / 2;
    match all.len() {
        0 => 0.0,
        n if n % 2 == 1 => all[half],
        _ => f64::midpoint(all[half - 1], all[half]),
    }
}

/// The standard deviation as the median absolute deviation tells it.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let middle = median(values.iter().copied());
    NORMAL * median(values.iter().map(|value| (value - middle).abs()))
}

/// The interval that holds the mean with 95 % confidence: a wide one, as values are few.
pub(super) fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 2 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    let student = STUDENT[(values.len() - 2).min(STUDENT.len() - 1)];
    let half = student * (variance / n).sqrt();
    (mean - half, mean + half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
        // deviations from 3: 2, 1, 0, 1, 97
        assert!((deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]) - 1.4826).abs() < 1e-12);
        // mean 2, standard deviation 1, t(2) = 4.303
        let (lower, upper) = interval(&[1.0, 2.0, 3.0]);
        let half = 4.303 / 3.0_f64.sqrt();
        assert!((lower - (2.0 - half)).abs() < 1e-12 && (upper - (2.0 + half)).abs() < 1e-12);
        assert_eq!(interval(&[1.0]), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
