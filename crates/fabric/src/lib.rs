//! Packets, ports, queues, switches, topologies and routes.
//!
//! A network is described as a [`Graph`] (by hand or by a builder in [`topology`]), paths through it are found by
//! [`Paths`] when a subflow opens, and [`Fabric`] moves frames along them: one event per frame and link, and one more
//! where frames wait for a scheduler.
//! The fabric knows a frame's size and ECN bits and nothing else of its content; it must not know of connections.
//!
//! Sources: the analytic FIFO is Lindley's recursion (1952); ECMP is RFC 2992's; marking is RFC 8257 §3.1's.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod bucket;
mod counters;
mod deadlock;
mod fabric;
mod graph;
mod ingress;
mod lossless;
mod packet;
mod path;
mod pool;
mod port;
mod queue;
mod routes;
mod sampled;
mod scheduled_port;
mod shared;
mod slow_path;
pub mod topology;
mod wire;

pub use counters::{PortCounters, Tally};
pub use fabric::{Fabric, Step};
pub use graph::*;
pub use ingress::{Deadlocks, IngressCounters, LosslessTotals};
pub use packet::{Packet, ecn};
pub use path::*;
pub use queue::*;
pub use routes::{Endpoint, Routes};
pub use sampled::QueueSample;
pub use wire::{PeriodicLoss, Wire};
