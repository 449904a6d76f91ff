//! Scenarios: text and changes, read and checked by the crates.

use std::path::PathBuf;

use headway_experiment::{Experiment, Scenario};
use headway_scenario::schema::{HostKind, TrafficRecord};
use headway_scenario::{Document, Overrides, json_schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::Failure;
use crate::own::Policies;

/// The text of a scenario with changes to it.
#[pyclass(frozen, module = "headway._native")]
#[derive(Debug, Clone)]
pub struct Source {
    pub(crate) source: headway_experiment::Source,
    pub(crate) overrides: Overrides,
}

#[pymethods]
impl Source {
    #[new]
    #[pyo3(signature = (text, name, folder, sets, policies, hosts, kernel, quick))]
    #[expect(clippy::too_many_arguments, reason = "one for each kind of change, given by the package alone")]
    fn new(
        text: String,
        name: String,
        folder: PathBuf,
        sets: Vec<String>,
        policies: Vec<String>,
        hosts: Option<&str>,
        kernel: Option<String>,
        quick: bool,
    ) -> PyResult<Source> {
        let hosts = hosts.map(host_kind).transpose()?;
        let overrides = Overrides { sets, hosts, policies, kernel, quick };
        Ok(Source { source: headway_experiment::Source { name, text, folder }, overrides })
    }

    /// Reads and checks the text at all sweep points, and gives facts about the scenario as JSON.
    fn facts(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.scenario().map(|scenario| facts(&scenario)))?)
    }

    /// The scenario with every default written out.
    fn show(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.document()?.show().map_err(Failure::from))?)
    }

    /// As a run of it is kept: the text itself if nothing changes it, otherwise with every default written out.
    fn kept(&self, py: Python<'_>) -> PyResult<String> {
        let kept = || {
            let document = self.document()?;
            if self.overrides.is_empty() { Ok(self.source.text.clone()) } else { document.show() }
        };
        Ok(py.detach(|| kept().map_err(Failure::from))?)
    }

    /// Checks all that can be checked without running: plans at every point, files that are named. Gives policies,
    /// points, repeats.
    #[pyo3(signature = (seed, repeats, own=None))]
    fn check(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        repeats: Option<u32>,
        own: Option<Bound<'_, Policies>>,
    ) -> PyResult<(usize, usize, u32)> {
        let own = own.map_or_else(Default::default, |own| own.get().registry.clone());
        let check = || {
            let scenario = self.source.scenario(self.overrides.clone())?;
            let seed = seed.unwrap_or(scenario.record.seed);
            let repeats = repeats.unwrap_or(scenario.record.repeats);
            let (document, _) = scenario.with(seed, repeats)?;
            let experiment = Experiment::with_own(&document, &self.source.folder, &own)?;
            scenario.check_files()?;
            let extent = experiment.extent(repeats);
            Ok((extent.policies, extent.points, extent.repeats))
        };
        Ok(py.detach(|| check().map_err(|problems: headway_language::Problems| Failure::from(problems)))?)
    }
}

impl Source {
    /// Read, at every sweep point.
    fn scenario(&self) -> Result<Scenario<'_>, Failure> {
        Ok(self.source.scenario(self.overrides.clone())?)
    }

    pub(crate) fn document(&self) -> Result<Document, headway_language::Problems> {
        let document = self.source.parse(&self.overrides)?;
        document.check_all()?;
        Ok(document)
    }
}

fn host_kind(word: &str) -> PyResult<HostKind> {
    let kinds = [HostKind::Modelled, HostKind::Linux, HostKind::Namespaces];
    let names = kinds.map(HostKind::as_str);
    kinds
        .into_iter()
        .find(|kind| kind.as_str() == word)
        .ok_or_else(|| PyValueError::new_err(format!("hosts must be one of {}, not {word:?}", names.join(", "))))
}

fn facts(scenario: &Scenario<'_>) -> String {
    let (record, document) = (&scenario.record, scenario.document());
    let sweep: Vec<_> = document
        .sweep()
        .names()
        .iter()
        .map(|(name, values)| json!([name, values.iter().map(|value| scalar(&value)).collect::<Vec<_>>()]))
        .collect();
    json!({
        "name": record.name.as_str(),
        "about": record.about,
        "source": record.source,
        "duration": record.duration.to_string(),
        "drain": record.drain.to_string(),
        "repeats": record.repeats,
        "seed": record.seed,
        "policies": record.policy.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>(),
        "traffics": record.traffic.iter().flat_map(TrafficRecord::reported).collect::<Vec<_>>(),
        "hosts": record.hosts.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>(),
        "sweep": sweep,
        "points": document.sweep().len(),
        "claims": record.claim.len(),
        "left_out_claims": document.left_out_claims(),
    })
    .to_string()
}

fn scalar(value: &headway_language::Scalar) -> serde_json::Value {
    use headway_language::Scalar;
    match value {
        Scalar::Integer(number) => json!(number),
        Scalar::Float(number) => json!(number),
        Scalar::Bool(flag) => json!(flag),
        Scalar::Text(text) => json!(text),
    }
}

/// Name and text of every scenario that comes with Headway.
#[pyfunction]
pub fn bundled() -> Vec<(&'static str, &'static str)> {
    headway_experiment::BUNDLED.iter().map(|bundled| (bundled.name, bundled.text)).collect()
}

/// The JSON schema of scenario files.
#[pyfunction]
pub fn schema() -> String {
    json_schema().to_string()
}

/// The version.
#[pyfunction]
pub fn version() -> &'static str {
    headway_experiment::VERSION
}
