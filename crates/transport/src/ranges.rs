//! Byte ranges received out of order.

/// Disjoint, non-touching half-open ranges, the most recently extended first (RFC 2018 §4 wants that order in
/// its reports).
#[derive(Debug, Default, Clone)]
pub(crate) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds `start..end`, joined with what it touches. Returns how many of its bytes were new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let (mut low, mut high, mut known) = (start, end, 0);
        self.ranges.retain(|&(s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                known += e.min(end).saturating_sub(s.max(start));
                low = low.min(s);
                high = high.max(e);
            }
            !touches
        });
        self.ranges.insert(0, (low, high));
        end - start - known
    }

    /// The lowest stretch of `start..end` that has arrived.
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let common = self.ranges.iter().map(|&(s, e)| (s.max(start), e.min(end)));
        common.filter(|&(s, e)| s < e).min()
    }

    /// The place in the order of reports of the first range that `start..end` touches; how many there are if none.
    pub fn place(&self, start: u64, end: u64) -> usize {
        let touched = self.ranges.iter().position(|&(s, e)| s <= end && start <= e);
        touched.unwrap_or(self.ranges.len())
    }

    /// Moves `next` over what is contiguous with it and forgets everything below.
    pub fn absorb(&mut self, mut next: u64) -> u64 {
        // Ranges neither touch nor overlap, so at most one starts at or below `next` and reaches over it.
        self.ranges.retain(|&(s, e)| {
            if s <= next {
                next = next.max(e);
                false
            } else {
                true
            }
        });
        next
    }

    /// The ranges, most recent first.
    pub fn recent(&self) -> &[(u64, u64)] {
        &self.ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joins_neighbours_and_reports_the_latest_first() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(10, 20), 10);
        assert_eq!(ranges.insert(30, 40), 10);
        assert_eq!(ranges.recent(), [(30, 40), (10, 20)]);
        assert_eq!(ranges.insert(20, 25), 5);
        assert_eq!(ranges.recent(), [(10, 25), (30, 40)]);
        assert_eq!(
            (ranges.overlap(0, 50), ranges.overlap(24, 31), ranges.overlap(25, 30)),
            (Some((10, 25)), Some((24, 25)), None)
        );
        assert_eq!((ranges.place(25, 26), ranges.place(40, 50), ranges.place(50, 60)), (0, 1, 2));
        assert_eq!(ranges.insert(15, 35), 5);
        assert_eq!(ranges.recent(), [(10, 40)]);
        assert_eq!(ranges.absorb(10), 40);
        assert!(ranges.is_empty());
    }

    proptest! {
        /// Against a bitmap: new bytes are counted right, and absorbing finds the first gap.
        #[test]
        fn agrees_with_a_bitmap(inserts in prop::collection::vec((1u64..60, 1u64..12), 1..40)) {
            let mut ranges = Ranges::default();
            let mut bits = [false; 80];
            let mut next = 1u64;
            bits[0] = true;
            for (start, len) in inserts {
                let (start, end) = (start.max(next), (start + len).max(next));
                if start == end { continue; }
                let fresh = (start..end).filter(|&i| !bits[i as usize]).count() as u64;
                bits[start as usize..end as usize].fill(true);
                prop_assert_eq!(ranges.insert(start, end), fresh);
                let gap = bits.iter().position(|b| !b).unwrap() as u64;
                next = ranges.absorb(next);
                prop_assert_eq!(next, gap);
            }
        }
    }
}
