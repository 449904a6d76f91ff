//! Random streams named by component, so that adding one part never shifts another's draws.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The root of a run's randomness: a seed from which every component derives a stream by its name.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of seed `seed`.
    pub fn new(seed: u64) -> Streams {
        Streams { seed }
    }

    /// The streams of a part of the run, for example `("repeat", 3)`: independent of all other parts'.
    pub fn part(self, name: &str, index: u64) -> Streams {
        Streams { seed: splitmix64(hash(self.seed, name) ^ splitmix64(index)) }
    }

    /// The stream of the component called `name`. The same name gives the same stream.
    pub fn stream(self, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(hash(self.seed, name)))
    }
}

/// FNV-1a over the name, mixed with the seed.
fn hash(seed: u64, name: &str) -> u64 {
    let fnv = name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    splitmix64(fnv ^ splitmix64(seed))
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014,
/// doi:10.1145/2660193.2660195): a bijection in which every input bit flips every output bit about half the time, but
/// which leaves 0 as it is.
#[inline]
pub const fn mix64(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// One step of SplitMix64: [`mix64`] of `x` and the golden ratio.
#[inline]
pub const fn splitmix64(x: u64) -> u64 {
    mix64(x.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// One component's random numbers: xoshiro256++ (doi:10.1145/3460772).
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - unit() is in (0, 1]: the logarithm is finite.
        -mean * libm::log(1.0 - self.unit())
    }

    /// Uniform in 0..n, without bias (Lemire 2019, doi:10.1145/3230636).
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "below(0)");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_one_stream_and_another_name_another() {
        let streams = Streams::new(1);
        let mut first = streams.stream("link/3");
        let draws: Vec<u64> = (0..4).map(|_| first.next_u64()).collect();
        let mut again = streams.stream("link/3");
        assert_eq!(draws, (0..4).map(|_| again.next_u64()).collect::<Vec<_>>());
        assert_ne!(draws[0], streams.stream("link/4").next_u64());
        assert_ne!(draws[0], Streams::new(2).stream("link/3").next_u64());
        assert_ne!(draws[0], streams.part("repeat", 0).stream("link/3").next_u64());
        assert_ne!(streams.part("repeat", 0).stream("x").next_u64(), streams.part("repeat", 1).stream("x").next_u64());
    }

    /// The first numbers of the generator that starts at 1234567, as Vigna's `splitmix64.c` gives them.
    #[test]
    fn splitmix64_is_vignas() {
        let gamma = 0x9e37_79b9_7f4a_7c15u64;
        let numbers = [0, 1, 2].map(|n| splitmix64(gamma.wrapping_mul(n).wrapping_add(1_234_567)));
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!(mix64(0), 0);
    }

    /// Mean 1 and variance 1 of an exponential; with n = 10⁵ the mean's standard error is 0.0032, the variance's
    /// √(8/n) = 0.009: both checked to about four of them.
    #[test]
    fn exponential_has_its_mean_and_variance() {
        let mut stream = Streams::new(7).stream("exponential");
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.exponential(1.0)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.013, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.036, "variance {variance}");
    }

    /// Chi-square over 10 cells, 9 degrees of freedom: 27.88 is exceeded with probability 0.001.
    #[test]
    fn below_is_uniform() {
        let mut stream = Streams::new(7).stream("below");
        let mut cells = [0u32; 10];
        for _ in 0..100_000 {
            cells[stream.below(10) as usize] += 1;
        }
        let chi: f64 = cells.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.88, "chi-square {chi}");
    }
}
