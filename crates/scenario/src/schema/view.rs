//! Views: hosts of groups by other names, chosen among them.

use headway_language::{Name, OneOrMany, Ratio, record};

record! {
    /// Hosts of groups by another name. A view takes none: its hosts stay in their groups, and views may overlap.
    pub struct ViewRecord {
        /// The groups, and views before this one, whose hosts it has, in this order.
        pub of: OneOrMany<Name>,
        /// So many of the first hosts are left out.
        pub skip: u32 = 0,
        /// Every so many of the others, from the first on; all of them when left out.
        #[range(1..=1_000_000)]
        pub every: Option<u32>,
        /// How many of these; all of them when neither this nor `share` is given.
        #[range(1..=1_000_000)]
        pub count: Option<u32>,
        /// The share of these, rounded to whole hosts.
        pub share: Option<Ratio>,
    }
}

impl ViewRecord {
    /// Its hosts, of `all` those that its groups have; nothing if they are too few, or none.
    pub(crate) fn choose<T>(&self, all: Vec<T>) -> Option<Vec<T>> {
        let every = self.every.unwrap_or(1) as usize;
        let mut chosen: Vec<T> = all.into_iter().skip(self.skip as usize).step_by(every).collect();
        if self.count.is_some_and(|count| count as usize > chosen.len()) {
            return None;
        }
        let share = self.share.map(|share| (share.get() * chosen.len() as f64).round() as usize);
        chosen.truncate(self.count.map(|count| count as usize).or(share).unwrap_or(usize::MAX));
        (!chosen.is_empty()).then_some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_left_out_then_counted_off_then_bounded() {
        let view = |skip, every, count, share: Option<f64>| ViewRecord {
            of: OneOrMany(Vec::new()),
            skip,
            every,
            count,
            share: share.and_then(Ratio::new),
        };
        let choose = |view: ViewRecord| view.choose((0..10).collect::<Vec<_>>());
        assert_eq!(choose(view(0, None, None, None)), Some((0..10).collect()));
        assert_eq!(choose(view(1, Some(3), None, None)), Some(vec![1, 4, 7]));
        assert_eq!(choose(view(1, Some(3), Some(2), None)), Some(vec![1, 4]));
        assert_eq!(choose(view(2, None, None, Some(0.25))), Some(vec![2, 3]), "a quarter of eight");
        assert_eq!(choose(view(1, Some(3), Some(4), None)), None, "three are not four");
        assert_eq!(choose(view(10, None, None, None)), None);
        assert_eq!(choose(view(0, None, None, Some(0.0))), None);
    }
}
