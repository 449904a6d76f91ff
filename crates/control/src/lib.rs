//! The decisions: how fast to send and which lane to take.
//!
//! Everything here is a plain state machine without I/O and without a clock: time and observations come in
//! as arguments, actions go out. The simulator and the daemons call the same code, so this crate must not
//! know of packets, events, sockets or files.
//!
//! * [`congestion`]: congestion controls of one connection, and coupled ones of several subflows.
//! * [`lanes`]: which subflows of a multipath connection may send.
//! * [`lossless`]: headroom of switches that pause their senders.
//! * [`metering`]: limits on ports of a switch, found from what it sees.
//! * [`throughput`]: formulae of throughput, by which a relay is planned.
//! * [`dcqcn`]: rates of RoCEv2 senders, and who tells them.
//! * [`qcn`]: congestion points of switches, and the rates of cards that listen to them.
//! * [`own`]: congestion controls and judges that a program gives.
//! * [`pacing`]: when frames leave a host, so that they do not come in bursts.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod congestion;
pub mod dcqcn;
pub mod lanes;
pub mod lossless;
pub mod metering;
pub mod own;
pub mod pacing;
pub mod qcn;
pub mod throughput;
