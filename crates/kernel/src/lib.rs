//! Kernel hosts: real Linux kernels in virtual time, their clocks, network cards and images.

mod capture;
mod card;
mod epoch;
mod error;
mod guest;
mod hosts;
pub mod image;
mod processors;
pub mod setup;
pub mod share;

pub use card::{CardCounters, CardSpec, Cpu};
pub use epoch::EPOCH_NS;
pub use error::GuestError;
pub use hosts::{GuestPlan, Guests, HostOutput, RunPlan, Watch, Work};
pub use processors::processors;
