//! Smaller sizes of a scenario: a quick run, and what of it a reproduction also runs on kernel hosts.

use headway_units::Span;

use headway_language::{Field, Map, Name, SweepValues, above, record, show_inline};

record! {
    /// What `--quick` changes.
    pub struct QuickRecord {
        /// Repeats of every point; a fifth of them when left out, but at least two if there are as many.
        #[range(1..=100_000)]
        pub repeats: Option<u32>,
        /// New flows start before this time.
        #[range(above(Span::ZERO))]
        pub duration: Option<Span>,
        /// For so long after `duration` running flows go on while none start.
        pub drain: Option<Span>,
        /// Names of the sweep with the values they take instead.
        pub sweep: Map<SweepValues> = Map::new(),
        /// Any other changes, as behind `--set`: "topology.k=4".
        pub set: Vec<String> = Vec::new(),
    }
}

record! {
    /// What `headway reproduce` also runs on kernel hosts, to stand beside the model.
    pub struct KernelHostsRecord {
        /// The policies.
        pub policies: Vec<Name>,
        /// Repeats of every point; as for models when left out.
        #[range(1..=100_000)]
        pub repeats: Option<u32>,
        /// Names of the sweep with the values they take instead.
        pub sweep: Map<SweepValues> = Map::new(),
        /// Any other changes, as behind `--set`: what kernel hosts cannot record, say.
        pub set: Vec<String> = Vec::new(),
        /// What is smaller in a quick reproduction.
        pub quick: KernelQuickRecord = KernelQuickRecord { repeats: None, sweep: Map::new() },
    }
}

record! {
    /// What is smaller on kernel hosts in a quick reproduction.
    pub struct KernelQuickRecord {
        /// Repeats of every point.
        #[range(1..=100_000)]
        pub repeats: Option<u32>,
        /// Names of the sweep with the values they take instead.
        pub sweep: Map<SweepValues> = Map::new(),
    }
}

/// A change of the scenario, as behind `--set`, and the key that asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub set: String,
    pub at: Vec<String>,
}

impl Change {
    fn new(set: String, at: &[&str]) -> Change {
        Change { set, at: at.iter().map(|&key| key.to_owned()).collect() }
    }
}

/// `sweep.NAME=values` for each name; the names stand in the table `at`.
fn sweep_changes(sweep: &Map<SweepValues>, at: &[&str]) -> Vec<Change> {
    let change = |(name, values): (&str, &SweepValues)| {
        let set = format!("sweep.{name}={}", show_inline(&values.show()?));
        Some(Change::new(set, &[at, &["sweep", name]].concat()))
    };
    sweep.iter().filter_map(change).collect()
}

/// What is written as behind `--set`, in the table `at`.
fn set_changes(sets: &[String], at: &str) -> Vec<Change> {
    let numbered = sets.iter().enumerate();
    numbered.map(|(index, set)| Change::new(set.clone(), &[at, "set", &index.to_string()])).collect()
}

impl QuickRecord {
    /// The repeats of a quick run that does not say, of a scenario with `repeats`.
    pub fn fewer(repeats: u32) -> u32 {
        repeats.div_ceil(5).max(repeats.min(2))
    }

    /// What a quick run changes in a scenario with `repeats`; without a table fewer repeats alone.
    pub(crate) fn changes(record: Option<&QuickRecord>, repeats: u32) -> Vec<Change> {
        let fewer = record.and_then(|record| record.repeats).unwrap_or_else(|| QuickRecord::fewer(repeats));
        let mut changes = vec![Change::new(format!("repeats={fewer}"), &["quick", "repeats"])];
        if let Some(record) = record {
            let spans = [("duration", record.duration), ("drain", record.drain)];
            let span =
                |(key, span): (&str, Option<Span>)| Some(Change::new(format!("{key}={}", span?), &["quick", key]));
            changes.extend(spans.into_iter().filter_map(span));
            changes.extend(sweep_changes(&record.sweep, &["quick"]));
            changes.extend(set_changes(&record.set, "quick"));
        }
        changes
    }
}

impl KernelHostsRecord {
    /// The sizes on kernel hosts, as behind `--set`; in a quick reproduction they come after those of the quick run.
    pub fn sets(&self, quick: bool) -> Vec<String> {
        self.changes(quick).into_iter().map(|change| change.set).collect()
    }

    /// As [`KernelHostsRecord::sets`], with the keys that ask for them.
    pub(crate) fn changes(&self, quick: bool) -> Vec<Change> {
        let (table, repeats, sweep): (&[&str], _, _) = if quick {
            (&["kernel-hosts", "quick"], self.quick.repeats, &self.quick.sweep)
        } else {
            (&["kernel-hosts"], self.repeats, &self.sweep)
        };
        let repeats = repeats.map(|repeats| Change::new(format!("repeats={repeats}"), &[table, &["repeats"]].concat()));
        let sweep = sweep_changes(sweep, table);
        repeats.into_iter().chain(sweep).chain(set_changes(&self.set, "kernel-hosts")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_a_fifth_of_the_repeats_but_two_if_there_are_two() {
        let cases = [(1, 1), (2, 2), (3, 2), (10, 2), (11, 3), (50, 10), (100_000, 20_000)];
        for (repeats, fewer) in cases {
            assert_eq!(QuickRecord::fewer(repeats), fewer);
        }
    }
}
