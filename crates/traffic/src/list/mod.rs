//! Flows as a list has them: start, source, destination, size of each.
//!
//! A list is a table with a header, from text ([`FlowList::csv`]) or any other source of rows ([`Rows`]), or a
//! connection matrix of htsim ([`FlowList::matrix`]). Nothing in it is trusted.

mod csv;
mod error;
mod hosts;
mod matrix;
mod paths;
mod rows;

use std::num::NonZeroU32;
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
    /// Its paths, if it has any: their number, from 1. See [`FlowList::paths`].
    pub paths: Option<NonZeroU32>,
}

/// The path of a subflow of a flow, as the names of nodes with blanks between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPath {
    /// Where it stands.
    pub place: Place,
    /// The connection, from 0.
    pub connection: u8,
    /// The subflow, from 0.
    pub subflow: u8,
    /// From the source to the destination; empty where the list does not say.
    pub forth: Arc<str>,
    /// From the destination to the source; empty where the list does not say.
    pub back: Arc<str>,
}

/// Flows in order of their starts; those of one instant in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowList {
    flows: Arc<[ListedFlow]>,
    paths: Arc<[Vec<ListedPath>]>,
}

impl FlowList {
    fn new(mut flows: Vec<ListedFlow>, paths: Vec<Vec<ListedPath>>) -> FlowList {
        flows.sort_by_key(|flow| flow.time);
        FlowList { flows: flows.into(), paths: paths.into() }
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
        &self.flows
    }

    /// The paths that the list gives to a flow of it, each subflow once.
    pub fn paths(&self, flow: &ListedFlow) -> &[ListedPath] {
        flow.paths.and_then(|number| self.paths.get(number.get() as usize - 1)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests;
