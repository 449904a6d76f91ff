//! When flows start.

use headway_engine::Stream;
use headway_units::{Span, Time};

/// When the flows of one generator start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// So many arrivals, all at the start.
    Once {
        /// How many.
        count: u32,
    },
    /// Independent exponential gaps, the first one from the start.
    Poisson {
        /// Mean gap; not zero.
        mean: Span,
    },
    /// One arrival at the start and one every period after it. Generators of one traffic keep the same beat.
    Periodic {
        /// Gap; not zero.
        period: Span,
        /// Each flow of an arrival starts later by up to this, at random and evenly spread, without moving the beat;
        /// shorter than the period. Hosts never start at the same instant.
        jitter: Span,
    },
    /// A closed loop: the next arrival when all flows of the one before have completed, and a pause later.
    ClosedLoop {
        /// The mean of the pauses, which are exponential, the first one from the start; zero: there are none.
        think: Span,
    },
}

impl Arrival {
    /// Whether the next arrival waits until the flows of the one before have completed.
    pub const fn waits(self) -> bool {
        matches!(self, Arrival::ClosedLoop { .. })
    }

    /// Begins a sequence of arrivals.
    pub const fn begin(self) -> Arrivals {
        Arrivals { arrival: self, made: 0 }
    }

    /// How much later than their arrival flows may start.
    pub(crate) const fn jitter(self) -> Span {
        match self {
            Arrival::Once { .. } | Arrival::Poisson { .. } | Arrival::ClosedLoop { .. } => Span::ZERO,
            Arrival::Periodic { jitter, .. } => jitter,
        }
    }

    /// Whether arrivals would never leave the instant at which they begin.
    pub(crate) const fn stands_still(self) -> bool {
        match self {
            Arrival::Once { .. } | Arrival::ClosedLoop { .. } => false,
            Arrival::Poisson { mean: gap } | Arrival::Periodic { period: gap, .. } => gap.is_zero(),
        }
    }
}

/// A sequence of arrivals under way.
#[derive(Debug, Clone)]
pub struct Arrivals {
    arrival: Arrival,
    made: u64,
}

impl Arrivals {
    /// The next arrival, where `now` is the one before (in a closed loop: when that was complete) or, the first time, the
    /// start. `None`: no more, or none within
    /// the range of [`Time`].
    pub fn next(&mut self, now: Time, stream: &mut Stream) -> Option<Time> {
        let first = self.made == 0;
        let time = match self.arrival {
            Arrival::Once { count } => (self.made < u64::from(count)).then_some(now),
            // Whole picoseconds, to the nearest; `as` saturates at the end of the range, where the sum is `None`.
            Arrival::Poisson { mean } | Arrival::ClosedLoop { think: mean } => {
                let gap = stream.exponential(mean.picos() as f64) + 0.5;
                now.checked_add(Span::from_picos(gap as u64))
            }
            Arrival::Periodic { .. } if first => Some(now),
            Arrival::Periodic { period, .. } => now.checked_add(period),
        };
        self.made += u64::from(time.is_some());
        time
    }
}

#[cfg(test)]
mod tests {
    use headway_engine::Streams;

    use super::*;

    fn times(arrival: Arrival, start: Time, most: usize) -> Vec<Time> {
        let mut stream = Streams::new(11).stream("arrival");
        let mut arrivals = arrival.begin();
        let mut now = start;
        std::iter::from_fn(|| {
            now = arrivals.next(now, &mut stream)?;
            Some(now)
        })
        .take(most)
        .collect()
    }

    #[test]
    fn once_is_that_many_at_the_start() {
        let start = Time::from_picos(5);
        assert_eq!(times(Arrival::Once { count: 3 }, start, 10), [start; 3]);
        assert_eq!(times(Arrival::Once { count: 0 }, start, 10), []);
    }

    #[test]
    fn periodic_begins_at_the_start_and_does_not_drift() {
        let period = Span::from_picos(333);
        let times = times(Arrival::Periodic { period, jitter: Span::ZERO }, Time::from_picos(7), 1000);
        assert_eq!((times[0], times[999]), (Time::from_picos(7), Time::from_picos(7 + 999 * 333)));
    }

    /// Gaps have mean m and standard deviation m; with n = 10⁵ the standard errors are m·0.0032 for the mean and
    /// m²·√(8/n) = m²·0.0089 for the variance. Counts per interval have variance equal to their mean; over 10⁴
    /// intervals the ratio's standard error is √(2/10⁴) = 0.014. Four standard errors each.
    #[test]
    fn poisson_has_its_mean_variance_and_dispersion() {
        let mean = Span::from_millis(200);
        let n = 100_000;
        let times = times(Arrival::Poisson { mean }, Time::ZERO, n);
        let unit = mean.picos() as f64;
        let all = std::iter::once(&Time::ZERO).chain(&times);
        let gaps: Vec<f64> = all.zip(&times).map(|(&a, &b)| (b - a).picos() as f64 / unit).collect();
        let average = gaps.iter().sum::<f64>() / n as f64;
        let variance = gaps.iter().map(|g| (g - average) * (g - average)).sum::<f64>() / n as f64;
        assert!((average - 1.0).abs() < 0.013, "mean {average}");
        assert!((variance - 1.0).abs() < 0.036, "variance {variance}");

        let mut counts = vec![0.0; 10_000];
        for time in times {
            if let Some(count) = counts.get_mut((time.picos() as f64 / unit / 9.0) as usize) {
                *count += 1.0;
            }
        }
        let average = counts.iter().sum::<f64>() / 1e4;
        let variance = counts.iter().map(|c| (c - average) * (c - average)).sum::<f64>() / 1e4;
        assert!((average - 9.0).abs() < 4.0 * 0.03, "{average} per interval");
        assert!((variance / average - 1.0).abs() < 0.057, "dispersion {}", variance / average);
    }

    #[test]
    fn the_end_of_time_ends_a_sequence() {
        let late = Time::from_picos(u64::MAX - 10);
        assert_eq!(times(Arrival::Periodic { period: Span::from_picos(4), jitter: Span::ZERO }, late, 9).len(), 3);
        assert_eq!(times(Arrival::Poisson { mean: Span::MAX }, late, 9), []);
    }
}
