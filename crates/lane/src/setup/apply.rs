//! Doing what a plan says, and undoing what a record says.

use std::path::Path;

use super::record::{Before, Entry, Record};
use super::{Former, Limits, Plan, Planned, Recorded, SetupError, State, Step};

/// What steps are done with. The real one is [`super::Live`].
pub trait Host {
    /// A sysctl's value.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn sysctl(&mut self, name: &str) -> Result<String, String>;
    /// Gives a sysctl a value.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), String>;
    /// The path manager's limits.
    ///
    /// # Errors
    /// Why they cannot be had.
    fn limits(&mut self) -> Result<Limits, String>;
    /// Sets them.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn set_limits(&mut self, limits: Limits) -> Result<(), String>;
    /// Adds a route or a rule.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn add(&mut self, step: &Step) -> Result<(), String>;
    /// Takes a route or a rule away if it is there as it was added; says whether it was.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn remove(&mut self, step: &Step) -> Result<bool, String>;
}

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// How many steps were done.
    pub done: usize,
    /// How many needed nothing.
    pub there: usize,
    /// How many former steps were undone.
    pub undone: usize,
    /// How many of them stay as long as connections use them.
    pub in_use: usize,
    /// How many wait for an interface to come up.
    pub waits: usize,
}

impl Done {
    /// Whether nothing is left for later.
    pub fn is_whole(&self) -> bool {
        self.in_use == 0 && self.waits == 0
    }
}

/// What became of a recorded step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// It was undone.
    Undone(Step),
    /// There was nothing to undo.
    Gone(Step),
    /// Someone has changed it since; it was left alone.
    Changed(Step, String),
    /// It could not be undone and stays in the record.
    Failed(Step, String),
}

/// Sets a network namespace up, and cleans it up.
#[derive(Debug)]
pub struct Setup {
    record: Record,
}

impl Setup {
    /// With the record of the namespace `netns` (`None`: the one it was started in) in the folder `state`. Nobody else has it
    /// as long as this lives.
    ///
    /// # Errors
    /// If the record cannot be had or is damaged.
    pub fn open(state: &Path, netns: Option<&str>) -> Result<Setup, SetupError> {
        Ok(Setup { record: Record::open(state, netns)? })
    }

    /// What is recorded now.
    pub fn recorded(&self) -> Recorded {
        self.record.recorded.clone()
    }

    /// Undoes what `plan` does not want any more, as far as it is recorded, and does what is missing.
    ///
    /// All of it is recorded before, and what was undone is forgotten after: nothing waits for the disk while a lane's
    /// table is not whole, and without room on the disk nothing is done.
    ///
    /// # Errors
    /// At the first step that fails; those before it stay, and are in the record. If something of others is in a step's
    /// place, nothing is done.
    pub fn apply(&mut self, plan: &Plan, host: &mut impl Host) -> Result<Done, SetupError> {
        for Planned { step, state } in &plan.steps {
            if let State::Taken(now) = state {
                return Err(SetupError::Taken { step: step.to_string(), now: now.clone() });
            }
        }
        let recorded = |entry: &Former| self.record.recorded.0.iter().any(|one| one.step == entry.step);
        let undo: Vec<&Step> =
            plan.undo.iter().filter(|one| !one.in_use && recorded(one)).map(|one| &one.step).collect();
        let is_due = |one: &&Planned| matches!(one.state, State::Missing | State::Differs(_));
        let todo: Vec<&Step> = plan.steps.iter().filter(is_due).map(|one| &one.step).collect();
        let known = self.record.recorded.clone();
        let mut wanted = known.clone();
        // What settings were before this daemon's first step.
        let mut firsts = Vec::new();
        for step in &todo {
            let now = now(step, host).map_err(failed(step))?;
            firsts.push(known.before(step, now.clone()));
            wanted.add(step, now);
        }
        self.record.recorded = wanted.clone();
        if wanted != known
            && let Err(error) = self.record.save()
        {
            self.record.recorded = known;
            return Err(error);
        }
        let mut done = 0;
        let result = undo
            .iter()
            .try_for_each(|step| host.remove(step).map(drop).map_err(failed(step)).inspect(|()| done += 1))
            .and_then(|()| todo.iter().try_for_each(|step| does(step, host).inspect(|()| done += 1)));
        // Of what was not come to, the record says what it said before.
        let (gone, made) = (&undo[..done.min(undo.len())], done.saturating_sub(undo.len()));
        let pending = &todo[made..];
        self.record.recorded.0.retain(|entry| {
            !gone.contains(&&entry.step) && (known.0.contains(entry) || !pending.contains(&&entry.step))
        });
        for (step, first) in todo.iter().zip(firsts).take(made) {
            if first != Before::Nothing {
                self.record.recorded.set(step, first);
            }
        }
        let saved = if self.record.recorded == wanted { Ok(()) } else { self.record.save() };
        result.and(saved)?;
        Ok(Done {
            done: made,
            there: plan.steps.iter().filter(|one| one.state == State::There).count(),
            undone: undo.len(),
            in_use: plan.undo.iter().filter(|one| one.in_use).count(),
            waits: plan.steps.iter().filter(|one| matches!(one.state, State::Waits(_))).count(),
        })
    }

    /// Undoes what is recorded: rules, then routes, then settings, of each the latest first. What could not be undone stays
    /// in the record.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn cleanup(&mut self, host: &mut impl Host) -> Result<Vec<Undone>, SetupError> {
        let mut all = Vec::new();
        let mut left = Vec::new();
        for entry in self.record.recorded.undoing() {
            let step = entry.step.clone();
            all.push(match undo(&entry, host) {
                Ok(None) => Undone::Undone(step),
                Ok(Some(now)) if now.is_empty() => Undone::Gone(step),
                Ok(Some(now)) => Undone::Changed(step, now),
                Err(error) => {
                    left.push(entry);
                    Undone::Failed(step, error)
                }
            });
        }
        self.record.recorded.0.retain(|entry| left.contains(entry));
        // Even if nothing was recorded: there may be an empty record of a process that was killed before its first step.
        self.record.save()?;
        Ok(all)
    }
}

fn failed(step: &Step) -> impl FnOnce(String) -> SetupError {
    let step = step.to_string();
    |error| SetupError::Step { step, error }
}

/// What `step` is about to change.
fn now(step: &Step, host: &mut impl Host) -> Result<Before, String> {
    match step {
        Step::Sysctl { name, .. } => host.sysctl(name).map(Before::Value),
        Step::Limits(_) => host.limits().map(Before::Limits),
        Step::Route(_) | Step::Rule { .. } => Ok(Before::Nothing),
    }
}

fn does(step: &Step, host: &mut impl Host) -> Result<(), SetupError> {
    let result = match step {
        Step::Sysctl { name, value } => host.set_sysctl(name, value),
        Step::Limits(limits) => host.set_limits(*limits),
        Step::Route(_) | Step::Rule { .. } => host.add(step),
    };
    result.map_err(failed(step))
}

/// Undoes a step. `None`: it did; else what is there now, which is empty if there is nothing to undo.
fn undo(entry: &Entry, host: &mut impl Host) -> Result<Option<String>, String> {
    match (&entry.step, &entry.before) {
        (Step::Sysctl { name, value }, Before::Value(before)) => {
            let now = host.sysctl(name)?;
            if now == *before {
                return Ok(Some(String::new()));
            }
            if now != *value {
                return Ok(Some(now));
            }
            host.set_sysctl(name, before).map(|()| None)
        }
        (Step::Limits(limits), Before::Limits(before)) => {
            let now = host.limits()?;
            if now == *before {
                return Ok(Some(String::new()));
            }
            if now != *limits {
                return Ok(Some(format!("subflows {} add_addr_accepted {}", now.subflows, now.add_addr_accepted)));
            }
            host.set_limits(*before).map(|()| None)
        }
        _ => Ok(if host.remove(&entry.step)? { None } else { Some(String::new()) }),
    }
}
