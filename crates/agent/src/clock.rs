//! The clock that agendas and reports count on.

use rustix::time::{ClockId, clock_gettime};

/// The time now: the simulation's, in a guest.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
