//! Parts of all runs, each for one machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The `index`th of `of` parts of all runs; prints as `2/4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: u32,
    of: u32,
}

/// A text that names no shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a shard is written as `2/4`: its number, from 1, and how many there are, at most {}", Shard::MOST)]
pub struct NotAShard;

impl Shard {
    /// There are at most so many.
    pub const MOST: u32 = 100_000;

    /// Shard `index`, from 1, of `of`; nothing if there is none.
    pub fn new(index: u32, of: u32) -> Option<Shard> {
        (1 <= index && index <= of && of <= Shard::MOST).then_some(Shard { index, of })
    }

    /// Its number, from 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether it has the run at `place` of all runs in the order of the files.
    ///
    /// Of each `of` neighbours every shard has one, so their numbers of runs differ by one at most. Who gets which moves
    /// on by one from each group of neighbours to the next: neighbours are repeats of a cell, then policies, then values
    /// of the sweep, and without that four shards of four policies would have one policy each, one the costliest.
    pub fn has(self, place: usize) -> bool {
        let of = self.of as usize;
        (place + place / of) % of == self.index as usize - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Shard, NotAShard> {
        let (index, of) = text.split_once('/').ok_or(NotAShard)?;
        let number = |text: &str| text.parse().map_err(|_| NotAShard);
        Shard::new(number(index)?, number(of)?).ok_or(NotAShard)
    }
}

impl TryFrom<String> for Shard {
    type Error = NotAShard;

    fn try_from(text: String) -> Result<Shard, NotAShard> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_run_is_in_one_shard_and_shards_are_as_large(of in 1..40u32, runs in 0..500usize) {
            let shards: Vec<Shard> = (1..=of).map(|index| Shard::new(index, of).unwrap()).collect();
            let mut sizes = vec![0; of as usize];
            for place in 0..runs {
                let owners: Vec<usize> = (0..shards.len()).filter(|&one| shards[one].has(place)).collect();
                prop_assert_eq!(owners.len(), 1);
                sizes[owners[0]] += 1;
            }
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }

    /// Four policies at eight points in four shards: each has every policy twice.
    #[test]
    fn a_shard_has_runs_of_all_policies() {
        for index in 1..=4 {
            let shard = Shard::new(index, 4).unwrap();
            let mut policies: Vec<usize> = (0..32).filter(|&place| shard.has(place)).map(|place| place % 4).collect();
            policies.sort_unstable();
            assert_eq!(policies, [0, 0, 1, 1, 2, 2, 3, 3]);
        }
    }

    #[test]
    fn text_reads_back_and_other_text_is_told() {
        for text in ["1/1", "2/4", "100000/100000"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        for text in ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/100001", "1/2/3", " 1/2", "a/b"] {
            assert_eq!(text.parse::<Shard>(), Err(NotAShard), "{text}");
        }
    }
}
