//! The largest of the recent values: the best three of a window, after Kathleen Nichols (Linux'
//! `lib/win_minmax.c`). Not the exact maximum of a sliding window: a value that fell between two of the three is
//! forgotten.

/// A windowed maximum over any clock that does not run backwards.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MaxFilter {
    /// Best, second and third choice, each no older than the one before it.
    best: [Entry; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    at: u32,
    value: u64,
}

impl MaxFilter {
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Takes in `value` at `now`; values older than `window` no longer count.
    pub(super) fn update(&mut self, window: u32, now: u32, value: u64) {
        let new = Entry { at: now, value };
        if value >= self.best[0].value || now - self.best[2].at > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        self.age(window, new);
    }

    fn age(&mut self, window: u32, new: Entry) {
        let age = new.at - self.best[0].at;
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if new.at - self.best[0].at > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age > window / 4 {
            // A quarter of the window has no second choice yet: it is the latest.
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at == self.best[1].at && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_value_counts_at_once_and_for_the_whole_window() {
        let mut filter = MaxFilter::default();
        filter.update(10, 1, 50);
        filter.update(10, 2, 80);
        assert_eq!(filter.get(), 80);
        for round in 3..=12 {
            filter.update(10, round, 60);
            assert_eq!(filter.get(), 80, "round {round}: 80 is {} rounds old", round - 2);
        }
        filter.update(10, 13, 60); // 11 rounds old: more than the window
        assert_eq!(filter.get(), 60);
    }

    /// With a window of 10 the second choice is taken once a quarter of it (2, in integers) has passed, so it is the
    /// value of round 3, not the 90 of round 1; the third once half has passed: that of round 6.
    #[test]
    fn falling_values_leave_choices_from_the_later_parts_of_the_window() {
        let mut filter = MaxFilter::default();
        for (round, value) in [(0, 100), (1, 90), (3, 85), (6, 70), (9, 65)] {
            filter.update(10, round, value);
            assert_eq!(filter.get(), 100);
        }
        filter.update(10, 11, 60);
        assert_eq!(filter.get(), 85);
        filter.update(10, 14, 50); // 85 is 11 rounds old; the third choice was 70 of round 6
        assert_eq!(filter.get(), 70);
    }

    #[test]
    fn a_silence_longer_than_the_window_forgets_everything() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100);
        filter.update(10, 50, 1);
        assert_eq!(filter.get(), 1);
    }
}
