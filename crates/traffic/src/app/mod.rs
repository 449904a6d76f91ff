//! Applications: traffic whose flows follow from each other.

pub mod http;
mod partition_aggregate;

pub use partition_aggregate::{Level, Message, PartitionAggregate, Request, Requests, TreeError, Way};
