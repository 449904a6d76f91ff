//! Pacing: when frames leave, so that they do not come in bursts.
//!
//! PSPacer (R. Takano et al., 2005; see `gap.rs` for the papers) spaces frames by bytes on the wire. Between real frames it
//! sends *gap frames*, PAUSE frames that stop nobody and that the first switch port drops, so that the line's own rate is the
//! clock and a byte its resolution. Here is its arithmetic and its order of frames, without the frames:
//!
//! * [`Line`]: a wire, what frames take of it, and the gap frames that fill a gap (eqs. 4 and 5);
//! * [`Target`]: a static rate, or the window a round trip (eq. 1), and the gap that keeps it (eqs. 2 and 3);
//! * [`Schedule`]: flows with a pace in classes with limits and shares under a port's limit, whose frames leave in the order
//!   in which they are due. [`Burst`] says how many leave back to back.
//!
//! Time is counted in bytes of the line. Who has a clock turns it into bytes: a card that sends gap frames by counting them,
//! a timer by its rate.
//!
//! Left out: classes within classes (the paper's implementation has them; the three levels here are those that its
//! configuration uses), and any estimate of the bottleneck: a static rate is given.

mod gap;
mod pacer;
mod schedule;
mod target;
#[cfg(test)]
mod tests;

pub use gap::{FASTEST, GapFrames, LARGEST_BETWEEN, LARGEST_MTU, Line};
pub use pacer::Burst;
pub use schedule::{Choice, ClassSpec, FlowIndex, Limit, Pace, Schedule};
pub use target::Target;
