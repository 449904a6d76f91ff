//! Who sends what when: the sizes of flows, the times at which they start and the hosts between which they run.
//!
//! A [`Traffic`] is a description; [`Traffic::flows`] turns it into a time-ordered sequence of [`FlowStart`]s, drawn
//! lazily. Hosts are indices into the groups of sources and destinations that the caller has in mind.
//! This crate must not know of packets, events or networks.
//!
//! # Random streams
//! A traffic consists of generators, independent sources of arrivals ([`Pattern`]), each of which has three streams of its own, named
//! `{traffic}/{generator}/arrival`, `…/pair` and `…/size`. So another host does not shift the draws of generators that
//! were there before, and another size does not shift anybody's arrivals: runs that are to be compared stay comparable.
//!
//! Sources: the workloads in `cdf/` name theirs in their first lines; patterns are those of the data-centre transport
//! literature (pFabric, SIGCOMM 2013; DCTCP, SIGCOMM 2010).
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod app;

mod arrival;
mod ends;
mod expected;
mod flows;
mod list;
mod pairs;
mod share;
mod size;

pub use arrival::{Arrival, Arrivals};
pub use ends::Ends;
pub use expected::Expected;
pub use flows::{FlowStart, Flows, Traffic, TrafficError};
pub use list::{Fault, FlowList, HostNames, ListError, ListedFlow, ListedPath, MAX_LISTED, Place, Rows};
pub use pairs::{MAX_GENERATORS, PairsError, Pattern};
pub use share::Shares;
pub use size::*;
