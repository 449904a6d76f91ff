//! Round-trip time and retransmission time-out (RFC 6298).

use headway_units::Span;

/// Smoothed round-trip time, its variation and the smallest sample.
#[derive(Debug, Clone, Copy)]
pub struct RttEstimator {
    srtt: Option<Span>,
    variation: Span,
    min: Option<Span>,
    rto: Span,
    floor: Span,
    ceiling: Span,
}

impl RttEstimator {
    /// Without a sample the time-out is `initial` (§2.1); later it stays within `floor` (§2.4; Linux: 200 ms) and
    /// `ceiling` (§2.5).
    pub fn new(initial: Span, floor: Span, ceiling: Span) -> RttEstimator {
        RttEstimator { srtt: None, variation: Span::ZERO, min: None, rto: initial.min(ceiling), floor, ceiling }
    }

    /// Takes a sample of a segment that was sent once (Karn's rule is the caller's).
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        let srtt = match self.srtt {
            None => {
                self.variation = rtt / 2; // §2.2
                rtt
            }
            Some(srtt) => {
                // §2.3, with α = 1/8 and β = 1/4; the variation first
                self.variation = (self.variation * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        };
        self.srtt = Some(srtt);
        self.rto = (srtt + self.variation * 4).max(self.floor).min(self.ceiling);
    }

    /// Doubles the time-out (§5.5).
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.ceiling);
    }

    /// The time-out now.
    #[inline]
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// The smoothed round-trip time.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.srtt
    }

    /// The smallest sample.
    #[inline]
    pub fn min(&self) -> Option<Span> {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(floor_ms: u64) -> RttEstimator {
        RttEstimator::new(Span::from_secs(1), Span::from_millis(floor_ms), Span::from_secs(120))
    }

    /// Equal samples R: RTO = 3R, 2.5R, 2.125R (RFC 6298 §2.2, §2.3: the variation is R/2, then ¾ of it each time).
    #[test]
    fn equal_samples_approach_the_round_trip() {
        let mut rtt = estimator(0);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        let r = Span::from_millis(800);
        for expected_ms in [2400, 2000, 1700] {
            rtt.sample(r);
            assert_eq!(rtt.rto(), Span::from_millis(expected_ms));
            assert_eq!(rtt.srtt(), Some(r));
        }
    }

    /// 100 ms, then 180 ms: variation ¾·50 + ¼·80 = 57.5, srtt ⅞·100 + ⅛·180 = 110, RTO 110 + 230 = 340.
    #[test]
    fn a_second_sample_moves_both_averages() {
        let mut rtt = estimator(200);
        rtt.sample(Span::from_millis(100));
        rtt.sample(Span::from_millis(180));
        assert_eq!(rtt.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rtt.rto(), Span::from_millis(340));
        assert_eq!(rtt.min(), Some(Span::from_millis(100)));
    }

    #[test]
    fn back_off_doubles_up_to_the_ceiling_and_a_sample_ends_it() {
        let mut rtt = estimator(200);
        rtt.sample(Span::from_millis(1));
        assert_eq!(rtt.rto(), Span::from_millis(200));
        for expected_ms in [400, 800, 1600] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Span::from_millis(expected_ms));
        }
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_secs(120));
        rtt.sample(Span::from_millis(1));
        assert_eq!(rtt.rto(), Span::from_millis(200));
    }
}
