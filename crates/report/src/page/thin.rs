//! Series of samples thinned without losing peaks.
//!
//! Of each bucket of successive samples the first, the least, the largest and the last are kept (M4: U. Jugel et al.,
//! *M4: A Visualization-Oriented Time Series Data Aggregation*, PVLDB 7(10), 2014). A line through them crosses the same
//! pixels as a line through all, as long as a bucket is narrower than a pixel; peaks are kept at any width.

/// A sample: its time and value.
pub(super) type Sample = (f64, f64);

/// A bucket: the samples that stand for it, with their places in the series.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    first: (u64, Sample),
    least: (u64, Sample),
    largest: (u64, Sample),
    last: (u64, Sample),
}

impl Bucket {
    fn of(place: u64, sample: Sample) -> Bucket {
        let one = (place, sample);
        Bucket { first: one, least: one, largest: one, last: one }
    }

    /// With a later bucket.
    fn join(&mut self, later: &Bucket) {
        if later.least.1.1 < self.least.1.1 {
            self.least = later.least;
        }
        if later.largest.1.1 > self.largest.1.1 {
            self.largest = later.largest;
        }
        self.last = later.last;
    }
}

/// Thins a series as it comes, in memory that does not grow with it: when there are twice as many buckets as asked for,
/// each two become one.
#[derive(Debug, Clone)]
pub(super) struct Thinner {
    buckets: Vec<Bucket>,
    /// Samples in a bucket.
    width: u64,
    /// Samples so far.
    seen: u64,
    most: usize,
}

impl Thinner {
    /// To between `most` and twice as many buckets, of at most four samples each.
    pub(super) fn new(most: usize) -> Thinner {
        Thinner { buckets: Vec::new(), width: 1, seen: 0, most: most.max(1) }
    }

    /// Takes a sample in; a value that is not finite is left out.
    pub(super) fn push(&mut self, sample: Sample) {
        if !(sample.0.is_finite() && sample.1.is_finite()) {
            return;
        }
        let one = Bucket::of(self.seen, sample);
        match self.buckets.last_mut() {
            Some(last) if !self.seen.is_multiple_of(self.width) => last.join(&one),
            _ => self.buckets.push(one),
        }
        self.seen += 1;
        // Full ones only, or the next sample would belong to the last.
        if self.buckets.len() == 2 * self.most && self.seen.is_multiple_of(self.width) {
            for pair in 0..self.most {
                let mut joined = self.buckets[2 * pair];
                joined.join(&self.buckets[2 * pair + 1]);
                self.buckets[pair] = joined;
            }
            self.buckets.truncate(self.most);
            self.width *= 2;
        }
    }

    /// Samples taken in.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// How far apart the largest and the least value are; 0 of none.
    pub(super) fn range(&self) -> f64 {
        let least = self.buckets.iter().map(|bucket| bucket.least.1.1).fold(f64::INFINITY, f64::min);
        let largest = self.buckets.iter().map(|bucket| bucket.largest.1.1).fold(f64::NEG_INFINITY, f64::max);
        if self.buckets.is_empty() { 0.0 } else { largest - least }
    }

    /// What is left, in order.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let mut all: Vec<(u64, Sample)> = Vec::with_capacity(4 * self.buckets.len());
        for bucket in &self.buckets {
            let mut four = [bucket.first, bucket.least, bucket.largest, bucket.last];
            four.sort_unstable_by_key(|(place, _)| *place);
            all.extend(four);
        }
        all.dedup_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, sample)| sample).collect()
    }
}

/// `samples`, of which at most `most` are left.
pub(super) fn thinned(samples: &[Sample], most: usize) -> Vec<Sample> {
    if samples.len() <= most {
        return samples.to_vec();
    }
    // between 4 and 8 samples for each that is asked for
    let mut thinner = Thinner::new(most / 8);
    for sample in samples {
        thinner.push(*sample);
    }
    thinner.samples()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear congruential generator (Knuth, MMIX): values that have no pattern, the same each time.
    fn noise(n: usize) -> Vec<Sample> {
        let mut state = 1u64;
        (0..n)
            .map(|i| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (i as f64, (state >> 40) as f64)
            })
            .collect()
    }

    #[test]
    fn a_single_peak_among_a_million_samples_stays() {
        for at in [0, 1, 499_999, 777_777, 999_998, 999_999] {
            let series = (0..1_000_000).map(|i| (f64::from(i), if i == at { 1e9 } else { 1.0 }));
            let mut thinner = Thinner::new(64);
            for sample in series {
                thinner.push(sample);
            }
            let kept = thinner.samples();
            assert!(kept.len() <= 4 * 2 * 64, "{}", kept.len());
            assert!(kept.contains(&(f64::from(at), 1e9)), "{at}");
            assert_eq!((thinner.seen(), thinner.range()), (1_000_000, 1e9 - 1.0));
        }
    }

    /// Whatever the length, every bucket of the result has the extremes of the samples that it stands for.
    #[test]
    fn all_buckets_keep_first_least_largest_and_last() {
        for n in [1, 2, 15, 16, 17, 31, 32, 33, 1000, 12_345] {
            let series = noise(n);
            let mut thinner = Thinner::new(8);
            for sample in &series {
                thinner.push(*sample);
            }
            assert!(thinner.buckets.len() <= 16, "{n}");
            let (kept, width) = (thinner.samples(), thinner.width as usize);
            assert!(kept.is_sorted_by(|a, b| a.0 < b.0), "{n}: in order, none twice");
            for bucket in series.chunks(width) {
                let by_value = |a: &&Sample, b: &&Sample| a.1.total_cmp(&b.1);
                let ends =
                    [bucket.first(), bucket.last(), bucket.iter().min_by(by_value), bucket.iter().max_by(by_value)];
                for wanted in ends.into_iter().flatten() {
                    let inside = |sample: &&Sample| sample.0 >= bucket[0].0 && sample.0 <= bucket[bucket.len() - 1].0;
                    assert!(kept.iter().filter(inside).any(|sample| sample.1 == wanted.1), "{n}: {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn short_series_stay_as_they_are() {
        let series = noise(20);
        assert_eq!(thinned(&series, 20), series);
        let mut thinner = Thinner::new(64);
        for sample in &series {
            thinner.push(*sample);
        }
        assert_eq!(thinner.samples(), series);
    }

    #[test]
    fn thinned_again_the_extremes_are_still_there() {
        let series = noise(5000);
        for most in [400, 100, 16, 8] {
            let kept = thinned(&thinned(&series, 400), most);
            assert!(kept.len() <= most.max(8), "{} of {most}", kept.len());
            let largest = |samples: &[Sample]| samples.iter().map(|sample| sample.1).fold(0.0, f64::max);
            let least = |samples: &[Sample]| samples.iter().map(|sample| sample.1).fold(f64::INFINITY, f64::min);
            assert_eq!((largest(&kept), least(&kept)), (largest(&series), least(&series)), "{most}");
        }
    }

    #[test]
    fn values_that_are_no_numbers_are_left_out() {
        let mut thinner = Thinner::new(4);
        for value in [f64::NAN, 1.0, f64::INFINITY] {
            thinner.push((0.0, value));
        }
        assert_eq!(thinner.samples(), [(0.0, 1.0)]);
        assert_eq!(Thinner::new(4).range(), 0.0);
    }
}
