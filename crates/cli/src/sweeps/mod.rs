//! Sweeps that outgrow a machine: shards and their merging, scripts for Slurm, stores of runs.

pub mod args;
mod merge;
mod shard;
mod slurm;
mod store;

pub use merge::{like, merge};
pub use shard::{close, of_store, place};
pub use slurm::slurm;
pub use store::store;
