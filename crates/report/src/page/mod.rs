//! The page for a browser: one file with the results of one or more runs, which opens without a network.
//!
//! [`RunBuilder`] takes a folder's facts, flows and samples and makes a [`Run`] of them; [`Page::new`] puts runs
//! together and thins them to [`BUDGET`] bytes; [`html()`] makes the file. The scripts that draw it are in `assets/`; what
//! they get is described by the types of this module, field by field, with units.
//!
//! **Memory.** Flows of one cell are in memory at a time, at most 262,144 of each traffic and size bin as they are, more
//! of them in bins a thousandth wide. Series are thinned as they come, to some 6 KB each, at most 10,000 of one run and
//! 4,096 in all. Films have at most three million values in all and one run's links beside them. So a page takes some 150 MB at most, however large the folder is.
//!
//! It leaves out single flows, packet captures, output of commands, and series of repeats other than the first.

mod budget;
mod claims;
mod distribution;
mod film;
mod flows;
mod grid;
mod html;
pub(crate) mod metric;
mod model;
mod network;
mod number;
mod run;
mod series;
pub(crate) mod sizes;
mod thin;
mod thinning;

pub use budget::BUDGET;
pub use claims::Operand;
pub use film::TooManySteps;
pub use html::html;
pub use model::*;
pub use number::Number;
pub use run::{Facts, MOST_POINTS, RunBuilder};

impl Page {
    /// A page of `runs`, thinned to [`BUDGET`].
    pub fn new(kind: Kind, title: impl Into<String>, runs: Vec<Run>, groups: Vec<Group>) -> Page {
        let mut page = Page { format: FORMAT, kind, title: title.into(), runs, groups };
        budget::fit(&mut page, BUDGET);
        page
    }

    /// The data as the file has them.
    pub fn json(&self) -> String {
        html::json(self)
    }
}

#[cfg(test)]
mod tests;
