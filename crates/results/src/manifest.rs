//! `manifest.json`: what was run, with what, on what, and how it went.

use std::fmt::Write as _;
use std::path::Path;

use headway_units::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::record::{Cell, Counters, Job, Outcome};
use crate::shard::Shard;
use crate::waits::LongestWait;

/// The layout of the folder and its files; raised when a reader of the old one would go wrong.
pub const FORMAT: u32 = 1;

/// The contents of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The layout of the folder, [`FORMAT`].
    pub format: u32,
    /// Whether all runs are in the files; set by [`crate::Folder`].
    pub complete: bool,
    /// The scenario's name.
    pub scenario: String,
    /// SHA-256 of the scenario's text, in hexadecimal; the text itself is in `scenario.toml`.
    pub scenario_sha256: String,
    /// The seed of all runs.
    pub seed: u64,
    /// Repeats of every cell.
    pub repeats: u32,
    /// Whether it was run in the scenario's quick size.
    #[serde(default)]
    pub quick: bool,
    /// Version of the program.
    pub version: String,
    /// The epoch of results of the program: between two of them some run has other outcomes. 0 if the caller does not say.
    #[serde(default)]
    pub results_epoch: u32,
    /// Policies times points of the sweep; a cell's index is its place here.
    pub cells: Vec<Cell>,
    /// The command line's arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// The part of the runs that the folder is for, if it is not for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Where it ran.
    pub machine: Machine,
    /// The kernel of kernel hosts, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
    /// When it began, as text in RFC 3339; empty if the caller does not say.
    #[serde(default)]
    pub started: String,
    /// When it was finished, as text in RFC 3339.
    #[serde(default)]
    pub finished: Option<String>,
    /// How long it took on the wall's clock, in seconds.
    #[serde(default)]
    pub wall_s: f64,
    /// What the reader should look at before trusting the results.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Each run's totals in the order of the files; filled by [`crate::Folder::finish`].
    #[serde(default)]
    pub runs: Vec<RunTotals>,
    /// By cell the queue where frames waited most; of cells in which none waited, and in namespaces, nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<LongestWait>,
    /// Whether it was measured how long packets waited, and `flows.parquet` has the columns of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packet_waits: bool,
    /// The verdicts on the scenario's claims, in the caller's shape.
    #[serde(default)]
    pub claims: serde_json::Value,
    /// Texts of the claims that nothing was run for, since options left out their policies or points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_evaluated: Vec<String>,
}

/// A kernel with its first files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The image's name.
    pub name: String,
    /// The kernel's version.
    pub version: String,
    /// SHA-256 of the kernel.
    pub linux_sha256: String,
    /// SHA-256 of the first files.
    pub initramfs_sha256: String,
    /// SHA-256 over its programs.
    pub system_sha256: String,
    /// The changes of its source, such as `patched with a.patch`; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub changes: String,
}

impl Kernel {
    /// What runs depend on, in one line.
    pub fn identity(&self) -> String {
        format!("{} ({}, {}, {})", self.version, self.linux_sha256, self.initramfs_sha256, self.system_sha256)
    }
}

/// The machine, as far as it can matter to the wall time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system, such as `linux`.
    pub os: String,
    /// The processor's architecture, such as `x86_64`.
    pub arch: String,
    /// Processors this process may use; 0 if unknown.
    pub cpus: usize,
}

impl Machine {
    /// The machine this runs on.
    pub fn here() -> Machine {
        Machine {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            cpus: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        }
    }
}

/// The totals of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunTotals {
    /// Which run.
    #[serde(flatten)]
    pub job: Job,
    /// How many flows it had.
    pub flows: u64,
    /// When it ended, in virtual picoseconds.
    pub end_ps: u64,
    /// The digest of its events, 16 hexadecimal digits (a number would lose digits in some readers).
    pub digest: String,
    /// Its counters.
    #[serde(flatten)]
    pub counters: Counters,
}

impl From<&Outcome> for RunTotals {
    fn from(outcome: &Outcome) -> RunTotals {
        RunTotals {
            job: outcome.job,
            flows: outcome.flows.len() as u64,
            end_ps: outcome.end.picos(),
            digest: format!("{:016x}", outcome.digest),
            counters: outcome.counters,
        }
    }
}

impl RunTotals {
    /// When the run ended.
    pub fn end(&self) -> Time {
        Time::from_picos(self.end_ps)
    }
}

impl Manifest {
    /// No manifest has more bytes: one of the most cells, with long names, has a tenth of it.
    pub const LARGEST: u64 = 1 << 30;

    /// The manifest of a run that is about to start: everything that identifies it, on this machine.
    /// Epoch, whether it is quick, command, times, warnings and claims are the caller's to set.
    ///
    /// # Panics
    /// If the cells are not numbered from 0 or do not have the same parameters in the same order.
    pub fn new(
        scenario: impl Into<String>,
        scenario_text: &str,
        seed: u64,
        repeats: u32,
        version: impl Into<String>,
        cells: Vec<Cell>,
    ) -> Manifest {
        let manifest = Manifest {
            format: FORMAT,
            complete: false,
            scenario: scenario.into(),
            scenario_sha256: sha256(scenario_text),
            seed,
            repeats,
            quick: false,
            version: version.into(),
            results_epoch: 0,
            cells,
            command: Vec::new(),
            shard: None,
            machine: Machine::here(),
            kernel: None,
            started: String::new(),
            finished: None,
            wall_s: 0.0,
            warnings: Vec::new(),
            waits: Vec::new(),
            packet_waits: false,
            runs: Vec::new(),
            claims: serde_json::Value::Null,
            not_evaluated: Vec::new(),
        };
        if let Err(reason) = manifest.check_cells() {
            panic!("{reason}");
        }
        manifest
    }

    /// All runs there are, in the order of the files.
    pub fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        let repeats = self.repeats;
        (0..self.cells.len() as u32).flat_map(move |cell| (0..repeats).map(move |repeat| Job { cell, repeat }))
    }

    /// The runs that the folder is for, in the order of the files: all, or those of its shard.
    pub fn own_jobs(&self) -> impl Iterator<Item = Job> + '_ {
        let own = |&(place, _): &(usize, Job)| self.shard.is_none_or(|shard| shard.has(place));
        self.jobs().enumerate().filter(own).map(|(_, job)| job)
    }

    /// The names of the swept parameters, the same for all cells.
    pub fn sweep_names(&self) -> Vec<&str> {
        self.cells.first().map(|cell| cell.sweep.names().collect()).unwrap_or_default()
    }

    pub(crate) fn has(&self, job: Job) -> bool {
        (job.cell as usize) < self.cells.len() && job.repeat < self.repeats
    }

    fn check_cells(&self) -> Result<(), String> {
        let names = self.sweep_names();
        for (place, cell) in self.cells.iter().enumerate() {
            if cell.index as usize != place {
                return Err(format!("cell {place} has the index {}", cell.index));
            }
            if !cell.sweep.names().eq(names.iter().copied()) {
                return Err(format!("cell {place} has other sweep parameters than cell 0"));
            }
        }
        Ok(())
    }

    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, is damaged or of another layout.
    pub fn read(path: &Path) -> Result<Manifest, Error> {
        let bytes = headway_input::read(path, Manifest::LARGEST).map_err(Error::unread(path))?;
        let json: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| Error::damaged(path, error.to_string()))?;
        // The number first, so that a later layout is not reported as damage.
        let Some(format) = json.get("format").and_then(serde_json::Value::as_u64) else {
            return Err(Error::damaged(path, "it has no number `format`"));
        };
        if format != u64::from(FORMAT) {
            return Err(Error::Format { path: path.to_path_buf(), found: format, known: FORMAT });
        }
        let manifest: Manifest =
            serde_json::from_value(json).map_err(|error| Error::damaged(path, error.to_string()))?;
        manifest.check_cells().map_err(|reason| Error::damaged(path, reason))?;
        Ok(manifest)
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("no map with keys other than text");
        text.push('\n');
        text
    }
}

/// SHA-256 of `text` in hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SweepPoint;

    fn cell(index: u32, sweep: SweepPoint) -> Cell {
        Cell { index, policy: "p".into(), sweep }
    }

    #[test]
    fn the_hash_is_sha_256() {
        // FIPS 180-4, example "abc".
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn jobs_are_ordered_by_cell_then_repeat() {
        let cells = vec![cell(0, SweepPoint::new()), cell(1, SweepPoint::new())];
        let manifest = Manifest::new("s", "", 1, 2, "0", cells);
        let jobs: Vec<(u32, u32)> = manifest.jobs().map(|job| (job.cell, job.repeat)).collect();
        assert_eq!(jobs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert!(manifest.jobs().all(|job| manifest.has(job)));
        assert!(!manifest.has(Job { cell: 2, repeat: 0 }) && !manifest.has(Job { cell: 0, repeat: 2 }));
    }

    #[test]
    #[should_panic(expected = "other sweep parameters")]
    fn cells_must_have_the_same_parameters() {
        let cells = vec![cell(0, SweepPoint::new().with("n", 1)), cell(1, SweepPoint::new().with("m", 1))];
        let _ = Manifest::new("s", "", 1, 2, "0", cells);
    }

    #[test]
    fn text_reads_back() {
        let mut manifest = Manifest::new("s", "x", u64::MAX, 2, "0", vec![cell(0, SweepPoint::new().with("n", 0.1))]);
        let job = Job { cell: 0, repeat: 1 };
        let counters = Counters { events: 7, ..Counters::default() };
        manifest.runs = vec![RunTotals { job, flows: 1, end_ps: u64::MAX, digest: "0".into(), counters }];
        manifest.claims = serde_json::json!([{ "text": "b before a", "b": 1, "a": [true, null] }]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("manifest.json");
        std::fs::write(&path, manifest.to_text()).unwrap();
        assert_eq!(Manifest::read(&path).unwrap(), manifest);
    }
}
