//! A trial: the limits in force (A) against a candidate (B), in blocks of A, B, B, A.
//!
//! Within a block a load that drifts evenly moves both means alike, so it cancels: the design of weighing with a drifting
//! balance (and of cross-over trials), which rate control knows as randomised trials of paired intervals (PCC: Dong et
//! al., NSDI 2015, §3.1). PCC draws the order; ours is fixed, since a controller without randomness runs alike twice.

use headway_units::Rate;

use super::objective::Worth;
use super::robust::{interval, median};

/// Blocks before an interval is looked at: two would need an effect of ten deviations.
const FEWEST: usize = 3;

/// Windows of each part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Windows after limits changed that are not counted. At least 1, as the change falls into a window.
    pub settle: u32,
    /// Windows of a quarter of a block. At least 1.
    pub measure: u32,
}

impl Timing {
    /// Windows that a block spends on the candidate.
    pub(super) fn cost(self) -> u32 {
        self.settle + 2 * self.measure
    }

    fn block(self) -> u32 {
        2 * self.settle + 4 * self.measure
    }
}

/// What a window is, of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The limits in force.
    Reference,
    /// The candidate.
    Candidate,
    /// The candidate, not counted yet.
    Entering,
    /// The limits in force again, not counted yet.
    Leaving,
}

/// A window as a trial sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub worth: Worth,
    /// Goodput of the ports that the candidate limits, and of all others, bits per second.
    pub own: f64,
    pub others: f64,
}

/// What a block found: B less A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub utility: f64,
    pub total: f64,
    /// The part that the candidate's ports lost of their goodput.
    pub lost: f64,
    /// The part of that loss which others gained; `None` if there was no loss or are no others.
    pub relief: Option<f64>,
}

/// What a window led to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    /// The block goes on.
    Measuring,
    /// The block is over.
    Block(Difference),
    /// The candidate's windows are worse than the trial may cost; it must end.
    Harmful,
    /// Too few windows of the block were valid.
    Void,
}

/// A sequence of blocks for one candidate.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    /// The limits of B.
    pub candidate: Vec<Option<Rate>>,
    timing: Timing,
    /// Utility below the reference's median by which a window of the candidate ends the trial.
    worst: f64,
    step: u32,
    reference: Vec<Sample>,
    measured: Vec<Sample>,
    differences: Vec<Difference>,
    /// Blocks without enough valid windows.
    voids: u32,
}

impl Trial {
    pub fn new(candidate: Vec<Option<Rate>>, timing: Timing, worst: f64) -> Trial {
        let (reference, measured, differences) = Default::default();
        Trial { candidate, timing, worst, step: 0, reference, measured, differences, voids: 0 }
    }

    /// Whether the next window begins a block.
    pub fn between_blocks(&self) -> bool {
        self.step == 0
    }

    /// Whether the candidate is in force in the next window.
    pub fn deviates(&self) -> bool {
        matches!(self.part(), Part::Entering | Part::Candidate)
    }

    /// The part that the next window belongs to.
    pub fn part(&self) -> Part {
        let Timing { settle, measure } = self.timing;
        match self.step {
            step if step < measure => Part::Reference,
            step if step < measure + settle => Part::Entering,
            step if step < 3 * measure + settle => Part::Candidate,
            step if step < 3 * measure + 2 * settle => Part::Leaving,
            _ => Part::Reference,
        }
    }

    /// Takes in the next window; `None` for one that is not valid.
    pub fn record(&mut self, sample: Option<Sample>) -> Outcome {
        let part = self.part();
        self.step += 1;
        match (part, sample) {
            (Part::Reference, Some(sample)) => self.reference.push(sample),
            (Part::Candidate, Some(sample)) => {
                self.measured.push(sample);
                let usual = median(self.reference.iter().map(|sample| sample.worth.utility));
                if !self.reference.is_empty() && sample.worth.utility < usual - self.worst {
                    return Outcome::Harmful;
                }
            }
            _ => {}
        }
        if self.step < self.timing.block() {
            return Outcome::Measuring;
        }
        self.step = 0;
        let (reference, measured) = (std::mem::take(&mut self.reference), std::mem::take(&mut self.measured));
        let enough = self.timing.measure as usize;
        if reference.len() < enough || measured.len() < enough {
            self.voids += 1;
            return Outcome::Void;
        }
        let difference = between(&reference, &measured);
        self.differences.push(difference);
        Outcome::Block(difference)
    }

    /// Windows of the block's reference so far.
    #[cfg(test)]
    pub fn references(&self) -> usize {
        self.reference.len()
    }

    /// Void blocks so far.
    pub fn voids(&self) -> u32 {
        self.voids
    }

    /// Whole blocks so far.
    pub fn blocks(&self) -> usize {
        self.differences.len()
    }

    /// The mean gain in utility, and the interval that holds it.
    pub fn gain(&self) -> (f64, (f64, f64)) {
        let gains: Vec<f64> = self.differences.iter().map(|difference| difference.utility).collect();
        let mean = gains.iter().sum::<f64>() / gains.len().max(1) as f64;
        let bounds = if gains.len() < FEWEST { (f64::NEG_INFINITY, f64::INFINITY) } else { interval(&gains) };
        (mean, bounds)
    }

    /// The median change of the total, in logarithms.
    pub fn total(&self) -> f64 {
        median(self.differences.iter().map(|difference| difference.total))
    }

    /// Whether the first blocks all point down, so that going on is not worth its price.
    pub fn hopeless(&self) -> bool {
        self.differences.len() >= 2 && self.differences.iter().all(|difference| difference.utility < 0.0)
    }
}

fn between(reference: &[Sample], measured: &[Sample]) -> Difference {
    let change = |of: fn(&Sample) -> f64| (median(reference.iter().map(of)), median(measured.iter().map(of)));
    let (before, after) = change(|sample| sample.worth.utility);
    let (total_before, total_after) = change(|sample| sample.worth.total);
    let (own_before, own_after) = change(|sample| sample.own);
    let (others_before, others_after) = change(|sample| sample.others);
    let lost = if own_before > 0.0 { 1.0 - own_after / own_before } else { 0.0 };
    let relief = (own_after < own_before && others_before > 0.0)
        .then(|| (others_after - others_before) / (own_before - own_after));
    Difference { utility: after - before, total: total_after - total_before, lost, relief }
}

#[cfg(test)]
mod tests {
    use super::Part::{Candidate, Entering, Leaving, Reference};
    use super::*;

    const TIMING: Timing = Timing { settle: 1, measure: 2 };

    fn sample(utility: f64) -> Sample {
        let worth = Worth { utility, total: utility };
        Sample { worth, own: 10.0 - utility, others: 1.0 + utility }
    }

    fn trial() -> Trial {
        Trial::new(vec![None], TIMING, 0.5)
    }

    #[test]
    fn a_block_is_a_b_b_a_and_an_even_drift_cancels() {
        let mut trial = trial();
        let mut parts = Vec::new();
        let mut found = None;
        for step in 0..10 {
            let part = trial.part();
            parts.push(part);
            let gain = if matches!(part, Part::Candidate | Part::Entering) { 0.2 } else { 0.0 };
            if let Outcome::Block(difference) = trial.record(Some(sample(0.03 * f64::from(step) + gain))) {
                found = Some(difference);
            }
        }
        let quarter = [Reference, Reference];
        assert_eq!(parts[..2], quarter);
        assert_eq!(parts[2..8], [Entering, Candidate, Candidate, Candidate, Candidate, Leaving]);
        assert_eq!(parts[8..], quarter);
        let difference = found.unwrap();
        assert!((difference.utility - 0.2).abs() < 1e-12, "{difference:?}");
        assert!((difference.relief.unwrap() - 1.0).abs() < 1e-9, "one's loss is the others' gain");
        assert!(trial.between_blocks());
    }

    #[test]
    fn a_harmful_window_ends_the_trial_at_once() {
        let mut trial = trial();
        for utility in [1.0, 1.0, 0.0] {
            assert_eq!(trial.record(Some(sample(utility))), Outcome::Measuring);
        }
        assert_eq!(trial.record(Some(sample(0.4))), Outcome::Harmful);
    }

    #[test]
    fn a_block_without_valid_windows_is_void() {
        let mut trial = trial();
        let last = (0..10).map(|_| trial.record(None)).last();
        assert_eq!(last, Some(Outcome::Void));
        assert_eq!(trial.blocks(), 0);
    }

    /// Three equal blocks of 0.1 are certain; two are never.
    #[test]
    fn confidence_takes_three_blocks() {
        let mut trial = trial();
        for block in 1..=3 {
            for _ in 0..10 {
                let gain = if matches!(trial.part(), Part::Candidate) { 0.1 } else { 0.0 };
                trial.record(Some(sample(gain)));
            }
            let (mean, (lower, _)) = trial.gain();
            assert!((mean - 0.1).abs() < 1e-12);
            assert_eq!(lower > 0.05, block == 3);
        }
    }
}
