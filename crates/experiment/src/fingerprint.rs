//! What the outcome of a run depends on, as the beginning of its key in a store.

use headway_emulation::Where;
use headway_results::{Job, Kernel, Key, KeyBuilder};
use headway_scenario::CellText;

use crate::error::Error;
use crate::experiment::Experiment;
use crate::files::Files;
use crate::not_stored::NotStored;

/// The epoch of results: raised by one whenever a run of some scenario gives other flows, samples or counters than before,
/// so that runs kept in stores are not taken for those of this version. `CONTRIBUTING.md` has the rule, and
/// `tests/epoch.rs` fails if it is forgotten.
pub const RESULTS_EPOCH: u32 = 2;

/// The beginning of the keys of a cell's runs.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    builder: KeyBuilder,
    /// Whether repeat 0 has a film: other points of the sweep decide about that.
    filmed: bool,
    /// The steps of the film that it has, or would have.
    steps: u32,
}

impl Fingerprint {
    /// The key of the run with this seed and repeat.
    pub fn key(&self, seed: u64, repeat: u32) -> Key {
        self.with_film(seed, repeat, self.filmed && repeat == 0)
    }

    /// The key of the same run with a film that it does not need, if it could have one.
    pub fn filmed_key(&self, seed: u64, repeat: u32) -> Option<Key> {
        (repeat == 0 && !self.filmed).then(|| self.with_film(seed, repeat, true))
    }

    fn with_film(&self, seed: u64, repeat: u32, film: bool) -> Key {
        let builder = self.builder.clone().with("seed", &seed.to_le_bytes());
        let builder = if film { builder.with("film", &self.steps.to_le_bytes()) } else { builder };
        builder.with("repeat", &repeat.to_le_bytes()).finish()
    }
}

impl Experiment {
    /// The fingerprints of all cells. `kernel` is that of kernel hosts, `files` what the scenario names.
    ///
    /// # Errors
    /// If a table of sizes was changed while the plans were made.
    pub(crate) fn fingerprints(
        &self,
        files: &Files,
        kernel: Option<&Kernel>,
    ) -> Result<Vec<Result<Fingerprint, NotStored>>, Error> {
        let policies = self.scenario.policy.len();
        let mut all = Vec::with_capacity(self.plans.len());
        for (index, point) in self.document.points().iter().enumerate() {
            let record = self.document.scenario(point)?;
            let text = CellText::new(&record);
            let base = KeyBuilder::new().with("epoch", &RESULTS_EPOCH.to_le_bytes());
            let base = self.tables.add(base, &record, files)?;
            for policy in 0..policies {
                let plan = &self.plans[index * policies + policy];
                let builder = base.clone().with("scenario", text.of(policy).as_bytes());
                let (filmed, steps) = (plan.is_filmed(), record.measure.film.steps);
                let fingerprint = |builder| Fingerprint { builder, filmed, steps };
                all.push(match plan.place() {
                    _ if !plan.own().is_empty() => Err(NotStored::Own),
                    Some(Where::Namespaces) => Err(NotStored::RealTime),
                    _ if !record.measure.capture.is_empty() => Err(NotStored::Captures),
                    None => Ok(fingerprint(builder)),
                    Some(Where::Guests) => {
                        let builder = builder.with("set-up", plan.kernel_setup().as_bytes());
                        let identity = kernel.map(Kernel::identity).unwrap_or_default();
                        let builder = builder.with("kernel", identity.as_bytes());
                        let builder = match &record.files {
                            None => Some(builder),
                            Some(name) => files.hashed(name, builder),
                        };
                        builder.map(fingerprint).ok_or(NotStored::Files)
                    }
                });
            }
        }
        Ok(all)
    }
}

/// Uses of a store by one experiment: the keys of its runs.
#[derive(Debug)]
pub(crate) struct Keys {
    pub cells: Vec<Result<Fingerprint, NotStored>>,
    pub seed: u64,
}

impl Keys {
    /// The key of `job`; nothing if it is not kept.
    pub fn of(&self, job: Job) -> Option<Key> {
        let cell = self.cells[job.cell as usize].as_ref().ok()?;
        Some(cell.key(self.seed, job.repeat))
    }

    /// The key of `job` with a film that is to be thrown away.
    pub fn filmed(&self, job: Job) -> Option<Key> {
        self.cells[job.cell as usize].as_ref().ok()?.filmed_key(self.seed, job.repeat)
    }
}
