//! Applications: traffic whose flows follow from each other.

mod event_builder;
pub mod http;
mod partition_aggregate;

pub use event_builder::{Credits, Event, EventBuilder, EventError, Events, Fragment, Overflow, Part, Transfer};
pub use partition_aggregate::{Level, Message, PartitionAggregate, Request, Requests, TreeError, Way};
