//! How large flows are.
//!
//! Every draw takes exactly one number from the stream (none if there is nothing to choose; a uniform size takes more
//! in rare cases), so a change of parameters scales sizes and shifts none. Continuous distributions are rounded up to whole
//! bytes: the share of flows above any whole number of bytes is exactly that of the distribution, and the mean is half a
//! byte higher.
//!
//! A distribution is a file of this folder and a line in the list below.

mod cdf;
mod exponential;
mod fixed;
mod pareto;
#[cfg(test)]
mod two_sizes;
mod uniform;

pub use cdf::CdfError;
use headway_engine::Stream;
use headway_units::Bytes;
use thiserror::Error;

/// What a distribution of flow sizes gives.
trait Distribution {
    /// The size of one flow, at least one byte.
    fn draw(&self, stream: &mut Stream) -> Bytes;

    /// The mean, to the nearest byte.
    fn mean(&self) -> Bytes;
}

macro_rules! distributions {
    ($($(#[doc = $about:literal])* $(#[cfg($cfg:meta)])? $file:ident::$distribution:ident;)+) => {
        $($(#[cfg($cfg)])? pub use $file::$distribution;)+

        /// A distribution of flow sizes. Sizes are at least one byte.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Size {
            $($(#[doc = $about])* $(#[cfg($cfg)])? $distribution($distribution),)+
        }

        impl Size {
            /// The size of one flow.
            pub fn draw(&self, stream: &mut Stream) -> Bytes {
                match self { $($(#[cfg($cfg)])? Size::$distribution(own) => Distribution::draw(own, stream),)+ }
            }

            /// The mean of the distribution, to the nearest byte.
            pub fn mean(&self) -> Bytes {
                match self { $($(#[cfg($cfg)])? Size::$distribution(own) => Distribution::mean(own),)+ }
            }
        }
    };
}

distributions! {
    /// Always the same.
    fixed::Fixed;
    /// Equally likely between two sizes.
    uniform::Uniform;
    /// Exponential.
    exponential::Exponential;
    /// Heavy-tailed.
    pareto::Pareto;
    /// As measured.
    cdf::Cdf;
    /// A worked example.
    #[cfg(test)]
    two_sizes::TwoSizes;
}

/// Why there is no such distribution.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum SizeError {
    /// Flows of nothing.
    #[error("the {name} is zero; a flow has at least one byte")]
    Zero {
        /// Which parameter.
        name: &'static str,
    },
    /// A range that is upside down.
    #[error("the least size {least} is above the greatest size {most}")]
    Reversed {
        /// Lower end.
        least: Bytes,
        /// Upper end.
        most: Bytes,
    },
    /// A Pareto distribution without a mean.
    #[error("the shape is {shape}; a Pareto distribution has a mean only with a finite shape above 1")]
    Shape {
        /// What was given.
        shape: f64,
    },
    /// A cap below everything the distribution gives.
    #[error("the cap {cap} is below the least size, {least}")]
    Cap {
        /// What was given.
        cap: Bytes,
        /// The distribution's scale, rounded up.
        least: Bytes,
    },
}

fn not_zero(name: &'static str, bytes: Bytes) -> Result<(), SizeError> {
    if bytes.is_zero() { Err(SizeError::Zero { name }) } else { Ok(()) }
}

/// `bytes` rounded up, at least one byte and at most [`Bytes::MAX`].
fn whole(bytes: f64) -> Bytes {
    // `as` saturates.
    Bytes::new((bytes.ceil() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use headway_engine::Streams;

    use super::*;

    pub(crate) const DRAWS: usize = 100_000;

    pub(crate) fn draws(size: &Size) -> Vec<f64> {
        let mut stream = Streams::new(5).stream("size");
        (0..DRAWS).map(|_| size.draw(&mut stream).get() as f64).collect()
    }

    pub(crate) fn average(draws: &[f64]) -> f64 {
        draws.iter().sum::<f64>() / draws.len() as f64
    }

    /// Kolmogorov and Smirnov: the largest distance between the share of draws up to a size and `cdf`, at the sizes given,
    /// is above 1.95/√n once in a thousand (less often for steps).
    pub(crate) fn assert_follows(mut draws: Vec<f64>, sizes: impl IntoIterator<Item = f64>, cdf: impl Fn(f64) -> f64) {
        draws.sort_unstable_by(f64::total_cmp);
        for size in sizes {
            let share = draws.partition_point(|&draw| draw <= size) as f64 / draws.len() as f64;
            let distance = (share - cdf(size)).abs();
            assert!(distance < 1.95 / (DRAWS as f64).sqrt(), "{size}: {share} instead of {}", cdf(size));
        }
    }

    #[test]
    fn rounding_is_up_and_never_to_nothing() {
        let expected = [(0.0, 1), (-1.0, 1), (0.2, 1), (1.0, 1), (1.000_001, 2), (1e30, u64::MAX), (f64::NAN, 1)];
        for (bytes, rounded) in expected {
            assert_eq!(whole(bytes), Bytes::new(rounded));
        }
    }
}
