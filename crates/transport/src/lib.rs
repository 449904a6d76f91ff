//! What hosts do: TCP, MPTCP and replication, driving the decisions of `headway-control` over the fabric.
//!
//! [`Simulation`] owns the fabric, the event queue and all connections; flows go in ([`FlowStart`]), and what
//! became of them comes out ([`FlowEnd`], [`Sample`]). Data goes one way, from a connection's opener to the
//! other end, which acknowledges.
//!
//! Left out, on purpose: data in both directions of one connection (open two), window updates by slow readers
//! (receivers read at once), path MTU discovery, resets. The reverse direction is closed only where loss recovery is
//! Linux' (`Recovery::Linux`) and the connection has one path; its FIN is not repaired.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod application;
mod connection;
mod external;
mod host;
mod network;
mod ports;
mod profile;
mod ranges;
mod receiver;
mod rtt;
mod segment;
mod sender;
mod simulation;
mod stack;
mod trace;
mod writer;

pub use application::Application;
pub use external::{Departure, External, ExternalError};
pub use host::{Costs, HostCounters, HostModel};
pub use ports::Ports;
pub use profile::{
    AddressPairs, DelayedAck, HistoryPlan, IdleRestart, LanePlan, LinuxRecovery, Multipath, Offload, Pacing, Profile,
    Recovery, Reduction, RtoRule, Scheduler,
};
pub use rtt::RttEstimator;
pub use simulation::{Failure, FlowEnd, FlowStart, Measure, Sample, SampleKind, SampleOf, Simulation, Stopped, Totals};
pub use stack::Stack;
pub use trace::Traced;
