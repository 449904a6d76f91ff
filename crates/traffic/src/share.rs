//! Which hosts of the two groups take part.

use headway_engine::Streams;

use crate::ends::Ends;

/// How many of the hosts take part, as shares from 0 to 1; all where there is none.
///
/// Within one group there is one share, that of the sources: those hosts send to each other.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shares {
    /// Of the sources.
    pub sources: Option<f64>,
    /// Of the destinations.
    pub destinations: Option<f64>,
}

/// The hosts that take part.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// All hosts.
    all: Ends,
    /// How many take part.
    pub ends: Ends,
    /// Which, in rising order; all if there is no list.
    sources: Option<Vec<usize>>,
    destinations: Option<Vec<usize>>,
}

impl Chosen {
    /// Draws who of `ends` takes part in the traffic called `name`.
    pub fn draw(shares: Shares, ends: Ends, name: &str, streams: Streams) -> Chosen {
        let choose = |side: &str, count, share: Option<f64>| {
            share.map(|share| choose(count, share, streams.part(&format!("{name}/{side}"), 0)))
        };
        let sources = choose("talking", ends.sources(), shares.sources);
        let (destinations, own) = match ends {
            Ends::Within { .. } => (sources.clone(), sources.as_ref().map(|hosts| Ends::Within { hosts: hosts.len() })),
            Ends::Between { sources: from, destinations: to } => {
                let chosen = choose("reached", to, shares.destinations);
                let count = |hosts: &Option<Vec<usize>>, all| hosts.as_ref().map_or(all, Vec::len);
                let own = Ends::Between { sources: count(&sources, from), destinations: count(&chosen, to) };
                (chosen, Some(own))
            }
        };
        Chosen { all: ends, ends: own.unwrap_or(ends), sources, destinations }
    }

    /// All of `ends`.
    #[cfg(test)]
    pub fn all(ends: Ends) -> Chosen {
        Chosen { all: ends, ends, sources: None, destinations: None }
    }

    /// Whether there is anybody to send and to send to.
    pub fn meet(&self) -> bool {
        self.ends.sources() > 0 && self.ends.senders() > 0 && self.ends.destinations() > 0
    }

    /// The place among all sources of number `index` of those that take part.
    pub fn source(&self, index: usize) -> usize {
        self.sources.as_ref().map_or(index, |hosts| hosts[index])
    }

    /// The place among all destinations of number `index` of those that take part.
    pub fn destination(&self, index: usize) -> usize {
        self.destinations.as_ref().map_or(index, |hosts| hosts[index])
    }

    /// The number of a pair of all hosts that may meet, in order of sources, then of destinations.
    pub fn pair(&self, source: usize, destination: usize) -> usize {
        match self.all {
            Ends::Between { destinations, .. } => source * destinations + destination,
            Ends::Within { hosts } => source * (hosts - 1) + destination - usize::from(destination > source),
        }
    }
}

/// A share of `count` hosts, in rising order. Their number is count · share, rounded up or down at random so that it is
/// that on average.
///
/// Every host has a number of its own, and those with the smallest are taken; rounding has one number for all shares.
/// So a larger share adds hosts and drops none, and a further host changes the order of no others.
fn choose(count: usize, share: f64, streams: Streams) -> Vec<usize> {
    let exact = count as f64 * share.clamp(0.0, 1.0);
    let chosen = (exact.floor() as usize + usize::from(streams.stream("rounding").unit() < exact.fract())).min(count);
    let mut order: Vec<(u64, usize)> =
        (0..count).map(|host| (streams.stream(&host.to_string()).next_u64(), host)).collect();
    order.sort_unstable();
    let mut hosts: Vec<usize> = order[..chosen].iter().map(|&(_, host)| host).collect();
    hosts.sort_unstable();
    hosts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn streams(repeat: u64) -> Streams {
        Streams::new(9).part("repeat", repeat)
    }

    /// 40 % of 4 hosts are 1.6: in 10,000 repeats a mean with standard error √(0.6 · 0.4 / 10⁴) = 0.0049, four of them;
    /// each host is in 4,000 of them, standard error √(0.4 · 0.6 · 10⁴) = 49, four of them.
    #[test]
    fn the_share_is_right_on_average_and_every_host_as_likely() {
        let mut seen = [0_u32; 4];
        for repeat in 0..10_000 {
            let hosts = choose(4, 0.4, streams(repeat));
            assert!(hosts.len() == 1 || hosts.len() == 2);
            for &host in &hosts {
                seen[host] += 1;
            }
        }
        let mean = f64::from(seen.iter().sum::<u32>()) / 1e4;
        assert!((mean - 1.6).abs() < 0.02, "{mean}");
        assert!(seen.iter().all(|&times| times.abs_diff(4_000) < 196), "{seen:?}");
    }

    #[test]
    fn whole_numbers_of_hosts_need_no_rounding() {
        for repeat in 0..100 {
            let lengths = [0.0, 0.25, 0.5, 1.0].map(|share| choose(16, share, streams(repeat)).len());
            assert_eq!(lengths, [0, 4, 8, 16]);
        }
    }

    #[test]
    fn pairs_are_numbered_as_they_come() {
        for ends in [Ends::Within { hosts: 4 }, Ends::Between { sources: 3, destinations: 5 }] {
            let chosen = Chosen::all(ends);
            let met = |s: usize, d: usize| !matches!(ends, Ends::Within { .. }) || s != d;
            let pairs = (0..ends.sources()).flat_map(|s| (0..ends.destinations()).map(move |d| (s, d)));
            let numbers: Vec<usize> = pairs.filter(|&(s, d)| met(s, d)).map(|(s, d)| chosen.pair(s, d)).collect();
            assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn a_larger_share_drops_no_host(count in 0..40_usize, less in 0.0..=1.0, more in 0.0..=1.0, repeat: u64) {
            let (less, more) = if less < more { (less, more) } else { (more, less) };
            let (few, many) = (choose(count, less, streams(repeat)), choose(count, more, streams(repeat)));
            prop_assert!(few.iter().all(|host| many.contains(host)), "{few:?} {many:?}");
            prop_assert!(many.is_sorted() && many.iter().all(|&host| host < count));
        }

        /// The order in which hosts would be taken stays: one more or one fewer of the old ones, but no others.
        #[test]
        fn another_host_changes_no_order(count in 1..40_usize, talking in 0..40_usize, repeat: u64) {
            let talking = talking.min(count);
            let of = |count: usize| choose(count, talking as f64 / count as f64, streams(repeat));
            let (before, after) = (of(count), of(count + 1));
            let kept: Vec<usize> = after.into_iter().filter(|&host| host < count).collect();
            let within = |few: &[usize], many: &[usize]| few.iter().all(|host| many.contains(host));
            prop_assert!(within(&kept, &before) || within(&before, &kept), "{before:?} {kept:?}");
            prop_assert!(before.len().abs_diff(kept.len()) <= 1);
        }
    }
}
