//! The scenario as one run sees it.
//!
//! Left out: whether the run is filmed, which depends on its place among the points of a sweep.

use headway_language::{Field, Shown, show_document};

use crate::schema::ScenarioRecord;

/// Keys that no run depends on: names and sentences, other runs, and those whose values are known by their content
/// (the kernel and its files). Of the policies one is left, and a seed is known beside the text.
const OTHERS: &[&str] = &[
    "name",
    "about",
    "source",
    "repeats",
    "seed",
    "kernel",
    "files",
    "policy",
    "sweep",
    "claim",
    "quick",
    "kernel-hosts",
];

/// A scenario at one sweep point, of which single policies can be shown: what an outcome depends on, as far as it stands in
/// the file.
#[derive(Debug)]
pub struct CellText {
    shared: Vec<(String, Shown)>,
    policies: Vec<Shown>,
}

impl CellText {
    /// Of `record`, in which the values of the sweep are written.
    pub fn new(record: &ScenarioRecord) -> CellText {
        let shown = |shown: Option<Shown>| match shown {
            Some(Shown::Table(entries)) => entries,
            _ => unreachable!("a record is a table"),
        };
        let mut shared = shown(record.show());
        shared.retain(|(key, _)| !OTHERS.contains(&key.as_str()));
        // Which points are filmed depends on their place among all; whether this one is, its user adds.
        if let Some((_, Shown::Table(measure))) = shared.iter_mut().find(|(key, _)| key == "measure") {
            measure.retain(|(key, _)| key != "film");
        }
        // It is a scenario of its own, which a test runs.
        let own = ["name", "about"].map(|key| (key.to_owned(), Shown::Text("cell".to_owned())));
        shared.splice(0..0, own);
        let policies = record.policy.iter().filter_map(Field::show).collect();
        CellText { shared, policies }
    }

    /// The text of the scenario under policy number `policy` alone, with every default: the same for every cell that runs
    /// the same, whatever else the scenarios compare.
    ///
    /// # Panics
    /// If there is no such policy.
    pub fn of(&self, policy: usize) -> String {
        let mut entries = self.shared.clone();
        entries.push(("policy".to_owned(), Shown::List(vec![self.policies[policy].clone()])));
        show_document(&entries)
    }
}
