//! The data of a page in so many bytes.
//!
//! Each section of each run gets a share: those that want less than theirs leave the rest to the others. A section
//! that is larger than its share is thinned step by step, always in the same order, until it fits; the run's notes say
//! so. Nothing depends on anything but the data, so equal data give equal pages.

use super::html::{json, size};
use super::model::{Page, Run};
use super::thinning;

/// The data of a page has at most so many bytes.
pub const BUDGET: usize = 750_000;

/// Each thinned section adds a note to its run, of some 200 bytes.
const NOTES: usize = 1400;

/// A part of a run's data that can be thinned.
struct Section {
    /// Its share, compared with the others', where all want more than there is.
    weight: usize,
    size: fn(&Run) -> usize,
    /// Makes it so many bytes or less, and notes that.
    thin: fn(&mut Run, usize),
}

const SECTIONS: [Section; 7] = [
    Section { weight: 25, size: |run| size(&run.claims), thin: thinning::claims },
    Section { weight: 20, size: |run| size(&run.summary), thin: thinning::summary },
    Section { weight: 8, size: |run| size(&run.toml), thin: thinning::toml },
    Section { weight: 12, size: |run| size(&run.cdf), thin: thinning::cdf },
    Section { weight: 5, size: |run| size(&run.slowdown), thin: thinning::slowdown },
    Section { weight: 15, size: |run| size(&run.series), thin: thinning::series },
    Section { weight: 25, size: |run| size(&run.films), thin: thinning::films },
];

/// Thins the page until its data are at most `budget` bytes.
pub(super) fn fit(page: &mut Page, budget: usize) {
    let whole = json(page).len();
    if whole <= budget {
        return;
    }
    let sizes: Vec<Vec<usize>> =
        SECTIONS.iter().map(|section| page.runs.iter().map(|run| (section.size)(run)).collect()).collect();
    let wants: Vec<(usize, usize)> =
        SECTIONS.iter().zip(&sizes).map(|(section, of)| (of.iter().sum(), section.weight)).collect();
    let fixed = whole - wants.iter().map(|(want, _)| want).sum::<usize>();
    let room = budget.saturating_sub(fixed + NOTES * page.runs.len());
    for ((section, sizes), share) in SECTIONS.iter().zip(&sizes).zip(shares(&wants, room)) {
        let of_runs: Vec<(usize, usize)> = sizes.iter().map(|size| (*size, 1)).collect();
        for ((run, share), size) in page.runs.iter_mut().zip(shares(&of_runs, share)).zip(sizes) {
            if *size > share {
                (section.thin)(run, share);
            }
        }
    }
}

/// Divides `total` among `wants` (each with its weight): nobody gets more than wanted, and beyond that everybody the
/// same for each unit of weight.
fn shares(wants: &[(usize, usize)], total: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    // by what is wanted for a unit of weight, compared crosswise
    order.sort_by_key(|&place| {
        let (want, weight) = wants[place];
        (want as u128 * 1_000_000) / weight.max(1) as u128
    });
    let mut shares = vec![0; wants.len()];
    let mut left = total;
    let mut weights: usize = wants.iter().map(|(_, weight)| weight).sum();
    for place in order {
        let (want, weight) = wants[place];
        let fair = (left as u128 * weight as u128 / weights.max(1) as u128) as usize;
        shares[place] = want.min(fair);
        left -= shares[place];
        weights -= weight;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_want_little_leave_the_rest_to_the_others() {
        assert_eq!(shares(&[(10, 1), (10, 1)], 100), [10, 10]);
        assert_eq!(shares(&[(100, 1), (10, 1), (100, 1)], 100), [45, 10, 45]);
        assert_eq!(shares(&[(100, 3), (100, 1)], 40), [30, 10]);
        assert_eq!(shares(&[(5, 1), (100, 1)], 0), [0, 0]);
        assert_eq!(shares(&[], 7), [0; 0]);
        let unequal = shares(&[(1_000_000, 25), (3, 20), (70_000, 8), (0, 5)], 90_000);
        assert!(unequal.iter().sum::<usize>() <= 90_000 && unequal[1] == 3, "{unequal:?}");
    }
}
