//! Connections: what listens, what receives, what sends, and what the kernel knows of it.

pub mod info;
pub mod listener;
pub mod mover;
pub mod receiver;
pub mod sender;
