//! Other sizes of a scenario that its file asks for: those of a quick run, and those on kernel hosts.

use headway_language::{At, Node, Problem, Problems, Value};

use super::{Document, Overrides};
use crate::schema::{Change, HostKind, KernelHostsRecord, QuickRecord};

/// A scenario in another size that its file asks for.
#[derive(Debug)]
pub struct Variant {
    /// The table that asks for it: `[quick]`.
    table: &'static str,
    /// The scenario in this size.
    pub document: Document,
}

impl Variant {
    /// `problems` of this size, each with the table that asks for it.
    pub fn name(&self, problems: Problems) -> Problems {
        named(self.table, problems)
    }
}

fn named(table: &str, problems: Problems) -> Problems {
    let each = |mut problem: Problem| {
        problem.point = Some(match problem.point {
            Some(point) => format!("{point} of {table}"),
            None => format!("the values of {table}"),
        });
        problem
    };
    problems.into_iter().map(each).collect()
}

impl Document {
    /// The other sizes that its file asks for: whatever is wrong with one is a mistake of the file, though this run may
    /// not come to it.
    ///
    /// # Errors
    /// What is wrong with the changes themselves, or with the scenario.
    pub fn variants(&self) -> Result<Vec<Variant>, Problems> {
        let record = self.scenario(&self.sweep.point(0))?;
        let mut variants = Vec::new();
        let mut add = |table, changes: &[Change], overrides: &Overrides| {
            let file = &self.sources.0[0];
            let document = Document::read(&file.text, &file.name, changes, overrides)
                .map_err(|problems| named(table, problems))?;
            variants.push(Variant { table, document });
            Ok::<(), Problems>(())
        };
        // A quick run has no sizes for others.
        if self.overrides.quick {
            return Ok(variants);
        }
        if let Some(quick) = &record.quick {
            add("[quick]", &QuickRecord::changes(Some(quick), record.repeats), &self.overrides)?;
        }
        if let Some(kernels) = &record.kernel_hosts {
            let overrides = on_kernels(&self.overrides, kernels);
            add("[kernel-hosts]", &kernels.changes(false), &overrides)?;
            let mut changes = QuickRecord::changes(record.quick.as_ref(), record.repeats);
            changes.extend(kernels.changes(true));
            add("[kernel-hosts.quick]", &changes, &overrides)?;
        }
        Ok(variants)
    }
}

/// The overrides of the part of a reproduction that runs on kernel hosts.
fn on_kernels(overrides: &Overrides, kernels: &KernelHostsRecord) -> Overrides {
    let policies = kernels.policies.iter().map(ToString::to_string).collect();
    Overrides { hosts: Some(HostKind::Linux), policies, ..overrides.clone() }
}

/// The place of `at` in the file, if it is in the text of change number `at.source`, whose key is at `places`.
pub(super) fn relocated(at: At, places: &[At]) -> At {
    at.source.checked_sub(1).and_then(|change| places.get(change)).copied().unwrap_or(at)
}

/// Moves what changes of the file's own have written to where the file asks for it.
pub(super) fn relocate(node: &mut Node, places: &[At]) {
    if places.is_empty() {
        return;
    }
    node.at = relocated(node.at, places);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| relocate(item, places)),
        Value::Table(table) => {
            for entry in &mut table.entries {
                entry.key_at = relocated(entry.key_at, places);
                relocate(&mut entry.node, places);
            }
        }
        _ => {}
    }
}
