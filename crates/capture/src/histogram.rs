//! Distributions in bounded space.

/// Buckets to a doubling: what is in one differs by less than 1/128.
const PER_DOUBLING: u64 = 128;
const BITS: u32 = PER_DOUBLING.trailing_zeros();

/// Values counted in buckets of logarithmic width. Up to 256 every value has its own bucket; above, the values of a
/// bucket differ by less than 1/128 (0.8 %). Each bucket knows count, sum, least and greatest of what fell in, so a
/// bucket that only ever saw one value is exact, and so are all sums. At most 7,424 buckets of 32 bytes.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    buckets: Vec<Bucket>,
    count: u64,
    sum: u128,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    count: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

const NOTHING: Bucket = Bucket { count: 0, sum: 0, least: u64::MAX, greatest: 0 };

/// Some of the values, from the smallest on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The least of them.
    pub least: u64,
    /// The greatest of them.
    pub greatest: u64,
    /// How many there are of these or smaller ones.
    pub count: u64,
    /// The sum of these and smaller ones.
    pub sum: u128,
}

fn place(value: u64) -> usize {
    if value < 2 * PER_DOUBLING {
        return value as usize;
    }
    let doubling = value.ilog2() - BITS;
    ((u64::from(doubling) << BITS) + (value >> doubling)) as usize
}

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let place = place(value);
        if place >= self.buckets.len() {
            self.buckets.resize(place + 1, NOTHING);
        }
        let bucket = &mut self.buckets[place];
        bucket.count += 1;
        bucket.sum += u128::from(value);
        bucket.least = bucket.least.min(value);
        bucket.greatest = bucket.greatest.max(value);
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Counts all that `other` has.
    pub fn merge(&mut self, other: &Histogram) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), NOTHING);
        }
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            own.count += other.count;
            own.sum += other.sum;
            own.least = own.least.min(other.least);
            own.greatest = own.greatest.max(other.greatest);
        }
        self.count += other.count;
        self.sum += other.sum;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their mean, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The greatest.
    pub fn greatest(&self) -> Option<u64> {
        self.buckets.iter().rev().find(|bucket| bucket.count > 0).map(|bucket| bucket.greatest)
    }

    /// The distribution function: all that have values, from the smallest on.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let (mut count, mut sum) = (0, 0);
        self.buckets.iter().filter(|bucket| bucket.count > 0).map(move |bucket| {
            count += bucket.count;
            sum += bucket.sum;
            Step { least: bucket.least, greatest: bucket.greatest, count, sum }
        })
    }

    /// The least value (to the resolution) that a share of `share` of all are at most; the greatest in its bucket.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        self.steps().find(|step| step.count >= wanted).map(|step| step.greatest)
    }

    /// The least value (to the resolution) such that a share of `share` of the *sum* is in values up to it.
    pub fn quantile_of_sum(&self, share: f64) -> Option<u64> {
        let wanted = share * self.sum as f64;
        self.steps().find(|step| step.sum as f64 >= wanted).map(|step| step.greatest)
    }

    /// The shares of all values, and of their sum, that are in values up to `value`: a bucket counts if all of it is.
    pub fn up_to(&self, value: u64) -> Option<(f64, f64)> {
        if self.count == 0 {
            return None;
        }
        let step = self.steps().take_while(|step| step.greatest <= value).last();
        let (count, sum) = step.map_or((0, 0), |step| (step.count, step.sum));
        Some((count as f64 / self.count as f64, if self.sum == 0 { 1.0 } else { sum as f64 / self.sum as f64 }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        assert_eq!((place(0), place(255), place(256), place(257), place(258)), (0, 255, 256, 256, 257));
        assert_eq!(place(u64::MAX), 7423);
        for power in 8..64 {
            let edge = 1u64 << power;
            assert_eq!(place(edge - 1) + 1, place(edge), "2^{power}");
        }
    }

    #[test]
    fn what_falls_in_a_bucket_alone_is_exact() {
        let mut histogram = Histogram::default();
        for value in [100_001, 100_001, 7] {
            histogram.add(value);
        }
        assert_eq!(histogram.quantile(0.5), Some(100_001));
        assert_eq!(histogram.quantile(0.33), Some(7));
        assert_eq!(histogram.sum(), 200_009);
        assert_eq!(histogram.up_to(100_000), Some((1.0 / 3.0, 7.0 / 200_009.0)));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    proptest! {
        /// Against the sorted values: the stated resolution holds everywhere.
        #[test]
        fn quantiles_are_within_the_resolution(mut values in prop::collection::vec(0u64..1 << 40, 1..300), share in 0.0..1.0f64) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.add(value);
            }
            values.sort_unstable();
            let exact = values[(((share * values.len() as f64).ceil() as usize).max(1)) - 1];
            let found = histogram.quantile(share).unwrap();
            prop_assert!(found >= exact && (found - exact) as f64 <= exact as f64 / 128.0, "{found} for {exact}");
            prop_assert_eq!(histogram.sum(), values.iter().map(|&value| u128::from(value)).sum::<u128>());
        }
    }
}
