//! The data of a page in so many bytes.
//!
//! Each section of each run gets a share: those that want less than theirs leave the rest to the others. A section
//! that is larger than its share is thinned step by step, always in the same order, until it fits; the run's notes say
//! so. Nothing depends on anything but the data, so equal data give equal pages.

use super::html::size;
use super::model::{Page, Point, Run};
use super::thinning;

/// The data of a page has at most so many bytes.
pub const BUDGET: usize = 750_000;

/// Each thinned section adds a note to its run, of some 200 bytes.
const NOTES: usize = 1800;

/// A part of a run's data that can be thinned.
struct Section {
    /// Its share, compared with the others', where all want more than there is.
    weight: usize,
    size: fn(&Run) -> usize,
    /// Makes it so many bytes or less, and notes that.
    thin: fn(&mut Run, usize),
}

/// Texts come first, since the others add notes.
const SECTIONS: [Section; 9] = [
    Section { weight: 6, size: thinning::texts_size, thin: thinning::texts },
    Section { weight: 25, size: |run| size(&run.claims), thin: thinning::claims },
    Section { weight: 20, size: |run| size(&run.summary), thin: thinning::summary },
    Section { weight: 4, size: |run| size(&run.published), thin: thinning::published },
    Section { weight: 8, size: |run| size(&run.toml), thin: thinning::toml },
    Section { weight: 12, size: |run| size(&run.cdf), thin: thinning::cdf },
    Section { weight: 5, size: |run| size(&run.slowdown), thin: thinning::slowdown },
    Section { weight: 15, size: |run| size(&run.series), thin: thinning::series },
    Section { weight: 25, size: thinning::films_size, thin: thinning::films },
];

/// Thins the page until its data are at most `budget` bytes.
pub(super) fn fit(page: &mut Page, budget: usize) {
    let mut room = budget;
    for _ in 0..3 {
        let whole = size(page);
        if whole <= budget {
            return;
        }
        thin(page, whole, room);
        // Notes may have taken more than their place.
        room = room.saturating_sub(2 * size(page).saturating_sub(budget));
    }
    if size(page) > budget {
        page.runs.iter_mut().for_each(bare);
        thinning::cut(&mut page.title, 300);
        page.groups.iter_mut().for_each(|group| thinning::cut(&mut group.title, 300));
    }
    // Of thousands of folders even their names are too long.
    while size(page) > budget && page.runs.len() > 1 {
        let (shown, all) = (page.runs.len() / 2, page.runs.len());
        page.runs.truncate(shown);
        page.groups.iter_mut().for_each(|group| group.runs.retain(|run| *run < shown));
        page.groups.retain(|group| !group.runs.is_empty());
        page.runs[0].notes.push(format!("There is no room for more than {shown} of {all} runs."));
    }
}

/// Thins each section to its share of `budget`, where the page has `whole` bytes.
fn thin(page: &mut Page, whole: usize, budget: usize) {
    let sizes: Vec<Vec<usize>> =
        SECTIONS.iter().map(|section| page.runs.iter().map(|run| (section.size)(run)).collect()).collect();
    let wants: Vec<(usize, usize)> =
        SECTIONS.iter().zip(&sizes).map(|(section, of)| (of.iter().sum(), section.weight)).collect();
    let fixed = whole.saturating_sub(wants.iter().map(|(want, _)| want).sum());
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

/// Leaves of a run its names alone: what is in no section is more than a page holds.
fn bare(run: &mut Run) {
    let Run { label, scenario, version, seed, started, finished, machine, .. } = run;
    for text in [label, scenario, version, seed, started, finished, &mut machine.os, &mut machine.arch] {
        thinning::cut(text, 200);
    }
    (run.source, run.kernel) = (None, None);
    [&mut run.about, &mut run.command, &mut run.toml].into_iter().for_each(String::clear);
    for list in [&mut run.warnings, &mut run.policies, &mut run.traffics, &mut run.left_out] {
        list.clear();
    }
    run.sweep.clear();
    run.points = vec![Point { text: String::new(), at: Vec::new() }];
    run.claims.clear();
    run.metrics.clear();
    run.summary.clear();
    run.published.clear();
    run.cdf.clear();
    run.slowdown.clear();
    run.series.clear();
    run.topologies.clear();
    run.films.clear();
    run.notes = vec!["There is no room for this run's results on the page; its folder has them.".to_owned()];
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
