//! What the simulator and the agent inside its kernel hosts say to each other.

pub mod protocol;
