//! The agent that is part of this program.

use std::sync::OnceLock;

use super::error::ImageError;
use super::hash;

/// Empty if it could not be built.
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent"));
/// Why it could not be.
static PROBLEM: &str = include_str!(concat!(env!("OUT_DIR"), "/agent-problem"));

/// Its bytes: a static program.
pub fn agent() -> Result<&'static [u8], ImageError> {
    if AGENT.is_empty() { Err(ImageError::NoAgent { why: PROBLEM.to_owned() }) } else { Ok(AGENT) }
}

/// SHA-256 of it.
pub fn sha256() -> &'static str {
    static SHA256: OnceLock<String> = OnceLock::new();
    SHA256.get_or_init(|| hash::bytes(AGENT))
}
