//! Doing what a plan says, and undoing what a record says.

use std::path::Path;

use super::record::{Entry, Record};
use super::{Former, Plan, Planned, Recorded, SetupError, State, Step, Undoing};

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
pub enum Undone<S> {
    /// It was undone.
    Undone(S),
    /// There was nothing to undo.
    Gone(S),
    /// Someone has changed it since; it was left alone.
    Changed(S, String),
    /// It could not be undone and stays in the record.
    Failed(S, String),
}

/// Sets a network namespace up, and cleans it up.
#[derive(Debug)]
pub struct Setup<S: Step> {
    record: Record<S>,
}

impl<S: Step> Setup<S> {
    /// With the record of the namespace `netns` (`None`: the one it was started in) in the folder `state`. Nobody else has it
    /// as long as this lives.
    ///
    /// # Errors
    /// If the record cannot be had or is damaged.
    pub fn open(state: &Path, netns: Option<&str>) -> Result<Setup<S>, SetupError> {
        Ok(Setup { record: Record::open(state, netns)? })
    }

    /// What is recorded now.
    pub fn recorded(&self) -> Recorded<S> {
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
    pub fn apply<W>(&mut self, plan: &Plan<S, W>, host: &mut S::Host) -> Result<Done, SetupError> {
        for Planned { step, state } in &plan.steps {
            if let State::Taken(now) = state {
                let advice = step.advice_if_taken();
                return Err(SetupError::Taken { step: step.to_string(), now: now.clone(), advice });
            }
        }
        let known = self.record.recorded.clone();
        let recorded = |former: &Former<S>| known.0.iter().find(|one| one.step == former.step);
        let undo: Vec<&Entry<S>> = plan.undo.iter().filter(|one| !one.in_use).filter_map(recorded).collect();
        let is_due = |one: &&Planned<S>| matches!(one.state, State::Missing | State::Differs(_));
        let todo: Vec<&S> = plan.steps.iter().filter(is_due).map(|one| &one.step).collect();
        let mut wanted = known.clone();
        // What settings were before this daemon's first step.
        let mut firsts = Vec::new();
        for step in &todo {
            let now = step.read(host).map_err(failed(*step))?;
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
            .try_for_each(|Entry { step, before }| {
                step.undo(before, host).map(drop).map_err(failed(step)).inspect(|()| done += 1)
            })
            .and_then(|()| {
                todo.iter().try_for_each(|step| step.run(host).map_err(failed(*step)).inspect(|()| done += 1))
            });
        // Of what was not come to, the record says what it said before.
        let (gone, made) = (&undo[..done.min(undo.len())], done.saturating_sub(undo.len()));
        let pending = &todo[made..];
        self.record.recorded.0.retain(|entry| {
            !gone.iter().any(|one| one.step == entry.step)
                && (known.0.contains(entry) || !pending.contains(&&entry.step))
        });
        for (step, first) in todo.iter().zip(firsts).take(made) {
            if step.sets(step).is_some() {
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

    /// Undoes what is recorded, in the order of [`Recorded::undoing`]. What could not be undone stays in the record.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn cleanup(&mut self, host: &mut S::Host) -> Result<Vec<Undone<S>>, SetupError> {
        let mut all = Vec::new();
        let mut remaining = Vec::new();
        for entry in self.record.recorded.undoing() {
            let step = entry.step.clone();
            all.push(match step.undo(&entry.before, host) {
                Ok(Undoing::Undone) => Undone::Undone(step),
                Ok(Undoing::Gone) => Undone::Gone(step),
                Ok(Undoing::Changed(now)) => Undone::Changed(step, now),
                Err(error) => {
                    remaining.push(entry);
                    Undone::Failed(step, error)
                }
            });
        }
        self.record.recorded.0.retain(|entry| remaining.contains(entry));
        // Even if nothing was recorded: there may be an empty record of a process that was killed before its first step.
        self.record.save()?;
        Ok(all)
    }
}

fn failed<S: Step>(step: &S) -> impl FnOnce(String) -> SetupError {
    let step = step.to_string();
    |error| SetupError::Step { step, error }
}
