//! Paths of a list's flows: a row for each flow, or, in the table that results of Headway have, one for each subflow.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::error::{Fault, Place, listed, shorten};
use super::{ListedPath, MAX_LISTED};

/// The columns that paths are in.
pub(super) const COLUMNS: [&str; 6] = ["path", "path_back", "connection", "subflow", "flow", "traffic"];

/// No path is longer, in bytes: some thousand nodes.
const LONGEST: usize = 1 << 16;

/// Paths that are gathered row by row.
#[derive(Debug)]
pub(super) struct PathRows {
    /// Places of the columns.
    forth: Option<usize>,
    back: Option<usize>,
    connection: Option<usize>,
    subflow: Option<usize>,
    /// Rows that are equal in these are of one flow; empty if each row is a flow.
    same: Vec<usize>,
    /// The flow of the row before.
    before: Vec<String>,
    /// The subflows of this flow that have a path.
    seen: BTreeSet<(u8, u8)>,
    /// Each text once.
    texts: BTreeSet<Arc<str>>,
    flows: Vec<Vec<ListedPath>>,
    count: usize,
}

impl PathRows {
    /// Of rows under `header`, if it has paths.
    pub fn new(header: &[&str]) -> Result<Option<PathRows>, Fault> {
        let column = |name: &str| header.iter().position(|own| *own == name);
        let [forth, back, connection, subflow, flow, traffic] = COLUMNS.map(column);
        if forth.is_none() && back.is_none() {
            return Ok(None);
        }
        let several = connection.is_some() || subflow.is_some();
        let same = match flow {
            Some(flow) if several => traffic.into_iter().chain([flow]).collect(),
            None if several => {
                let found = listed(header);
                return Err(Fault::Missing { of: "the flow of a subflow", names: "`flow`", found });
            }
            _ => Vec::new(),
        };
        let (before, seen, texts, flows) = (Vec::new(), BTreeSet::new(), BTreeSet::new(), Vec::new());
        Ok(Some(PathRows { forth, back, connection, subflow, same, before, seen, texts, flows, count: 0 }))
    }

    /// Whether a row is of the flow of the row before.
    pub fn goes_on(&self, cells: &[&str]) -> bool {
        !self.before.is_empty() && self.same.iter().zip(&self.before).all(|(&at, before)| cells[at] == before)
    }

    /// Takes the first row of a flow; gives the number of its paths.
    pub fn begin(&mut self, place: Place, cells: &[&str]) -> Result<Option<NonZeroU32>, Fault> {
        self.before = self.same.iter().map(|&at| cells[at].to_owned()).collect();
        self.seen.clear();
        self.flows.push(Vec::new());
        self.add(place, cells)?;
        if self.same.is_empty() && self.flows.last().is_some_and(Vec::is_empty) {
            self.flows.pop();
            return Ok(None);
        }
        Ok(NonZeroU32::new(self.flows.len() as u32))
    }

    /// Takes a further row of the flow: of another subflow, or of a later path, which is not given.
    pub fn add(&mut self, place: Place, cells: &[&str]) -> Result<(), Fault> {
        let cell = |at: Option<usize>| at.map_or("", |at| cells[at]);
        let number = |at: Option<usize>, name| match cell(at) {
            "" if at.is_none() => Ok(0),
            text => text.parse::<u8>().map_err(|_| Fault::Subflow { found: shorten(text), name }),
        };
        let (connection, subflow) = (number(self.connection, "connection")?, number(self.subflow, "subflow")?);
        let texts = [cell(self.forth), cell(self.back)].map(str::trim);
        if let Some(long) = texts.into_iter().find(|text| text.len() > LONGEST) {
            return Err(Fault::LongPath { found: shorten(long), bytes: long.len() });
        }
        if texts == ["", ""] || !self.seen.insert((connection, subflow)) {
            return Ok(());
        }
        if self.count == MAX_LISTED {
            return Err(Fault::TooManyPaths);
        }
        self.count += 1;
        let [forth, back] = texts.map(|text| {
            if let Some(known) = self.texts.get(text) {
                return Arc::clone(known);
            }
            let new: Arc<str> = text.into();
            self.texts.insert(Arc::clone(&new));
            new
        });
        if let Some(flow) = self.flows.last_mut() {
            flow.push(ListedPath { place, connection, subflow, forth, back });
        }
        Ok(())
    }

    /// The paths, by the numbers of [`PathRows::begin`].
    pub fn finish(self) -> Vec<Vec<ListedPath>> {
        self.flows
    }
}
