//! The controller that finds limits by trial.
//!
//! What a limit does cannot be computed from counters: whether ports contend, and for what, is not in them (a full link, a
//! server's processor, a client's own pace). So limits are tried. Measured elsewhere: peaks of the total are rare and a few
//! percent high, redistribution is common, and a dropping limit downstream lowers the total. Hence:
//!
//! 1. **Learn.** Eight windows give each port's usual rate and its noise.
//! 2. **Justify.** Limits in force are tried against none. They stay only if they pay.
//! 3. **Screen.** Ports with like rates form sets; the fastest set is tried first, at six rates below its own, a block of
//!    A, B, B, A each (see `trial.rs`). If a limit bites and nobody else gains, its ports do not contend with others, and
//!    tighter rates are skipped.
//! 4. **Confirm.** The best rate is tried again, in blocks of its own (the best of several noisy values is too good to be
//!    true), until the interval of the mean gain is above `worth`, or below it, or patience ends. Only the first is taken.
//! 5. **Refine.** The rates beside it are tried against it, as long as one of them is better by `worth`.
//! 6. **Watch.** Nothing moves until a rate changes for good (`change.rs`) or a time has passed that doubles with every
//!    search in vain. After a change everything begins at 1, with the limits in force.
//!
//! **Bounded regret.** Windows spent on candidates come from a budget: at most 200 + `share` · n of any n windows. A trial
//! ends with the first counted window that is worse than `worst`. A limit in force is at least `worth` better than none by
//! its last trial, and is tried against none again after 200 windows of watching at most, as soon as the budget has a block
//! for it: the load may have changed without a change in any rate, as when the capacity grows behind a limit.
//!
//! **No oscillation.** Limits move only after three blocks that agree, by steps of a fixed grid. A limit that was given up
//! though the load did not change has to promise twice as much next time. Ties leave things as they are, and nothing is
//! better than something.
//!
//! **Doing no harm.** Giving up a limit takes one block if that is much better. Whatever the objective, a limit that costs
//! more than `give` of the total is not taken. After 30 windows without valid readings all limits are lifted.
//!
//! Windows are noisy, so differences are of medians. What is left out: limits on several sets at once that pay only
//! together, and peaks narrower than the grid (an eighth root of a half).
//!
//! Sources: paired trials as in PCC (Dong et al., NSDI 2015); successive halving's screening and confirmation
//! (Karnin et al., ICML 2013), with two rounds; CUSUM (Page 1954); hysteresis and budget are our own.

use headway_units::{Rate, Time};

use super::budget::Budget;
use super::candidates::{Bounds, groups};
use super::change::ChangeDetector;
use super::objective::Objective;
use super::reading::{Monitor, Window};
use super::robust::deviation;
use super::search::{Goal, Search, contention};
use super::trial::{Difference, Outcome, Part, Sample, Timing, Trial};
use super::{Controller, Direction, ParameterError, PortSpec, Reading};

/// Blocks of a confirmation at most.
const MOST_BLOCKS: usize = 8;
/// Windows between searches at first, and the most doublings of it.
const PATIENCE: u32 = 40;
/// See `PATIENCE`: 2,560 windows.
const MOST_DOUBLINGS: u32 = 6;
/// Windows of watching after which limits in force are tried against none, whatever `doublings` is.
const PROOF: u32 = 200;
/// Windows without a valid reading after which limits are lifted.
const BLIND: u32 = 30;
/// Blocks after which a trial's total is believed.
const ENOUGH: usize = 3;
/// How often a block without enough valid windows is repeated.
const REPEATS: u32 = 1;
/// A limit is given up, or kept, after one block if that gains or loses so many times `worth`.
const PLAIN: f64 = 3.0;

/// What the controller is to do and may do.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What is to be raised.
    pub objective: Objective,
    /// The rates that limits may have.
    pub bounds: Bounds,
    /// The smallest relative gain for which a limit is set. From 0.001 to 1.
    pub worth: f64,
    /// The part of the total that a limit may cost. From 0 to 1.
    pub give: f64,
    /// The largest relative loss that a counted window of a trial may have. From 0.01 to 0.99.
    pub worst: f64,
    /// The part of all windows that may be spent on trials. From 0.001 to 0.5.
    pub share: f64,
    /// Windows of a block.
    pub timing: Timing,
}

impl Settings {
    /// `objective` within `bounds`, with what suits windows of a second: gains from 2 %, at most 5 % of the total, no
    /// window worse by more than 30 %, a tenth of the time, one window to settle and two to measure.
    pub fn new(objective: Objective, bounds: Bounds) -> Settings {
        let timing = Timing { settle: 1, measure: 2 };
        Settings { objective, bounds, worth: 0.02, give: 0.05, worst: 0.3, share: 0.1, timing }
    }

    /// Checks all ranges.
    ///
    /// # Errors
    /// The first parameter out of its range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.bounds.validate()?;
        self.objective.validate()?;
        let within = |parameter, value: f64, least: f64, most: f64, allowed| {
            if value >= least && value <= most { Ok(()) } else { Err(ParameterError { parameter, value, allowed }) }
        };
        within("worth", self.worth, 0.001, 1.0, "from 0.001 to 1")?;
        within("give", self.give, 0.0, 1.0, "from 0 to 1")?;
        within("worst", self.worst, 0.01, 0.99, "from 0.01 to 0.99")?;
        within("share", self.share, 0.001, 0.5, "from 0.001 to 0.5")?;
        within("settle", f64::from(self.timing.settle), 1.0, 100.0, "from 1 to 100")?;
        within("measure", f64::from(self.timing.measure), 1.0, 100.0, "from 1 to 100")?;
        // a block has to fit into the budget
        within("settle", f64::from(self.timing.cost()), 1.0, 150.0, "with twice `measure` at most 150 windows")
    }
}

/// What the controller is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It learns what is usual.
    Learning,
    /// It tries limits.
    Searching,
    /// It waits for a change, or for the next search.
    Watching,
}

/// Finds limits by trial; see the module's description.
#[derive(Debug, Clone)]
pub struct Headway {
    settings: Settings,
    monitor: Monitor,
    detector: ChangeDetector,
    budget: Budget,
    /// The limits that have won.
    incumbent: Vec<Option<Rate>>,
    /// The limits in force: those, or a candidate's.
    applied: Vec<Option<Rate>>,
    activity: Activity,
    search: Option<Search>,
    trial: Option<(Goal, Trial)>,
    /// Windows that pass before it learns, since limits have just changed.
    settling: u32,
    /// The last windows under the incumbent, while it learns.
    learned: Vec<Window>,
    active: Vec<bool>,
    /// Of the utility, from window to window.
    noise: f64,
    /// Windows until the next search, and how often that was doubled.
    wait: u32,
    doublings: u32,
    /// Windows of watching since limits in force were tried against none; and whether the search under way does only that.
    unproved: u32,
    proving: bool,
    /// Limits given up since the load changed.
    given_up: u32,
    blind: u32,
    contention: Vec<Option<f64>>,
}

impl Headway {
    /// For `ports`, of which `direction` is limited and measured.
    ///
    /// # Errors
    /// If a setting is out of its range.
    pub fn new(settings: Settings, ports: Vec<PortSpec>, direction: Direction) -> Result<Headway, ParameterError> {
        settings.validate()?;
        let number = ports.len();
        Ok(Headway {
            budget: Budget::new(settings.share),
            settings,
            monitor: Monitor::new(ports, direction),
            detector: ChangeDetector::new(number),
            incumbent: vec![None; number],
            applied: vec![None; number],
            activity: Activity::Learning,
            search: None,
            trial: None,
            settling: 0,
            learned: Vec::new(),
            active: vec![false; number],
            noise: 0.0,
            wait: 0,
            doublings: 0,
            unproved: 0,
            proving: false,
            given_up: 0,
            blind: 0,
            contention: vec![None; number],
        })
    }

    /// What it is doing.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// The limits that have won, without those on trial.
    pub fn chosen(&self) -> &[Option<Rate>] {
        &self.incumbent
    }

    /// For each port that was limited on trial since the load changed: the part of its loss that others gained. Near 1,
    /// ports contend for all that they have; near 0, they do not.
    pub fn contention(&self) -> &[Option<f64>] {
        &self.contention
    }

    /// Windows that the trial under way has as its reference.
    #[cfg(test)]
    pub(super) fn references(&self) -> usize {
        self.trial.as_ref().map_or(0, |(_, trial)| trial.references())
    }

    fn lift_all(&mut self) {
        self.incumbent.fill(None);
        self.begin_anew();
    }

    /// The load has changed: all that is known is of another one.
    fn begin_anew(&mut self) {
        (self.search, self.trial) = (None, None);
        (self.doublings, self.given_up) = (0, 0);
        self.contention.fill(None);
        self.learn();
    }

    /// Learns what is usual under the incumbent; a search goes on afterwards.
    fn learn(&mut self) {
        self.detector.forget();
        self.learned.clear();
        self.settling = self.settings.timing.settle;
        self.activity = Activity::Learning;
    }

    fn sample(&self, window: &Window) -> Sample {
        let ports = self.monitor.ports();
        let worth = self.settings.objective.worth(ports, &self.active, window);
        let (mut own, mut others) = (0.0, 0.0);
        let candidate = self.trial.as_ref().map_or(&self.incumbent, |(_, trial)| &trial.candidate);
        for (at, _) in ports.iter().enumerate().filter(|&(at, spec)| spec.counted && self.active[at]) {
            let part = if candidate[at] == self.incumbent[at] { &mut others } else { &mut own };
            *part += window.ports[at].goodput;
        }
        Sample { worth, own, others }
    }

    /// The reference is complete.
    fn learned(&mut self) {
        self.active = self.detector.active();
        let utilities: Vec<f64> = self.learned.iter().map(|window| self.sample(window).worth.utility).collect();
        self.noise = deviation(&utilities);
        if self.search.is_none() {
            self.begin_search(false);
        }
        self.activity = Activity::Searching;
        self.next_trial();
    }

    /// `proving`: of no other limits than those in force.
    fn begin_search(&mut self, proving: bool) {
        (self.unproved, self.proving) = (0, proving);
        let ports = self.monitor.ports();
        let rates = self.rates();
        let mut justify: Vec<Vec<usize>> = Vec::new();
        for (port, limit) in self.incumbent.iter().enumerate().filter(|(_, limit)| limit.is_some()) {
            match justify.iter_mut().find(|group| self.incumbent[group[0]] == *limit) {
                Some(group) => group.push(port),
                None => justify.push(vec![port]),
            }
        }
        let counted = ports.iter().zip(&self.active).filter(|(spec, active)| spec.counted && **active).count();
        // one port alone shares with nobody
        let groups = if counted < 2 || proving { Vec::new() } else { groups(ports, &self.active, &rates) };
        let (promising, give) = (self.worth() / 2.0, self.give());
        self.search = Some(Search::new(self.settings.bounds, promising, give, justify, groups));
    }

    fn rates(&self) -> Vec<f64> {
        (0..self.incumbent.len()).map(|port| self.detector.usual(port)).collect()
    }

    /// The gain that a limit must have, in logarithms.
    fn worth(&self) -> f64 {
        libm::log1p(self.settings.worth) * f64::from(1 << self.given_up.min(4))
    }

    /// The loss of the total that is too much, in logarithms.
    fn give(&self) -> f64 {
        -libm::log1p(-self.settings.give.min(0.999))
    }

    fn next_trial(&mut self) {
        let rates = self.rates();
        let Some(search) = &mut self.search else { return };
        let Some(goal) = search.next(&rates, &self.incumbent) else {
            self.doublings = match search {
                Search { moved: false, .. } if self.proving => self.doublings,
                Search { moved: true, .. } => 0,
                // not in vain: there was nothing to be seen
                Search { unseen: true, .. } => self.doublings,
                _ => (self.doublings + 1).min(MOST_DOUBLINGS),
            };
            if search.moved || !self.proving {
                self.wait = PATIENCE << self.doublings;
            }
            self.search = None;
            self.activity = Activity::Watching;
            return;
        };
        let mut candidate = self.incumbent.clone();
        let (group, limit) = match &goal {
            Goal::Justify(group) => (group, None),
            Goal::Screen(group, limit) | Goal::Confirm(group, limit) => (group, Some(*limit)),
        };
        for &port in group {
            candidate[port] = limit;
        }
        let worst = -libm::log1p(-self.settings.worst) + 3.0 * self.noise;
        self.trial = Some((goal, Trial::new(candidate, self.settings.timing, worst)));
    }

    /// Whether the trial's next block has to wait for the budget.
    fn waits(&self) -> bool {
        let cost = self.settings.timing.cost();
        self.trial.as_ref().is_some_and(|(_, trial)| trial.between_blocks() && !self.budget.affords(cost))
    }

    /// Takes in a window of a trial.
    fn record(&mut self, window: Option<&Window>) {
        let sample = window.map(|window| self.sample(window));
        let Some((goal, mut trial)) = self.trial.take() else { return };
        let deviated = trial.deviates();
        let outcome = trial.record(sample);
        if let Outcome::Block(difference) = &outcome {
            self.note_contention(&trial, difference);
        }
        let decision = match (&goal, &outcome) {
            (_, Outcome::Measuring) => None,
            // nothing was seen: once more
            (_, Outcome::Void) if trial.voids() <= REPEATS => None,
            (Goal::Justify(_), Outcome::Block(_)) => self.justify(&trial),
            (Goal::Confirm(..), Outcome::Block(_)) => self.confirm(&trial),
            // screening decides nothing; limits stay as they are if the candidate is harmful, or if nothing could be seen
            _ => Some(false),
        };
        match decision {
            None => self.trial = Some((goal, trial)),
            Some(taken) => {
                if deviated {
                    // the limits in force come back now: the next window is of neither
                    self.settling = self.settings.timing.settle;
                }
                self.decided(&goal, trial, &outcome, taken);
            }
        }
    }

    fn decided(&mut self, goal: &Goal, trial: Trial, outcome: &Outcome, taken: bool) {
        let Some(search) = &mut self.search else { return };
        search.unseen |= *outcome == Outcome::Void;
        match goal {
            Goal::Justify(_) if taken => {
                search.moved = true;
                self.given_up += 1;
            }
            Goal::Justify(_) => {}
            Goal::Screen(_, rate) => match outcome {
                Outcome::Block(difference) => search.screened(*rate, Some(difference)),
                Outcome::Harmful => search.screened(*rate, None),
                // the next rate may be seen
                Outcome::Void | Outcome::Measuring => {}
            },
            Goal::Confirm(_, rate) => search.confirmed(taken.then_some(*rate)),
        }
        if taken {
            self.incumbent = trial.candidate;
            self.learn();
        } else {
            self.next_trial();
        }
    }

    /// Whether to give up the limits in force, for the candidate without them; `None` to go on.
    fn justify(&self, trial: &Trial) -> Option<bool> {
        let worth = libm::log1p(self.settings.worth);
        let (mean, (lower, upper)) = trial.gain();
        let blocks = trial.blocks();
        if blocks == 1 && mean > PLAIN * worth + 3.0 * self.noise {
            return Some(true);
        }
        if blocks == 1 && mean < -PLAIN * worth - 3.0 * self.noise {
            return Some(false);
        }
        if blocks >= ENOUGH && trial.total() > self.give() {
            return Some(true);
        }
        if upper < 0.0 {
            return Some(false);
        }
        if lower > -worth / 2.0 || blocks >= MOST_BLOCKS {
            return Some(mean > -worth / 2.0);
        }
        None
    }

    /// Whether the candidate is confirmed; `None` to go on.
    fn confirm(&self, trial: &Trial) -> Option<bool> {
        let worth = self.worth();
        let (_, (lower, upper)) = trial.gain();
        if lower > worth {
            return Some(trial.total() > -self.give());
        }
        (trial.hopeless() || upper < worth || trial.blocks() >= MOST_BLOCKS).then_some(false)
    }

    fn note_contention(&mut self, trial: &Trial, difference: &Difference) {
        let Some(relief) = contention(difference) else { return };
        for (port, known) in self.contention.iter_mut().enumerate() {
            if trial.candidate[port] != self.incumbent[port] {
                *known = Some(relief);
            }
        }
    }

    /// A valid window has passed. `part`: of a trial's block.
    fn window(&mut self, window: &Window, part: Option<Part>) {
        if self.settling > 0 {
            self.settling -= 1;
            return;
        }
        let under_incumbent = matches!(part, None | Some(Part::Reference));
        let changed = if under_incumbent { self.detector.observe(window) } else { self.detector.wakes(window) };
        if changed {
            self.begin_anew();
            return;
        }
        match self.activity {
            Activity::Learning => {
                self.learned.push(window.clone());
                if self.detector.is_ready() {
                    self.learned();
                }
            }
            Activity::Searching if part.is_some() => self.record(Some(window)),
            Activity::Searching => {}
            Activity::Watching => {
                self.wait = self.wait.saturating_sub(1);
                self.unproved += 1;
                let proving = self.unproved >= PROOF && self.incumbent.iter().any(Option::is_some);
                if self.wait == 0 || proving {
                    self.begin_search(self.wait > 0);
                    self.activity = Activity::Searching;
                    self.next_trial();
                }
            }
        }
    }
}

impl Controller for Headway {
    fn observe(&mut self, now: Time, readings: &[Reading]) -> &[Option<Rate>] {
        let part = if self.waits() { None } else { self.trial.as_ref().map(|(_, trial)| trial.part()) };
        let window = self.monitor.window(now, readings);
        self.budget.pass(self.applied != self.incumbent);
        if let Some(window) = window {
            self.blind = 0;
            self.window(&window, part);
        } else {
            self.blind += 1;
            if self.blind >= BLIND {
                self.lift_all();
            } else if part.is_some() && self.settling == 0 {
                self.record(None);
            }
        }
        let candidate = self.trial.as_ref().filter(|(_, trial)| trial.deviates()).map(|(_, trial)| &trial.candidate);
        self.applied.clone_from(candidate.unwrap_or(&self.incumbent));
        &self.applied
    }

    fn limits(&self) -> &[Option<Rate>] {
        &self.applied
    }
}
