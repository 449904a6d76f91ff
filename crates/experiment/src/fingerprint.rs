//! What the outcome of a run depends on, as the beginning of its key in a store.

use std::collections::BTreeMap;
use std::fs;

use headway_emulation::Where;
use headway_results::{Job, Kernel, Key, KeyBuilder};
use headway_scenario::CellText;
use headway_scenario::schema::{SizeKind, TrafficRecord};

use crate::error::Error;
use crate::experiment::Experiment;
use crate::files::Files;
use crate::not_stored::NotStored;
use crate::source::Source;

/// The epoch of results: raised by one whenever a run of some scenario gives other flows, samples or counters than before,
/// so that runs kept in stores are not taken for those of this version. `CONTRIBUTING.md` has the rule, and
/// `tests/epoch.rs` fails if it is forgotten.
pub const RESULTS_EPOCH: u32 = 1;

/// The beginning of the keys of a cell's runs.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    builder: KeyBuilder,
    /// The steps of the film of repeat 0, if it has one: other points of the sweep decide about that.
    film: Option<u32>,
}

impl Fingerprint {
    /// The key of the run with this seed and repeat.
    pub fn key(&self, seed: u64, repeat: u32) -> Key {
        let builder = self.builder.clone().with("seed", &seed.to_le_bytes());
        let builder = match self.film {
            Some(steps) if repeat == 0 => builder.with("film", &steps.to_le_bytes()),
            _ => builder,
        };
        builder.with("repeat", &repeat.to_le_bytes()).finish()
    }
}

impl Experiment {
    /// The fingerprints of all cells. `kernel` is that of kernel hosts, `files` what the scenario names.
    ///
    /// # Errors
    /// If a file that was there when the scenario was checked cannot be read any more.
    pub(crate) fn fingerprints(
        &self,
        source: &Source,
        files: &Files,
        kernel: Option<&Kernel>,
    ) -> Result<Vec<Result<Fingerprint, NotStored>>, Error> {
        let mut tables = Tables { source, read: BTreeMap::new() };
        let policies = self.scenario.policy.len();
        let mut all = Vec::with_capacity(self.plans.len());
        for (index, point) in self.document.points().iter().enumerate() {
            let record = self.document.scenario(point)?;
            let text = CellText::new(&record);
            let base = KeyBuilder::new().with("epoch", &RESULTS_EPOCH.to_le_bytes());
            let base = tables.add(base, &record.traffic)?;
            for policy in 0..policies {
                let plan = &self.plans[index * policies + policy];
                let builder = base.clone().with("scenario", text.of(policy).as_bytes());
                let film = plan.film_steps();
                let fingerprint = |builder| Fingerprint { builder, film };
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

/// Contents of tables of sizes, each read once.
struct Tables<'a> {
    source: &'a Source,
    read: BTreeMap<String, Vec<u8>>,
}

impl Tables<'_> {
    /// Adds what the files of `traffic` hold.
    fn add(&mut self, mut builder: KeyBuilder, traffic: &[TrafficRecord]) -> Result<KeyBuilder, Error> {
        for size in traffic.iter().flat_map(TrafficRecord::sizes) {
            let SizeKind::Cdf(cdf) = size else { continue };
            let Some(name) = &cdf.file else { continue };
            if !self.read.contains_key(name) {
                let path = self.source.folder.join(name);
                let bytes = fs::read(&path).map_err(|source| Error::Read { path, source })?;
                self.read.insert(name.clone(), bytes);
            }
            builder = builder.with("file", name.as_bytes()).with("content", &self.read[name]);
        }
        Ok(builder)
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
}
