//! Doing what a plan says, and undoing what a record says.

use std::path::Path;

use super::record::{Before, Entry, Record};
use super::{Limits, Plan, Planned, SetupError, State, Step};

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

/// What became of a step that was to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// How many steps were done.
    pub done: usize,
    /// How many needed nothing.
    pub there: usize,
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

    /// Does what is missing of `plan`, and records each step before.
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
        self.take_back(plan, host)?;
        let mut done = 0;
        for Planned { step, .. } in plan.steps.iter().filter(|planned| planned.state != State::There) {
            let failed = |error| SetupError::Step { step: step.to_string(), error };
            let known = self.position(step);
            if known.is_none() {
                let before = match step {
                    Step::Sysctl { name, .. } => Before::Value(host.sysctl(name).map_err(failed)?),
                    Step::Limits(_) => Before::Limits(host.limits().map_err(failed)?),
                    Step::Route(_) | Step::Rule { .. } => Before::Nothing,
                };
                self.record.entries.push(Entry { step: step.clone(), before });
                self.record.save()?;
            }
            let result = match step {
                Step::Sysctl { name, value } => host.set_sysctl(name, value),
                Step::Limits(limits) => host.set_limits(*limits),
                Step::Route(_) | Step::Rule { .. } => host.add(step),
            };
            if let Err(error) = result {
                if known.is_none() {
                    self.record.entries.pop();
                    self.record.save()?;
                }
                return Err(failed(error));
            }
            done += 1;
        }
        Ok(Done { done, there: plan.steps.len() - done })
    }

    /// Takes away what is recorded and would be in the way of `plan`, or would lead packets elsewhere: routes in its tables
    /// and rules for its addresses that it does not have. They are of other settings, or of a gateway that has changed.
    fn take_back(&mut self, plan: &Plan, host: &mut impl Host) -> Result<(), SetupError> {
        let steps = || plan.steps.iter().map(|planned| &planned.step);
        let filled = |table: u32| steps().any(|step| matches!(step, Step::Route(route) if route.table == table));
        let ruled = |ip| steps().any(|step| matches!(step, Step::Rule { from, .. } if *from == ip));
        for index in (0..self.record.entries.len()).rev() {
            let step = &self.record.entries[index].step;
            let superseded = match step {
                Step::Route(route) => filled(route.table),
                Step::Rule { from, table, .. } => ruled(*from) || filled(*table),
                Step::Sysctl { .. } | Step::Limits(_) => false,
            };
            if superseded && !steps().any(|planned| planned == step) {
                let failed = |error| SetupError::Step { step: step.to_string(), error };
                host.remove(step).map_err(failed)?;
                self.record.entries.remove(index);
                self.record.save()?;
            }
        }
        Ok(())
    }

    /// The entry that undoes `step`, too: of a sysctl or the limits, the first one knows what was there before us.
    fn position(&self, step: &Step) -> Option<usize> {
        self.record.entries.iter().position(|entry| entry.step == *step)
    }

    /// Undoes what is recorded, the latest first. What could not be undone stays in the record.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn cleanup(&mut self, host: &mut impl Host) -> Result<Vec<Undone>, SetupError> {
        let mut all = Vec::new();
        for index in (0..self.record.entries.len()).rev() {
            let Entry { step, before } = self.record.entries[index].clone();
            let undone = match undo(&step, &before, host) {
                Ok(None) => Undone::Undone(step),
                Ok(Some(now)) if now.is_empty() => Undone::Gone(step),
                Ok(Some(now)) => Undone::Changed(step, now),
                Err(error) => Undone::Failed(step, error),
            };
            if !matches!(undone, Undone::Failed(..)) {
                self.record.entries.remove(index);
                self.record.save()?;
            }
            all.push(undone);
        }
        // An empty record of a process that was killed before its first step.
        self.record.save()?;
        Ok(all)
    }
}

/// Undoes a step. `None`: it did; else what is there now, which is empty if there is nothing to undo.
fn undo(step: &Step, before: &Before, host: &mut impl Host) -> Result<Option<String>, String> {
    match (step, before) {
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
        _ => Ok(if host.remove(step)? { None } else { Some(String::new()) }),
    }
}
