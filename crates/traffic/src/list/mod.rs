//! Flows as a list has them: start, source, destination, size of each.
//!
//! A list is a table with a header, from text ([`FlowList::csv`]) or any other source of rows ([`Rows`]), or a
//! connection matrix of htsim ([`FlowList::matrix`]). Nothing in it is trusted.

mod csv;
mod error;
mod hosts;
mod matrix;
mod rows;

use std::sync::Arc;

use headway_units::{Bytes, Span};

pub use error::{Fault, ListError, Place};
pub use hosts::HostNames;
pub use rows::Rows;

/// The most flows of a list.
pub const MAX_LISTED: usize = 4_000_000;

/// A flow of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFlow {
    /// When it starts, from the beginning of the list's time.
    pub time: Span,
    /// Index of the host that sends.
    pub source: u32,
    /// Index of the host that receives.
    pub destination: u32,
    /// How much; `None`: without end.
    pub size: Option<Bytes>,
}

/// Flows in order of their starts; those of one instant in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowList(Arc<[ListedFlow]>);

impl FlowList {
    fn new(mut flows: Vec<ListedFlow>) -> FlowList {
        flows.sort_by_key(|flow| flow.time);
        FlowList(flows.into())
    }

    /// Reads a text: a connection matrix of htsim if it begins like one, else CSV. See [`FlowList::matrix`] and
    /// [`FlowList::csv`].
    ///
    /// # Errors
    /// [`ListError`], with the line.
    pub fn parse(text: &[u8], select: &[(String, String)], hosts: &HostNames<'_>) -> Result<FlowList, ListError> {
        if matrix::begins(text) { FlowList::matrix(text, hosts) } else { FlowList::csv(text, select, hosts) }
    }

    /// The flows.
    pub fn flows(&self) -> &[ListedFlow] {
        &self.0
    }
}

#[cfg(test)]
mod tests;
