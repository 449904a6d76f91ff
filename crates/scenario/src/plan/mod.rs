//! From the records of one sweep point and one policy to the network, profiles and flows of modelled hosts.
//!
//! [`Network`] and [`TrafficPlan`] are the same for every kind of host; [`ModelPlan`] is for modelled ones.

mod combination;
mod control_name;
pub(crate) mod error;
mod event_builder;
mod failures;
mod flow_table;
mod given;
mod host;
mod lossless;
mod marking;
mod measure;
mod messages;
mod metering;
mod models;
mod network;
mod offered;
mod own;
mod pacing;
mod phases;
mod pooled;
mod profile;
mod qcn;
mod relay;
mod replay;
mod roce;
mod traffic;
mod traffics;
mod tree;
mod web;
mod workload;

pub use error::PlanError;
pub use failures::{build as failures, carriers};
pub use given::Given;
pub(crate) use lossless::{fixed_thresholds, lossless_classes, lossless_priorities};
pub use marking::{Unmarked, unmarked};
pub use metering::MeteringPlan;
pub use models::ModelPlan;
pub use network::{Hosts, Network};
pub use offered::{Offered, RunSize};
pub use phases::in_step;
pub use relay::RelayPlan;
pub(crate) use relay::is_relayed;
pub use traffic::FlowsPlan;
pub use traffics::TrafficPlan;
pub use workload::Workload;
