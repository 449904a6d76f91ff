//! Random early detection (Floyd & Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993, doi:10.1109/90.251892),
//! with ECN (RFC 3168 §5 and §7) and `gentle` (Floyd 2000, ns and later texts).
//!
//! An arrival moves the average by avg ← (1 − w) avg + w q; one that finds the queue empty lets it decay as if m
//! usual frames had passed, (1 − w)^m (§4). Between `min` and `max` a frame is marked with p_a = p_b / (1 − count p_b),
//! p_b = max_p (avg − min)/(max − min), so that the distance between marks is uniform on 1 … 1/p_b (§7, method 2).
//! `count` are the frames since the last mark without this one, as that derivation and `include/net/red.h: red_action`
//! have it; the paper's figure 2 counts one more.
//! The queue's length includes the frame being transmitted until its last bit has left.
//! Leaves out: probability by size of frame, adaptive RED, instantaneous `max` limits of some switches' WRED.

use headway_engine::Stream;
use headway_units::{Bytes, Span};

use super::discipline::{Admission, PortParameters, Spec, Verdict};
use super::limit::Limit;

/// Random early detection (Floyd & Jacobson 1993).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedSpec {
    /// Arrivals that would make the queue exceed this are dropped. `None`: only the average drops.
    pub limit: Option<Limit>,
    /// Up to this average nothing is marked or dropped.
    pub min: Limit,
    /// Towards this average the probability rises to `probability`; above it everything is marked or dropped, or with
    /// `gentle` above twice as much. In the unit of `min`, and more than it.
    pub max: Limit,
    /// The probability at an average of `max`, from 0 to 1.
    pub probability: f64,
    /// The weight of an arrival in the moving average, more than 0 and at most 1.
    pub weight: f64,
    /// What is taken for the usual frame when an idle time is counted in frames.
    pub packet: Bytes,
    /// Between `max` and twice `max` the probability rises on to 1 (Floyd 2000).
    pub gentle: bool,
    /// ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
    /// Where everything is marked or dropped, ECN-capable frames too are dropped (RFC 3168 §7).
    pub hard_drop: bool,
}

impl Spec for RedSpec {
    type Discipline = Red;
    const NAME: &'static str = "RED";

    fn discipline(&self, port: &PortParameters) -> Red {
        Red::new(self, port.service(self.packet), port.stream())
    }

    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// State of one queue.
#[derive(Debug)]
pub(crate) struct Red {
    limit_bytes: u64,
    limit_frames: u32,
    /// The average and its thresholds are in bytes, else in frames.
    in_bytes: bool,
    min: f64,
    max: f64,
    probability: f64,
    weight: f64,
    /// What one frame of an idle time takes.
    service: Span,
    gentle: bool,
    /// What chance brings.
    early: Verdict,
    /// What becomes of frames where all are marked or dropped.
    late: Verdict,
    average: f64,
    /// Frames since the last mark while the average was over `min`.
    count: u32,
    stream: Stream,
}

impl Red {
    /// A queue that sends a frame of usual size in `service`.
    pub fn new(spec: &RedSpec, service: Span, stream: Stream) -> Red {
        let (limit_bytes, limit_frames) = Limit::split(spec.limit);
        let plain = |limit: Limit| match limit {
            Limit::Bytes(bytes) => bytes.get() as f64,
            Limit::Packets(packets) => f64::from(packets),
        };
        Red {
            limit_bytes,
            limit_frames,
            in_bytes: matches!(spec.min, Limit::Bytes(_)),
            min: plain(spec.min),
            max: plain(spec.max),
            probability: spec.probability,
            weight: spec.weight,
            service: service.max(Span::from_picos(1)),
            gentle: spec.gentle,
            early: if spec.ecn { Verdict::Signal } else { Verdict::Drop },
            late: if spec.ecn && !spec.hard_drop { Verdict::Signal } else { Verdict::Drop },
            average: 0.0,
            count: 0,
            stream,
        }
    }

    /// p_b of the present average.
    fn base(&self) -> f64 {
        let (min, max, most) = (self.min, self.max, self.probability);
        if self.average < min {
            0.0
        } else if self.average < max {
            most * (self.average - min) / (max - min)
        } else if self.gentle && self.average < 2.0 * max {
            most + (1.0 - most) * (self.average - max) / max
        } else {
            1.0
        }
    }
}

impl Admission for Red {
    fn offer(&mut self, bytes: Bytes, frames: u32, size: u16, idle: Span) -> Verdict {
        if frames == 0 {
            self.average *= power(1.0 - self.weight, idle.picos() / self.service.picos());
        } else {
            let length = if self.in_bytes { bytes.get() as f64 } else { f64::from(frames) };
            self.average += self.weight * (length - self.average);
        }
        if bytes.get() + u64::from(size) > self.limit_bytes || frames >= self.limit_frames {
            return Verdict::Drop;
        }
        let p = self.base();
        if p <= 0.0 {
            self.count = 0;
            return Verdict::Accept;
        }
        if p >= 1.0 {
            self.count = 0;
            return self.late;
        }
        // p_b/(1 − count p_b) ≥ 1, or the division would be by nothing or less, once (count + 1) p_b ≥ 1
        let counted = f64::from(self.count) * p;
        if counted + p < 1.0 && !self.stream.chance(p / (1.0 - counted)) {
            self.count += 1;
            return Verdict::Accept;
        }
        self.count = 0;
        self.early
    }
}

/// `base` to the `n`, by squaring: the same on every machine.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 && result > 0.0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_engine::Streams;

    const SPEC: RedSpec = RedSpec {
        limit: None,
        min: Limit::Packets(5),
        max: Limit::Packets(15),
        probability: 0.02,
        weight: 0.002,
        packet: Bytes::new(1000),
        gentle: false,
        ecn: true,
        hard_drop: false,
    };

    /// A frame takes a microsecond.
    fn red(spec: RedSpec) -> Red {
        Red::new(&spec, Span::from_micros(1), Streams::new(3).stream("red"))
    }

    fn offer(red: &mut Red, frames: u32) -> Verdict {
        red.offer(Bytes::new(1000 * u64::from(frames)), frames, 1000, Span::ZERO)
    }

    /// Floyd & Jacobson §6.1 eq. 2: a burst of L frames into an empty queue brings the average to
    /// L + 1 + ((1 − w)^(L + 1) − 1)/w; "for w = 0.001, after a queue increase from 0 to 100 packets, the average queue
    /// size avg₁₀₀ is 4.88 packets".
    #[test]
    fn the_average_follows_a_burst_slowly() {
        let mut red = red(RedSpec { weight: 0.001, ..SPEC });
        for frames in 1..=100 {
            offer(&mut red, frames);
        }
        assert!((red.average - 4.88).abs() < 0.01, "{}", red.average);
    }

    /// §4: an idle time of m frames is as m frames that find nothing. (1 − 0.002)^1000 = e^−2.002 = 0.13506.
    #[test]
    fn the_average_decays_while_the_queue_is_empty() {
        let mut red = red(SPEC);
        red.average = 10.0;
        red.offer(Bytes::ZERO, 0, 1000, Span::from_nanos(1_000_999));
        assert!((red.average - 1.3506).abs() < 1e-4, "{}", red.average);
        red.offer(Bytes::ZERO, 0, 1000, Span::MAX);
        assert_eq!(red.average, 0.0);
    }

    /// Marks at an average of `average`, with the frames from one to the next.
    fn distances(spec: RedSpec, average: u32, offers: u32) -> Vec<u32> {
        let mut red = red(spec);
        red.average = f64::from(average);
        let (mut distances, mut since) = (Vec::new(), 0);
        for _ in 0..offers {
            since += 1;
            match offer(&mut red, average) {
                Verdict::Signal => distances.push(std::mem::take(&mut since)),
                verdict => assert_eq!(verdict, Verdict::Accept),
            }
        }
        distances
    }

    /// Floyd & Jacobson §7, method 2: the distance between marks is uniform on 1 … 1/p_b, with p_b linear between
    /// `min` and `max`: averages of 7 and 10 between 5 and 15, at 0.1, give 0.02 and 0.05. Chi-square over the 50 and
    /// 20 values is exceeded with probability 0.001 at 85.4 (49 degrees of freedom) and 43.8 (19).
    #[test]
    fn distances_between_marks_are_uniform() {
        for (average, longest, chi_square) in [(7, 50u32, 85.4), (10, 20, 43.8)] {
            let distances = distances(RedSpec { probability: 0.1, ..SPEC }, average, 300_000);
            let expected = distances.len() as f64 / f64::from(longest);
            let mut counts = vec![0u32; longest as usize];
            for distance in &distances {
                counts[*distance as usize - 1] += 1;
            }
            let chi: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            assert!(chi < chi_square, "average {average}: {chi}");
        }
    }

    /// The share of marks is one over the mean distance, 2 p_b/(1 + p_b) where 1/p_b is whole; else the last distance,
    /// k + 1 with k = ⌊1/p_b⌋, has what probability is left, and the mean is p_b k (k + 1)/2 + (1 − p_b k)(k + 1).
    /// Four standard errors: a uniform distance has a coefficient of variation below 1/√3 = 0.58.
    #[test]
    fn the_share_of_marks_rises_with_the_average() {
        for (average, percent) in [(6, 1u32), (8, 3), (10, 5), (12, 7), (14, 9)] {
            let marks = distances(RedSpec { probability: 0.1, ..SPEC }, average, 200_000).len() as f64;
            let (p, k) = (f64::from(percent) / 100.0, f64::from(100 / percent));
            let mean = p * k * (k + 1.0) / 2.0 + (1.0 - p * k) * (k + 1.0);
            let expected: f64 = 200_000.0 / mean;
            let tolerance = 4.0 * 0.58 * expected.sqrt();
            assert!((marks - expected).abs() < tolerance, "average {average}: {marks}, expected {expected}");
        }
        assert_eq!(distances(SPEC, 4, 10_000), []);
    }

    /// Above `max` everything is marked, or with `gentle` from twice `max` on; between them the probability rises from
    /// `probability` to 1: at 1.5 max to (1 + 0.02)/2.
    #[test]
    fn beyond_the_maximum() {
        assert_eq!(distances(SPEC, 15, 100), [1; 100]);
        let gentle = RedSpec { gentle: true, max: Limit::Packets(10), ..SPEC };
        let red_at = |average: f64| {
            let mut red = red(gentle);
            red.average = average;
            red.base()
        };
        for (average, p) in [(10.0, 0.02), (15.0, 0.51), (20.0, 1.0), (7.5, 0.01), (5.0, 0.0)] {
            assert!((red_at(average) - p).abs() < 1e-12, "{average}");
        }
    }

    /// RFC 3168 §5 and §7: drops instead of marks where senders do not understand ECN or, if asked for, the average is
    /// beyond its maximum.
    #[test]
    fn ecn_decides_between_marks_and_drops() {
        for (ecn, hard_drop, early, late) in [
            (false, false, Verdict::Drop, Verdict::Drop),
            (true, false, Verdict::Signal, Verdict::Signal),
            (true, true, Verdict::Signal, Verdict::Drop),
        ] {
            let spec = RedSpec { ecn, hard_drop, probability: 1.0, ..SPEC };
            let mut red = red(spec);
            red.average = 14.9;
            while offer(&mut red, 15) == Verdict::Accept {}
            red.average = 14.9;
            red.count = 1000;
            assert_eq!(offer(&mut red, 14), early);
            red.average = 16.0;
            assert_eq!(offer(&mut red, 16), late);
        }
        let mut full = red(RedSpec { limit: Some(Limit::Packets(3)), ..SPEC });
        assert_eq!((offer(&mut full, 2), offer(&mut full, 3)), (Verdict::Accept, Verdict::Drop));
    }
}
