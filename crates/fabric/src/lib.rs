//! Packets, ports, queues, switches, topologies and routes.
//!
//! A network is described as a [`Graph`] (by hand or by a builder in [`topology`]), paths through it are found by
//! [`Paths`] when a subflow opens, and [`Fabric`] moves frames along them: one event per frame and link, and one more
//! where frames wait for a scheduler.
//! The fabric knows a frame's size and ECN bits and nothing else of its content; it must not know of connections.
//!
//! Sources: the analytic FIFO is Lindley's recursion (1952); ECMP is RFC 2992's; marking is RFC 8257 §3.1's.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod fabric;
mod graph;
mod packet;
mod path;
mod pool;
mod port;
mod queue;
mod routes;
mod scheduled_port;
pub mod topology;

pub use fabric::{Fabric, Step};
pub use graph::*;
pub use packet::{Packet, ecn};
pub use path::*;
pub use port::{PortCounters, Tally};
pub use queue::{
    CodelLaw, CodelSpec, DropTail, DrrSpec, FqCodelSpec, Limit, QueueSpec, RedSpec, SharedBufferSpec, Verdict,
};
pub use routes::{Endpoint, Routes};
