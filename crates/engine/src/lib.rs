//! Virtual time: the event queue and named random streams.
//!
//! The engine knows when something happens and to whom, never what: a [`Source`] is a class and an
//! entity, and the loop that pops it decides what it means. It must not know of packets or hosts; [`EventClass`] only
//! names the classes, because their order belongs to the queue's.
//!
//! # The total order
//! Events are ordered by (time, class, entity, sequence). A link has one pending event, the arrival of its ring's
//! head, with sequence 0; a timer numbers its settings, so that an outdated one is told from the valid one. Two
//! equal keys cannot exist; should they, [`EventQueue`] panics, because the order of the run would then depend on
//! insertion.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod class;
mod queue;
mod random;

pub use class::EventClass;
pub use queue::{EventQueue, Source};
pub use random::{Stream, Streams, mix64, splitmix64};
