//! The order of a search: limits in force are justified first, then each set of equals is tried at a few rates, and around
//! a rate that was taken.

use headway_units::Rate;

use super::candidates::Bounds;
use super::trial::Difference;

/// Rounds of looking beside a limit that was taken.
const REFINEMENTS: usize = 4;
/// Steps of the grid from the limit, in each round.
const BESIDE: [i32; REFINEMENTS] = [2, 2, 1, 1];
/// A limit bites if its ports lose this part.
const BITES: f64 = 0.15;
/// If others gain less than this part of what the limited ports lose, they do not contend with them.
const RELIEVES: f64 = 0.1;

/// What a trial is to find out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Goal {
    /// Whether the limits in force on these ports still pay: the candidate is without them.
    Justify(Vec<usize>),
    /// Whether a limit on these ports looks good: a block.
    Screen(Vec<usize>, Rate),
    /// Whether it is: as many blocks as it takes.
    Confirm(Vec<usize>, Rate),
}

/// A search under way.
#[derive(Debug, Clone)]
pub(super) struct Search {
    bounds: Bounds,
    /// Gain from which on a rate that was screened is worth confirming.
    promising: f64,
    /// Loss of the total that is too much, in logarithms.
    give: f64,
    justify: Vec<Vec<usize>>,
    /// Sets of equals that are still to be tried, the last one first.
    groups: Vec<Vec<usize>>,
    current: Option<Current>,
    /// Whether any limit was taken or given up.
    pub moved: bool,
    /// Whether a trial ended without anything seen.
    pub unseen: bool,
}

#[derive(Debug, Clone)]
struct Current {
    group: Vec<usize>,
    /// Rates still to be screened, the last one first.
    rates: Vec<Rate>,
    best: Option<(Rate, f64)>,
    refinements: usize,
}

impl Search {
    /// `justify`: sets of ports with limits in force. `groups`: sets of equals, the most promising first.
    pub fn new(
        bounds: Bounds,
        promising: f64,
        give: f64,
        mut justify: Vec<Vec<usize>>,
        mut groups: Vec<Vec<usize>>,
    ) -> Search {
        justify.reverse();
        groups.reverse();
        Search { bounds, promising, give, justify, groups, current: None, moved: false, unseen: false }
    }

    /// What to try next; `None` at the end. `rates` are the ports' usual ones under the limits in force, `limits`.
    pub fn next(&mut self, rates: &[f64], limits: &[Option<Rate>]) -> Option<Goal> {
        if let Some(group) = self.justify.pop() {
            return Some(Goal::Justify(group));
        }
        loop {
            if self.current.is_none() {
                let group = self.groups.pop()?;
                let fastest = group.iter().map(|&port| rates[port]).fold(0.0, f64::max);
                let rates = match limits[group[0]] {
                    Some(limit) => self.bounds.beside(limit, BESIDE[0]),
                    None => self.bounds.below(fastest),
                };
                self.current = Some(Current { group, rates, best: None, refinements: 0 });
            }
            let current = self.current.as_mut()?;
            if let Some(rate) = current.rates.pop() {
                return Some(Goal::Screen(current.group.clone(), rate));
            }
            match current.best.take() {
                Some((rate, gain)) if gain > self.promising => {
                    return Some(Goal::Confirm(current.group.clone(), rate));
                }
                _ => self.current = None,
            }
        }
    }

    /// A block has been run for the rate that was to be screened; `None` if it was harmful.
    pub fn screened(&mut self, rate: Rate, found: Option<&Difference>) {
        let Some(current) = &mut self.current else { return };
        let Some(difference) = found else {
            // tighter ones are not worth their risk
            current.rates.retain(|&other| other > rate);
            return;
        };
        let bites = difference.lost > BITES;
        if bites && difference.relief.is_some_and(|relief| relief < RELIEVES) {
            current.rates.retain(|&other| other > rate);
        }
        let better = current.best.is_none_or(|(_, gain)| difference.utility > gain);
        if better && difference.total > -self.give {
            current.best = Some((rate, difference.utility));
        }
    }

    /// The rate that was to be confirmed is in force now, or is not worth it.
    pub fn confirmed(&mut self, rate: Option<Rate>) {
        let Some(current) = &mut self.current else { return };
        match rate {
            Some(rate) if current.refinements < REFINEMENTS => {
                self.moved = true;
                current.rates = self.bounds.beside(rate, BESIDE[current.refinements]);
                current.refinements += 1;
            }
            _ => {
                self.moved |= rate.is_some();
                self.current = None;
            }
        }
    }
}

/// The part of their loss that others gained, where a limit bit: whether ports contend.
pub(super) fn contention(difference: &Difference) -> Option<f64> {
    difference.relief.filter(|_| difference.lost > BITES)
}
