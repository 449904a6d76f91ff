//! A store of runs, as one experiment uses it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use headway_results::{Cell, Error, Job, Key, Manifest, Outcome, Store, StoredRun};

use crate::fingerprint::{Keys, RESULTS_EPOCH};
use crate::not_stored::NotStored;

/// What a store did for an experiment.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Runs that were found there.
    pub found: usize,
    /// Runs that were computed and are there now.
    pub added: usize,
    /// Runs that were there, but damaged, and computed again: in words.
    pub damaged: Vec<String>,
    /// Runs that are never kept there, by the reason.
    pub left_out: BTreeMap<NotStored, usize>,
}

/// A store with the keys of an experiment's runs.
#[derive(Debug)]
pub(crate) struct Keeper {
    store: Store,
    keys: Keys,
    cells: Vec<Cell>,
    scenario: String,
    version: String,
    kernel: Option<String>,
    /// Whether runs are taken from it; otherwise they are only put there.
    reads: bool,
    stored: Mutex<Stored>,
}

impl Keeper {
    pub fn new(store: Store, keys: Keys, manifest: &Manifest, reads: bool) -> Keeper {
        Keeper {
            store,
            keys,
            cells: manifest.cells.clone(),
            scenario: manifest.scenario.clone(),
            version: manifest.version.clone(),
            kernel: manifest.kernel.as_ref().map(|kernel| kernel.name.clone()),
            reads,
            stored: Mutex::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Why `job` is not kept, if it is not.
    pub fn left_out(&self, job: Job) -> Option<NotStored> {
        self.keys.cells[job.cell as usize].as_ref().err().copied()
    }

    fn note(&self, note: impl FnOnce(&mut Stored)) {
        note(&mut self.stored.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The outcome of `job`, if it is there and whole.
    pub fn find(&self, job: Job) -> Result<Option<Outcome>, Error> {
        let Some(key) = self.keys.of(job).filter(|_| self.reads) else { return Ok(None) };
        if let Some(outcome) = self.look(&key, job)? {
            return Ok(Some(outcome));
        }
        // A film that is there changes nothing else; one that is missing cannot be made later.
        let Some(key) = self.keys.filmed(job) else { return Ok(None) };
        Ok(self.look(&key, job)?.map(|outcome| Outcome { film: None, ..outcome }))
    }

    fn look(&self, key: &Key, job: Job) -> Result<Option<Outcome>, Error> {
        match self.store.get(key, job) {
            Err(error @ Error::Damaged { .. }) => {
                self.note(|stored| stored.damaged.push(error.to_string()));
                Ok(None)
            }
            found => {
                if let Ok(Some(_)) = found {
                    self.note(|stored| stored.found += 1);
                }
                found
            }
        }
    }

    /// Keeps an outcome that was computed.
    pub fn keep(&self, outcome: &Outcome) -> Result<(), Error> {
        let job = outcome.job;
        let Some(key) = self.keys.of(job) else {
            let reason = self.left_out(job).expect("the others have keys");
            self.note(|stored| *stored.left_out.entry(reason).or_default() += 1);
            return Ok(());
        };
        let cell = &self.cells[job.cell as usize];
        let run = StoredRun {
            epoch: RESULTS_EPOCH,
            version: self.version.clone(),
            scenario: self.scenario.clone(),
            policy: cell.policy.clone(),
            sweep: cell.sweep.clone(),
            seed: self.keys.seed,
            repeat: job.repeat,
            kernel: self.kernel.clone(),
        };
        self.store.put(&key, &run, outcome)?;
        self.note(|stored| stored.added += 1);
        Ok(())
    }

    /// What it did.
    pub fn stored(&self) -> Stored {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
