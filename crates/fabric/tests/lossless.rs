//! Lossless ports: pauses at their exact times, shares of classes, and nothing lost.

#[path = "lossless/bench.rs"]
mod bench;
#[path = "lossless/classes.rs"]
mod classes;
#[path = "lossless/failures.rs"]
mod failures;
#[path = "lossless/headroom.rs"]
mod headroom;
#[path = "lossless/pauses.rs"]
mod pauses;
#[path = "lossless/shared.rs"]
mod shared;
