//! Between which hosts flows run.

use headway_engine::Stream;
use thiserror::Error;

use crate::ends::Ends;
use crate::share::Chosen;

/// The most generators of one traffic: all-to-all between 1,024 hosts.
pub const MAX_GENERATORS: usize = 1 << 20;

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// A generator per source; each flow goes to a random destination.
    Random,
    /// A generator per destination; each flow comes from a random source.
    EachDestination,
    /// A generator per ordered pair.
    AllToAll,
    /// A generator per source with one destination for good. Destinations are a random permutation, within one group one
    /// that sends no host to itself; with more sources than destinations they are dealt out evenly.
    Permutation,
    /// One generator; each arrival starts a flow from every source to one random destination.
    Incast,
}

/// Why a pattern cannot be laid over its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PairsError {
    /// No sources.
    #[error("there is no host to send")]
    NoSources,
    /// No destinations.
    #[error("there is no host to send to")]
    NoDestinations,
    /// A group of one.
    #[error("a single host has nobody but itself to send to")]
    Alone,
    /// More than [`MAX_GENERATORS`].
    #[error("{sources} sources and {destinations} destinations make more than {MAX_GENERATORS} independent generators")]
    TooMany {
        /// Number of sources.
        sources: usize,
        /// Number of destinations.
        destinations: usize,
    },
}

impl Pattern {
    /// Whether the pattern can be laid over the hosts of `ends`.
    ///
    /// # Errors
    /// No hosts, a group of one, too many generators.
    pub fn check(self, ends: Ends) -> Result<(), PairsError> {
        let (sources, destinations) = (ends.sources(), ends.destinations());
        if sources == 0 {
            return Err(PairsError::NoSources);
        }
        if destinations == 0 {
            return Err(PairsError::NoDestinations);
        }
        if ends.others(destinations) == 0 {
            return Err(PairsError::Alone);
        }
        let count = match self {
            Pattern::Random | Pattern::Permutation => Some(sources),
            Pattern::EachDestination => Some(destinations),
            Pattern::AllToAll => sources.checked_mul(destinations),
            // What counts here is the burst.
            Pattern::Incast => Some(sources.max(destinations)),
        };
        if count.is_none_or(|count| count > MAX_GENERATORS) {
            return Err(PairsError::TooMany { sources, destinations });
        }
        Ok(())
    }

    /// The independent sources of arrivals of those that take part, in their order; none if nobody meets. `own` is the
    /// traffic's own stream, for what is drawn once for all generators. The pattern has been [checked](Pattern::check).
    pub(crate) fn generators(self, chosen: &Chosen, own: &mut Stream) -> Vec<Generator> {
        if !chosen.meet() {
            return Vec::new();
        }
        let ends = chosen.ends;
        let (sources, destinations) = (ends.sources(), ends.destinations());
        let generator = |name: String, index: usize, pick: Pick| Generator { name, index: index as u32, ends, pick };
        let from = |source: usize, pick: Pick| {
            let host = chosen.source(source);
            generator(format!("from-{host}"), host, pick)
        };
        match self {
            Pattern::Random => (0..sources).map(|source| from(source, Pick::From { source })).collect(),
            Pattern::EachDestination => (0..destinations)
                .map(|destination| {
                    let host = chosen.destination(destination);
                    generator(format!("to-{host}"), host, Pick::To { destination })
                })
                .collect(),
            Pattern::AllToAll => (0..sources)
                .flat_map(|source| (0..destinations).map(move |destination| (source, destination)))
                .filter(|&(source, destination)| !ends.same(source, destination))
                .map(|(source, destination)| {
                    let (from, to) = (chosen.source(source), chosen.destination(destination));
                    let pick = Pick::Pair { source, destination };
                    generator(format!("{from}-to-{to}"), chosen.pair(from, to), pick)
                })
                .collect(),
            Pattern::Permutation => permutation(ends, own)
                .into_iter()
                .enumerate()
                .map(|(source, destination)| from(source, Pick::Pair { source, destination }))
                .collect(),
            Pattern::Incast => vec![generator("incast".to_owned(), 0, Pick::All { destination: 0, next: 0 })],
        }
    }
}

/// A destination for each source.
fn permutation(ends: Ends, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ends.destinations()).collect();
    loop {
        // Fisher and Yates; a shuffle is a derangement with probability about 1/e, so three tries are usual, and
        // drawing anew keeps all derangements equally likely.
        for i in (1..order.len()).rev() {
            order.swap(i, stream.below(i as u64 + 1) as usize);
        }
        if !order.iter().enumerate().any(|(source, &destination)| ends.same(source, destination)) {
            return order.iter().copied().cycle().take(ends.sources()).collect();
        }
    }
}

/// One independent source of arrivals: its name and between whom its flows run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generator {
    name: String,
    index: u32,
    ends: Ends,
    pick: Pick,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pick {
    Pair {
        source: usize,
        destination: usize,
    },
    From {
        source: usize,
    },
    To {
        destination: usize,
    },
    /// Every source in turn; a new destination before the first.
    All {
        destination: usize,
        next: usize,
    },
}

impl Generator {
    /// What tells this generator from the others of its traffic, for example `to-3`. Does not change when hosts are added.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number among the generators that there are when all hosts take part.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// How many flows one arrival starts; [`Generator::pair`] gives them one by one. At least 1.
    pub const fn flows_per_arrival(&self) -> usize {
        match self.pick {
            Pick::All { .. } => self.ends.others(self.ends.sources()),
            _ => 1,
        }
    }

    /// All pairs of a source and a destination that its flows may have, as [`Generator::pair`] gives them.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let ends = self.ends;
        match self.pick {
            Pick::Pair { source, destination } => vec![(source, destination)],
            Pick::From { source } => {
                let others = ends.others(ends.destinations());
                (0..others).map(|nth| (source, ends.skip(source, nth))).collect()
            }
            Pick::To { destination } => {
                let others = ends.others(ends.sources());
                (0..others).map(|nth| (ends.skip(destination, nth), destination)).collect()
            }
            Pick::All { .. } => {
                let others = ends.others(ends.sources());
                let to = |own: usize| (0..others).map(move |nth| (ends.skip(own, nth), own));
                (0..ends.destinations()).flat_map(to).collect()
            }
        }
    }

    /// Source and destination of the next flow, as indices into those of their groups that take part.
    pub fn pair(&mut self, stream: &mut Stream) -> (usize, usize) {
        let burst = self.flows_per_arrival();
        let ends = self.ends;
        match &mut self.pick {
            Pick::Pair { source, destination } => (*source, *destination),
            Pick::From { source } => (*source, ends.other(*source, ends.destinations(), stream)),
            Pick::To { destination } => (ends.other(*destination, ends.sources(), stream), *destination),
            Pick::All { destination, next } => {
                if *next == 0 {
                    *destination = stream.below(ends.destinations() as u64) as usize;
                }
                let source = ends.skip(*destination, *next);
                *next = (*next + 1) % burst;
                (source, *destination)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_engine::Streams;

    use super::*;

    const PATTERNS: [Pattern; 5] =
        [Pattern::Random, Pattern::EachDestination, Pattern::AllToAll, Pattern::Permutation, Pattern::Incast];

    fn stream() -> Stream {
        Streams::new(3).stream("pairs")
    }

    fn generators(pattern: Pattern, ends: Ends) -> Vec<Generator> {
        pattern.check(ends).unwrap();
        pattern.generators(&Chosen::all(ends), &mut stream())
    }

    #[test]
    fn patterns_have_their_generators() {
        let (apart, within) = (Ends::Between { sources: 3, destinations: 5 }, Ends::Within { hosts: 4 });
        let count = |pattern, ends| generators(pattern, ends).len();
        assert_eq!(PATTERNS.map(|p| count(p, apart)), [3, 5, 15, 3, 1]);
        assert_eq!(PATTERNS.map(|p| count(p, within)), [4, 4, 12, 4, 1]);
        let names: Vec<String> = generators(Pattern::EachDestination, apart).iter().map(|g| g.name.clone()).collect();
        assert_eq!(names, ["to-0", "to-1", "to-2", "to-3", "to-4"]);
        assert_eq!(generators(Pattern::AllToAll, within)[3].name(), "1-to-0");
    }

    #[test]
    fn nobody_sends_to_itself_and_every_other_pair_occurs() {
        let hosts = 5;
        for pattern in PATTERNS {
            let mut seen = vec![vec![0; hosts]; hosts];
            let mut stream = stream();
            for generator in &mut generators(pattern, Ends::Within { hosts }) {
                for _ in 0..1000 {
                    let (source, destination) = generator.pair(&mut stream);
                    seen[source][destination] += 1;
                }
            }
            for (source, row) in seen.iter().enumerate() {
                assert_eq!(row[source], 0, "{pattern:?}");
                let met = row.iter().filter(|&&n| n > 0).count();
                assert_eq!(met, if pattern == Pattern::Permutation { 1 } else { hosts - 1 }, "{pattern:?}");
            }
        }
    }

    #[test]
    fn the_other_end_is_uniform() {
        // Chi-square over 10 cells: with 9 degrees of freedom 27.88 is exceeded once in a thousand.
        for ends in [Ends::Within { hosts: 11 }, Ends::Between { sources: 10, destinations: 10 }] {
            for pattern in [Pattern::Random, Pattern::EachDestination] {
                let mut generator = generators(pattern, ends).swap_remove(4);
                let mut stream = stream();
                let mut cells = vec![0; ends.sources()];
                for _ in 0..100_000 {
                    let (source, destination) = generator.pair(&mut stream);
                    cells[if pattern == Pattern::Random { destination } else { source }] += 1;
                }
                if matches!(ends, Ends::Within { .. }) {
                    assert_eq!(cells.remove(4), 0);
                }
                let chi: f64 = cells.iter().map(|&n| (f64::from(n) - 1e4) * (f64::from(n) - 1e4) / 1e4).sum();
                assert!(chi < 27.88, "{pattern:?}: {chi}");
            }
        }
    }

    #[test]
    fn permutations_are_permutations_and_derangements_equally_likely() {
        // 4 hosts have 9 derangements: 8 degrees of freedom, 26.12 is exceeded once in a thousand.
        let mut stream = stream();
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..9_000 {
            *seen.entry(permutation(Ends::Within { hosts: 4 }, &mut stream)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 9);
        let chi: f64 = seen.values().map(|&n: &i32| (f64::from(n) - 1e3) * (f64::from(n) - 1e3) / 1e3).sum();
        assert!(chi < 26.12, "{chi}");
        for (sources, destinations) in [(1, 1), (3, 7), (7, 3)] {
            let to = permutation(Ends::Between { sources, destinations }, &mut stream);
            let mut shares = vec![0; destinations];
            for &destination in &to {
                shares[destination] += 1;
            }
            assert_eq!(to.len(), sources);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
        assert_eq!(permutation(Ends::Within { hosts: 2 }, &mut stream), [1, 0]);
    }

    #[test]
    fn incast_is_every_source_to_one_destination() {
        for (ends, burst) in [(Ends::Within { hosts: 6 }, 5), (Ends::Between { sources: 6, destinations: 3 }, 6)] {
            let mut generator = generators(Pattern::Incast, ends).swap_remove(0);
            assert_eq!(generator.flows_per_arrival(), burst);
            let mut stream = stream();
            let mut destinations = std::collections::BTreeSet::new();
            for _ in 0..100 {
                let flows: Vec<_> = (0..burst).map(|_| generator.pair(&mut stream)).collect();
                let to = flows[0].1;
                destinations.insert(to);
                assert!(flows.iter().all(|&(_, d)| d == to));
                let expected: Vec<usize> = (0..6).filter(|&s| !ends.same(s, to)).collect();
                assert_eq!(flows.iter().map(|&(s, _)| s).collect::<Vec<_>>(), expected);
            }
            assert_eq!(destinations.len(), ends.destinations());
        }
    }

    #[test]
    fn too_few_and_too_many_hosts_are_errors() {
        for pattern in PATTERNS {
            let error = |ends| pattern.check(ends).unwrap_err();
            assert_eq!(error(Ends::Within { hosts: 0 }), PairsError::NoSources);
            assert_eq!(error(Ends::Between { sources: 1, destinations: 0 }), PairsError::NoDestinations);
            assert_eq!(error(Ends::Within { hosts: 1 }), PairsError::Alone);
            assert!(matches!(error(Ends::Within { hosts: usize::MAX }), PairsError::TooMany { .. }));
        }
        assert_eq!(generators(Pattern::Random, Ends::Between { sources: 1, destinations: 1 }).len(), 1);
    }
}
