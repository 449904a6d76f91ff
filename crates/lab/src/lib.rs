//! Hosts and switches as network namespaces of the machine's own kernel, in real time.
//!
//! Every node of a graph becomes a namespace, every cable a pair of virtual Ethernet devices whose rates and queues are
//! those of the graph. Hosts are set up as kernel hosts are, and their flows and commands run by the same agent, against
//! the machine's clock. What comes back has the shape of what kernel hosts leave behind.
//!
//! Nothing of the machine changes: neither its own interfaces, nor its settings. All namespaces are called
//! `hw-PROCESS-NUMBER` and removed by name, with every process in them, also after an error or a panic; those of a
//! process that was killed are removed by the next run. Runs on one machine wait for each other.
//!
//! Left out: delays and random losses of cables, queues other than drop-tail ones, failures (docs/namespaces.md).
//!
//! Sources: ip-netns(8), veth(4), tc-tbf(8), Documentation/networking/ip-sysctl.rst of the kernel.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "runs are in the world, with its clock")]

mod error;
mod network;
mod probe;
mod program;
mod run;
mod shape;
mod space;

pub use error::LabError;
pub use network::{Blueprint, Member, Space};
pub use probe::{MachineInfo, check};
pub use run::{LabHost, LabPlan, run};
