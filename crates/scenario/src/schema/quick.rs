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

/// `sweep.NAME=values` for each name.
fn sweep_sets(sweep: &Map<SweepValues>) -> impl Iterator<Item = String> {
    sweep.iter().filter_map(|(name, values)| Some(format!("sweep.{name}={}", show_inline(&values.show()?))))
}

impl QuickRecord {
    /// The repeats of a quick run that does not say, of a scenario with `repeats`.
    pub fn fewer(repeats: u32) -> u32 {
        repeats.div_ceil(5).max(repeats.min(2))
    }

    /// What a quick run changes in a scenario with `repeats`, as behind `--set`; without a table fewer repeats alone.
    pub(crate) fn sets(record: Option<&QuickRecord>, repeats: u32) -> Vec<String> {
        let fewer = record.and_then(|record| record.repeats).unwrap_or_else(|| QuickRecord::fewer(repeats));
        let mut sets = vec![format!("repeats={fewer}")];
        if let Some(record) = record {
            sets.extend(record.duration.map(|span| format!("duration={span}")));
            sets.extend(record.drain.map(|span| format!("drain={span}")));
            sets.extend(sweep_sets(&record.sweep));
            sets.extend(record.set.iter().cloned());
        }
        sets
    }
}

impl KernelHostsRecord {
    /// The sizes on kernel hosts, as behind `--set`; in a quick reproduction they come after those of the quick run.
    pub fn sets(&self, quick: bool) -> Vec<String> {
        let (repeats, sweep) =
            if quick { (self.quick.repeats, &self.quick.sweep) } else { (self.repeats, &self.sweep) };
        let repeats = repeats.map(|repeats| format!("repeats={repeats}"));
        repeats.into_iter().chain(sweep_sets(sweep)).chain(self.set.iter().cloned()).collect()
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
