//! The columns that all tables start with: which run a row is of.

use std::collections::BTreeMap;

use super::columns::{Kind, Table, Wanted};
use crate::error::Error;
use crate::manifest::Manifest;
use crate::record::{Cell, Job};
use crate::table::numbers;

/// Finds the run of a row by its policy, its point of the sweep and its repeat.
pub(super) struct Jobs {
    cells: BTreeMap<Vec<u8>, u32>,
    /// Of each swept name, whether its column holds numbers.
    numbers: Vec<bool>,
    repeats: u32,
    key: Vec<u8>,
    /// The cell of the row before, with its key.
    last: Option<(Vec<u8>, u32)>,
}

impl Jobs {
    /// Of the runs of `manifest`.
    ///
    /// # Errors
    /// The reason, if two cells have the same columns.
    pub(super) fn new(manifest: &Manifest) -> Result<Jobs, String> {
        let names = manifest.sweep_names().len();
        let numbers: Vec<bool> = (0..names).map(|place| numbers(&manifest.cells, place).is_some()).collect();
        let mut cells = BTreeMap::new();
        for cell in &manifest.cells {
            if let Some(other) = cells.insert(key(cell, &numbers), cell.index) {
                return Err(format!("its cells {other} and {} have the same policy and point", cell.index));
            }
        }
        Ok(Jobs { cells, numbers, repeats: manifest.repeats, key: Vec::new(), last: None })
    }

    /// The columns to ask for.
    pub(super) fn wanted(&self, manifest: &Manifest) -> Vec<Wanted> {
        let kind = |is_number: bool| if is_number { Kind::F64 } else { Kind::Text };
        let sweep = manifest.sweep_names().into_iter().zip(&self.numbers);
        let sweep = sweep.map(|(name, is_number)| Wanted::new(format!("sweep_{name}"), kind(*is_number)));
        let mut wanted = vec![Wanted::new("policy", Kind::Text)];
        wanted.extend(sweep);
        wanted.push(Wanted::new("repeat", Kind::U32));
        wanted
    }

    /// Takes the columns of the current row.
    pub(super) fn take(&mut self, table: &mut Table) -> Result<Job, Error> {
        self.key.clear();
        push_text(&mut self.key, &table.text()?);
        for is_number in &self.numbers {
            if *is_number {
                self.key.extend(table.f64()?.to_bits().to_le_bytes());
            } else {
                push_text(&mut self.key, &table.text()?);
            }
        }
        let repeat = table.u32()?;
        if repeat >= self.repeats {
            return Err(table.wrong(&format!("`repeat` is {repeat}, of {} repeats", self.repeats)));
        }
        if let Some((_, cell)) = self.last.as_ref().filter(|(key, _)| *key == self.key) {
            return Ok(Job { cell: *cell, repeat });
        }
        let Some(cell) = self.cells.get(&self.key).copied() else {
            return Err(table.wrong("manifest.json has no cell with its policy and point"));
        };
        self.last = Some((self.key.clone(), cell));
        Ok(Job { cell, repeat })
    }
}

/// The cell's columns in bytes, the same for the same.
fn key(cell: &Cell, numbers: &[bool]) -> Vec<u8> {
    let mut key = Vec::new();
    push_text(&mut key, &cell.policy);
    for ((_, value), is_number) in cell.sweep.iter().zip(numbers) {
        match value.number.filter(|_| *is_number) {
            Some(number) => key.extend(number.to_bits().to_le_bytes()),
            None => push_text(&mut key, &value.text),
        }
    }
    key
}

fn push_text(key: &mut Vec<u8>, text: &str) {
    key.extend((text.len() as u64).to_le_bytes());
    key.extend(text.as_bytes());
}
