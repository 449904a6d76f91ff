//! Heavy-tailed sizes.

use headway_engine::Stream;
use headway_units::Bytes;

use super::{Distribution, SizeError, not_zero, whole};

/// Pareto-distributed sizes: P(size > x) = (scale / x)^shape from the scale on, which is the least size.
///
/// Given by shape and mean, from which scale = mean · (shape − 1) / shape. With a cap, larger draws become the cap; the
/// mean given stays that of the uncapped distribution, and [`Size::mean`](super::Size::mean) is that of the capped one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    shape: f64,
    scale: f64,
    cap: Option<Bytes>,
}

impl Pareto {
    /// Sizes of shape `shape` and, before the cap, mean `mean`.
    ///
    /// # Errors
    /// A shape that is not above 1 or not finite, a mean of zero, a cap below the least size.
    pub fn new(shape: f64, mean: Bytes, cap: Option<Bytes>) -> Result<Pareto, SizeError> {
        if !(shape > 1.0 && shape.is_finite()) {
            return Err(SizeError::Shape { shape });
        }
        not_zero("mean", mean)?;
        let scale = mean.get() as f64 * (shape - 1.0) / shape;
        if let Some(cap) = cap.filter(|&cap| cap < whole(scale)) {
            return Err(SizeError::Cap { cap, least: whole(scale) });
        }
        Ok(Pareto { shape, scale, cap })
    }
}

impl Distribution for Pareto {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        // 1 - unit() is in (0, 1].
        let size = whole(self.scale * libm::pow(1.0 - stream.unit(), -1.0 / self.shape));
        self.cap.map_or(size, |cap| size.min(cap))
    }

    /// Uncapped: scale · shape / (shape − 1). The cap takes ∫ (scale/x)^shape dx from the cap on away.
    fn mean(&self) -> Bytes {
        let beyond = self.cap.map_or(0.0, |cap| libm::pow(self.scale / cap.get() as f64, self.shape - 1.0));
        let mean = self.scale * (self.shape - beyond) / (self.shape - 1.0);
        Bytes::new((mean + 0.5) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use crate::size::tests::{DRAWS, assert_follows, average, draws};

    fn pareto(shape: f64, mean: u64, cap: Option<u64>) -> Size {
        Size::Pareto(Pareto::new(shape, Bytes::new(mean), cap.map(Bytes::new)).unwrap())
    }

    /// The two of the thesis's web search (§6.4). Their variance is infinite, so the mean is no test of them; the tail is.
    #[test]
    fn tails_follow_the_power_law() {
        for (shape, mean) in [(1.5, 50_000), (1.2, 10_000_000)] {
            let size = pareto(shape, mean, None);
            assert_eq!(size.mean(), Bytes::new(mean));
            let scale = mean as f64 * (shape - 1.0) / shape;
            let sizes = (0..60).map(|i| (scale * libm::pow(1.3, f64::from(i))).ceil());
            assert_follows(draws(&size), sizes, |x| 1.0 - libm::pow(scale / x, shape));
        }
    }

    #[test]
    fn the_mean_is_the_one_asked_for() {
        // Shape 2.5: variance = mean² / (shape · (shape − 2)) = 0.8 mean²; four standard errors with 10⁵ draws: 1.13 %.
        let size = pareto(2.5, 30_000, None);
        assert!((average(&draws(&size)) / 30_000.5 - 1.0).abs() < 0.0113);
    }

    #[test]
    fn a_cap_cuts_and_the_mean_knows_it() {
        // Shape 1.5, scale 1, cap 4: E min(X, 4) = 1 + ∫₁⁴ x^−1.5 dx = 1 + 2 (1 − 1/2) = 2, times a scale of 10,000.
        let size = pareto(1.5, 30_000, Some(40_000));
        assert_eq!(size.mean(), Bytes::new(20_000));
        let draws = draws(&size);
        // Above the cap before: (1/4)^1.5 = 1/8; binomial standard error √(1/8 · 7/8 · 10⁵) = 104.6, four of them.
        let capped = draws.iter().filter(|&&draw| draw == 40_000.0).count();
        assert!(capped.abs_diff(DRAWS / 8) < 419, "{capped}");
        // Sizes lie within 30,000 of each other: a standard deviation of at most 15,000, four standard errors 190.
        assert!((average(&draws) - 20_000.5).abs() < 190.0);
        assert!(draws.iter().all(|draw| (10_000.0..=40_000.0).contains(draw)));
    }

    #[test]
    fn impossible_parameters_are_errors() {
        for shape in [1.0, 0.5, -2.0, f64::NAN, f64::INFINITY] {
            let error = Pareto::new(shape, Bytes::new(1000), None).unwrap_err();
            assert!(matches!(error, SizeError::Shape { .. }), "{error}");
        }
        assert_eq!(Pareto::new(1.5, Bytes::ZERO, None), Err(SizeError::Zero { name: "mean" }));
        let cap = Pareto::new(1.5, Bytes::new(3000), Some(Bytes::new(999)));
        assert_eq!(cap, Err(SizeError::Cap { cap: Bytes::new(999), least: Bytes::new(1000) }));
        let largest = pareto(1.000_001, u64::MAX, None);
        assert!(draws(&largest).iter().all(|&draw| draw >= 1.0));
    }
}
