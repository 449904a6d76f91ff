//! The points at which model and kernel are compared: every sweep point of every file of the folder `fidelity`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use headway_experiment::{Experiment, Source, controls};
use headway_results::Manifest;
use headway_scenario::schema::{HostKind, Protocol};
use headway_scenario::{Document, Overrides, Scalar, ScenarioRecord};

use crate::bundled;
use crate::failure::Failure;

/// The points of `--quick`, and those whose windows are drawn: cheap, and at least one of each family.
pub const QUICK: [&str; 9] = [
    "bulk-100m-20ms:control=new-reno,buffer=250KB",
    "bulk-100m-20ms:control=cubic,buffer=250KB",
    "bulk-1g-200us:control=new-reno,buffer=50KB",
    "loss:control=new-reno,buffer=125KB,loss=0.01",
    "short-alone:size=100KB,control=new-reno,buffer=125KB",
    "behind-bulk:control=new-reno,buffer=125KB",
    "sharing:control=new-reno,flows=4,buffer=250KB",
    "incast:senders=8,size=32KB,buffer=64KB,control=new-reno",
    "mptcp:control=new-reno,buffer=180KB",
];

/// Lines that end so are settings of the model. What they change of what kernels are told counts all the same
/// ([`Experiment::kernel_setup`]).
const MODEL_ONLY: &str = "# model only";

/// A scenario of the folder.
#[derive(Debug)]
pub struct File {
    /// Without `.toml`.
    pub name: String,
    text: String,
    folder: PathBuf,
}

/// One of the two sides of a file.
#[derive(Debug)]
pub struct Side {
    /// The scenario with the hosts of this side.
    pub experiment: Experiment,
    /// Cells by their sweep point.
    pub cells: BTreeMap<String, u32>,
}

/// A point of comparison.
#[derive(Debug, Clone)]
pub struct Point {
    /// `FILE:NAME=VALUE,…`.
    pub name: String,
    /// The file's place among the files.
    pub file: usize,
    /// The sweep point as cells call it.
    pub sweep: String,
    /// Of all that decides what kernel hosts do: the file without comments, settings of the model and other sweep
    /// points.
    pub inputs: String,
    /// The congestion controls of its flows, by our names.
    pub controls: Vec<String>,
}

/// The files of `folder` in order of their names, or those that come with the command if there is no such folder.
pub fn files(folder: &Path) -> Result<Vec<File>, Failure> {
    if !folder.is_dir() {
        let own = |file: &bundled::Bundled| File {
            name: file.name.to_owned(),
            text: file.text.to_owned(),
            folder: PathBuf::from("."),
        };
        let mut files: Vec<File> = bundled::FIDELITY.iter().map(own).collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        return Ok(files);
    }
    let cannot = |error| Failure::environment(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = headway_input::read_text(&path, Source::LARGEST).map_err(|error| cannot(error.into()))?;
        files.push(File { name, text, folder: folder.to_path_buf() });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

impl File {
    /// The scenario with kernel or with modelled hosts, changed by `sets`.
    pub fn document(&self, hosts: HostKind, sets: Vec<String>, kernel: Option<&str>) -> Result<Document, Failure> {
        let kernel = kernel.map(str::to_owned);
        let overrides = Overrides { sets, hosts: Some(hosts), kernel, ..Overrides::default() };
        let document = Document::parse_with(&self.text, &format!("{}.toml", self.name), &overrides)?;
        document.check_all()?;
        Ok(document)
    }

    /// The points of file number `file`.
    pub fn points(&self, file: usize) -> Result<Vec<Point>, Failure> {
        let document = self.document(HostKind::Linux, Vec::new(), None)?;
        let experiment = Experiment::new(&document, &self.folder)?;
        let essence = essence(&self.text);
        let mut points = Vec::new();
        for (number, (point, cell)) in document.points().iter().zip(experiment.cells()).enumerate() {
            let sweep = cell.sweep.to_string();
            let inputs = digest(&format!("{essence}{sweep}\n{}", experiment.kernel_setup(number)));
            let name = format!("{}:{}", self.name, sweep.replace(", ", ","));
            points.push(Point { name, file, sweep, inputs, controls: used_controls(&document.scenario(point)?) });
        }
        Ok(points)
    }

    /// The file with kernel hosts, changed by `sets`.
    pub fn kernels(&self, sets: Vec<String>, kernel: Option<&str>) -> Result<Side, Failure> {
        Side::new(&self.document(HostKind::Linux, sets, kernel)?, &self.folder)
    }

    /// The file with modelled hosts and the changes `sets`; nothing if the model knows none of its controls.
    pub fn models(&self, sets: &[String]) -> Result<Option<Side>, Failure> {
        let mut sets = sets.to_vec();
        let whole = self.document(HostKind::Linux, Vec::new(), None)?;
        // Names of the sweep that are controls by convention.
        for name in ["control", "rival"] {
            let Some(values) = whole.sweep().names().get(name) else { continue };
            let all = (0..values.len()).filter_map(|index| values.get(index)).map(|value| match value {
                Scalar::Text(text) => text,
                other => format!("{other:?}"),
            });
            let known: Vec<String> = all.filter(|name| is_known(name)).map(|name| format!("{name:?}")).collect();
            if known.is_empty() {
                return Ok(None);
            }
            if known.len() < values.len() {
                sets.push(format!("sweep.{name}=[{}]", known.join(",")));
            }
        }
        let document = self.document(HostKind::Modelled, sets, None)?;
        Side::new(&document, &self.folder).map(Some)
    }
}

impl Side {
    fn new(document: &Document, folder: &Path) -> Result<Side, Failure> {
        let experiment = Experiment::new(document, folder)?;
        let cells = experiment.cells().iter().map(|cell| (cell.sweep.to_string(), cell.index)).collect();
        Ok(Side { experiment, cells })
    }
}

impl Point {
    /// The controls of its flows that modelled hosts do not have.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.controls.iter().map(String::as_str).filter(|name| !is_known(name))
    }
}

fn is_known(control: &str) -> bool {
    controls().contains(&control)
}

fn used_controls(scenario: &ScenarioRecord) -> Vec<String> {
    let transports = scenario.policy.iter().flat_map(|policy| {
        let own = policy.traffic.iter().map(|(_, transport)| transport);
        own.chain([&policy.transport])
    });
    // one that is left out is the stack's, and known
    let name = |protocol: &Protocol| match protocol {
        Protocol::Tcp(tcp) => tcp.control.clone(),
        Protocol::Mptcp(mptcp) => Some(mptcp.control.clone()),
        Protocol::Roce(_) => None,
    };
    let names: BTreeSet<String> = transports.filter_map(|transport| name(&transport.protocol)).collect();
    names.into_iter().collect()
}

/// What of a scenario's text kernel hosts depend on.
fn essence(text: &str) -> String {
    let mut essence = String::new();
    let mut in_sweep = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_sweep = line == "[sweep]";
        }
        let idle = line.is_empty() || line.starts_with('#') || line.starts_with("about =");
        if !idle && !in_sweep && !line.ends_with(MODEL_ONLY) {
            let _ = writeln!(essence, "{line}");
        }
    }
    essence
}

/// The first 16 hexadecimal digits of the SHA-256 of `text`.
fn digest(text: &str) -> String {
    let mut digest = Manifest::new("", text, 0, 0, "", Vec::new()).scenario_sha256;
    digest.truncate(16);
    digest
}

#[cfg(test)]
mod tests {
    use super::super::store::Kernels;
    use super::*;

    fn ours() -> Vec<File> {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity")).unwrap()
    }

    #[test]
    fn only_what_kernels_depend_on_makes_their_results_old() {
        let text = "name = \"a\"\nduration = \"1s\"\n[sweep]\nx = [1]\n[measure]\ninterval = \"1ms\"\n";
        let same = "# said\nname = \"a\"\nabout = \"b\"\nduration = \"1s\"\nstack = 1 # model only\n[sweep]\nx = [1, 2]\n\n[measure]\ninterval = \"1ms\"\n";
        assert_eq!(essence(text), essence(same));
        assert_ne!(essence(text), essence(&text.replace("1s", "2s")));
        assert_ne!(essence(text), essence(&text.replace("1ms", "2ms")));
    }

    /// `send-buffer` is `tcp_wmem` there, whichever line it stands on.
    #[test]
    fn what_kernels_are_told_makes_their_results_old() {
        let mut file = ours().swap_remove(0);
        let before = file.points(0).unwrap();
        let line = "stack = \"linux\"  # model only";
        assert!(file.text.contains(line));
        file.text = file.text.replace(line, "stack = \"linux\"  # model only\nsend-buffer = \"1MB\"  # model only");
        let after = file.points(0).unwrap();
        assert!(before.iter().zip(&after).all(|(a, b)| a.name == b.name && a.inputs != b.inputs));
    }

    /// Kernels keep what scenarios leave out, so the files say all that the kernels were told when they ran.
    #[test]
    fn the_kernels_results_are_those_of_the_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity");
        let stored = Kernels::load(&folder).unwrap();
        let files = ours();
        let points = files.iter().enumerate().flat_map(|(index, file)| file.points(index).unwrap());
        let old: Vec<String> =
            points.filter(|own| stored.get(&own.name, &own.inputs).is_none()).map(|own| own.name).collect();
        assert!(old.is_empty(), "run the kernels again (headway fidelity): {old:?}");
    }

    #[test]
    fn all_files_are_right_and_all_quick_points_are_among_theirs() {
        let files = ours();
        let points: Vec<Point> =
            files.iter().enumerate().flat_map(|(index, file)| file.points(index).unwrap()).collect();
        assert!(points.len() >= 48, "{} points", points.len());
        for quick in QUICK {
            assert!(points.iter().any(|point| point.name == quick), "{quick}");
        }
    }

    #[test]
    fn the_bundled_files_are_those_of_the_folder() {
        let bundled = files(Path::new("/nowhere")).unwrap();
        assert_eq!(ours().len(), bundled.len());
        for (ours, bundled) in ours().iter().zip(&bundled) {
            assert_eq!(ours.name, bundled.name);
            assert!(ours.text == bundled.text, "{} differs", ours.name);
        }
    }
}
