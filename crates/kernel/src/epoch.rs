//! The start of a simulation on the clocks of its guests.

/// The guests' clocks are so far ahead of the simulation's: they boot and are set up in this time. A multiple of the
/// 256 ns in which guests read their clocks.
pub const EPOCH_NS: u64 = 1_000_000_000;
