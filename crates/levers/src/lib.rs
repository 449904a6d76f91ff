//! Records of levers: the keys, defaults and ranges that scenarios and daemons share.
//!
//! A lever is configured in two files: a policy of a scenario, for modelled hosts, and the configuration of a daemon, for
//! Linux hosts. Both embed the records of this crate, so a key is called and checked alike in both, and what a scenario
//! gives to a daemon is its own record, shown as TOML. One module per lever: records, checks that need no network, and
//! conversion to the types of `headway-control`.
//!
//! It knows no network, no host and no file.

pub mod lanes;
pub mod lossless;
mod mistake;
pub mod pacing;
pub mod relay;

pub use mistake::Mistake;
