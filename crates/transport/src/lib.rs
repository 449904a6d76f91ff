//! What hosts do: TCP, MPTCP and replication, driving the decisions of `headway-control` over the fabric.
//!
//! [`Simulation`] owns the fabric, the event queue and the time; flows go in ([`FlowStart`]), and what became of them
//! comes out ([`FlowEnd`], [`Sample`]). Who carries a flow is a tenant of the loop, chosen by [`Transport`]: TCP,
//! TCP over relays, RoCE, or datagrams at a fixed rate. `docs/adding/transport.md` says how another is added. The data of a
//! flow goes one way, from a connection's opener to the other end, which acknowledges. Programs that talk both ways use
//! [`Sockets`].
//!
//! Flows over relays ([`Relayed`]) are chains of such two-way connections.
//!
//! Left out, on purpose: path MTU discovery, and resets but for relays that crash ([`Crash`]). Of a connection that carries data one way, the reverse direction is
//! closed only where loss recovery is Linux' and the connection has one path; its FIN is not repaired.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod application;
mod card;
mod datagram;
mod endpoint;
mod environment;
mod external;
mod failures;
mod film;
mod flows;
mod host;
mod ideal;
mod measure;
mod metering;
mod network;
mod own;
mod paths;
mod ports;
mod priority;
mod qcn;
mod ranges;
mod relay;
mod roce;
mod sack_pool;
mod segment;
mod server;
mod simulation;
mod slots;
mod socket;
mod sockets;
mod starting;
mod tap;
mod tcp;
mod timer;
mod trace;
mod transport;
mod waits;

pub use application::Application;
pub use card::{CardClass, CardCounters, CardModel, FlowRate, Release, RoundTrip};
pub use datagram::Datagram;
pub use environment::Totals;
pub use external::{Departure, External, ExternalError};
pub use failures::Failure;
pub use film::{LinkFilm, LinkStep};
pub use flows::{FlowEnd, FlowStart};
pub use host::{Costs, HostCounters, HostModel};
pub use measure::{Measure, Sample, SampleKind, SampleOf};
pub use metering::{Control, LimitChange, Metered, MeteredPort, Metering};
pub use own::Interrupted;
pub use paths::{GivenPath, GivenPaths, PathOf, PathTaken};
pub use ports::Ports;
pub use qcn::QcnModel;
pub use relay::plan::{Relay, RelayCost, RelayOpen, Relayed};
pub use relay::{Crash, CrashKind};
pub use roce::{Retransmission, Roce};
pub use server::{Exchange, ServerCost, ServerCounters, ServerModel};
pub use simulation::{Observe, Progress, Simulation, Stopped};
pub use socket::{End, Socket, SocketEvent};
pub use sockets::{Sockets, Troubles};
pub use tap::{Tap, TapPlace, TappedSegment, TappedSubflow};
pub use tcp::profile::{
    AddressPairs, DelayedAck, HistoryPlan, IdleRestart, LanePlan, LinuxRecovery, Multipath, Offload, Pacing, Profile,
    Recovery, Reduction, RtoRule, Scheduler,
};
pub use tcp::rtt::RttEstimator;
pub use tcp::stack::Stack;
pub use trace::Traced;
pub use transport::Transport;
pub use waits::PacketWaits;
